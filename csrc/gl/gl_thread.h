/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_THREAD_H
#define MMD_GL_THREAD_H

/* The one OpenGL thread of the process. It is started by the first call that needs it and owns the
   display and the context for life; no OpenGL happens anywhere else. Every function here may be
   called from any thread (release the interpreter lock first: they wait).

   A start that failed is remembered: later calls fail at once with the same error, until
   mmd_gl_shutdown. A child made by fork() of a process that has used OpenGL cannot use it. */

/* Stops the thread and drops the context with everything in it. A later call starts anew.
   Waits for a job that is being done. Harmless when nothing was started. */
void mmd_gl_shutdown(void);

/* The same for good, before the process ends: drivers crash when threads outlive them. Who waits
   for a job, or comes later, gets an error. Taken back by mmd_gl_resume, for a program that starts
   an interpreter anew. */
void mmd_gl_end(void);
void mmd_gl_resume(void);

#endif
