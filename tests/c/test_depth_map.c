/* SPDX-License-Identifier: MIT */
#include "core/render/depth_map.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 39,
    BANDS = 3,
    HEIGHT = BANDS * MMD_DEPTH_MAP_BAND,
    STRIDE = WIDTH + MMD_DEPTH_MAP_PADDING,
    NOTHING = UINT16_MAX
};

static mmd_depth_map new_map(void)
{
    mmd_depth_map made;
    CHECK(mmd_depth_map_init(&made, WIDTH, HEIGHT));
    return made;
}

static bool is_empty(const mmd_depth_map *map)
{
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            if (map->depths[y * STRIDE + x] != 1)
                return false;
    for (size_t band = 0; band < BANDS; band++)
        if (map->spans[band].first < map->spans[band].end)
            return false;
    return true;
}

/* The depth of a plane through three corners; the smallest distance from the sides, negative
   outside, is put into `inside`. */
static double plane_at(const float corners[3][3], double x, double y, double *inside)
{
    double weights[3], sum = 0, depth = 0;
    *inside = INFINITY;
    for (int i = 0; i < 3; i++) {
        const float *a = corners[(i + 1) % 3], *b = corners[(i + 2) % 3];
        double dx = (double)b[0] - (double)a[0], dy = (double)b[1] - (double)a[1];
        weights[i] = dx * (y - (double)a[1]) - dy * (x - (double)a[0]);
        sum += weights[i];
    }
    for (int i = 0; i < 3; i++) {
        const float *a = corners[(i + 1) % 3], *b = corners[(i + 2) % 3];
        double length = hypot((double)b[0] - (double)a[0], (double)b[1] - (double)a[1]);
        depth += weights[i] / sum * (double)corners[i][2];
        *inside = fmin(*inside, (sum < 0 ? -weights[i] : weights[i]) / length);
    }
    return depth;
}

static float random_number(uint32_t *seed, float size)
{
    return size * (float)(test_random(seed) % 10000) / 10000;
}

static void the_nearest_triangle_counts(void)
{
    uint32_t seed = 3;
    size_t checked = 0;
    for (int round = 0; round < 300; round++) {
        enum { COUNT = 4 };
        float corners[COUNT][3][3];
        mmd_depth_map map = new_map();
        for (int t = 0; t < COUNT; t++) {
            float x = random_number(&seed, 50) - 15, y = random_number(&seed, 50) - 15;
            for (int c = 0; c < 3; c++) {
                corners[t][c][0] = x + random_number(&seed, 30);
                corners[t][c][1] = y + random_number(&seed, 30);
                corners[t][c][2] = random_number(&seed, 0.99f);
            }
            CHECK(mmd_depth_map_add(&map, corners[t][0], corners[t][1], corners[t][2]));
        }
        for (size_t row = 0; row < HEIGHT; row++)
            for (size_t column = 0; column < WIDTH; column++) {
                double nearest = 1, margin = INFINITY;
                for (int t = 0; t < COUNT; t++) {
                    double inside,
                        depth = plane_at((const float(*)[3])corners[t], (double)column + 0.5,
                                         (double)row + 0.5, &inside);
                    nearest = inside > 0 ? fmin(nearest, depth) : nearest;
                    margin = fmin(margin, fabs(inside));
                }
                float found = map.depths[row * STRIDE + column];
                mmd_depth_map_span span = map.spans[row / MMD_DEPTH_MAP_BAND];
                CHECK(found == 1 || ((int)column >= span.first && (int)column < span.end));
                if (margin < 0.01) /* on a side, either is right */
                    continue;
                CHECK_NEAR((double)found, nearest, 2e-4);
                checked += nearest < 1;
            }
        mmd_depth_map_free(&map);
    }
    CHECK(checked > 30000);
}

