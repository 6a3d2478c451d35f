/* SPDX-License-Identifier: MIT */
/* Motions: what their tracks hold, their range of frames, their parts; compares and frees them. */
#include "core/model/motion.h"

#include "core/base/arena.h"
#include "core/base/text.h"

#include <stddef.h>
#include <string.h>

#define LINEAR 20, 20, 107, 107
const uint8_t mmd_motion_linear_curves[24] = {LINEAR, LINEAR, LINEAR, LINEAR, LINEAR, LINEAR};

static const float zeros[3], identity[4] = {0, 0, 0, 1};
static const uint8_t yes = 1;

#define FLOATS(track, name, width, fallback)                                                       \
    {                                                                                              \
#name, MMD_MOTION_FLOATS, offsetof(track, name), width, 0, fallback                        \
    }
#define BYTES(track, name, width, max, fallback)                                                   \
    {                                                                                              \
#name, MMD_MOTION_BYTES, offsetof(track, name), width, max, fallback                       \
    }
#define LAYOUT(track, columns)                                                                     \
    {                                                                                              \
        offsetof(track, key_count), offsetof(track, frames), sizeof columns / sizeof *columns,     \
            columns                                                                                \
    }

static const mmd_motion_column bone_columns[] = {
    FLOATS(mmd_bone_track, translations, 3, zeros),
    {"rotations", MMD_MOTION_ROTATIONS, offsetof(mmd_bone_track, rotations), 4, 0, identity},
    BYTES(mmd_bone_track, interpolation, 16, 127, mmd_motion_linear_curves),
    BYTES(mmd_bone_track, physics, 1, 1, &yes),
};
static const mmd_motion_column morph_columns[] = {FLOATS(mmd_morph_track, weights, 1, NULL)};
static const mmd_motion_column camera_columns[] = {
    FLOATS(mmd_camera_track, distances, 1, NULL),
    FLOATS(mmd_camera_track, targets, 3, NULL),
    FLOATS(mmd_camera_track, rotations, 3, NULL),
    BYTES(mmd_camera_track, interpolation, 24, 127, mmd_motion_linear_curves),
    FLOATS(mmd_camera_track, view_angles, 1, NULL),
    BYTES(mmd_camera_track, perspective, 1, 1, &yes),
};
static const mmd_motion_column light_columns[] = {FLOATS(mmd_light_track, colors, 3, NULL),
                                                  FLOATS(mmd_light_track, directions, 3, NULL)};
static const mmd_motion_column shadow_columns[] = {BYTES(mmd_shadow_track, modes, 1, 2, NULL),
                                                   FLOATS(mmd_shadow_track, distances, 1, NULL)};
static const mmd_motion_column property_columns[] = {
    BYTES(mmd_property_track, visible, 1, 1, &yes),
    BYTES(mmd_property_track, ik_enabled, 0, 1, NULL),
};

const mmd_motion_layout mmd_motion_bone_layout = LAYOUT(mmd_bone_track, bone_columns);
const mmd_motion_layout mmd_motion_morph_layout = LAYOUT(mmd_morph_track, morph_columns);
const mmd_motion_layout mmd_motion_camera_layout = LAYOUT(mmd_camera_track, camera_columns);
const mmd_motion_layout mmd_motion_light_layout = LAYOUT(mmd_light_track, light_columns);
const mmd_motion_layout mmd_motion_shadow_layout = LAYOUT(mmd_shadow_track, shadow_columns);
const mmd_motion_layout mmd_motion_property_layout = LAYOUT(mmd_property_track, property_columns);

typedef struct frame_range {
    uint32_t first, last;
    bool any;
} frame_range;

/* The frames must ascend. */
static void include_frames(frame_range *range, const uint32_t *frames, size_t count)
{
    if (count == 0)
        return;
    if (!range->any || frames[0] < range->first)
        range->first = frames[0];
    if (!range->any || frames[count - 1] > range->last)
        range->last = frames[count - 1];
    range->any = true;
}

