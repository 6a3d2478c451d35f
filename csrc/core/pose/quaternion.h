/* SPDX-License-Identifier: MIT */
#ifndef MMD_QUATERNION_H
#define MMD_QUATERNION_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Quaternions x y z w in double, which cglm does not have: posing needs the precision,
   docs/mmd-behaviour.md#ik-precision. */

/* Two components side by side. What was stored as a pair can be loaded as one or one by one at
   once, but a core that loads a pair waits for halves that were just stored. */
typedef double mmd_double2 __attribute__((vector_size(16)));
typedef int64_t mmd_double2_bits __attribute__((vector_size(16)));

static inline mmd_double2 mmd_double2_load(const double *from)
{
    mmd_double2 pair;
    memcpy(&pair, from, sizeof pair);
    return pair;
}

static inline void mmd_double2_store(mmd_double2 pair, double *to)
{
    memcpy(to, &pair, sizeof pair);
}

/* Three components in registers. */
typedef struct mmd_vector {
    mmd_double2 xy;
    double z;
} mmd_vector;

static inline mmd_vector mmd_vector_load(const double v[3])
{
    return (mmd_vector){mmd_double2_load(v), v[2]};
}

static inline void mmd_vector_store(mmd_vector v, double out[3])
{
    mmd_double2_store(v.xy, out);
    out[2] = v.z;
}

static inline mmd_vector mmd_vector_add(mmd_vector a, mmd_vector b)
{
    return (mmd_vector){a.xy + b.xy, a.z + b.z};
}

static inline mmd_vector mmd_vector_subtract(mmd_vector a, mmd_vector b)
{
    return (mmd_vector){a.xy - b.xy, a.z - b.z};
}

static inline mmd_vector mmd_vector_scale(mmd_vector v, double factor)
{
    return (mmd_vector){v.xy * factor, v.z * factor};
}

static inline double mmd_vector_dot(mmd_vector a, mmd_vector b)
{
    mmd_double2 products = a.xy * b.xy;
    return products[0] + products[1] + a.z * b.z;
}

static inline mmd_vector mmd_vector_cross(mmd_vector a, mmd_vector b)
{
    mmd_double2 az = {a.z, a.z}, bz = {b.z, b.z};
    mmd_double2 xy =
        __builtin_shufflevector(a.xy, az, 1, 2) * __builtin_shufflevector(bz, b.xy, 0, 2) -
        __builtin_shufflevector(az, a.xy, 0, 2) * __builtin_shufflevector(b.xy, bz, 1, 2);
    return (mmd_vector){xy, a.xy[0] * b.xy[1] - a.xy[1] * b.xy[0]};
}

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
    mmd_double2_store((mmd_double2){0, 0}, q);
    mmd_double2_store((mmd_double2){0, 1}, q + 2);
}

static inline void mmd_quaternion_conjugate(const double q[4], double out[4])
{
    const mmd_double2_bits both = {INT64_MIN, INT64_MIN}, first = {INT64_MIN, 0};
    mmd_double2_store((mmd_double2)((mmd_double2_bits)mmd_double2_load(q) ^ both), out);
    mmd_double2_store((mmd_double2)((mmd_double2_bits)mmd_double2_load(q + 2) ^ first), out + 2);
}

/* b acts first. `out` may be one of the factors.
   x = aw bx + ax bw + ay bz - az by    z = aw bz + az bw + ax by - ay bx
   y = aw by + ay bw + az bx - ax bz    w = aw bw - ax bx - ay by - az bz */
