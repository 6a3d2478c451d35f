/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_H
#define MMD_SIMULATION_H

#include "core/physics/settings.h"

/* A model whose bones are moved by a motion and by the rigid bodies that hang on them. The run
   begins at one frame and goes on in equal steps, so that what it comes to at a frame depends on
   model, motion, settings and that frame alone. One thread at a time may use it. */
typedef struct mmd_simulation mmd_simulation;

/* `motion` NULL: the model at rest. Rig and motion must outlive it. Fails with MMD_E_ARGUMENT,
   which names the setting, the body or the joint, or with MMD_E_MEMORY. */
mmd_simulation *mmd_simulation_new(const mmd_rig *rig, const mmd_motion *motion, bool ik,
                                   const mmd_physics *physics, mmd_error *err);
void mmd_simulation_free(mmd_simulation *simulation);

/* Fails with MMD_E_ARGUMENT for frames that are not finite or too far from the start. */
bool mmd_simulation_check(const mmd_simulation *simulation, const double *frames, size_t count,
                          mmd_error *err);

/* Goes to a frame that was checked, forward or from the nearest place that it remembers; each step
   takes one from `steps`, and with none left it stops. Whether it has got there. Frames before the
   start have no physics. */
bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps);

/* The pose of the frame, or of the way, that has been got to the end of: (B,4,4) and (M,) as
   mmd_pose() writes them. */
void mmd_simulation_pose(mmd_simulation *simulation, double frame, float *matrices, float *sliders);
void mmd_simulation_pose_given(mmd_simulation *simulation, float *matrices, float *sliders);

/* Without a motion, by poses that are given: a way of `seconds` to the local values of a job of one
   frame, and to `physics` (B,), 1: its bodies are let go as usual, NULL: those of all bones. The
   first one after a reset, or after a frame was sought, is the start. Fails with MMD_E_ARGUMENT,
   and changes nothing. */
bool mmd_simulation_aim(mmd_simulation *simulation, const mmd_pose_job *job, const uint8_t *physics,
                        double seconds, mmd_error *err);
/* Goes that way, as mmd_simulation_seek() does. */
bool mmd_simulation_walk(mmd_simulation *simulation, size_t *steps);

/* All that later poses depend on beside model, motion and settings: writes so many bytes, or counts
   them for NULL. Bytes of another simulation of the same are taken only if they are sound. */
size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes);
bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size,
                         mmd_error *err);

/* Back to before the start. */
void mmd_simulation_reset(mmd_simulation *simulation);

/* Where it is: of the last frame that was posed, or of given poses 30 times the seconds. */
double mmd_simulation_frame(const mmd_simulation *simulation);

/* (J,2) of the model's joints, as mmd_world_strain() has it. */
void mmd_simulation_strain(const mmd_simulation *simulation, double *strain);

/* What a user should know of the model and of what has been run; false when there are not as
   many. */
bool mmd_simulation_note(const mmd_simulation *simulation, size_t index, char text[256]);

#endif
