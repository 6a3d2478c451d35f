/* SPDX-License-Identifier: MIT */
/* GLEW's one file, compiled as part of ours: it asks our loader, so that the module is linked with
   no graphics library, and it is asked for OpenGL alone, not for EGL, GLX or WGL. */
#include "gl/gl.h"

/* As for EGL, whose loader has the simplest name to replace. */
#define GLEW_EGL
#define EGL_NO_X11
#define KHRONOS_STATIC
#define eglGetProcAddress mmd_gl_proc
#define glGetString gl1.GetString
#define glGetIntegerv gl1.GetIntegerv
#include <src/glew.c>

GLenum mmd_gl_load_functions(void)
{
    return glewContextInit();
}
