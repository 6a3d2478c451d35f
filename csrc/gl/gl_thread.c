/* SPDX-License-Identifier: MIT */
/* The OpenGL thread: runs one job at a time, frees discarded objects, and survives forks, failed
   starts, resets of the device and the end of the interpreter. */
#define _POSIX_C_SOURCE 200809L
#include "gl/gl_thread.h"

#include "core/base/threads.h"
#include "gl/gl_context.h"

#include <stdatomic.h>

typedef struct request {
    mmd_gl_thread_job *function;
    void *arg;
    mmd_error *err;
    bool begun, done, ok;
    atomic_bool interrupted;
} request;

enum { INTERVAL_MS = 30 }; /* in which a waiting caller is asked whether it wants to stop */

static struct {
    mmd_mutex lock;
    mmd_condition work; /* for the thread: there is a job, a discarded object or a stop */
    mmd_condition done; /* for the callers: a job is done, or the thread has stopped */
    mmd_thread thread;
    bool started; /* there is a thread to join */
    bool open;    /* it has a context, or is opening one */
    bool lost;    /* the last context was lost, and no other one has been opened since */
    bool stop;
    bool ended;        /* no thread may be started any more */
    bool forked;       /* from a process that had started the thread */
    mmd_error failure; /* of the last start, or of a device that hangs */
    request *job;
    mmd_gl_object *discarded;
    unsigned generation;
} gl = {.lock = MMD_MUTEX_INIT, .work = MMD_CONDITION_INIT, .done = MMD_CONDITION_INIT};

#ifndef _WIN32 /* which has no fork */
static void before_fork(void)
{
    mmd_mutex_lock(&gl.lock);
}

static void after_fork_in_parent(void)
{
    mmd_mutex_unlock(&gl.lock);
}

/* The child has neither our thread nor the driver's, whose locks may stay locked forever. */
static void after_fork_in_child(void)
{
    gl.lock = (mmd_mutex)MMD_MUTEX_INIT;
    gl.work = (mmd_condition)MMD_CONDITION_INIT;
    mmd_condition_init_timed(&gl.done);
    gl.started = gl.open = gl.lost = gl.stop = false;
    gl.forked = gl.generation > 0;
    gl.job = NULL;
    gl.discarded = NULL;
}

