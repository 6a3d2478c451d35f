/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_FIELD_H
#define MMD_PY_FIELD_H

#include "python/record.h"

/* Conversion of fields between C structs and Python objects, for the tables in record_types.c. */

/* clang-format off */
typedef PyObject *mmd_py_field_getter(const mmd_py_record_field *field, const mmd_py_record_source *source);

mmd_py_field_getter mmd_py_field_get_text, mmd_py_field_get_integer, mmd_py_field_get_number;
mmd_py_field_getter mmd_py_field_get_bool, mmd_py_field_get_vector, mmd_py_field_get_enum;
mmd_py_field_getter mmd_py_field_get_keys;

mmd_py_field_getter mmd_py_field_get_bone_flag, mmd_py_field_get_tail_bone;
mmd_py_field_getter mmd_py_field_get_tail_offset, mmd_py_field_get_append;
mmd_py_field_getter mmd_py_field_get_fixed_axis, mmd_py_field_get_local_axes;
mmd_py_field_getter mmd_py_field_get_external_parent;
mmd_py_field_getter mmd_py_field_get_ik, mmd_py_field_get_ik_links, mmd_py_field_get_ik_limit;
mmd_py_field_getter mmd_py_field_get_morph_kind;
mmd_py_field_getter mmd_py_field_get_morph_indices, mmd_py_field_get_morph_values;
mmd_py_field_getter mmd_py_field_get_frame_elements;
mmd_py_field_getter mmd_py_field_get_ik_names, mmd_py_field_get_ik_enabled;

/* These are in field_set.c. */
typedef bool mmd_py_field_setter(const mmd_py_record_field *field, PyObject *value,
                                 mmd_py_record_parser *parser);

mmd_py_field_setter mmd_py_field_set_text, mmd_py_field_set_integer, mmd_py_field_set_number;
mmd_py_field_setter mmd_py_field_set_bool, mmd_py_field_set_vector, mmd_py_field_set_enum;

mmd_py_field_setter mmd_py_field_set_bone_flag, mmd_py_field_set_tail_bone;
mmd_py_field_setter mmd_py_field_set_tail_offset, mmd_py_field_set_append;
mmd_py_field_setter mmd_py_field_set_fixed_axis, mmd_py_field_set_local_axes;
mmd_py_field_setter mmd_py_field_set_external_parent;
mmd_py_field_setter mmd_py_field_set_ik, mmd_py_field_set_ik_links, mmd_py_field_set_ik_limit;
mmd_py_field_setter mmd_py_field_set_morph_kind;
mmd_py_field_setter mmd_py_field_set_morph_indices, mmd_py_field_set_morph_values;
mmd_py_field_setter mmd_py_field_set_frame_elements;

/* These are in motion_tracks.c. */
mmd_py_field_setter mmd_py_field_set_keys, mmd_py_field_set_ik_names, mmd_py_field_set_ik_enabled;
/* clang-format on */

#endif
