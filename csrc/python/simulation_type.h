/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMULATION_TYPE_H
#define MMD_PY_SIMULATION_TYPE_H

#include "mmdskin.h"
#include "python/array.h"
#include "python/state.h"
#include "python/types.h"

/* Reads a Physics that physics_arguments.py has made, which keeps the rows of a gravity that
   changes. False with an exception. */
bool mmd_py_physics_record_parse(PyObject *physics, mmd_simulation_settings *settings);

/* The Python type Simulation; its methods are in simulation_pose.c and simulation_step.c. */
typedef struct mmd_py_simulation {
    mmd_py_object base;
    PyObject *arguments;        /* what simulation() of physics_arguments.py has made of them */
    PyObject *models, *motions; /* of these: tuples; a motion may be None */
    bool is_list;               /* of models, also if it is one: results are tuples */
    mmd_simulation *simulation;
    mmd_py_object_lock lock;
} mmd_py_simulation;

/* A new simulation of the core. `transforms` (N,7) and `offsets` (N,), or NULL. NULL with an
   exception. */
mmd_simulation *mmd_py_simulation_create(PyObject *models, PyObject *motions,
                                         const double *transforms, const double *offsets, bool ik,
                                         const mmd_simulation_settings *physics);

/* The steps between checks for signals. */
size_t mmd_py_simulation_chunk(PyObject *models);

/* The Pose of frames, or a tuple of one for each model. The caller holds the lock. */
PyObject *mmd_py_simulation_pose_frames(PyObject *models, bool is_list, mmd_simulation *simulation,
                                        const mmd_py_array *frames);

PyObject *mmd_py_simulation_step(PyObject *object, PyObject *args, PyObject *kwargs);

#endif
