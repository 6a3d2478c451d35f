/* SPDX-License-Identifier: MIT */
#ifndef MMD_SAMPLING_H
#define MMD_SAMPLING_H

#include "core/math/quat.h"
#include "core/pose/rig.h"

/* Which track of a motion drives which bone, morph and IK solver of a model, by equal names. A
   track of a bone drives the first bone of its name, a track of a morph all morphs of its name.
   docs/mmd-behavior.md#names, #tracks and #fixed-axis. */
typedef struct mmd_binding {
    mmd_arena arena; /* owns everything below */
    const mmd_motion *motion;
    const mmd_rig *rig;
    int32_t *bone_track;          /* (B,), -1: none */
    const float **bone_rotations; /* (B,) of the track; about the fixed axis if the bone has one */
    int32_t *morph_track;         /* (M,) */
    int32_t *solver_property;     /* (solvers,) index of the IK name in the property track */
} mmd_binding;

/* The binding keeps pointers to both. */
mmd_binding *mmd_binding_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err);
void mmd_binding_free(mmd_binding *binding);

/* Local values at one frame, from which a pose is evaluated. */
typedef struct mmd_sampling_locals {
    double (*translations)[3], (*rotations)[4]; /* (B,), unit quaternions x y z w */
    uint8_t *solvers_on;                        /* (solvers,) */
} mmd_sampling_locals;

/* Where a track was sampled last. A zeroed cursor is valid. */
typedef struct mmd_sampling_cursor {
    size_t key;
    /* k + 1: the locals hold key k, which the next key repeats; 0: they do not. */
    size_t constant_key;
    size_t slerp_key; /* k + 1: `slerp` is prepared from key k to the next one; 0: it is not */
    mmd_slerp slerp;
} mmd_sampling_cursor;

/* How many cursors sampling a motion needs. They make it faster and do not change results. Cursors
   belong to the locals that were sampled with them. */
size_t mmd_sampling_cursor_count(const mmd_motion *motion);

/* Samples a motion. Bones without a track are left unchanged; all sliders (M,) are set. */
void mmd_sampling_run(const mmd_binding *binding, double frame, mmd_sampling_cursor *cursors,
                      mmd_sampling_locals *locals, float *sliders);

/* The last key at or before the frame, 0 if there is none, of keys with ascending frames. Searches
   from *cursor on, which may hold anything and is set to the result. */
size_t mmd_sampling_key_before(const uint32_t *frames, size_t count, double frame, size_t *cursor);

/* How far the frame is from key `at` to the next one, 0 to 1; 0 before the first and after the last
   key. */
double mmd_sampling_key_fraction(const uint32_t *frames, size_t count, size_t at, double frame);

/* The Bezier curve of an interpolation row (x1 y1 x2 y2, bytes 0 to 127) at x, 0 to 1. */
double mmd_sampling_bezier(const uint8_t row[4], double x);

/* One frame of a motion: its bones and morphs with one key each, at frame 0. With the rig of a
   model, only those that it has, in its order, and its name. Everything is in `arena` or the
   motion's. False when memory is short. */
bool mmd_sampling_frame(mmd_arena *arena, const mmd_motion *motion, const mmd_rig *rig,
                        double frame, mmd_motion *pose);

#endif
