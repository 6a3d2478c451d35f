/* SPDX-License-Identifier: MIT */
/* Compiles GLEW's only source file with our loader in place of EGL's, so that the module links with
   no graphics library. Only GLEW's OpenGL functions are loaded, not those of EGL, GLX or WGL. */
#include "gl/gl_context.h"

/* The EGL build has a single loader function to replace. */
#define GLEW_EGL
#define EGL_NO_X11
#define KHRONOS_STATIC
#define eglGetProcAddress mmd_gl_platform_proc
#define glGetString mmd_gl1.GetString
#define glGetIntegerv mmd_gl1.GetIntegerv
#include <src/glew.c>

/* Functions that OpenGL took over from extensions are loaded even if the driver does not list these
   any more. */
GLenum mmd_gl_glew_init(void)
{
    glewExperimental = GL_TRUE;
    return glewContextInit();
}
