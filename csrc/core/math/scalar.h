/* SPDX-License-Identifier: MIT */
#ifndef MMD_SCALAR_H
#define MMD_SCALAR_H

#include <math.h>

/* Numbers and angles, in double. */

#define MMD_PI 3.14159265358979323846
#define MMD_RADIANS_PER_DEGREE 0.017453292519943295

/* NaN stays NaN. */
static inline double mmd_clamp(double value, double lower, double upper)
{
    return value < lower ? lower : value > upper ? upper : value;
}

/* The angle plus whole turns that is nearest to another, in radians. */
static inline double mmd_unwrap_angle(double angle, double near)
{
    return angle - 2 * MMD_PI * round((angle - near) / (2 * MMD_PI));
}

#endif
