/* SPDX-License-Identifier: MIT */
/* Prepares IK solvers: their step limits and angle limits, and which bones each has to update
   (docs/mmd-behavior.md#ik-refresh-set).

   Bones depend on their parent and on their append source. The bones that move with a solver are
   those that depend on its links or effector, found by a breadth-first search of the dependents
   graph. Those of them that the effector, the goal or a link depends on are its inner bones: only
   they are updated in every step. */
#include "core/pose/rig.h"

#include "core/math/scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits against hostile files, far above any real model. Solvers beyond them do nothing. */
enum {
    MAX_LOOPS = 1024,         /* MMD honors at least 720: docs/mmd-behavior.md#ik-loop-bound */
    MAX_UPDATES = 1 << 25,    /* of bones in a frame, by all solvers */
    MAX_REFRESH = 1 << 18,    /* bones in the refresh sets of all solvers, */
    MAX_REFRESH_PER_BONE = 64 /* plus this many for each bone of the model */
};

static const double right_angle = 1.570796; /* as MMD compares limits with it */

static mmd_rig_half_angle half_angle(double angle)
{
    mmd_rig_half_angle half;
    mmd_portable_sin_cos(angle / 2, &half.sine, &half.cosine);
    return half;
}

static double half_sine(double angle)
{
    return angle <= -MMD_PI ? -HUGE_VAL : angle >= MMD_PI ? HUGE_VAL : mmd_portable_sin(angle / 2);
}

static mmd_rig_bound bound(double angle, double other)
{
    return (mmd_rig_bound){.half_sine = half_sine(angle),
                           .reflected_half_sine = half_sine(2 * angle - other),
                           .half = half_angle(angle),
                           .full = half_angle(2 * angle)};
}

static void copy_link(const mmd_ik_link *link, mmd_rig_link *out)
{
    double lower[3] = {0}, upper[3] = {0};
    out->bone = link->bone;
    out->limited = link->limited;
    out->single_axis = -1;
    int used = 0;
    for (int i = 0; i < 3 && link->limited; i++) {
        lower[i] = link->lower[i];
        upper[i] = link->upper[i];
        bool locked = lower[i] == 0 && upper[i] == 0;
        out->limits[i] =
            (mmd_rig_limit){bound(lower[i], upper[i]), bound(upper[i], lower[i]), locked};
        if (!locked) {
            out->single_axis = i;
            used++;
        }
    }
    if (used != 1)
        out->single_axis = -1;
    if (-right_angle < lower[0] && upper[0] < right_angle)
        out->euler_order = 0;
    else if (-right_angle < lower[1] && upper[1] < right_angle)
        out->euler_order = 1;
    else
        out->euler_order = 2;
}

/* The step limit of the k-th link. Angles between directions are at most pi. */
static void limit_step(mmd_rig_link *link, double unit_angle, size_t k)
{
    link->step_limit = unit_angle > 0 ? fmin(unit_angle, 4 * MMD_PI) * (double)(k + 1) : HUGE_VAL;
    link->step_limit_cosine = -2;
    if (link->step_limit < MMD_PI)
        link->step_limit_cosine = half_angle(2 * link->step_limit).cosine;
    link->half_step_limit = half_angle(fmin(link->step_limit, MMD_PI));
}

static bool copy_solver(mmd_rig *rig, int32_t goal, mmd_rig_solver *out)
{
    const mmd_ik *ik = rig->model->bones[goal].ik;
    out->goal = goal;
    out->effector = ik->target;
    int32_t loops = ik->loop_count < 0           ? 0
                    : ik->loop_count > MAX_LOOPS ? MAX_LOOPS
                                                 : ik->loop_count;
    /* MMD divides in single precision. */
    float min_loops = ik->unit_angle > 0 ? (float)(4 * MMD_PI) / ik->unit_angle : 0;
    int32_t min_iterations = min_loops > 360 ? 360 : (int32_t)min_loops;
    out->iterations = loops > min_iterations ? loops : min_iterations;
    if (out->iterations < 1)
        out->iterations = 1;
    size_t capacity = ik->link_count < MMD_MAX_LINKS ? ik->link_count : MMD_MAX_LINKS;
    if (!MMD_ARENA_ARRAY(&rig->arena, out->links, capacity))
        return false;
    for (size_t k = 0; k < ik->link_count && out->link_count < MMD_MAX_LINKS; k++)
        if (ik->links[k].bone >= 0) {
            limit_step(&out->links[out->link_count], ik->unit_angle, k);
            copy_link(&ik->links[k], &out->links[out->link_count++]);
        }
    return true;
}

