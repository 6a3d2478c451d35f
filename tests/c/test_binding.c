/* SPDX-License-Identifier: MIT */
#include "core/pose/sampling.h"

#include "rig_sample.h"
#include "test.h"

#include <stdlib.h>

static uint32_t zero[1];
static float no_move[3], no_turn[4] = {0, 0, 0, 1}, full[1] = {1};
static uint8_t straight[16];

#define BONE_TRACK(name_)                                                                          \
    {                                                                                              \
        .name = TEXT(name_), .key_count = 1, .frames = zero, .translations = no_move,              \
        .rotations = no_turn, .interpolation = straight                                            \
    }
#define MORPH_TRACK(name_)                                                                         \
    {                                                                                              \
        .name = TEXT(name_), .key_count = 1, .frames = zero, .weights = full                       \
    }

static void tracks_drive_the_first_bone_and_all_morphs_of_their_name(void)
{
    mmd_bone bones[] = {{.name = TEXT("b"), .parent = -1},
                        {.name = TEXT("a"), .parent = -1},
                        {.name = TEXT("a"), .parent = -1},
                        {.name = TEXT("ab"), .parent = -1}};
    mmd_morph morphs[] = {{.name = TEXT("m")}, {.name = TEXT("n")}, {.name = TEXT("m")}};
    mmd_bone_track bone_tracks[] = {BONE_TRACK("other"), BONE_TRACK("a"), BONE_TRACK("ab")};
    mmd_morph_track morph_tracks[] = {MORPH_TRACK("m"), MORPH_TRACK("")};
    mmd_model model = MODEL_OF(bones);
    model.morph_count = COUNT_OF(morphs);
    model.morphs = morphs;
    mmd_motion motion = {.bone_track_count = COUNT_OF(bone_tracks),
                         .bone_tracks = bone_tracks,
                         .morph_track_count = COUNT_OF(morph_tracks),
                         .morph_tracks = morph_tracks};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_binding *binding = rig ? mmd_binding_new(rig, &motion, NULL) : NULL;
    if (!CHECK(binding))
        return;
    static const int32_t bone_track[] = {-1, 1, -1, 2}, morph_track[] = {0, -1, 0};
    for (size_t i = 0; i < COUNT_OF(bone_track); i++)
        CHECK_INT(binding->bone_track[i], bone_track[i]);
    for (size_t i = 0; i < COUNT_OF(morph_track); i++)
        CHECK_INT(binding->morph_track[i], morph_track[i]);
    mmd_binding_free(binding);
    mmd_rig_free(rig);
}

static void ik_names_switch_every_solver_of_their_name(void)
{
    mmd_bone bones[] = {{.name = TEXT("leg"), .parent = -1},
                        {.name = TEXT("foot"), .parent = 0},
                        {.name = TEXT("goal"), .parent = -1},
                        {.name = TEXT("goal"), .parent = -1},
                        {.name = TEXT("third"), .parent = -1}};
    bones[2].ik = bones[3].ik = bones[4].ik = IK(1, 1, 1, {.bone = 0});
    mmd_text names[] = {TEXT("leg"), TEXT("goal"), TEXT("nobody")};
    uint8_t on[3] = {0};
    mmd_model model = MODEL_OF(bones);
    mmd_motion motion = {.properties = {.key_count = 1,
                                        .frames = zero,
                                        .ik_count = COUNT_OF(names),
                                        .ik_names = names,
                                        .ik_enabled = on}};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_binding *binding = rig ? mmd_binding_new(rig, &motion, NULL) : NULL;
    if (!CHECK(binding) || !CHECK(rig->solver_count == 3))
        return;
    CHECK_INT(binding->solver_property[0], 1);
    CHECK_INT(binding->solver_property[1], 1);
    CHECK_INT(binding->solver_property[2], -1);
    mmd_binding_free(binding);
    mmd_rig_free(rig);
}

/* docs/mmd-behavior.md#check-fixed-axis */
static void keys_of_a_fixed_axis_rotate_about_it_by_their_full_angle(void)
{
    float turn[] = {0.5f, 0.5f, 0, 0.707107f};
    mmd_bone bones[] = {
        {.name = TEXT("a"), .parent = -1, .flags = MMD_BONE_FIXED_AXIS, .fixed_axis = {0, 2, 0}}};
    mmd_bone_track tracks[] = {BONE_TRACK("a")};
    tracks[0].rotations = turn;
    mmd_model model = MODEL_OF(bones);
    mmd_motion motion = {.bone_track_count = 1, .bone_tracks = tracks};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_binding *binding = rig ? mmd_binding_new(rig, &motion, NULL) : NULL;
    if (CHECK(binding))
        CHECK_FLOATS_NEAR(binding->bone_rotations[0], 4, 1e-6, 0, 0.707107f, 0, 0.707107f);
    CHECK_FLOATS(turn, 1, 0.5f); /* the keys of the motion are unchanged */
    mmd_binding_free(binding);
    mmd_rig_free(rig);
}

static void an_empty_motion_binds_to_an_empty_rig(void)
{
    mmd_model model = {0};
    mmd_motion motion = {0};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_binding *binding = rig ? mmd_binding_new(rig, &motion, NULL) : NULL;
    CHECK(binding);
    mmd_binding_free(binding);
    mmd_rig_free(rig);
}

/* Each track walking over all morphs of its name would take 10^10 steps. */
static void many_tracks_and_morphs_of_one_name_take_proportional_time(void)
{
    enum { COUNT = 100000 };
    mmd_morph *morphs = calloc(COUNT, sizeof *morphs);
    mmd_morph_track *tracks = calloc(COUNT, sizeof *tracks);
    if (!CHECK(morphs && tracks))
        return;
    for (size_t i = 0; i < COUNT; i++) {
        morphs[i].name = (mmd_text)TEXT("m");
        tracks[i] = (mmd_morph_track)MORPH_TRACK("m");
    }
    mmd_model model = {.morph_count = COUNT, .morphs = morphs};
    mmd_motion motion = {.morph_track_count = COUNT, .morph_tracks = tracks};
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_binding *binding = rig ? mmd_binding_new(rig, &motion, NULL) : NULL;
    if (CHECK(binding)) {
        CHECK_INT(binding->morph_track[0], COUNT - 1); /* the last one counts */
        CHECK_INT(binding->morph_track[COUNT - 1], COUNT - 1);
    }
    mmd_binding_free(binding);
    mmd_rig_free(rig);
    free(tracks);
    free(morphs);
}

void binding_tests(void)
{
    RUN(many_tracks_and_morphs_of_one_name_take_proportional_time);
    RUN(tracks_drive_the_first_bone_and_all_morphs_of_their_name);
    RUN(ik_names_switch_every_solver_of_their_name);
    RUN(keys_of_a_fixed_axis_rotate_about_it_by_their_full_angle);
    RUN(an_empty_motion_binds_to_an_empty_rig);
}
