/* SPDX-License-Identifier: MIT */
#include "core/pose/pose_state.h"

#include "rig_sample.h"
#include "test.h"

#include <math.h>

/* Two links of length 1 along x from the origin, the effector at (2, 0, 0), a goal. */
enum { ROOT, OUTER, EFFECTOR, GOAL, BONES };

static void make_arm(mmd_bone bones[BONES], float x, float y)
{
    const mmd_bone made[BONES] = {{.parent = -1},
                                  {.parent = ROOT, .position = {1, 0, 0}},
                                  {.parent = OUTER, .position = {2, 0, 0}},
                                  {.parent = -1, .position = {x, y, 0}}};
    for (int i = 0; i < BONES; i++)
        bones[i] = made[i];
}

/* docs/mmd-behavior.md#check-ik */
static void small_steps_are_repeated_360_times(void)
{
    mmd_bone bones[BONES];
    make_arm(bones, 0.5f, 2);
    bones[GOAL].ik = IK(EFFECTOR, 1, 1e-5f, {.bone = OUTER}, {.bone = ROOT});
    mmd_model model = MODEL_OF(bones);
    float matrices[16 * BONES];
    sample_pose(&model, NULL, NULL, NULL, true, matrices);
    CHECK_NEAR(sample_turn_about_z(matrices, ROOT), 0.007200055, 1e-6);
    CHECK_NEAR(sample_turn_about_z(matrices, OUTER), 0.007200055 + 0.003600017, 1e-6);
}

static void an_effector_reaches_a_goal_within_reach(void)
{
    mmd_bone bones[BONES];
    make_arm(bones, 0.5f, 1.5f);
    bones[GOAL].ik = IK(EFFECTOR, 200, 2, {.bone = OUTER}, {.bone = ROOT});
    mmd_model model = MODEL_OF(bones);
    float matrices[16 * BONES], place[3];
    sample_pose(&model, NULL, NULL, NULL, true, matrices);
    sample_place(&model, matrices, EFFECTOR, place);
    CHECK_FLOATS_NEAR(place, 3, 1e-3, 0.5f, 1.5f, 0);
}

static void a_goal_in_line_with_the_effector_moves_nothing(void)
{
    static const float ends[] = {3, -2};
    for (int i = 0; i < 2; i++) {
        mmd_bone bones[BONES];
        make_arm(bones, ends[i], 0);
        bones[GOAL].ik = IK(EFFECTOR, 10, 16, {.bone = OUTER}, {.bone = ROOT});
        mmd_model model = MODEL_OF(bones);
        float matrices[16 * BONES];
        sample_pose(&model, NULL, NULL, NULL, true, matrices);
        CHECK_NEAR(sample_turn_about_z(matrices, OUTER), 0, 0);
        CHECK_NEAR(sample_turn_about_z(matrices, ROOT), 0, 0);
    }
}

/* 89.5 degrees are clamped to 88: docs/mmd-behavior.md#check-ik. */
static void the_middle_angle_of_limits_ends_at_88_degrees(void)
{
    const double degree = acos(-1) / 180;
    mmd_bone bones[BONES];
    make_arm(bones, 2 * (float)cos(89.5 * degree), 2 * (float)sin(89.5 * degree));
    bones[GOAL].ik = IK(EFFECTOR, 1, 16,
                        {.bone = ROOT,
                         .limited = true,
                         .lower = {-3.2f, -3.2f, -3.2f},
                         .upper = {3.2f, 3.2f, 3.2f}});
    mmd_model model = MODEL_OF(bones);
    float matrices[16 * BONES];
    sample_pose(&model, NULL, NULL, NULL, true, matrices);
    CHECK_NEAR(sample_turn_about_z(matrices, ROOT), 88 * degree, 1e-5);
}

/* A hinge about z from 0 to 1 rad: a goal below is outside its limits. */
static void a_hinge_stays_within_its_limits(void)
{
    static const float goals[][2] = {{0, -2}, {0, 2}};
    static const double expected[] = {0, 1};
    for (int i = 0; i < 2; i++) {
        mmd_bone bones[BONES];
        make_arm(bones, goals[i][0], goals[i][1]);
        bones[GOAL].ik = IK(EFFECTOR, 40, 4, {.bone = ROOT, .limited = true, .upper = {0, 0, 1}});
        mmd_model model = MODEL_OF(bones);
        float matrices[16 * BONES];
        sample_pose(&model, NULL, NULL, NULL, true, matrices);
        CHECK_NEAR(sample_turn_about_z(matrices, ROOT), expected[i], 1e-5);
    }
}

static void without_ik_the_bones_stay_at_rest(void)
{
    mmd_bone bones[BONES];
    make_arm(bones, 0.5f, 1.5f);
    bones[GOAL].ik = IK(EFFECTOR, 200, 2, {.bone = OUTER}, {.bone = ROOT});
    mmd_model model = MODEL_OF(bones);
    float matrices[16 * BONES];
    sample_pose(&model, NULL, NULL, NULL, false, matrices);
    for (size_t i = 0; i < BONES; i++)
        CHECK_NEAR(sample_turn_about_z(matrices, i), 0, 0);
}

/* A child of an effector that another solver moves without updating it follows it in the end. */
static void children_of_a_stale_effector_are_settled(void)
{
    mmd_bone bones[] = {{.parent = -1},
                        {.parent = 0, .position = {1, 0, 0}},
                        {.parent = 1, .position = {2, 0, 0}},  /* effector of the second */
                        {.parent = 2, .position = {3, 0, 0}},  /* its child */
                        {.parent = -1, .position = {0, 1, 0}}, /* goal of the first */
                        {.parent = -1, .position = {9, 9, 9}}};
    bones[4].ik = IK(1, 20, 4, {.bone = 0});
    bones[5].ik = IK(2, 20, 4, {.bone = -1});
    mmd_model model = MODEL_OF(bones);
    float matrices[16 * 6], place[3];
    sample_pose(&model, NULL, NULL, NULL, true, matrices);
    sample_place(&model, matrices, 3, place);
    CHECK_FLOATS_NEAR(place, 3, 1e-4, 0, 3, 0);
}

void ik_tests(void)
{
    RUN(small_steps_are_repeated_360_times);
    RUN(an_effector_reaches_a_goal_within_reach);
    RUN(a_goal_in_line_with_the_effector_moves_nothing);
    RUN(the_middle_angle_of_limits_ends_at_88_degrees);
    RUN(a_hinge_stays_within_its_limits);
    RUN(without_ik_the_bones_stay_at_rest);
    RUN(children_of_a_stale_effector_are_settled);
}
