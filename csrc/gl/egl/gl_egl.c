/* SPDX-License-Identifier: MIT */
/* Contexts by EGL, without a display server. libEGL is loaded at run time. */
#define _POSIX_C_SOURCE 200809L
#include "gl/gl_context.h"

#define EGL_NO_X11
#include <EGL/egl.h>
#include <EGL/eglext.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EGL_FUNCTIONS(X)                                                                           \
    X(PFNEGLBINDAPIPROC, BindAPI)                                                                  \
    X(PFNEGLCHOOSECONFIGPROC, ChooseConfig)                                                        \
    X(PFNEGLCREATECONTEXTPROC, CreateContext)                                                      \
    X(PFNEGLCREATEPBUFFERSURFACEPROC, CreatePbufferSurface)                                        \
    X(PFNEGLDESTROYCONTEXTPROC, DestroyContext)                                                    \
    X(PFNEGLDESTROYSURFACEPROC, DestroySurface)                                                    \
    X(PFNEGLGETERRORPROC, GetError)                                                                \
    X(PFNEGLGETPROCADDRESSPROC, GetProcAddress)                                                    \
    X(PFNEGLINITIALIZEPROC, Initialize)                                                            \
    X(PFNEGLMAKECURRENTPROC, MakeCurrent)                                                          \
    X(PFNEGLQUERYSTRINGPROC, QueryString)                                                          \
    X(PFNEGLRELEASETHREADPROC, ReleaseThread)

static struct {
#define EGL_MEMBER(type, name) type name;
    EGL_FUNCTIONS(EGL_MEMBER)
#undef EGL_MEMBER
    PFNEGLGETPLATFORMDISPLAYEXTPROC GetPlatformDisplay;
} egl;

void (*mmd_gl_platform_proc(const char *name))(void)
{
    return egl.GetProcAddress(name);
}

/* What was tried and why it failed: the text of the final error. */
typedef struct attempts {
    char text[240];
} attempts;

static bool fail_attempt(attempts *log, const char *platform, const char *what, const char *why)
{
    size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used, "%s%s: %s: %s", used ? "; " : "", platform,
             what, why);
    return false;
}

static const char *egl_error(void)
{
    static const char *const names[] = {
        "EGL_SUCCESS",       "EGL_NOT_INITIALIZED",     "EGL_BAD_ACCESS",
        "EGL_BAD_ALLOC",     "EGL_BAD_ATTRIBUTE",       "EGL_BAD_CONFIG",
        "EGL_BAD_CONTEXT",   "EGL_BAD_CURRENT_SURFACE", "EGL_BAD_DISPLAY",
        "EGL_BAD_MATCH",     "EGL_BAD_NATIVE_PIXMAP",   "EGL_BAD_NATIVE_WINDOW",
        "EGL_BAD_PARAMETER", "EGL_BAD_SURFACE",         "EGL_CONTEXT_LOST"};
    unsigned index = (unsigned)egl.GetError() - EGL_SUCCESS;
    return index < sizeof names / sizeof *names ? names[index] : "unknown EGL error";
}

/* Whether a space-separated list has the word; NULL is an empty list. */
static bool has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return true;
    return false;
}

/* The library is never unloaded, as drivers register thread-local destructors. */
static bool load_egl(mmd_error *err)
{
    const char *chosen = getenv("MMDSKIN_EGL");
    bool is_chosen = chosen && *chosen;
    const char *name = is_chosen ? chosen : "libEGL.so.1";
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return mmd_gl_fail(err, "no EGL library: %s%s", dlerror(),
                           is_chosen ? "" : "; install it (package libegl1 in Debian and Ubuntu)");

        /* POSIX allows the cast of void * to a function pointer, ISO C does not. */
#define EGL_LOAD(type, name)                                                                       \
    *(void **)&egl.name = dlsym(library, "egl" #name);                                             \
    if (!egl.name)                                                                                 \
        return mmd_gl_fail(err, "no EGL library: %s", dlerror());
    EGL_FUNCTIONS(EGL_LOAD)
#undef EGL_LOAD
    egl.GetPlatformDisplay =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)egl.GetProcAddress("eglGetPlatformDisplayEXT");
    return true;
}

/* The context that is needed could not be made: says which version the driver has, if it is another
   one. */