static void triangles_as_large_as_may_be_have_no_gaps_between_them(void)
{
    enum { SIZE = MMD_DEPTH_MAP_MAX_SIDE };
    uint32_t seed = 5;
    for (int round = 0; round < 100; round++) {
        mmd_depth_map map;
        CHECK(mmd_depth_map_init(&map, SIZE, SIZE));
        const float ends[4][3] = {
            {0, 0, 0.5f}, {SIZE, 0, 0.5f}, {SIZE, SIZE, 0.5f}, {0, SIZE, 0.5f}};
        const float middle[3] = {1 + random_number(&seed, SIZE - 2),
                                 1 + random_number(&seed, SIZE - 2), 0.5f};
        for (int i = 0; i < 4; i++)
            CHECK(mmd_depth_map_add(&map, ends[i], ends[(i + 1) % 4], middle));
        for (size_t y = 0; y < SIZE; y++)
            for (size_t x = 0; x < SIZE; x++)
                CHECK(map.depths[y * (SIZE + MMD_DEPTH_MAP_PADDING) + x] == 0.5f);
        mmd_depth_map_free(&map);
    }
}

static void what_is_taken_is_rounded_to_16_bits_and_gone(void)
{
    mmd_depth_map map = new_map();
    const float a[3] = {4, 20, 0.25f}, b[3] = {30, 20, 0.25f}, c[3] = {4, 30, 0.25f};
    CHECK(mmd_depth_map_add(&map, a, b, c));
    const mmd_depth_map_span columns = {2, 34};
    uint16_t *out = malloc(sizeof *out * MMD_DEPTH_MAP_BAND * 32);
    CHECK(out);
    mmd_depth_map_take(&map, 1, columns, out);
    /* row 20 is the fourth of the band; of its samples, those of columns 4 to 28 are inside */
    for (int x = columns.first; x < columns.end; x++)
        CHECK(out[4 * 32 + x - 2] == (x >= 4 && x <= 28 ? 16384 : NOTHING));
    CHECK(out[3 * 32 + 10] == NOTHING);
    CHECK(is_empty(&map));
    free(out);
    mmd_depth_map_free(&map);
}

static void nothing_stays_of_a_sharp_corner(void)
{
    mmd_depth_map map = new_map();
    /* samples behind the corner at the right are inside the tolerance of the sides */
    const float a[3] = {10.157f, 9.498f, 0.25f}, b[3] = {1.195f, 9.475f, 0.25f},
                c[3] = {1.205f, 9.481f, 0.25f};
    CHECK(mmd_depth_map_add(&map, a, b, c));
    uint16_t out[MMD_DEPTH_MAP_BAND * WIDTH];
    mmd_depth_map_take(&map, 0, map.spans[0], out);
    CHECK(is_empty(&map));
    mmd_depth_map_free(&map);
}

static void depths_stay_between_those_of_the_corners(void)
{
    mmd_depth_map map = new_map();
    /* nearly seen from its side: the plane is as steep as it can be */
    const float a[3] = {3.499f, 2, 0.2f}, b[3] = {3.501f, 20, 0.2f}, c[3] = {3.502f, 11, 0.9f};
    CHECK(mmd_depth_map_add(&map, a, b, c));
    for (size_t i = 0; i < STRIDE * HEIGHT; i++)
        CHECK(map.depths[i] == 1 || (map.depths[i] >= 0.2f && map.depths[i] <= 0.9f));
    mmd_depth_map_free(&map);
}

static void large_triangles_are_not_added(void)
{
    mmd_depth_map map = new_map();
    const float a[3] = {1, 1, 0}, b[3] = {5, 1, 0};
    const float far_away[][3] = {{270, 3, 0}, {2, INFINITY, 0}, {2, -300, 0}, {-1e30f, 2, 0}};
    for (size_t i = 0; i < sizeof far_away / sizeof *far_away; i++)
        CHECK(!mmd_depth_map_add(&map, a, b, far_away[i]));
    CHECK(is_empty(&map));
    mmd_depth_map_free(&map);
}

void depth_map_tests(void)
{
    RUN(the_nearest_triangle_counts);
    RUN(triangles_as_large_as_may_be_have_no_gaps_between_them);
    RUN(what_is_taken_is_rounded_to_16_bits_and_gone);
    RUN(nothing_stays_of_a_sharp_corner);
    RUN(depths_stay_between_those_of_the_corners);
    RUN(large_triangles_are_not_added);
}
