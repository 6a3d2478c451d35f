/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_MODEL_NAMES_H
#define MMD_PY_MODEL_NAMES_H

#include "core/base/string_table.h"
#include "python/array.h"
#include "python/state.h"

/* The tables of a model that are looked up by name. */
typedef enum mmd_py_model_name_kind {
    MMD_PY_BONE_NAMES,
    MMD_PY_MORPH_NAMES,
    MMD_PY_MODEL_NAME_KIND_COUNT
} mmd_py_model_name_kind;

/* The bones or morphs of a model by their names, Japanese and English. */
typedef struct mmd_py_model_name_index {
    mmd_string_table names;
    size_t *items; /* the item of each name */
} mmd_py_model_name_index;

/* Parses a dict {name: (translation, rotation)} to local values (F,B,3) and (F,B,4). Bones that it
   does not name are at rest. Sets `batched` if any value has a frame axis. */
bool mmd_py_model_names_parse_bones(PyObject *model, PyObject *dict, mmd_py_array *translations,
                                    mmd_py_array *rotations, size_t *frames, bool *batched);

#endif
