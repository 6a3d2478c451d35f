/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_H
#define MMD_MOTION_H

#include "mmdskin.h"

#include <string.h>

/* Motions, whichever file or caller they come from. mmdskin.h declares their struct. */

/* What the keys of a track hold: by one table tracks are allocated, copied, checked and compared.
 */

typedef enum mmd_motion_content {
    MMD_MOTION_FLOATS,
    MMD_MOTION_ROTATIONS,
    MMD_MOTION_BYTES
} mmd_motion_content;

/* An array of a track with a row for each key. */
typedef struct mmd_motion_column {
    const char *name; /* in errors */
    mmd_motion_content content;
    size_t offset;        /* of the array's pointer in the track */
    size_t width;         /* numbers of a key; 0: ik_count of the properties */
    uint8_t max;          /* of bytes */
    const void *fallback; /* the row of all keys without an array; NULL: it is required */
} mmd_motion_column;

typedef struct mmd_motion_layout {
    size_t key_count, frames; /* offsets in the track */
    size_t column_count;
    const mmd_motion_column *columns;
} mmd_motion_layout;

extern const mmd_motion_layout mmd_motion_bone_layout, mmd_motion_morph_layout,
    mmd_motion_camera_layout, mmd_motion_light_layout, mmd_motion_shadow_layout,
    mmd_motion_property_layout;

/* x1 y1 x2 y2 of linear interpolation, as MMD writes it, six times: the most a key has. */
extern const uint8_t mmd_motion_linear_curves[24];

/* Members of a track by their offsets. */
static inline size_t mmd_motion_key_count(const mmd_motion_layout *layout, const void *track)
{
    size_t count;
    memcpy(&count, (const char *)track + layout->key_count, sizeof count);
    return count;
}

static inline void *mmd_motion_array(const void *track, size_t offset)
{
    void *array;
    memcpy(&array, (const char *)track + offset, sizeof array);
    return array;
}

static inline void mmd_motion_set_array(void *track, size_t offset, const void *array)
{
    memcpy((char *)track + offset, &array, sizeof array);
}

/* Bytes of a key in a column. */
static inline size_t mmd_motion_row(const mmd_motion_column *column, const void *track)
{
    size_t width = column->width ? column->width : ((const mmd_property_track *)track)->ik_count;
    return column->content == MMD_MOTION_BYTES ? width : width * sizeof(float);
}

/* Sets first_frame and last_frame from the keys. */
void mmd_motion_find_range(mmd_motion *motion);

/* Whether two motions have the same bytes in all tracks, which are in the same order. */
bool mmd_motion_equal(const mmd_motion *a, const mmd_motion *b);

#endif
