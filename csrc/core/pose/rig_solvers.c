/* SPDX-License-Identifier: MIT */
#include "core/pose/rig_solvers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds for hostile files, far above any model made for use. Solvers past them do nothing. */
enum {
    MAX_LOOPS = 1024,        /* MMD honours at least 720: docs/mmd-behaviour.md#ik-loop-bound */
    MAX_PLACED = 1 << 25,    /* bones placed in a frame by all solvers together */
    MAX_FOLLOWERS = 1 << 18, /* of all solvers together, */
    FOLLOWERS_OF_A_BONE = 64 /* and so many more for each bone of the model */
};

static const double pi = 3.141592653589793, four_pi = 12.566370614359172, right_angle = 1.570796;

static mmd_half_angle half_of(double angle)
{
    return (mmd_half_angle){sin(angle / 2), cos(angle / 2)};
}

static double sine_of_half(double angle)
{
    return angle <= -pi ? -HUGE_VAL : angle >= pi ? HUGE_VAL : sin(angle / 2);
}

static mmd_rig_bound bound(double angle, double other)
{
    return (mmd_rig_bound){.sine = sine_of_half(angle),
                           .room = sine_of_half(2 * angle - other),
                           .angle = half_of(angle),
                           .twice = half_of(2 * angle)};
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
        out->order = 0;
    else if (-right_angle < lower[1] && upper[1] < right_angle)
        out->order = 1;
    else
        out->order = 2;
}

/* The bound of a step of the k-th link. Angles between directions end at pi. */
static void bound_step(mmd_rig_link *link, double unit_angle, size_t k)
{
    link->most = unit_angle > 0 ? fmin(unit_angle, four_pi) * (double)(k + 1) : HUGE_VAL;
    link->least_cosine = link->most < pi ? cos(link->most) : -2;
    link->largest = half_of(fmin(link->most, pi));
}

static bool copy_solver(mmd_rig *rig, int32_t goal, mmd_rig_solver *out)
{
    const mmd_ik *ik = rig->model->bones[goal].ik;
    out->goal = goal;
    out->effector = ik->target;
    int32_t loops = ik->loop_count < 0           ? 0
                    : ik->loop_count > MAX_LOOPS ? MAX_LOOPS
                                                 : ik->loop_count;
    /* The quotient in single precision, as MMD has it. */
    float least = ik->unit_angle > 0 ? (float)four_pi / ik->unit_angle : 0;
    int32_t floor_least = least > 360 ? 360 : (int32_t)least;
    out->iterations = loops > floor_least ? loops : floor_least;
    if (out->iterations < 1)
        out->iterations = 1;
    out->links = mmd_arena_alloc(&rig->arena, ik->link_count, sizeof *out->links);
    if (!out->links)
        return false;
    for (size_t k = 0; k < ik->link_count && out->link_count < MMD_MAX_LINKS; k++)
        if (ik->links[k].bone >= 0) {
            bound_step(&out->links[out->link_count], ik->unit_angle, k);
            copy_link(&ik->links[k], &out->links[out->link_count++]);
        }
    return true;
}

static bool runs(const mmd_bone *bone, int32_t index)
{
    return bone->ik && bone->ik->target >= 0 && bone->ik->target != index &&
           bone->ik->unit_angle >= 0;
}

static bool copy_solvers(mmd_rig *rig)
{
    rig->solvers = mmd_arena_alloc(&rig->arena, rig->bone_count, sizeof *rig->solvers);
    if (!rig->solvers)
        return false;
    for (size_t i = 0; i < rig->layer_count; i++) {
        mmd_rig_layer *layer = &rig->layers[i];
        layer->first_solver = rig->solver_count;
        for (size_t k = 0; k < layer->bone_count; k++) {
            int32_t bone = rig->order[layer->first_bone + k];
            if (runs(&rig->model->bones[bone], bone) &&
                !copy_solver(rig, bone, &rig->solvers[rig->solver_count++]))
                return false;
        }
        layer->solver_count = rig->solver_count - layer->first_solver;
    }
    return true;
}

