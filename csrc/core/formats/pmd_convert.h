/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMD_CONVERT_H
#define MMD_PMD_CONVERT_H

#include "core/formats/reader.h"

/* Converts PMD to the PMX model by the rules of docs/mmd-behavior.md#pmd-to-pmx. pmd.c reads the
   file into mmd_pmd and the model and calls these functions. */

enum { MMD_PMD_TOONS = 10 };

typedef struct mmd_pmd {
    mmd_model *model;
    uint8_t *toon_of_material;
    uint16_t *tails; /* of each bone, as in the file */
    uint16_t *ik_fields;
    uint8_t *types;
    size_t file_bones;              /* in the file; extra ones for second IK entries follow */
    size_t base_morph, file_morphs; /* base_morph == file_morphs: there is none */
    size_t named_frames;
    mmd_text *texture_fields;
    mmd_string_table texture_names;
} mmd_pmd;

/* All return false or -1 when memory is short. */

/* Textures and toons of the materials; `toons` is NULL when the file has no table. */
bool mmd_pmd_textures(mmd_reader *r, mmd_pmd *pmd, const mmd_text *toons);

/* Reserves memory for `extra` bones, which carry second IK entries. */
bool mmd_pmd_reserve_ik_bones(mmd_reader *r, mmd_pmd *pmd, size_t extra);

/* The bone that gets an IK entry: `bone` itself, or a new child at the same position if it has one
   already. PMX allows one IK a bone. */
int32_t mmd_pmd_ik_bone(mmd_reader *r, mmd_pmd *pmd, int32_t bone);

/* Limits the link if it is a knee, which is recognized by its name. */
void mmd_pmd_limit_knee(const mmd_model *model, mmd_ik_link *link);

/* After the file is read: converts the types of bones to flags, layers, appends and axes, and the
   indices of morph offsets to vertices; removes the base morph. */
bool mmd_pmd_convert(mmd_reader *r, mmd_pmd *pmd);

#endif
