/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "gl/gl_thread.h"

#include "gl/gl_job.h"

#include <pthread.h>
#include <signal.h>

typedef struct request {
    mmd_gl_job *function;
    void *arg;
    mmd_error *err;
    bool done, ok;
} request;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* to the thread: a job, a discarded object, a stop */
    pthread_cond_t done; /* to everybody else: a job is done, the thread has stopped */
    pthread_t thread;
    bool started; /* there is a thread to join */
    bool open;    /* it has a context, or will have one when it did not fail */
    bool stop;
    bool ended;        /* no thread may be started any more */
    bool forked;       /* off a process that had started the thread */
    mmd_error failure; /* of the last start */
    request *job;
    mmd_gl_object *discarded;
    unsigned generation;
} gl = {.lock = PTHREAD_MUTEX_INITIALIZER,
        .work = PTHREAD_COND_INITIALIZER,
        .done = PTHREAD_COND_INITIALIZER};

static void before_fork(void)
{
    pthread_mutex_lock(&gl.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&gl.lock);
}

/* The thread has not come along. Nor have the driver's, whose locks may now be held for ever. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&gl.lock, NULL);
    pthread_cond_init(&gl.work, NULL);
    pthread_cond_init(&gl.done, NULL);
    gl.started = gl.open = gl.stop = false;
    gl.forked = gl.generation > 0;
    gl.job = NULL;
    gl.discarded = NULL;
}

/* At load, so that no fork can overtake the first use. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void finish_locked(request *job, bool ok)
{
    job->ok = ok;
    job->done = true;
    gl.job = NULL;
    pthread_cond_broadcast(&gl.done);
}

static void free_discarded_locked(mmd_gl_context *context)
{
    while (gl.discarded) {
        mmd_gl_object *object = gl.discarded;
        gl.discarded = object->next;
        pthread_mutex_unlock(&gl.lock);
        object->free(object, object->generation == context->generation ? context : NULL);
        pthread_mutex_lock(&gl.lock);
    }
}

static void serve_locked(mmd_gl_context *context)
{
    while (!gl.stop || gl.job || gl.discarded) {
        free_discarded_locked(context);
        request *job = gl.job;
        if (job) {
            pthread_mutex_unlock(&gl.lock);
            bool ok = job->function(context, job->arg, job->err);
            ok = mmd_gl_check("after the job", ok ? job->err : NULL) && ok;
            pthread_mutex_lock(&gl.lock);
            finish_locked(job, ok);
        } else if (!gl.stop) {
            pthread_cond_wait(&gl.work, &gl.lock);
        }
    }
    gl.open = false;
}

static void *thread_main(void *arg)
{
    (void)arg;
    mmd_error failure = {0};
    mmd_gl_context context = {.generation = gl.generation};
    bool opened = mmd_gl_open(&context, &failure);

    pthread_mutex_lock(&gl.lock);
    if (opened) {
        serve_locked(&context);
    } else {
        free_discarded_locked(&context);
        gl.open = false;
        gl.failure = failure;
        if (gl.job) {
            if (gl.job->err)
                *gl.job->err = failure;
            finish_locked(gl.job, false);
        }
    }
    pthread_mutex_unlock(&gl.lock);
    if (opened)
        mmd_gl_close(&context);
    return NULL;
}

/* Signals are for the host program's own threads, but a fault of the driver is the thread's own: if
   those were blocked, the process would end without its handlers (Python's faulthandler) being
   asked. */
static void signals_to_block(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(set, faults[i]);
}

static bool start_locked(mmd_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8u << 20); /* drivers compile shaders on it */
    sigset_t blocked, before;
    signals_to_block(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    gl.generation++;
    int failed = pthread_create(&gl.thread, &attributes, thread_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: no thread could be started (error %d)",
                        failed);
    gl.started = gl.open = true;
    return true;
}

static bool usable_locked(mmd_error *err)
{
    if (gl.ended)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: the program is ending");
    if (gl.failure.code != MMD_E_NONE) {
        if (err)
            *err = gl.failure;
        return false;
    }
    if (gl.forked)
        return mmd_fail(err, MMD_E_BACKEND,
                        "OpenGL was in use when this process was forked, which no driver survives");
    return gl.open || start_locked(err);
}

bool mmd_gl_run(mmd_gl_job *function, void *arg, mmd_error *err)
{
    request job = {.function = function, .arg = arg, .err = err};
    pthread_mutex_lock(&gl.lock);
    while (gl.job || gl.stop)
        pthread_cond_wait(&gl.done, &gl.lock);
    if (usable_locked(err)) {
        gl.job = &job;
        pthread_cond_signal(&gl.work);
        while (!job.done)
            pthread_cond_wait(&gl.done, &gl.lock);
    }
    pthread_mutex_unlock(&gl.lock);
    return job.ok;
}

void mmd_gl_discard(mmd_gl_object *object)
{
    pthread_mutex_lock(&gl.lock);
    bool open = gl.open;
    if (open) {
        object->next = gl.discarded;
        gl.discarded = object;
        pthread_cond_signal(&gl.work);
    }
    pthread_mutex_unlock(&gl.lock);
    if (!open)
        object->free(object, NULL);
}

static void shut_down_locked(void)
{
    while (gl.stop)
        pthread_cond_wait(&gl.done, &gl.lock);
    if (gl.started) {
        gl.stop = true;
        pthread_cond_signal(&gl.work);
        pthread_mutex_unlock(&gl.lock);
        pthread_join(gl.thread, NULL);
        pthread_mutex_lock(&gl.lock);
        gl.started = gl.stop = false;
        pthread_cond_broadcast(&gl.done);
    }
    gl.failure = (mmd_error){0};
}

void mmd_gl_shutdown(void)
{
    pthread_mutex_lock(&gl.lock);
    shut_down_locked();
    pthread_mutex_unlock(&gl.lock);
}

void mmd_gl_end(void)
{
    pthread_mutex_lock(&gl.lock);
    gl.ended = true;
    shut_down_locked();
    pthread_mutex_unlock(&gl.lock);
}

void mmd_gl_resume(void)
{
    pthread_mutex_lock(&gl.lock);
    gl.ended = false;
    pthread_mutex_unlock(&gl.lock);
}
