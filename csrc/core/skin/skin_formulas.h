/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_FORMULAS_H
#define MMD_SKIN_FORMULAS_H

#include "core/skin/skin_frame.h"

#include <float.h>
#include <math.h>

/* Formulas that all kernels call as they stand: once per group of vertices, or too rarely to be
   written for vectors. */

/* Unit `v`, or `otherwise` when v has no direction (or none that squares in float can tell). */
static inline void mmd_skin_unit_or(const float *v, const float *otherwise, float *out)
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    bool good = square >= FLT_MIN && square <= FLT_MAX;
    float scale = good ? 1 / sqrtf(square) : 1;
    for (int i = 0; i < 3; i++)
        out[i] = good ? v[i] * scale : otherwise[i];
}

/* The unit normal of a linear blend, or the input's where the blend has none, in double: for blends
   that float is not enough for (MMD_LEAST_NORMAL). */
void mmd_skin_precise_normal(const mmd_vertex *vertex, const mmd_skin_bone *bones, float out[3]);

/* Which way and how far vertices on two bones are to go that bend from directions u0, u1 by
   rotations q0, q1, per unit of their k: docs/methods.md#bulge-compensated. */
void mmd_skin_outward(const float u0[3], const float u1[3], const float q0[4], const float q1[4],
                      float out[3]);

/* Where a bone puts a segment from c to c0: head, and the way to the tail. */
void mmd_skin_segment(const float c[3], const float c0[3], const mmd_skin_bone *bone, float head[3],
                      float along[3]);

/* The angle between two unit quaternions as vectors, 0 where slerp by it would be lerp. */
double mmd_skin_arc(const float a[4], const float b[4]);

#endif
