/* SPDX-License-Identifier: MIT */
#include "core/pose/rig.h"

#include "rig_sample.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

static void check_bones(const int32_t *got, size_t got_count, const int32_t *want, size_t count)
{
    CHECK_INT(got_count, count);
    for (size_t i = 0; i < count && i < got_count; i++)
        CHECK_INT(got[i], want[i]);
}

#define CHECK_BONES(got, got_count, ...)                                                           \
    check_bones((got), (got_count), (const int32_t[]){__VA_ARGS__},                                \
                COUNT_OF(((const int32_t[]){__VA_ARGS__})))

static void layers_order_bones_and_parents_come_first(void)
{
    mmd_bone bones[] = {{.parent = 1, .layer = -5},
                        {.parent = -1, .layer = 2},
                        {.parent = -1, .flags = MMD_BONE_AFTER_PHYSICS},
                        {.parent = -1, .layer = 1},
                        {.parent = 2}};
    mmd_model model = MODEL_OF(bones);
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    if (!CHECK(rig))
        return;
    CHECK_BONES(rig->order, rig->bone_count, 3, 1, 0, 2, 4);
    CHECK_INT(rig->layer_count, 3);
    CHECK_INT(rig->layers[1].first_bone, 1);
    CHECK_INT(rig->layers[1].bone_count, 2);
    mmd_rig_free(rig);
}

static void an_append_from_no_bone_or_itself_is_ignored(void)
{
    mmd_bone bones[] = {
        {.parent = -1, .flags = MMD_BONE_APPEND_ROTATION, .append_source = 0, .append_ratio = 1},
        {.parent = -1, .flags = MMD_BONE_APPEND_ROTATION, .append_source = -1, .append_ratio = 1},
        {.parent = -1, .flags = MMD_BONE_APPEND_ROTATION, .append_source = 0, .append_ratio = 1}};
    mmd_model model = MODEL_OF(bones);
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    if (!CHECK(rig))
        return;
    CHECK_INT(rig->bones[0].source, -1);
    CHECK_INT(rig->bones[1].source, -1);
    CHECK_INT(rig->bones[2].source, 0);
    mmd_rig_free(rig);
}

/* A leg with foot and toe: 0 hip, 1 knee, 2 ankle, 3 toe, 4 heel under the ankle, 5 a bone that
   appends from the knee, 6 foot IK, 7 toe IK, 8 a child of the toe. */
static void leg(mmd_bone bones[9])
{
    const mmd_bone made[9] = {
        {.parent = -1},
        {.parent = 0},
        {.parent = 1},
        {.parent = 2},
        {.parent = 2},
        {.parent = -1, .flags = MMD_BONE_APPEND_ROTATION, .append_source = 1, .append_ratio = 1},
        {.parent = -1},
        {.parent = -1},
        {.parent = 3}};
    for (int i = 0; i < 9; i++)
        bones[i] = made[i];
}

static void a_solver_refreshes_its_chain_and_appends_but_no_other_effector(void)
{
    mmd_bone bones[9];
    leg(bones);
    bones[6].ik = IK(2, 40, 2, {.bone = 1}, {.bone = 0});
    bones[7].ik = IK(3, 3, 4, {.bone = 2});
    mmd_model model = MODEL_OF(bones);
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    if (!CHECK(rig) || !CHECK(rig->solver_count == 2))
        return;
    const mmd_rig_solver *foot = &rig->solvers[0], *toe = &rig->solvers[1];
    CHECK_BONES(foot->refresh, foot->refresh_count, 0, 1, 2, 4, 5, 8);
    CHECK_BONES(foot->inner, foot->inner_count, 0, 1, 2);
    CHECK_INT(foot->links[0].first_inner, 1);
    CHECK_INT(foot->links[1].first_inner, 0);
    CHECK_BONES(toe->refresh, toe->refresh_count, 2, 3, 4, 8);
    CHECK_BONES(rig->final_update, rig->final_update_count, 3, 8);
    CHECK(!rig->reads_later_layer);
    mmd_rig_free(rig);
}

static void an_effector_that_is_also_a_link_is_refreshed(void)
{
    mmd_bone bones[9];
    leg(bones);
    bones[6].ik = IK(2, 40, 2, {.bone = 1}, {.bone = 0});
    bones[7].ik = IK(4, 3, 4, {.bone = 2}, {.bone = 1});
    mmd_model model = MODEL_OF(bones);
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    if (!CHECK(rig))
        return;
    CHECK_BONES(rig->solvers[1].inner, rig->solvers[1].inner_count, 1, 2, 4);
    mmd_rig_free(rig);
}

