/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_PHYSICS_H
#define MMD_PY_PHYSICS_H

#include "core/physics/settings.h"
#include "python/state.h"

/* What Physics() takes for fields that are left out. */
PyObject *mmd_physics_defaults(void);

/* An argument `physics`: 0 for None and False, 1 for True and for a Physics, -1 with an
   exception. */
int mmd_physics_take(mmd_state *state, PyObject *argument, mmd_physics *physics);

/* The Physics of settings. */
PyObject *mmd_physics_object(mmd_state *state, const mmd_physics *physics);

/* Of a World, too. False with an exception that begins with `name`. */
bool mmd_iterations_take(PyObject *value, const char *name, int *iterations);

#endif
