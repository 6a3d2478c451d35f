/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMULATION_TYPE_H
#define MMD_PY_SIMULATION_TYPE_H

#include "mmdskin.h"
#include "python/array.h"
#include "python/object_lock.h"
#include "python/state.h"

/* The Python type Simulation; its methods are in simulation_pose.c and simulation_step.c. */
typedef struct mmd_py_simulation {
    PyObject_HEAD
    PyObject *models, *motions; /* tuples, kept alive for `simulation`; a motion may be None */
    PyObject *places, *offsets; /* arrays (N,7) and (N,), or NULL */
    PyObject *physics;          /* a Physics */
    bool is_list;               /* of models, also if it is one: results are tuples */
    int ik;
    mmd_simulation *simulation;
    mmd_py_object_lock lock;
} mmd_py_simulation;

bool mmd_py_simulation_acquire(mmd_py_simulation *self);
void mmd_py_simulation_release(mmd_py_simulation *self);

/* A new simulation of the core. `places` (N,7) and `offsets` (N,), or NULL. NULL with an
   exception. */
mmd_simulation *mmd_py_simulation_create(PyObject *models, PyObject *motions, const double *places,
                                         const double *offsets, bool ik,
                                         const mmd_simulation_settings *physics);

/* The steps between checks for signals. */
size_t mmd_py_simulation_chunk(PyObject *models);

/* The Pose of frames, or a tuple of one for each model. The caller holds the lock. */
PyObject *mmd_py_simulation_pose_frames(PyObject *models, bool is_list, mmd_simulation *simulation,
                                        const mmd_py_array *frames);

extern const char mmd_py_simulation_step_doc[];
PyObject *mmd_py_simulation_step(PyObject *object, PyObject *args, PyObject *kwargs);

#endif