static bool copy_solvers(mmd_rig *rig)
{
    if (!MMD_ARENA_ARRAY(&rig->arena, rig->solvers, rig->bone_count))
        return false;
    for (size_t i = 0; i < rig->layer_count; i++) {
        mmd_rig_layer *layer = &rig->layers[i];
        layer->first_solver = rig->solver_count;
        for (size_t k = 0; k < layer->bone_count; k++) {
            int32_t bone = rig->order[layer->first_bone + k];
            const mmd_ik *ik = rig->model->bones[bone].ik;
            if (ik && ik->target >= 0 && ik->target != bone && ik->unit_angle >= 0 &&
                !copy_solver(rig, bone, &rig->solvers[rig->solver_count++]))
                return false;
        }
        layer->solver_count = rig->solver_count - layer->first_solver;
    }
    return true;
}

/* Roles of a bone in all solvers. A stale one may be placed by an old state of its parent. */
enum { IS_LINK = 1, IS_EFFECTOR = 2, IS_STALE = 4 };

/* Marks of a bone in one solver: it moves with the links, is a link, a step can depend on it. */
enum { MOVES = 1, LINK = 2, INNER = 4 };

/* The dependents graph of the bones, and memory for searching it. Every search clears its marks. */
typedef struct graph {
    size_t *first_dependent;    /* (B + 1,) into dependents */
    int32_t *dependents;        /* the children of a bone and the bones that append from it */
    int32_t *rank;              /* index in the evaluation order */
    int32_t *last_prerequisite; /* the largest rank of all bones that a bone depends on */
    uint8_t *roles, *marks;
    int32_t *found, *inner, *inner_index;
} graph;

static bool find_roles(mmd_rig *rig, uint8_t *roles)
{
    for (size_t s = 0; s < rig->solver_count; s++) {
        roles[rig->solvers[s].effector] |= IS_EFFECTOR;
        for (size_t k = 0; k < rig->solvers[s].link_count; k++)
            roles[rig->solvers[s].links[k].bone] |= IS_LINK;
    }
    for (size_t i = 0; i < rig->bone_count; i++) {
        mmd_rig_bone *bone = &rig->bones[i];
        bone->link_driven = (bone->source >= 0 && roles[bone->source] & IS_LINK) ||
                            (bone->parent >= 0 && rig->bones[bone->parent].link_driven);
    }
    if (!MMD_ARENA_ARRAY(&rig->arena, rig->deferred, rig->bone_count))
        return false;
    size_t count = 0;
    for (size_t i = 0; i < rig->layer_count; i++) {
        mmd_rig_layer *layer = &rig->layers[i];
        layer->first_deferred = count;
        for (size_t k = 0; k < layer->bone_count; k++) {
            int32_t bone = rig->order[layer->first_bone + k];
            if (rig->bones[bone].link_driven && roles[bone] == IS_EFFECTOR)
                rig->deferred[count++] = bone;
        }
        layer->deferred_count = count - layer->first_deferred;
    }
    return true;
}

/* Marks a bone and adds it to a list, once. */
static void mark(uint8_t *marks, uint8_t bit, int32_t bone, int32_t *list, size_t *count)
{
    if (marks[bone] & bit)
        return;
    marks[bone] |= bit;
    list[(*count)++] = bone;
}

/* Adds what depends on the bones found, from `first` on. */
static void add_dependents(const graph *g, size_t first, size_t *count)
{
    for (size_t i = first; i < *count; i++) {
        const size_t *range = &g->first_dependent[g->found[i]];
        for (size_t k = range[0]; k < range[1]; k++)
            mark(g->marks, MOVES, g->dependents[k], g->found, count);
    }
}

static void clear_marks(const graph *g, size_t count)
{
    for (size_t i = 0; i < count; i++)
        g->marks[g->found[i]] = 0;
}

