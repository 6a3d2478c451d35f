/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORDS_H
#define MMD_PY_RECORDS_H

#include "python/state.h"

/* Makes a record of values in the order of its fields, whose references are stolen; NULL (with the
   exception that is set) when one of them is NULL. */
PyObject *mmd_record_new(mmd_state *state, mmd_record kind, PyObject *const *values, size_t count);

#define MMD_RECORD(kind, ...)                                                                      \
    mmd_record_new(state, kind, (PyObject *const[]){__VA_ARGS__},                                  \
                   sizeof((PyObject *const[]){__VA_ARGS__}) / sizeof(PyObject *))

/* Makes item `i` of a tuple. */
typedef PyObject *mmd_make_item(mmd_state *state, const void *from, size_t i, PyObject *owner);

PyObject *mmd_record_tuple(mmd_state *state, mmd_make_item *make, const void *from, size_t count,
                           PyObject *owner);

/* Tuples of what a model holds. Arrays in them are views that `owner` keeps. */
PyObject *mmd_records_bones(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_morphs(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_materials(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_of_materials(mmd_state *state, const mmd_material *materials, size_t count);
PyObject *mmd_records_textures(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_display_frames(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_rigid_bodies(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_joints(mmd_state *state, const mmd_model *model, PyObject *owner);

PyObject *mmd_text_object(mmd_text text);

#endif
