/* SPDX-License-Identifier: MIT */
#include "core/data/morph.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/data/model.h"

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
       groups do not act (docs/mmd-behaviour.md#morph-passes). */
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

bool mmd_morph_check(const float *sliders, size_t frame_count, size_t morph_count, mmd_error *err)
{
    size_t count = sliders ? frame_count * morph_count : 0;
    size_t bad = mmd_first_not_finite(sliders, count);
    if (bad == count)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT, "morph_weights: frame %zu, morph %zu is %s",
                    bad / morph_count, bad % morph_count, mmd_not_finite_name(sliders[bad]));
}

void mmd_morph_uvs(const mmd_model *model, const float *weights, int channel, float *uvs)
{
    size_t width = channel == 0 ? 2 : 4, sets = model->additional_uv_count;
    if (channel == 0 && model->vertex_count)
        memcpy(uvs, model->uvs, 2 * model->vertex_count * sizeof *uvs);
    else
        memset(uvs, 0, width * model->vertex_count * sizeof *uvs);
    for (size_t v = 0; channel > 0 && (size_t)channel <= sets && v < model->vertex_count; v++)
        memcpy(uvs + 4 * v, model->additional_uvs + 4 * (v * sets + (size_t)channel - 1),
               4 * sizeof *uvs);
    for (size_t m = 0; m < model->morph_count; m++) {
        const mmd_morph *morph = &model->morphs[m];
        if ((int)morph->kind != (int)MMD_MORPH_UV + channel || weights[m] == 0)
            continue;
        for (size_t i = 0; i < morph->offset_count; i++)
            for (size_t k = 0; k < width; k++)
                uvs[width * (size_t)morph->indices[i] + k] += weights[m] * morph->values[4 * i + k];
    }
}

/* The numbers of a material that morphs reach, in the order of a material morph's columns. */
enum { MATERIAL_NUMBERS = 16 };

static void material_numbers(mmd_material *material, float *numbers[MATERIAL_NUMBERS])
{
    size_t at = 0;
    for (int i = 0; i < 4; i++)
        numbers[at++] = &material->diffuse[i];
    for (int i = 0; i < 3; i++)
        numbers[at++] = &material->specular[i];
    numbers[at++] = &material->specular_power;
    for (int i = 0; i < 3; i++)
        numbers[at++] = &material->ambient[i];
    for (int i = 0; i < 4; i++)
        numbers[at++] = &material->edge_color[i];
    numbers[at++] = &material->edge_size;
}

typedef struct mix {
    double factor[MATERIAL_NUMBERS], summand[MATERIAL_NUMBERS];
} mix;

static void mix_offset(mix *mixed, const float *values, double weight)
{
    bool adds = values[0] != 0;
    for (int k = 0; k < MATERIAL_NUMBERS; k++) {
        if (adds)
            mixed->summand[k] += weight * values[1 + k];
        else
            mixed->factor[k] *= 1 + weight * (values[1 + k] - 1.0);
    }
}

bool mmd_morph_materials(const mmd_model *model, const float *weights, mmd_material *materials,
                         mmd_error *err)
{
    size_t count = model->material_count;
    mmd_arena temporary = {0};
    mix *mixed = mmd_arena_alloc(&temporary, count + 1, sizeof *mixed);
    if (!mixed)
        return mmd_fail_memory(err);
    size_t width = mmd_morph_width(MMD_MORPH_MATERIAL);
    mix *all = &mixed[count]; /* what acts on every material */
    for (size_t i = 0; i <= count; i++)
        for (int k = 0; k < MATERIAL_NUMBERS; k++)
            mixed[i].factor[k] = 1;
    for (size_t m = 0; m < model->morph_count; m++) {
        const mmd_morph *morph = &model->morphs[m];
        if (morph->kind != MMD_MORPH_MATERIAL || weights[m] == 0)
            continue;
        for (size_t i = 0; i < morph->offset_count; i++)
            mix_offset(morph->indices[i] < 0 ? all : &mixed[morph->indices[i]],
                       morph->values + width * i, weights[m]);
    }
    for (size_t i = 0; i < count; i++) {
        float *numbers[MATERIAL_NUMBERS];
        materials[i] = model->materials[i];
        material_numbers(&materials[i], numbers);
        for (int k = 0; k < MATERIAL_NUMBERS; k++)
            *numbers[k] = (float)(*numbers[k] * (mixed[i].factor[k] * all->factor[k]) +
                                  (mixed[i].summand[k] + all->summand[k]));
    }
    mmd_arena_free(&temporary);
    return true;
}
