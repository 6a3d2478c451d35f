/* SPDX-License-Identifier: MIT */
#ifndef MMD_FIT_H
#define MMD_FIT_H

#include "core/base/thread_pool.h"
#include "core/pose/pose.h"
#include "core/skin/skin.h"

/* What fits motions to poses of every frame. Each part is in the file of its name: a curve, the
   keys of a track, what a bone may be off, local values from matrices, cameras, and all of a
   motion. */

/* A fit, which its caller runs in parts: the first member of one of a camera or of poses. */
typedef struct mmd_fit {
    mmd_arena arena;    /* owns it */
    mmd_motion *motion; /* once built, until it is taken */
    /* The next part, after all items of the one before. Parts fail with MMD_E_MEMORY, and with
       MMD_E_ARGUMENT where a camera has no direction. */
    mmd_thread_part (*next)(struct mmd_fit *fit);
    /* How much is done, from 0 to 1, when this share of the items of the current part is. */
    double (*share)(const struct mmd_fit *fit, double of_part);
    void (*end)(struct mmd_fit *fit); /* frees what the arena does not own; NULL: nothing */
} mmd_fit;

static inline void mmd_fit_free(mmd_fit *fit)
{
    if (fit && fit->end)
        fit->end(fit);
    if (fit)
        mmd_motion_free(fit->motion);
    mmd_arena_free_owner(fit);
}

/* Fits one of MMD's interpolation curves into a tube.

   A curve is a cubic Bezier from (0, 0) to (1, 1) with control points (x1, y1) and (x2, y2) in
   127ths (docs/mmd-behavior.md#bezier). Between two keys n frames apart it gives the progress
   y(k / n) of every frame k; a tube lower[k - 1] <= y <= upper[k - 1], 0 < k < n, is what the
   samples and the tolerance allow.

   For fixed x1, x2 the parameter t_k at which x(t_k) = k / n is fixed, and the progress is linear
   in the rest: y_k = 3 (1 - t)^2 t y1 + 3 (1 - t) t^2 y2 + t^3. So the search runs over x1, x2
   alone and solves y1, y2 by least squares. MMD's own error in t is part of the fit. */

/* Basis values of a grid of curves, for any number of threads; NULL when memory is short. */
typedef struct mmd_curve_grid_tables mmd_curve_grid_tables;
const mmd_curve_grid_tables *mmd_curve_grid_tables_new(mmd_arena *arena);

enum { MMD_CURVE_MAX_FRAMES = 16384 }; /* n of one curve */

/* Memory of one thread: a tube, and the search for a curve in it. */
typedef struct mmd_curve_fit_scratch {
    double *lower, *upper; /* the tube (n - 1,), which the caller writes */
    const mmd_curve_grid_tables *grid;
    float *center, *half_width;    /* of the tube, clamped to 0..1 */
    struct mmd_curve_basis *basis; /* of the pair x1, x2 under test */
    float grid_violation; /* by which the coarse grid may violate a tube that a curve fits */
    size_t last_chunk;    /* of the grid, where the search found a curve last */
    int64_t credit;       /* work that may still be done, about nanoseconds */
} mmd_curve_fit_scratch;

/* For tracks of `frame_count` frames. False when memory is short. Steep curves, as cameras have
   them, need a larger grid_violation than the MMD_CURVE_GRID_VIOLATION that it gets here; the
   search then takes longer. */
#define MMD_CURVE_GRID_VIOLATION 0.015f
#define MMD_CURVE_STEEP_GRID_VIOLATION 0.03f
bool mmd_curve_fit_scratch_init(mmd_arena *arena, const mmd_curve_grid_tables *grid,
                                size_t frame_count, mmd_curve_fit_scratch *scratch);

/* Whether a curve with real control points stays in the tube, up to grid_violation. Unlike
   mmd_curve_fit() this is monotonic in n: a part of a Bezier curve is a Bezier curve, but not one
   of integers. */
bool mmd_curve_fit_exists(mmd_curve_fit_scratch *scratch, size_t n);

/* Finds x1 y1 x2 y2 within the tube. False when the search finds none, or the credit ends. */
bool mmd_curve_fit(mmd_curve_fit_scratch *scratch, size_t n, uint8_t curve[4]);

/* Whether a curve stays in the tube. */
bool mmd_curve_fit_is_within(const mmd_curve_fit_scratch *scratch, size_t n,
                             const uint8_t curve[4]);

/* Finds few keys for values at every frame. Between two keys each channel follows
   a curve of its own; all channels of a track share the frames of their keys. */

typedef enum mmd_key_fit_channel_kind {
    MMD_CHANNEL_SCALARS,  /* columns that share one curve: an axis, the camera's three angles */
    MMD_CHANNEL_ROTATION, /* unit quaternions x y z w, of continuous sign */
    MMD_CHANNEL_INTEGER   /* a scalar whose keys are integers: the camera's view angle */
} mmd_key_fit_channel_kind;

