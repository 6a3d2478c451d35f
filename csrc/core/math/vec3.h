/* SPDX-License-Identifier: MIT */
#ifndef MMD_VEC3_H
#define MMD_VEC3_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Vectors of three doubles: mmd_vec3_* for those in memory, mmd_simd_vec3 for those in registers.
   cglm computes in float; posing and physics need double, docs/mmd-behavior.md#ik-precision.
   `out` must not be an argument unless the function says otherwise. */

static inline double mmd_vec3_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void mmd_vec3_cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* a . (b x c): the signed volume of a parallelepiped. */
static inline double mmd_vec3_triple_product(const double a[3], const double b[3],
                                             const double c[3])
{
    double cross[3];
    mmd_vec3_cross(b, c, cross);
    return mmd_vec3_dot(a, cross);
}

static inline void mmd_vec3_copy(const double a[3], double out[3])
{
    out[0] = a[0], out[1] = a[1], out[2] = a[2];
}

/* out += a * scale */
static inline void mmd_vec3_add_scaled(const double a[3], double scale, double out[3])
{
    out[0] += a[0] * scale, out[1] += a[1] * scale, out[2] += a[2] * scale;
}

/* out may be a. */
static inline void mmd_vec3_scale(const double a[3], double scale, double out[3])
{
    out[0] = a[0] * scale, out[1] = a[1] * scale, out[2] = a[2] * scale;
}

/* out may be a or b. */
static inline void mmd_vec3_subtract(const double a[3], const double b[3], double out[3])
{
    out[0] = a[0] - b[0], out[1] = a[1] - b[1], out[2] = a[2] - b[2];
}

static inline double mmd_vec3_length(const double a[3])
{
    return sqrt(mmd_vec3_dot(a, a));
}

static inline double mmd_vec3_squared_distance(const double a[3], const double b[3])
{
    double difference[3];
    mmd_vec3_subtract(a, b, difference);
    return mmd_vec3_dot(difference, difference);
}

static inline double mmd_vec3_distance(const double a[3], const double b[3])
{
    return sqrt(mmd_vec3_squared_distance(a, b));
}

/* False for a zero vector, which is left unchanged. */
static inline bool mmd_vec3_normalize(double a[3])
{
    double length = mmd_vec3_length(a);
    for (int i = 0; i < 3 && length > 0; i++)
        a[i] /= length;
    return length > 0;
}

/* A unit vector perpendicular to a unit vector: in the yz plane if |z| > sqrt(1/2), else in the xy
   plane, as Bullet's btPlaneSpace1 chooses it. */
static inline void mmd_vec3_perpendicular(const double v[3], double out[3])
{
    if (fabs(v[2]) > 0.70710678118654752440)
        out[0] = 0, out[1] = -v[2], out[2] = v[1];
    else
        out[0] = -v[1], out[1] = v[0], out[2] = 0;
    mmd_vec3_normalize(out);
}

/* Two doubles in one register. Store and load in pairs: loading a pair whose halves were just
   stored one by one stalls, as the CPU cannot forward both stores to one load. */
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

/* In each lane a number of `yes` if that lane's bits of the mask are set, else of `no`. */
static inline mmd_double2 mmd_double2_select(mmd_double2_bits mask, mmd_double2 yes, mmd_double2 no)
{
    return (mmd_double2)((mask & (mmd_double2_bits)yes) | (~mask & (mmd_double2_bits)no));
}

/* In each lane; a where it is not less, or not greater, than b, also where one of them is NaN. */
static inline mmd_double2 mmd_double2_max(mmd_double2 a, mmd_double2 b)
{
#ifdef __SSE2__
    return (mmd_double2)_mm_max_pd((__m128d)b, (__m128d)a);
#else
    return mmd_double2_select(a < b, b, a);
#endif
}

static inline mmd_double2 mmd_double2_min(mmd_double2 a, mmd_double2 b)
{
#ifdef __SSE2__
    return (mmd_double2)_mm_min_pd((__m128d)b, (__m128d)a);
#else
    return mmd_double2_select(a > b, b, a);
#endif
}

/* Four floats in one register. */
typedef float mmd_float4 __attribute__((vector_size(16)));
typedef int32_t mmd_float4_bits __attribute__((vector_size(16)));

/* In each lane a number of `yes` if that lane's bits of the mask are set, else of `no`. */
static inline mmd_float4 mmd_float4_select(mmd_float4_bits mask, mmd_float4 yes, mmd_float4 no)
{
    return (mmd_float4)((mask & (mmd_float4_bits)yes) | (~mask & (mmd_float4_bits)no));
}

/* In each lane; a where it is not less, or not greater, than b, also where one of them is NaN. */
static inline mmd_float4 mmd_float4_max(mmd_float4 a, mmd_float4 b)
{
#ifdef __SSE2__
    return (mmd_float4)_mm_max_ps((__m128)b, (__m128)a);
#else
    return mmd_float4_select(a < b, b, a);
#endif
}

static inline mmd_float4 mmd_float4_min(mmd_float4 a, mmd_float4 b)
{
#ifdef __SSE2__
    return (mmd_float4)_mm_min_ps((__m128)b, (__m128)a);
#else
    return mmd_float4_select(a > b, b, a);
#endif
}

/* Three doubles in registers. */
typedef struct mmd_simd_vec3 {
    mmd_double2 xy;
    double z;
} mmd_simd_vec3;

static inline mmd_simd_vec3 mmd_simd_vec3_load(const double v[3])
{
    return (mmd_simd_vec3){mmd_double2_load(v), v[2]};
}

static inline void mmd_simd_vec3_store(mmd_simd_vec3 v, double out[3])
{
    mmd_double2_store(v.xy, out);
    out[2] = v.z;
}

static inline mmd_simd_vec3 mmd_simd_vec3_add(mmd_simd_vec3 a, mmd_simd_vec3 b)
{
    return (mmd_simd_vec3){a.xy + b.xy, a.z + b.z};
}

static inline mmd_simd_vec3 mmd_simd_vec3_subtract(mmd_simd_vec3 a, mmd_simd_vec3 b)
{
    return (mmd_simd_vec3){a.xy - b.xy, a.z - b.z};
}

static inline mmd_simd_vec3 mmd_simd_vec3_scale(mmd_simd_vec3 v, double factor)
{
    return (mmd_simd_vec3){v.xy * factor, v.z * factor};
}

static inline double mmd_simd_vec3_dot(mmd_simd_vec3 a, mmd_simd_vec3 b)
{
    mmd_double2 products = a.xy * b.xy;
    return products[0] + products[1] + a.z * b.z;
}

static inline mmd_simd_vec3 mmd_simd_vec3_cross(mmd_simd_vec3 a, mmd_simd_vec3 b)
{
    mmd_double2 az = {a.z, a.z}, bz = {b.z, b.z};
    mmd_double2 xy =
        __builtin_shufflevector(a.xy, az, 1, 2) * __builtin_shufflevector(bz, b.xy, 0, 2) -
        __builtin_shufflevector(az, a.xy, 0, 2) * __builtin_shufflevector(b.xy, bz, 1, 2);
    return (mmd_simd_vec3){xy, a.xy[0] * b.xy[1] - a.xy[1] * b.xy[0]};
}

#endif
