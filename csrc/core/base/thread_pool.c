/* SPDX-License-Identifier: MIT */
/* A thread pool: workers that share the items of a job and sleep between jobs. */
#define _POSIX_C_SOURCE 200809L
#include "core/base/thread_pool.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/threads.h"

enum { STACK_BYTES = 1 << 20, IDLE_TIMEOUT_MS = 100 };

/* A worker yields this often before it sleeps: some hundredths of a millisecond, about what going
   to sleep and being woken takes. The next slice of a batch usually arrives sooner. */
enum { SPIN_COUNT = 100 };

/* A mmd_thread_pool_run in progress. */
typedef struct pool_job {
    struct pool_job *next;
    size_t item, end;       /* the items left to do */
    size_t threads, joined; /* threads requested; threads that have worked on it so far */
    size_t busy;            /* workers at work on it now */
    mmd_thread_pool_task *task;
    void *arg;
    bool ok;
    mmd_error *err;
} pool_job;

typedef struct pool_worker {
    mmd_thread_pool *pool;
    mmd_thread thread;
    enum { UNUSED, RUNNING, EXITED } state; /* an exited one has still to be joined */
} pool_worker;

struct mmd_thread_pool {
    mmd_arena arena; /* owns this */
    mmd_mutex mutex;
    mmd_condition work; /* to workers: there is a job, or they must stop */
    mmd_condition done; /* to the other threads: a worker has finished a job, or exited */
    pool_job *jobs;
    size_t running, busy; /* workers */
    bool stopping;
    pool_worker workers[MMD_MAX_THREADS - 1];
};

/* Static functions are called with the mutex locked, apart from worker_main. */

/* Chunks shrink toward the end, so that all threads finish at about the same time. */
static size_t claim_items(pool_job *job, size_t *first)
{
    size_t left = job->end - job->item, count = left / (2 * job->threads);
    if (count == 0 && left > 0)
        count = 1;
    *first = job->item;
    job->item += count;
    return count;
}

static void fail(pool_job *job, const mmd_error *err)
{
    if (job->ok && job->err)
        *job->err = *err;
    job->ok = false;
    job->item = job->end;
}

static void work(mmd_thread_pool *pool, pool_job *job)
{
    size_t worker = job->joined++, first, count;
    while ((count = claim_items(job, &first)) > 0) {
        mmd_error err = {0};
        mmd_mutex_unlock(&pool->mutex);
        bool done = job->task(job->arg, worker, first, count, &err);
        mmd_mutex_lock(&pool->mutex);
        if (!done)
            fail(job, &err);
    }
}

/* A job that can use one more thread, or NULL. */
static pool_job *find_job(const mmd_thread_pool *pool)
{
    pool_job *job = pool->jobs;
    while (job && (job->item == job->end || job->joined == job->threads))
        job = job->next;
    return job;
}

static void join_job(mmd_thread_pool *pool, pool_job *job)
{
    pool->busy++;
    job->busy++;
    work(pool, job);
    pool->busy--;
    job->busy--;
    mmd_condition_broadcast(&pool->done);
}

/* Lets other threads have the mutex and the core. */
static void yield(mmd_thread_pool *pool)
{
    mmd_mutex_unlock(&pool->mutex);
    mmd_thread_yield();
    mmd_mutex_lock(&pool->mutex);
}

static pool_job *spin_for_job(mmd_thread_pool *pool)
{
    pool_job *job = find_job(pool);
    for (int i = 0; !job && !pool->stopping && i < SPIN_COUNT; i++) {
        yield(pool);
        job = find_job(pool);
    }
    return job;
}

static mmd_thread_result MMD_THREAD_CALL worker_main(void *arg)
{
    pool_worker *self = arg;
    mmd_thread_pool *pool = self->pool;
    bool timed_out = false;
    mmd_mutex_lock(&pool->mutex);
    while (!pool->stopping) {
        pool_job *job = spin_for_job(pool);
        if (!job && timed_out)
            break;
        if (job)
            join_job(pool, job);
        timed_out = !job && !mmd_condition_wait_for(&pool->work, &pool->mutex, IDLE_TIMEOUT_MS);
    }
    self->state = EXITED;
    pool->running--;
    mmd_condition_broadcast(&pool->done);
    mmd_mutex_unlock(&pool->mutex);
    return 0;
}

/* Joining under the mutex cannot deadlock: an exited worker no longer locks it. */
static void release_worker(pool_worker *worker)
{
    if (worker->state == EXITED)
        mmd_thread_join(worker->thread);
    worker->state = UNUSED;
}

static bool start_worker(mmd_thread_pool *pool)
{
    pool_worker *worker = pool->workers;
    while (worker->state == RUNNING)
        worker++;
    release_worker(worker);
    worker->pool = pool;
    if (mmd_thread_start(&worker->thread, worker_main, worker, STACK_BYTES) != 0)
        return false;
    worker->state = RUNNING;
    pool->running++;
    return true;
}

static void wake_workers(mmd_thread_pool *pool, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mmd_condition_signal(&pool->work);
    while (!pool->stopping && pool->running < MMD_MAX_THREADS - 1 &&
           pool->running - pool->busy < count && start_worker(pool))
        continue;
}

static void finish_job(mmd_thread_pool *pool, pool_job *job)
{
    pool_job **link = &pool->jobs;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    for (int i = 0; job->busy > 0 && i < SPIN_COUNT; i++)
        yield(pool);
    while (job->busy > 0)
        mmd_condition_wait(&pool->done, &pool->mutex);
}

bool mmd_thread_pool_run(mmd_thread_pool *pool, size_t first, size_t end, size_t threads,
                         mmd_thread_pool_task *task, void *arg, mmd_error *err)
{
    if (threads > end - first)
        threads = end - first;
    if (threads > MMD_MAX_THREADS)
        threads = MMD_MAX_THREADS;
    if (threads <= 1)
        return first == end || task(arg, 0, first, end - first, err);
    mmd_mutex_lock(&pool->mutex);
    pool_job job = {.next = pool->jobs,
                    .item = first,
                    .end = end,
                    .threads = threads,
                    .task = task,
                    .arg = arg,
                    .ok = true,
                    .err = err};
    pool->jobs = &job;
    wake_workers(pool, threads - 1);
    work(pool, &job);
    finish_job(pool, &job);
    mmd_mutex_unlock(&pool->mutex);
    return job.ok;
}

mmd_thread_pool *mmd_thread_pool_new(mmd_error *err)
{
    mmd_thread_pool *pool = mmd_arena_new_owner(sizeof *pool, err);
    if (pool)
        mmd_thread_pool_reset(pool);
    return pool;
}

void mmd_thread_pool_free(mmd_thread_pool *pool)
{
    if (pool)
        mmd_thread_pool_stop(pool);
    mmd_arena_free_owner(pool);
}

void mmd_thread_pool_stop(mmd_thread_pool *pool)
{
    mmd_mutex_lock(&pool->mutex);
    pool->stopping = true;
    mmd_condition_broadcast(&pool->work);
    while (pool->running > 0)
        mmd_condition_wait(&pool->done, &pool->mutex);
    for (size_t i = 0; i < MMD_MAX_THREADS - 1; i++)
        release_worker(&pool->workers[i]);
    pool->stopping = false;
    mmd_mutex_unlock(&pool->mutex);
}

void mmd_thread_pool_reset(mmd_thread_pool *pool)
{
    mmd_arena arena = pool->arena;
    *pool = (mmd_thread_pool){.arena = arena, .mutex = MMD_MUTEX_INIT, .done = MMD_CONDITION_INIT};
    mmd_condition_init_timed(&pool->work);
}
