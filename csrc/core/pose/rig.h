/* SPDX-License-Identifier: MIT */
#ifndef MMD_RIG_H
#define MMD_RIG_H

#include "core/base/arena.h"

/* A model prepared for posing: the evaluation order of its bones, its appends, and of each IK
   solver the bones that depend on it. docs/mmd-behavior.md#bone-poses and
   docs/mmd-behavior.md#ik. */

enum { MMD_MAX_LINKS = 256 }; /* of one solver; further ones are ignored */

typedef enum mmd_rig_append_mode {
    MMD_APPEND_ROTATION = 1,
    MMD_APPEND_TRANSLATION = 2,
    MMD_APPEND_LOCAL = 4
} mmd_rig_append_mode;

typedef struct mmd_rig_bone {
    double position[3]; /* rest, model space */
    double offset[3];   /* rest, from the parent */
    int32_t parent;     /* -1: root; without cycles */
    int32_t source;     /* of the append, -1: none */
    int32_t append;     /* mmd_rig_append_mode bits */
    double ratio;       /* of the append */
    double axis[3];     /* fixed axis, unit length */
    bool has_fixed_axis;
    /* Its append source is an IK link: docs/mmd-behavior.md#ik-deferred-append. */
    bool link_driven;
} mmd_rig_bone;

/* An angle by the sine and cosine of its half, as in a quaternion about an axis. */
typedef struct mmd_rig_half_angle {
    double sine, cosine;
} mmd_rig_half_angle;

/* A bound b of an angle. Angles are compared by the sines of their halves, which grow with the
   angle from -pi to pi; a bound outside of that has an infinite one. */
typedef struct mmd_rig_bound {
    double half_sine;           /* sin(b / 2) */
    double reflected_half_sine; /* sin((2 b - other) / 2): reflecting at b an angle up to this one
                                   keeps it within the other bound */
    mmd_rig_half_angle half;    /* sine and cosine of b / 2 */
    mmd_rig_half_angle full;    /* sine and cosine of b */
} mmd_rig_bound;

typedef struct mmd_rig_limit {
    mmd_rig_bound lower, upper;
    bool locked; /* both bounds are zero */
} mmd_rig_limit;

typedef struct mmd_rig_link {
    int32_t bone;
    bool limited;
    int32_t euler_order; /* row of the table at docs/mmd-behavior.md#ik-euler-order */
    int32_t single_axis; /* the only axis that the limits do not lock, or -1 */
    mmd_rig_limit limits[3];
    size_t first_inner;       /* the first of the solver's inner bones that the link moves */
    double step_limit;        /* radians, or infinite: docs/mmd-behavior.md#ik-step */
    double step_limit_cosine; /* -2: no limit below pi */
    mmd_rig_half_angle half_step_limit; /* of at most pi */
} mmd_rig_link;

typedef struct mmd_rig_solver {
    int32_t goal, effector; /* the IK bone and its target */
    int32_t iterations;     /* N of docs/mmd-behavior.md#ik-step; 0: does nothing */
    size_t link_count, refresh_count, inner_count;
    mmd_rig_link *links;
    int32_t *refresh; /* in evaluation order: docs/mmd-behavior.md#ik-refresh-set */
    int32_t *inner;   /* those of them that a step can depend on */
    bool chain; /* `inner` leads from a link to the effector, parent by parent, without appends */
} mmd_rig_solver;

/* Bones and solvers of one layer, each a range of `order` and `solvers`. */
typedef struct mmd_rig_layer {
    size_t first_bone, bone_count;
    size_t first_solver, solver_count;
    size_t first_deferred, deferred_count; /* effectors evaluated in pass 3 */
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
    size_t final_update_count;
    int32_t *final_update;  /* in evaluation order: docs/mmd-behavior.md#ik-settle */
    bool reads_later_layer; /* an append or a solver reads a bone of a layer evaluated later */
    /* What to evaluate first in a frame, for appends that read ones evaluated later: the append of
       a bone, or as ~bone its world transform. docs/mmd-behavior.md#append-later. */
    size_t early_count;
    int32_t *early;
};

/* (B,) parents and append sources before what depends on them; cycles of sources are cut where they
   close. NULL when memory is short. */
const int32_t *mmd_rig_dependency_order(mmd_arena *arena, const mmd_rig *rig);

/* The IK part of mmd_rig_new(): fills solvers, deferred and settled bones from bones, order and
   layers. False when memory is short. */
bool mmd_rig_solvers_find(mmd_rig *rig, mmd_arena *temporary);

#endif
