/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_H
#define MMD_MOTION_H

#include "core/base/arena.h"
#include "core/base/bytes.h"

/* Motions, whichever file or caller they come from. mmdskin.h declares their struct. */

/* What the tracks of a motion hold: by one table they are read, allocated, copied, checked,
   compared and written. */

typedef enum mmd_motion_content {
    MMD_MOTION_FLOATS,
    MMD_MOTION_ROTATIONS,
    MMD_MOTION_DEGREES, /* floats, whole degrees in a VMD */
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

/* The tracks of one kind, which begin with their names, or the only one. */
typedef struct mmd_motion_layout {
    const char *name;     /* in errors */
    size_t tracks, count; /* offsets in the motion: of their pointer and number; of one track: 0 */
    size_t size;          /* of a track */
    size_t key_count, frames; /* offsets in the track */
    size_t column_count;
    const mmd_motion_column *columns; /* in the order of a VMD */
} mmd_motion_layout;

typedef enum mmd_motion_kind {
    MMD_MOTION_BONES,
    MMD_MOTION_MORPHS,
    MMD_MOTION_CAMERA,
    MMD_MOTION_LIGHT,
    MMD_MOTION_SHADOW,
    MMD_MOTION_PROPERTIES,
    MMD_MOTION_KINDS
} mmd_motion_kind;

extern const mmd_motion_layout mmd_motion_layouts[MMD_MOTION_KINDS];

/* x1 y1 x2 y2 of linear interpolation, as MMD writes it, six times: the most a key has. */
extern const uint8_t mmd_motion_linear_curves[24];

static inline size_t mmd_motion_key_count(const mmd_motion_layout *layout, const void *track)
{
    return mmd_bytes_size_at(track, layout->key_count);
}

static inline size_t mmd_motion_track_count(const mmd_motion_layout *layout,
                                            const mmd_motion *motion)
{
    return layout->count ? mmd_bytes_size_at(motion, layout->count) : 1;
}

static inline void *mmd_motion_track(const mmd_motion_layout *layout, const mmd_motion *motion,
                                     size_t index)
{
    const char *tracks = layout->count ? mmd_bytes_pointer_at(motion, layout->tracks)
                                       : (const char *)motion + layout->tracks;
    return (char *)tracks + index * layout->size;
}

static inline mmd_text mmd_motion_track_name(const void *track)
{
    return *(const mmd_text *)track;
}

static inline void mmd_motion_set_tracks(const mmd_motion_layout *layout, mmd_motion *motion,
                                         const void *tracks, size_t count)
{
    mmd_bytes_put_pointer(motion, layout->tracks, tracks);
    mmd_bytes_put_size(motion, layout->count, count);
}

/* Bytes of a key in a column. */
static inline size_t mmd_motion_row(const mmd_motion_column *column, const void *track)
{
    size_t width = column->width ? column->width : ((const mmd_property_track *)track)->ik_count;
    return column->content == MMD_MOTION_BYTES ? width : width * sizeof(float);
}

/* Sets the arrays of a track to zeros for `count` keys. False when memory is short. */
bool mmd_motion_alloc(mmd_arena *arena, const mmd_motion_layout *layout, void *track, size_t count);

/* Sets first_frame and last_frame from the keys. */
void mmd_motion_find_range(mmd_motion *motion);

#endif
