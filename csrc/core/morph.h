/* SPDX-License-Identifier: MIT */
#ifndef MMD_MORPH_H
#define MMD_MORPH_H

#include "core/model.h"

/* Slider values as a user or a motion sets them -> the weight with which each morph finally acts:
   the group and flip passes of mmd-behaviour.md 8.2. Groups and flips themselves end up as 0.
   `sliders` and `weights` hold `count` numbers and may not overlap. */
void mmd_morph_weights(const mmd_morph *morphs, size_t count, const float *sliders, float *weights);

#endif
