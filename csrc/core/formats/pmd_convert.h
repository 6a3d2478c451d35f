/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMD_CONVERT_H
#define MMD_PMD_CONVERT_H

#include "core/formats/reader.h"

/* What a PMD file means in terms of PMX, by the rules of docs/mmd-behaviour.md#pmd-to-pmx: pmd.c
   reads the layout of the file into this and the model, and asks for the rest here. */

enum { MMD_PMD_TOONS = 10 };

typedef struct mmd_pmd {
    mmd_model *model;
    uint8_t *toon_of_material;
    uint16_t *tails; /* as in the file */
    uint16_t *ik_fields;
    uint8_t *types;
    size_t file_bones;              /* those of the file; extra ones for second IK entries follow */
    size_t base_morph, file_morphs; /* base_morph == file_morphs: there is none */
    size_t named_frames;
    mmd_text *texture_fields;
    mmd_names texture_names;
} mmd_pmd;

/* All return false (or -1) when memory is short. */

/* Textures and toons of the materials; `toons` is NULL when the file has no table. */
bool mmd_pmd_textures(mmd_reader *r, mmd_pmd *pmd, const mmd_text *toons);

/* Room for the bones that second IK entries need: at most one for each. */
bool mmd_pmd_widen_bones(mmd_reader *r, mmd_pmd *pmd, size_t extra);

/* The bone that carries an IK entry: the named one, or a child at its place when that has one
   already. */
int32_t mmd_pmd_ik_carrier(mmd_reader *r, mmd_pmd *pmd, int32_t bone);

/* Gives knees, which are known by name, their limits. */
void mmd_pmd_limit_knee(const mmd_model *model, mmd_ik_link *link);

/* Once all is read: flags, layers, appends and axes by the bones' types; morph offsets that count
   in vertices, without the base morph. */
bool mmd_pmd_convert(mmd_reader *r, mmd_pmd *pmd);

#endif
