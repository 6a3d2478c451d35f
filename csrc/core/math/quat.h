/* SPDX-License-Identifier: MIT */
#ifndef MMD_QUAT_H
#define MMD_QUAT_H

#include "core/math/scalar.h"
#include "core/math/vec3.h"

/* Quaternions x y z w in double. */

static inline void mmd_quat_identity(double q[4])
{
    mmd_double2_store((mmd_double2){0, 0}, q);
    mmd_double2_store((mmd_double2){0, 1}, q + 2);
}

static inline void mmd_quat_conjugate(const double q[4], double out[4])
{
    const mmd_double2_bits both = {INT64_MIN, INT64_MIN}, first = {INT64_MIN, 0};
    mmd_double2_store((mmd_double2)((mmd_double2_bits)mmd_double2_load(q) ^ both), out);
    mmd_double2_store((mmd_double2)((mmd_double2_bits)mmd_double2_load(q + 2) ^ first), out + 2);
}

/* The rotation b followed by a. `out` may be a or b.
   x = aw bx + ax bw + ay bz - az by    z = aw bz + az bw + ax by - ay bx
   y = aw by + ay bw + az bx - ax bz    w = aw bw - ax bx - ay by - az bz */
static inline void mmd_quat_multiply(const double a[4], const double b[4], double out[4])
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

/* Rotates v by the unit quaternion q: v + w t + q x t, where t = 2 (q x v). */
static inline mmd_simd_vec3 mmd_quat_rotate_simd(const double q[4], mmd_simd_vec3 v)
{
    mmd_double2 zw = mmd_double2_load(q + 2);
    mmd_simd_vec3 axis = {mmd_double2_load(q), zw[0]};
    mmd_simd_vec3 t = mmd_simd_vec3_scale(mmd_simd_vec3_cross(axis, v), 2);
    v = mmd_simd_vec3_add(v, mmd_simd_vec3_scale(t, zw[1]));
    mmd_double2 tz = {t.z, t.z}, az = {axis.z, axis.z};
    v.xy = v.xy +
           __builtin_shufflevector(axis.xy, az, 1, 2) * __builtin_shufflevector(tz, t.xy, 0, 2) -
           __builtin_shufflevector(az, axis.xy, 0, 2) * __builtin_shufflevector(t.xy, tz, 1, 2);
    v.z = v.z + axis.xy[0] * t.xy[1] - axis.xy[1] * t.xy[0];
    return v;
}

static inline void mmd_quat_rotate(const double q[4], const double v[3], double out[3])
{
    mmd_simd_vec3_store(mmd_quat_rotate_simd(q, mmd_simd_vec3_load(v)), out);
}

/* The zero quaternion becomes the identity. */
static inline void mmd_quat_normalize(double q[4])
{
    double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(square > 0)) {
        mmd_quat_identity(q);
        return;
    }
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
}

/* The axis must be of unit length; the angle is in radians. */
static inline void mmd_quat_from_axis_angle(const double axis[3], double angle, double out[4])
{
    double s;
    mmd_portable_sin_cos(angle / 2, &s, &out[3]);
    out[0] = axis[0] * s, out[1] = axis[1] * s, out[2] = axis[2] * s;
}

/* Spherical linear interpolation (Shoemake 1985) along the shorter arc between two unit
   quaternions, prepared once for many values of t. With the angle w between a and b, negated if a .
   b < 0:

     q(t) = (sin((1 - t) w) a + sin(t w) b) / sin(w), w = 2 atan2(|a - b|, |a + b|)

   The arc tangent is accurate for small angles, too, where the arc cosine of a . b is not. */
typedef struct mmd_slerp {
    double from[4], to[4]; /* `to` is negated where that makes the arc the shorter one */
    double angle;          /* between them, radians */
    double scale;          /* 1 / sin(angle); 0 for angles below 1e-6, which are lerped */
} mmd_slerp;

static inline void mmd_slerp_init(const double a[4], const double b[4], mmd_slerp *out)
{
    double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    double sign = dot < 0 ? -1 : 1, chord = 0, sum = 0;
    for (int i = 0; i < 4; i++) {
        chord += (a[i] - sign * b[i]) * (a[i] - sign * b[i]);
        sum += (a[i] + sign * b[i]) * (a[i] + sign * b[i]);
        out->from[i] = a[i];
        out->to[i] = sign * b[i];
    }
    out->angle = 2 * mmd_portable_atan2(sqrt(chord), sqrt(sum));
    out->scale = out->angle > 1e-6 ? 1 / mmd_portable_sin(out->angle) : 0;
}

/* A t outside 0 to 1 extrapolates along the same great circle. */
static inline void mmd_slerp_at(const mmd_slerp *slerp, double t, double out[4])
{
    double weight_from = 1 - t, weight_to = t;
    if (slerp->scale != 0) {
        weight_from = mmd_portable_sin((1 - t) * slerp->angle) * slerp->scale;
        weight_to = mmd_portable_sin(t * slerp->angle) * slerp->scale;
    }
    for (int i = 0; i < 4; i++)
        out[i] = weight_from * slerp->from[i] + weight_to * slerp->to[i];
    mmd_quat_normalize(out);
}

static inline void mmd_quat_slerp(const double a[4], const double b[4], double t, double out[4])
{
    mmd_slerp slerp;
    mmd_slerp_init(a, b, &slerp);
    mmd_slerp_at(&slerp, t, out);
}

#endif
