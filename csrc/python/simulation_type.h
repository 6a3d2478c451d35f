/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMULATION_TYPE_H
#define MMD_PY_SIMULATION_TYPE_H

#include "mmdskin.h"
#include "python/array.h"
#include "python/state.h"
#include "python/types.h"

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

/* The Python type Simulation; its methods are in simulation_pose.c and simulation_step.c. */
typedef struct mmd_py_simulation {
    mmd_py_object base;
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

PyObject *mmd_py_simulation_step(PyObject *object, PyObject *args, PyObject *kwargs);

#endif
