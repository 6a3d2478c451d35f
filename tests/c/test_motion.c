/* SPDX-License-Identifier: MIT */

#include "core/base/arena.h"
#include "core/pose/sampling.h"
#include "mmdskin.h"
#include "motion_sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static mmd_motion *load(const void *bytes, size_t size, mmd_error *err)
{
    uint8_t *exact = test_exact(bytes, size);
    mmd_motion *motion = mmd_motion_load(exact, size, err);
    free(exact);
    return motion;
}

static void every_track_of_a_vmd_is_read(void)
{
    vmd_sample sample = vmd_sample_new();
    mmd_motion *motion = load(sample.bytes, sample.size, NULL);
    if (!CHECK(motion))
        return;
    CHECK_TEXT(motion->name, "miku");
    CHECK_INT(motion->first_frame, 0);
    CHECK_INT(motion->last_frame, 20);
    CHECK_INT(motion->bone_track_count, 1);
    CHECK_TEXT(motion->bone_tracks[0].name, "a");
    CHECK_INT(motion->morph_track_count, 1);
    CHECK_INT(motion->camera.key_count, 1);
    CHECK_NEAR(motion->camera.distances[0], -45, 0);
    CHECK_INT(motion->light.key_count, 1);
    CHECK_INT(motion->shadow.modes[0], 1);
    CHECK_TEXT(motion->properties.ik_names[0], "goal");
    CHECK_INT(motion->properties.ik_enabled[0], 0);
    mmd_motion_free(motion);
}

static void keys_are_sorted_and_rotations_have_unit_length(void)
{
    vmd_sample sample = vmd_sample_new();
    mmd_motion *motion = load(sample.bytes, sample.size, NULL);
    if (!CHECK(motion))
        return;
    const mmd_bone_track *track = &motion->bone_tracks[0];
    CHECK_INT(track->key_count, 3);
    for (size_t k = 0; k < 3; k++) {
        CHECK_INT(track->frames[k], 10 * k);
        CHECK_NEAR(track->translations[3 * k], 10 * (double)k, 0);
        CHECK_FLOATS(track->rotations + 4 * k, 4, 0, 0, 1, 0);
    }
    CHECK_FLOATS(motion->morph_tracks[0].weights, 2, 0.5f, 1);
    mmd_motion_free(motion);
}

static void of_equal_frames_the_last_in_the_file_is_kept(void)
{
    vmd_sample sample = vmd_sample_new();
    uint32_t frame = 20;
    memcpy(sample.bytes + VMD_FIRST_BONE_KEY + 2 * VMD_BONE_KEY_SIZE + 15, &frame, sizeof frame);
    mmd_motion *motion = load(sample.bytes, sample.size, NULL);
    if (!CHECK(motion))
        return;
    CHECK_INT(motion->bone_tracks[0].key_count, 2);
    CHECK_NEAR(motion->bone_tracks[0].translations[3], 10, 0);
    mmd_motion_free(motion);
}

/* A file may end where a block ends, with a count or a piece of one that is not there; anywhere
   else it is refused, and nothing is read behind it. */
static void truncated_files_are_read_or_rejected(void)
{
    vmd_sample sample = vmd_sample_new();
    size_t whole = 0;
    for (size_t size = 0; size < sample.size; size++) {
        mmd_error err = {0};
        mmd_motion *motion = load(sample.bytes, size, &err);
        whole += motion != NULL;
        if (!motion)
            CHECK(err.code == MMD_E_FORMAT && err.section[0] && err.offset <= size);
        mmd_motion_free(motion);
    }
    CHECK(whole >= 5 && whole <= 5 * 5);
}

static void a_vpd_is_a_motion_of_one_frame(void)
{
    mmd_motion *motion = load(vpd_sample, strlen(vpd_sample), NULL);
    if (!CHECK(motion) || !CHECK(motion->bone_track_count == 1))
        return;
    const mmd_bone_track *track = &motion->bone_tracks[0];
    CHECK_TEXT(track->name, "a");
    CHECK_INT(track->key_count, 1);
    CHECK_INT(track->frames[0], 0);
    CHECK_FLOATS(track->translations, 3, 1.5f, 0, -2);
    CHECK_FLOATS(track->rotations, 4, 0, 1, 0, 0);
    mmd_motion_free(motion);
}

static void other_bytes_are_rejected(void)
{
    mmd_error err = {0};
    CHECK(!load("PMX 2.0", 7, &err));
    CHECK_INT(err.code, MMD_E_FORMAT);
    CHECK(!load("", 0, NULL));
}

/* The bytes of a VMD, for free(); NULL if it cannot be written. */
static uint8_t *write(const mmd_motion *motion, size_t *size, mmd_error *err)
{
    *size = mmd_vmd_size(motion);
    uint8_t *bytes = malloc(*size);
    if (bytes && mmd_vmd_write(motion, false, bytes, err))
        return bytes;
    free(bytes);
    return NULL;
}

