/* SPDX-License-Identifier: MIT */
#ifndef MMD_THREADS_H
#define MMD_THREADS_H

/* Mutexes, condition variables and threads, of POSIX or of Windows. Define _POSIX_C_SOURCE before
   including this. A thread's function is
   static mmd_thread_result MMD_THREAD_CALL name(void *arg) and returns 0. */

#include <stdbool.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <process.h>

typedef SRWLOCK mmd_mutex;
typedef CONDITION_VARIABLE mmd_condition;
typedef HANDLE mmd_thread;
typedef unsigned mmd_thread_result;
#define MMD_THREAD_CALL __stdcall
#define MMD_MUTEX_INIT SRWLOCK_INIT
#define MMD_CONDITION_INIT CONDITION_VARIABLE_INIT
#define mmd_mutex_lock AcquireSRWLockExclusive
#define mmd_mutex_unlock ReleaseSRWLockExclusive
#define mmd_condition_init_timed InitializeConditionVariable
#define mmd_condition_signal WakeConditionVariable
#define mmd_condition_broadcast WakeAllConditionVariable
#define mmd_thread_yield SwitchToThread

static inline void mmd_condition_wait(mmd_condition *condition, mmd_mutex *mutex)
{
    SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}

/* False if it timed out. */
static inline bool mmd_condition_wait_for(mmd_condition *condition, mmd_mutex *mutex,
                                          unsigned milliseconds)
{
    return SleepConditionVariableSRW(condition, mutex, milliseconds, 0);
}

/* 0, or an errno. */
static inline int mmd_thread_start(mmd_thread *thread,
                                   mmd_thread_result(MMD_THREAD_CALL *function)(void *), void *arg,
                                   unsigned stack)
{
    *thread =
        (HANDLE)_beginthreadex(NULL, stack, function, arg, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return *thread ? 0 : errno;
}

static inline void mmd_thread_join(mmd_thread thread)
{
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

/* Since some moment in the past; changes of the system's clock do not matter. */
static inline double mmd_thread_seconds(void)
{
    return (double)GetTickCount64() / 1e3;
}

#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

typedef pthread_mutex_t mmd_mutex;
typedef pthread_cond_t mmd_condition;
typedef pthread_t mmd_thread;
typedef void *mmd_thread_result;
#define MMD_THREAD_CALL
#define MMD_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define MMD_CONDITION_INIT PTHREAD_COND_INITIALIZER
#define mmd_mutex_lock pthread_mutex_lock
#define mmd_mutex_unlock pthread_mutex_unlock
#define mmd_condition_wait pthread_cond_wait
#define mmd_condition_signal pthread_cond_signal
#define mmd_condition_broadcast pthread_cond_broadcast
#define mmd_thread_yield sched_yield

#ifdef __APPLE__
/* Its conditions know no other clock, but this function; the headers hide it from POSIX programs.
 */
int pthread_cond_timedwait_relative_np(pthread_cond_t *, pthread_mutex_t *,
                                       const struct timespec *);

static inline void mmd_condition_init_timed(mmd_condition *condition)
{
    *condition = (mmd_condition)MMD_CONDITION_INIT;
}

static inline bool mmd_condition_wait_for(mmd_condition *condition, mmd_mutex *mutex,
                                          unsigned milliseconds)
{
    struct timespec time = {(time_t)(milliseconds / 1000), milliseconds % 1000 * 1000000L};
    return pthread_cond_timedwait_relative_np(condition, mutex, &time) == 0;
}
#else
/* For mmd_condition_wait_for(), instead of MMD_CONDITION_INIT: changes of the system's clock do not
   matter. */
static inline void mmd_condition_init_timed(mmd_condition *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* False if it timed out. */
static inline bool mmd_condition_wait_for(mmd_condition *condition, mmd_mutex *mutex,
                                          unsigned milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + milliseconds % 1000 * 1000000L;
    until.tv_sec += (time_t)(milliseconds / 1000) + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    return pthread_cond_timedwait(condition, mutex, &until) == 0;
}
#endif

/* 0, or an errno. All signals but faults are blocked: they are for the threads of the host program.
   A fault is raised on the thread that causes it; if it were blocked, the process would end without
   calling its handler (such as Python's faulthandler). */
static inline int mmd_thread_start(mmd_thread *thread, mmd_thread_result (*function)(void *),
                                   void *arg, unsigned stack)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(thread, &attributes, function, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

static inline void mmd_thread_join(mmd_thread thread)
{
    pthread_join(thread, NULL);
}

/* Since some moment in the past; changes of the system's clock do not matter. */
static inline double mmd_thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
#endif

#endif
