/* SPDX-License-Identifier: MIT */
/* Preloaded into Python: makes an allocation of the module fail, and of nothing else. Tests set the
   variable by ctypes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

int allocations_left =
    -1; /* successful allocations of the module before one fails; -1: no failure */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static int fails(void *caller)
{
    Dl_info info;
    if (allocations_left < 0 || !dladdr(caller, &info) || !strstr(info.dli_fname, "/_mmdskin."))
        return 0;
    return allocations_left-- == 0;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}
