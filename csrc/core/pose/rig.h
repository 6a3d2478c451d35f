/* SPDX-License-Identifier: MIT */
#ifndef MMD_RIG_H
#define MMD_RIG_H

#include "core/base/arena.h"

/* What posing needs of a model, worked out once: evaluation order, cleaned references, and for each
   IK solver which bones follow it. docs/mmd-behaviour.md#bone-poses and
   docs/mmd-behaviour.md#ik. */

enum { MMD_MAX_LINKS = 256 }; /* of one solver; the rest of a longer list does nothing */

typedef enum mmd_append_mode {
    MMD_APPEND_ROTATION = 1,
    MMD_APPEND_TRANSLATION = 2,
    MMD_APPEND_LOCAL = 4
} mmd_append_mode;

typedef struct mmd_rig_bone {
    double position[3]; /* rest, model space */
    double offset[3];   /* rest, from the parent */
    int32_t parent;     /* -1: root; without cycles */
    int32_t source;     /* of the append, -1: none */
    int32_t append;     /* mmd_append_mode bits */
    double ratio;
    double axis[3]; /* fixed axis, unit */
    bool has_axis;
    bool fed; /* by an IK link, as docs/mmd-behaviour.md#ik-deferred-append says */
} mmd_rig_bone;

/* An angle by sine and cosine of its half: a rotation about an axis is just that. */
typedef struct mmd_half_angle {
    double sine, cosine;
} mmd_half_angle;

/* A bound of an angle from -pi to pi, where the sine of the half grows with the angle; infinite
   beyond. */
typedef struct mmd_rig_bound {
    double sine; /* the bound's */
    double room; /* as far out as this, the angle mirrored at the bound is within the other */
    mmd_half_angle angle; /* the bound */
    mmd_half_angle twice; /* two times the bound */
} mmd_rig_bound;

typedef struct mmd_rig_limit {
    mmd_rig_bound lower, upper;
    bool locked; /* both are zero */
} mmd_rig_limit;

typedef struct mmd_rig_link {
    int32_t bone;
    bool limited;
    int32_t order;       /* row of the table at docs/mmd-behaviour.md#ik-euler-order */
    int32_t single_axis; /* the only axis in use of the limits, or -1 */
    mmd_rig_limit limits[3];
    size_t first_follower;  /* of the solver's inner ones, that this link moves */
    double most;            /* angle of a step (docs/mmd-behaviour.md#ik-step) or infinite */
    double least_cosine;    /* of a step below it; -2: every step */
    mmd_half_angle largest; /* step */
} mmd_rig_link;

typedef struct mmd_rig_solver {
    int32_t goal, effector; /* the IK bone and its target */
    int32_t iterations;     /* N of docs/mmd-behaviour.md#ik-step; 0: does nothing */
    size_t link_count, followers, inner_followers;
    mmd_rig_link *links;
    int32_t *follower;       /* the refresh set in evaluation order */
    int32_t *inner_follower; /* those that the solution depends on */
    bool chain;              /* those are, from a link to the effector, and none of them appends */
} mmd_rig_solver;

/* Bones and solvers of one layer, each a range of `order` and `solvers`. */
typedef struct mmd_rig_layer {
    size_t first_bone, bone_count;
    size_t first_solver, solver_count;
    size_t first_deferred, deferred_count; /* effectors of sweep three */
} mmd_rig_layer;

struct mmd_rig {
    mmd_arena arena; /* owns everything below */
    const mmd_model *model;
    size_t bone_count, layer_count, solver_count, morph_count;
    mmd_rig_bone *bones; /* by index in the model */
    int32_t *order;      /* evaluation order: parents first, layer by layer */
    mmd_rig_layer *layers;
    size_t layers_before_physics; /* the first ones */
    mmd_rig_solver *solvers;      /* in order of evaluation */
    int32_t *deferred;
    size_t settled_count;
    int32_t *settled; /* in evaluation order: what may stand on an old place of its parent */
    bool reads_ahead; /* something is read from a layer that has not had its turn */
};

#endif