enum { MMD_TRACK_CHANNELS = 6 };

typedef struct mmd_key_fit_channel {
    mmd_key_fit_channel_kind kind;
    size_t columns;
    const double *values; /* (frame_count, columns) */
    double tolerance;     /* units of the values; of a rotation radians */
} mmd_key_fit_channel;

/* A segment of an earlier motion: the curves from one key to the next. */
typedef struct mmd_key_fit_segment {
    uint32_t first, last;
    const uint8_t *curves; /* (channel_count, 4) */
} mmd_key_fit_segment;

typedef struct mmd_key_fit {
    size_t frame_count, channel_count;
    const mmd_key_fit_channel *channels;
    const bool *cuts; /* (frame_count,) true: nothing leads here from the frame before; or NULL */
    const mmd_key_fit_segment *earlier; /* ascending: kept where they still fit */
    size_t earlier_count;
    bool avoid_neighbors; /* keys on neighboring frames only at cuts, where possible */
} mmd_key_fit;

/* The work of a frame, in units of about a nanosecond. Dances take a fifth of it on average. */
enum { MMD_KEY_FIT_FRAME_CREDIT = 25000 };

/* The keys of a track that have been found. Set frame_credit, give `frames` and `curves` room for
   frame_count keys, and initialize the rest to zero. */
typedef struct mmd_key_fit_keys {
    int64_t frame_credit; /* the work that each frame may take, on average */
    size_t count;
    uint32_t *frames; /* ascending from 0 */
    uint8_t *curves;  /* (count, channel_count, 4) that lead to each key */
    /* Where the search is. */
    size_t earlier, next_cut, last_chunk;
    int64_t credit; /* the work that the frames so far have left */
} mmd_key_fit_keys;

/* Finds keys for some hundredths of a second; true when the track has all of its keys, else call it
   again. The work is in proportion to the number of frames, whatever their values are: where the
   search takes more, it becomes coarser, and keys denser. Constant tracks get one key: the last key
   is dropped where it repeats the one before within tolerance. */
bool mmd_key_fit_continue(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch,
                          mmd_key_fit_keys *keys);

/* Keys of straight lines, for morphs: each is the farthest frame that the cone of slopes from the
   one before reaches. Returns their number. */
size_t mmd_key_fit_lines(const double *values, size_t frame_count, double tolerance,
                         uint32_t *frames);

/* How far a bone's keys may be off so that the mesh is off by no more than a distance E.

   An error of a bone's angle moves every vertex that depends on it in proportion to their distance,
   its reach, and the errors of the bones along a chain add up. With n moving bones on the longest
   chain through a bone:

       translation  E / sqrt(n)                           units
       rotation     E / (max(reach, 0.3) sqrt(n))         radians, at most 2 degrees */
typedef struct mmd_mesh_tolerance_bone {
    double translation, rotation;
} mmd_mesh_tolerance_bone;

typedef struct mmd_mesh_tolerance {
    float *reach;    /* (B,) units; negative: no vertex and no IK chain depends on the bone */
    uint32_t *chain; /* (B,) moving bones on the longest chain through the bone */
} mmd_mesh_tolerance;

/* moving: (B,) whether a bone has local values that change. False when memory is short. */
bool mmd_mesh_tolerance_init(mmd_arena *arena, const mmd_rig *rig, const int32_t *order,
                             const bool *moving, mmd_mesh_tolerance *out);

mmd_mesh_tolerance_bone mmd_mesh_tolerance_of(const mmd_mesh_tolerance *tolerance, size_t bone,
                                              double distance);

/* From skinning matrices back to the local values that a motion's keys hold: the inverse of
   mmd_pose() with IK off. Bone morphs and appends are undone, and every bone is inverted against
   the transform that the float32 values written for its parent give, so that errors do not add up
   along a chain. */

/* Memory of one thread. Zeroed: empty. */
typedef struct mmd_inverse_pose {
    mmd_pose_state state;
    const int32_t *order;
    double (*morph_translations)[3], (*morph_rotations)[4];
    float *weights; /* (M,) after groups and flips */
} mmd_inverse_pose;

/* What matrices hold and local values cannot, largest over the frames. */
typedef struct mmd_inverse_pose_loss {
    float off_axis; /* radians away from the bone's fixed axis */
    float scale;    /* how far columns are from unit length and right angles; 2: mirrored */
} mmd_inverse_pose_loss;

/* False when memory is short. The rig must outlive it. */
bool mmd_inverse_pose_init(mmd_arena *arena, const mmd_rig *rig, mmd_inverse_pose *inverse);

