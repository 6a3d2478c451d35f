/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_H
#define MMD_MOTION_H

#include "mmdskin.h"

/* Motions, whichever file or caller they come from. mmdskin.h declares their struct. */

/* Sets first_frame and last_frame from the keys. */
void mmd_motion_find_range(mmd_motion *motion);

#endif
