/* SPDX-License-Identifier: MIT */
#ifndef MMD_TRACK_H
#define MMD_TRACK_H

#include "core/formats/reader.h"

/* What the readers of motions share: sorting keys, allocating tracks. */

/* Sorts keys, frame << 32 | index in the file, keeps the last one of each frame and returns how
   many are left. `scratch` holds as many. */
size_t mmd_track_sort_keys(uint64_t *keys, uint64_t *scratch, size_t count);

static inline uint32_t mmd_track_key_frame(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t mmd_track_key_index(uint64_t key)
{
    return (uint32_t)key;
}

/* Zeroed arrays for `count` keys. mmd_reader_ok() reports a failure. */
void mmd_track_alloc_bone(mmd_reader *r, mmd_bone_track *track, size_t count);
void mmd_track_alloc_morph(mmd_reader *r, mmd_morph_track *track, size_t count);
void mmd_track_alloc_camera(mmd_reader *r, mmd_camera_track *track, size_t count);
void mmd_track_alloc_light(mmd_reader *r, mmd_light_track *track, size_t count);
void mmd_track_alloc_shadow(mmd_reader *r, mmd_shadow_track *track, size_t count);
void mmd_track_alloc_property(mmd_reader *r, mmd_property_track *track, size_t count,
                              size_t ik_count);

/* x1 y1 x2 y2 of linear interpolation, as MMD writes it, six times: the most a key has. */
extern const uint8_t mmd_track_linear_curves[24];

/* Normalizes a quaternion; one of length zero or with a component that is not finite becomes the
   identity. Normalizing it again does not change it. */
void mmd_track_sanitize_rotation(float rotation[4]);

#endif
