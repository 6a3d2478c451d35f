/* SPDX-License-Identifier: MIT */
#include "core/render/coverage.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 23, HEIGHT = 17, STRIDE = 24 };

static mmd_coverage coverage_over(uint8_t *samples)
{
    memset(samples, 0, STRIDE * HEIGHT);
    mmd_coverage made = {.width = WIDTH, .height = HEIGHT, .stride = STRIDE, .samples = samples};
    mmd_coverage_begin(&made);
    return made;
}

/* How far a sample is inside of a triangle: the smallest distance from its sides, negative
   outside. */
static double depth_inside(const float corners[3][2], double x, double y)
{
    double area = 0, least = INFINITY;
    for (int i = 0; i < 3; i++) {
        const float *a = corners[i], *b = corners[(i + 1) % 3];
        area += (double)a[0] * (double)b[1] - (double)b[0] * (double)a[1];
    }
    for (int i = 0; i < 3; i++) {
        const float *a = corners[i], *b = corners[(i + 1) % 3];
        double dx = (double)b[0] - (double)a[0], dy = (double)b[1] - (double)a[1];
        double side = dx * (y - (double)a[1]) - dy * (x - (double)a[0]);
        least = fmin(least, (area < 0 ? -side : side) / hypot(dx, dy));
    }
    return least;
}

static void samples_inside_of_triangles_are_covered(void)
{
    uint32_t seed = 7;
    size_t covered = 0;
    for (int round = 0; round < 2000; round++) {
        uint8_t *samples = test_exact((uint8_t[STRIDE *HEIGHT]){0}, STRIDE * HEIGHT);
        mmd_coverage coverage = coverage_over(samples);
        float corners[3][2], size = round % 2 ? 15 : 1.5f;
        float x = (float)(test_random(&seed) % 4000) / 100 - 8,
              y = (float)(test_random(&seed) % 4000) / 100 - 8;
        for (int i = 0; i < 3; i++) {
            corners[i][0] = x + size * (float)(test_random(&seed) % 1000) / 1000;
            corners[i][1] = y + size * (float)(test_random(&seed) % 1000) / 1000;
        }
        CHECK(mmd_coverage_add(&coverage, corners[0], corners[1], corners[2]));
        for (size_t row = 0; row < HEIGHT; row++)
            for (size_t column = 0; column < STRIDE; column++) {
                bool found = samples[row * STRIDE + column] == 255;
                double inside = depth_inside((const float(*)[2])corners, (double)column + 0.5,
                                             (double)row + 0.5);
                covered += found;
                CHECK(found || samples[row * STRIDE + column] == 0);
                CHECK(!found ||
                      (column < WIDTH && column >= coverage.first[0] && column < coverage.end[0] &&
                       row >= coverage.first[1] && row < coverage.end[1]));
                if (column < WIDTH && fabs(inside) > 0.01)
                    CHECK(found == (inside > 0));
            }
        mmd_coverage_clear(&coverage);
        for (size_t i = 0; i < STRIDE * HEIGHT; i++)
            CHECK(samples[i] == 0);
        free(samples);
    }
    CHECK(covered > 3000);
}

static void triangles_with_a_common_side_leave_no_gap(void)
{
    uint8_t samples[STRIDE * HEIGHT];
    mmd_coverage coverage = coverage_over(samples);
    const float corners[4][2] = {{0, 0}, {15, 0}, {15, 15}, {0, 15}};
    CHECK(mmd_coverage_add(&coverage, corners[0], corners[1], corners[2]));
    CHECK(mmd_coverage_add(&coverage, corners[3], corners[2], corners[0]));
    for (size_t row = 0; row < HEIGHT; row++)
        for (size_t column = 0; column < WIDTH; column++)
            CHECK_INT(samples[row * STRIDE + column], row < 15 && column < 15 ? 255 : 0);
}

static void large_triangles_are_left_to_others(void)
{
    uint8_t samples[STRIDE * HEIGHT];
    mmd_coverage coverage = coverage_over(samples);
    const float corners[][2] = {{1, 1}, {3, 1}, {18, 3}, {2, INFINITY}, {NAN, 1}, {-1e30f, 2}};
    for (size_t i = 2; i < sizeof corners / sizeof *corners; i++)
        CHECK(!mmd_coverage_add(&coverage, corners[0], corners[1], corners[i]));
    CHECK(coverage.first[0] >= coverage.end[0] && coverage.first[1] >= coverage.end[1]);
    for (size_t i = 0; i < STRIDE * HEIGHT; i++)
        CHECK(samples[i] == 0);
}

static void triangles_without_area_or_outside_cover_nothing(void)
{
    uint8_t samples[STRIDE * HEIGHT];
    mmd_coverage coverage = coverage_over(samples);
    const float line[3][2] = {{0.5f, 0.5f}, {4.5f, 4.5f}, {8.5f, 8.5f}};
    CHECK(mmd_coverage_add(&coverage, line[0], line[1], line[2]));
    const float away[][2] = {{-9, 3}, {30, 3}, {3, -9}, {3, 30}, {1e9f, -1e9f}};
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        const float right[2] = {away[i][0] + 5, away[i][1]}, up[2] = {away[i][0], away[i][1] + 5};
        CHECK(mmd_coverage_add(&coverage, away[i], right, up));
    }
    for (size_t i = 0; i < STRIDE * HEIGHT; i++)
        CHECK(samples[i] == 0);
}

void coverage_tests(void)
{
    RUN(samples_inside_of_triangles_are_covered);
    RUN(triangles_with_a_common_side_leave_no_gap);
    RUN(large_triangles_are_left_to_others);
    RUN(triangles_without_area_or_outside_cover_nothing);
}
