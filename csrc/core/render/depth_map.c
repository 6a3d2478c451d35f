/* SPDX-License-Identifier: MIT */
#include "core/render/depth_map.h"

#include "core/math/float4.h"
#include "core/render/raster.h"

#include <stdlib.h>

static size_t stride_of(const mmd_depth_map *map)
{
    return map->width + MMD_DEPTH_MAP_PADDING;
}

bool mmd_depth_map_init(mmd_depth_map *map, size_t width, size_t height)
{
    size_t bands = height / MMD_DEPTH_MAP_BAND;
    *map = (mmd_depth_map){.width = width, .height = height};
    size_t size = stride_of(map) * height;
    map->depths = malloc(size * sizeof *map->depths);
    map->spans = malloc(bands * sizeof *map->spans);
    if (!map->depths || !map->spans)
        return false;
    for (size_t i = 0; i < size; i++)
        map->depths[i] = 1;
    for (size_t i = 0; i < bands; i++)
        map->spans[i] = mmd_depth_map_no_columns;
    return true;
}

void mmd_depth_map_free(mmd_depth_map *map)
{
    free(map->depths);
    free(map->spans);
}

/* The plane through the depths of a triangle's corners. */
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

static const mmd_float4 lanes = {0, 1, 2, 3};

/* A triangle's sides and its depth as functions of the place, relative to its first sample. */
typedef struct planes {
    mmd_float4 at_origin, x, y; /* lanes: three sides, depth */
    mmd_float4 along[4], step;  /* of each: its change to the lanes of a row; to the next lanes */
    float nearest, farthest;
} planes;

static planes planes_of(const mmd_raster_triangle *triangle, const float a[3], const float b[3],
                        const float c[3])
{
    const mmd_raster_plane *s = triangle->sides,
                           depth = depth_of(a, b, c, triangle->area, triangle->origin);
    planes made = {.at_origin = {s[0].at_origin, s[1].at_origin, s[2].at_origin, depth.at_origin},
                   .x = {s[0].x, s[1].x, s[2].x, depth.x},
                   .y = {s[0].y, s[1].y, s[2].y, depth.y},
                   .nearest = mmd_raster_min(a[2], b[2], c[2]),
                   .farthest = mmd_raster_max(a[2], b[2], c[2])};
    made.step = made.x * MMD_DEPTH_MAP_PADDING;
    for (int i = 0; i < 4; i++)
        made.along[i] = lanes * made.x[i];
    return made;
}

/* Where rows enter and leave a triangle: linear functions of the row for each of its sides. */
typedef struct crossings {
    mmd_float4 enter, enter_per_row, leave, leave_per_row;
    float columns;
} crossings;

static crossings crossings_of(const planes *p, int columns)
{
    const mmd_float4 none = {0}, last = mmd_float4_splat((float)columns - 1);
    mmd_float4 at = -p->at_origin / p->x, per_row = -p->y / p->x;
    mmd_float4_bits enters = p->x > 0, leaves = p->x < 0;
    return (crossings){.enter = mmd_float4_select(enters, at, none),
                       .enter_per_row = mmd_float4_select(enters, per_row, none),
                       .leave = mmd_float4_select(leaves, at, last),
                       .leave_per_row = mmd_float4_select(leaves, per_row, none),
                       .columns = (float)columns};
}

/* The columns of four rows that may have samples of the triangle. Rounding errors of a crossing,
   unless a side is as good as level, are much smaller than the margin. */
static void find_columns(const crossings *c, float down, mmd_float4_bits *first,
                         mmd_float4_bits *end)
{
    const float margin = 1.0f / 16;
    mmd_float4 rows = lanes + down, enter = {0}, leave = mmd_float4_splat(c->columns - 1);
    for (int side = 0; side < 3; side++) {
        enter = mmd_float4_max(enter, c->enter[side] + rows * c->enter_per_row[side]);
        leave = mmd_float4_min(leave, c->leave[side] + rows * c->leave_per_row[side]);
    }
    enter = mmd_float4_min(enter, mmd_float4_splat(c->columns));
    leave = mmd_float4_max(leave, mmd_float4_splat(-1));
    *first = __builtin_convertvector(enter + (1 - margin), mmd_float4_bits);
    *end = __builtin_convertvector(leave + (1 + margin), mmd_float4_bits);
}

