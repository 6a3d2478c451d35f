/* SPDX-License-Identifier: MIT */
#ifndef MMD_TRACK_H
#define MMD_TRACK_H

#include "core/formats/reader.h"
#include "core/model/motion.h"

/* What the readers of motions share: sorting keys, allocating tracks. */

/* Sorts keys, frame << 32 | index in the file, keeps the last one of each frame and returns how
   many are left. mmd_reader_ok() reports a failure. */
size_t mmd_track_sort_keys(mmd_reader *r, uint64_t *keys, size_t count);

static inline uint32_t mmd_track_key_frame(uint64_t key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t mmd_track_key_index(uint64_t key)
{
    return (uint32_t)key;
}

/* Zeroed arrays for `count` keys. mmd_reader_ok() reports a failure. */
void mmd_track_alloc(mmd_reader *r, const mmd_motion_layout *layout, void *track, size_t count);
void mmd_track_alloc_property(mmd_reader *r, mmd_property_track *track, size_t count,
                              size_t ik_count);

/* Normalizes a quaternion; one of length zero or with a component that is not finite becomes the
   identity. Normalizing it again does not change it. */
void mmd_track_sanitize_rotation(float rotation[4]);

#endif
