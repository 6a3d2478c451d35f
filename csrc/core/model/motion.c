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
    {"view_angles", MMD_MOTION_DEGREES, offsetof(mmd_camera_track, view_angles), 1, 0, NULL},
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

#define LAYOUT(name, tracks, count, track, columns)                                                \
    {                                                                                              \
        name, offsetof(mmd_motion, tracks), count, sizeof(track), offsetof(track, key_count),      \
            offsetof(track, frames), sizeof columns / sizeof *columns, columns                     \
    }

const mmd_motion_layout mmd_motion_layouts[MMD_MOTION_KINDS] = {
    [MMD_MOTION_BONES] = LAYOUT("bones", bone_tracks, offsetof(mmd_motion, bone_track_count),
                                mmd_bone_track, bone_columns),
    [MMD_MOTION_MORPHS] = LAYOUT("morphs", morph_tracks, offsetof(mmd_motion, morph_track_count),
                                 mmd_morph_track, morph_columns),
    [MMD_MOTION_CAMERA] = LAYOUT("camera", camera, 0, mmd_camera_track, camera_columns),
    [MMD_MOTION_LIGHT] = LAYOUT("light", light, 0, mmd_light_track, light_columns),
    [MMD_MOTION_SHADOW] = LAYOUT("shadow", shadow, 0, mmd_shadow_track, shadow_columns),
    [MMD_MOTION_PROPERTIES] =
        LAYOUT("properties", properties, 0, mmd_property_track, property_columns),
};

bool mmd_motion_alloc(mmd_arena *arena, const mmd_motion_layout *layout, void *track, size_t count)
{
    uint32_t *frames = mmd_arena_alloc(arena, count, sizeof *frames);
    bool done = frames;
    mmd_bytes_put_size(track, layout->key_count, count);
    mmd_bytes_put_pointer(track, layout->frames, frames);
    for (size_t i = 0; done && i < layout->column_count; i++) {
        const mmd_motion_column *column = &layout->columns[i];
        void *array = mmd_arena_alloc(arena, count, mmd_motion_row(column, track));
        mmd_bytes_put_pointer(track, column->offset, array);
        done = array;
    }
    return done;
}

/* The frames of keys ascend. */
void mmd_motion_find_range(mmd_motion *motion)
{
    bool any = false;
    motion->first_frame = motion->last_frame = 0;
    for (size_t kind = 0; kind < MMD_MOTION_KINDS; kind++) {
        const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
        for (size_t i = 0; i < mmd_motion_track_count(layout, motion); i++) {
            const void *track = mmd_motion_track(layout, motion, i);
            const uint32_t *frames = mmd_bytes_pointer_at(track, layout->frames);
            size_t count = mmd_motion_key_count(layout, track);
            if (count == 0)
                continue;
            if (!any || frames[0] < motion->first_frame)
                motion->first_frame = frames[0];
            if (!any || frames[count - 1] > motion->last_frame)
                motion->last_frame = frames[count - 1];
            any = true;
        }
    }
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

void mmd_motion_free(mmd_motion *motion)
{
    mmd_arena_free_owner(motion);
}
