/* SPDX-License-Identifier: MIT */
/* Buffers, their textures, and those that the CPU reads. Where the driver can (OpenGL 4.4 or
   ARB_buffer_storage), these stay mapped, so that reading them is no call of the driver, which
   might wait for later commands. */
#include "gl/gl_skin_pass.h"

#include "core/base/error.h"

enum { MIN_BYTES = 16, TARGET = GL_COPY_WRITE_BUFFER };

GLuint mmd_gl_buffer_fill(GLenum target, GLuint buffer, size_t bytes, const void *data,
                          GLenum usage)
{
    if (!buffer)
        glGenBuffers(1, &buffer);
    glBindBuffer(target, buffer);
    glBufferData(target, (GLsizeiptr)(bytes ? bytes : MIN_BYTES), bytes ? data : NULL, usage);
    return buffer;
}

GLuint mmd_gl_buffer_texture(GLenum unit, GLenum format, GLuint buffer, size_t first, size_t bytes)
{
    GLuint texture;
    mmd_gl1.GenTextures(1, &texture);
    mmd_gl_texture_bind(unit, GL_TEXTURE_BUFFER, texture);
    if (bytes)
        glTexBufferRange(GL_TEXTURE_BUFFER, format, buffer, (GLintptr)first, (GLsizeiptr)bytes);
    else
        glTexBuffer(GL_TEXTURE_BUFFER, format, buffer);
    return texture;
}

/* Read-back. Its binding point is one that nothing else uses. */

static void map_persistently(mmd_gl_readback *readback, size_t size)
{
    const GLbitfield access = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
    glGenBuffers(1, &readback->buffer);
    glBindBuffer(TARGET, readback->buffer);
    readback->size = size;
    glBufferStorage(TARGET, (GLsizeiptr)size, NULL, access | GL_CLIENT_STORAGE_BIT);
    readback->memory = glMapBufferRange(TARGET, 0, (GLsizeiptr)size, access);
}

bool mmd_gl_readback_reserve(mmd_gl_context *context, mmd_gl_readback *readback, size_t size,
                             mmd_error *err)
{
    if (size <= readback->size)
        return true;
    mmd_gl_readback_free(readback);
    if (context->keeps_mappings) {
        map_persistently(readback, size);
        if (readback->memory)
            return true;
        mmd_gl_check("persistent mapping", NULL);
        mmd_gl_readback_free(readback);
    }
    readback->buffer = mmd_gl_buffer_fill(TARGET, 0, size, NULL, GL_STREAM_READ);
    readback->size = size;
    if (mmd_gl_check("buffer for results", err))
        return true;
    mmd_gl_readback_free(readback);
    return false;
}

void mmd_gl_readback_free(mmd_gl_readback *readback)
{
    if (readback->buffer)
        glDeleteBuffers(1, &readback->buffer); /* which ends its mapping */
    *readback = (mmd_gl_readback){0};
}

void mmd_gl_readback_submit(mmd_gl_readback *readback)
{
    readback->fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    mmd_gl1.Flush();
}

void mmd_gl_readback_cancel(mmd_gl_readback *readback)
{
    glDeleteSync(readback->fence);
    readback->fence = NULL;
}

/* Mapping would wait, too, but with some drivers for all commands that were submitted. */
const void *mmd_gl_readback_begin(mmd_gl_context *context, mmd_gl_readback *readback, size_t bytes,
                                  mmd_error *err)
{
    if (!mmd_gl_fence_wait(context, readback->fence, err))
        return NULL;
    mmd_gl_readback_cancel(readback);
    if (readback->memory)
        return readback->memory;
    glBindBuffer(TARGET, readback->buffer);
    const void *mapped = glMapBufferRange(TARGET, 0, (GLsizeiptr)bytes, GL_MAP_READ_BIT);
    if (!mapped) {
        mmd_gl_check("read-back", NULL);
        mmd_gl_fail(err, "the results cannot be mapped");
    }
    return mapped;
}

bool mmd_gl_readback_end(const mmd_gl_readback *readback, mmd_error *err)
{
    if (readback->memory)
        return true;
    glBindBuffer(TARGET, readback->buffer);
    return glUnmapBuffer(TARGET) || mmd_gl_fail(err, "the results were lost while they were read");
}