/* `row` is the one of the map, from the triangle's first column on. */
static void add_row(float *row, const planes *p, float down, int first, int end)
{
    const mmd_float4 low = mmd_float4_splat(p->nearest), high = mmd_float4_splat(p->farthest);
    mmd_float4 start = p->at_origin + down * p->y + (float)first * p->x;
    mmd_float4 ab = start[0] + p->along[0], bc = start[1] + p->along[1],
               ca = start[2] + p->along[2], depth = start[3] + p->along[3];
    for (int x = first; x < end; x += MMD_DEPTH_MAP_PADDING) {
        /* NaN, which is not nearer than anything, where a side's sign bit is set */
        mmd_float4_bits outside =
            ((mmd_float4_bits)ab | (mmd_float4_bits)bc | (mmd_float4_bits)ca) >> 31;
        mmd_float4 inside = mmd_float4_min(mmd_float4_max(depth, low), high);
        inside = (mmd_float4)((mmd_float4_bits)inside | outside);
        mmd_float4_store(mmd_float4_min(mmd_float4_load(row + x), inside), row + x);
        ab += p->step[0];
        bc += p->step[1];
        ca += p->step[2];
        depth += p->step[3];
    }
}

/* The lanes behind a row's last sample may be inside the sides near a sharp corner. */
static void extend_spans(mmd_depth_map *map, const mmd_raster_triangle *triangle)
{
    int computed = triangle->end[0] + MMD_DEPTH_MAP_PADDING - 1, width = (int)map->width;
    const mmd_depth_map_span columns = {triangle->first[0], computed < width ? computed : width};
    int end = (triangle->end[1] - 1) / MMD_DEPTH_MAP_BAND;
    for (int band = triangle->first[1] / MMD_DEPTH_MAP_BAND; band <= end; band++)
        map->spans[band] = mmd_depth_map_join(map->spans[band], columns);
}

bool mmd_depth_map_add(mmd_depth_map *map, const float a[3], const float b[3], const float c[3])
{
    mmd_raster_triangle triangle;
    mmd_raster_size size = mmd_raster_triangle_set(&triangle, a, b, c, map->width, map->height,
                                                   MMD_DEPTH_MAP_MAX_SIDE);
    if (size != MMD_RASTER_SMALL)
        return size == MMD_RASTER_EMPTY;
    const planes p = planes_of(&triangle, a, b, c);
    const crossings sides = crossings_of(&p, triangle.end[0] - triangle.first[0]);
    size_t stride = stride_of(map);
    float *row = map->depths + (size_t)triangle.first[1] * stride + triangle.first[0];
    int rows = triangle.end[1] - triangle.first[1];
    for (int y = 0; y < rows; y += 4) {
        mmd_float4_bits first, end;
        find_columns(&sides, (float)y, &first, &end);
        for (int i = 0; i < 4 && y + i < rows; i++, row += stride)
            add_row(row, &p, (float)(y + i), first[i], end[i]);
    }
    extend_spans(map, &triangle);
    return true;
}

void mmd_depth_map_take(mmd_depth_map *map, size_t band, mmd_depth_map_span columns, uint16_t *out)
{
    size_t stride = stride_of(map), count = (size_t)(columns.end - columns.first);
    float *row = map->depths + band * MMD_DEPTH_MAP_BAND * stride + columns.first;
    for (int y = 0; y < MMD_DEPTH_MAP_BAND; y++, row += stride, out += count)
        for (size_t x = 0; x < count; x++) {
            out[x] = (uint16_t)(int32_t)(row[x] * UINT16_MAX + 0.5f);
            row[x] = 1;
        }
    map->spans[band] = mmd_depth_map_no_columns;
}
