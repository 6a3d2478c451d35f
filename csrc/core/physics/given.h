/* SPDX-License-Identifier: MIT */
#ifndef MMD_GIVEN_H
#define MMD_GIVEN_H

#include "core/base/arena.h"

/* Local values of one pose, as a mmd_pose_job has them. */
typedef struct mmd_locals_given {
    float *translations, *rotations, *sliders; /* (B,3), (B,4), (M,) */
    uint8_t *ik;                               /* (B,) 1: the IK of this bone runs */
    uint8_t *physics;                          /* (B,) 1: its bodies are let go */
} mmd_locals_given;

/* The way from one given pose to the next. */
typedef struct mmd_given {
    size_t bone_count, morph_count;
    mmd_locals_given from, to, now;
} mmd_given;

/* At rest. False when memory is short. */
bool mmd_given_init(mmd_arena *arena, size_t bone_count, size_t morph_count, mmd_given *given);

/* The pose where it is, as so many floats, and back: false where they are none. */
size_t mmd_given_count(const mmd_given *given);
void mmd_given_save(const mmd_given *given, float *numbers);
bool mmd_given_load(mmd_given *given, const float *numbers);

/* The way from where it is now to the values of a job of one frame, which was checked; `physics`
   (B,), NULL: of all bones. */
void mmd_given_aim(mmd_given *given, const mmd_pose_job *job, const uint8_t *physics);

/* A share of the way, 0 to 1: straight, and by the shorter turn; switches act at the end. */
void mmd_given_go(mmd_given *given, double share);

#endif
