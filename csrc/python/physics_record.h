/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_PHYSICS_RECORD_H
#define MMD_PY_PHYSICS_RECORD_H

#include "mmdskin.h"
#include "python/array.h"
#include "python/state.h"

/* Parses an argument `physics`. Returns 0 for None and False, 1 for True and a Physics, -1 with an
   exception. `rows`, none before, keeps the rows of a gravity that changes; clear it, also after
   failure, when `physics` is no longer used. */
int mmd_py_physics_record_parse(mmd_py_state *state, PyObject *argument,
                                mmd_simulation_settings *physics, mmd_py_array *rows);

/* A new Physics of these settings. */
PyObject *mmd_py_physics_record_new(mmd_py_state *state, const mmd_simulation_settings *physics);

/* The ground of settings as an argument: a bool or a height. */
PyObject *mmd_py_physics_record_ground(const mmd_world_settings *world);

/* Also arguments of World. False with an exception that begins with `name`. */
bool mmd_py_physics_record_parse_ground(PyObject *value, const char *name,
                                        mmd_world_settings *world);
bool mmd_py_physics_record_parse_iterations(PyObject *value, const char *name, int *iterations);

#endif
