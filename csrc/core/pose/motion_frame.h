/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_FRAME_H
#define MMD_MOTION_FRAME_H

#include "core/pose/sampling.h"

/* One frame of a motion: its bones and morphs with one key each, at frame 0. With a model, only
   those that it has, in its order, and its name. Everything is in `arena` or the motion's. False
   when memory is short. */
bool mmd_motion_frame(mmd_arena *arena, const mmd_motion *motion, const mmd_model *model,
                      double frame, mmd_motion *pose);

#endif
