/* SPDX-License-Identifier: MIT */
#include "pmx_sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Files that cannot be read: MMD_E_FORMAT with the section and the offset. */

static void check_refused(const pmx_sample *sample, const char *section)
{
    mmd_error err = {0};
    CHECK(mmd_model_load(sample->data, sample->size, &err) == NULL);
    CHECK_INT(err.code, MMD_E_FORMAT);
    CHECK(err.text[0] != '\0');
    CHECK(err.offset <= sample->size);
    mmd_text got = {err.section, strlen(err.section)};
    test_text(got, section, strlen(section), __FILE__, __LINE__, "section");
}

static void check_truncations(pmx_layout layout, size_t legal)
{
    pmx_sample sample = pmx_sample_new(layout);
    for (size_t size = 0; size < sample.size; size++) {
        uint8_t *part = test_exact(sample.data, size);
        mmd_error err = {0};
        mmd_model *model = mmd_model_load(part, size, &err);
        if (!CHECK((model != NULL) == (size == legal)))
            CHECK_INT(size, legal);
        if (!model)
            CHECK(err.code == MMD_E_FORMAT && err.offset <= size && err.section[0] && err.text[0]);
        mmd_model_free(model);
        free(part);
    }
    pmx_sample_free(&sample);
}

static void every_truncation_is_rejected(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.version = 2.0f;
    layout.soft_body = false;
    check_truncations(layout, SIZE_MAX);
}

/* A 2.1 file may end before its soft bodies, nowhere else. */
static void check_truncations_of_2_1(uint8_t encoding, uint8_t index_size)
{
    pmx_layout layout = pmx_sample_layout();
    layout.encoding = encoding;
    memset(layout.index_sizes, index_size, sizeof layout.index_sizes);
    layout.soft_body = false;
    pmx_sample shorter = pmx_sample_new(layout);
    layout.soft_body = true;
    check_truncations(layout, shorter.size);
    pmx_sample_free(&shorter);
}

static void every_truncation_of_2_1_is_refused(void)
{
    check_truncations_of_2_1(MMD_UTF16LE, 1);
    check_truncations_of_2_1(MMD_UTF8, 2);
    check_truncations_of_2_1(MMD_UTF16LE, 4);
}

static void other_files_are_rejected(void)
{
    WITH_SAMPLE(sample)
    {
        memcpy(sample.data, "Pmx ", 4); /* PMX 1.0 */
        check_refused(&sample, "header");
    }
}

static void unknown_versions_are_rejected(void)
{
    static const float versions[] = {1, 1.9f, 2.2f, 3, 0, -2, NAN, INFINITY};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put_float(&sample, sample.marks[MARK_VERSION], versions[i]);
            check_refused(&sample, "header");
        }
}

static void bad_settings_are_rejected(void)
{
    static const struct {
        size_t setting;
        int value;
    } rows[] = {{0, 7}, {0, 0}, {1, 2}, {1, 255}, {2, 5},   {2, 255}, {3, 0},
                {3, 3}, {4, 8}, {5, 3}, {6, 0},   {7, 255}, {8, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        WITH_SAMPLE(sample)
        {
            size_t at = sample.marks[MARK_SETTING_COUNT] + rows[i].setting;
            pmx_sample_put(&sample, at, 1, rows[i].value);
            check_refused(&sample, "header");
        }
}

static void bad_text_sizes_are_rejected(void)
{
    static const int64_t sizes[] = {-1, INT32_MIN, INT32_MAX, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put(&sample, sample.marks[MARK_NAME], 4, sizes[i]);
            check_refused(&sample, "header");
        }
}

/* With 4-byte indices 2^31 / 4 of them would be 2 GiB: rejected before memory is allocated. */
static void impossible_counts_are_rejected(void)
{
    static const struct {
        pmx_mark mark;
        const char *section;
    } rows[] = {{MARK_VERTEX_COUNT, "vertices"},
                {MARK_FACE_COUNT, "faces"},
                {MARK_TEXTURE_COUNT, "textures"},
                {MARK_MATERIAL_COUNT, "materials"},
                {MARK_BONE_COUNT, "bones"},
                {MARK_LINK_COUNT, "bones[3]"},
                {MARK_MORPH_COUNT, "morphs"},
                {MARK_FRAME_COUNT, "display_frames"},
                {MARK_ELEMENT_COUNT, "display_frames[1]"},
                {MARK_BODY_COUNT, "rigid_bodies"},
                {MARK_JOINT_COUNT, "joints"},
                {MARK_SOFT_BODY_COUNT, "soft_bodies"},
                {MARK_ANCHOR_COUNT, "soft_bodies[0]"},
                {MARK_PIN_COUNT, "soft_bodies[0]"}};
    static const int64_t counts[] = {-1,
                                     -2,
                                     INT32_MIN,
                                     INT32_MAX,
                                     10000000,
                                     10000001,
                                     INT32_MAX / 3 + 1,
                                     1 << 26,
                                     (1 << 26) + 1,
                                     1 << 30,
                                     INT32_MAX - 1,
                                     100000};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            WITH_SAMPLE(sample)
            {
                pmx_sample_put(&sample, sample.marks[rows[i].mark], 4, counts[k]);
                check_refused(&sample, rows[i].section);
            }
}

static void impossible_offset_counts_are_rejected(void)
{
    static const int64_t counts[] = {-1, INT32_MIN, INT32_MAX, 10000000, 1 << 28};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int kind = 0; kind < MMD_MORPH_KIND_COUNT; kind++)
            WITH_SAMPLE(sample)
            {
                size_t at = sample.marks[MARK_MORPH_KIND];
                pmx_sample_put(&sample, at, 1, kind);
                pmx_sample_put(&sample, at + 1, 4, counts[k]);
                check_refused(&sample, "morphs[1]");
            }
}

static void unknown_types_are_rejected(void)
{
    static const int types[] = {5, 11, 127, 128, 255};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put(&sample, sample.marks[MARK_DEFORM], 1, types[i]);
            check_refused(&sample, "vertices[0]");
        }
    for (size_t i = 1; i < sizeof types / sizeof *types; i++)
        WITH_SAMPLE(sample)
        {
            pmx_sample_put(&sample, sample.marks[MARK_MORPH_KIND], 1, types[i]);
            check_refused(&sample, "morphs[1]");
        }
}

static void the_error_may_be_null(void)
{
    WITH_SAMPLE(sample)
    {
        CHECK(mmd_model_load(sample.data, sample.size / 2, NULL) == NULL);
        CHECK(mmd_model_load(sample.data, 3, NULL) == NULL);
    }
}

void pmx_rejected_tests(void)
{
    RUN(every_truncation_is_rejected);
    RUN(every_truncation_of_2_1_is_refused);
    RUN(other_files_are_rejected);
    RUN(unknown_versions_are_rejected);
    RUN(bad_settings_are_rejected);
    RUN(bad_text_sizes_are_rejected);
    RUN(impossible_counts_are_rejected);
    RUN(impossible_offset_counts_are_rejected);
    RUN(unknown_types_are_rejected);
    RUN(the_error_may_be_null);
}
