/* SPDX-License-Identifier: MIT */
#include "mmdskin.h"
#include "pmx_sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Writes into a heap buffer of exactly the measured size, so that AddressSanitizer sees the edge.
 */
static uint8_t *write_pmx(const mmd_model *model, size_t *size, mmd_error *err)
{
    *size = mmd_pmx_size(model);
    uint8_t *bytes = malloc(*size);
    if (bytes && mmd_pmx_write(model, bytes, err))
        return bytes;
    free(bytes);
    return NULL;
}

/* A sample whose IK limits the loader need not sort. */
static pmx_sample sorted_sample(pmx_layout layout)
{
    layout.soft_body = false;
    pmx_sample sample = pmx_sample_new(layout);
    size_t lower = sample.marks[MARK_LINK_COUNT] + 4 + layout.index_sizes[INDEX_BONE] + 1;
    pmx_sample_put_float(&sample, lower, 1);
    pmx_sample_put_float(&sample, lower + 12, 3);
    return sample;
}

/* What is written is the sample, byte for byte; and from 2.1 on that there are no soft bodies. */
static void check_rewritten(pmx_layout layout)
{
    static const uint8_t none[4];
    mmd_error err = {0};
    size_t size = 0, ending = layout.version > 2 ? sizeof none : 0;
    pmx_sample sample = sorted_sample(layout);
    mmd_model *model = mmd_model_load(sample.data, sample.size, &err);
    uint8_t *bytes = CHECK(model) ? write_pmx(model, &size, &err) : NULL;
    if (CHECK(bytes) && CHECK_INT(size, sample.size + ending)) {
        CHECK(memcmp(bytes, sample.data, sample.size) == 0);
        CHECK(memcmp(bytes + sample.size, none, ending) == 0);
    }
    free(bytes);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void both_encodings_are_written(void)
{
    pmx_layout layout = pmx_sample_layout();
    for (layout.encoding = 0; layout.encoding < 2; layout.encoding++)
        check_rewritten(layout);
}

static void every_index_size_is_written(void)
{
    pmx_layout layout = pmx_sample_layout();
    for (uint8_t size = 1; size <= 4; size *= 2) {
        memset(layout.index_sizes, size, sizeof layout.index_sizes);
        check_rewritten(layout);
    }
}

static void every_number_of_additional_uvs_is_written(void)
{
    pmx_layout layout = pmx_sample_layout();
    for (layout.uv_sets = 0; layout.uv_sets <= 4; layout.uv_sets++)
        check_rewritten(layout);
}

static void version_2_0_is_written(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.version = 2.0f;
    check_rewritten(layout);
}

static void indices_that_need_more_bytes_get_them(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.soft_body = false;
    layout.extra_vertices = 300;
    layout.index_sizes[INDEX_VERTEX] = 2;
    pmx_sample sample = pmx_sample_new(layout);
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    if (CHECK(model)) {
        size_t with_two = mmd_pmx_size(model);
        model->index_sizes[MMD_INDEX_VERTEX] = 1;
        CHECK_INT(mmd_pmx_size(model), with_two);
    }
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void soft_bodies_are_refused(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.soft_body = true;
    pmx_sample sample = pmx_sample_new(layout);
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    mmd_error err = {0};
    size_t size = 0;
    if (CHECK(model)) {
        CHECK(!write_pmx(model, &size, &err));
        CHECK_INT(err.code, MMD_E_ARGUMENT);
        CHECK(strstr(err.text, "without its soft bodies"));
    }
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

void pmx_write_tests(void)
{
    RUN(both_encodings_are_written);
    RUN(every_index_size_is_written);
    RUN(every_number_of_additional_uvs_is_written);
    RUN(version_2_0_is_written);
    RUN(indices_that_need_more_bytes_get_them);
    RUN(soft_bodies_are_refused);
}
