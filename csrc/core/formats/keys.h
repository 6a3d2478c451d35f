/* SPDX-License-Identifier: MIT */
#ifndef MMD_KEYS_H
#define MMD_KEYS_H

#include "core/formats/reader.h"

/* What the readers of motions share: keys in order, memory for tracks. */

/* Keys are frame << 32 | place in the file. Sorts them, keeps the last of each frame and returns
   how many are left. `spare` has room for as many. */
size_t mmd_keys_sort(uint64_t *keys, uint64_t *spare, size_t count);

static inline uint32_t mmd_key_frame(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t mmd_key_place(uint64_t key)
{
    return (uint32_t)key;
}

/* Zeroed arrays for `count` keys; failures are latched by `r`. */
void mmd_bone_track_alloc(mmd_reader *r, mmd_bone_track *track, size_t count);
void mmd_morph_track_alloc(mmd_reader *r, mmd_morph_track *track, size_t count);
void mmd_camera_track_alloc(mmd_reader *r, mmd_camera_track *track, size_t count);
void mmd_light_track_alloc(mmd_reader *r, mmd_light_track *track, size_t count);
void mmd_shadow_track_alloc(mmd_reader *r, mmd_shadow_track *track, size_t count);
void mmd_property_track_alloc(mmd_reader *r, mmd_property_track *track, size_t count,
                              size_t ik_count);

/* x1 y1 x2 y2 of straight lines, as MMD writes them: of as many curves as a key has at most. */
extern const uint8_t mmd_straight_curves[24];

/* Scales to length 1; a zero length, or a part that is not finite, gives the identity. What has
   been scaled stays as it is when it is scaled again. */
void mmd_rotation_sanitize(float rotation[4]);

#endif
