/* SPDX-License-Identifier: MIT */
#ifndef MMD_DEPTH_MAP_H
#define MMD_DEPTH_MAP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MMD_DEPTH_MAP_MAX_SIDE = 256, /* the largest distance of two corners along an axis */
    MMD_DEPTH_MAP_PADDING = 4,    /* numbers that follow each row, for what is computed at once */
    MMD_DEPTH_MAP_BAND = 16       /* rows */
};

/* Columns; none if the first is not before the end. */
typedef struct mmd_depth_map_span {
    int first, end;
} mmd_depth_map_span;

static const mmd_depth_map_span mmd_depth_map_no_columns = {INT_MAX, 0};

static inline mmd_depth_map_span mmd_depth_map_join(mmd_depth_map_span a, mmd_depth_map_span b)
{
    return (mmd_depth_map_span){a.first < b.first ? a.first : b.first,
                                a.end > b.end ? a.end : b.end};
}

/* The nearest depth of small triangles at the middle of each pixel: see coverage.h. */
typedef struct mmd_depth_map {
    size_t width, height;      /* a whole number of bands */
    float *depths;             /* (height, width + padding), 1 where there is nothing */
    mmd_depth_map_span *spans; /* of each band: it has nothing in other columns */
} mmd_depth_map;

/* Allocates an empty map; false without memory. To be freed in any case. */
bool mmd_depth_map_init(mmd_depth_map *map, size_t width, size_t height);
void mmd_depth_map_free(mmd_depth_map *map);

/* Adds a triangle whose corners are pixels and a depth from 0 to 1. False, without adding it, if it
   is too large. */
bool mmd_depth_map_add(mmd_depth_map *map, const float a[3], const float b[3], const float c[3]);

/* Moves columns of a band to `out`, (MMD_DEPTH_MAP_BAND, columns), as 16-bit fractions of 1, after
   which the band has nothing. The columns include its span. */
void mmd_depth_map_take(mmd_depth_map *map, size_t band, mmd_depth_map_span columns, uint16_t *out);

#endif
