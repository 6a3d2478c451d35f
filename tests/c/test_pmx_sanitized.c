/* SPDX-License-Identifier: MIT */
#include "../fuzz/valid.h"
#include "core/skin/mesh.h"
#include "pmx_sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Files with errors that are repaired: docs/mmd-behavior.md#robust-reader. */

static mmd_model *load(const pmx_sample *sample)
{
    mmd_error err = {0};
    mmd_model *model = mmd_model_load(sample->data, sample->size, &err);
    CHECK(model);
    if (model)
        CHECK(model_is_valid(model));
    return model;
}

static void trailing_bytes_are_accepted(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    uint8_t *longer = calloc(1, sample.size + 7);
    memcpy(longer, sample.data, sample.size);
    mmd_model *model = mmd_model_load(longer, sample.size + 7, NULL);
    CHECK(model && model->soft_body_count == 1);
    mmd_model_free(model);
    free(longer);
    pmx_sample_free(&sample);
}

static void soft_bodies_are_of_2_1_only(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.version = 2.0f;
    pmx_sample sample = pmx_sample_new(layout);
    mmd_model *model = load(&sample);
    CHECK(model && model->soft_body_count == 0);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void additional_settings_are_skipped(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    size_t at = sample.marks[MARK_NAME];
    uint8_t *longer = malloc(sample.size + 2);
    memcpy(longer, sample.data, at);
    memset(longer + at, 0xFF, 2);
    memcpy(longer + at + 2, sample.data + at, sample.size - at);
    longer[sample.marks[MARK_SETTING_COUNT]] = 10;
    mmd_model *model = mmd_model_load(longer, sample.size + 2, NULL);
    CHECK(model && model->joint_count == 1);
    mmd_model_free(model);
    free(longer);
    pmx_sample_free(&sample);
}

static void missing_bones_become_minus_one(void)
{
    static const int values[] = {4, 77, 127, -1, -2, -128};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put(&sample, sample.marks[MARK_DEFORM] + 1, 1, values[i]);
            pmx_sample_put(&sample, sample.marks[MARK_PARENT], 1, values[i]);
            pmx_sample_put(&sample, sample.marks[MARK_IK_TARGET], 1, values[i]);
            pmx_sample_put(&sample, sample.marks[MARK_LINK_COUNT] + 4, 1, values[i]);
            pmx_sample_put(&sample, sample.marks[MARK_BODY_BONE], 1, values[i]);
            mmd_model *model = load(&sample);
            if (!model)
                continue;
            CHECK_INT(model->bone_indices[0], -1);
            CHECK_INT(model->bones[1].parent, -1);
            CHECK_INT(model->bones[3].ik->target, -1);
            CHECK_INT(model->bones[3].ik->links[0].bone, -1);
            CHECK_INT(model->rigid_bodies[0].bone, -1);
            mmd_model_free(model);
        }
}

static void a_bone_is_not_its_own_parent(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_PARENT], 1, 1);
        mmd_model *model = load(&sample);
        CHECK(model && model->bones[1].parent == -1);
        mmd_model_free(model);
    }
}

static void cycles_of_parents_are_cut(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_PARENT], 1, 2); /* bone 2's parent is bone 1 */
        mmd_model *model = load(&sample);
        CHECK(model && (model->bones[1].parent == -1 || model->bones[2].parent == -1));
        mmd_model_free(model);
    }
}

static void triangles_of_missing_vertices_are_removed(void)
{
    static const int32_t left[] = {2, 3, 4, 3, 4, 5};
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_FACE_COUNT] + 4, 1, 6);
        mmd_model *model = load(&sample);
        if (!model)
            continue;
        CHECK_INT(model->triangle_count, 2);
        CHECK(memcmp(model->triangles, left, sizeof left) == 0);
        CHECK_INT(model->materials[0].index_count, 3);
        CHECK_INT(model->materials[1].index_count, 3);
        mmd_model_free(model);
    }
}

