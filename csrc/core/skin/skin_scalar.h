/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_SCALAR_H
#define MMD_SKIN_SCALAR_H

#include "core/skin/skin_frame.h"

/* The reference kernel, on any CPU. */
mmd_skin_run mmd_skin_scalar;

/* The normal and tangent of one vertex alone, as far as frame->normals and ->tangents are there. */
void mmd_skin_scalar_directions(const mmd_skin_frame *frame, size_t vertex);

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