static inline void mmd_quaternion_multiply(const double a[4], const double b[4], double out[4])
{
    const mmd_double2_bits flip = {0, INT64_MIN};
    mmd_double2 axy = mmd_double2_load(a), azw = mmd_double2_load(a + 2);
    mmd_double2 bxy = mmd_double2_load(b), bzw = mmd_double2_load(b + 2);
    mmd_double2 aww = __builtin_shufflevector(azw, azw, 1, 1);
    mmd_double2 ayz = __builtin_shufflevector(axy, azw, 1, 2);
    mmd_double2 azx = __builtin_shufflevector(azw, axy, 0, 2);
    mmd_double2 xy = aww * bxy + axy * __builtin_shufflevector(bzw, bzw, 1, 1) +
                     ayz * __builtin_shufflevector(bzw, bxy, 0, 2) -
                     azx * __builtin_shufflevector(bxy, bzw, 1, 2);
    mmd_double2 zw =
        aww * bzw +
        (mmd_double2)((mmd_double2_bits)azx ^ flip) * __builtin_shufflevector(bzw, bxy, 1, 2) +
        (mmd_double2)((mmd_double2_bits)axy ^ flip) * __builtin_shufflevector(bxy, bxy, 1, 1) -
        ayz * __builtin_shufflevector(bxy, bzw, 0, 2);
    mmd_double2_store(xy, out);
    mmd_double2_store(zw, out + 2);
}

/* By q of length 1: v + w t + q x t, where t = 2 (q x v). */
static inline mmd_vector mmd_vector_rotate(const double q[4], mmd_vector v)
{
    mmd_double2 zw = mmd_double2_load(q + 2);
    mmd_vector axis = {mmd_double2_load(q), zw[0]};
    mmd_vector t = mmd_vector_scale(mmd_vector_cross(axis, v), 2);
    v = mmd_vector_add(v, mmd_vector_scale(t, zw[1]));
    mmd_double2 tz = {t.z, t.z}, az = {axis.z, axis.z};
    v.xy = v.xy +
           __builtin_shufflevector(axis.xy, az, 1, 2) * __builtin_shufflevector(tz, t.xy, 0, 2) -
           __builtin_shufflevector(az, axis.xy, 0, 2) * __builtin_shufflevector(t.xy, tz, 1, 2);
    v.z = v.z + axis.xy[0] * t.xy[1] - axis.xy[1] * t.xy[0];
    return v;
}

static inline void mmd_quaternion_rotate(const double q[4], const double v[3], double out[3])
{
    mmd_vector_store(mmd_vector_rotate(q, mmd_vector_load(v)), out);
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

/* The shorter arc between two unit quaternions. */
typedef struct mmd_arc {
    double from[4], to[4]; /* of which one may be of the other sign */
    double angle, scale;   /* between them, one over its sine; below 1e-6 a straight line serves */
} mmd_arc;

static inline void mmd_arc_make(const double a[4], const double b[4], mmd_arc *out)
{
    double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    double sign = dot < 0 ? -1 : 1, chord = 0, sum = 0;
    for (int i = 0; i < 4; i++) {
        chord += (a[i] - sign * b[i]) * (a[i] - sign * b[i]);
        sum += (a[i] + sign * b[i]) * (a[i] + sign * b[i]);
        out->from[i] = a[i];
        out->to[i] = sign * b[i];
    }
    out->angle = 2 * atan2(sqrt(chord), sqrt(sum));
    out->scale = out->angle > 1e-6 ? 1 / sin(out->angle) : 0;
}

/* Beyond 0 and 1 on the same great circle. */
static inline void mmd_arc_at(const mmd_arc *arc, double t, double out[4])
{
    double share_from = 1 - t, share_to = t;
    if (arc->scale != 0) {
        share_from = sin((1 - t) * arc->angle) * arc->scale;
        share_to = sin(t * arc->angle) * arc->scale;
    }
    for (int i = 0; i < 4; i++)
        out[i] = share_from * arc->from[i] + share_to * arc->to[i];
    mmd_quaternion_normalize(out);
}

static inline void mmd_quaternion_slerp(const double a[4], const double b[4], double t,
                                        double out[4])
{
    mmd_arc arc;
    mmd_arc_make(a, b, &arc);
    mmd_arc_at(&arc, t, out);
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
