/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_THREAD_H
#define MMD_GL_THREAD_H

#include "core/base/error.h"
#include "core/base/thread_pool.h"

/* The OpenGL thread of the process. The first call that needs it starts it. It owns the display and
   the context; no other thread calls OpenGL. All functions here may be called from any thread and
   may wait, so release the interpreter lock first.

   A failed start is remembered, and so is a device that hangs: later calls fail with the same error
   at once, until mmd_gl_thread_shutdown. After a reset of the device the call fails, and each later
   one opens a new context, until that succeeds. A forked child of a process that has used OpenGL
   cannot use it. */

struct mmd_gl_context;

/* What the context is of: "renderer (vendor), version", and whether that renders in software. */
typedef struct mmd_gl_device {
    char name[192];
    bool software;
} mmd_gl_device;

/* A whole operation, not a single OpenGL call. The context is current while it runs. */
typedef bool mmd_gl_thread_job(struct mmd_gl_context *context, void *arg, mmd_error *err);

/* Who waits for a job: its threads, which share what the CPU does for a device (copies of results
   and digests of textures; with fewer than two, the pool may be NULL), and whether it wants to
   stop, which is asked on the waiting thread every INTERVAL_MS. NULL: never. */
typedef struct mmd_gl_caller {
    mmd_thread_pool *pool;
    size_t thread_count;
    bool (*interrupted)(void *arg);
    void *arg;
} mmd_gl_caller;

/* Runs a job, function(context, arg, err), on the OpenGL thread and waits for it. Fails with
   MMD_E_INTERRUPTED when the caller is interrupted: at once if the job has not begun, else when the
   job has seen it by mmd_gl_is_interrupted() and ended. */
bool mmd_gl_thread_run(const mmd_gl_caller *caller, mmd_gl_thread_job *function, void *arg,
                       mmd_error *err);

/* First member of an object that owns OpenGL names beyond one job. `free` is called once: with the
   context that made the names, which is then current, or with NULL if that context is gone, and the
   names with it. */
typedef struct mmd_gl_object {
    struct mmd_gl_object *next;
    unsigned generation; /* of the context that made it */
    void (*free)(struct mmd_gl_object *object, struct mmd_gl_context *context);
} mmd_gl_object;

/* Schedules the object, which begins with an mmd_gl_object, to be freed on the OpenGL thread,
   without waiting. */
void mmd_gl_object_discard(void *object);

/* Stops the thread after its current job and closes the context. A later call starts it again. Does
   nothing if it was not started. If the process `ends`, later calls and those that wait for a job
   fail, as drivers crash if their threads outlive them; mmd_gl_thread_resume allows calls again,
   for programs that start a second interpreter. */
void mmd_gl_thread_shutdown(bool ends);
void mmd_gl_thread_resume(void);

/* Does items [0, count), which read `bytes` in all, on this thread or on several of the caller's.
 */
bool mmd_gl_caller_share(const mmd_gl_caller *caller, size_t count, size_t bytes,
                         mmd_thread_pool_task *task, void *arg, mmd_error *err);

#endif
