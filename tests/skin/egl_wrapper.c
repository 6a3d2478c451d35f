/* SPDX-License-Identifier: MIT */
/* The real EGL with a driver that misbehaves on demand: a test sets these variables by ctypes.
   Linked to the libEGL of the machine, which provides all other functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int texture_buffer_limit = -1; /* what the driver reports from now on; -1: the real limit */
int crash = 0;                 /* whether it writes to an invalid address */
int mappings_left = -1;        /* mappings that still succeed; -1: all */
int no_storage = 0;            /* whether buffers cannot stay mapped: it has no glBufferStorage */
int refuse_persistent = 0;     /* whether it has, but such mappings fail */
int mappings = 0;              /* of all kinds so far */
int persistent_mappings = 0;   /* so far */
int textures_alive = 0;        /* that were made and not deleted, in all contexts */
int buffer_copies = 0;         /* from a buffer to another, so far */
int hardware = 0;              /* whether it does not say that it is a software renderer */
int waits_left = -1;           /* waits for a fence that still succeed; -1: all */
int waits_cut_short = 0;       /* waits that still return too early */
int hang = 0;                  /* whether fences are never signaled */
int calls_since_hang = 0;      /* of functions that end or free something, or ask for errors */
int resets = 0;                /* of the device, by a pass that was just drawn, still to happen */
int passes_left = -1;          /* before the device hangs in one, so that it is reset in the wait */
int reset_reason = 0;          /* what it says of one; 0: only that calls are lost */
int no_notification = 0;       /* whether contexts cannot be made to tell of a reset */
int no_restart = 0;            /* whether no context can be made after that */
int contexts_made = 0;         /* so far */
int slow_start = 0;            /* seconds that it takes to make a context */
int refuse_shaders = 0;        /* whether none compiles */
int old_version = 0; /* whether it makes no contexts of OpenGL 4, and says that it has 3.3 */
int nameless = 0;    /* whether it does not report its name, as after a lost context */

enum {
    EGL_NONE = 0x3038,
    EGL_RESET_NOTIFICATION_STRATEGY = 0x31BD,
    GL_CONTEXT_LOST = 0x0507,
    EGL_CONTEXT_MAJOR_VERSION = 0x3098,
    GL_VENDOR = 0x1F00,
    GL_RENDERER = 0x1F01,
    GL_VERSION = 0x1F02,
    GL_COMPILE_STATUS = 0x8B81,
    GL_MAP_PERSISTENT_BIT = 0x40,
    GL_MAX_TEXTURE_BUFFER_SIZE = 0x8C2B,
    GL_TIMEOUT_EXPIRED = 0x911B,
    GL_WAIT_FAILED = 0x911D
};

typedef void (*function)(void);

static void (*real_get_integerv)(unsigned name, int *value);
static const unsigned char *(*real_get_string)(unsigned name);
static void *(*real_map_buffer_range)(unsigned target, ptrdiff_t first, ptrdiff_t size,
                                      unsigned access);
static void (*real_get_shaderiv)(unsigned shader, unsigned name, int *value);
static void (*real_gen_textures)(int count, unsigned *textures);
static void (*real_delete_textures)(int count, const unsigned *textures);
static void (*real_copy_buffer)(unsigned from, unsigned to, ptrdiff_t first, ptrdiff_t target,
                                ptrdiff_t size);
static unsigned (*real_get_error)(void);
static void (*real_delete_sync)(void *sync);
static void (*real_delete_buffers)(int count, const unsigned *buffers);
static void (*real_dispatch_compute)(unsigned x, unsigned y, unsigned z);
static unsigned (*real_client_wait_sync)(void *sync, unsigned flags, unsigned long long timeout);

static void get_integerv(unsigned name, int *value)
{
    if (crash)
        *(volatile int *)8 = 0;
    real_get_integerv(name, value);
    if (name == GL_MAX_TEXTURE_BUFFER_SIZE && texture_buffer_limit >= 0)
        *value = texture_buffer_limit;
}

static const unsigned char *get_string(unsigned name)
{
    if (nameless && (name == GL_VENDOR || name == GL_RENDERER))
        return NULL;
    if (old_version && name == GL_VERSION)
        return (const unsigned char *)"3.3.0 of the test";
    return hardware && name == GL_RENDERER ? (const unsigned char *)"GPU" : real_get_string(name);
}

static void get_shaderiv(unsigned shader, unsigned name, int *value)
{
    real_get_shaderiv(shader, name, value);
    if (refuse_shaders && name == GL_COMPILE_STATUS)
        *value = 0;
}

/* As NVIDIA's driver words it. */
static void get_shader_info_log(unsigned shader, int size, int *length, char *log)
{
    (void)shader, (void)length;
    snprintf(log, (size_t)size, "\nCompute info\n------------\n0(1) : error C0201: no\nmore\n");
}

static int lost;              /* whether the current context is */
static int dispatches, waits; /* since passes_left was set */

static void dispatch_compute(unsigned x, unsigned y, unsigned z)
{
    if (resets > 0) {
        resets--;
        lost = 1;
    }
    if (passes_left >= 0 && dispatches++ >= passes_left)
        return;
    real_dispatch_compute(x, y, z);
}

static void *map_buffer_range(unsigned target, ptrdiff_t first, ptrdiff_t size, unsigned access)
{
    mappings++;
    if (access & GL_MAP_PERSISTENT_BIT) {
        if (refuse_persistent)
            return NULL;
        persistent_mappings++;
    } else if (mappings_left == 0) {
        return NULL;
    }
    mappings_left -= !(access & GL_MAP_PERSISTENT_BIT) && mappings_left > 0;
    return real_map_buffer_range(target, first, size, access);
}

