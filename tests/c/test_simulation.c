/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"
#include "core/physics/simulation.h"
#include "rig_sample.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* A root, a link that hangs from it by a joint without limits of angles, and a bone after physics.
 */
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
    CHECK(mmd_simulation_seek(simulation, frame, &steps));
    mmd_simulation_pose(simulation, frame, matrices, NULL);
}

/* It swings about the root: the head of its bone stays, its energy does not grow. */
static void a_pendulum_swings(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_physics physics = mmd_physics_default;
    physics.settle = 0;
    mmd_simulation *simulation = mmd_simulation_new(rig, NULL, true, &physics, NULL);
    if (!CHECK(simulation))
        return;
    float matrices[3 * 16], place[3], lowest = 10;
    for (int frame = 0; frame < 60; frame++) {
        run_to(simulation, frame, matrices);
        sample_place(&model, matrices, 1, place);
        CHECK_NEAR(place[0], 0, 0.3);
        CHECK_NEAR(place[1], 10, 0.3);
        float turn = (float)sample_turn_about_z(matrices, 1);
        CHECK_NEAR(sample_turn_about_z(matrices, 2), turn, 1e-6);
        float height = 10 + 2 * sinf(turn);
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
        simulation = mmd_simulation_new(rig, NULL, true, &mmd_physics_default, &err);
        if (!simulation)
            CHECK_INT(err.code, MMD_E_MEMORY);
    }
    mmd_arena_fail_after(-1);
    mmd_simulation_free(simulation);
    mmd_rig_free(rig);
}

/* Without memory for what it remembers, it runs from the start again. */
static void a_run_needs_no_memory(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_simulation *poor = mmd_simulation_new(rig, NULL, true, &mmd_physics_default, NULL);
    mmd_simulation *rich = mmd_simulation_new(rig, NULL, true, &mmd_physics_default, NULL);
    float a[3 * 16], b[3 * 16];
    CHECK(poor && rich);
    mmd_arena_fail_after(0); /* the place that is remembered at the start */
    run_to(poor, 20, a);
    mmd_arena_fail_after(0);
    run_to(poor, 320, a);
    mmd_arena_fail_after(-1);
    run_to(rich, 320, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    run_to(poor, 310, a);
    run_to(rich, 310, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    mmd_simulation_free(poor);
    mmd_simulation_free(rich);
    mmd_rig_free(rig);
}

static void a_start_that_is_broken_off_is_made_again(void)
{
    mmd_model model = pendulum();
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_simulation *cut = mmd_simulation_new(rig, NULL, true, &mmd_physics_default, NULL);
    mmd_simulation *whole = mmd_simulation_new(rig, NULL, true, &mmd_physics_default, NULL);
    const mmd_pose_job rest = {.frame_count = 1};
    float a[3 * 16], b[3 * 16];
    CHECK(cut && whole);
    size_t few = 10, many = 1000;
    CHECK(mmd_simulation_aim(cut, &rest, NULL, 1, NULL));
    CHECK(!mmd_simulation_walk(cut, &few));
    CHECK(mmd_simulation_aim(cut, &rest, NULL, 1, NULL));
    CHECK(mmd_simulation_walk(cut, &many));
    CHECK(mmd_simulation_aim(whole, &rest, NULL, 1, NULL));
    CHECK(mmd_simulation_walk(whole, &many));
    mmd_simulation_pose_given(cut, a, NULL);
    mmd_simulation_pose_given(whole, b, NULL);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK_NEAR(mmd_simulation_frame(cut), 0, 0);
    mmd_simulation_free(cut);
    mmd_simulation_free(whole);
    mmd_rig_free(rig);
}

void simulation_tests(void)
{
    RUN(a_pendulum_swings);
    RUN(a_simulation_survives_every_failing_allocation);
    RUN(a_run_needs_no_memory);
    RUN(a_start_that_is_broken_off_is_made_again);
}
