/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_SCALAR_H
#define MMD_SKIN_SCALAR_H

#include "core/skin/skin_kernel.h"

#include <float.h>
#include <math.h>

/* Formulas of the scalar kernel that other kernels call: once per group of vertices, or too rarely
   to be worth SIMD. The kernel itself, mmd_skin_scalar, is declared in skin_kernel.h. */

/* The normal and tangent of a single vertex, if input->normals and input->tangents are set;
   input->positions must be NULL. */
void mmd_skin_scalar_directions(const mmd_skin_input *input, size_t vertex);

/* v at unit length; `otherwise` if v is zero, or its square overflows or underflows in float. */
static inline void mmd_skin_scalar_normalized_or(const float *v, const float *otherwise, float *out)
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    bool good = square >= FLT_MIN && square <= FLT_MAX;
    float scale = good ? 1 / sqrtf(square) : 1;
    for (int i = 0; i < 3; i++)
        out[i] = good ? v[i] * scale : otherwise[i];
}

/* The normal under a linear blend, in double, for blends that are too close to singular for float
   (MMD_MIN_NORMAL). The rest normal if the blend is singular. */
void mmd_skin_scalar_precise_normal(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones,
                                    float out[3]);

/* o of docs/methods.md#bulge-compensated: the offset, per unit of k, of vertices on two bones with
   segment directions u0, u1 and rotations q0, q1. */
void mmd_skin_scalar_bulge_offset(const float u0[3], const float u1[3], const float q0[4],
                                  const float q1[4], float out[3]);

/* The segment from c to c0, transformed by the rigid part of a bone: its head, and the vector from
   there to its tail. */
void mmd_skin_scalar_transform_segment(const float c[3], const float c0[3],
                                       const mmd_skin_bone *bone, float head[3], float segment[3]);

/* The angle between two unit quaternions as vectors in radians, for slerp; 0 if lerp is as good. */
double mmd_skin_scalar_slerp_angle(const float a[4], const float b[4]);

#endif
