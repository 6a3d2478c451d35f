/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_H
#define MMD_POSE_H

#include "core/pose/binding.h"
#include "core/pose/place.h"

/* What mmd_pose_run() takes for granted: numbers are finite, rotations have a length, counts of
   frames fit. Fails with MMD_E_ARGUMENT. */
bool mmd_pose_check(const mmd_rig *rig, const mmd_pose_job *job, mmd_error *err);

/* mmd_pose() of a job that was checked. */
void mmd_pose_run(mmd_poser *poser, const mmd_pose_job *job);

/* The job of `count` of the frames, from `first` on. */
mmd_pose_job mmd_pose_slice(const mmd_rig *rig, const mmd_pose_job *job, size_t first,
                            size_t count);

/* A frame of a checked job in parts, between which physics moves bones: samples frame `f`, whose
   sliders it writes, and places the bones that come before physics; places those that come after
   it; writes (B,4,4) of all. */
void mmd_pose_before_physics(mmd_poser *poser, const mmd_pose_job *job, size_t f);
void mmd_pose_after_physics(mmd_poser *poser, const mmd_pose_job *job);
void mmd_pose_store(const mmd_poser *poser, float *matrices);

/* The bones between those parts, (M,) the weights of morphs after groups and flips, and the tracks
   of the motion, NULL without one. */
mmd_frame *mmd_poser_frame(mmd_poser *poser);
const float *mmd_poser_weights(const mmd_poser *poser);
const mmd_binding *mmd_poser_binding(const mmd_poser *poser);

#endif
