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
    MMD_SIMULATION_MAX_MODELS = 1000,
    MMD_SIMULATION_MAX_SECONDS = 3600 /* from one pose input to the next */
};

extern const mmd_simulation_settings mmd_simulation_settings_default;

/* Models whose bones are driven by motions, or by poses of the caller, and by their rigid bodies,
   which collide with each other in one world. Along motions it runs from the start in equal steps,
   so that the poses at a frame depend on models, motions, settings and that frame alone. With poses
   of the caller, a pose depends on all earlier ones. To be used by one thread at a time. */
typedef struct mmd_simulation mmd_simulation;

typedef struct mmd_simulation_model {
    const mmd_rig *rig;
    const mmd_motion *motion; /* NULL: at rest, or at poses of the caller */
    /* (7,) of its space in that of the world: position, rotation x y z w; NULL: the same space. The
       poses of its bones remain in its own space. */
    const double *placement;
    double offset; /* frames by which its motion is ahead of the run */
} mmd_simulation_model;

/* A model may be listed twice. Rigs and motions must outlive the simulation; it copies gravity. The
   first frame of "the motion" is the earliest of all, less their offsets. Fails with
   MMD_E_ARGUMENT, which names the setting, model, body or joint, or with MMD_E_MEMORY. */
mmd_simulation *mmd_simulation_new(const mmd_simulation_model *models, size_t count, bool ik,
                                   const mmd_simulation_settings *settings, mmd_error *err);
void mmd_simulation_free(mmd_simulation *simulation);

/* Fails with MMD_E_ARGUMENT for frames that are not finite or too far after the start. */
bool mmd_simulation_check(const mmd_simulation *simulation, const double *frames, size_t count,
                          mmd_error *err);

/* Runs to a checked frame, forward or from the nearest checkpoint. Takes at most *steps steps and
   subtracts them; returns whether it has arrived. Frames before the start have no physics. */
bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps);

/* The pose of a model at the frame that was sought: (B,4,4) and (M,) as mmd_pose() writes them. */
void mmd_simulation_pose(mmd_simulation *simulation, size_t model, double frame, float *matrices,
                         float *morph_weights);

/* The pose to which a model without a motion moves. */
typedef struct mmd_simulation_target {
    const mmd_pose_job *job; /* local values of one frame; NULL: the model has a motion */
    const uint8_t *physics;  /* (B,) 1: physics moves the bodies of this bone; NULL: of all */
} mmd_simulation_target;

/* Starts an interpolation, over `seconds`, from the current poses to those of the targets, one for
   each model. Models with a motion follow it from the start frame on, but one needs to be without.
   The first targets, also after a reset or a seek, are the start. `gravity` (3,) is that at the
   end, interpolated from that of the call before if it had one, in place of the gravity of the
   settings, which NULL means. Fails with MMD_E_ARGUMENT, and changes nothing. */
bool mmd_simulation_set_targets(mmd_simulation *simulation, const mmd_simulation_target *targets,
                                const double *gravity, double seconds, mmd_error *err);
/* Runs to the end of the interpolation; `steps` as in mmd_simulation_seek(). */
bool mmd_simulation_advance(mmd_simulation *simulation, size_t *steps);
void mmd_simulation_pose_target(mmd_simulation *simulation, size_t model, float *matrices,
                                float *morph_weights);

/* Everything but models, motions and settings that later poses depend on. Writes it to `bytes`, and
   returns its size; NULL only counts. Loading fails with MMD_E_ARGUMENT, and changes nothing,
   unless the bytes are valid for this simulation. */
size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes);
bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size,
                         mmd_error *err);

/* Back to before the start. */
void mmd_simulation_reset(mmd_simulation *simulation);

/* The frame that was posed last; with targets, 30 times the seconds since the start. */
double mmd_simulation_frame(const mmd_simulation *simulation);

/* (J,2) of the joints of all models, in their order, as mmd_world_strain() writes it. */
void mmd_simulation_strain(const mmd_simulation *simulation, double *strain);

/* What a user should know about the models and the run so far; false beyond the last note. */
bool mmd_simulation_note(const mmd_simulation *simulation, size_t index, char text[256]);

#endif
