/* SPDX-License-Identifier: MIT */
#ifndef MMD_COVERAGE_H
#define MMD_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which samples of an image are covered by at least one of many small triangles. Renderers without
   a graphics card take much longer for each triangle, as they draw it in colors. */
typedef struct mmd_coverage {
    size_t width, height, stride;
    uint8_t *samples;        /* (height,stride), 255 where covered, else 0 */
    size_t first[2], end[2]; /* columns and rows outside of which nothing is covered */
} mmd_coverage;

/* The largest distance of two corners along an axis, in pixels. */
enum { MMD_COVERAGE_MAX_SIDE = 16 };

/* Starts an image in which nothing is covered; the samples must be zero. */
void mmd_coverage_begin(mmd_coverage *coverage);

/* Sets the covered samples to zero again, for the next image. */
void mmd_coverage_clear(mmd_coverage *coverage);

/* Adds a triangle: the samples that are inside of it or nearer than 1/256 pixel. A sample is at the
   middle of its pixel; corners are in pixels. False, without adding it, if it is too large. */
bool mmd_coverage_add(mmd_coverage *coverage, const float a[2], const float b[2], const float c[2]);

#endif
