/* SPDX-License-Identifier: MIT */
/* Gravity by frames, with noise from a hash of seed, frame and axis. */
#include "core/physics/gravity.h"

#include "core/base/error.h"
#include "core/math/scalar.h"
#include "core/physics/body.h"

#include <math.h>

#define MAX_FRAME 1e15 /* beyond, doubles have few fractions */

bool mmd_gravity_check_vector(const double gravity[3], mmd_error *err)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(gravity[i]) <= MMD_BODY_LIMIT))
            return mmd_fail(err, MMD_E_ARGUMENT, "gravity: %g, expected at most 1e6", gravity[i]);
    return true;
}

bool mmd_gravity_check(const mmd_gravity *gravity, mmd_error *err)
{
    if (gravity->rows && !gravity->row_count)
        return mmd_fail(err, MMD_E_ARGUMENT, "gravity: 0 rows, expected at least 1");
    for (size_t i = 0; gravity->rows && i < 3 * gravity->row_count; i++)
        if (!(fabs(gravity->rows[i]) <= MMD_BODY_LIMIT))
            return mmd_fail(err, MMD_E_ARGUMENT, "gravity[%zu, %zu]: %g, expected at most 1e6",
                            i / 3, i % 3, gravity->rows[i]);
    if (!(gravity->noise >= 0 && gravity->noise <= MMD_BODY_LIMIT))
        return mmd_fail(err, MMD_E_ARGUMENT, "gravity_noise: %g, expected 0 to 1e6",
                        gravity->noise);
    return true;
}

/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t mixed(uint64_t bits)
{
    bits += 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return bits ^ bits >> 31;
}

/* A random number of -1 to 1. */
static double random_number(uint32_t seed, int64_t frame, int axis)
{
    uint64_t bits = mixed(mixed((uint64_t)seed << 2 | (uint64_t)axis) ^ (uint64_t)frame);
    return (double)(bits >> 11) * 0x1p-52 - 1;
}

void mmd_gravity_at(const mmd_gravity *gravity, const double constant[3], double frame,
                    double result[3])
{
    double last = gravity->row_count > 0 ? (double)(gravity->row_count - 1) : 0;
    double place = mmd_clamp(frame, 0, last), row = floor(place);
    const double *from = gravity->rows ? gravity->rows + 3 * (size_t)row : constant;
    const double *to = gravity->rows && row < last ? from + 3 : from;
    frame = mmd_clamp(frame, -MAX_FRAME, MAX_FRAME);
    int64_t before = (int64_t)floor(frame);
    double fraction = frame - floor(frame);
    for (int i = 0; i < 3; i++) {
        result[i] = from[i] + (place - row) * (to[i] - from[i]);
        if (gravity->noise == 0)
            continue;
        double a = random_number(gravity->seed, before, i);
        double b = random_number(gravity->seed, before + 1, i);
        result[i] += gravity->noise * (a + fraction * (b - a));
    }
}
