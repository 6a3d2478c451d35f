/* SPDX-License-Identifier: MIT */
#include "core/morph.h"

#include <string.h>

/* Spec formula: child (int)((n + 1) w) - 1 of n, none below 0, the last one above n - 1. */
static void flip(const mmd_morph *morph, float value, float *weights)
{
    float count = (float)morph->offset_count;
    float step = (count + 1) * value;
    if (morph->offset_count == 0 || !(step >= 1))
        return;
    size_t child = step >= count ? morph->offset_count - 1 : (size_t)step - 1;
    weights[morph->indices[child]] = morph->values[child];
}

void mmd_morph_weights(const mmd_morph *morphs, size_t count, const float *sliders, float *weights)
{
    if (count)
        memcpy(weights, sliders, count * sizeof *weights);
    for (size_t i = 0; i < count; i++) {
        const mmd_morph *morph = &morphs[i];
        if (morph->kind == MMD_MORPH_FLIP)
            flip(morph, weights[i], weights);
        if (morph->kind != MMD_MORPH_GROUP || weights[i] == 0)
            continue;
        for (size_t k = 0; k < morph->offset_count; k++) {
            const mmd_morph *child = &morphs[morph->indices[k]];
            if (child->kind == MMD_MORPH_FLIP)
                flip(child, weights[i] * morph->values[k], weights);
        }
    }
    /* Only groups are read and only others are written here, so it works in place. Groups within
       groups do not act (mmd-behaviour.md 8.2). */
    for (size_t i = 0; i < count; i++) {
        const mmd_morph *morph = &morphs[i];
        if (morph->kind != MMD_MORPH_GROUP || weights[i] == 0)
            continue;
        for (size_t k = 0; k < morph->offset_count; k++) {
            mmd_morph_kind kind = morphs[morph->indices[k]].kind;
            if (kind != MMD_MORPH_GROUP && kind != MMD_MORPH_FLIP)
                weights[morph->indices[k]] += weights[i] * morph->values[k];
        }
    }
    for (size_t i = 0; i < count; i++)
        if (morphs[i].kind == MMD_MORPH_GROUP || morphs[i].kind == MMD_MORPH_FLIP)
            weights[i] = 0;
}
