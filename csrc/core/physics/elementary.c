/* SPDX-License-Identifier: MIT */
#include "core/physics/elementary.h"

#include <math.h>
#include <stdint.h>

/* Constants in two parts: the first has so few bits that its multiples are exact. */
#define HALF_PI_HIGH 0x1.921fb544p+0
#define HALF_PI_LOW 0x1.0b4611a626331p-34
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define PI 3.14159265358979323846

/* 1 - t/(a b) (1 - t/(c d) (1 - ...)): the Taylor series of sine and cosine for t = angle squared,
   with factors from `first` on. */
static double alternating(double t, int first, int last)
{
    double sum = 1;
    for (int k = last; k >= first; k -= 2)
        sum = 1 - t / (double)(k * (k + 1)) * sum;
    return sum;
}

void mmd_sin_cos(double angle, double *sine, double *cosine)
{
    if (fabs(angle) > 1e6)
        angle = fmod(angle, 2 * PI);
    double quarters = floor(angle / (PI / 2) + 0.5);
    double rest = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW;
    double t = rest * rest;
    double s = rest * alternating(t, 2, 16), c = alternating(t, 1, 17);
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

/* Of 0 to 1: from the nearest eighth on, the series of what is left. */
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

double mmd_atan2(double y, double x)
{
    double across = fabs(y), along = fabs(x);
    if (across == 0 && along == 0)
        return 0;
    double angle = across <= along ? atan_unit(across / along) : PI / 2 - atan_unit(along / across);
    if (x < 0)
        angle = PI - angle;
    return y < 0 ? -angle : angle;
}

double mmd_asin(double sine)
{
    if (sine > 1)
        sine = 1;
    if (sine < -1)
        sine = -1;
    return mmd_atan2(sine, sqrt((1 - sine) * (1 + sine)));
}

static double natural_log(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        exponent--;
    }
    double s = (mantissa - 1) / (mantissa + 1), t = s * s, sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = 1.0 / k + t * sum;
    return exponent * LN2_HIGH + (exponent * LN2_LOW + 2 * s * sum);
}

double mmd_power(double base, double exponent)
{
    if (!(base > 0))
        return 0;
    double y = exponent * natural_log(base);
    if (y < -745)
        return 0;
    double twos = floor(y / (LN2_HIGH + LN2_LOW) + 0.5);
    double rest = (y - twos * LN2_HIGH) - twos * LN2_LOW, sum = 1;
    for (int k = 13; k >= 1; k--)
        sum = 1 + rest / k * sum;
    return ldexp(sum, (int)twos);
}
