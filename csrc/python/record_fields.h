/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORD_FIELDS_H
#define MMD_PY_RECORD_FIELDS_H

#include "python/records.h"

/* How fields are made of members of C structs, and of tracks also taken back, for the tables in
   record_types.c. */
typedef PyObject *mmd_show(const mmd_field *field, const mmd_shown *shown);

mmd_show mmd_show_text, mmd_show_integer, mmd_show_number, mmd_show_truth, mmd_show_vector;
mmd_show mmd_show_word, mmd_show_keys;

mmd_show mmd_show_bone_flag, mmd_show_append, mmd_show_fixed_axis, mmd_show_local_axes;
mmd_show mmd_show_external_parent, mmd_show_ik, mmd_show_ik_links, mmd_show_ik_limit;
mmd_show mmd_show_morph_kind, mmd_show_morph_indices, mmd_show_morph_values;
mmd_show mmd_show_frame_elements, mmd_show_ik_names, mmd_show_ik_enabled;

typedef bool mmd_take(const mmd_field *field, PyObject *value, mmd_taking *taking);

mmd_take mmd_take_text, mmd_take_keys, mmd_take_ik_names, mmd_take_ik_enabled;

#endif
