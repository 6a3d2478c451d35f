/* SPDX-License-Identifier: MIT */
#include "core/render/coverage.h"

#include <math.h>
#include <string.h>

/* GPUs round corners to 1/256 pixel. */
static const float TOLERANCE = 1.0f / 256;

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

static float min3(float a, float b, float c)
{
    float min = a < b ? a : b;
    return min < c ? min : c;
}

static float max3(float a, float b, float c)
{
    float max = a > b ? a : b;
    return max > c ? max : c;
}

/* Samples first to last of an axis of `size` that are between min and max; false if there are none.
   The range is smaller than an int. */
static bool sample_range(float min, float max, size_t size, int *first, int *last)
{
    if (!(max > 0 && min < (float)size))
        return false;
    *first = min > 0 ? (int)(min + 0.5f) : 0;
    *last = max < (float)size ? (int)(max + 0.5f) - 1 : (int)size - 1;
    return *first <= *last;
}

/* A side of a triangle: not negative on its inner side. */
typedef struct side {
    float x, y, at_origin;
} side;

static side side_between(const float a[2], const float b[2], float turn, const float origin[2])
{
    float x = turn * (a[1] - b[1]), y = turn * (b[0] - a[0]);
    float tolerance = (fabsf(x) + fabsf(y)) * TOLERANCE;
    return (side){x, y, (origin[0] - a[0]) * x + (origin[1] - a[1]) * y + tolerance};
}

bool mmd_coverage_add(mmd_coverage *coverage, const float a[2], const float b[2], const float c[2])
{
    int first[2], last[2];
    const size_t sizes[2] = {coverage->width, coverage->height};
    for (int i = 0; i < 2; i++) {
        float min = min3(a[i], b[i], c[i]) - TOLERANCE, max = max3(a[i], b[i], c[i]) + TOLERANCE;
        if (!(max - min <= (float)MMD_COVERAGE_MAX_SIDE))
            return false;
        if (!sample_range(min, max, sizes[i], &first[i], &last[i]))
            return true;
    }
    float area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if (area == 0)
        return true;
    float turn = area > 0 ? 1.0f : -1.0f;
    const float origin[2] = {(float)first[0] + 0.5f, (float)first[1] + 0.5f};
    side ab = side_between(a, b, turn, origin), bc = side_between(b, c, turn, origin),
         ca = side_between(c, a, turn, origin);
    for (int y = first[1]; y <= last[1]; y++) {
        uint8_t *row = coverage->samples + (size_t)y * coverage->stride;
        float down = (float)(y - first[1]);
        float p = ab.at_origin + down * ab.y, q = bc.at_origin + down * bc.y,
              r = ca.at_origin + down * ca.y;
        for (int x = first[0]; x <= last[0]; x++, p += ab.x, q += bc.x, r += ca.x)
            row[x] |= (uint8_t) - ((p >= 0) & (q >= 0) & (r >= 0));
    }
    for (int i = 0; i < 2; i++) {
        size_t from = (size_t)first[i], to = (size_t)last[i] + 1;
        coverage->first[i] = from < coverage->first[i] ? from : coverage->first[i];
        coverage->end[i] = to > coverage->end[i] ? to : coverage->end[i];
    }
    return true;
}
