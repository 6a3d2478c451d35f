/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMULATION_H
#define MMD_PY_SIMULATION_H

#include "core/physics/settings.h"
#include "python/arrays.h"

/* The Pose of frames by a run of its own. */
PyObject *mmd_simulate(PyObject *model, PyObject *motion, bool ik, const mmd_physics *physics,
                       const mmd_array *frames);

#endif
