/* SPDX-License-Identifier: MIT */
#ifndef MMD_DEPTH_MAP_H
#define MMD_DEPTH_MAP_H

#include <stdbool.h>
#include <stddef.h>

/* The nearest depth of small triangles at the middle of each pixel: see coverage.h. */
typedef struct mmd_depth_map {
    size_t width, height, stride; /* the stride is a multiple of MMD_DEPTH_MAP_STEP */
    float *depths;                /* (height,stride), 1 where there is nothing */
    size_t first[2], end[2];      /* columns and rows outside of which there is nothing */
} mmd_depth_map;

/* Pixels that are computed at once; the largest distance of two corners along an axis. */
enum { MMD_DEPTH_MAP_STEP = 4, MMD_DEPTH_MAP_MAX_SIDE = 64 };

/* Starts an empty map; all depths must be 1. */
void mmd_depth_map_begin(mmd_depth_map *map);

/* Sets the depths that were drawn to 1 again, and starts the next map. */
void mmd_depth_map_clear(mmd_depth_map *map);

/* Adds a triangle whose corners are pixels and a depth from 0 to 1. False, without adding it, if it
   is too large. */
bool mmd_depth_map_add(mmd_depth_map *map, const float a[3], const float b[3], const float c[3]);

#endif
