/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_H
#define MMD_MOTION_H

#include "mmdskin.h"

/* What a motion is stands in mmdskin.h. */

/* Sets first_frame and last_frame by the keys. */
void mmd_motion_find_range(mmd_motion *motion);

#endif
