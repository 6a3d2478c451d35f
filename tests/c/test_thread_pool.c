/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#ifndef _WIN32
/* A system's clock that somebody has set back by a year. */
static int clock_set_back(clockid_t clock, struct timespec *now)
{
    int failed = clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec -= 365 * 24 * 3600;
    return failed;
}
#define clock_gettime clock_set_back
#endif

#include "core/base/threads.h"

#include "core/base/thread_pool.h"

#include "core/base/arena.h"
#include "test.h"

#include <string.h>

enum { ITEMS = 1000 };

static mmd_thread_pool *pool;

typedef struct tally {
    uint8_t seen[ITEMS];                  /* by item: how often it was done */
    size_t items_of[MMD_MAX_THREADS + 1]; /* by worker */
    size_t failing;                       /* the item that fails; ITEMS: none */
} tally;

static bool count_items(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    tally *t = arg;
    for (size_t i = first; i < first + count; i++) {
        if (i == t->failing)
            return mmd_fail(err, MMD_E_ARGUMENT, "item %zu", i);
        t->seen[i]++;
        t->items_of[worker]++;
    }
    return true;
}

static void waits_do_not_depend_on_the_clock_of_the_system(void)
{
    mmd_mutex mutex = MMD_MUTEX_INIT;
    mmd_condition condition;
    mmd_condition_init_timed(&condition);
    mmd_mutex_lock(&mutex);
    double start = mmd_thread_seconds();
    while (mmd_condition_wait_for(&condition, &mutex, 100)) { /* nobody signals it */
    }
    double waited = mmd_thread_seconds() - start;
    CHECK(waited > 0.05 && waited < 60);
    mmd_mutex_unlock(&mutex);
}

static void each_item_is_done_once_by_any_number_of_threads(void)
{
    const size_t threads[] = {0, 1, 2, 3, 16, ITEMS - 1, ITEMS, 100000};
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        tally t = {.failing = ITEMS};
        mmd_error err = {0};
        CHECK(mmd_thread_pool_run(pool, 7, ITEMS, threads[k], count_items, &t, &err));
        for (size_t i = 0; i < ITEMS; i++)
            CHECK_INT(t.seen[i], i >= 7);
        size_t most = threads[k] < MMD_MAX_THREADS ? threads[k] : MMD_MAX_THREADS;
        for (size_t w = most ? most : 1; w <= MMD_MAX_THREADS; w++)
            CHECK_INT(t.items_of[w], 0);
    }
}

static void one_thread_is_the_calling_one_and_does_all_items_at_once(void)
{
    tally t = {.failing = ITEMS};
    CHECK(mmd_thread_pool_run(pool, 0, ITEMS, 1, count_items, &t, NULL));
    CHECK_INT(t.items_of[0], ITEMS);
    CHECK(mmd_thread_pool_run(pool, 5, 5, 8, NULL, NULL, NULL)); /* no items: nothing is called */
}

static void the_error_of_an_item_ends_the_job(void)
{
    for (size_t threads = 1; threads <= 4; threads++) {
        tally t = {.failing = 300};
        mmd_error err = {0};
        CHECK(!mmd_thread_pool_run(pool, 0, ITEMS, threads, count_items, &t, &err));
        CHECK_INT(err.code, MMD_E_ARGUMENT);
        CHECK(strcmp(err.text, "item 300") == 0);
        CHECK_INT(t.seen[300], 0);
        CHECK(!mmd_thread_pool_run(pool, 0, ITEMS, threads, count_items, &t, NULL));
    }
}

static void a_pool_that_was_stopped_or_reset_works_again(void)
{
    for (size_t round = 0; round < 4; round++) {
        tally t = {.failing = ITEMS};
        CHECK(mmd_thread_pool_run(pool, 0, ITEMS, 3, count_items, &t, NULL));
        mmd_thread_pool_stop(pool);
        if (round == 1)
            mmd_thread_pool_reset(pool); /* no worker is running, as in the child of a fork */
        for (size_t i = 0; i < ITEMS; i++)
            CHECK_INT(t.seen[i], 1);
    }
}

static bool run_nested(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker;
    tally *t = arg;
    for (size_t i = first; i < first + count; i++)
        if (!mmd_thread_pool_run(pool, 10 * i, 10 * i + 10, 3, count_items, t, err))
            return false;
    return true;
}

static void nested_jobs_share_the_pool(void)
{
    tally t = {.failing = ITEMS};
    CHECK(mmd_thread_pool_run(pool, 0, ITEMS / 10, 4, run_nested, &t, NULL));
    for (size_t i = 0; i < ITEMS; i++)
        CHECK_INT(t.seen[i], 1);
}

static void a_pool_without_memory_is_an_error(void)
{
    mmd_error err = {0};
    mmd_arena_fail_after(0);
    CHECK(!mmd_thread_pool_new(&err));
    mmd_arena_fail_after(-1);
    CHECK_INT(err.code, MMD_E_MEMORY);
}

void thread_pool_tests(void)
{
    RUN(waits_do_not_depend_on_the_clock_of_the_system);
    pool = mmd_thread_pool_new(NULL);
    RUN(each_item_is_done_once_by_any_number_of_threads);
    RUN(one_thread_is_the_calling_one_and_does_all_items_at_once);
    RUN(the_error_of_an_item_ends_the_job);
    RUN(a_pool_that_was_stopped_or_reset_works_again);
    RUN(nested_jobs_share_the_pool);
    mmd_thread_pool_free(pool);
    RUN(a_pool_without_memory_is_an_error);
}
