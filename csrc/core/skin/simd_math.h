/* SPDX-License-Identifier: MIT */
/* Vector math on WIDTH vertices side by side (structure of arrays), and the transposing stores. The
   including file defines the macros that skin_simd.h lists. */

#include "core/skin/mesh.h"

#include <float.h>
#include <string.h>

#define INLINE TARGET static inline __attribute__((always_inline))

typedef float simd_float __attribute__((vector_size(4 * WIDTH)));
typedef int32_t simd_mask __attribute__((vector_size(4 * WIDTH)));
typedef float simd_float4 __attribute__((vector_size(16)));

typedef struct simd_float3 {
    simd_float x, y, z;
} simd_float3;

/* Stores three floats only. */
INLINE void store_first3(float *out, simd_float4 v)
{
    memcpy(out, &v, 8);
    out[2] = v[2];
}

INLINE simd_float load(const float *row)
{
    return *(const simd_float *)row;
}

INLINE simd_float3 load3(const float *row)
{
    return (simd_float3){load(row), load(row + MMD_LANES), load(row + 2 * MMD_LANES)};
}

INLINE simd_float select1(simd_mask condition, simd_float yes, simd_float no)
{
    return (simd_float)((condition & (simd_mask)yes) | (~condition & (simd_mask)no));
}

INLINE simd_float3 select3(simd_mask condition, simd_float3 yes, simd_float3 no)
{
    return (simd_float3){select1(condition, yes.x, no.x), select1(condition, yes.y, no.y),
                         select1(condition, yes.z, no.z)};
}

INLINE simd_float dot3(simd_float3 a, simd_float3 b)
{
    return FMA(a.x, b.x, FMA(a.y, b.y, a.z * b.z));
}

INLINE simd_float3 cross3(simd_float3 a, simd_float3 b)
{
    return (simd_float3){FMA(a.y, b.z, -(a.z * b.y)), FMA(a.z, b.x, -(a.x * b.z)),
                         FMA(a.x, b.y, -(a.y * b.x))};
}

INLINE simd_float3 scale3(simd_float3 a, simd_float factor)
{
    return (simd_float3){a.x * factor, a.y * factor, a.z * factor};
}

INLINE simd_float3 add3(simd_float3 a, simd_float3 b)
{
    return (simd_float3){a.x + b.x, a.y + b.y, a.z + b.z};
}

/* a + b * factor */
INLINE simd_float3 add_scaled3(simd_float3 a, simd_float3 b, simd_float factor)
{
    return (simd_float3){FMA(b.x, factor, a.x), FMA(b.y, factor, a.y), FMA(b.z, factor, a.z)};
}

INLINE simd_float3 subtract3(simd_float3 a, simd_float3 b)
{
    return (simd_float3){a.x - b.x, a.y - b.y, a.z - b.z};
}

/* m: a 3x4 matrix by rows; column 3 is the translation. */
INLINE simd_float3 transform_vector(const simd_float m[12], simd_float3 v)
{
    return (simd_float3){FMA(m[0], v.x, FMA(m[1], v.y, m[2] * v.z)),
                         FMA(m[4], v.x, FMA(m[5], v.y, m[6] * v.z)),
                         FMA(m[8], v.x, FMA(m[9], v.y, m[10] * v.z))};
}

INLINE simd_float3 transform_point(const simd_float m[12], simd_float3 v)
{
    return (simd_float3){FMA(m[0], v.x, FMA(m[1], v.y, FMA(m[2], v.z, m[3]))),
                         FMA(m[4], v.x, FMA(m[5], v.y, FMA(m[6], v.z, m[7]))),
                         FMA(m[8], v.x, FMA(m[9], v.y, FMA(m[10], v.z, m[11])))};
}

/* One Newton-Raphson step from an estimate of 1 / sqrt(x). */
INLINE simd_float refine_rsqrt(simd_float x, simd_float estimate)
{
    simd_float half = x * SPLAT(0.5f);
    return estimate * FMA(-(half * estimate), estimate, SPLAT(1.5f));
}