/* What solvers make of a bone. Stale: it may end on an old place of its parent. */
enum { IS_LINK = 1, IS_EFFECTOR = 2, IS_STALE = 4 };

/* What a solver sees in a bone: it moves with the links, is a link, or the solution reads it. */
enum { FOLLOWS = 1, LINK = 2, NEEDED = 4 };

/* Which bones read which, and room for walks along that, which leave `marks` as they were. */
typedef struct graph {
    size_t *first_reader;    /* (B + 1,) into readers */
    int32_t *readers;        /* children of a bone and those that append from it */
    int32_t *rank, *deepest; /* place in the order: its own, and the last of all that it reads */
    uint8_t *roles, *marks;
    int32_t *found, *needed, *at;
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
        bone->fed = (bone->source >= 0 && roles[bone->source] & IS_LINK) ||
                    (bone->parent >= 0 && rig->bones[bone->parent].fed);
    }
    rig->deferred = mmd_arena_alloc(&rig->arena, rig->bone_count, sizeof *rig->deferred);
    if (!rig->deferred)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < rig->layer_count; i++) {
        mmd_rig_layer *layer = &rig->layers[i];
        layer->first_deferred = count;
        for (size_t k = 0; k < layer->bone_count; k++) {
            int32_t bone = rig->order[layer->first_bone + k];
            if (rig->bones[bone].fed && roles[bone] == IS_EFFECTOR)
                rig->deferred[count++] = bone;
        }
        layer->deferred_count = count - layer->first_deferred;
    }
    return true;
}

/* Adds a bone to a list of those that bear the mark, once. */
static void mark(uint8_t *marks, uint8_t bit, int32_t bone, int32_t *list, size_t *count)
{
    if (marks[bone] & bit)
        return;
    marks[bone] |= bit;
    list[(*count)++] = bone;
}

static void add_readers(const graph *g, uint8_t bit, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        for (size_t k = g->first_reader[g->found[i]]; k < g->first_reader[g->found[i] + 1]; k++)
            mark(g->marks, bit, g->readers[k], g->found, count);
}

static void forget(const graph *g, size_t count)
{
    for (size_t i = 0; i < count; i++)
        g->marks[g->found[i]] = 0;
}

