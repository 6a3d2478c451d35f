/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_POSERS_H
#define MMD_PY_POSERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mmdskin.h"

/* Posers that were used and wait for the next call of the same model and motion: binding them and
   allocating costs as much as a frame. A call takes one out and gives it back, so that no two
   threads share one. Each hangs in the rings of its model and of its motion, and is freed with
   either; a model keeps few. All of it happens under the GIL, which is the lock, and what is kept
   refers to no Python object. */

typedef struct mmd_ring {
    struct mmd_ring *next, *previous;
} mmd_ring;

void mmd_ring_init(mmd_ring *ring);

/* A model and a motion, and where their kept posers hang; NULLs for a pose by local values. */
typedef struct mmd_posed_pair {
    const mmd_rig *rig;
    const mmd_motion *motion;
    mmd_ring *of_model, *of_motion;
} mmd_posed_pair;

typedef struct mmd_kept_poser {
    mmd_ring of_model, of_motion;
    mmd_poser *poser; /* NULL: its taker makes it, without the GIL */
    const mmd_motion *motion;
} mmd_kept_poser;

/* NULL when memory is short. */
mmd_kept_poser *mmd_posers_take(const mmd_posed_pair *pair, mmd_error *err);
void mmd_posers_give_back(const mmd_posed_pair *pair, mmd_kept_poser *kept);

void mmd_posers_free_of_model(mmd_ring *ring);
void mmd_posers_free_of_motion(mmd_ring *ring);

#endif
