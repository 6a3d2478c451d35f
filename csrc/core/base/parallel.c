/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "core/base/parallel.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/threads.h"

enum { STACK_BYTES = 1 << 20, PATIENCE_MS = 100 };

/* Some hundredths of a millisecond: about what it takes to fall asleep and be woken. What is due
   sooner, as a member's last item and the next slice of a batch, is better looked out for. */
enum { GLANCES = 100 };

/* A call under way. */
typedef struct crew_call {
    struct crew_call *next;
    size_t item, end;        /* of the items that are left */
    size_t threads, workers; /* wanted; so far, with those that are done */
    size_t busy;             /* members at work */
    mmd_parallel_part *part;
    void *arg;
    bool ok;
    mmd_error *err;
} crew_call;

/* One that left is to be joined. */
typedef struct crew_member {
    mmd_crew *crew;
    mmd_thread thread;
    enum { NOBODY, HERE, LEFT } state;
} crew_member;

struct mmd_crew {
    mmd_arena arena; /* owns this */
    mmd_lock lock;
    mmd_condition work; /* to members: a call, or that they are dismissed */
    mmd_condition done; /* to everybody else: a member is done with a call, or leaves */
    crew_call *calls;
    size_t here, busy; /* members */
    bool dismissed;
    crew_member members[MMD_MOST_THREADS - 1];
};

/* All functions are called with the lock held, but for those that this header declares and threads
   begin with. */

/* Shares shrink toward the end, where all are to be done at the same time. */
static size_t take(crew_call *call, size_t *first)
{
    size_t left = call->end - call->item, share = left / (2 * call->threads);
    if (share == 0 && left > 0)
        share = 1;
    *first = call->item;
    call->item += share;
    return share;
}

static void fail(crew_call *call, const mmd_error *err)
{
    if (call->ok && call->err)
        *call->err = *err;
    call->ok = false;
    call->item = call->end;
}

static void work(mmd_crew *crew, crew_call *call)
{
    size_t worker = call->workers++, first, count;
    while ((count = take(call, &first)) > 0) {
        mmd_error err = {0};
        mmd_lock_leave(&crew->lock);
        bool done = call->part(call->arg, worker, first, count, &err);
        mmd_lock_take(&crew->lock);
        if (!done)
            fail(call, &err);
    }
}

/* A call that wants one more worker. */
static crew_call *find_call(const mmd_crew *crew)
{
    crew_call *call = crew->calls;
    while (call && (call->item == call->end || call->workers == call->threads))
        call = call->next;
    return call;
}

static void join_call(mmd_crew *crew, crew_call *call)
{
    crew->busy++;
    call->busy++;
    work(crew, call);
    crew->busy--;
    call->busy--;
    mmd_condition_wake_all(&crew->done);
}

/* Lets others have the lock and, if they want it, the core. */
static void step_aside(mmd_crew *crew)
{
    mmd_lock_leave(&crew->lock);
    mmd_thread_yield();
    mmd_lock_take(&crew->lock);
}

static crew_call *look_out_for_call(mmd_crew *crew)
{
    crew_call *call = find_call(crew);
    for (int i = 0; !call && !crew->dismissed && i < GLANCES; i++) {
        step_aside(crew);
        call = find_call(crew);
    }
    return call;
}

static mmd_thread_result MMD_THREAD_CALL run_member(void *arg)
{
    crew_member *self = arg;
    mmd_crew *crew = self->crew;
    bool patient = true;
    mmd_lock_take(&crew->lock);
    while (!crew->dismissed) {
        crew_call *call = look_out_for_call(crew);
        if (!call && !patient)
            break;
        if (call)
            join_call(crew, call);
        patient = call || mmd_condition_wait_for(&crew->work, &crew->lock, PATIENCE_MS);
    }
    self->state = LEFT;
    crew->here--;
    mmd_condition_wake_all(&crew->done);
    mmd_lock_leave(&crew->lock);
    return 0;
}

/* Who left has nothing more to do with the lock. */
static void release_member(crew_member *member)
{
    if (member->state == LEFT)
        mmd_thread_join(member->thread);
    member->state = NOBODY;
}

static bool start_member(mmd_crew *crew)
{
    crew_member *member = crew->members;
    while (member->state == HERE)
        member++;
    release_member(member);
    member->crew = crew;
    if (mmd_thread_start(&member->thread, run_member, member, STACK_BYTES) != 0)
        return false;
    member->state = HERE;
    crew->here++;
    return true;
}

static void call_members(mmd_crew *crew, size_t wanted)
{
    for (size_t i = 0; i < wanted; i++)
        mmd_condition_wake(&crew->work);
    while (!crew->dismissed && crew->here < MMD_MOST_THREADS - 1 &&
           crew->here - crew->busy < wanted && start_member(crew))
        continue;
}

static void end_call(mmd_crew *crew, crew_call *call)
{
    crew_call **link = &crew->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    for (int i = 0; call->busy > 0 && i < GLANCES; i++)
        step_aside(crew);
    while (call->busy > 0)
        mmd_condition_wait(&crew->done, &crew->lock);
}

bool mmd_parallel(mmd_crew *crew, size_t first, size_t end, size_t threads, mmd_parallel_part *part,
                  void *arg, mmd_error *err)
{
    if (threads > end - first)
        threads = end - first;
    if (threads > MMD_MOST_THREADS)
        threads = MMD_MOST_THREADS;
    if (threads <= 1)
        return first == end || part(arg, 0, first, end - first, err);
    mmd_lock_take(&crew->lock);
    crew_call call = {.next = crew->calls,
                      .item = first,
                      .end = end,
                      .threads = threads,
                      .part = part,
                      .arg = arg,
                      .ok = true,
                      .err = err};
    crew->calls = &call;
    call_members(crew, threads - 1);
    work(crew, &call);
    end_call(crew, &call);
    mmd_lock_leave(&crew->lock);
    return call.ok;
}

mmd_crew *mmd_crew_new(mmd_error *err)
{
    mmd_crew *crew = mmd_owner_new(sizeof *crew);
    if (crew)
        mmd_crew_reset(crew);
    else
        mmd_fail_memory(err);
    return crew;
}

void mmd_crew_free(mmd_crew *crew)
{
    if (crew)
        mmd_crew_dismiss(crew);
    mmd_owner_free(crew);
}

void mmd_crew_dismiss(mmd_crew *crew)
{
    mmd_lock_take(&crew->lock);
    crew->dismissed = true;
    mmd_condition_wake_all(&crew->work);
    while (crew->here > 0)
        mmd_condition_wait(&crew->done, &crew->lock);
    for (size_t i = 0; i < MMD_MOST_THREADS - 1; i++)
        release_member(&crew->members[i]);
    crew->dismissed = false;
    mmd_lock_leave(&crew->lock);
}

void mmd_crew_reset(mmd_crew *crew)
{
    mmd_arena arena = crew->arena;
    *crew = (mmd_crew){
        .arena = arena, .lock = MMD_LOCK_NEW, .work = MMD_CONDITION_NEW, .done = MMD_CONDITION_NEW};
}
