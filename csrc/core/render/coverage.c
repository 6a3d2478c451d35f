/* SPDX-License-Identifier: MIT */
#include "core/render/coverage.h"

#include "core/render/raster.h"

#include <string.h>

void mmd_coverage_begin(mmd_coverage *coverage)
{
    coverage->first[0] = coverage->width;
    coverage->first[1] = coverage->height;
    coverage->end[0] = coverage->end[1] = 0;
}

void mmd_coverage_clear(mmd_coverage *coverage)
{
    for (size_t y = coverage->first[1]; y < coverage->end[1]; y++)
        memset(coverage->samples + y * coverage->stride + coverage->first[0], 0,
               coverage->end[0] - coverage->first[0]);
}

bool mmd_coverage_add(mmd_coverage *coverage, const float a[2], const float b[2], const float c[2])
{
    mmd_raster_triangle triangle;
    mmd_raster_size size = mmd_raster_triangle_set(&triangle, a, b, c, coverage->width,
                                                   coverage->height, MMD_COVERAGE_MAX_SIDE);
    if (size != MMD_RASTER_SMALL)
        return size == MMD_RASTER_EMPTY;
    const int *first = triangle.first, *end = triangle.end;
    const mmd_raster_plane ab = triangle.sides[0], bc = triangle.sides[1], ca = triangle.sides[2];
    for (int y = first[1]; y < end[1]; y++) {
        uint8_t *row = coverage->samples + (size_t)y * coverage->stride;
        float down = (float)(y - first[1]);
        float p = ab.at_origin + down * ab.y, q = bc.at_origin + down * bc.y,
              r = ca.at_origin + down * ca.y;
        for (int x = first[0]; x < end[0]; x++, p += ab.x, q += bc.x, r += ca.x)
            row[x] |= ((p >= 0) & (q >= 0) & (r >= 0)) ? 255 : 0;
    }
    for (int i = 0; i < 2; i++) {
        size_t from = (size_t)first[i], to = (size_t)end[i];
        coverage->first[i] = from < coverage->first[i] ? from : coverage->first[i];
        coverage->end[i] = to > coverage->end[i] ? to : coverage->end[i];
    }
    return true;
}