/* One frame. matrices: (B,4,4) as mmd_pose() writes them; morph_weights: (M,), NULL: zeros.
   place_goals: moves each IK bone to its effector, so that the pose is the same with IK on and off.
   translations (B,3) and rotations (B,4) are written; loss (B,) is raised where it is larger. */
void mmd_inverse_pose_run(mmd_inverse_pose *inverse, const float *matrices,
                          const float *morph_weights, bool place_goals, float *translations,
                          float *rotations, mmd_inverse_pose_loss *loss);

/* Few camera keys for a camera at every frame. */
typedef struct mmd_camera_fit_job {
    size_t frame_count; /* at least 1 */
    uint32_t first_frame;
    const mmd_camera *cameras; /* (F,): position and target differ */
    const bool *cuts;          /* (F,) the frame begins a new shot */
    double tolerance;          /* of target and distance, units */
    double angle_tolerance;    /* radians */
} mmd_camera_fit_job;

/* Makes a motion with a camera track and the name by which MMD knows camera files. View angles at
   keys are whole degrees, as the format has them. Borrows what the job points to. NULL when memory
   is short. */
mmd_fit *mmd_camera_fit_new(const mmd_camera_fit_job *job, mmd_error *err);

/* Makes a motion with few keys from a pose at every frame.

   Three steps, of which the first and the third are shared by threads: fit each track; build the
   motion; compare its mesh with the mesh to be kept. Tracks of bones whose vertices are off by more
   than the tolerance are then fitted again with half of it, or, nearly within it, with a little
   less. */

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
    int32_t bone, morph;           /* one of them, the other is -1 */
    bool fitted;                   /* all of its keys are found */
    double scale;                  /* of the tolerance, after corrections */
    const mmd_bone_track *earlier; /* of the bone in the earlier motion, or NULL */
    mmd_key_fit_keys keys;
} mmd_motion_fit_track;

/* Memory of one thread. */
typedef struct mmd_motion_fit_worker {
    mmd_arena arena;
    mmd_curve_fit_scratch scratch;
    double *columns; /* (F,7) */
    mmd_key_fit_segment *segments;
    mmd_poser *poser; /* of the motion that is compared */
    mmd_skin_workspace skin;
    float *matrices, *morph_weights, *expected, *actual;
    float *max_squares; /* (V,) squared distance of each vertex, largest of the frames */
} mmd_motion_fit_worker;

typedef struct mmd_motion_fit {
    mmd_fit base;
    mmd_motion_fit_job job;
    const mmd_curve_grid_tables *tables;
    const int32_t *order; /* (B,) parents and append sources first */
    mmd_mesh_tolerance tolerance;
    uint8_t *skipped; /* (B,) mmd_motion_fit_skip of bones that have a pose other than at rest */
    bool *simulated;  /* (B,) a rigid body moves it */
    bool *follows_simulated; /* (B,) that, or what it follows */
    size_t track_count;
    mmd_motion_fit_track *tracks;
    mmd_motion_fit_worker *workers; /* (MMD_MAX_THREADS,) */
    enum {
        MMD_MOTION_FIT_TRACKS, /* the parts: the next one */
        MMD_MOTION_FIT_COMPARE,
        MMD_MOTION_FIT_REFINE,
        MMD_MOTION_FIT_DECIDE,
        MMD_MOTION_FIT_DONE
    } next;
    int pass; /* of all of these */
    size_t key_count;
    double max_distance; /* of a vertex, units */
} mmd_motion_fit;

/* The parts fit, build and compare the motion until it is within the tolerance, at most MAX_PASSES
   times. Later passes, whose number is not known before, are less and less of what is done. */
mmd_motion_fit *mmd_motion_fit_new(const mmd_motion_fit_job *job, mmd_error *err);

/* What the files of motion_fit share. */

/* Makes tracks of the bones and morphs that need them, and measures tolerances. False when memory
   is short. */
bool mmd_motion_fit_choose(mmd_motion_fit *fit);

/* Makes the motion of fitted tracks; compares frames of it; selects the tracks to fit again. */
mmd_thread_pool_task mmd_motion_fit_build, mmd_motion_fit_compare, mmd_motion_fit_refine;

/* The local values of a bone at a frame of the job, and the rotation that its track gets there. */
static inline const float *mmd_motion_fit_translation(const mmd_motion_fit_job *job, size_t frame,
                                                      size_t bone)
{
    return job->translations + 3 * (frame * job->rig->bone_count + bone);
}

static inline const float *mmd_motion_fit_rotation(const mmd_motion_fit_job *job, size_t frame,
                                                   size_t bone)
{
    return job->rotations + 4 * (frame * job->rig->bone_count + bone);
}

const float *mmd_motion_fit_track_rotation(const mmd_motion_fit *fit,
                                           const mmd_motion_fit_track *track, size_t frame);

#endif
