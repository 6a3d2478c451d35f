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

/* Functions that C libraries round differently. These give the same bits on every system and
   compiler, because they use only operations that IEEE 754 rounds correctly: a simulation amplifies
   a difference in the last bit until its results differ visibly, also one of the pose that drives
   it. The error is below 2e-16, relative to the result or to 1 (sine and cosine: for angles up to
   1e6). */

double mmd_portable_sin(double angle);
void mmd_portable_sin_cos(double angle, double *sine, double *cosine);
double mmd_portable_atan2(double y, double x);

/* Sine and cosine are clamped to -1 to 1. */
double mmd_portable_asin(double sine);
double mmd_portable_acos(double cosine);

/* base 0 to 1, exponent > 0; 0 for a base of 0 or less. */
double mmd_portable_pow(double base, double exponent);

#endif
