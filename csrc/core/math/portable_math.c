/* SPDX-License-Identifier: MIT */
/* Sine, cosine, arc functions and power with the same bits on every system. */
#include "core/math/portable_math.h"

#include "core/math/scalar.h"

#include <math.h>
#include <stdint.h>

/* Constants split in two (Cody and Waite's argument reduction): the high part has so few bits that
   its small multiples are exact. */
#define HALF_PI_HIGH 0x1.921fb544p+0
#define HALF_PI_LOW 0x1.0b4611a626331p-34
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

/* 1 - t/(a b) (1 - t/(c d) (1 - ...)): the Taylor series of sine (first = 2) and cosine (first = 1)
   by Horner's scheme, t = angle squared. */
static double taylor_series(double t, int first, int last)
{
    double sum = 1;
    for (int k = last; k >= first; k -= 2)
        sum = 1 - t / (double)(k * (k + 1)) * sum;
    return sum;
}

void mmd_portable_sin_cos(double angle, double *sine, double *cosine)
{
    if (fabs(angle) > 1e6)
        angle = fmod(angle, 2 * MMD_PI);
    double quarters = floor(angle / (MMD_PI / 2) + 0.5);
    double remainder = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW;
    double t = remainder * remainder;
    double s = remainder * taylor_series(t, 2, 16), c = taylor_series(t, 1, 17);
    switch ((int64_t)quarters & 3) {
    case 0:
        *sine = s, *cosine = c;
        break;
    case 1:
        *sine = c, *cosine = -s;
        break;
    case 2:
        *sine = -s, *cosine = -c;
        break;
    default:
        *sine = -c, *cosine = s;
        break;
    }
}

/* The arc tangent of 0 to 1: that of the nearest eighth from a table, plus the Taylor series of the
   remainder. */
static double atan_unit(double tangent)
{
    static const double eighths[] = {0,
                                     0.12435499454676144,
                                     0.24497866312686414,
                                     0.35877067027057225,
                                     0.4636476090008061,
                                     0.5585993153435624,
                                     0.6435011087932844,
                                     0.7188299996216245,
                                     0.7853981633974483};
    int nearest = (int)(tangent * 8 + 0.5);
    double from = nearest / 8.0;
    double x = (tangent - from) / (1 + tangent * from), t = x * x, sum = 0;
    for (int k = 15; k >= 1; k -= 2)
        sum = 1.0 / k - t * sum;
    return eighths[nearest] + x * sum;
}

double mmd_portable_atan2(double y, double x)
{
    double across = fabs(y), along = fabs(x);
    if (across == 0 && along == 0)
        return 0;
    double angle =
        across <= along ? atan_unit(across / along) : MMD_PI / 2 - atan_unit(along / across);
    if (x < 0)
        angle = MMD_PI - angle;
    return y < 0 ? -angle : angle;
}

double mmd_portable_asin(double sine)
{
    sine = mmd_clamp(sine, -1, 1);
    return mmd_portable_atan2(sine, sqrt((1 - sine) * (1 + sine)));
}

static double natural_log(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        exponent--;
    }
    /* ln(m) = 2 artanh((m - 1) / (m + 1)) */
    double s = (mantissa - 1) / (mantissa + 1), t = s * s, sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = 1.0 / k + t * sum;
    return exponent * LN2_HIGH + (exponent * LN2_LOW + 2 * s * sum);
}

double mmd_portable_pow(double base, double exponent)
{
    if (!(base > 0))
        return 0;
    double y = exponent * natural_log(base);
    if (y < -745)
        return 0;
    double twos = floor(y / (LN2_HIGH + LN2_LOW) + 0.5);
    double remainder = (y - twos * LN2_HIGH) - twos * LN2_LOW, sum = 1;
    for (int k = 13; k >= 1; k--)
        sum = 1 + remainder / k * sum;
    return ldexp(sum, (int)twos);
}
