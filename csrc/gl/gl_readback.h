/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_READBACK_H
#define MMD_GL_READBACK_H

#include "gl/gl_context.h"

#include <stddef.h>

/* A buffer that commands of the device write and the CPU reads, after a fence that follows them.
   Initialize to zero. */
typedef struct mmd_gl_readback {
    GLuint buffer;
    size_t size;
    const void *memory; /* where it is mapped as long as it exists; NULL: it is mapped to be read */
} mmd_gl_readback;

/* Makes a buffer at least this large; what it had is lost. */
bool mmd_gl_readback_reserve(mmd_gl_context *context, mmd_gl_readback *readback, size_t size,
                             mmd_error *err);
void mmd_gl_readback_free(mmd_gl_readback *readback);

/* Its first bytes; NULL if they cannot be mapped. Each that is begun must be ended, which returns
   false if the bytes were lost meanwhile. */
const void *mmd_gl_readback_begin(const mmd_gl_readback *readback, size_t bytes, mmd_error *err);
bool mmd_gl_readback_end(const mmd_gl_readback *readback);

#endif