static bool fail_version(mmd_gl_context *gl, EGLConfig config, const char *platform, attempts *log)
{
    char why[120];
    const char *error = egl_error(), *version = NULL;
    gl->context = egl.CreateContext(gl->display, config, EGL_NO_CONTEXT, NULL);
    if (gl->context && egl.MakeCurrent(gl->display, EGL_NO_SURFACE, EGL_NO_SURFACE, gl->context)) {
        const GLubyte *(GLAPIENTRY * get_string)(GLenum) =
            (const GLubyte *(GLAPIENTRY *)(GLenum))egl.GetProcAddress("glGetString");
        version = get_string ? (const char *)get_string(GL_VERSION) : NULL;
    }
    if (!version)
        return fail_attempt(log, platform, "no OpenGL 4.3 core context", error);
    snprintf(why, sizeof why, "the driver has %s (%s)", version, error);
    return fail_attempt(log, platform, "OpenGL 4.3 needed", why);
}

/* The last two attributes are not required: whether the context tells that the device was reset. */
static EGLContext create_core(mmd_gl_context *gl, EGLConfig config)
{
    enum { REQUIRED = 6 };
    EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION,
                           4,
                           EGL_CONTEXT_MINOR_VERSION,
                           3,
                           EGL_CONTEXT_OPENGL_PROFILE_MASK,
                           EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                           EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY_KHR,
                           EGL_LOSE_CONTEXT_ON_RESET_KHR,
                           EGL_NONE};
    EGLContext context = egl.CreateContext(gl->display, config, EGL_NO_CONTEXT, attributes);
    if (context)
        return context;
    attributes[REQUIRED] = EGL_NONE;
    return egl.CreateContext(gl->display, config, EGL_NO_CONTEXT, attributes);
}

static bool make_current(mmd_gl_context *gl, const char *platform, attempts *log)
{
    const char *extensions = egl.QueryString(gl->display, EGL_EXTENSIONS);
    bool surfaceless = has(extensions, "EGL_KHR_surfaceless_context");
    EGLConfig config = EGL_NO_CONFIG_KHR;
    if (!surfaceless || !has(extensions, "EGL_KHR_no_config_context")) {
        static const EGLint attributes[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                                            EGL_OPENGL_BIT, EGL_NONE};
        EGLint count = 0;
        if (!egl.ChooseConfig(gl->display, attributes, &config, 1, &count) || count < 1)
            return fail_attempt(log, platform, "no pbuffer config", egl_error());
    }

    gl->context = create_core(gl, config);
    if (!gl->context)
        return fail_version(gl, config, platform, log);
    if (!surfaceless) {
        static const EGLint size[] = {EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE};
        gl->surface = egl.CreatePbufferSurface(gl->display, config, size);
        if (!gl->surface)
            return fail_attempt(log, platform, "no pbuffer", egl_error());
    }
    if (!egl.MakeCurrent(gl->display, gl->surface, gl->surface, gl->context))
        return fail_attempt(log, platform, "eglMakeCurrent", egl_error());
    return true;
}

