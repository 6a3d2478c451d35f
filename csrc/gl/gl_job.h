/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_JOB_H
#define MMD_GL_JOB_H

#include "gl/gl.h"

/* What the files of gl/ do on the OpenGL thread. */

/* A job is a whole operation, never a single OpenGL call. `context` is current while it runs. */
typedef bool mmd_gl_job(mmd_gl_context *context, void *arg, mmd_error *err);

/* Runs a job on the OpenGL thread and waits for it; starts the thread when needed. */
bool mmd_gl_run(mmd_gl_job *job, void *arg, mmd_error *err);

/* First member of what holds OpenGL names beyond one job. `free` is called once; with a context,
   which is then current and the one that made the names, or with NULL when that one is gone and its
   names with it. */
typedef struct mmd_gl_object {
    struct mmd_gl_object *next;
    unsigned generation; /* of the context that made it */
    void (*free)(struct mmd_gl_object *object, mmd_gl_context *context);
} mmd_gl_object;

/* Has the object freed soon, on the right thread, without waiting for it. */
void mmd_gl_discard(mmd_gl_object *object);

#endif
