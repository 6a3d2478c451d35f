/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "core/base/parallel.h"

#include "core/base/threads.h"

enum { STACK_BYTES = 1 << 20 };

typedef struct work_crew {
    mmd_lock lock;
    size_t next, end; /* of the items */
    size_t threads;
    mmd_parallel_part *part;
    void *arg;
    bool ok;
    mmd_error *err;
} work_crew;

typedef struct crew_member {
    work_crew *crew;
    size_t number;
    mmd_thread thread;
} crew_member;

/* Shares shrink toward the end, where all are to be done at the same time. */
static size_t take(work_crew *crew, size_t *first)
{
    mmd_lock_take(&crew->lock);
    size_t left = crew->end - crew->next, share = left / (2 * crew->threads);
    if (share == 0 && left > 0)
        share = 1;
    *first = crew->next;
    crew->next += share;
    mmd_lock_leave(&crew->lock);
    return share;
}

static void fail(work_crew *crew, const mmd_error *err)
{
    mmd_lock_take(&crew->lock);
    if (crew->ok && crew->err)
        *crew->err = *err;
    crew->ok = false;
    crew->next = crew->end;
    mmd_lock_leave(&crew->lock);
}

static mmd_thread_result MMD_THREAD_CALL run_worker(void *arg)
{
    const crew_member *self = arg;
    work_crew *crew = self->crew;
    size_t first, count;
    while ((count = take(crew, &first)) > 0) {
        mmd_error err = {0};
        if (!crew->part(crew->arg, self->number, first, count, &err))
            fail(crew, &err);
    }
    return 0;
}

bool mmd_parallel(size_t first, size_t end, size_t threads, mmd_parallel_part *part, void *arg,
                  mmd_error *err)
{
    if (threads > end - first)
        threads = end - first;
    if (threads > MMD_MOST_THREADS)
        threads = MMD_MOST_THREADS;
    if (threads <= 1)
        return first == end || part(arg, 0, first, end - first, err);
    work_crew crew = {.lock = MMD_LOCK_NEW,
                      .next = first,
                      .end = end,
                      .threads = threads,
                      .part = part,
                      .arg = arg,
                      .ok = true,
                      .err = err};
    crew_member members[MMD_MOST_THREADS];
    size_t started = 0;
    for (size_t i = 0; i < threads; i++)
        members[i] = (crew_member){.crew = &crew, .number = i};
    while (started + 1 < threads && mmd_thread_start(&members[started + 1].thread, run_worker,
                                                     &members[started + 1], STACK_BYTES) == 0)
        started++;
    run_worker(&members[0]);
    for (; started > 0; started--)
        mmd_thread_join(members[started].thread);
    return crew.ok;
}
