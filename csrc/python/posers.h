/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_POSERS_H
#define MMD_PY_POSERS_H

#include "python/state.h"

/* Posers that were used and wait for the next call of the same model and motion: binding them and
   allocating costs as much as a frame. A call takes one out and gives it back, so that no two
   threads share one. Each hangs in the rings of its model and of its motion, and is freed with
   either; a model keeps few. All of it happens under the GIL, which is the lock, and what is kept
   refers to no Python object. */

typedef struct mmd_ring {
    struct mmd_ring *next, *previous;
} mmd_ring;

void mmd_ring_init(mmd_ring *ring);

/* Of a Model and a Motion; where their kept posers hang. */
mmd_ring *mmd_model_posers(PyObject *model);
mmd_ring *mmd_motion_posers(PyObject *motion);

typedef struct mmd_kept_poser {
    mmd_ring of_model, of_motion;
    mmd_poser *poser;
    PyObject *motion; /* borrowed; Py_None: by local values */
} mmd_kept_poser;

/* A poser of the model by the motion or None. NULL with an exception when memory is short. */
mmd_kept_poser *mmd_posers_take(PyObject *model, PyObject *motion);
void mmd_posers_give_back(PyObject *model, mmd_kept_poser *kept);

void mmd_posers_free_of_model(PyObject *model);
void mmd_posers_free_of_motion(PyObject *motion);

#endif