/* When the module is loaded, so that no fork comes before it. */
__attribute__((constructor)) static void prepare(void)
{
    mmd_condition_init_timed(&gl.done);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
#endif

static void finish_locked(request *job, bool ok)
{
    job->ok = ok;
    job->done = true;
    gl.job = NULL;
    mmd_condition_broadcast(&gl.done);
}

static void free_discarded_locked(mmd_gl_context *context)
{
    bool usable = !mmd_gl_context_hangs(context);
    while (gl.discarded) {
        mmd_gl_object *object = gl.discarded;
        gl.discarded = object->next;
        mmd_mutex_unlock(&gl.lock);
        bool ours = usable && object->generation == context->generation;
        object->free(object, ours ? context : NULL);
        mmd_mutex_lock(&gl.lock);
    }
}

static void run_job_locked(mmd_gl_context *context, request *job)
{
    job->begun = true;
    context->interrupted = &job->interrupted;
    mmd_mutex_unlock(&gl.lock);
    bool ok = job->function(context, job->arg, job->err);
    bool hangs = mmd_gl_context_hangs(context), lost = false;
    if (!hangs) {
        ok = mmd_gl_check("after the job", ok ? job->err : NULL) && ok;
        lost = mmd_gl_context_is_lost(!ok, job->err);
    }
    mmd_mutex_lock(&gl.lock);
    if (hangs)
        gl.failure = context->hang;
    gl.lost = lost;
    finish_locked(job, ok && !hangs && !lost);
}

static void serve_locked(mmd_gl_context *context)
{
    gl.lost = false;
    while (!mmd_gl_context_hangs(context) && !gl.lost && (!gl.stop || gl.job || gl.discarded)) {
        free_discarded_locked(context);
        if (gl.job)
            run_job_locked(context, gl.job);
        else if (!gl.stop)
            mmd_condition_wait(&gl.work, &gl.lock);
    }
    free_discarded_locked(context);
    gl.open = false;
    mmd_condition_broadcast(&gl.done);
}

static mmd_thread_result MMD_THREAD_CALL thread_main(void *unused)
{
    (void)unused;
    mmd_error failure = {0};
    mmd_gl_context context = {.generation = gl.generation};
    bool opened = mmd_gl_context_open(&context, &failure);

    mmd_mutex_lock(&gl.lock);
    if (opened) {
        serve_locked(&context);
    } else {
        free_discarded_locked(&context);
        gl.open = false;
        if (!gl.lost) /* else the device may need more time */
            gl.failure = failure;
        if (gl.job) {
            if (gl.job->err)
                *gl.job->err = failure;
            finish_locked(gl.job, false);
        }
    }
    mmd_mutex_unlock(&gl.lock);
    if (opened)
        mmd_gl_context_close(&context);
    return 0;
}

/* Waits for the thread's end. Closing a context may take long, so the lock is free meanwhile. */
static void join_locked(void)
{
    gl.stop = true;
    mmd_condition_signal(&gl.work);
    mmd_mutex_unlock(&gl.lock);
    mmd_thread_join(gl.thread);
    mmd_mutex_lock(&gl.lock);
    gl.started = gl.stop = false;
    mmd_condition_broadcast(&gl.done);
}

static bool start_locked(mmd_error *err)
{
    const unsigned stack = 8u << 20; /* drivers compile shaders on it */
    gl.generation++;
    int failed = mmd_thread_start(&gl.thread, thread_main, NULL, stack);
    if (failed)
        return mmd_gl_fail(err, "no thread could be started (error %d)", failed);
    gl.started = gl.open = true;
    return true;
}

static bool usable_locked(mmd_error *err)
{
    if (gl.ended)
        return mmd_gl_fail(err, "the program is ending");
    if (gl.failure.code != MMD_E_NONE) {
        if (err)
            *err = gl.failure;
        return false;
    }
    if (gl.forked)
        return mmd_gl_fail(err, "this process was forked from one that had used it");
    return gl.open || start_locked(err);
}

/* Waits for some time or until something is done. What the caller does when it is asked, such as to
   run a signal handler, may use OpenGL or fork. */
static void wait_locked(const mmd_gl_caller *caller, request *job)
{
    bool asks = caller->interrupted && !job->interrupted;
    if (!asks) {
        mmd_condition_wait(&gl.done, &gl.lock);
    } else if (!mmd_condition_wait_for(&gl.done, &gl.lock, INTERVAL_MS)) {
        mmd_mutex_unlock(&gl.lock);
        job->interrupted = caller->interrupted(caller->arg);
        mmd_mutex_lock(&gl.lock);
    }
}

/* A job that has not begun when its caller is interrupted is withdrawn. */
static void run_locked(const mmd_gl_caller *caller, request *job)
{
    gl.job = job;
    mmd_condition_signal(&gl.work);
    while (gl.job == job && (job->begun || !job->interrupted))
        wait_locked(caller, job);
    if (gl.job == job) {
        gl.job = NULL;
        mmd_condition_broadcast(&gl.done);
    }
    if (!job->done && !job->interrupted)
        usable_locked(job->err); /* forked meanwhile */
}

bool mmd_gl_thread_run(const mmd_gl_caller *caller, mmd_gl_thread_job *function, void *arg,
                       mmd_error *err)
{
    request job = {.function = function, .arg = arg, .err = err};
    mmd_mutex_lock(&gl.lock);
    while (!job.interrupted && (gl.job || gl.stop || (gl.lost && gl.open)))
        wait_locked(caller, &job);
    if (!job.interrupted && gl.started && gl.lost)
        join_locked();
    if (!job.interrupted && usable_locked(err))
        run_locked(caller, &job);
    mmd_mutex_unlock(&gl.lock);
    return job.interrupted ? mmd_fail(err, MMD_E_INTERRUPTED, "interrupted") : job.ok;
}

void mmd_gl_object_discard(void *discarded)
{
    mmd_gl_object *object = discarded;
    mmd_mutex_lock(&gl.lock);
    bool open = gl.open;
    if (open) {
        object->next = gl.discarded;
        gl.discarded = object;
        mmd_condition_signal(&gl.work);
    }
    mmd_mutex_unlock(&gl.lock);
    if (!open)
        object->free(object, NULL);
}

void mmd_gl_thread_shutdown(bool ends)
{
    mmd_mutex_lock(&gl.lock);
    gl.ended |= ends;
    while (gl.stop)
        mmd_condition_wait(&gl.done, &gl.lock);
    if (gl.started)
        join_locked();
    gl.failure = (mmd_error){0};
    gl.lost = false;
    mmd_mutex_unlock(&gl.lock);
}

void mmd_gl_thread_resume(void)
{
    mmd_mutex_lock(&gl.lock);
    gl.ended = false;
    mmd_mutex_unlock(&gl.lock);
}

enum {
    SHARED_BYTES = 1 << 20, /* that are worth waking other threads */
    MAX_THREADS = 8         /* more do not read a device's memory faster */
};

bool mmd_gl_caller_share(const mmd_gl_caller *caller, size_t count, size_t bytes,
                         mmd_thread_pool_task *task, void *arg, mmd_error *err)
{
    size_t used = caller->thread_count < MAX_THREADS ? caller->thread_count : MAX_THREADS;
    if (bytes < SHARED_BYTES || used < 2)
        return task(arg, 0, 0, count, err);
    return mmd_thread_pool_run(caller->pool, 0, count, used, task, arg, err);
}
