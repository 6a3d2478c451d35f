/* SPDX-License-Identifier: MIT */
#ifndef MMD_VECTOR_H
#define MMD_VECTOR_H

#include "core/pose/quaternion.h"

/* Vectors and 3x3 matrices (rows) in double, beside those of quaternion.h. `out` is none of the
   arguments unless it is said otherwise. */

static inline void mmd_copy3(const double a[3], double out[3])
{
    out[0] = a[0], out[1] = a[1], out[2] = a[2];
}

/* out += a * scale */
static inline void mmd_add_scaled3(const double a[3], double scale, double out[3])
{
    out[0] += a[0] * scale, out[1] += a[1] * scale, out[2] += a[2] * scale;
}

/* out may be a. */
static inline void mmd_scale3(const double a[3], double scale, double out[3])
{
    out[0] = a[0] * scale, out[1] = a[1] * scale, out[2] = a[2] * scale;
}

/* out may be a or b. */
static inline void mmd_subtract3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[0] - b[0], out[1] = a[1] - b[1], out[2] = a[2] - b[2];
}

static inline double mmd_length3(const double a[3])
{
    return sqrt(mmd_dot3(a, a));
}

/* A vector without length stays as it is. */
static inline void mmd_normalize3(double a[3])
{
    double length = mmd_length3(a);
    if (length > 0)
        for (int i = 0; i < 3; i++)
            a[i] /= length;
}

/* A direction across a unit vector: in the plane y z when that is steep along z, else in x y. */
static inline void mmd_across3(const double v[3], double out[3])
{
    if (fabs(v[2]) > 0.70710678118654752440)
        out[0] = 0, out[1] = -v[2], out[2] = v[1];
    else
        out[0] = -v[1], out[1] = v[0], out[2] = 0;
    mmd_normalize3(out);
}

/* Rows of the matrix of a quaternion of unit length. */
static inline void mmd_unit_matrix(const double q[4], double m[3][3])
{
    double x = q[0], y = q[1], z = q[2], w = q[3];
    m[0][0] = 1 - 2 * (y * y + z * z), m[0][1] = 2 * (x * y - z * w), m[0][2] = 2 * (x * z + y * w);
    m[1][0] = 2 * (x * y + z * w), m[1][1] = 1 - 2 * (x * x + z * z), m[1][2] = 2 * (y * z - x * w);
    m[2][0] = 2 * (x * z - y * w), m[2][1] = 2 * (y * z + x * w), m[2][2] = 1 - 2 * (x * x + y * y);
}

static inline void mmd_column3(const double m[3][3], int column, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[i][column];
}

static inline void mmd_transform3(const double m[3][3], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = mmd_dot3(m[i], v);
}

/* By the transposed matrix, which is the inverse of a rotation. */
static inline void mmd_untransform3(const double m[3][3], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[0][i] * v[0] + m[1][i] * v[1] + m[2][i] * v[2];
}

static inline void mmd_matrix_multiply(const double a[3][3], const double b[3][3], double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = a[i][0] * b[0][k] + a[i][1] * b[1][k] + a[i][2] * b[2][k];
}

/* The first one transposed. */
static inline void mmd_matrix_unmultiply(const double a[3][3], const double b[3][3],
                                         double out[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = a[0][i] * b[0][k] + a[1][i] * b[1][k] + a[2][i] * b[2][k];
}

#endif
