/* SPDX-License-Identifier: MIT */
/* mmd_model_new(): makes a model from arrays. They are completed and checked, written as a PMX file
   in memory, and that is loaded: so the model is what save and load would make of it. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/math/vec3.h"
#include "core/model/model.h"

#include <math.h>
#include <string.h>

/* The model that will be written: the caller's arrays, and those in `arena` where it has none. */
typedef struct builder {
    mmd_model model;
    mmd_arena arena;
    mmd_error *err;
} builder;

static void *alloc(builder *b, size_t count, size_t size)
{
    void *memory = mmd_arena_alloc(&b->arena, count, size);
    if (!memory)
        mmd_fail_memory(b->err);
    return memory;
}

static bool check_counts(const mmd_model *model, mmd_error *err)
{
    const struct {
        const char *name;
        size_t count, limit;
        bool missing;
    } tables[] = {
        {"vertices", model->vertex_count, MMD_MAX_VERTICES, !model->positions},
        {"triangles", model->triangle_count, INT32_MAX / 3, !model->triangles},
        {"textures", model->texture_count, MMD_MAX_RECORDS, !model->textures},
        {"materials", model->material_count, MMD_MAX_RECORDS, !model->materials},
        {"bones", model->bone_count, MMD_MAX_RECORDS, !model->bones},
        {"morphs", model->morph_count, MMD_MAX_RECORDS, !model->morphs},
        {"display frames", model->display_frame_count, MMD_MAX_RECORDS, !model->display_frames},
        {"rigid bodies", model->rigid_body_count, MMD_MAX_RECORDS, !model->rigid_bodies},
        {"joints", model->joint_count, MMD_MAX_RECORDS, !model->joints},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (tables[i].count > tables[i].limit)
            return mmd_fail(err, MMD_E_ARGUMENT, "%zu %s, limit %zu", tables[i].count,
                            tables[i].name, tables[i].limit);
        if (tables[i].count && tables[i].missing)
            return mmd_fail(err, MMD_E_ARGUMENT, "%s: missing", tables[i].name);
    }
    if (model->additional_uv_count > 4)
        return mmd_fail(err, MMD_E_ARGUMENT, "%zu additional UVs, limit 4",
                        model->additional_uv_count);
    return true;
}

/* Deform types by weights */

static bool check_slots(const builder *b, size_t vertex, const int32_t *bones, const float *weights)
{
    size_t bad = mmd_numbers_first_beyond_limit(weights, 4);
    if (bad < 4)
        return mmd_fail(b->err, MMD_E_ARGUMENT, "bone_weights: vertex %zu, component %zu is %s",
                        vertex, bad, mmd_numbers_fault((double)weights[bad]));
    for (size_t i = 0; i < 4; i++)
        if (weights[i] != 0 && bones[i] < 0)
            return mmd_fail(b->err, MMD_E_ARGUMENT, "vertex %zu: weight %g has no bone", vertex,
                            (double)weights[i]);
    float sum = weights[0] + weights[1] + weights[2] + weights[3];
    return fabsf(sum - 1) <= MMD_WEIGHT_TOLERANCE ||
           mmd_fail(b->err, MMD_E_ARGUMENT, "vertex %zu: its weights add up to %g, expected 1",
                    vertex, (double)sum);
}

/* Moves the used slots of a vertex to the front and returns how many they are. */
static size_t pack_slots(int32_t *bones, float *weights)
{
    size_t used = 0;
    for (size_t i = 0; i < 4; i++) {
        int32_t bone = bones[i];
        float weight = weights[i];
        bones[i] = 0;
        weights[i] = 0;
        if (weight != 0) {
            bones[used] = bone;
            weights[used++] = weight;
        }
    }
    return used;
}

/* BDEF1, BDEF2 or BDEF4, by the number of weights that are not zero. */
static bool choose_deform(builder *b)
{
    mmd_model *model = &b->model;
    size_t count = model->vertex_count;
    int32_t *bones = alloc(b, count, 4 * sizeof *bones);
    float *weights = alloc(b, count, 4 * sizeof *weights);
    uint8_t *deform = alloc(b, count, sizeof *deform);
    if (!bones || !weights || !deform)
        return false;
    if (count) {
        memcpy(bones, model->bone_indices, 4 * count * sizeof *bones);
        memcpy(weights, model->bone_weights, 4 * count * sizeof *weights);
    }
    for (size_t v = 0; v < count; v++) {
        if (!check_slots(b, v, bones + 4 * v, weights + 4 * v))
            return false;
        size_t used = pack_slots(bones + 4 * v, weights + 4 * v);
        deform[v] = used == 1 ? MMD_BDEF1 : used == 2 ? MMD_BDEF2 : MMD_BDEF4;
    }
    model->bone_indices = bones;
    model->bone_weights = weights;
    model->deform = deform;
    return true;
}

/* Without weights all vertices follow the first bone. */
static bool follow_first_bone(builder *b)
{
    mmd_model *model = &b->model;
    model->bone_indices = alloc(b, model->vertex_count, 4 * sizeof *model->bone_indices);
    model->bone_weights = alloc(b, model->vertex_count, 4 * sizeof *model->bone_weights);
    model->deform = alloc(b, model->vertex_count, sizeof *model->deform);
    if (!model->bone_indices || !model->bone_weights || !model->deform)
        return false;
    for (size_t v = 0; v < model->vertex_count; v++) {
        model->bone_indices[4 * v] = model->bone_count ? 0 : -1;
        model->bone_weights[4 * v] = 1;
        model->deform[v] = MMD_BDEF1;
    }
    return true;
}