void mmd_motion_find_range(mmd_motion *motion)
{
    frame_range all = {0};
    for (size_t i = 0; i < motion->bone_track_count; i++)
        include_frames(&all, motion->bone_tracks[i].frames, motion->bone_tracks[i].key_count);
    for (size_t i = 0; i < motion->morph_track_count; i++)
        include_frames(&all, motion->morph_tracks[i].frames, motion->morph_tracks[i].key_count);
    include_frames(&all, motion->camera.frames, motion->camera.key_count);
    include_frames(&all, motion->light.frames, motion->light.key_count);
    include_frames(&all, motion->shadow.frames, motion->shadow.key_count);
    include_frames(&all, motion->properties.frames, motion->properties.key_count);
    motion->first_frame = all.first;
    motion->last_frame = all.last;
}

mmd_motion mmd_motion_select(const mmd_motion *motion, mmd_motion_part part)
{
    static const mmd_text camera_name = {MMD_CAMERA_NAME, sizeof MMD_CAMERA_NAME - 1};
    static const mmd_motion none = {.name = {"", 0}};
    motion = motion ? motion : &none;
    mmd_motion tracks = *motion;
    bool has_camera_name = motion->name.size >= camera_name.size &&
                           memcmp(motion->name.data, camera_name.data, camera_name.size) == 0;
    tracks.arena = NULL;
    if (part == MMD_PART_MODEL) {
        tracks.camera = (mmd_camera_track){0};
        tracks.light = (mmd_light_track){0};
        tracks.shadow = (mmd_shadow_track){0};
        tracks.name = has_camera_name ? (mmd_text){"", 0} : motion->name;
    } else if (part == MMD_PART_CAMERA) {
        tracks.bone_track_count = tracks.morph_track_count = 0;
        tracks.properties = (mmd_property_track){0};
        tracks.name = has_camera_name ? motion->name : camera_name;
    }
    mmd_motion_find_range(&tracks);
    return tracks;
}

/* Arrays of as many bytes; either may be NULL, which stands for a default. */
static bool same(const void *a, const void *b, size_t size)
{
    return a == b || (a && b && memcmp(a, b, size) == 0);
}

static bool same_track(const mmd_motion_layout *layout, const void *a, const void *b)
{
    size_t count = mmd_motion_key_count(layout, a);
    bool equal = count == mmd_motion_key_count(layout, b) &&
                 same(mmd_motion_array(a, layout->frames), mmd_motion_array(b, layout->frames),
                      count * sizeof(uint32_t));
    for (size_t i = 0; equal && i < layout->column_count; i++) {
        const mmd_motion_column *column = &layout->columns[i];
        equal = same(mmd_motion_array(a, column->offset), mmd_motion_array(b, column->offset),
                     count * mmd_motion_row(column, a));
    }
    return equal;
}

static bool same_properties(const mmd_property_track *a, const mmd_property_track *b)
{
    bool equal = a->ik_count == b->ik_count;
    for (size_t i = 0; equal && i < a->ik_count; i++)
        equal = mmd_text_equal(a->ik_names[i], b->ik_names[i]);
    return equal && same_track(&mmd_motion_property_layout, a, b);
}

bool mmd_motion_equal(const mmd_motion *a, const mmd_motion *b)
{
    bool equal = mmd_text_equal(a->name, b->name) && a->bone_track_count == b->bone_track_count &&
                 a->morph_track_count == b->morph_track_count &&
                 same_track(&mmd_motion_camera_layout, &a->camera, &b->camera) &&
                 same_track(&mmd_motion_light_layout, &a->light, &b->light) &&
                 same_track(&mmd_motion_shadow_layout, &a->shadow, &b->shadow) &&
                 same_properties(&a->properties, &b->properties);
    for (size_t i = 0; equal && i < a->bone_track_count; i++) {
        const mmd_bone_track *one = &a->bone_tracks[i], *two = &b->bone_tracks[i];
        equal = mmd_text_equal(one->name, two->name) &&
                same_track(&mmd_motion_bone_layout, one, two) &&
                same(one->stored, two->stored, one->key_count * MMD_STORED_SIZE);
    }
    for (size_t i = 0; equal && i < a->morph_track_count; i++)
        equal = mmd_text_equal(a->morph_tracks[i].name, b->morph_tracks[i].name) &&
                same_track(&mmd_motion_morph_layout, &a->morph_tracks[i], &b->morph_tracks[i]);
    return equal;
}

void mmd_motion_free(mmd_motion *motion)
{
    mmd_arena_free_owner(motion);
}
