/* SPDX-License-Identifier: MIT */
#ifndef MMD_QUATERNION_H
#define MMD_QUATERNION_H

#include <math.h>
#include <string.h>

/* Quaternions x y z w in double, which cglm does not have: posing needs the precision,
   docs/mmd-behaviour.md#ik-precision. */

static inline double mmd_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void mmd_cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void mmd_quaternion_identity(double q[4])
{
    q[0] = q[1] = q[2] = 0;
    q[3] = 1;
}

/* b acts first. `out` may be one of the factors. */
static inline void mmd_quaternion_multiply(const double a[4], const double b[4], double out[4])
{
    double x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    double y = a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2];
    double z = a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0];
    double w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    out[0] = x, out[1] = y, out[2] = z, out[3] = w;
}

static inline void mmd_quaternion_rotate(const double q[4], const double v[3], double out[3])
{
    double t[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]),
                   2 * (q[0] * v[1] - q[1] * v[0])};
    double x = v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1];
    double y = v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2];
    double z = v[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0];
    out[0] = x, out[1] = y, out[2] = z;
}

/* Identity when the length is zero. */
static inline void mmd_quaternion_normalize(double q[4])
{
    double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(square > 0)) {
        mmd_quaternion_identity(q);
        return;
    }
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
}

/* The axis has unit length. */
static inline void mmd_quaternion_about(const double axis[3], double angle, double out[4])
{
    double s = sin(angle / 2);
    out[0] = axis[0] * s, out[1] = axis[1] * s, out[2] = axis[2] * s, out[3] = cos(angle / 2);
}

/* Along the shorter arc; beyond 0 and 1 on the same great circle. */
static inline void mmd_quaternion_slerp(const double a[4], const double b[4], double t,
                                        double out[4])
{
    double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    double sign = dot < 0 ? -1 : 1, chord = 0, sum = 0;
    for (int i = 0; i < 4; i++) {
        chord += (a[i] - sign * b[i]) * (a[i] - sign * b[i]);
        sum += (a[i] + sign * b[i]) * (a[i] + sign * b[i]);
    }
    double angle = 2 * atan2(sqrt(chord), sqrt(sum)), share_a = 1 - t, share_b = t;
    if (angle > 1e-6) {
        double scale = 1 / sin(angle);
        share_a = sin((1 - t) * angle) * scale;
        share_b = sin(t * angle) * scale;
    }
    for (int i = 0; i < 4; i++)
        out[i] = share_a * a[i] + sign * share_b * b[i];
    mmd_quaternion_normalize(out);
}

/* m: rows of a 3x3 matrix. The length of q is not zero, and does not matter. By `number`s, which
   are doubles or vectors of doubles. */
#define MMD_QUATERNION_MATRIX(number, q, m)                                                        \
    do {                                                                                           \
        number x_ = (q)[0], y_ = (q)[1], z_ = (q)[2], w_ = (q)[3];                                 \
        number s_ = 2.0 / (x_ * x_ + y_ * y_ + z_ * z_ + w_ * w_);                                 \
        number xs_ = x_ * s_, ys_ = y_ * s_, zs_ = z_ * s_;                                        \
        (m)[0][0] = 1.0 - (y_ * ys_ + z_ * zs_);                                                   \
        (m)[0][1] = y_ * xs_ - w_ * zs_;                                                           \
        (m)[0][2] = z_ * xs_ + w_ * ys_;                                                           \
        (m)[1][0] = y_ * xs_ + w_ * zs_;                                                           \
        (m)[1][1] = 1.0 - (x_ * xs_ + z_ * zs_);                                                   \
        (m)[1][2] = z_ * ys_ - w_ * xs_;                                                           \
        (m)[2][0] = z_ * xs_ - w_ * ys_;                                                           \
        (m)[2][1] = z_ * ys_ + w_ * xs_;                                                           \
        (m)[2][2] = 1.0 - (x_ * xs_ + y_ * ys_);                                                   \
    } while (0)

static inline void mmd_quaternion_matrix(const double q[4], double m[3][3])
{
    MMD_QUATERNION_MATRIX(double, q, m);
}

#endif
