/* SPDX-License-Identifier: MIT */
#ifndef MMD_RASTER_H
#define MMD_RASTER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What coverage.c and depth_map.c share: the samples of a small triangle. A sample is at the middle
   of its pixel; corners are in pixels. */

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

/* A small triangle. */
typedef struct mmd_raster_triangle {
    int first[2], end[2];      /* columns and rows outside of which it has no sample */
    float area, origin[2];     /* twice the area; the first sample, origin of the planes */
    mmd_raster_plane sides[3]; /* not negative at its samples */
} mmd_raster_triangle;

typedef enum mmd_raster_size {
    MMD_RASTER_EMPTY, /* it has no sample, or no area */
    MMD_RASTER_SMALL,
    MMD_RASTER_LARGE /* corners are more than the limit apart along an axis */
} mmd_raster_size;

/* Sets `triangle` if it is small. */
static inline mmd_raster_size mmd_raster_triangle_set(mmd_raster_triangle *triangle,
                                                      const float a[2], const float b[2],
                                                      const float c[2], size_t width, size_t height,
                                                      float limit)
{
    const size_t sizes[2] = {width, height};
    int *first = triangle->first, *end = triangle->end;
    for (int i = 0; i < 2; i++) {
        if (!mmd_raster_is_small(a[i], b[i], c[i], limit))
            return MMD_RASTER_LARGE;
        if (!mmd_raster_range(a[i], b[i], c[i], sizes[i], &first[i], &end[i]))
            return MMD_RASTER_EMPTY;
    }
    triangle->area = mmd_raster_area(a, b, c);
    if (triangle->area == 0)
        return MMD_RASTER_EMPTY;
    for (int i = 0; i < 2; i++)
        triangle->origin[i] = (float)first[i] + 0.5f;
    float turn = triangle->area > 0 ? 1.0f : -1.0f;
    triangle->sides[0] = mmd_raster_side(a, b, turn, triangle->origin);
    triangle->sides[1] = mmd_raster_side(b, c, turn, triangle->origin);
    triangle->sides[2] = mmd_raster_side(c, a, turn, triangle->origin);
    return MMD_RASTER_SMALL;
}

#endif
