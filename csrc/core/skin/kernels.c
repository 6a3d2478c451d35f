/* SPDX-License-Identifier: MIT */
/* The one place that knows which kernels there are and what of them this CPU can run. */
#include "core/skin/kernels.h"

#include "core/base/error.h"
#include "core/skin/cpu.h"
#include "core/skin/skin_scalar.h"
#include "core/skin/skin_vector.h"

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

static size_t block_positions(const mmd_mesh *mesh)
{
    return 3 * MMD_LANES * mesh->blocks.morphed_count;
}

/* Slowest first. */
static const mmd_kernel kernels[] = {
    {"scalar", always, mmd_skin_scalar, vertex_positions},
#ifdef MMD_SKIN_X86
    {"sse2", always, mmd_skin_sse2, block_positions},
    {"avx2", mmd_cpu_has_avx2, mmd_skin_avx2, block_positions},
    {"avx512", mmd_cpu_has_avx512, mmd_skin_avx512, block_positions},
#endif
#ifdef MMD_SKIN_ARM
    {"neon", always, mmd_skin_neon, block_positions},
#endif
};

enum { COUNT = sizeof kernels / sizeof *kernels };

const mmd_kernel *mmd_kernel_best(void)
{
    size_t best = COUNT - 1;
    while (!kernels[best].available())
        best--;
    return &kernels[best];
}

const mmd_kernel *mmd_kernel_find(const char *name, mmd_error *err)
{
    char here[64] = "";
    for (size_t i = 0; i < COUNT; i++) {
        if (!kernels[i].available())
            continue;
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
        size_t used = strlen(here);
        snprintf(here + used, sizeof here - used, "%s%s", used ? ", " : "", kernels[i].name);
    }
    mmd_fail(err, MMD_E_BACKEND, "backend: kernel \"%s\" is not known or not supported here: %s",
             name, here);
    return NULL;
}
