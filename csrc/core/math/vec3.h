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

#ifdef __SSE2__
#define MMD_SIMD_PICK(name, function, register_type, compare)                                      \
    (name) function((register_type)b, (register_type)a)
#else
#define MMD_SIMD_PICK(name, function, register_type, compare) name##_select(a compare b, b, a)
#endif

/* Numbers in one register. select: in each lane a number of `yes` if that lane's bits of the mask
   are set, else of `no`. max and min: in each lane; a where it is not less, or not greater, than b,
   also where one of them is NaN. */
#define MMD_SIMD(name, number, integer, register_type, suffix)                                     \
    typedef number name __attribute__((vector_size(16)));                                          \
    typedef integer name##_bits __attribute__((vector_size(16)));                                  \
    static inline name name##_select(name##_bits mask, name yes, name no)                          \
    {                                                                                              \
        return (name)((mask & (name##_bits)yes) | (~mask & (name##_bits)no));                      \
    }                                                                                              \
    static inline name name##_max(name a, name b)                                                  \
    {                                                                                              \
        return MMD_SIMD_PICK(name, _mm_max_##suffix, register_type, <);                            \
    }                                                                                              \
    static inline name name##_min(name a, name b)                                                  \
    {                                                                                              \
        return MMD_SIMD_PICK(name, _mm_min_##suffix, register_type, >);                            \
    }

MMD_SIMD(mmd_float4, float, int32_t, __m128, ps)
MMD_SIMD(mmd_double2, double, int64_t, __m128d, pd)

/* In pairs: loading a pair whose halves were just stored one by one stalls, as the CPU cannot
   forward both stores to one load. */
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
