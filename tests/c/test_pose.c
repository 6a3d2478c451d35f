/* SPDX-License-Identifier: MIT */
#include "mmdskin.h"

#include "rig_sample.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define HALF 0.70710678f /* sine and cosine of 45 degrees: half a quarter turn */

static void a_child_follows_its_parent(void)
{
    mmd_bone bones[] = {{.parent = 1, .position = {2, 1, 0}},
                        {.parent = -1, .position = {1, 1, 0}}};
    const float moves[] = {0, 0, 0, 0, 0, 5}, turns[] = {0, 0, 0, 1, 0, 0, HALF, HALF};
    mmd_model model = MODEL_OF(bones);
    float matrices[32], place[3];
    sample_pose(&model, moves, turns, NULL, false, matrices);
    sample_place(&model, matrices, 0, place);
    CHECK_FLOATS_NEAR(place, 3, 1e-6, 1, 2, 5);
    CHECK_FLOATS_NEAR(matrices, 16, 1e-6, 0, -1, 0, 2, 1, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0, 1);
}

static void a_bone_at_rest_has_the_identity_matrix(void)
{
    mmd_bone bones[] = {{.parent = -1, .position = {1, 2, 3}}};
    mmd_model model = MODEL_OF(bones);
    float matrices[16];
    sample_pose(&model, NULL, NULL, NULL, true, matrices);
    CHECK_FLOATS(matrices, 16, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
}

/* docs/mmd-behavior.md#check-append: 60 degrees by half are 30, by -1 are -60. */
static void appends_scale_the_rotation_of_their_source(void)
{
    mmd_bone bones[] = {
        {.parent = -1},
        {.parent = -1, .flags = MMD_BONE_APPEND_ROTATION, .append_source = 0, .append_ratio = 0.5f},
        {.parent = -1, .flags = MMD_BONE_APPEND_ROTATION, .append_source = 0, .append_ratio = -1}};
    const float turns[] = {0, 0, 0.5f, 0.8660254f, 0, 0, 0, 1, 0, 0, 0, 1};
    mmd_model model = MODEL_OF(bones);
    float matrices[48];
    sample_pose(&model, NULL, turns, NULL, false, matrices);
    CHECK_NEAR(sample_turn_about_z(matrices, 1), acos(-1) / 6, 1e-6);
    CHECK_NEAR(sample_turn_about_z(matrices, 2), -acos(-1) / 3, 1e-6);
}

static void a_bone_morph_moves_and_rotates(void)
{
    int32_t index[] = {0};
    float values[] = {4, 0, 0, 0, 0, HALF, HALF}, slider = 0.5f;
    mmd_bone bones[] = {{.parent = -1}};
    mmd_morph morphs[] = {
        {.kind = MMD_MORPH_BONE, .offset_count = 1, .indices = index, .values = values}};
    mmd_model model = MODEL_OF(bones);
    model.morph_count = 1;
    model.morphs = morphs;
    float matrices[16];
    sample_pose(&model, NULL, NULL, &slider, false, matrices);
    CHECK_NEAR(matrices[3], 2, 0);
    CHECK_NEAR(sample_turn_about_z(matrices, 0), acos(-1) / 4, 1e-6);
}

/* One poser, several jobs: earlier ones leave nothing, and one input frame is used for all frames.
 */
static void a_poser_keeps_nothing_of_earlier_jobs(void)
{
    mmd_bone bones[] = {{.parent = -1}};
    mmd_model model = MODEL_OF(bones);
    const float moves[] = {1, 0, 0, 2, 0, 0, 3, 0, 0}, turn[] = {0, 0, HALF, HALF};
    float matrices[48], sliders[1];
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_poser *poser = rig ? mmd_poser_new(rig, NULL, NULL) : NULL;
    if (!CHECK(poser))
        return;
    mmd_pose_job job = {.frame_count = 3,
                        .translations = moves,
                        .rotations = turn,
                        .translation_frames = 3,
                        .rotation_frames = 1,
                        .out_matrices = matrices,
                        .out_morph_weights = sliders};
    CHECK(mmd_pose(poser, &job, NULL));
    for (int f = 0; f < 3; f++) {
        CHECK_NEAR(matrices[16 * f + 3], f + 1, 0);
        CHECK_NEAR(sample_turn_about_z(matrices, (size_t)f), acos(-1) / 2, 1e-6);
    }
    mmd_pose_job rest = {.frame_count = 1, .out_matrices = matrices, .out_morph_weights = sliders};
    CHECK(mmd_pose(poser, &rest, NULL));
    CHECK_FLOATS(matrices, 16, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1);
    mmd_poser_free(poser);
    mmd_rig_free(rig);
}

static void a_motion_moves_bones_and_sliders(void)
{
    uint32_t frames[] = {0, 10};
    float moves[] = {0, 0, 0, 0, 4, 0}, turns[] = {0, 0, 0, 1, 0, 0, 0, 1}, weights[] = {0, 1};
    uint8_t curves[32] = {0};
    mmd_bone_track bone_tracks[] = {{.name = TEXT("a"),
                                     .key_count = 2,
                                     .frames = frames,
                                     .translations = moves,
                                     .rotations = turns,
                                     .interpolation = curves}};
    mmd_morph_track morph_tracks[] = {
        {.name = TEXT("m"), .key_count = 2, .frames = frames, .weights = weights}};
    mmd_motion motion = {.bone_track_count = 1,
                         .bone_tracks = bone_tracks,
                         .morph_track_count = 1,
                         .morph_tracks = morph_tracks};
    mmd_bone bones[] = {{.name = TEXT("a"), .parent = -1}, {.name = TEXT("b"), .parent = 0}};
    mmd_morph morphs[] = {{.name = TEXT("m"), .kind = MMD_MORPH_VERTEX}};
    mmd_model model = MODEL_OF(bones);
    model.morph_count = 1;
    model.morphs = morphs;
    float matrices[32], slider;
    sample_frame(&model, &motion, 2.5, matrices, &slider);
    CHECK_NEAR(matrices[16 + 7], 1, 0);
    CHECK_NEAR(slider, 0.25, 0);
}

/* Before anything is written: the job has no outputs. */
static void check_refused(const mmd_rig *rig, const mmd_motion *motion, const mmd_pose_job *job,
                          const char *text)
{
    mmd_error err = {0};
    mmd_poser *poser = mmd_poser_new(rig, motion, NULL);
    CHECK(poser && !mmd_pose(poser, job, &err));
    CHECK_INT(err.code, MMD_E_ARGUMENT);
    CHECK(strcmp(err.text, text) == 0);
    mmd_poser_free(poser);
}

static void errors_name_bad_arguments(void)
{
    mmd_bone bones[] = {{.parent = -1}, {.parent = -1}};
    mmd_model model = MODEL_OF(bones);
    model.morph_count = 1;
    model.morphs = &(mmd_morph){.kind = MMD_MORPH_VERTEX};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    float moves[12] = {0}, turns[16] = {0}, sliders[2] = {0};
    double frames[2] = {0};
    for (int i = 0; i < 4; i++)
        turns[4 * i] = 1;
    mmd_pose_job good = {.frame_count = 2,
                         .frames = frames,
                         .translations = moves,
                         .rotations = turns,
                         .morph_weights = sliders,
                         .translation_frames = 2,
                         .rotation_frames = 2,
                         .morph_weight_frames = 2};
    if (!CHECK(rig))
        return;
    mmd_pose_job bad = good;
    bad.rotation_frames = 3;
    check_refused(rig, NULL, &bad, "rotations: 3 frames, expected 1 or 2");
    bad = good;
    bad.ik_bones = (const uint8_t[6]){0};
    bad.ik_frames = 3;
    check_refused(rig, NULL, &bad, "ik: 3 frames, expected 1 or 2");
    moves[6 + 3 + 1] = NAN;
    check_refused(rig, NULL, &good, "translations: frame 1, bone 1, component 1 is NaN");
    moves[6 + 3 + 1] = 0;
    turns[8 + 3] = INFINITY;
    check_refused(rig, NULL, &good, "rotations: frame 1, bone 0, component 3 is infinite");
    turns[8 + 3] = 0;
    turns[12] = 0;
    check_refused(rig, NULL, &good, "rotations: frame 1, bone 1 has zero length");
    turns[12] = 1;
    sliders[1] = NAN;
    check_refused(rig, NULL, &good, "morph_weights: frame 1, morph 0 is NaN");
    sliders[1] = 0;
    frames[1] = INFINITY;
    check_refused(rig, NULL, &good, "frames[1] is infinite");
    bad.frames = NULL;
    check_refused(rig, &(mmd_motion){0}, &bad, "frames: missing, expected 2");
    mmd_rig_free(rig);
}

void pose_tests(void)
{
    RUN(a_child_follows_its_parent);
    RUN(a_bone_at_rest_has_the_identity_matrix);
    RUN(appends_scale_the_rotation_of_their_source);
    RUN(a_bone_morph_moves_and_rotates);
    RUN(a_poser_keeps_nothing_of_earlier_jobs);
    RUN(a_motion_moves_bones_and_sliders);
    RUN(errors_name_bad_arguments);
}