/* Without eglTerminate: other code in the process may use the same EGLDisplay. */
static void close_display(mmd_gl_context *gl)
{
    if (gl->display) {
        egl.MakeCurrent(gl->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        if (gl->surface)
            egl.DestroySurface(gl->display, gl->surface);
        if (gl->context)
            egl.DestroyContext(gl->display, gl->context);
    }
    gl->display = gl->surface = gl->context = NULL;
}

static bool open_display(mmd_gl_context *gl, EGLenum platform, void *native, const char *name,
                         attempts *log)
{
    gl->display = egl.GetPlatformDisplay(platform, native, NULL);
    if (!gl->display)
        return fail_attempt(log, name, "no display", egl_error());
    if (!egl.Initialize(gl->display, NULL, NULL)) {
        gl->display = NULL;
        return fail_attempt(log, name, "eglInitialize", egl_error());
    }
    if (!make_current(gl, name, log)) {
        close_display(gl);
        return false;
    }
    return true;
}

enum { MAX_DEVICES = 32 };

typedef struct device_list {
    EGLDeviceEXT devices[MAX_DEVICES];
    EGLint count;
    PFNEGLQUERYDEVICESTRINGEXTPROC describe;
} device_list;

static bool list_devices(device_list *list, attempts *log)
{
    PFNEGLQUERYDEVICESEXTPROC query =
        (PFNEGLQUERYDEVICESEXTPROC)egl.GetProcAddress("eglQueryDevicesEXT");
    list->describe = (PFNEGLQUERYDEVICESTRINGEXTPROC)egl.GetProcAddress("eglQueryDeviceStringEXT");
    if (!query || !list->describe || !query(MAX_DEVICES, list->devices, &list->count)) {
        list->count = 0;
        return fail_attempt(log, "devices", "eglQueryDevicesEXT", egl_error());
    }
    return list->count > 0 || fail_attempt(log, "devices", "eglQueryDevicesEXT", "no device");
}

static bool open_listed(mmd_gl_context *gl, const device_list *list, EGLint index, attempts *log)
{
    char name[32];
    snprintf(name, sizeof name, "device %d", (int)index);
    return open_display(gl, EGL_PLATFORM_DEVICE_EXT, list->devices[index], name, log);
}

static const char SURFACELESS[] = "EGL_MESA_platform_surfaceless";

static bool open_surfaceless(mmd_gl_context *gl, attempts *log)
{
    return open_display(gl, EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, "surfaceless", log);
}

/* Hardware devices first, then Mesa's software renderer, then a display without a device. */
static bool open_first(mmd_gl_context *gl, const char *platforms, attempts *log)
{
    device_list list = {.count = 0};
    if (has(platforms, "EGL_EXT_platform_device"))
        list_devices(&list, log);
    for (int software = 0; software < 2; software++)
        for (EGLint i = 0; i < list.count; i++)
            if (has(list.describe(list.devices[i], EGL_EXTENSIONS), "EGL_MESA_device_software") ==
                    software &&
                open_listed(gl, &list, i, log))
                return true;
    return has(platforms, SURFACELESS) && open_surfaceless(gl, log);
}

/* Only what MMDSKIN_EGL_DEVICE names: the index of a device, or "surfaceless". */
static bool open_chosen(mmd_gl_context *gl, const char *platforms, const char *choice,
                        attempts *log)
{
    device_list list = {.count = 0};
    if (strcmp(choice, "surfaceless") == 0)
        return has(platforms, SURFACELESS) ? open_surfaceless(gl, log)
                                           : fail_attempt(log, "MMDSKIN_EGL_DEVICE", choice,
                                                          "EGL has no surfaceless displays");
    if (has(platforms, "EGL_EXT_platform_device") && !list_devices(&list, log))
        return false;
    char *end;
    long index = strtol(choice, &end, 10);
    if (end != choice && *end == 0 && index >= 0 && index < list.count)
        return open_listed(gl, &list, (EGLint)index, log);
    char why[40];
    snprintf(why, sizeof why, "EGL has %d device%s", (int)list.count, list.count == 1 ? "" : "s");
    return fail_attempt(log, "MMDSKIN_EGL_DEVICE", choice, why);
}

static bool open_any(mmd_gl_context *gl, mmd_error *err)
{
    attempts log = {""};
    if (!egl.BindAPI(EGL_OPENGL_API))
        return mmd_gl_fail(err,
                           "EGL has no OpenGL: %s; install a driver (in Debian and Ubuntu "
                           "libegl-mesa0, or libnvidia-gl of NVIDIA's driver)",
                           egl_error());
    const char *platforms = egl.QueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    if (!platforms || !egl.GetPlatformDisplay)
        return mmd_gl_fail(err, "EGL has no client extensions: %s", egl_error());
    const char *choice = getenv("MMDSKIN_EGL_DEVICE");
    bool opened = choice && *choice ? open_chosen(gl, platforms, choice, &log)
                                    : open_first(gl, platforms, &log);
    return opened ||
           mmd_gl_fail(err, "%s",
                       *log.text ? log.text : "EGL has neither devices nor surfaceless displays");
}

bool mmd_gl_platform_open(mmd_gl_context *gl, mmd_error *err)
{
    return load_egl(err) && open_any(gl, err);
}

void mmd_gl_platform_close(mmd_gl_context *gl)
{
    close_display(gl);
    egl.ReleaseThread();
}