INLINE simd_float3 normalized_or(simd_float3 v, simd_float3 otherwise)
{
    simd_float square = dot3(v, v);
    simd_float3 unit = scale3(v, RSQRT(square));
    simd_mask good = (square >= SPLAT(FLT_MIN)) & (square <= SPLAT(FLT_MAX));
    if (ANY(~good))
        unit = select3(good, unit, otherwise);
    return unit;
}

INLINE simd_float clamp01(simd_float x)
{
    x = select1(x > SPLAT(0), x, SPLAT(0));
    return select1(x < SPLAT(1), x, SPLAT(1));
}

INLINE simd_float3 splat3(const float v[3])
{
    return (simd_float3){SPLAT(v[0]), SPLAT(v[1]), SPLAT(v[2])};
}

INLINE void splat_rows(const float rows[12], simd_float m[12])
{
    for (int i = 0; i < 12; i++)
        m[i] = SPLAT(rows[i]);
}

INLINE simd_float square4(const simd_float q[4])
{
    return FMA(q[0], q[0], FMA(q[1], q[1], FMA(q[2], q[2], q[3] * q[3])));
}

/* As _mm_shuffle_ps: in every 128-bit half, two lanes of a, then two of b. */
#if WIDTH == 4
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k + 4, l + 4)
#else
#define SHUFFLE(a, b, i, j, k, l)                                                                  \
    __builtin_shufflevector(a, b, i, j, k + 8, l + 8, i + 4, j + 4, k + 12, l + 12)
#endif

INLINE void store(float *out, simd_float v)
{
    memcpy(out, &v, sizeof v);
}

/* To contiguous vertices: three full vectors. */
INLINE void store3_contiguous(float *out, simd_float3 v)
{
    simd_float xy = SHUFFLE(v.x, v.y, 0, 2, 0, 2), yz = SHUFFLE(v.y, v.z, 1, 3, 1, 3),
               zx = SHUFFLE(v.z, v.x, 0, 2, 1, 3);
    simd_float a = SHUFFLE(xy, zx, 0, 2, 0, 2), b = SHUFFLE(yz, xy, 0, 2, 1, 3),
               c = SHUFFLE(zx, yz, 1, 3, 1, 3);
#if WIDTH == 4
    store(out, a);
    store(out + 4, b);
    store(out + 8, c);
#else
    store(out, __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11));
    store(out + 8, __builtin_shufflevector(c, a, 0, 1, 2, 3, 12, 13, 14, 15));
    store(out + 16, __builtin_shufflevector(b, c, 4, 5, 6, 7, 12, 13, 14, 15));
#endif
}

/* Lane by lane. The last lane is stored first, so that unused lanes, which repeat the last vertex,
   are overwritten. */
INLINE void store3_scattered(float *out, const uint32_t *vertex, simd_float3 v, size_t stride)
{
    simd_float xy01 = SHUFFLE(v.x, v.y, 0, 1, 0, 1), xy23 = SHUFFLE(v.x, v.y, 2, 3, 2, 3);
    simd_float lane0 = SHUFFLE(xy01, v.z, 0, 2, 0, 0), lane1 = SHUFFLE(xy01, v.z, 1, 3, 1, 1),
               lane2 = SHUFFLE(xy23, v.z, 0, 2, 2, 2), lane3 = SHUFFLE(xy23, v.z, 1, 3, 3, 3);
#if WIDTH == 8
    STORE3(out + stride * vertex[7], QUARTET(lane3, 1));
    STORE3(out + stride * vertex[6], QUARTET(lane2, 1));
    STORE3(out + stride * vertex[5], QUARTET(lane1, 1));
    STORE3(out + stride * vertex[4], QUARTET(lane0, 1));
#endif
    STORE3(out + stride * vertex[3], QUARTET(lane3, 0));
    STORE3(out + stride * vertex[2], QUARTET(lane2, 0));
    STORE3(out + stride * vertex[1], QUARTET(lane1, 0));
    STORE3(out + stride * vertex[0], QUARTET(lane0, 0));
}
#undef SHUFFLE
