/* SPDX-License-Identifier: MIT */
#ifndef MMD_MORPH_H
#define MMD_MORPH_H

#include "mmdskin.h"

/* Numbers per offset of a morph of this kind. */
size_t mmd_morph_width(mmd_morph_kind kind);

/* What the indices of its offsets refer to. */
mmd_index_kind mmd_morph_target(mmd_morph_kind kind);

/* Whether the first number of an offset is a switch, 0 or 1: a byte in files. */
static inline bool mmd_morph_has_switch(mmd_morph_kind kind)
{
    return kind == MMD_MORPH_MATERIAL || kind == MMD_MORPH_IMPULSE;
}

/* The final weights of morphs from slider values, as a user or a motion sets them: the group and
   flip passes of docs/mmd-behavior.md#morph-passes. Groups and flips themselves get weight 0.
   `sliders` and `weights` hold `count` numbers and may not overlap. */
void mmd_morph_weights(const mmd_morph *morphs, size_t count, const float *sliders, float *weights);

/* Fails unless all (frame_count,morph_count) slider values are finite. NULL is valid. */
bool mmd_morph_check(const float *sliders, size_t frame_count, size_t morph_count, mmd_error *err);

/* Texture coordinates with UV morphs applied: (V,2) for channel 0, (V,4) for the additional UVs 1
   to 4, which are zero if the model lacks them. `weights` are the final weights of all morphs. */
void mmd_morph_uvs(const mmd_model *model, const float *weights, int channel, float *uvs);

/* The model's materials with material morphs applied (docs/mmd-behavior.md#material-morphs):
   the factors of all morphs are multiplied and their summands added, so that the order of morphs
   does not matter. `materials` holds material_count. */
bool mmd_morph_materials(const mmd_model *model, const float *weights, mmd_material *materials,
                         mmd_error *err);

/* What material morphs make of textures: (material_count,2,3,4), factors and summands for the
   texture, the sphere map and the toon, 4 numbers each (docs/mmd-behavior.md#material-morphs). */
bool mmd_morph_texture_factors(const mmd_model *model, const float *weights, float *factors,
                               mmd_error *err);

#endif
