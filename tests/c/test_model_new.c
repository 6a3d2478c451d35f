/* SPDX-License-Identifier: MIT */
#include "mmdskin.h"
#include "pmx_sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const float square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};

/* A loaded model makes a model of the same bytes. */
static void a_loaded_model_is_made_again_byte_for_byte(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.soft_body = false;
    for (layout.encoding = 0; layout.encoding < 2; layout.encoding++) {
        mmd_error err = {0};
        pmx_sample sample = pmx_sample_new(layout);
        mmd_model *loaded = mmd_model_load(sample.data, sample.size, &err);
        mmd_model *made = CHECK(loaded) ? mmd_model_new(loaded, &err) : NULL;
        CHECK_TEXT(((mmd_text){err.text, strlen(err.text)}), "");
        size_t size = made ? mmd_pmx_size(made) : 0;
        if (CHECK(made) && CHECK_INT(size, mmd_pmx_size(loaded))) {
            uint8_t *first = malloc(size), *second = malloc(size);
            CHECK(first && mmd_pmx_write(loaded, first, NULL));
            CHECK(second && mmd_pmx_write(made, second, NULL));
            CHECK(first && second && memcmp(first, second, size) == 0);
            free(second);
            free(first);
        }
        mmd_model_free(made);
        mmd_model_free(loaded);
        pmx_sample_free(&sample);
    }
}

static void arrays_that_are_missing_have_defaults(void)
{
    int32_t triangles[] = {0, 2, 1};
    mmd_bone bones[] = {{.parent = -1, .tail_bone = -1}};
    mmd_model arrays = {.vertex_count = 4,
                        .positions = (float *)square,
                        .triangle_count = 1,
                        .triangles = triangles,
                        .bone_count = 1,
                        .bones = bones};
    mmd_error err = {0};
    mmd_model *model = mmd_model_new(&arrays, &err);
    if (CHECK(model)) {
        CHECK_FLOATS(&model->version, 1, 2);
        CHECK_FLOATS(model->normals, 12, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0);
        CHECK_FLOATS(model->edge_scales, 4, 1, 1, 1, 1);
        CHECK_FLOATS(model->uvs, 8, 0, 0, 0, 0, 0, 0, 0, 0);
        for (size_t v = 0; v < 4; v++) {
            CHECK_INT(model->deform[v], MMD_BDEF1);
            CHECK_INT(model->bone_indices[4 * v], 0);
            CHECK_FLOATS(model->bone_weights + 4 * v, 4, 1, 0, 0, 0);
        }
        CHECK_TEXT(model->bones[0].name, "");
    }
    mmd_model_free(model);
}

static void nothing_at_all_is_a_model(void)
{
    mmd_model *model = mmd_model_new(&(mmd_model){0}, NULL);
    CHECK(model && model->vertex_count == 0 && model->bone_count == 0);
    mmd_model_free(model);
}

static void check_refused(const mmd_model *arrays, const char *text)
{
    mmd_error err = {0};
    mmd_model *model = mmd_model_new(arrays, &err);
    CHECK(!model);
    CHECK_INT(err.code, MMD_E_ARGUMENT);
    if (strcmp(err.text, text) != 0)
        CHECK_TEXT(((mmd_text){err.text, strlen(err.text)}), "");
    mmd_model_free(model);
}

/* What Python cannot pass. */
static void what_only_c_can_pass_is_refused(void)
{
    static const char *const bad[] = {"\xff", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80",
                                      "\xe5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(&(mmd_model){.name = {bad[i], strlen(bad[i])}},
                      "name: not UTF-8, contains a NUL or is too long");
    mmd_text replacement = {"\xef\xbf\xbd", 3};
    mmd_model *model = mmd_model_new(&(mmd_model){.name = replacement}, NULL);
    CHECK(model && model->name.size == 3);
    mmd_model_free(model);

    check_refused(&(mmd_model){.vertex_count = 1}, "vertices: missing");
    check_refused(&(mmd_model){.bone_count = 20000000}, "20000000 bones, limit 10000000");
    mmd_bone bone = {.parent = -1, .flags = MMD_BONE_IK};
    check_refused(&(mmd_model){.bone_count = 1, .bones = &bone},
                  "bone 0: has the IK flag, but no IK");
    mmd_ik ik = {0};
    bone = (mmd_bone){.parent = -1, .ik = &ik};
    check_refused(&(mmd_model){.bone_count = 1, .bones = &bone},
                  "bone 0: has IK, but not the IK flag");
    mmd_rigid_body body = {.bone = -1, .shape = MMD_SHAPE_COUNT};
    check_refused(&(mmd_model){.rigid_body_count = 1, .rigid_bodies = &body},
                  "rigid body 0: shape 3 of 3");
    check_refused(&(mmd_model){.index_sizes = {[MMD_INDEX_BONE] = 3}},
                  "index_sizes[3]: 3, expected 0, 1, 2 or 4");
}

void model_new_tests(void)
{
    RUN(a_loaded_model_is_made_again_byte_for_byte);
    RUN(arrays_that_are_missing_have_defaults);
    RUN(nothing_at_all_is_a_model);
    RUN(what_only_c_can_pass_is_refused);
}
