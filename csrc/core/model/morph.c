/* SPDX-License-Identifier: MIT */
/* Morph weights, and what morphs change in texture coordinates and materials. */
#include "core/model/morph.h"

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/model/model.h"

#include <math.h>
#include <string.h>

size_t mmd_morph_width(mmd_morph_kind kind)
{
    static const size_t widths[MMD_MORPH_KIND_COUNT] = {
        [MMD_MORPH_GROUP] = 1,     [MMD_MORPH_VERTEX] = 3, [MMD_MORPH_BONE] = 7,
        [MMD_MORPH_UV] = 4,        [MMD_MORPH_UV1] = 4,    [MMD_MORPH_UV2] = 4,
        [MMD_MORPH_UV3] = 4,       [MMD_MORPH_UV4] = 4,    [MMD_MORPH_FLIP] = 1,
        [MMD_MORPH_MATERIAL] = 29, [MMD_MORPH_IMPULSE] = 7};
    return widths[kind];
}

mmd_index_kind mmd_morph_target(mmd_morph_kind kind)
{
    static const mmd_index_kind targets[MMD_MORPH_KIND_COUNT] = {
        [MMD_MORPH_GROUP] = MMD_INDEX_MORPH,
        [MMD_MORPH_FLIP] = MMD_INDEX_MORPH,
        [MMD_MORPH_BONE] = MMD_INDEX_BONE,
        [MMD_MORPH_MATERIAL] = MMD_INDEX_MATERIAL,
        [MMD_MORPH_IMPULSE] = MMD_INDEX_RIGID_BODY}; /* else vertices */
    return targets[kind];
}

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

/* Weights stay within the limit, so that what they multiply is finite. */
static void add_weight(float amount, float *weight)
{
    *weight += amount;
    if (fabsf(*weight) > MMD_BYTES_LIMIT)
        *weight = copysignf(MMD_BYTES_LIMIT, *weight);
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
    /* This works in place: it reads groups only and writes others only. Groups within groups have
       no effect (docs/mmd-behavior.md#morph-passes). */
    for (size_t i = 0; i < count; i++) {
        const mmd_morph *morph = &morphs[i];
        if (morph->kind != MMD_MORPH_GROUP || weights[i] == 0)
            continue;
        for (size_t k = 0; k < morph->offset_count; k++) {
            mmd_morph_kind kind = morphs[morph->indices[k]].kind;
            if (kind != MMD_MORPH_GROUP && kind != MMD_MORPH_FLIP)
                add_weight(weights[i] * morph->values[k], &weights[morph->indices[k]]);
        }
    }
    for (size_t i = 0; i < count; i++)
        if (morphs[i].kind == MMD_MORPH_GROUP || morphs[i].kind == MMD_MORPH_FLIP)
            weights[i] = 0;
}

bool mmd_morph_check(const float *sliders, size_t frame_count, size_t morph_count, mmd_error *err)
{
    const mmd_numbers_array weights = {"morph_weights", "morph",     sliders,
                                       frame_count,     morph_count, 1};
    return mmd_numbers_check(&weights, 1, frame_count, err);
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

/* The numbers of a material morph's columns that are a material's own, in their order, and the
   texture factors after them. */
enum {
    MATERIAL_NUMBERS = 16,
    FACTOR_NUMBERS = 12,
    MIX_NUMBERS = MATERIAL_NUMBERS + FACTOR_NUMBERS
};

static void material_numbers(mmd_material *material, float *numbers[MATERIAL_NUMBERS])
{
    const mmd_model_record_table *table = &mmd_model_record_tables[MMD_RECORD_MATERIAL];
    size_t at = 0;
    for (const mmd_model_field *f = table->fields; f < table->fields + table->field_count; f++)
        for (size_t i = 0; f->content == MMD_FIELD_FLOATS && i < f->count; i++)
            numbers[at++] = (float *)(void *)((char *)material + f->offset) + i;
}

/* Product of factors and sum of summands over all morphs: final = base * factor + summand. */
typedef struct material_mix {
    double factor[MIX_NUMBERS], summand[MIX_NUMBERS];
} material_mix;

static void add_offset(material_mix *mix, const float *values, double weight)
{
    bool adds = values[0] != 0;
    for (int k = 0; k < MIX_NUMBERS; k++) {
        if (adds)
            mix->summand[k] = mmd_numbers_clamp(mix->summand[k] + weight * values[1 + k]);
        else
            mix->factor[k] =
                mmd_numbers_clamp(mix->factor[k] * (1 + weight * (values[1 + k] - 1.0)));
    }
}

/* The mix of each material; NULL without memory. */
static material_mix *mix_morphs(const mmd_model *model, const float *weights, mmd_arena *arena)
{
    size_t count = model->material_count, width = mmd_morph_width(MMD_MORPH_MATERIAL);
    material_mix *mixes = mmd_arena_alloc(arena, count + 1, sizeof *mixes);
    if (!mixes)
        return NULL;
    material_mix *all = &mixes[count]; /* of morphs of all materials */
    for (size_t i = 0; i <= count; i++)
        for (int k = 0; k < MIX_NUMBERS; k++)
            mixes[i].factor[k] = 1;
    for (size_t m = 0; m < model->morph_count; m++) {
        const mmd_morph *morph = &model->morphs[m];
        if (morph->kind != MMD_MORPH_MATERIAL || weights[m] == 0)
            continue;
        for (size_t i = 0; i < morph->offset_count; i++)
            add_offset(morph->indices[i] < 0 ? all : &mixes[morph->indices[i]],
                       morph->values + width * i, weights[m]);
    }
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < MIX_NUMBERS; k++) {
            mixes[i].factor[k] = mmd_numbers_clamp(mixes[i].factor[k] * all->factor[k]);
            mixes[i].summand[k] += all->summand[k];
        }
    return mixes;
}

bool mmd_morph_materials(const mmd_model *model, const float *weights, mmd_material *materials,
                         mmd_error *err)
{
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    const material_mix *mixes = mix_morphs(model, weights, &temporary);
    for (size_t i = 0; mixes && i < model->material_count; i++) {
        float *numbers[MATERIAL_NUMBERS];
        materials[i] = model->materials[i];
        material_numbers(&materials[i], numbers);
        for (int k = 0; k < MATERIAL_NUMBERS; k++)
            *numbers[k] = (float)(*numbers[k] * mixes[i].factor[k] + mixes[i].summand[k]);
    }
    return mixes || mmd_fail_memory(err);
}

bool mmd_morph_texture_factors(const mmd_model *model, const float *weights, float *factors,
                               mmd_error *err)
{
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    const material_mix *mixes = mix_morphs(model, weights, &temporary);
    for (size_t i = 0; mixes && i < model->material_count; i++, factors += 2 * FACTOR_NUMBERS)
        for (int k = 0; k < FACTOR_NUMBERS; k++) {
            factors[k] = (float)mixes[i].factor[MATERIAL_NUMBERS + k];
            factors[FACTOR_NUMBERS + k] = (float)mixes[i].summand[MATERIAL_NUMBERS + k];
        }
    return mixes || mmd_fail_memory(err);
}