static void find_dependents(const mmd_rig *rig, graph *g)
{
    size_t n = rig->bone_count;
    /* A counting sort: counts are stored two places up, as filling moves the starts one down. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            int32_t reads[2] = {rig->bones[i].parent, rig->bones[i].source};
            for (int k = 0; k < 2; k++)
                if (reads[k] >= 0 && pass == 0)
                    g->first_dependent[reads[k] + 2]++;
                else if (reads[k] >= 0)
                    g->dependents[g->first_dependent[reads[k] + 1]++] = (int32_t)i;
        }
        for (size_t i = 0; i < n && pass == 0; i++)
            g->first_dependent[i + 2] += g->first_dependent[i + 1];
    }
}

/* Searches from the last bone backward: a bone is reached first from its last prerequisite. */
static void find_last_prerequisites(const mmd_rig *rig, graph *g)
{
    size_t count = 0;
    for (size_t i = rig->bone_count; i--;) {
        size_t known = count;
        mark(g->marks, MOVES, rig->order[i], g->found, &count);
        add_dependents(g, known, &count);
        for (size_t k = known; k < count; k++)
            g->last_prerequisite[g->found[k]] = (int32_t)i;
    }
    clear_marks(g, count);
}

static bool make_graph(const mmd_rig *rig, graph *g, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    *g = (graph){0};
    if (!MMD_ARENA_ARRAY(temporary, g->first_dependent, n + 2) ||
        !MMD_ARENA_ARRAY(temporary, g->dependents, 2 * n) ||
        !MMD_ARENA_ARRAY(temporary, g->rank, n) ||
        !MMD_ARENA_ARRAY(temporary, g->last_prerequisite, n) ||
        !MMD_ARENA_ARRAY(temporary, g->roles, n) || !MMD_ARENA_ARRAY(temporary, g->marks, n) ||
        !MMD_ARENA_ARRAY(temporary, g->found, n) || !MMD_ARENA_ARRAY(temporary, g->inner, n) ||
        !MMD_ARENA_ARRAY(temporary, g->inner_index, n))
        return false;
    for (size_t i = 0; i < n; i++)
        g->rank[rig->order[i]] = (int32_t)i;
    find_dependents(rig, g);
    find_last_prerequisites(rig, g);
    return true;
}

static int compare_ranks(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_by_rank(const mmd_rig *rig, const graph *g, int32_t *bones, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bones[i] = g->rank[bones[i]];
    qsort(bones, count, sizeof *bones, compare_ranks);
    for (size_t i = 0; i < count; i++)
        bones[i] = rig->order[bones[i]];
}

/* All bones that move with the links, in evaluation order: g->found. */
static size_t find_moving(const mmd_rig *rig, const mmd_rig_solver *solver, const graph *g)
{
    size_t count = 0;
    mark(g->marks, MOVES, solver->effector, g->found, &count);
    for (size_t k = 0; k < solver->link_count; k++) {
        mark(g->marks, MOVES, solver->links[k].bone, g->found, &count);
        g->marks[solver->links[k].bone] |= LINK;
    }
    add_dependents(g, 0, &count);
    sort_by_rank(rig, g, g->found, count);
    return count;
}

static void mark_inner(const graph *g, int32_t bone, size_t *count)
{
    if (bone >= 0 && g->marks[bone] & MOVES)
        mark(g->marks, INNER, bone, g->inner, count);
}

/* Marks the moving bones that effector, links and goal depend on. What depends on a moving bone
   moves, so a search of prerequisites need not leave the moving bones. */
static void find_inner(const mmd_rig *rig, const mmd_rig_solver *solver, const graph *g)
{
    size_t count = 0;
    mark_inner(g, solver->effector, &count);
    mark_inner(g, solver->goal, &count);
    for (size_t k = 0; k < solver->link_count; k++)
        mark_inner(g, solver->links[k].bone, &count);
    for (size_t i = 0; i < count; i++) {
        mark_inner(g, rig->bones[g->inner[i]].parent, &count);
        mark_inner(g, rig->bones[g->inner[i]].source, &count);
    }
}

/* Whether each inner bone is the parent of the next, from a link to the effector, so that a step
   rotates the effector about its link and does not move the goal. */
static bool is_chain(const mmd_rig *rig, const mmd_rig_solver *solver)
{
    for (size_t i = 0; i < solver->inner_count; i++) {
        int32_t bone = solver->inner[i];
        if (bone == solver->goal || (i > 0 && rig->bones[bone].parent != solver->inner[i - 1]))
            return false;
    }
    return solver->inner[solver->inner_count - 1] == solver->effector;
}

/* A step of a link does not move earlier inner bones, unless one of them appends. */
static void find_first_inner(const mmd_rig *rig, mmd_rig_solver *solver, const graph *g)
{
    for (size_t i = 0; i < solver->inner_count; i++) {
        if (rig->bones[solver->inner[i]].source >= 0)
            return;
        g->inner_index[solver->inner[i]] = (int32_t)i;
    }
    for (size_t k = 0; k < solver->link_count; k++)
        solver->links[k].first_inner = (size_t)g->inner_index[solver->links[k].bone];
    solver->chain = is_chain(rig, solver);
}

/* The refresh set, all moving bones without the effectors of other solvers, and its inner bones.
   Early appends come first. Subtracts the number of moving bones from `budget`. */
static bool find_refresh_set(mmd_rig *rig, mmd_rig_solver *solver, const graph *g, double *budget)
{
    size_t count = find_moving(rig, solver, g);
    *budget -= (double)(count + rig->early_count);
    find_inner(rig, solver, g);
    size_t most = count + rig->early_count;
    solver->refresh = mmd_arena_alloc(&rig->arena, most, sizeof *solver->refresh);
    solver->inner = mmd_arena_alloc(&rig->arena, most, sizeof *solver->inner);
    bool allocated = solver->refresh && solver->inner;
    for (size_t i = 0; allocated && i < most; i++) {
        int32_t bone = i < rig->early_count ? rig->early[i] : g->found[i - rig->early_count];
        if (bone < 0 || !(g->marks[bone] & MOVES))
            continue;
        if (g->roles[bone] & IS_EFFECTOR && bone != solver->effector && !(g->marks[bone] & LINK)) {
            g->roles[bone] |= IS_STALE;
            continue;
        }
        solver->refresh[solver->refresh_count++] = bone;
        if (g->marks[bone] & INNER)
            solver->inner[solver->inner_count++] = bone;
    }
    if (allocated)
        find_first_inner(rig, solver, g);
    clear_marks(g, count);
    return allocated;
}

/* Whether the solver depends on a bone at or after `end` in the evaluation order. */
static bool depends_on_later(const mmd_rig_solver *solver, const graph *g, size_t end)
{
    bool later = (size_t)g->last_prerequisite[solver->effector] >= end ||
                 (size_t)g->last_prerequisite[solver->goal] >= end;
    for (size_t k = 0; k < solver->link_count; k++)
        later |= (size_t)g->last_prerequisite[solver->links[k].bone] >= end;
    return later;
}

static double count_updates(const mmd_rig_solver *solver)
{
    double steps = (double)solver->iterations * (double)solver->link_count;
    return steps * (double)(solver->inner_count + 1) + (double)solver->refresh_count;
}

static bool find_refresh_sets(mmd_rig *rig, const graph *g)
{
    double refresh_budget = MAX_REFRESH + MAX_REFRESH_PER_BONE * (double)rig->bone_count;
    double update_budget = MAX_UPDATES;
    for (size_t i = 0; i < rig->layer_count; i++) {
        const mmd_rig_layer *layer = &rig->layers[i];
        size_t end = layer->first_bone + layer->bone_count;
        for (size_t k = 0; k < layer->solver_count; k++) {
            mmd_rig_solver *solver = &rig->solvers[layer->first_solver + k];
            if (refresh_budget >= 0 && update_budget >= 0) {
                if (!find_refresh_set(rig, solver, g, &refresh_budget))
                    return false;
                rig->reads_later_layer |= depends_on_later(solver, g, end);
                update_budget -= count_updates(solver);
            }
            if (refresh_budget < 0 || update_budget < 0)
                solver->iterations = 0;
        }
    }
    return true;
}

/* Only bones whose parent has moved since their own update need another one: effectors that other
   solvers skip, those of pass 3, and their descendants. */
static bool find_final_update(mmd_rig *rig, const graph *g)
{
    for (size_t i = 0; i < rig->layer_count; i++)
        for (size_t k = 0; k < rig->layers[i].deferred_count; k++)
            g->roles[rig->deferred[rig->layers[i].first_deferred + k]] |= IS_STALE;
    rig->final_update = mmd_arena_alloc(&rig->arena, rig->bone_count, sizeof *rig->final_update);
    for (size_t i = 0; rig->final_update && i < rig->bone_count; i++) {
        int32_t bone = rig->order[i], parent = rig->bones[bone].parent;
        if (parent >= 0)
            g->roles[bone] |= g->roles[parent] & IS_STALE;
        if (g->roles[bone] & IS_STALE)
            rig->final_update[rig->final_update_count++] = bone;
    }
    return rig->final_update != NULL;
}

bool mmd_rig_solvers_find(mmd_rig *rig, mmd_arena *temporary)
{
    graph g;
    return copy_solvers(rig) && make_graph(rig, &g, temporary) && find_roles(rig, g.roles) &&
           find_refresh_sets(rig, &g) && find_final_update(rig, &g);
}
