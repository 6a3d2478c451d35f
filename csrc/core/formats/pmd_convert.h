/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMD_READER_H
#define MMD_PMD_READER_H

#include "core/data/model.h"
#include "core/formats/reader.h"

/* What pmd.c reads the file's layout into and pmd_convert.c turns into the shape of PMX. */

enum { MMD_PMD_TOONS = 10 };

typedef struct mmd_pmd_reader {
    mmd_reader base;
    mmd_model *model;
    uint8_t *toon_of_material;
    uint16_t *tails; /* as in the file */
    uint16_t *ik_fields;
    uint8_t *types;
    size_t file_bones;              /* those of the file; extra ones for second IK entries follow */
    size_t base_morph, file_morphs; /* base_morph == file_morphs: there is none */
    size_t named_frames;
    mmd_text *texture_fields;
    int32_t *texture_table; /* open addressing: texture + 1 */
    size_t texture_mask;
} mmd_pmd_reader;

/* The rules of mmd-behaviour.md 4.2. False when memory is short. */

/* Textures and toons of the materials; `toons` is NULL when the file has no table. */
bool mmd_pmd_textures(mmd_pmd_reader *r, const mmd_text *toons);

/* Flags, layers, appends and axes, by the bones' types. */
bool mmd_pmd_bones(mmd_pmd_reader *r);

/* Room for the bones that second IK entries need: at most one for each. */
bool mmd_pmd_widen_bones(mmd_pmd_reader *r, size_t extra);

/* The bone that carries an IK entry: the named one, or a child at its place when that has one
   already. -1: memory is short. */
int32_t mmd_pmd_ik_carrier(mmd_pmd_reader *r, int32_t bone);

/* Gives knees, which are known by name, their limits. */
void mmd_pmd_limit_knee(const mmd_model *model, mmd_ik_link *link);

/* Makes offsets count in vertices and drops the base morph. */
void mmd_pmd_resolve_base_morph(mmd_pmd_reader *r);

#endif
