/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_SCALAR_H
#define MMD_SKIN_SCALAR_H

#include "core/skin/skin_frame.h"

/* The reference kernel, on any CPU. */
mmd_skin_run mmd_skin_scalar;

/* The normal and tangent of one vertex alone, as far as frame->normals and ->tangents are there;
   frame->positions is not. */
void mmd_skin_scalar_directions(const mmd_skin_frame *frame, size_t vertex);

#endif