static void negative_vertex_indices_are_missing_vertices(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.index_sizes[INDEX_VERTEX] = 4;
    pmx_sample sample = pmx_sample_new(layout);
    pmx_sample_put(&sample, sample.marks[MARK_FACE_COUNT] + 4 + 7 * 4, 4, -1);
    mmd_model *model = load(&sample);
    CHECK(model && model->triangle_count == 2 && model->materials[0].index_count == 6 &&
          model->materials[1].index_count == 0);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

/* One or two indices too many are dropped. */
static void counts_are_rounded_down_to_triangles(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    size_t at = sample.marks[MARK_FACE_COUNT] + 4 + 9;
    uint8_t *longer = malloc(sample.size + 2);
    memcpy(longer, sample.data, at);
    memset(longer + at, 0, 2);
    memcpy(longer + at + 2, sample.data + at, sample.size - at);
    longer[sample.marks[MARK_FACE_COUNT]] = 11;
    mmd_model *model = mmd_model_load(longer, sample.size + 2, NULL);
    CHECK(model && model->triangle_count == 3 && model->joint_count == 1);
    mmd_model_free(model);
    free(longer);
    pmx_sample_free(&sample);
}

static void material_counts_are_clamped_to_the_triangles(void)
{
    static const struct {
        int64_t given;
        int32_t first, second;
    } rows[] = {{9, 9, 0},         {12, 9, 0}, {INT32_MAX, 9, 0}, {0, 0, 3},
                {INT32_MIN, 0, 3}, {-3, 0, 3}, {3, 3, 3},         {7, 6, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put(&sample, sample.marks[MARK_INDEX_COUNT], 4, rows[i].given);
            mmd_model *model = load(&sample);
            if (!model)
                continue;
            CHECK_INT(model->materials[0].index_count, rows[i].first);
            CHECK_INT(model->materials[1].index_count, rows[i].second);
            CHECK_INT(model->triangle_count, 3);
            mmd_model_free(model);
        }
}

static void missing_textures_become_minus_one(void)
{
    WITH_SAMPLE(sample)
    {
        size_t at = sample.marks[MARK_TEXTURE_INDEX];
        pmx_sample_put(&sample, at, 1, 2);
        pmx_sample_put(&sample, at + 1, 1, -128);
        pmx_sample_put(&sample, at + 2, 1, 9);  /* sphere mode */
        pmx_sample_put(&sample, at + 4, 1, 10); /* shared toon */
        mmd_model *model = load(&sample);
        if (!model)
            continue;
        const mmd_material *material = &model->materials[0];
        CHECK_INT(material->texture, -1);
        CHECK_INT(material->sphere_texture, -1);
        CHECK_INT(material->sphere_mode, 0);
        CHECK_INT(material->toon, -1);
        mmd_model_free(model);
    }
}

static void offsets_out_of_range_are_removed(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_MORPH_KIND] + 5, 1, 200);
        pmx_sample_put(&sample, sample.marks[MARK_BONE_MORPH], 1, 4);
        mmd_model *model = load(&sample);
        if (!model)
            continue;
        const mmd_morph *morph = &model->morphs[MMD_MORPH_VERTEX];
        CHECK_INT(morph->offset_count, 1);
        CHECK_INT(morph->indices[0], 4);
        CHECK_FLOATS(morph->values, 3, record_number(1, 0), record_number(1, 1),
                     record_number(1, 2));
        CHECK_INT(model->morphs[MMD_MORPH_BONE].offset_count, 0);
        mmd_model_free(model);
    }
}

static void elements_out_of_range_are_removed(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_ELEMENT_COUNT] + 5, 1, 4);
        mmd_model *model = load(&sample);
        CHECK(model && model->display_frames[1].element_count == 1 &&
              model->display_frames[1].elements[0].kind == 1 &&
              model->display_frames[1].elements[0].index == 10);
        mmd_model_free(model);
    }
}

static void missing_bodies_become_minus_one(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_JOINT_KIND] + 1, 1, 2);
        pmx_sample_put(&sample, sample.marks[MARK_JOINT_KIND] + 2, 1, -5);
        mmd_model *model = load(&sample);
        CHECK(model && model->joints[0].body_a == -1 && model->joints[0].body_b == -1);
        mmd_model_free(model);
    }
}

static void unknown_physics_values_become_valid(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put(&sample, sample.marks[MARK_BODY_SHAPE], 1, 200);
        pmx_sample_put(&sample, sample.marks[MARK_BODY_MODE], 1, 3);
        pmx_sample_put(&sample, sample.marks[MARK_JOINT_KIND], 1, 6);
        mmd_model *model = load(&sample);
        CHECK(model && model->rigid_bodies[0].shape == 2 && model->rigid_bodies[0].mode == 2 &&
              model->joints[0].kind == 5);
        mmd_model_free(model);
    }
}

