/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_KERNEL_H
#define MMD_SKIN_KERNEL_H

#include "core/base/cpu.h"
#include "core/skin/skin_input.h"

/* The skinning kernels of the CPU, and which of them this CPU can run. */

typedef void mmd_skin_kernel_run(const mmd_skin_input *input);

mmd_skin_kernel_run mmd_skin_scalar; /* the reference */
#ifdef MMD_CPU_X86
mmd_skin_kernel_run mmd_skin_sse2, mmd_skin_avx2, mmd_skin_avx512;
#endif
#ifdef MMD_CPU_ARM
mmd_skin_kernel_run mmd_skin_neon;
#endif

typedef struct mmd_skin_kernel {
    const char *name; /* "scalar", "avx2", ... */
    bool (*available)(void);
    mmd_skin_kernel_run *run;
    size_t (*scratch_size)(const mmd_mesh *mesh); /* floats of input->scratch, if morphs act */
} mmd_skin_kernel;

/* The fastest kernel that this CPU can run. */
const mmd_skin_kernel *mmd_skin_kernel_best(void);

/* Fails with MMD_E_BACKEND if the name is unknown or this CPU cannot run the kernel. */
const mmd_skin_kernel *mmd_skin_kernel_find(const char *name, mmd_error *err);

#endif
