/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_H
#define MMD_MOTION_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/text.h"

#include <stdint.h>

/* The contents of a VMD file, or of a VPD file as a motion of one frame (0), as plain data. A
   loaded motion is sound: keys of a track ascend strictly by frame (of equal frames the last in the
   file stays), numbers are finite, rotations are unit quaternions x y z w (of zero length in the
   file: identity), interpolation bytes are 0-127. docs/mmd-behaviour.md#vmd and, of what the tracks
   mean, docs/mmd-behaviour.md#sampling. Frames are 30 a second. */

typedef struct mmd_bone_track {
    mmd_text name;
    size_t key_count;
    uint32_t *frames;
    float *translations;    /* (n,3) */
    float *rotations;       /* (n,4) */
    uint8_t *interpolation; /* (n,4,4): rows x, y, z, rotation, columns x1 y1 x2 y2 */
} mmd_bone_track;

typedef struct mmd_morph_track {
    mmd_text name;
    size_t key_count;
    uint32_t *frames;
    float *weights;
} mmd_morph_track;

typedef struct mmd_camera_track {
    size_t key_count;
    uint32_t *frames;
    float *distances;
    float *targets;   /* (n,3) */
    float *rotations; /* (n,3) Euler angles, radians */
    uint8_t *
        interpolation; /* (n,6,4): rows x, y, z, rotation, distance, view angle, columns as above */
    float *view_angles;   /* degrees */
    uint8_t *perspective; /* 1: perspective */
} mmd_camera_track;

typedef struct mmd_light_track {
    size_t key_count;
    uint32_t *frames;
    float *colors;     /* (n,3) */
    float *directions; /* (n,3) */
} mmd_light_track;

typedef struct mmd_shadow_track {
    size_t key_count;
    uint32_t *frames;
    uint8_t *modes;   /* 0-2 */
    float *distances; /* as in the file */
} mmd_shadow_track;

typedef struct mmd_property_track {
    size_t key_count;
    uint32_t *frames;
    uint8_t *visible; /* (n,) */
    size_t ik_count;  /* different IK names in all keys */
    mmd_text *ik_names;
    uint8_t *ik_enabled; /* (n,k): 1 where a key does not list the name */
} mmd_property_track;

typedef struct mmd_motion {
    mmd_arena arena; /* owns everything below */
    mmd_text name;
    uint32_t first_frame, last_frame; /* over all tracks; 0, 0 when there is none */
    size_t bone_track_count, morph_track_count;
    mmd_bone_track *bone_tracks; /* in order of first appearance, one per name */
    mmd_morph_track *morph_tracks;
    mmd_camera_track camera;
    mmd_light_track light;
    mmd_shadow_track shadow;
    mmd_property_track properties;
} mmd_motion;

/* Sets first_frame and last_frame by the keys. */
void mmd_motion_find_range(mmd_motion *motion);

void mmd_motion_free(mmd_motion *motion);

#endif
