/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMULATION_H
#define MMD_PY_SIMULATION_H

#include "core/physics/simulation.h"
#include "python/arrays.h"
#include "python/state.h"

/* What Physics() takes for fields that are left out. */
PyObject *mmd_physics_defaults(void);

/* An argument `physics`: 0 for None and False, 1 for True and for a Physics, -1 with an
   exception. */
int mmd_physics_take(mmd_state *state, PyObject *argument, mmd_physics *physics);

/* The Pose of frames by a run of its own. */
PyObject *mmd_simulate(PyObject *model, PyObject *motion, bool ik, const mmd_physics *physics,
                       const mmd_array *frames);

/* The Physics of settings. */
PyObject *mmd_physics_object(mmd_state *state, const mmd_physics *physics);

#endif
