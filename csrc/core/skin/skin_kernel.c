/* SPDX-License-Identifier: MIT */
/* The list of kernels, and by cpuid which of them this CPU can run. */
#include "core/skin/skin_kernel.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

#ifdef MMD_SKIN_X86
#include <cpuid.h>

enum { QUERIED = 1, AVX2 = 2, AVX512 = 4 };

/* By hand, as not every compiler fills the table behind __builtin_cpu_supports. AVX2 includes FMA;
   AVX512 is F, VL and DQ. */
static unsigned query_features(void)
{
    /* State that the system must save (XCR0): SSE and AVX; for AVX-512 three more registers. */
    const unsigned ymm = 0x06, zmm = 0xe6;
    const unsigned avx512 = bit_AVX512F | bit_AVX512VL | bit_AVX512DQ;
    unsigned a, b, c, d, saved, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & ymm) != ymm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
        return 0;
    return (saved & zmm) == zmm && (b & avx512) == avx512 ? AVX2 | AVX512 : AVX2;
}

/* Cached, as cpuid takes tens of microseconds in a virtual machine. */
static unsigned cpu_features(void)
{
    static _Atomic unsigned cached;
    unsigned features = cached;
    if (!features)
        cached = features = QUERIED | query_features();
    return features;
}

bool mmd_skin_kernel_has_avx2(void)
{
    return cpu_features() & AVX2;
}

static bool has_avx512(void)
{
    return cpu_features() & AVX512;
}
#else
bool mmd_skin_kernel_has_avx2(void)
{
    return false;
}
#endif

static bool always(void)
{
    return true;
}

static size_t vertex_positions(const mmd_mesh *mesh)
{
    return 3 * mesh->vertex_count;
}

#if defined(MMD_SKIN_X86) || defined(MMD_SKIN_ARM)
static size_t morphed_blocks(const mmd_mesh *mesh)
{
    return 3 * MMD_LANES * mesh->blocks.morphed_count;
}
#endif

/* Slowest first. */
static const mmd_skin_kernel kernels[] = {
    {"scalar", always, mmd_skin_scalar, vertex_positions},
#ifdef MMD_SKIN_X86
    {"sse2", always, mmd_skin_sse2, morphed_blocks},
    {"avx2", mmd_skin_kernel_has_avx2, mmd_skin_avx2, morphed_blocks},
    {"avx512", has_avx512, mmd_skin_avx512, morphed_blocks},
#endif
#ifdef MMD_SKIN_ARM
    {"neon", always, mmd_skin_neon, morphed_blocks},
#endif
};

enum { KERNEL_COUNT = sizeof kernels / sizeof *kernels };

const mmd_skin_kernel *mmd_skin_kernel_best(void)
{
    size_t best = KERNEL_COUNT - 1;
    while (!kernels[best].available())
        best--;
    return &kernels[best];
}

const mmd_skin_kernel *mmd_skin_kernel_find(const char *name, mmd_error *err)
{
    char available[64] = "";
    for (size_t i = 0; i < KERNEL_COUNT; i++) {
        if (!kernels[i].available())
            continue;
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
        size_t used = strlen(available);
        snprintf(available + used, sizeof available - used, "%s%s", used ? ", " : "",
                 kernels[i].name);
    }
    mmd_fail(err, MMD_E_BACKEND, "backend: kernel \"%s\" is unknown or not supported here: %s",
             name, available);
    return NULL;
}
