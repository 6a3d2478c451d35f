/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"
#include "mmdskin.h"
#include "rig_sample.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* A root, a link on a joint with free rotation, and a bone after physics. */
static mmd_bone bones[] = {
    {.name = TEXT("root"), .position = {0, 10, 0}, .parent = -1},
    {.name = TEXT("link"), .position = {0, 10, 0}, .parent = 0},
    {.name = TEXT("after"), .position = {0, 9, 0}, .parent = 1, .flags = MMD_BONE_AFTER_PHYSICS}};
static mmd_rigid_body bodies[] = {
    {.name = TEXT("a"), .bone = 0, .size = {0.1f, 0, 0}, .position = {0, 10, 0}},
    {.name = TEXT("b"), .bone = 1, .size = {1, 0, 0}, .position = {2, 10, 0}, .mass = 1, .mode = 1},
    {.name = TEXT("c"), .bone = 2, .size = {0.1f, 0, 0}, .position = {0, 9, 0}}};
static mmd_joint joints[] = {{.name = TEXT("j"),
                              .body_a = 0,
                              .body_b = 1,
                              .position = {0, 10, 0},
                              .rotation_lower = {1, 1, 1},
                              .rotation_upper = {-1, -1, -1}}};

static mmd_model pendulum(void)
{
    mmd_model model = MODEL_OF(bones);
    model.rigid_body_count = COUNT_OF(bodies);
    model.rigid_bodies = bodies;
    model.joint_count = COUNT_OF(joints);
    model.joints = joints;
    return model;
}

static void run_to(mmd_simulation *simulation, double frame, float *matrices)
{
    size_t steps = 10000;
    CHECK(mmd_simulation_seek(simulation, frame, &steps, NULL));
    mmd_simulation_pose(simulation, 0, matrices, NULL, NULL);
}

/* The link swings about the root: the position of its bone stays, its energy does not grow. */
static void a_pendulum_swings(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_simulation_settings physics = mmd_simulation_default_settings();
    physics.settle = 0;
    mmd_simulation *simulation =
        mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, &physics, NULL);
    if (!CHECK(simulation))
        return;
    float matrices[3 * 16], position[3], lowest = 10;
    for (int frame = 0; frame < 60; frame++) {
        run_to(simulation, frame, matrices);
        sample_place(&model, matrices, 1, position);
        CHECK_NEAR(position[0], 0, 0.3);
        CHECK_NEAR(position[1], 10, 0.3);
        float angle = (float)sample_turn_about_z(matrices, 1);
        CHECK_NEAR(sample_turn_about_z(matrices, 2), angle, 1e-6);
        float height = 10 + 2 * sinf(angle);
        CHECK(height < 10.3f);
        lowest = height < lowest ? height : lowest;
    }
    CHECK_NEAR(lowest, 8, 0.05);
    char text[256];
    CHECK(!mmd_simulation_note(simulation, 0, text));
    mmd_simulation_free(simulation);
    mmd_rig_free(rig);
}

static void a_simulation_survives_every_failing_allocation(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_simulation *simulation = NULL;
    for (long n = 0; !simulation; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        simulation =
            mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, NULL, &err);
        if (!simulation)
            CHECK_INT(err.code, MMD_E_MEMORY);
    }
    mmd_arena_fail_after(-1);
    mmd_simulation_free(simulation);
    mmd_rig_free(rig);
}

static void a_simulation_of_two_models_survives_every_failing_allocation(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    const double place[7] = {9, 0, 0, 0, 0, 0, 1};
    const mmd_simulation_model models[] = {{rig, NULL, NULL, 0}, {rig, NULL, place, 0}};
    mmd_simulation *simulation = NULL;
    for (long n = 0; !simulation; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        simulation = mmd_simulation_new(models, 2, true, NULL, &err);
        if (!simulation)
            CHECK_INT(err.code, MMD_E_MEMORY);
    }
    mmd_arena_fail_after(-1);
    mmd_simulation_free(simulation);
    mmd_rig_free(rig);
}

/* Without memory for checkpoints, it runs from the start again. */
static void a_run_needs_no_checkpoints(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_simulation *without =
        mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, NULL, NULL);
    mmd_simulation *with =
        mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, NULL, NULL);
    float a[3 * 16], b[3 * 16];
    CHECK(without && with);
    mmd_arena_fail_after(0); /* the checkpoint at the start */
    run_to(without, 20, a);
    mmd_arena_fail_after(0);
    run_to(without, 320, a);
    mmd_arena_fail_after(-1);
    run_to(with, 320, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    run_to(without, 310, a);
    run_to(with, 310, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    mmd_simulation_free(without);
    mmd_simulation_free(with);
    mmd_rig_free(rig);
}

static void an_interrupted_start_is_made_again(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_simulation *interrupted =
        mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, NULL, NULL);
    mmd_simulation *complete =
        mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, NULL, NULL);
    const mmd_pose_job rest = {.frame_count = 1};
    float a[3 * 16], b[3 * 16];
    CHECK(interrupted && complete);
    size_t few = 10, many = 1000;
    CHECK(mmd_simulation_set_targets(interrupted, &(mmd_simulation_target){&rest, NULL}, NULL, 1,
                                     NULL));
    CHECK(!mmd_simulation_advance(interrupted, &few, NULL));
    CHECK(mmd_simulation_set_targets(interrupted, &(mmd_simulation_target){&rest, NULL}, NULL, 1,
                                     NULL));
    CHECK(mmd_simulation_advance(interrupted, &many, NULL));
    CHECK(
        mmd_simulation_set_targets(complete, &(mmd_simulation_target){&rest, NULL}, NULL, 1, NULL));
    CHECK(mmd_simulation_advance(complete, &many, NULL));
    mmd_simulation_pose(interrupted, 0, a, NULL, NULL);
    mmd_simulation_pose(complete, 0, b, NULL, NULL);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK_NEAR(mmd_simulation_frame(interrupted), 0, 0);
    mmd_simulation_free(interrupted);
    mmd_simulation_free(complete);
    mmd_rig_free(rig);
}

void simulation_tests(void)
{
    RUN(a_pendulum_swings);
    RUN(a_simulation_survives_every_failing_allocation);
    RUN(a_simulation_of_two_models_survives_every_failing_allocation);
    RUN(a_run_needs_no_checkpoints);
    RUN(an_interrupted_start_is_made_again);
}
