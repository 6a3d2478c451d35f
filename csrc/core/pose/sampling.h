/* SPDX-License-Identifier: MIT */
#ifndef MMD_SAMPLING_H
#define MMD_SAMPLING_H

#include "core/pose/binding.h"
#include "core/pose/quaternion.h"

/* Local values of one frame, from which a pose is evaluated. */
typedef struct mmd_locals {
    double (*translations)[3], (*rotations)[4]; /* (B,), unit quaternions x y z w */
    uint8_t *solvers_on;                        /* (solvers,) */
} mmd_locals;

/* Where a track was found last. */
typedef struct mmd_cursor {
    size_t key;
    size_t still;   /* k + 1: the locals hold key k, which the next one repeats; 0: neither */
    size_t turning; /* k + 1: the arc leads from key k to the next one; 0: to none */
    mmd_arc arc;
} mmd_cursor;

/* How many cursors sampling a motion takes. Zeroed ones are valid, and results do not depend on
   them; others belong to the locals that were sampled with them. */
size_t mmd_sample_cursors(const mmd_motion *motion);

/* A motion at a frame. Bones without a track are left as they are; all sliders (M,) are set. */
void mmd_sample(const mmd_binding *binding, double frame, mmd_cursor *cursors, mmd_locals *locals,
                float *sliders);

/* Of keys that ascend: the last one at or before the frame (0 when there is none before), searched
   from where the cursor was left; and the place between that key and the next one, 0 to 1: 0 before
   the first key and from the last one on. */
size_t mmd_key_before(const uint32_t *frames, size_t count, double frame, size_t *cursor);
double mmd_key_share(const uint32_t *frames, size_t count, size_t at, double frame);

/* The curve of an interpolation row (x1 y1 x2 y2, bytes 0-127) at x in 0..1. */
double mmd_bezier(const uint8_t row[4], double x);

#endif
