/* SPDX-License-Identifier: MIT */
#include "core/render/depth_map.h"

#include "core/render/raster.h"

#include <stdint.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(4 * MMD_DEPTH_MAP_STEP)));
typedef int32_t mask __attribute__((vector_size(4 * MMD_DEPTH_MAP_STEP)));

static lanes choose(mask which, lanes a, lanes b)
{
    return (lanes)((which & (mask)a) | (~which & (mask)b));
}

void mmd_depth_map_begin(mmd_depth_map *map)
{
    map->first[0] = map->stride;
    map->first[1] = map->height;
    map->end[0] = map->end[1] = 0;
}

void mmd_depth_map_clear(mmd_depth_map *map)
{
    for (size_t y = map->first[1]; y < map->end[1]; y++)
        for (size_t x = map->first[0]; x < map->end[0]; x++)
            map->depths[y * map->stride + x] = 1;
    mmd_depth_map_begin(map);
}

static mmd_raster_plane depth_of(const float a[3], const float b[3], const float c[3], float area,
                                 const float origin[2])
{
    float u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = b[i] - a[i];
        v[i] = c[i] - a[i];
    }
    float x = (u[2] * v[1] - v[2] * u[1]) / area, y = (u[0] * v[2] - v[0] * u[2]) / area;
    return (mmd_raster_plane){x, y, a[2] + (origin[0] - a[0]) * x + (origin[1] - a[1]) * y};
}

static lanes along_row(mmd_raster_plane of, float down)
{
    float start = of.at_origin + down * of.y;
    return (lanes){start, start + of.x, start + 2 * of.x, start + 3 * of.x};
}

bool mmd_depth_map_add(mmd_depth_map *map, const float a[3], const float b[3], const float c[3])
{
    mmd_raster_triangle triangle;
    mmd_raster_size size = mmd_raster_triangle_set(&triangle, a, b, c, map->width, map->height,
                                                   MMD_DEPTH_MAP_MAX_SIDE, MMD_DEPTH_MAP_STEP);
    if (size != MMD_RASTER_SMALL)
        return size == MMD_RASTER_EMPTY;
    const int *first = triangle.first, *end = triangle.end;
    const mmd_raster_plane ab = triangle.sides[0], bc = triangle.sides[1], ca = triangle.sides[2],
                           depth = depth_of(a, b, c, triangle.area, triangle.origin);
    float nearest = mmd_raster_min(a[2], b[2], c[2]), farthest = mmd_raster_max(a[2], b[2], c[2]);
    lanes low = {nearest, nearest, nearest, nearest},
          high = {farthest, farthest, farthest, farthest};
    for (int y = first[1]; y < end[1]; y++) {
        float *row = map->depths + (size_t)y * map->stride;
        float down = (float)(y - first[1]);
        lanes p = along_row(ab, down), q = along_row(bc, down), r = along_row(ca, down),
              z = along_row(depth, down);
        for (int x = first[0]; x < end[0]; x += MMD_DEPTH_MAP_STEP) {
            lanes known, clamped = choose(z < low, low, choose(z > high, high, z));
            memcpy(&known, row + x, sizeof known);
            mask nearer = (p >= 0) & (q >= 0) & (r >= 0) & (clamped < known);
            known = choose(nearer, clamped, known);
            memcpy(row + x, &known, sizeof known);
            p += MMD_DEPTH_MAP_STEP * ab.x;
            q += MMD_DEPTH_MAP_STEP * bc.x;
            r += MMD_DEPTH_MAP_STEP * ca.x;
            z += MMD_DEPTH_MAP_STEP * depth.x;
        }
    }
    mmd_raster_extend(map->first, map->end, first, end);
    return true;
}
