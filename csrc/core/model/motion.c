/* SPDX-License-Identifier: MIT */
/* Motions: finds the range of frames of one, selects its parts, and frees them. */
#include "core/model/motion.h"

#include "core/base/arena.h"

#include <string.h>

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

void mmd_motion_free(mmd_motion *motion)
{
    mmd_arena_free_owner(motion);
}