static void numbers_that_are_not_finite_become_zero(void)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put_float(&sample, sample.marks[MARK_VERTEX_COUNT] + 4, bad[i]);
            pmx_sample_put_float(&sample, sample.marks[MARK_BDEF4_WEIGHTS] + 4, bad[i]);
            pmx_sample_put_float(&sample, sample.marks[MARK_BODY_SHAPE] + 1, bad[i]);
            mmd_model *model = load(&sample);
            if (!model)
                continue;
            CHECK_FLOATS(model->positions, 2, 0, vertex_number(0, 1));
            CHECK_FLOATS(model->bone_weights + 8, 4, 0.5f, 0, 0.25f, 0.125f);
            CHECK(model->rigid_bodies[0].size[0] == 0);
            mmd_model_free(model);
        }
}

/* All zero means no SDEF data; the vertex is skinned as BDEF2. */
static void sdef_that_is_not_finite_becomes_zero(void)
{
    for (size_t field = 0; field < 9; field++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put_float(&sample, sample.marks[MARK_SDEF] + 4 * field, NAN);
            mmd_model *model = load(&sample);
            if (model)
                CHECK_FLOATS(model->sdef + 27, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            mmd_model_free(model);
        }
}

static void a_zero_rotation_of_a_bone_morph_is_the_identity(void)
{
    WITH_SAMPLE(sample)
    {
        for (size_t i = 0; i < 4; i++)
            pmx_sample_put_float(&sample, sample.marks[MARK_BONE_MORPH] + 1 + 12 + 4 * i,
                                 i ? 0 : NAN);
        mmd_model *model = load(&sample);
        if (model)
            CHECK_FLOATS(model->morphs[MMD_MORPH_BONE].values + 3, 4, 0, 0, 0, 1);
        mmd_model_free(model);
    }
}

static void a_unit_angle_that_is_not_finite_becomes_negative(void)
{
    WITH_SAMPLE(sample)
    {
        pmx_sample_put_float(&sample, sample.marks[MARK_IK_TARGET] + 5, NAN);
        mmd_model *model = load(&sample);
        CHECK(model && model->bones[3].ik->unit_angle < 0);
        mmd_model_free(model);
    }
}

/* A model from a damaged file is valid and can be skinned. */
static void flipped_bytes_give_a_valid_model_or_an_error(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    uint8_t *damaged = test_exact(sample.data, sample.size);
    uint32_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        memcpy(damaged, sample.data, sample.size);
        for (uint32_t flips = 1 + test_random(&seed) % 4; flips; flips--)
            damaged[test_random(&seed) % sample.size] = (uint8_t)test_random(&seed);
        mmd_error err = {0};
        mmd_model *model = mmd_model_load(damaged, sample.size, &err);
        if (!model) {
            CHECK(err.code == MMD_E_FORMAT && err.section[0] && err.offset <= sample.size);
            continue;
        }
        CHECK(model_is_valid(model));
        mmd_mesh *mesh = mmd_mesh_of_model(model, &err);
        CHECK(mesh);
        mmd_mesh_free(mesh);
        mmd_model_free(model);
    }
    free(damaged);
    pmx_sample_free(&sample);
}

void pmx_sanitized_tests(void)
{
    RUN(trailing_bytes_are_accepted);
    RUN(soft_bodies_are_of_2_1_only);
    RUN(additional_settings_are_skipped);
    RUN(missing_bones_become_minus_one);
    RUN(a_bone_is_not_its_own_parent);
    RUN(cycles_of_parents_are_cut);
    RUN(triangles_of_missing_vertices_are_removed);
    RUN(negative_vertex_indices_are_missing_vertices);
    RUN(counts_are_rounded_down_to_triangles);
    RUN(material_counts_are_clamped_to_the_triangles);
    RUN(missing_textures_become_minus_one);
    RUN(offsets_out_of_range_are_removed);
    RUN(elements_out_of_range_are_removed);
    RUN(missing_bodies_become_minus_one);
    RUN(unknown_physics_values_become_valid);
    RUN(numbers_that_are_not_finite_become_zero);
    RUN(sdef_that_is_not_finite_becomes_zero);
    RUN(a_zero_rotation_of_a_bone_morph_is_the_identity);
    RUN(a_unit_angle_that_is_not_finite_becomes_negative);
    RUN(flipped_bytes_give_a_valid_model_or_an_error);
}