static void find_readers(const mmd_rig *rig, graph *g)
{
    size_t n = rig->bone_count;
    /* Counts go two places up, so that filling leaves the starts one place down. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            int32_t reads[2] = {rig->bones[i].parent, rig->bones[i].source};
            for (int k = 0; k < 2; k++)
                if (reads[k] >= 0 && pass == 0)
                    g->first_reader[reads[k] + 2]++;
                else if (reads[k] >= 0)
                    g->readers[g->first_reader[reads[k] + 1]++] = (int32_t)i;
        }
        for (size_t i = 0; i < n && pass == 0; i++)
            g->first_reader[i + 2] += g->first_reader[i + 1];
    }
}

/* From the last bone backward, so that whoever is reached first is reached from its deepest. */
static void find_deepest(const mmd_rig *rig, graph *g)
{
    size_t count = 0;
    for (size_t i = rig->bone_count; i--;) {
        size_t known = count;
        mark(g->marks, FOLLOWS, rig->order[i], g->found, &count);
        for (size_t k = known; k < count; k++) {
            int32_t bone = g->found[k];
            g->deepest[bone] = (int32_t)i;
            for (size_t r = g->first_reader[bone]; r < g->first_reader[bone + 1]; r++)
                mark(g->marks, FOLLOWS, g->readers[r], g->found, &count);
        }
    }
    forget(g, count);
}

static bool make_graph(const mmd_rig *rig, graph *g, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    *g = (graph){.first_reader = mmd_arena_alloc(temporary, n + 2, sizeof *g->first_reader),
                 .readers = mmd_arena_alloc(temporary, 2 * n, sizeof *g->readers),
                 .rank = mmd_arena_alloc(temporary, n, sizeof *g->rank),
                 .deepest = mmd_arena_alloc(temporary, n, sizeof *g->deepest),
                 .roles = mmd_arena_alloc(temporary, n, sizeof *g->roles),
                 .marks = mmd_arena_alloc(temporary, n, sizeof *g->marks),
                 .found = mmd_arena_alloc(temporary, n, sizeof *g->found),
                 .needed = mmd_arena_alloc(temporary, n, sizeof *g->needed),
                 .at = mmd_arena_alloc(temporary, n, sizeof *g->at)};
    if (!g->first_reader || !g->readers || !g->rank || !g->deepest || !g->roles || !g->marks ||
        !g->found || !g->needed || !g->at)
        return false;
    for (size_t i = 0; i < n; i++)
        g->rank[rig->order[i]] = (int32_t)i;
    find_readers(rig, g);
    find_deepest(rig, g);
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

/* Everything that moves with the links: g->found, in evaluation order. */
static size_t find_moved(const mmd_rig *rig, const mmd_rig_solver *solver, const graph *g)
{
    size_t count = 0;
    mark(g->marks, FOLLOWS, solver->effector, g->found, &count);
    for (size_t k = 0; k < solver->link_count; k++) {
        mark(g->marks, FOLLOWS, solver->links[k].bone, g->found, &count);
        g->marks[solver->links[k].bone] |= LINK;
    }
    add_readers(g, FOLLOWS, &count);
    sort_by_rank(rig, g, g->found, count);
    return count;
}

static void need(const graph *g, int32_t bone, size_t *count)
{
    if (bone >= 0 && g->marks[bone] & FOLLOWS)
        mark(g->marks, NEEDED, bone, g->needed, count);
}

/* Of those that move, what effector, links and goal depend on. (Whatever reads a bone that moves
   moves, so the way to it never leaves them.) */
static void find_needed(const mmd_rig *rig, const mmd_rig_solver *solver, const graph *g)
{
    size_t count = 0;
    need(g, solver->effector, &count);
    need(g, solver->goal, &count);
    for (size_t k = 0; k < solver->link_count; k++)
        need(g, solver->links[k].bone, &count);
    for (size_t i = 0; i < count; i++) {
        need(g, rig->bones[g->needed[i]].parent, &count);
        need(g, rig->bones[g->needed[i]].source, &count);
    }
}

/* Whether the inner followers lead from one link down to the effector, one the parent of the next,
   so that a step turns the effector about its link and moves the goal not at all. */
static bool is_chain(const mmd_rig *rig, const mmd_rig_solver *solver)
{
    for (size_t i = 0; i < solver->inner_followers; i++) {
        int32_t bone = solver->inner_follower[i];
        if (bone == solver->goal ||
            (i > 0 && rig->bones[bone].parent != solver->inner_follower[i - 1]))
            return false;
    }
    return solver->inner_follower[solver->inner_followers - 1] == solver->effector;
}

/* Bones before a link do not move with it, as long as none of them can append from it. */
static void find_first_followers(const mmd_rig *rig, mmd_rig_solver *solver, const graph *g)
{
    for (size_t i = 0; i < solver->inner_followers; i++) {
        if (rig->bones[solver->inner_follower[i]].source >= 0)
            return;
        g->at[solver->inner_follower[i]] = (int32_t)i;
    }
    for (size_t k = 0; k < solver->link_count; k++)
        solver->links[k].first_follower = (size_t)g->at[solver->links[k].bone];
    solver->chain = is_chain(rig, solver);
}

/* The refresh set of docs/mmd-behaviour.md#ik-refresh-set: what moves, without other solvers'
   effectors, and the part of it that the solution depends on. */
static bool find_followers(mmd_rig *rig, mmd_rig_solver *solver, const graph *g, double *room)
{
    size_t count = find_moved(rig, solver, g);
    *room -= (double)count;
    find_needed(rig, solver, g);
    solver->follower = mmd_arena_alloc(&rig->arena, count, sizeof *solver->follower);
    solver->inner_follower = mmd_arena_alloc(&rig->arena, count, sizeof *solver->inner_follower);
    bool complete = solver->follower && solver->inner_follower;
    for (size_t i = 0; complete && i < count; i++) {
        int32_t bone = g->found[i];
        if (g->roles[bone] & IS_EFFECTOR && bone != solver->effector && !(g->marks[bone] & LINK)) {
            g->roles[bone] |= IS_STALE;
            continue;
        }
        solver->follower[solver->followers++] = bone;
        if (g->marks[bone] & NEEDED)
            solver->inner_follower[solver->inner_followers++] = bone;
    }
    if (complete)
        find_first_followers(rig, solver, g);
    forget(g, count);
    return complete;
}

/* Whether it reads a bone at or behind `end` in the order. */
static bool reads_behind(const mmd_rig_solver *solver, const graph *g, size_t end)
{
    bool reads =
        (size_t)g->deepest[solver->effector] >= end || (size_t)g->deepest[solver->goal] >= end;
    for (size_t k = 0; k < solver->link_count; k++)
        reads |= (size_t)g->deepest[solver->links[k].bone] >= end;
    return reads;
}

static double placed(const mmd_rig_solver *solver)
{
    double steps = (double)solver->iterations * (double)solver->link_count;
    return steps * (double)(solver->inner_followers + 1) + (double)solver->followers;
}

static bool find_all_followers(mmd_rig *rig, const graph *g)
{
    double room = MAX_FOLLOWERS + FOLLOWERS_OF_A_BONE * (double)rig->bone_count;
    double budget = MAX_PLACED;
    for (size_t i = 0; i < rig->layer_count; i++) {
        const mmd_rig_layer *layer = &rig->layers[i];
        size_t end = layer->first_bone + layer->bone_count;
        for (size_t k = 0; k < layer->solver_count; k++) {
            mmd_rig_solver *solver = &rig->solvers[layer->first_solver + k];
            if (room >= 0 && budget >= 0) {
                if (!find_followers(rig, solver, g, &room))
                    return false;
                rig->reads_ahead |= reads_behind(solver, g, end);
                budget -= placed(solver);
            }
            if (room < 0 || budget < 0)
                solver->iterations = 0;
        }
    }
    return true;
}

/* Placing a bone is the same again unless its parent has been placed since: only effectors that
   other solvers leave behind, those of sweep three, and what hangs on them. */
static bool find_settled(mmd_rig *rig, const graph *g)
{
    for (size_t i = 0; i < rig->layer_count; i++)
        for (size_t k = 0; k < rig->layers[i].deferred_count; k++)
            g->roles[rig->deferred[rig->layers[i].first_deferred + k]] |= IS_STALE;
    rig->settled = mmd_arena_alloc(&rig->arena, rig->bone_count, sizeof *rig->settled);
    for (size_t i = 0; rig->settled && i < rig->bone_count; i++) {
        int32_t bone = rig->order[i], parent = rig->bones[bone].parent;
        if (parent >= 0)
            g->roles[bone] |= g->roles[parent] & IS_STALE;
        if (g->roles[bone] & IS_STALE)
            rig->settled[rig->settled_count++] = bone;
    }
    return rig->settled != NULL;
}

bool mmd_rig_find_solvers(mmd_rig *rig, mmd_arena *temporary)
{
    graph g;
    return copy_solvers(rig) && make_graph(rig, &g, temporary) && find_roles(rig, g.roles) &&
           find_all_followers(rig, &g) && find_settled(rig, &g);
}
