/* SPDX-License-Identifier: MIT */
/* The real EGL with a driver that can be told to misbehave: a test sets these variables, by ctypes,
   when it has come to the point. Linked to libEGL, which answers for every other function. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

int texture_buffer_limit = -1; /* what the driver says from now on; -1: the truth */
int crash = 0;                 /* whether it writes to where nothing is */

enum { GL_MAX_TEXTURE_BUFFER_SIZE = 0x8C2B };

typedef void (*function)(void);

static function (*real_get_proc_address)(const char *name);
static void (*real_get_integerv)(unsigned name, int *value);

static void get_integerv(unsigned name, int *value)
{
    if (crash)
        *(volatile int *)8 = 0;
    real_get_integerv(name, value);
    if (name == GL_MAX_TEXTURE_BUFFER_SIZE && texture_buffer_limit >= 0)
        *value = texture_buffer_limit;
}

function eglGetProcAddress(const char *name)
{
    if (!real_get_proc_address)
        *(void **)&real_get_proc_address = dlsym(RTLD_NEXT, "eglGetProcAddress");
    function real = real_get_proc_address(name);
    if (strcmp(name, "glGetIntegerv") != 0)
        return real;
    *(function *)&real_get_integerv = real;
    return (function)get_integerv;
}
