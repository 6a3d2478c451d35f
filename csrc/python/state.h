/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_STATE_H
#define MMD_PY_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mmdskin.h"

/* Functions that Python calls have the parameters of their kind, which not all of them need. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The classes of records.py. */
typedef enum mmd_py_record_kind {
    MMD_PY_RECORD_SKINNED,
    MMD_PY_RECORD_POSE,
    MMD_PY_RECORD_BACKEND,
    MMD_PY_RECORD_RENDERED,
    MMD_PY_RECORD_CAMERA,
    MMD_PY_RECORD_LIGHT,
    MMD_PY_RECORD_SHADOW,
    MMD_PY_RECORD_PHYSICS,
    MMD_PY_RECORD_BONE,
    MMD_PY_RECORD_APPEND,
    MMD_PY_RECORD_IK,
    MMD_PY_RECORD_IK_LINK,
    MMD_PY_RECORD_MORPH,
    MMD_PY_RECORD_MATERIAL,
    MMD_PY_RECORD_DISPLAY_FRAME,
    MMD_PY_RECORD_RIGID_BODY,
    MMD_PY_RECORD_JOINT,
    MMD_PY_RECORD_BONE_TRACK, /* and the other tracks in the order of mmd_motion_kind */
    MMD_PY_RECORD_MORPH_TRACK,
    MMD_PY_RECORD_CAMERA_TRACK,
    MMD_PY_RECORD_LIGHT_TRACK,
    MMD_PY_RECORD_SHADOW_TRACK,
    MMD_PY_RECORD_PROPERTY_TRACK,
    MMD_PY_RECORD_UNMATCHED,
    MMD_PY_RECORD_FIT_REPORT,
    MMD_PY_RECORD_COUNT
} mmd_py_record_kind;

/* The types that are written in C. */
typedef enum mmd_py_type_kind {
    MMD_PY_MODEL,
    MMD_PY_MESH,
    MMD_PY_MOTION,
    MMD_PY_WORLD,
    MMD_PY_SIMULATION,
    MMD_PY_FIT, /* private */
    MMD_PY_TYPE_COUNT
} mmd_py_type_kind;

/* The state of one module object: each interpreter has its own. */
typedef struct mmd_py_state {
    PyTypeObject *types[MMD_PY_TYPE_COUNT];
    PyObject *named; /* the class */
    PyObject *records[MMD_PY_RECORD_COUNT];
} mmd_py_state;

/* The state by an object of one of our types (which have no subclasses), or by the module. */
mmd_py_state *mmd_py_state_of(PyObject *object);
mmd_py_state *mmd_py_state_of_module(PyObject *module);

#endif
