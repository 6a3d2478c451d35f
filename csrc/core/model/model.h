/* SPDX-License-Identifier: MIT */
#ifndef MMD_MODEL_H
#define MMD_MODEL_H

#include "core/base/bytes.h"

/* Models, whichever file they come from. mmdskin.h declares their struct. */

enum {
    MMD_MAX_VERTICES = 1 << 26, /* of a model or a mesh */
    MMD_MAX_RECORDS = 10000000, /* of any other kind, and of keys */
    MMD_SHARED_TOONS = 10
};

/* By how much the weights of a vertex may miss a sum of 1 where a model comes from arrays. */
#define MMD_WEIGHT_TOLERANCE 1e-3f

/* What a PMX file has of a vertex, by its deform type: how many bones, weights and numbers of SDEF.
 */
typedef struct mmd_model_deform_layout {
    size_t bones, weights, sdef;
} mmd_model_deform_layout;

extern const mmd_model_deform_layout mmd_model_deform_layouts[MMD_DEFORM_COUNT];

/* Makes a model from a reader valid, as mmdskin.h promises: an index out of range becomes -1 or is
   removed with its triangle, offset or element, cycles of parents are cut, unknown kinds become the
   nearest known one. False only when memory is short. docs/mmd-behavior.md#robust-reader */
bool mmd_model_sanitize(mmd_model *model, mmd_error *err);

/* Of a model that does not come from a file, refuses what would be cleaned, apart from vertices and
   texts: the error names the item. Clears what a flag switches off. */
bool mmd_model_check(mmd_model *model, mmd_error *err);

/* The fields of records, in the order of a PMX file, without parts of varying size (IK, offsets,
   elements): by one table they are read, cleaned or refused (mmd_model_new()), and written. */

typedef enum mmd_model_field_content {
    MMD_FIELD_TEXT,
    MMD_FIELD_FLOATS,
    MMD_FIELD_INDEX, /* int32_t; -1 is none */
    MMD_FIELD_KIND,  /* uint8_t */
    MMD_FIELD_BOOL,
    MMD_FIELD_UINT16,
    MMD_FIELD_INT32,
    MMD_FIELD_TOON, /* int32_t: of a material with a shared toon its number, else a texture */
} mmd_model_field_content;

typedef struct mmd_model_field {
    const char *name; /* in errors */
    mmd_model_field_content content;
    size_t offset;         /* in the record */
    size_t count;          /* of floats, or kinds (0: any); the mmd_index_kind of an index */
    unsigned when, unless; /* flags of a bone that switch the field on or off; 0: always on */
} mmd_model_field;

typedef struct mmd_model_record_table {
    const char *kind, *plural, *section; /* in errors: of items, models and files */
    size_t array, count;                 /* where a model has them */
    size_t size;                         /* of a record */
    const mmd_model_field *fields;
    size_t field_count;
} mmd_model_record_table;

typedef enum mmd_model_record_kind {
    MMD_RECORD_TEXTURE,
    MMD_RECORD_MATERIAL,
    MMD_RECORD_BONE,
    MMD_RECORD_MORPH,
    MMD_RECORD_DISPLAY_FRAME,
    MMD_RECORD_RIGID_BODY,
    MMD_RECORD_JOINT,
    MMD_RECORD_KIND_COUNT
} mmd_model_record_kind;

extern const mmd_model_record_table mmd_model_record_tables[MMD_RECORD_KIND_COUNT];

bool mmd_model_field_is_used(const mmd_model_field *field, const void *record);

/* Sorts items so that parents come before their children: `order` (count,) is written. The parents
   are int32_t at `offset` in items of `stride` bytes; those out of range are none. Cycles are cut
   where they close: there a parent comes later. False when memory is short. */
bool mmd_model_order(const void *items, size_t offset, size_t stride, size_t count, size_t *order);

/* How many of what an index refers to. */
size_t mmd_model_count_of(const mmd_model *model, mmd_index_kind kind);

#endif
