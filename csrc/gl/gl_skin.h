/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SKIN_H
#define MMD_GL_SKIN_H

#include "core/skin/skin.h"

/* Whether OpenGL can skin here: its device ("renderer (vendor), version") and whether that is a
   program on the CPU. False: it cannot, and why. Starts the OpenGL thread. */
bool mmd_gl_info(char *device, size_t size, bool *software, mmd_error *err);

/* Runs a checked job by transform feedback on the OpenGL thread (gl_thread.h) and waits for it:
   same inputs, same outputs as mmd_skin_cpu, from any thread. The mesh stays on the device, in its
   device slot, until mmd_mesh_free or mmd_gl_shutdown. `done`: how many frames are, which is fewer
   than all only when it fails; of the others the outputs are undefined. */
bool mmd_gl_skin(const mmd_skin_job *job, size_t *done, mmd_error *err);

#endif
