/* SPDX-License-Identifier: MIT */
#ifndef MMD_MORPH_H
#define MMD_MORPH_H

#include "mmdskin.h"

/* Slider values as a user or a motion sets them -> the weight with which each morph finally acts:
   the group and flip passes of docs/mmd-behaviour.md#morph-passes. Groups and flips themselves end
   up as 0. `sliders` and `weights` hold `count` numbers and may not overlap. */
void mmd_morph_weights(const mmd_morph *morphs, size_t count, const float *sliders, float *weights);

/* False when one of (frame_count,morph_count) slider values is not finite. */
bool mmd_morph_check(const float *sliders, size_t frame_count, size_t morph_count, mmd_error *err);

/* Texture coordinates with UV morphs applied: (V,2) for channel 0, (V,4) for the additional UVs 1
   to 4, which start from zero where the model lacks them. `weights` are final ones, of all morphs.
 */
void mmd_morph_uvs(const mmd_model *model, const float *weights, int channel, float *uvs);

/* The model's materials with material morphs applied (docs/mmd-behaviour.md#material-morphs):
   factors multiply over all morphs, summands add up, so that the order of morphs does not matter.
   `materials` has room for material_count. */
bool mmd_morph_materials(const mmd_model *model, const float *weights, mmd_material *materials,
                         mmd_error *err);

#endif