static void a_motion_from_tracks_can_be_saved(void)
{
    vmd_sample sample = vmd_sample_new();
    mmd_motion *first = load(sample.bytes, sample.size, NULL);
    mmd_motion *second = first ? mmd_motion_new(first, NULL) : NULL;
    size_t sizes[2] = {0};
    uint8_t *bytes[2] = {NULL, NULL};
    if (CHECK(first && second)) {
        bytes[0] = write(first, &sizes[0], NULL);
        bytes[1] = write(second, &sizes[1], NULL);
    }
    CHECK(bytes[0] && bytes[1] && sizes[0] == sizes[1]);
    if (bytes[0] && bytes[1])
        CHECK(memcmp(bytes[0], bytes[1], sizes[0]) == 0);
    mmd_motion *third = bytes[1] ? load(bytes[1], sizes[1], NULL) : NULL;
    if (CHECK(third)) {
        CHECK_TEXT(third->name, "miku");
        CHECK_INT(third->bone_tracks[0].key_count, 3);
        CHECK_NEAR(third->camera.distances[0], -45, 0);
        CHECK_INT(third->properties.ik_enabled[0], 0);
    }
    free(bytes[0]);
    free(bytes[1]);
    mmd_motion_free(first);
    mmd_motion_free(second);
    mmd_motion_free(third);
}

static void tracks_require_frames_only(void)
{
    uint32_t frames[] = {7, 3, 7};
    mmd_bone_track track = {.name = {"a", 1}, .key_count = 3, .frames = frames};
    mmd_motion *motion =
        mmd_motion_new(&(mmd_motion){.bone_tracks = &track, .bone_track_count = 1}, NULL);
    if (!CHECK(motion))
        return;
    CHECK_INT(motion->bone_tracks[0].key_count, 2);
    CHECK_INT(motion->first_frame, 3);
    CHECK_INT(motion->last_frame, 7);
    CHECK_FLOATS(motion->bone_tracks[0].rotations, 0, 0, 0, 1);
    CHECK_INT(motion->bone_tracks[0].interpolation[2], 107);
    mmd_motion_free(motion);
}

static void invalid_tracks_are_rejected(void)
{
    uint32_t frame = 0;
    uint8_t curves[16] = {[5] = 200};
    mmd_bone_track track = {
        .name = {"a", 1}, .key_count = 1, .frames = &frame, .interpolation = curves};
    mmd_error err = {0};
    CHECK(!mmd_motion_new(&(mmd_motion){.bone_tracks = &track, .bone_track_count = 1}, &err));
    CHECK_INT(err.code, MMD_E_ARGUMENT);
    CHECK(strcmp(err.text, "bones[0].interpolation: key 0, component 5: 200, limit 127") == 0);
}

static void names_that_a_vmd_cannot_store_are_rejected(void)
{
    uint32_t frame = 0;
    float weight = 1;
    mmd_morph_track track = {.key_count = 1, .frames = &frame, .weights = &weight};
    static const char *const names[] = {"sixteen letters!", "\xC3\x84"};
    for (size_t i = 0; i < 2; i++) {
        mmd_error err = {0};
        size_t size;
        track.name = (mmd_text){names[i], strlen(names[i])};
        mmd_motion *motion =
            mmd_motion_new(&(mmd_motion){.morph_tracks = &track, .morph_track_count = 1}, NULL);
        CHECK(motion && !write(motion, &size, &err));
        CHECK_INT(err.code, MMD_E_ARGUMENT);
        mmd_motion_free(motion);
    }
}

static void a_motion_without_tracks_can_be_saved_and_has_poses(void)
{
    const mmd_motion empty = {.name = {"a", 1}};
    const mmd_model model = {.name = {"b", 1}};
    const mmd_rig no_bones = {.model = &model};
    mmd_arena arena = {0};
    mmd_motion pose;
    size_t size;
    uint8_t *bytes = write(&empty, &size, NULL);
    CHECK(bytes && size == mmd_vmd_size(&empty));
    free(bytes);
    CHECK(mmd_sampling_frame(&arena, &empty, NULL, 3, &pose));
    CHECK_TEXT(pose.name, "a");
    CHECK(mmd_sampling_frame(&arena, &empty, &no_bones, 3, &pose));
    CHECK_TEXT(pose.name, "b");
    CHECK_INT(pose.bone_track_count, 0);
    mmd_arena_free(&arena);
}

void motion_tests(void)
{
    RUN(every_track_of_a_vmd_is_read);
    RUN(keys_are_sorted_and_rotations_have_unit_length);
    RUN(of_equal_frames_the_last_in_the_file_is_kept);
    RUN(truncated_files_are_read_or_rejected);
    RUN(a_vpd_is_a_motion_of_one_frame);
    RUN(other_bytes_are_rejected);
    RUN(a_motion_from_tracks_can_be_saved);
    RUN(tracks_require_frames_only);
    RUN(invalid_tracks_are_rejected);
    RUN(names_that_a_vmd_cannot_store_are_rejected);
    RUN(a_motion_without_tracks_can_be_saved_and_has_poses);
}
