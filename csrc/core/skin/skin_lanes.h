/* SPDX-License-Identifier: MIT */
/* Arithmetic on WIDTH vertices side by side, and their storing: what skin_kernel.h is written in.
   The macros are those that it lists. */

#include "core/skin/skin_vector.h"

#include <float.h>
#include <string.h>

#define INLINE TARGET static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * WIDTH)));
typedef int32_t mask __attribute__((vector_size(4 * WIDTH)));
typedef float quad __attribute__((vector_size(16)));

typedef struct lanes3 {
    vec x, y, z;
} lanes3;

/* Three floats and no more. */
INLINE void store_first3(float *out, quad v)
{
    memcpy(out, &v, 8);
    out[2] = v[2];
}

INLINE vec load(const float *row)
{
    return *(const vec *)row;
}

INLINE lanes3 load3(const float *row)
{
    return (lanes3){load(row), load(row + MMD_LANES), load(row + 2 * MMD_LANES)};
}

INLINE vec choose(mask which, vec yes, vec no)
{
    return (vec)((which & (mask)yes) | (~which & (mask)no));
}

INLINE lanes3 choose3(mask which, lanes3 yes, lanes3 no)
{
    return (lanes3){choose(which, yes.x, no.x), choose(which, yes.y, no.y),
                    choose(which, yes.z, no.z)};
}

INLINE vec dot3(lanes3 a, lanes3 b)
{
    return FMA(a.x, b.x, FMA(a.y, b.y, a.z * b.z));
}

INLINE lanes3 cross3(lanes3 a, lanes3 b)
{
    return (lanes3){FMA(a.y, b.z, -(a.z * b.y)), FMA(a.z, b.x, -(a.x * b.z)),
                    FMA(a.x, b.y, -(a.y * b.x))};
}

INLINE lanes3 scale3(lanes3 a, vec by)
{
    return (lanes3){a.x * by, a.y * by, a.z * by};
}

INLINE lanes3 add3(lanes3 a, lanes3 b)
{
    return (lanes3){a.x + b.x, a.y + b.y, a.z + b.z};
}

/* a + b by */
INLINE lanes3 add_scaled3(lanes3 a, lanes3 b, vec by)
{
    return (lanes3){FMA(b.x, by, a.x), FMA(b.y, by, a.y), FMA(b.z, by, a.z)};
}

INLINE lanes3 subtract3(lanes3 a, lanes3 b)
{
    return (lanes3){a.x - b.x, a.y - b.y, a.z - b.z};
}

/* m: three rows of four, the last column a translation. */
INLINE lanes3 turn(const vec m[12], lanes3 v)
{
    return (lanes3){FMA(m[0], v.x, FMA(m[1], v.y, m[2] * v.z)),
                    FMA(m[4], v.x, FMA(m[5], v.y, m[6] * v.z)),
                    FMA(m[8], v.x, FMA(m[9], v.y, m[10] * v.z))};
}

INLINE lanes3 move(const vec m[12], lanes3 v)
{
    return (lanes3){FMA(m[0], v.x, FMA(m[1], v.y, FMA(m[2], v.z, m[3]))),
                    FMA(m[4], v.x, FMA(m[5], v.y, FMA(m[6], v.z, m[7]))),
                    FMA(m[8], v.x, FMA(m[9], v.y, FMA(m[10], v.z, m[11])))};
}

INLINE lanes3 unit_or(lanes3 v, lanes3 otherwise)
{
    vec square = dot3(v, v);
    lanes3 unit = scale3(v, RSQRT(square));
    mask good = (square >= SPLAT(FLT_MIN)) & (square <= SPLAT(FLT_MAX));
    if (ANY(~good))
        unit = choose3(good, unit, otherwise);
    return unit;
}

INLINE vec clamp01(vec x)
{
    x = choose(x > SPLAT(0), x, SPLAT(0));
    return choose(x < SPLAT(1), x, SPLAT(1));
}

INLINE lanes3 splat3(const float v[3])
{
    return (lanes3){SPLAT(v[0]), SPLAT(v[1]), SPLAT(v[2])};
}

INLINE void splat_rows(const float rows[12], vec m[12])
{
    for (int i = 0; i < 12; i++)
        m[i] = SPLAT(rows[i]);
}

INLINE vec square4(const vec q[4])
{
    return FMA(q[0], q[0], FMA(q[1], q[1], FMA(q[2], q[2], q[3] * q[3])));
}

/* PICK: in every quad, two lanes of a and then two of b. */
#if WIDTH == 4
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k + 4, l + 4)
#else
#define PICK(a, b, i, j, k, l)                                                                     \
    __builtin_shufflevector(a, b, i, j, k + 8, l + 8, i + 4, j + 4, k + 12, l + 12)
#endif

INLINE void store(float *out, vec v)
{
    memcpy(out, &v, sizeof v);
}

/* The vertices lie side by side in the mesh: as three whole vectors. */
INLINE void store3_run(float *out, lanes3 v)
{
    vec xy = PICK(v.x, v.y, 0, 2, 0, 2), yz = PICK(v.y, v.z, 1, 3, 1, 3),
        zx = PICK(v.z, v.x, 0, 2, 1, 3);
    vec a = PICK(xy, zx, 0, 2, 0, 2), b = PICK(yz, xy, 0, 2, 1, 3), c = PICK(zx, yz, 1, 3, 1, 3);
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

/* Lane after lane, the last first: those that repeat the last vertex are then written over. */
INLINE void store3_each(float *out, const uint32_t *vertex, lanes3 v, size_t stride)
{
    vec xy01 = PICK(v.x, v.y, 0, 1, 0, 1), xy23 = PICK(v.x, v.y, 2, 3, 2, 3);
    vec lane0 = PICK(xy01, v.z, 0, 2, 0, 0), lane1 = PICK(xy01, v.z, 1, 3, 1, 1),
        lane2 = PICK(xy23, v.z, 0, 2, 2, 2), lane3 = PICK(xy23, v.z, 1, 3, 3, 3);
#if WIDTH == 8
    STORE3(out + stride * vertex[7], QUAD(lane3, 1));
    STORE3(out + stride * vertex[6], QUAD(lane2, 1));
    STORE3(out + stride * vertex[5], QUAD(lane1, 1));
    STORE3(out + stride * vertex[4], QUAD(lane0, 1));
#endif
    STORE3(out + stride * vertex[3], QUAD(lane3, 0));
    STORE3(out + stride * vertex[2], QUAD(lane2, 0));
    STORE3(out + stride * vertex[1], QUAD(lane1, 0));
    STORE3(out + stride * vertex[0], QUAD(lane0, 0));
}
#undef PICK
