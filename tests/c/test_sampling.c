/* SPDX-License-Identifier: MIT */
#include "core/pose/sampling.h"

#include "rig_sample.h"
#include "test.h"

#include <math.h>

static uint32_t frames[] = {10, 20, 4000000000u};
static float moves[] = {1, 0, 0, 3, 0, 0, 3, 8, 0};
static float turns[] = {0,           0, 0, 1, 0, 0, 0.70710678f, 0.70710678f, 0, 0, -0.70710678f,
                        -0.70710678f};
static uint8_t curves[48];
static float weights[] = {0, 1, 0.5f};
static uint8_t on[] = {1, 0, 1};
static mmd_text ik_names[] = {TEXT("goal")};
static mmd_bone_track bone_track = {.name = TEXT("a"),
                                    .key_count = 3,
                                    .frames = frames,
                                    .translations = moves,
                                    .rotations = turns,
                                    .interpolation = curves};
static mmd_morph_track morph_track = {
    .name = TEXT("m"), .key_count = 3, .frames = frames, .weights = weights};
static const mmd_motion motion = {
    .bone_track_count = 1,
    .bone_tracks = &bone_track,
    .morph_track_count = 1,
    .morph_tracks = &morph_track,
    .properties = {
        .key_count = 3, .frames = frames, .ik_count = 1, .ik_names = ik_names, .ik_enabled = on}};

typedef struct sampled {
    double translation[3], rotation[4];
    uint8_t solver_on;
    float slider;
} sampled;

/* The bone of a track, sampled at some frames in sequence. */
static void sample(const double *at, size_t count, sampled *out)
{
    mmd_bone bones[] = {{.name = TEXT("a"), .parent = -1},
                        {.name = TEXT("b"), .parent = 0},
                        {.name = TEXT("goal"), .parent = -1}};
    bones[2].ik = IK(1, 1, 1, {.bone = 0});
    mmd_morph morphs[] = {{.name = TEXT("m"), .kind = MMD_MORPH_VERTEX}};
    mmd_model model = MODEL_OF(bones);
    model.morph_count = 1;
    model.morphs = morphs;
    mmd_rig *rig = mmd_rig_new(&model, NULL);
    mmd_binding *binding = rig ? mmd_binding_new(rig, &motion, NULL) : NULL;
    mmd_sampling_cursor cursors[8] = {0};
    double translations[3][3] = {0}, rotations[3][4] = {0};
    uint8_t solvers_on[1];
    float sliders[1];
    mmd_sampling_locals locals = {translations, rotations, solvers_on};
    if (CHECK(binding) && CHECK(mmd_sampling_cursor_count(&motion) <= COUNT_OF(cursors)))
        for (size_t i = 0; i < count; i++) {
            mmd_sampling_run(binding, at[i], cursors, &locals, sliders);
            for (int k = 0; k < 3; k++)
                out[i].translation[k] = translations[0][k];
            for (int k = 0; k < 4; k++)
                out[i].rotation[k] = rotations[0][k];
            out[i].solver_on = solvers_on[0];
            out[i].slider = sliders[0];
        }
    mmd_binding_free(binding);
    mmd_rig_free(rig);
}

/* docs/mmd-behavior.md#check-bezier */
static void bezier_curves_have_the_values_of_mmd(void)
{
    static const uint8_t fast[4] = {0, 127, 127, 127}, slow[4] = {127, 0, 0, 127};
    static const uint8_t line[4] = {20, 20, 107, 107};
    CHECK_NEAR(mmd_sampling_bezier(fast, 1.0 / 6), 0.5933867, 1e-7);
    CHECK_NEAR(mmd_sampling_bezier(fast, 1.0 / 3), 0.76974937, 1e-7);
    CHECK_NEAR(mmd_sampling_bezier(fast, 0.5), 0.875, 1e-9);
    CHECK_NEAR(mmd_sampling_bezier(fast, 2.0 / 3), 0.94200122, 1e-7);
    CHECK_NEAR(mmd_sampling_bezier(slow, 0.25), 0.029725, 1e-4);
    for (int i = 0; i <= 8; i++)
        CHECK_NEAR(mmd_sampling_bezier(line, i / 8.0), i / 8.0, 0);
    CHECK_NEAR(mmd_sampling_bezier(slow, -1), 0, 0);
    CHECK_NEAR(mmd_sampling_bezier(slow, 2), 1, 0);
}

static void the_first_and_last_keys_hold_outside_their_track(void)
{
    static const double at[] = {-1e300, 0, 9.999, 1e300};
    sampled found[4];
    sample(at, 4, found);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(found[i].translation[0], 1, 0);
        CHECK_NEAR(found[i].rotation[3], 1, 0);
        CHECK_NEAR(found[i].slider, 0, 0);
    }
    CHECK_NEAR(found[3].translation[1], 8, 0);
    CHECK_NEAR(found[3].slider, 0.5, 0);
}

static void rotations_take_the_shorter_arc(void)
{
    static const double at[] = {15, 20, 12.5, 2000000010.0};
    sampled found[4];
    sample(at, 4, found);
    CHECK_NEAR(found[0].translation[0], 2, 0);
    CHECK_NEAR(found[0].rotation[2], sin(acos(-1) / 8), 1e-7); /* half of a quarter turn */
    CHECK_NEAR(found[0].slider, 0.5, 0);
    CHECK_NEAR(found[1].rotation[2], 0.70710678, 1e-7);
    CHECK_NEAR(found[2].translation[0], 1.5, 0);
    CHECK_NEAR(found[3].translation[1], 4, 1e-7);
    CHECK_NEAR(found[3].rotation[2], 0.70710678, 1e-7); /* the same rotation, negated */
    CHECK_NEAR(found[3].slider, 0.75, 1e-7);
}

static void ik_states_hold_from_their_key_on_and_the_first_also_before(void)
{
    static const double at[] = {-5, 19.9, 20, 1e9, 4e9};
    static const uint8_t expected[] = {1, 1, 0, 0, 1};
    sampled found[5];
    sample(at, 5, found);
    for (int i = 0; i < 5; i++)
        CHECK_INT(found[i].solver_on, expected[i]);
}

static void frames_do_not_depend_on_earlier_frames(void)
{
    static const double at[] = {0, 15, 5e9, 10, 3e9, 20, 12, 11, 4e9, 19};
    sampled together[10], alone = {0};
    sample(at, 10, together);
    for (int i = 0; i < 10; i++) {
        sample(&at[i], 1, &alone);
        for (int k = 0; k < 3; k++)
            CHECK(together[i].translation[k] == alone.translation[k]);
        for (int k = 0; k < 4; k++)
            CHECK(together[i].rotation[k] == alone.rotation[k]);
        CHECK(together[i].slider == alone.slider && together[i].solver_on == alone.solver_on);
    }
}

void sampling_tests(void)
{
    RUN(bezier_curves_have_the_values_of_mmd);
    RUN(the_first_and_last_keys_hold_outside_their_track);
    RUN(rotations_take_the_shorter_arc);
    RUN(ik_states_hold_from_their_key_on_and_the_first_also_before);
    RUN(frames_do_not_depend_on_earlier_frames);
}
