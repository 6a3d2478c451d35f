/* SPDX-License-Identifier: MIT */
#include "core/model/morph.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

/* The passes of docs/mmd-behavior.md#morph-passes; weights computed by hand. */

enum { MAX_MORPHS = 8 };

static mmd_morph vertex_morph(void)
{
    return (mmd_morph){.kind = MMD_MORPH_VERTEX};
}

#define CHILDREN(morph_kind, count, indices_, values_)                                             \
    (mmd_morph)                                                                                    \
    {                                                                                              \
        .kind = (morph_kind), .offset_count = (count), .indices = (indices_), .values = (values_)  \
    }

static void run(const mmd_morph *morphs, size_t count, const float *sliders, float *out)
{
    float *in = test_exact(sliders, count * sizeof *in);
    float *weights = test_exact(sliders, count * sizeof *weights);
    mmd_morph_weights(morphs, count, in, weights);
    memcpy(out, weights, count * sizeof *weights);
    free(in);
    free(weights);
}

static void other_weights_are_unchanged(void)
{
    mmd_morph morphs[] = {vertex_morph(), {.kind = MMD_MORPH_BONE}, {.kind = MMD_MORPH_UV}};
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){0.25f, -1, 2}, out);
    CHECK_FLOATS(out, 3, 0.25f, -1, 2);
}

static void no_morphs_are_accepted(void)
{
    mmd_morph_weights(NULL, 0, NULL, NULL);
}

static void a_group_adds_to_its_children(void)
{
    int32_t children[] = {0, 1, 0};
    float ratios[] = {0.5f, -2, 0.25f};
    mmd_morph morphs[] = {vertex_morph(), vertex_morph(),
                          CHILDREN(MMD_MORPH_GROUP, 3, children, ratios)};
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){1, 0, 0.5f}, out);
    CHECK_FLOATS(out, 3, 1 + 0.25f + 0.125f, -1, 0);
}

static void groups_add_up_in_any_order(void)
{
    int32_t child[] = {1};
    float ratio[] = {1};
    mmd_morph morphs[] = {CHILDREN(MMD_MORPH_GROUP, 1, child, ratio), vertex_morph(),
                          CHILDREN(MMD_MORPH_GROUP, 1, child, ratio)};
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){0.25f, 0.5f, 1}, out);
    CHECK_FLOATS(out, 3, 0, 1.75f, 0);
}

static void nested_groups_are_ignored(void)
{
    int32_t inner[] = {0}, outer[] = {1, 2};
    float ratios[] = {1, 1};
    mmd_morph morphs[] = {
        vertex_morph(), CHILDREN(MMD_MORPH_GROUP, 1, inner, ratios),
        CHILDREN(MMD_MORPH_GROUP, 2, outer, ratios)}; /* the last is its own child */
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){0, 0, 1}, out);
    CHECK_FLOATS(out, 3, 0, 0, 0);
}

static void nested_groups_are_ignored_in_any_order(void)
{
    int32_t inner[] = {2}, outer[] = {1};
    float ratio[] = {1};
    mmd_morph morphs[] = {CHILDREN(MMD_MORPH_GROUP, 1, outer, ratio),
                          CHILDREN(MMD_MORPH_GROUP, 1, inner, ratio), vertex_morph()};
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){1, 0, 0}, out);
    CHECK_FLOATS(out, 3, 0, 0, 0);
}

/* Of three children (n + 1) w = 4 w: below 1/4 none, then one per quarter. */
static void a_flip_selects_its_child(void)
{
    static const struct {
        float slider, a, b, c;
    } rows[] = {{0, 7, 8, 9},       {0.24f, 7, 8, 9},    {0.25f, 0.1f, 8, 9}, {0.49f, 0.1f, 8, 9},
                {0.5f, 7, 0.2f, 9}, {0.74f, 7, 0.2f, 9}, {0.75f, 7, 8, 0.3f}, {1, 7, 8, 0.3f},
                {1000, 7, 8, 0.3f}, {1e38f, 7, 8, 0.3f}, {-1, 7, 8, 9},       {-1e38f, 7, 8, 9}};
    int32_t children[] = {1, 2, 3};
    float values[] = {0.1f, 0.2f, 0.3f};
    mmd_morph morphs[] = {CHILDREN(MMD_MORPH_FLIP, 3, children, values), vertex_morph(),
                          vertex_morph(), vertex_morph()};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float out[MAX_MORPHS];
        run(morphs, 4, (const float[]){rows[i].slider, 7, 8, 9}, out);
        CHECK_FLOATS(out, 4, 0, rows[i].a, rows[i].b, rows[i].c);
    }
}

static void a_flip_without_children_does_nothing(void)
{
    mmd_morph morphs[] = {{.kind = MMD_MORPH_FLIP}, vertex_morph()};
    float out[MAX_MORPHS];
    run(morphs, 2, (const float[]){1, 0.5f}, out);
    CHECK_FLOATS(out, 2, 0, 0.5f);
}

static void a_group_drives_its_flips(void)
{
    int32_t flip[] = {1}, children[] = {2, 3};
    float ratio[] = {0.5f}, values[] = {0.1f, 0.2f};
    mmd_morph morphs[] = {CHILDREN(MMD_MORPH_GROUP, 1, flip, ratio),
                          CHILDREN(MMD_MORPH_FLIP, 2, children, values), vertex_morph(),
                          vertex_morph()};
    float out[MAX_MORPHS];
    run(morphs, 4, (const float[]){1, 0, 0, 0}, out); /* 3 x 0.5 - 1 = 0.5: child 0 */
    CHECK_FLOATS(out, 4, 0, 0, 0.1f, 0);
    run(morphs, 4, (const float[]){1.5f, 0, 0, 0}, out); /* 3 x 0.75 - 1 = 1.25: child 1 */
    CHECK_FLOATS(out, 4, 0, 0, 0, 0.2f);
}

static void a_flip_can_set_a_group(void)
{
    int32_t group[] = {1}, child[] = {2};
    float value[] = {0.5f}, ratio[] = {3};
    mmd_morph morphs[] = {CHILDREN(MMD_MORPH_FLIP, 1, group, value),
                          CHILDREN(MMD_MORPH_GROUP, 1, child, ratio), vertex_morph()};
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){1, 0, 0}, out);
    CHECK_FLOATS(out, 3, 0, 0, 1.5f);
}

static void flips_of_each_other_terminate(void)
{
    int32_t second[] = {1}, first[] = {0, 2};
    float values[] = {1, 1};
    mmd_morph morphs[] = {CHILDREN(MMD_MORPH_FLIP, 1, second, values),
                          CHILDREN(MMD_MORPH_FLIP, 2, first, values), vertex_morph()};
    float out[MAX_MORPHS];
    run(morphs, 3, (const float[]){1, 0, 0}, out); /* flip 1 is set to 1 before it is evaluated */
    CHECK_FLOATS(out, 3, 0, 0, 1);
}

void morph_tests(void)
{
    RUN(other_weights_are_unchanged);
    RUN(no_morphs_are_accepted);
    RUN(a_group_adds_to_its_children);
    RUN(groups_add_up_in_any_order);
    RUN(nested_groups_are_ignored);
    RUN(nested_groups_are_ignored_in_any_order);
    RUN(a_flip_selects_its_child);
    RUN(a_flip_without_children_does_nothing);
    RUN(a_group_drives_its_flips);
    RUN(a_flip_can_set_a_group);
    RUN(flips_of_each_other_terminate);
}
