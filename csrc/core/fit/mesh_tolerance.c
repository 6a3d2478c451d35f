/* SPDX-License-Identifier: MIT */
/* Measures the reach of each bone and the length of its chain, from which tolerances follow. */
#include "core/fit/fit.h"

#include "core/math/scalar.h"
#include "core/math/vec3.h"

#include <float.h>

static const float MIN_WEIGHT = 0.05f; /* of a vertex that counts for the reach of a bone */
static const double MIN_REACH = 0.3;   /* units */
static const double MAX_ANGLE = 2 * MMD_RADIANS_PER_DEGREE;

/* An axis-aligned box of vertices; empty: lower > upper. */
typedef struct box {
    double lower[3], upper[3];
} box;

static bool is_empty(const box *b)
{
    return b->lower[0] > b->upper[0];
}

static void merge(box *into, const box *other)
{
    for (int i = 0; i < 3; i++) {
        into->lower[i] = fmin(into->lower[i], other->lower[i]);
        into->upper[i] = fmax(into->upper[i], other->upper[i]);
    }
}

static double farthest_corner(const box *b, const double from[3])
{
    double corner[3];
    for (int i = 0; i < 3; i++)
        corner[i] = fmax(fabs(b->lower[i] - from[i]), fabs(b->upper[i] - from[i]));
    return mmd_vec3_length(corner);
}

static box box_of_point(const float p[3])
{
    return (box){{p[0], p[1], p[2]}, {p[0], p[1], p[2]}};
}

static void bound_vertices_above(const mmd_model *model, float least_weight, const bool *selected,
                                 box *boxes)
{
    for (size_t v = 0; v < model->vertex_count; v++) {
        box point = box_of_point(model->positions + 3 * v);
        for (size_t k = 0; k < 4; k++) {
            int32_t bone = model->bone_indices[4 * v + k];
            if (bone >= 0 && selected[bone] && fabsf(model->bone_weights[4 * v + k]) > least_weight)
                merge(&boxes[bone], &point);
        }
    }
}

/* The boxes of each bone's own vertices and rigid bodies. Small weights count only for bones that
   have no others. */
static void bound_vertices(const mmd_model *model, bool *selected, box *boxes)
{
    for (size_t i = 0; i < model->bone_count; i++) {
        boxes[i] = (box){{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};
        selected[i] = true;
    }
    bound_vertices_above(model, MIN_WEIGHT, selected, boxes);
    for (size_t i = 0; i < model->bone_count; i++)
        selected[i] = is_empty(&boxes[i]);
    bound_vertices_above(model, 0, selected, boxes);
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        box point = box_of_point(model->rigid_bodies[i].position);
        if (model->rigid_bodies[i].bone >= 0)
            merge(&boxes[model->rigid_bodies[i].bone], &point);
    }
}

/* Merges a box into those of a bone and of its parents. */
static void merge_upwards(const mmd_rig *rig, box *boxes, int32_t bone, const box *other)
{
    box copy = *other;
    for (; bone >= 0; bone = rig->bones[bone].parent)
        merge(&boxes[bone], &copy);
}

/* Adds to each bone's box those of what follows it: children, bones that append it, and the links
   that an IK bone and its effector rotate. `order` has parents and sources first. */
static void bound_followers(const mmd_rig *rig, const int32_t *order, box *boxes)
{
    for (size_t i = rig->bone_count; i-- > 0;) {
        int32_t index = order[i];
        const mmd_rig_bone *bone = &rig->bones[index];
        if (bone->parent >= 0)
            merge(&boxes[bone->parent], &boxes[index]);
        if (bone->source >= 0)
            merge(&boxes[bone->source], &boxes[index]);
    }
    for (size_t s = 0; s < rig->solver_count; s++) {
        const mmd_rig_solver *solver = &rig->solvers[s];
        for (size_t k = 0; k < solver->link_count; k++) {
            merge_upwards(rig, boxes, solver->goal, &boxes[solver->links[k].bone]);
            merge_upwards(rig, boxes, solver->effector, &boxes[solver->links[k].bone]);
        }
    }
}

/* Moving bones above each bone and below it, the longer chain of children, together. */
static void measure_chains(const mmd_rig *rig, const int32_t *order, const bool *moving,
                           uint32_t *above, uint32_t *below, uint32_t *chain)
{
    size_t n = rig->bone_count;
    for (size_t i = 0; i < n; i++) {
        int32_t parent = rig->bones[order[i]].parent;
        above[order[i]] = (parent < 0 ? 0 : above[parent]) + moving[order[i]];
        below[order[i]] = 0;
    }
    for (size_t i = n; i-- > 0;) {
        int32_t parent = rig->bones[order[i]].parent;
        uint32_t length = below[order[i]] + moving[order[i]];
        if (parent >= 0 && length > below[parent])
            below[parent] = length;
    }
    for (size_t i = 0; i < n; i++)
        chain[i] = above[i] + below[i] > 0 ? above[i] + below[i] : 1;
}

bool mmd_mesh_tolerance_init(mmd_arena *arena, const mmd_rig *rig, const int32_t *order,
                             const bool *moving, mmd_mesh_tolerance *out)
{
    size_t n = rig->bone_count;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    box *boxes = mmd_arena_alloc(&temporary, n, sizeof *boxes);
    bool *selected = mmd_arena_alloc(&temporary, n, sizeof *selected);
    uint32_t *above = mmd_arena_alloc(&temporary, n, sizeof *above);
    uint32_t *below = mmd_arena_alloc(&temporary, n, sizeof *below);
    *out = (mmd_mesh_tolerance){mmd_arena_alloc(arena, n, sizeof *out->reach),
                                mmd_arena_alloc(arena, n, sizeof *out->chain)};
    if (!boxes || !selected || !above || !below || !out->reach || !out->chain)
        return false;
    bound_vertices(rig->model, selected, boxes);
    bound_followers(rig, order, boxes);
    for (size_t i = 0; i < n; i++)
        out->reach[i] =
            is_empty(&boxes[i]) ? -1 : (float)farthest_corner(&boxes[i], rig->bones[i].position);
    measure_chains(rig, order, moving, above, below, out->chain);
    return true;
}

mmd_mesh_tolerance_bone mmd_mesh_tolerance_of(const mmd_mesh_tolerance *tolerance, size_t bone,
                                              double distance)
{
    double bone_distance = distance / sqrt((double)tolerance->chain[bone]);
    double angle = bone_distance / fmax((double)tolerance->reach[bone], MIN_REACH);
    return (mmd_mesh_tolerance_bone){bone_distance, fmin(angle, MAX_ANGLE)};
}
