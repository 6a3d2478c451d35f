/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_FIT_H
#define MMD_MOTION_FIT_H

#include "core/base/thread_pool.h"
#include "core/fit/inverse_pose.h"
#include "core/fit/key_fit.h"
#include "core/fit/mesh_tolerance.h"
#include "core/skin/skin.h"

/* Makes a motion with few keys from a pose at every frame.

   Three steps, of which the first and the third are shared by threads: fit each track; build the
   motion; compare its mesh with the mesh to be kept. Tracks of bones whose vertices are off by more
   than the tolerance are then fitted again with half of it, or, nearly within it, with a little
   less. */

#define MMD_MOTION_FIT_MIN_SCALE (1.0 / 64) /* of a tolerance, after corrections */

typedef enum mmd_motion_fit_ik {
    MMD_MOTION_FIT_IK_AS_KEYED, /* MMD solves IK; IK bones have keys of their own */
    MMD_MOTION_FIT_IK_OFF       /* the pose is what IK has solved; a property key switches IK off */
} mmd_motion_fit_ik;

typedef struct mmd_motion_fit_job {
    const mmd_rig *rig;
    const mmd_mesh *mesh;
    size_t frame_count;                    /* at least 1 */
    uint32_t first_frame;                  /* of the motion */
    const float *translations, *rotations; /* (F,B,3), (F,B,4): local values */
    const float *morph_weights;            /* (F,M) */
    const float *matrices;                 /* (F,B,4,4): the pose that the mesh shall have */
    mmd_motion_fit_ik ik;
    bool key_physics; /* keys with physics off for bones that rigid bodies move; else none */
    double tolerance, physics_tolerance; /* of the mesh, units */
    const mmd_motion *earlier;           /* its curves are kept where they still fit; or NULL */
    bool keep_switches; /* of `earlier`: of IK, which the matrices obey; visibility always is */
} mmd_motion_fit_job;

typedef enum mmd_motion_fit_skip {
    MMD_MOTION_FIT_KEPT,
    MMD_MOTION_FIT_SKIP_NO_MESH,   /* nothing that is seen depends on the bone */
    MMD_MOTION_FIT_SKIP_PHYSICS,   /* a rigid body moves it */
    MMD_MOTION_FIT_SKIP_DUPLICATE, /* an earlier bone has its name */
    MMD_MOTION_FIT_SKIP_ROTATION,  /* a rigid body turns it; its translation is kept */
} mmd_motion_fit_skip;

typedef struct mmd_motion_fit_track {
    int32_t bone, morph;   /* one of them, the other is -1 */
    bool fitted;           /* all of its keys are found */
    bool translation_only; /* the rotation stays at rest */
    double scale;          /* of the tolerance, after corrections */
    mmd_key_fit_keys keys;
} mmd_motion_fit_track;

/* Memory of one thread. */
typedef struct mmd_motion_fit_worker {
    mmd_arena arena;
    mmd_key_fit_scratch scratch;
    double *columns; /* (F,7) */
    mmd_key_fit_segment *segments;
    mmd_poser *poser;
    mmd_skin_workspace skin;
    float *matrices, *morph_weights, *expected, *actual;
    float *max_squares; /* (V,) squared distance of each vertex, largest of the frames */
} mmd_motion_fit_worker;

typedef struct mmd_motion_fit {
    mmd_arena arena;
    mmd_motion_fit_job job;
    const mmd_curve_grid_tables *tables;
    mmd_mesh_tolerance tolerance;
    uint8_t *skipped; /* (B,) mmd_motion_fit_skip of bones that have a pose other than at rest */
    bool *simulated;  /* (B,) a rigid body moves it */
    bool *turned;     /* (B,) a rigid body only turns it */
    bool *follows_simulated; /* (B,) that, or what it follows */
    size_t track_count;
    mmd_motion_fit_track *tracks;
    mmd_motion_fit_worker workers[MMD_MAX_THREADS];
    mmd_motion *motion; /* once built */
    enum {
        MMD_MOTION_FIT_TRACKS, /* parts of mmd_motion_fit_next(): the next one */
        MMD_MOTION_FIT_COMPARE,
        MMD_MOTION_FIT_REFINE,
        MMD_MOTION_FIT_DECIDE,
        MMD_MOTION_FIT_DONE
    } next;
    int pass;     /* of all of these */
    int64_t work; /* of all tracks so far, as mmd_key_fit_keys counts it */
    size_t key_count;
    double max_distance; /* of a vertex, units */
} mmd_motion_fit;

mmd_motion_fit *mmd_motion_fit_new(const mmd_motion_fit_job *job, mmd_error *err);
void mmd_motion_fit_free(mmd_motion_fit *fit);

/* The next part, after all items of the one before. The parts fit, build and compare the motion
   until it is within the tolerance, at most MAX_PASSES times. They fail with MMD_E_MEMORY. */
mmd_thread_part mmd_motion_fit_next(mmd_motion_fit *fit);

/* How much is done, from 0 to 1, when this share of the items of the current part is. Later passes,
   whose number is not known before, take less and less of it. */
double mmd_motion_fit_share(const mmd_motion_fit *fit, double of_part);

/* Tasks of the parts. Build the motion of the tracks: */
bool mmd_motion_fit_build(void *fit, size_t worker, size_t first, size_t count, mmd_error *err);
/* Compare frames [first, first + count) of the motion with the job: */
bool mmd_motion_fit_compare(void *fit, size_t worker, size_t first, size_t count, mmd_error *err);
/* After all frames are compared: set max_distance, and select the tracks to fit again. */
bool mmd_motion_fit_refine(void *fit, size_t worker, size_t first, size_t count, mmd_error *err);

/* The local values of a bone at a frame of the job. */
static inline const float *mmd_motion_fit_rotation_of(const mmd_motion_fit_job *job, size_t frame,
                                                      size_t bone)
{
    return job->rotations + 4 * (frame * job->rig->bone_count + bone);
}

static inline const float *mmd_motion_fit_translation_of(const mmd_motion_fit_job *job,
                                                         size_t frame, size_t bone)
{
    return job->translations + 3 * (frame * job->rig->bone_count + bone);
}

/* The rotation that a bone's track gets at a frame. */
const float *mmd_motion_fit_track_rotation(const mmd_motion_fit_job *job,
                                           const mmd_motion_fit_track *track, size_t frame);

/* The track of a bone in the earlier motion, or NULL. */
const mmd_bone_track *mmd_motion_fit_earlier_track(const mmd_motion_fit_job *job, mmd_text name);

/* How far a vertex may be off: more where a rigid body moves one of its bones. */
double mmd_motion_fit_allowed(const mmd_motion_fit *fit, size_t vertex);

/* Passes the motion to the caller, who frees it. */
mmd_motion *mmd_motion_fit_release_motion(mmd_motion_fit *fit);

#endif