static void a_goal_of_a_later_layer_is_detected(void)
{
    mmd_bone bones[] = {{.parent = -1}, {.parent = 0}, {.parent = 3}, {.parent = -1, .layer = 7}};
    bones[0].ik = IK(1, 3, 1, {.bone = 2});
    mmd_model model = MODEL_OF(bones);
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    CHECK(rig && rig->reads_later_layer);
    mmd_rig_free(rig);
}

/* docs/mmd-behavior.md#ik-step: max(loops, floor(min(4 pi / unit, 360)), 1). */
static void loops_are_corrected_by_the_unit_angle(void)
{
    static const struct {
        int32_t loops, expected;
        float unit;
    } cases[] = {{40, 40, 2},   {3, 12, 1},      {0, 1, 16},          {1, 360, 1e-5f},
                 {720, 720, 1}, {5000, 1024, 1}, {-2147483647, 6, 2}, {7, 7, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        mmd_bone bones[] = {{.parent = -1}, {.parent = 0}, {.parent = -1}};
        bones[2].ik = IK(1, cases[i].loops, cases[i].unit, {.bone = 0});
        mmd_model model = MODEL_OF(bones);
        mmd_rig *rig = mmd_rig_new(&model, NULL);
        if (CHECK(rig) && CHECK(rig->solver_count == 1))
            CHECK_INT(rig->solvers[0].iterations, cases[i].expected);
        mmd_rig_free(rig);
    }
}

static void no_bones_make_an_empty_rig(void)
{
    mmd_model model = {0};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    CHECK(rig && rig->layer_count == 0 && rig->solver_count == 0 && rig->final_update_count == 0);
    mmd_rig_free(rig);
}

/* A chain in which each bone is a solver that moves all after it: n * n / 2 bones to refresh. */
static void refresh_sets_of_a_hostile_rig_are_bounded(void)
{
    enum { BONES = 4000 };
    mmd_bone *bones = calloc(BONES, sizeof *bones);
    mmd_ik *blocks = calloc(BONES, sizeof *blocks);
    for (int32_t i = 0; i < BONES; i++) {
        blocks[i] = (mmd_ik){.target = i > 0 ? i - 1 : 1, .loop_count = 1, .unit_angle = 1};
        bones[i] = (mmd_bone){.parent = i - 1, .ik = &blocks[i]};
    }
    mmd_model model = {.bone_count = BONES, .bones = bones};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    size_t followers = 0;
    if (CHECK(rig) && CHECK(rig->solver_count == BONES)) {
        for (size_t s = 0; s < BONES; s++)
            followers += rig->solvers[s].refresh_count;
        CHECK(followers < 150 * BONES);
        CHECK(rig->solvers[0].iterations > 0);
        CHECK_INT(rig->solvers[BONES - 1].iterations, 0);
    }
    mmd_rig_free(rig);
    free(blocks);
    free(bones);
}

/* Memory for links that are ignored would not fit: 440 bytes each. */
static void a_solver_takes_memory_for_no_more_links_than_it_keeps(void)
{
    enum { LINKS = 300 };
    mmd_ik_link links[LINKS] = {{.bone = 0}};
    mmd_ik ik = {.target = 1, .loop_count = 1, .unit_angle = 1, .links = links};
    mmd_bone bones[] = {{.parent = -1}, {.parent = 0}, {.parent = -1, .ik = &ik}};
    mmd_model model = MODEL_OF(bones);
    mmd_error err = {0};
    ik.link_count = SIZE_MAX / 2;
    mmd_rig *rig = mmd_rig_new(&model, &err);
    if (CHECK(rig))
        CHECK_INT(rig->solvers[0].link_count, MMD_MAX_LINKS);
    mmd_rig_free(rig);
}

void rig_tests(void)
{
    RUN(a_solver_takes_memory_for_no_more_links_than_it_keeps);
    RUN(layers_order_bones_and_parents_come_first);
    RUN(an_append_from_no_bone_or_itself_is_ignored);
    RUN(a_solver_refreshes_its_chain_and_appends_but_no_other_effector);
    RUN(an_effector_that_is_also_a_link_is_refreshed);
    RUN(a_goal_of_a_later_layer_is_detected);
    RUN(loops_are_corrected_by_the_unit_angle);
    RUN(no_bones_make_an_empty_rig);
    RUN(refresh_sets_of_a_hostile_rig_are_bounded);
}
