/* SPDX-License-Identifier: MIT */
/* Contexts by WGL. Windows makes them for windows only, so each has a hidden one. */
#include "gl/gl_context.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <stdio.h>
#include <stdlib.h>

#define WGL_FUNCTIONS(X)                                                                           \
    X(HGLRC, CreateContext, (HDC))                                                                 \
    X(BOOL, DeleteContext, (HGLRC))                                                                \
    X(BOOL, MakeCurrent, (HDC, HGLRC))                                                             \
    X(PROC, GetProcAddress, (LPCSTR))

static struct {
    HMODULE library;
#define WGL_MEMBER(result, name, arguments) result(WINAPI *name) arguments;
    WGL_FUNCTIONS(WGL_MEMBER)
#undef WGL_MEMBER
} wgl;

static bool fail(mmd_error *err, const char *what)
{
    return mmd_gl_fail(err, "%s (error %lu)", what, GetLastError());
}

/* For OpenGL 1.0 and 1.1, which opengl32.dll implements, drivers return NULL, 1, 2, 3 or -1. */
void (*mmd_gl_platform_proc(const char *name))(void)
{
    PROC found = wgl.GetProcAddress(name);
    if ((uintptr_t)found + 1 <= 4)
        found = (PROC)(void *)GetProcAddress(wgl.library, name);
    return (void (*)(void))found;
}

/* From the system folder, never from the program's. It is not unloaded, which drivers do not
   survive. MMDSKIN_OPENGL32 names another one. */
static bool load_wgl(mmd_error *err)
{
    const char *name = getenv("MMDSKIN_OPENGL32");
    bool chosen = name && *name;
    if (!chosen)
        name = "opengl32.dll";
    HMODULE library = LoadLibraryExA(name, NULL, chosen ? 0 : LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!library)
        return mmd_gl_fail(err, "%s cannot be loaded (error %lu)", name, GetLastError());
#define WGL_LOAD(result, function, arguments)                                                      \
    wgl.function = (result(WINAPI *) arguments)(void *)GetProcAddress(library, "wgl" #function);   \
    if (!wgl.function)                                                                             \
        return mmd_gl_fail(err, "%s has no wgl" #function, name);
    WGL_FUNCTIONS(WGL_LOAD)
#undef WGL_LOAD
    wgl.library = library;
    return true;
}

/* A window of this thread. It is never shown, so it needs no message loop. Not a message-only
   window, for which some drivers have no accelerated pixel format. */
static bool open_window(mmd_gl_context *gl, mmd_error *err)
{
    HINSTANCE module = NULL;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                           GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                       (LPCSTR)(void *)open_window, &module);
    WNDCLASSA window = {.style = CS_OWNDC,
                        .lpfnWndProc = DefWindowProcA,
                        .hInstance = module,
                        .lpszClassName = "mmdskin.gl"};
    if (!RegisterClassA(&window) && GetLastError() != ERROR_CLASS_ALREADY_EXISTS)
        return fail(err, "no window class");
    gl->surface = CreateWindowExA(0, window.lpszClassName, "", WS_POPUP, 0, 0, 1, 1, NULL, NULL,
                                  module, NULL);
    if (!gl->surface)
        return fail(err, "no window: is there a desktop?");
    gl->display = GetDC(gl->surface);
    PIXELFORMATDESCRIPTOR format = {.nSize = sizeof format,
                                    .nVersion = 1,
                                    .dwFlags = PFD_DRAW_TO_WINDOW | PFD_SUPPORT_OPENGL,
                                    .iPixelType = PFD_TYPE_RGBA,
                                    .cColorBits = 24};
    int index = ChoosePixelFormat(gl->display, &format);
    if (!index || !SetPixelFormat(gl->display, index, &format))
        return fail(err, "no pixel format");
    return true;
}

/* wglCreateContextAttribsARB is only available while a legacy context is current, and not in
   Windows' own OpenGL 1.1. */
static bool open_core(mmd_gl_context *gl, mmd_error *err)
{
    enum { MAJOR = 0x2091, MINOR = 0x2092, PROFILE = 0x9126, CORE = 1, ON_RESET = 0x8256 };
    enum { LOSE_CONTEXT = 0x8252, REQUIRED = 6 };
    /* The last two are not required: whether the context tells that the device was reset. */
    int attributes[] = {MAJOR, 4, MINOR, 3, PROFILE, CORE, ON_RESET, LOSE_CONTEXT, 0};
    typedef HGLRC(WINAPI * create_with_attributes)(HDC, HGLRC, const int *);
    HGLRC legacy = wgl.CreateContext(gl->display);
    if (!legacy || !wgl.MakeCurrent(gl->display, legacy)) {
        if (legacy)
            wgl.DeleteContext(legacy);
        return fail(err, "no context");
    }
    create_with_attributes create =
        (create_with_attributes)(void *)wgl.GetProcAddress("wglCreateContextAttribsARB");
    gl->context = create ? create(gl->display, NULL, attributes) : NULL;
    if (create && !gl->context) {
        attributes[REQUIRED] = 0;
        gl->context = create(gl->display, NULL, attributes);
    }
    if (!gl->context) {
        const GLubyte *(GLAPIENTRY * get_string)(GLenum) =
            (const GLubyte *(GLAPIENTRY *)(GLenum))mmd_gl_platform_proc("glGetString");
        const char *version = get_string ? (const char *)get_string(GL_VERSION) : NULL;
        mmd_gl_fail(err, "4.3 needed, %s has %s",
                    create ? "the driver" : "Windows without a graphics driver",
                    version ? version : "none");
    }
    wgl.MakeCurrent(NULL, NULL);
    wgl.DeleteContext(legacy);
    if (gl->context && !wgl.MakeCurrent(gl->display, gl->context))
        return fail(err, "no OpenGL 4.3 core context");
    return gl->context;
}

bool mmd_gl_platform_open(mmd_gl_context *gl, mmd_error *err)
{
    if (!load_wgl(err))
        return false;
    if (open_window(gl, err) && open_core(gl, err))
        return true;
    mmd_gl_platform_close(gl);
    return false;
}

void mmd_gl_platform_close(mmd_gl_context *gl)
{
    wgl.MakeCurrent(NULL, NULL);
    if (gl->context)
        wgl.DeleteContext(gl->context);
    if (gl->display)
        ReleaseDC(gl->surface, gl->display);
    if (gl->surface)
        DestroyWindow(gl->surface);
    gl->display = gl->surface = gl->context = NULL;
}