static bool complete_influences(builder *b)
{
    const mmd_model *model = &b->model;
    if (!model->bone_indices != !model->bone_weights)
        return mmd_fail(b->err, MMD_E_ARGUMENT, "%s: missing",
                        model->bone_indices ? "bone_weights" : "bone_indices");
    if (model->bone_indices)
        return model->deform || choose_deform(b);
    if (model->deform)
        return mmd_fail(b->err, MMD_E_ARGUMENT, "bone_indices: missing");
    return follow_first_bone(b);
}

static bool check_sdef(const builder *b)
{
    const mmd_model *model = &b->model;
    for (size_t v = 0; v < model->vertex_count; v++)
        if (model->deform[v] == MMD_SDEF)
            return mmd_fail(b->err, MMD_E_ARGUMENT, "vertex %zu is SDEF, but sdef is missing", v);
    return true;
}

/* Zeros where there is no array. */
static bool complete_array(builder *b, float **array, size_t columns)
{
    if (!*array)
        *array = alloc(b, b->model.vertex_count, columns * sizeof **array);
    return *array != NULL;
}

static bool complete(builder *b)
{
    mmd_model *model = &b->model;
    bool has_scales = model->edge_scales, has_sdef = model->sdef;
    if (!complete_influences(b) || (!has_sdef && !check_sdef(b)) ||
        !complete_array(b, &model->normals, 3) || !complete_array(b, &model->uvs, 2) ||
        !complete_array(b, &model->additional_uvs, 4 * model->additional_uv_count) ||
        !complete_array(b, &model->edge_scales, 1) || !complete_array(b, &model->sdef, 9))
        return false;
    for (size_t v = 0; !has_scales && v < model->vertex_count; v++)
        model->edge_scales[v] = 1;
    return true;
}

static bool needs_2_1(const mmd_model *model)
{
    bool needs = false;
    for (size_t v = 0; v < model->vertex_count; v++)
        needs |= model->deform[v] == MMD_QDEF;
    for (size_t m = 0; m < model->morph_count; m++)
        needs |= model->morphs[m].kind >= MMD_MORPH_FLIP;
    for (size_t j = 0; j < model->joint_count; j++)
        needs |= model->joints[j].kind != MMD_JOINT_SPRING_6DOF;
    return needs;
}

static bool complete_version(builder *b)
{
    static const float versions[] = {1, 2, 2.1f}; /* 1 is what a PMD has; it becomes 2 */
    mmd_model *model = &b->model;
    if (model->version == 0)
        model->version = needs_2_1(model) ? 2.1f : 2;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (fabsf(model->version - versions[i]) <= 1e-3f)
            return true;
    return mmd_fail(b->err, MMD_E_ARGUMENT, "version: %g, expected 2 or 2.1",
                    (double)model->version);
}

/* Normals from checked triangles, each weighted by its area; zero where they cancel out. */
static bool compute_normals(builder *b)
{
    const mmd_model *model = &b->model;
    double *sums = alloc(b, model->vertex_count, 3 * sizeof *sums);
    if (!sums)
        return false;
    for (size_t t = 0; t < model->triangle_count; t++) {
        const int32_t *corners = model->triangles + 3 * t;
        double at[3][3], one[3], other[3], normal[3];
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 3; i++)
                at[k][i] = (double)model->positions[3 * corners[k] + (int32_t)i];
        mmd_vec3_subtract(at[1], at[0], one);
        mmd_vec3_subtract(at[2], at[0], other);
        mmd_vec3_cross(one, other, normal);
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 3; i++)
                sums[3 * corners[k] + (int32_t)i] += normal[i];
    }
    for (size_t v = 0; v < model->vertex_count; v++) {
        const double *sum = sums + 3 * v;
        double length = mmd_vec3_length(sum);
        for (size_t i = 0; length > 0 && i < 3; i++)
            model->normals[3 * v + i] = (float)(sum[i] / length);
    }
    return true;
}

static mmd_model *write_and_load(builder *b)
{
    size_t size = mmd_pmx_size(&b->model);
    uint8_t *bytes = mmd_arena_alloc_uninitialized(&b->arena, size, 1);
    if (!bytes)
        return mmd_fail_memory(b->err), NULL;
    return mmd_pmx_write(&b->model, bytes, b->err) ? mmd_model_load(bytes, size, b->err) : NULL;
}

mmd_model *mmd_model_new(const mmd_model *arrays, mmd_error *err)
{
    if (!mmd_error_require(arrays, "arrays", err))
        return NULL;
    builder b = {.model = *arrays, .err = err};
    b.model.soft_body_count = 0;
    mmd_model *model = NULL;
    if (check_counts(&b.model, err) && complete(&b) && complete_version(&b) &&
        mmd_model_check(&b.model, err) && (arrays->normals || compute_normals(&b)))
        model = write_and_load(&b);
    mmd_arena_free(&b.arena);
    return model;
}
