/* SPDX-License-Identifier: MIT */
#ifndef MMD_RASTER_H
#define MMD_RASTER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What coverage.c and depth_map.c share: which pixels a triangle has. A sample is at the middle of
   its pixel; corners are in pixels. */

/* Samples nearer than this to a triangle belong to it: GPUs round corners to 1/256 pixel. */
#define MMD_RASTER_TOLERANCE (1.0f / 256)

/* A linear function of the place, relative to an origin. */
typedef struct mmd_raster_plane {
    float x, y, at_origin;
} mmd_raster_plane;

static inline float mmd_raster_min(float a, float b, float c)
{
    float min = a < b ? a : b;
    return min < c ? min : c;
}

static inline float mmd_raster_max(float a, float b, float c)
{
    float max = a > b ? a : b;
    return max > c ? max : c;
}

/* Whether three numbers are at most so far apart; false if one is infinite. */
static inline bool mmd_raster_is_small(float a, float b, float c, float limit)
{
    return mmd_raster_max(a, b, c) - mmd_raster_min(a, b, c) <= limit;
}

/* The pixels from first to before end of an axis of `size` whose samples are between three
   coordinates that are near each other. False if there are none. */
static inline bool mmd_raster_range(float a, float b, float c, size_t size, int *first, int *end)
{
    float min = mmd_raster_min(a, b, c) - MMD_RASTER_TOLERANCE;
    float max = mmd_raster_max(a, b, c) + MMD_RASTER_TOLERANCE;
    if (!(max > 0 && min < (float)size))
        return false;
    *first = min > 0 ? (int)(min + 0.5f) : 0;
    *end = max < (float)size ? (int)(max + 0.5f) : (int)size;
    return *first < *end;
}

/* Twice the area; positive if corners turn from the first axis to the second. */
static inline float mmd_raster_area(const float a[2], const float b[2], const float c[2])
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/* Not negative on the inner side of the side from a to b, and near it. `turn` is the area's sign.
 */
static inline mmd_raster_plane mmd_raster_side(const float a[2], const float b[2], float turn,
                                               const float origin[2])
{
    float x = turn * (a[1] - b[1]), y = turn * (b[0] - a[0]);
    float tolerance = (fabsf(x) + fabsf(y)) * MMD_RASTER_TOLERANCE;
    return (mmd_raster_plane){x, y, (origin[0] - a[0]) * x + (origin[1] - a[1]) * y + tolerance};
}

/* Extends the bounds of what is drawn by pixels from first to before end. */
static inline void mmd_raster_extend(size_t bounds_first[2], size_t bounds_end[2],
                                     const int first[2], const int end[2])
{
    for (int i = 0; i < 2; i++) {
        size_t from = (size_t)first[i], to = (size_t)end[i];
        bounds_first[i] = from < bounds_first[i] ? from : bounds_first[i];
        bounds_end[i] = to > bounds_end[i] ? to : bounds_end[i];
    }
}

#endif
