/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_STORE_H
#define MMD_POSE_STORE_H

#include "core/pose/place.h"

/* Skinning matrices (B,4,4) of bones as they stand: world x inverse rest. */
void mmd_frame_store(const mmd_frame *frame, float *matrices);

#endif
