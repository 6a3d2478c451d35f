/* SPDX-License-Identifier: MIT */
#include "core/render/depth_map.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 40, STRIDE = 40 };

static mmd_depth_map map_over(float *depths)
{
    for (size_t i = 0; i < STRIDE * SIDE; i++)
        depths[i] = 1;
    mmd_depth_map made = {.width = SIDE - 1, .height = SIDE, .stride = STRIDE, .depths = depths};
    mmd_depth_map_begin(&made);
    return made;
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
        float *depths = test_exact((float[STRIDE *SIDE]){0}, sizeof(float) * STRIDE * SIDE);
        float corners[COUNT][3][3];
        mmd_depth_map map = map_over(depths);
        for (int t = 0; t < COUNT; t++) {
            float x = random_number(&seed, 50) - 15, y = random_number(&seed, 50) - 15;
            for (int c = 0; c < 3; c++) {
                corners[t][c][0] = x + random_number(&seed, 30);
                corners[t][c][1] = y + random_number(&seed, 30);
                corners[t][c][2] = random_number(&seed, 0.99f);
            }
            CHECK(mmd_depth_map_add(&map, corners[t][0], corners[t][1], corners[t][2]));
        }
        for (size_t row = 0; row < SIDE; row++)
            for (size_t column = 0; column < SIDE - 1; column++) {
                double nearest = 1, margin = INFINITY;
                for (int t = 0; t < COUNT; t++) {
                    double inside,
                        depth = plane_at((const float(*)[3])corners[t], (double)column + 0.5,
                                         (double)row + 0.5, &inside);
                    nearest = inside > 0 ? fmin(nearest, depth) : nearest;
                    margin = fmin(margin, fabs(inside));
                }
                float found = depths[row * STRIDE + column];
                bool in_bounds = column >= map.first[0] && column < map.end[0] &&
                                 row >= map.first[1] && row < map.end[1];
                CHECK(found == 1 || in_bounds);
                if (margin < 0.01) /* on a side, either is right */
                    continue;
                CHECK_NEAR((double)found, nearest, 2e-4);
                checked += nearest < 1;
            }
        mmd_depth_map_clear(&map);
        for (size_t i = 0; i < STRIDE * SIDE; i++)
            CHECK(depths[i] == 1);
        free(depths);
    }
    CHECK(checked > 30000);
}

static void depths_stay_between_those_of_the_corners(void)
{
    float depths[STRIDE * SIDE];
    mmd_depth_map map = map_over(depths);
    /* nearly seen from its side: the plane is as steep as it can be */
    const float a[3] = {3.499f, 2, 0.2f}, b[3] = {3.501f, 20, 0.2f}, c[3] = {3.502f, 11, 0.9f};
    CHECK(mmd_depth_map_add(&map, a, b, c));
    for (size_t i = 0; i < STRIDE * SIDE; i++)
        CHECK(depths[i] == 1 || (depths[i] >= 0.2f && depths[i] <= 0.9f));
}

static void large_triangles_are_not_added(void)
{
    float depths[STRIDE * SIDE];
    mmd_depth_map map = map_over(depths);
    const float a[3] = {1, 1, 0}, b[3] = {5, 1, 0};
    const float far_away[][3] = {{70, 3, 0}, {2, INFINITY, 0}, {2, -100, 0}, {-1e30f, 2, 0}};
    for (size_t i = 0; i < sizeof far_away / sizeof *far_away; i++)
        CHECK(!mmd_depth_map_add(&map, a, b, far_away[i]));
    CHECK(map.first[0] >= map.end[0] || map.first[1] >= map.end[1]);
    for (size_t i = 0; i < STRIDE * SIDE; i++)
        CHECK(depths[i] == 1);
}

void depth_map_tests(void)
{
    RUN(the_nearest_triangle_counts);
    RUN(depths_stay_between_those_of_the_corners);
    RUN(large_triangles_are_not_added);
}
