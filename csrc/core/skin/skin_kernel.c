/* SPDX-License-Identifier: MIT */
/* The list of kernels, and which of them this CPU can run. */
#include "core/skin/skin_kernel.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

static bool always(void)
{
    return true;
}

static size_t vertex_positions(const mmd_mesh *mesh)
{
    return 3 * mesh->vertex_count;
}

#if defined(MMD_CPU_X86) || defined(MMD_CPU_ARM)
static size_t morphed_blocks(const mmd_mesh *mesh)
{
    return 3 * MMD_LANES * mesh->blocks.morphed_count;
}
#endif

/* Slowest first. */
static const mmd_skin_kernel kernels[] = {
    {"scalar", always, mmd_skin_scalar, vertex_positions},
#ifdef MMD_CPU_X86
    {"sse2", always, mmd_skin_sse2, morphed_blocks},
    {"avx2", mmd_cpu_has_avx2, mmd_skin_avx2, morphed_blocks},
    {"avx512", mmd_cpu_has_avx512, mmd_skin_avx512, morphed_blocks},
#endif
#ifdef MMD_CPU_ARM
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
