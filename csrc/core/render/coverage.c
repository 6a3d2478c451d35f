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
    int first[2], end[2];
    const size_t sizes[2] = {coverage->width, coverage->height};
    for (int i = 0; i < 2; i++) {
        if (!mmd_raster_is_small(a[i], b[i], c[i], MMD_COVERAGE_MAX_SIDE))
            return false;
        if (!mmd_raster_range(a[i], b[i], c[i], sizes[i], &first[i], &end[i]))
            return true;
    }
    float area = mmd_raster_area(a, b, c);
    if (area == 0)
        return true;
    float turn = area > 0 ? 1.0f : -1.0f;
    const float origin[2] = {(float)first[0] + 0.5f, (float)first[1] + 0.5f};
    mmd_raster_plane ab = mmd_raster_side(a, b, turn, origin),
                     bc = mmd_raster_side(b, c, turn, origin),
                     ca = mmd_raster_side(c, a, turn, origin);
    for (int y = first[1]; y < end[1]; y++) {
        uint8_t *row = coverage->samples + (size_t)y * coverage->stride;
        float down = (float)(y - first[1]);
        float p = ab.at_origin + down * ab.y, q = bc.at_origin + down * bc.y,
              r = ca.at_origin + down * ca.y;
        for (int x = first[0]; x < end[0]; x++, p += ab.x, q += bc.x, r += ca.x)
            row[x] |= ((p >= 0) & (q >= 0) & (r >= 0)) ? 255 : 0;
    }
    mmd_raster_extend(coverage->first, coverage->end, first, end);
    return true;
}
