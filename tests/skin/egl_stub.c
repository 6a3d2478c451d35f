/* SPDX-License-Identifier: MIT */
/* An EGL library with all functions but no graphics. A macro (-D) chooses where it fails. */
#include <stddef.h>
#include <string.h>

#ifndef CLIENT_EXTENSIONS
#define CLIENT_EXTENSIONS "EGL_EXT_platform_device EGL_EXT_device_enumeration"
#endif
#ifndef DEVICES
#define DEVICES 0
#endif
#ifndef BIND
#define BIND 1
#endif

enum { EGL_NOT_INITIALIZED = 0x3001 };

int eglGetError(void)
{
    return EGL_NOT_INITIALIZED;
}

unsigned eglBindAPI(unsigned api)
{
    (void)api;
    return BIND;
}

const char *eglQueryString(void *display, int name)
{
    (void)name;
    return display ? "" : CLIENT_EXTENSIONS;
}

static void *get_platform_display(unsigned platform, void *native, const int *attributes)
{
    (void)platform, (void)native, (void)attributes;
    return (void *)1;
}

static unsigned query_devices(int capacity, void **devices, int *count)
{
    (void)capacity;
    for (int i = 0; i < DEVICES; i++)
        devices[i] = (void *)1;
    *count = DEVICES;
    return 1;
}

static const char *describe(void *device, int name)
{
    (void)device, (void)name;
    return NULL;
}

void *eglGetProcAddress(const char *name)
{
    return strcmp(name, "eglGetPlatformDisplayEXT") == 0  ? (void *)get_platform_display
           : strcmp(name, "eglQueryDevicesEXT") == 0      ? (void *)query_devices
           : strcmp(name, "eglQueryDeviceStringEXT") == 0 ? (void *)describe
                                                          : NULL;
}

#define FAILING(name)                                                                              \
    unsigned name(void)                                                                            \
    {                                                                                              \
        return 0;                                                                                  \
    }

FAILING(eglInitialize)
FAILING(eglChooseConfig)
FAILING(eglCreateContext)
FAILING(eglCreatePbufferSurface)
FAILING(eglDestroyContext)
FAILING(eglDestroySurface)
FAILING(eglMakeCurrent)
FAILING(eglReleaseThread)
