/* SPDX-License-Identifier: MIT */
#ifndef MMD_MAT3_H
#define MMD_MAT3_H

#include "core/math/vec3.h"

/* 3x3 matrices in double: rows, which multiply column vectors. `out` must not be an argument. */

/* The rotation matrix of a quaternion of any length but zero. `scalar_type` is double or a vector
   of doubles, which converts as many quaternions at once. */
#define MMD_MAT3_FROM_QUAT(scalar_type, q, m)                                                      \
    do {                                                                                           \
        scalar_type x_ = (q)[0], y_ = (q)[1], z_ = (q)[2], w_ = (q)[3];                            \
        scalar_type s_ = 2.0 / (x_ * x_ + y_ * y_ + z_ * z_ + w_ * w_);                            \
        scalar_type xs_ = x_ * s_, ys_ = y_ * s_, zs_ = z_ * s_;                                   \
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

static inline void mmd_mat3_from_quat(const double q[4], double m[3][3])
{
    MMD_MAT3_FROM_QUAT(double, q, m);
}

/* The rotation matrix of a unit quaternion. */
static inline void mmd_mat3_from_unit_quat(const double q[4], double m[3][3])
{
    double x = q[0], y = q[1], z = q[2], w = q[3];
    m[0][0] = 1 - 2 * (y * y + z * z), m[0][1] = 2 * (x * y - z * w), m[0][2] = 2 * (x * z + y * w);
    m[1][0] = 2 * (x * y + z * w), m[1][1] = 1 - 2 * (x * x + z * z), m[1][2] = 2 * (y * z - x * w);
    m[2][0] = 2 * (x * z - y * w), m[2][1] = 2 * (y * z + x * w), m[2][2] = 1 - 2 * (x * x + y * y);
}

/* A quaternion of a rotation matrix (Shepperd 1978), of length 2 sqrt(c): it is found from its
   component of at least 1/2, so that no digits are lost. Returns c, 4 times that component squared.
   A rotation's quaternion is q / (2 sqrt(c)). */
static inline double mmd_mat3_to_scaled_quat(const double m[3][3], double q[4])
{
    double xy = m[1][0] + m[0][1], xz = m[2][0] + m[0][2], yz = m[2][1] + m[1][2];
    double wx = m[2][1] - m[1][2], wy = m[0][2] - m[2][0], wz = m[1][0] - m[0][1];
    double c;
    if (m[0][0] + m[1][1] + m[2][2] >= 0) {
        c = 1 + m[0][0] + m[1][1] + m[2][2];
        q[0] = wx, q[1] = wy, q[2] = wz, q[3] = c;
    } else if (m[0][0] >= m[1][1] && m[0][0] >= m[2][2]) {
        c = 1 + m[0][0] - m[1][1] - m[2][2];
        q[0] = c, q[1] = xy, q[2] = xz, q[3] = wx;
    } else if (m[1][1] >= m[2][2]) {
        c = 1 + m[1][1] - m[0][0] - m[2][2];
        q[0] = xy, q[1] = c, q[2] = yz, q[3] = wy;
    } else {
        c = 1 + m[2][2] - m[0][0] - m[1][1];
        q[0] = xz, q[1] = yz, q[2] = c, q[3] = wz;
    }
    return c;
}

static inline void mmd_mat3_column(const double m[3][3], int column, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[i][column];
}

static inline void mmd_mat3_transform(const double m[3][3], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = mmd_vec3_dot(m[i], v);
}

/* By the transpose of m, which is the inverse of a rotation. */
static inline void mmd_mat3_transform_transposed(const double m[3][3], const double v[3],
                                                 double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[0][i] * v[0] + m[1][i] * v[1] + m[2][i] * v[2];
}

static inline void mmd_mat3_multiply(const double a[3][3], const double b[3][3], double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = a[i][0] * b[0][k] + a[i][1] * b[1][k] + a[i][2] * b[2][k];
}

/* The transpose of a times b. */
static inline void mmd_mat3_multiply_transposed(const double a[3][3], const double b[3][3],
                                                double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = a[0][i] * b[0][k] + a[1][i] * b[1][k] + a[2][i] * b[2][k];
}

#endif
