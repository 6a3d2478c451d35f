/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORDS_H
#define MMD_PY_RECORDS_H

#include "python/state.h"

/* Makes a record of values in the order of its fields, whose references are stolen; NULL (with the
   exception that is set) when one of them is NULL. */
PyObject *mmd_record_new(mmd_state *state, mmd_record kind, PyObject *const *values, size_t count);

/* Tuples of what a model holds. Arrays in them are views that `owner` keeps. */
PyObject *mmd_records_bones(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_morphs(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_materials(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_textures(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_display_frames(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_rigid_bodies(mmd_state *state, const mmd_model *model, PyObject *owner);
PyObject *mmd_records_joints(mmd_state *state, const mmd_model *model, PyObject *owner);

PyObject *mmd_text_object(mmd_text text);

#endif
