/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_H
#define MMD_SIMULATION_H

#include "core/physics/gravity.h"
#include "core/physics/world.h"

/* Settings of a simulation. Those that MMD uses are not published: docs/physics.md. */
typedef struct mmd_simulation_settings {
    mmd_world_settings world;
    mmd_gravity gravity; /* over that of `world` */
    bool has_start;      /* the simulation starts at `start`; else at the motion's first frame */
    double start;
    int settle;      /* steps during which the start pose is kept */
    double teleport; /* units per frame beyond which a move restarts all bodies; 0: never */
} mmd_simulation_settings;

enum {
    MMD_SIMULATION_MAX_FRAMES = 10000000, /* after the start */
    MMD_SIMULATION_MAX_SETTLE = 100000,
    MMD_SIMULATION_MAX_SECONDS = 3600 /* from one pose input to the next */
};

extern const mmd_simulation_settings mmd_simulation_settings_default;

/* A model whose bones are driven by a motion, or by poses of the caller, and by its rigid bodies.
   Along a motion it runs from the start in equal steps, so that the pose at a frame depends on
   model, motion, settings and that frame alone. With poses of the caller, a pose depends on
   all earlier ones. To be used by one thread at a time. */
typedef struct mmd_simulation mmd_simulation;

/* `motion` NULL: the model at rest. Rig and motion must outlive the simulation; it copies gravity.
   Fails with MMD_E_ARGUMENT, which names the setting, body or joint, or with MMD_E_MEMORY. */
mmd_simulation *mmd_simulation_new(const mmd_rig *rig, const mmd_motion *motion, bool ik,
                                   const mmd_simulation_settings *settings, mmd_error *err);
void mmd_simulation_free(mmd_simulation *simulation);

/* Fails with MMD_E_ARGUMENT for frames that are not finite or too far after the start. */
bool mmd_simulation_check(const mmd_simulation *simulation, const double *frames, size_t count,
                          mmd_error *err);

/* Runs to a checked frame, forward or from the nearest checkpoint. Takes at most *steps steps and
   subtracts them; returns whether it has arrived. Frames before the start have no physics. */
bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps);

/* The pose at the frame that was sought: (B,4,4) and (M,) as mmd_pose() writes them. */
void mmd_simulation_pose(mmd_simulation *simulation, double frame, float *matrices,
                         float *morph_weights);

/* Without a motion: starts an interpolation, over `seconds`, from the current pose input to the
   local values of a job of one frame; `physics` (B,), 1: physics moves the bodies of this bone,
   NULL: of all bones. The first one, also after a reset or a seek, is the start. Fails with
   MMD_E_ARGUMENT, and changes nothing. */
bool mmd_simulation_set_target(mmd_simulation *simulation, const mmd_pose_job *job,
                               const uint8_t *physics, double seconds, mmd_error *err);
/* Runs to the end of the interpolation; `steps` as in mmd_simulation_seek(). */
bool mmd_simulation_advance(mmd_simulation *simulation, size_t *steps);
void mmd_simulation_pose_target(mmd_simulation *simulation, float *matrices, float *morph_weights);

/* Everything but model, motion and settings that later poses depend on. Writes it to `bytes`, and
   returns its size; NULL only counts. Loading fails with MMD_E_ARGUMENT, and changes nothing,
   unless the bytes are valid for this simulation. */
size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes);
bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size,
                         mmd_error *err);

/* Back to before the start. */
void mmd_simulation_reset(mmd_simulation *simulation);

/* The frame that was posed last; without a motion, 30 times the seconds since the start. */
double mmd_simulation_frame(const mmd_simulation *simulation);

/* (J,2) of the model's joints, as mmd_world_strain() writes it. */
void mmd_simulation_strain(const mmd_simulation *simulation, double *strain);

/* What a user should know about the model and the run so far; false beyond the last note. */
bool mmd_simulation_note(const mmd_simulation *simulation, size_t index, char text[256]);

#endif
