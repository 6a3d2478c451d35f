/* SPDX-License-Identifier: MIT */
/* Replaces the other files of gl/ on systems where no context can be made. */
#include "core/base/error.h"
#include "gl/gl.h"
#include "gl/gl_thread.h"

static bool no_context(mmd_error *err)
{
#ifdef __APPLE__
    const char *why = "not supported on macOS, which has deprecated it";
#else
    const char *why = "not in this build, which has neither EGL nor WGL";
#endif
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s", why);
}

bool mmd_gl_skin_device(const mmd_gl_caller *caller, mmd_gl_device *out, mmd_error *err)
{
    (void)caller, (void)out;
    return no_context(err);
}

bool mmd_gl_skin(const mmd_skin_job *job, const mmd_gl_caller *caller, size_t *done, mmd_error *err)
{
    (void)job, (void)caller;
    *done = 0;
    return no_context(err);
}

bool mmd_gl_render_fits(const mmd_gl_caller *caller, size_t width, size_t height, size_t samples,
                        mmd_error *err)
{
    (void)caller, (void)width, (void)height, (void)samples;
    return no_context(err);
}

bool mmd_gl_render(const mmd_render_job *job, const mmd_skin_job *skin, bool on_device,
                   const mmd_gl_caller *caller, mmd_error *err)
{
    (void)job, (void)skin, (void)on_device, (void)caller;
    return no_context(err);
}

void mmd_gl_thread_shutdown(bool ends)
{
    (void)ends;
}

void mmd_gl_thread_resume(void)
{
}