static void copy_buffer(unsigned from, unsigned to, ptrdiff_t first, ptrdiff_t target,
                        ptrdiff_t size)
{
    buffer_copies++;
    real_copy_buffer(from, to, first, target, size);
}

static void gen_textures(int count, unsigned *textures)
{
    textures_alive += count;
    real_gen_textures(count, textures);
}

static void delete_textures(int count, const unsigned *textures)
{
    calls_since_hang++;
    for (int i = 0; i < count; i++)
        textures_alive -= textures[i] != 0;
    real_delete_textures(count, textures);
}

static unsigned client_wait_sync(void *sync, unsigned flags, unsigned long long timeout)
{
    if (passes_left >= 0 && waits++ >= passes_left)
        lost = 1;
    if (waits_left == 0)
        return GL_WAIT_FAILED;
    if (waits_cut_short > 0) {
        waits_cut_short--;
        return GL_TIMEOUT_EXPIRED;
    }
    if (hang) {
        calls_since_hang = 0;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        return GL_TIMEOUT_EXPIRED;
    }
    waits_left -= waits_left > 0;
    return real_client_wait_sync(sync, flags, timeout);
}

static unsigned get_error(void)
{
    calls_since_hang++;
    return lost ? GL_CONTEXT_LOST : real_get_error();
}

static unsigned get_graphics_reset_status(void)
{
    return lost ? (unsigned)reset_reason : 0;
}

static void delete_sync(void *sync)
{
    calls_since_hang++;
    real_delete_sync(sync);
}

static void delete_buffers(int count, const unsigned *buffers)
{
    calls_since_hang++;
    real_delete_buffers(count, buffers);
}

unsigned eglDestroyContext(void *display, void *context)
{
    static unsigned (*real_destroy_context)(void *display, void *context);
    *(void **)&real_destroy_context = dlsym(RTLD_NEXT, "eglDestroyContext");
    calls_since_hang++;
    return real_destroy_context(display, context);
}

void *eglCreateContext(void *display, void *config, void *share, const int *attributes)
{
    static void *(*real_create_context)(void *display, void *config, void *share,
                                        const int *attributes);
    *(void **)&real_create_context = dlsym(RTLD_NEXT, "eglCreateContext");
    if (no_restart && contexts_made)
        return NULL;
    for (const int *name = attributes; name && *name != EGL_NONE; name += 2)
        if ((no_notification && *name == EGL_RESET_NOTIFICATION_STRATEGY) ||
            (old_version && *name == EGL_CONTEXT_MAJOR_VERSION && name[1] > 3))
            return NULL;
    nanosleep(&(struct timespec){.tv_sec = slow_start}, NULL);
    contexts_made++;
    lost = 0;
    passes_left = -1;
    dispatches = waits = 0;
    return real_create_context(display, config, share, attributes);
}

function eglGetProcAddress(const char *name)
{
    static function (*real_get_proc_address)(const char *name);
    if (!real_get_proc_address)
        *(void **)&real_get_proc_address = dlsym(RTLD_NEXT, "eglGetProcAddress");
    function real = real_get_proc_address(name);
    if (strcmp(name, "glGetIntegerv") == 0) {
        *(function *)&real_get_integerv = real;
        return (function)get_integerv;
    }
    if (strcmp(name, "glGetString") == 0) {
        *(function *)&real_get_string = real;
        return (function)get_string;
    }
    if (strcmp(name, "glGetShaderiv") == 0) {
        *(function *)&real_get_shaderiv = real;
        return (function)get_shaderiv;
    }
    if (strcmp(name, "glGetShaderInfoLog") == 0 && refuse_shaders)
        return (function)get_shader_info_log;
    if (strcmp(name, "glGetError") == 0) {
        *(function *)&real_get_error = real;
        return (function)get_error;
    }
    if (strncmp(name, "glGetGraphicsResetStatus", 24) == 0) /* also as an extension */
        return (function)get_graphics_reset_status;
    if (strcmp(name, "glDeleteSync") == 0) {
        *(function *)&real_delete_sync = real;
        return (function)delete_sync;
    }
    if (strcmp(name, "glDeleteBuffers") == 0) {
        *(function *)&real_delete_buffers = real;
        return (function)delete_buffers;
    }
    if (strcmp(name, "glDispatchCompute") == 0) {
        *(function *)&real_dispatch_compute = real;
        return (function)dispatch_compute;
    }
    if (strcmp(name, "glBufferStorage") == 0 && no_storage)
        return NULL;
    if (strcmp(name, "glCopyBufferSubData") == 0) {
        *(function *)&real_copy_buffer = real;
        return (function)copy_buffer;
    }
    if (strcmp(name, "glGenTextures") == 0) {
        *(function *)&real_gen_textures = real;
        return (function)gen_textures;
    }
    if (strcmp(name, "glDeleteTextures") == 0) {
        *(function *)&real_delete_textures = real;
        return (function)delete_textures;
    }
    if (strcmp(name, "glMapBufferRange") == 0) {
        *(function *)&real_map_buffer_range = real;
        return (function)map_buffer_range;
    }
    if (strcmp(name, "glClientWaitSync") == 0) {
        *(function *)&real_client_wait_sync = real;
        return (function)client_wait_sync;
    }
    return real;
}
