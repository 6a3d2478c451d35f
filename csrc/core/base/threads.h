/* SPDX-License-Identifier: MIT */
#ifndef MMD_THREADS_H
#define MMD_THREADS_H

/* Locks, conditions and threads: POSIX' and Windows' own by one set of names. Who includes this
   defines _POSIX_C_SOURCE before. A thread's function is
   static mmd_thread_result MMD_THREAD_CALL name(void *arg) and returns 0. */

#include <stdbool.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <process.h>

typedef SRWLOCK mmd_lock;
typedef CONDITION_VARIABLE mmd_condition;
typedef HANDLE mmd_thread;
typedef unsigned mmd_thread_result;
#define MMD_THREAD_CALL __stdcall
#define MMD_LOCK_NEW SRWLOCK_INIT
#define MMD_CONDITION_NEW CONDITION_VARIABLE_INIT

static inline void mmd_lock_take(mmd_lock *lock)
{
    AcquireSRWLockExclusive(lock);
}

static inline void mmd_lock_leave(mmd_lock *lock)
{
    ReleaseSRWLockExclusive(lock);
}

static inline void mmd_condition_wait(mmd_condition *condition, mmd_lock *lock)
{
    SleepConditionVariableSRW(condition, lock, INFINITE, 0);
}

/* False when that time has passed. */
static inline bool mmd_condition_wait_for(mmd_condition *condition, mmd_lock *lock,
                                          unsigned milliseconds)
{
    return SleepConditionVariableSRW(condition, lock, milliseconds, 0);
}

static inline void mmd_condition_wake(mmd_condition *condition)
{
    WakeConditionVariable(condition);
}

static inline void mmd_condition_wake_all(mmd_condition *condition)
{
    WakeAllConditionVariable(condition);
}

/* 0, or the number of the error. */
static inline int mmd_thread_start(mmd_thread *thread,
                                   mmd_thread_result(MMD_THREAD_CALL *function)(void *), void *arg,
                                   unsigned stack)
{
    *thread =
        (HANDLE)_beginthreadex(NULL, stack, function, arg, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return *thread ? 0 : errno;
}

/* Lets another thread that waits for this core have it. */
static inline void mmd_thread_yield(void)
{
    SwitchToThread();
}

static inline void mmd_thread_join(mmd_thread thread)
{
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

typedef pthread_mutex_t mmd_lock;
typedef pthread_cond_t mmd_condition;
typedef pthread_t mmd_thread;
typedef void *mmd_thread_result;
#define MMD_THREAD_CALL
#define MMD_LOCK_NEW PTHREAD_MUTEX_INITIALIZER
#define MMD_CONDITION_NEW PTHREAD_COND_INITIALIZER

static inline void mmd_lock_take(mmd_lock *lock)
{
    pthread_mutex_lock(lock);
}

static inline void mmd_lock_leave(mmd_lock *lock)
{
    pthread_mutex_unlock(lock);
}

static inline void mmd_condition_wait(mmd_condition *condition, mmd_lock *lock)
{
    pthread_cond_wait(condition, lock);
}

/* False when that time has passed. */
static inline bool mmd_condition_wait_for(mmd_condition *condition, mmd_lock *lock,
                                          unsigned milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    long nanoseconds = until.tv_nsec + milliseconds % 1000 * 1000000L;
    until.tv_sec += (time_t)(milliseconds / 1000) + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    return pthread_cond_timedwait(condition, lock, &until) == 0;
}

static inline void mmd_condition_wake(mmd_condition *condition)
{
    pthread_cond_signal(condition);
}

static inline void mmd_condition_wake_all(mmd_condition *condition)
{
    pthread_cond_broadcast(condition);
}

/* Signals are for the host program's own threads, but a fault is the thread's own: if
   those were blocked, the process would end without its handlers (Python's faulthandler) being
   asked. */
static inline void mmd_signals_to_block(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(set, faults[i]);
}

/* 0, or the number of the error. */
static inline int mmd_thread_start(mmd_thread *thread, mmd_thread_result (*function)(void *),
                                   void *arg, unsigned stack)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    sigset_t blocked, before;
    mmd_signals_to_block(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(thread, &attributes, function, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Lets another thread that waits for this core have it. */
static inline void mmd_thread_yield(void)
{
    sched_yield();
}

static inline void mmd_thread_join(mmd_thread thread)
{
    pthread_join(thread, NULL);
}
#endif

#endif
