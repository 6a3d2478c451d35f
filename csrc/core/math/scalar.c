/* SPDX-License-Identifier: MIT */
/* Sine, cosine, arc functions and power with the same bits on every system. */
#include "core/math/scalar.h"

#include <math.h>
#include <stdint.h>

/* Constants split in two (Cody and Waite's argument reduction): the high part has so few bits that
   its small multiples are exact. */
#define HALF_PI_HIGH 0x1.921fb544p+0
#define HALF_PI_LOW 0x1.0b4611a626331p-34
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

/* Terms of the series are added in pairs (Estrin's scheme), which a processor computes side by
 * side. */

/* sin(x) for |x| <= pi/4: Taylor series to x^17. */
static double sin_eighth(double x)
{
    double t = x * x, t2 = t * t;
    double low = (-1.0 / 6 + t * (1.0 / 120)) + t2 * (-1.0 / 5040 + t * (1.0 / 362880));
    double high = (-1.0 / 39916800 + t * (1.0 / 6227020800)) +
                  t2 * (-1.0 / 1307674368000 + t * (1.0 / 355687428096000));
    return x + x * t * (low + t2 * t2 * high);
}

/* cos(x) for |x| <= pi/4: Taylor series to x^16. */
static double cos_eighth(double x)
{
    double t = x * x, t2 = t * t;
    double low = (1.0 / 24 + t * (-1.0 / 720)) + t2 * (1.0 / 40320 + t * (-1.0 / 3628800));
    double high = (1.0 / 479001600 + t * (-1.0 / 87178291200)) + t2 * (1.0 / 20922789888000);
    return (1 - t / 2) + t2 * (low + t2 * t2 * high);
}

/* The remainder, at most an eighth of a turn, after the nearest number of quarter turns; returns
   that number modulo 4. */
static unsigned reduce(double angle, double *remainder)
{
    if (!(fabs(angle) <= 1e6))
        angle = fmod(angle, 2 * MMD_PI);
    *remainder = angle;
    if (!(fabs(angle) > MMD_PI / 4)) /* also for NaN */
        return 0;
    int quarters = (int)(angle * (2 / MMD_PI) + (angle < 0 ? -0.5 : 0.5));
    *remainder = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW;
    return (unsigned)quarters & 3;
}

double mmd_portable_sin(double angle)
{
    double x;
    unsigned quarter = reduce(angle, &x);
    double value = quarter & 1 ? cos_eighth(x) : sin_eighth(x);
    return quarter & 2 ? -value : value;
}

void mmd_portable_sin_cos(double angle, double *sine, double *cosine)
{
    double x;
    unsigned quarter = reduce(angle, &x);
    double s = sin_eighth(x), c = cos_eighth(x);
    double across = quarter & 1 ? c : s, along = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -across : across;
    *cosine = (quarter + 1) & 2 ? -along : along;
}

/* The angle of a direction up to an eighth of a turn, 0 <= y <= x: that of the nearest eighth of
   its tangent from a table, plus the Taylor series of the remainder. */
static double angle_in_eighth(double y, double x)
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
    double tangent = y / x;
    int nearest = tangent < 1 ? (int)(tangent * 8 + 0.5) : 8;
    double from = nearest / 8.0;
    double r = (tangent - from) / (1 + tangent * from), t = r * r, t2 = t * t;
    double low = -1.0 / 3 + t * (1.0 / 5), middle = -1.0 / 7 + t * (1.0 / 9);
    double high = -1.0 / 11 + t * (1.0 / 13);
    return eighths[nearest] + (r + r * t * (low + t2 * (middle + t2 * high)));
}

double mmd_portable_atan2(double y, double x)
{
    double across = fabs(y), along = fabs(x);
    if (across == 0 && along == 0)
        return 0;
    double angle = across <= along ? angle_in_eighth(across, along)
                                   : MMD_PI / 2 - angle_in_eighth(along, across);
    if (x < 0)
        angle = MMD_PI - angle;
    return y < 0 ? -angle : angle;
}

double mmd_portable_acos(double cosine)
{
    cosine = mmd_clamp(cosine, -1, 1);
    return mmd_portable_atan2(sqrt((1 - cosine) * (1 + cosine)), cosine);
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
