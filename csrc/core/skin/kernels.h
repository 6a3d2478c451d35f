/* SPDX-License-Identifier: MIT */
#ifndef MMD_KERNELS_H
#define MMD_KERNELS_H

#include "core/skin/skin_frame.h"

typedef struct mmd_kernel {
    const char *name; /* "scalar", "avx2", ... */
    bool (*available)(void);
    mmd_skin_run *run;
    size_t (*scratch)(const mmd_mesh *mesh); /* floats of frame->scratch when morphs act */
} mmd_kernel;

/* "scalar" exists everywhere, the others by what this build and this CPU have. */
const mmd_kernel *mmd_kernel_best(void);

/* Fails with MMD_E_BACKEND for one that is unknown here or not supported by this CPU. */
const mmd_kernel *mmd_kernel_find(const char *name, mmd_error *err);

#endif
