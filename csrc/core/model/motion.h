/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_H
#define MMD_MOTION_H

#include "mmdskin.h"

/* Motions, whichever file or caller they come from. mmdskin.h declares their struct. */

/* Sets first_frame and last_frame from the keys. */
void mmd_motion_find_range(mmd_motion *motion);

/* Whether two motions have the same bytes in all tracks, which are in the same order. */
bool mmd_motion_equal(const mmd_motion *a, const mmd_motion *b);

#endif
