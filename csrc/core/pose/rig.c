/* SPDX-License-Identifier: MIT */
#include "core/pose/rig.h"

#include "core/pose/quaternion.h"

#include <stdlib.h>

enum {
    MAX_LOOPS = 1024, /* MMD honours at least 720, docs/mmd-behaviour.md#ik-loop-bound */
    MAX_WORK = 1 << 25
};

static const double four_pi = 12.566370614359172, right_angle = 1.570796;

static void copy_bone(const mmd_model *model, size_t index, mmd_rig_bone *out)
{
    const mmd_bone *bone = &model->bones[index];
    double axis[3], length = 0;
    for (int i = 0; i < 3; i++) {
        out->position[i] = bone->position[i];
        axis[i] = bone->fixed_axis[i];
    }
    out->parent = bone->parent;
    out->source = -1;
    int append = (bone->flags & MMD_BONE_APPEND_ROTATION ? MMD_APPEND_ROTATION : 0) |
                 (bone->flags & MMD_BONE_APPEND_TRANSLATION ? MMD_APPEND_TRANSLATION : 0);
    if (append && bone->append_source >= 0 && bone->append_source != (int32_t)index) {
        out->source = bone->append_source;
        out->append = append | (bone->flags & MMD_BONE_APPEND_LOCAL ? MMD_APPEND_LOCAL : 0);
        out->ratio = bone->append_ratio;
    }
    length = sqrt(mmd_dot3(axis, axis));
    out->has_axis = bone->flags & MMD_BONE_FIXED_AXIS && length > 1e-6;
    for (int i = 0; i < 3 && out->has_axis; i++)
        out->axis[i] = axis[i] / length;
}

/* Where a bone stands in the evaluation: after physics or not, then its layer, both at least its
   parent's. */
typedef struct place {
    int32_t layer;
    bool after_physics, known, emitted;
} place;

static place own_place(const mmd_model *model, int32_t bone)
{
    return (place){.layer = model->bones[bone].layer,
                   .after_physics = model->bones[bone].flags & MMD_BONE_AFTER_PHYSICS,
                   .known = true};
}

/* Bones of `path`, from the root downward, are placed or emitted by the caller. */
static size_t path_to_root(const mmd_rig *rig, int32_t bone, const place *places, bool emitted,
                           int32_t *path)
{
    size_t length = 0;
    while (bone >= 0 && !(emitted ? places[bone].emitted : places[bone].known)) {
        path[length++] = bone;
        bone = rig->bones[bone].parent;
    }
    return length;
}

typedef struct ranked {
    int32_t bone, layer;
    bool after_physics;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->after_physics != y->after_physics)
        return x->after_physics ? 1 : -1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return x->bone < y->bone ? -1 : x->bone > y->bone;
}

static bool same_layer(const place *a, const place *b)
{
    return a->layer == b->layer && a->after_physics == b->after_physics;
}

static bool find_order(mmd_rig *rig, const mmd_model *model, place *places, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    int32_t *path = mmd_arena_alloc(temporary, n, sizeof *path);
    ranked *sorted = mmd_arena_alloc(temporary, n, sizeof *sorted);
    if (!path || !sorted)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t length = path_to_root(rig, (int32_t)i, places, false, path);
        while (length--) {
            place *at = &places[path[length]];
            *at = own_place(model, path[length]);
            int32_t parent = rig->bones[path[length]].parent;
            if (parent < 0)
                continue;
            if (places[parent].after_physics && !at->after_physics)
                *at = places[parent];
            else if (places[parent].after_physics == at->after_physics &&
                     at->layer < places[parent].layer)
                at->layer = places[parent].layer;
        }
        sorted[i] = (ranked){(int32_t)i, places[i].layer, places[i].after_physics};
    }
    if (n)
        qsort(sorted, n, sizeof *sorted, compare_ranked);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = path_to_root(rig, sorted[i].bone, places, true, path);
        while (length--) {
            places[path[length]].emitted = true;
            rig->order[count++] = path[length];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !same_layer(&places[rig->order[i - 1]], &places[rig->order[i]])) {
            rig->layers[rig->layer_count++].first_bone = i;
        }
        rig->layers[rig->layer_count - 1].bone_count++;
    }
    return true;
}

static void copy_link(const mmd_ik_link *link, mmd_rig_link *out)
{
    out->bone = link->bone;
    out->limited = link->limited;
    out->single_axis = -1;
    int used = 0;
    for (int i = 0; i < 3 && link->limited; i++) {
        out->lower[i] = link->lower[i];
        out->upper[i] = link->upper[i];
        if (link->lower[i] != 0 || link->upper[i] != 0) {
            out->single_axis = i;
            used++;
        }
    }
    if (used != 1)
        out->single_axis = -1;
    if (-right_angle < out->lower[0] && out->upper[0] < right_angle)
        out->order = 0;
    else if (-right_angle < out->lower[1] && out->upper[1] < right_angle)
        out->order = 1;
    else
        out->order = 2;
}

/* The bound of a step of the k-th link. Angles between directions end at pi. */
static void bound_step(mmd_rig_link *link, double unit_angle, size_t k)
{
    link->most = unit_angle > 0 ? fmin(unit_angle, four_pi) * (double)(k + 1) : HUGE_VAL;
    double half = fmin(link->most, four_pi / 4) / 2;
    link->least_cosine = link->most < four_pi / 4 ? cos(link->most) : -2;
    link->half_sine = sin(half);
    link->half_cosine = cos(half);
}

static bool copy_solver(mmd_rig *rig, const mmd_bone *bones, int32_t goal, mmd_rig_solver *out)
{
    const mmd_ik *ik = bones[goal].ik;
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

static bool find_solvers(mmd_rig *rig, const mmd_model *model)
{
    rig->solvers = mmd_arena_alloc(&rig->arena, rig->bone_count, sizeof *rig->solvers);
    if (!rig->solvers)
        return false;
    for (size_t i = 0; i < rig->layer_count; i++) {
        mmd_rig_layer *layer = &rig->layers[i];
        layer->first_solver = rig->solver_count;
        for (size_t k = 0; k < layer->bone_count; k++) {
            int32_t bone = rig->order[layer->first_bone + k];
            if (runs(&model->bones[bone], bone) &&
                !copy_solver(rig, model->bones, bone, &rig->solvers[rig->solver_count++]))
                return false;
        }
        layer->solver_count = rig->solver_count - layer->first_solver;
    }
    return true;
}

enum { IS_LINK = 1, IS_EFFECTOR = 2, IS_MOVED = 4 };

/* What the solvers make of each bone, and which bones that feeds. */
static bool find_fed(mmd_rig *rig, uint8_t *roles)
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

static int32_t *list_marked(mmd_rig *rig, const uint8_t *marks, uint8_t wanted, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < rig->bone_count; i++)
        *count += (marks[i] & wanted) == wanted;
    int32_t *list = mmd_arena_alloc(&rig->arena, *count, sizeof *list);
    size_t at = 0;
    for (size_t i = 0; list && i < rig->bone_count; i++)
        if ((marks[rig->order[i]] & wanted) == wanted)
            list[at++] = rig->order[i];
    return list;
}

/* For each bone the bones that read it: children and those that append from it. */
typedef struct readers {
    size_t *first; /* (B + 1,) into bones */
    int32_t *bones;
    int32_t *stack;
    uint8_t *marks;
} readers;

static bool find_readers(const mmd_rig *rig, readers *out, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    out->first = mmd_arena_alloc(temporary, n + 2, sizeof *out->first);
    out->bones = mmd_arena_alloc(temporary, 2 * n, sizeof *out->bones);
    out->stack = mmd_arena_alloc(temporary, n, sizeof *out->stack);
    out->marks = mmd_arena_alloc(temporary, n, 1);
    if (!out->first || !out->bones || !out->stack || !out->marks)
        return false;
    /* Counts go two places up, so that filling leaves the starts one place down. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            int32_t reads[2] = {rig->bones[i].parent, rig->bones[i].source};
            for (int k = 0; k < 2; k++)
                if (reads[k] >= 0 && pass == 0)
                    out->first[reads[k] + 2]++;
                else if (reads[k] >= 0)
                    out->bones[out->first[reads[k] + 1]++] = (int32_t)i;
        }
        for (size_t i = 0; i < n && pass == 0; i++)
            out->first[i + 2] += out->first[i + 1];
    }
    return true;
}

enum { FOLLOWS = 1, LINK = 2, NEEDED = 4 };

static void mark_one(const readers *r, int32_t bone, uint8_t mark, size_t *depth)
{
    if (bone < 0 || r->marks[bone] & mark)
        return;
    r->marks[bone] |= mark;
    r->stack[(*depth)++] = bone;
}

static size_t mark_roots(const readers *r, const mmd_rig_solver *solver, uint8_t mark)
{
    size_t depth = 0;
    mark_one(r, solver->effector, mark, &depth);
    for (size_t k = 0; k < solver->link_count; k++)
        mark_one(r, solver->links[k].bone, mark, &depth);
    return depth;
}

/* Bones before a link do not move with it, as long as none of them can append from it. */
static void find_first_followers(const mmd_rig *rig, mmd_rig_solver *solver)
{
    for (size_t i = 0; i < solver->inner_followers; i++)
        if (rig->bones[solver->inner_follower[i]].source >= 0)
            return;
    for (size_t k = 0; k < solver->link_count; k++)
        while (solver->inner_follower[solver->links[k].first_follower] != solver->links[k].bone)
            solver->links[k].first_follower++;
}

/* The refresh set (docs/mmd-behaviour.md#ik-refresh-set), and the part of it that the solution
   depends on. */
static bool find_followers(mmd_rig *rig, mmd_rig_solver *solver, uint8_t *roles, size_t layer_end,
                           const readers *r)
{
    memset(r->marks, 0, rig->bone_count);
    for (size_t k = 0; k < solver->link_count; k++)
        r->marks[solver->links[k].bone] |= LINK;
    size_t depth = mark_roots(r, solver, FOLLOWS);
    while (depth) {
        int32_t bone = r->stack[--depth];
        for (size_t i = r->first[bone]; i < r->first[bone + 1]; i++)
            mark_one(r, r->bones[i], FOLLOWS, &depth);
    }
    for (size_t i = 0; i < rig->bone_count; i++) {
        if (r->marks[i] & FOLLOWS)
            roles[i] |= IS_MOVED;
        if (roles[i] & IS_EFFECTOR && (int32_t)i != solver->effector && !(r->marks[i] & LINK))
            r->marks[i] &= (uint8_t)~FOLLOWS;
    }

    depth = mark_roots(r, solver, NEEDED);
    mark_one(r, solver->goal, NEEDED, &depth);
    while (depth) {
        const mmd_rig_bone *bone = &rig->bones[r->stack[--depth]];
        mark_one(r, bone->parent, NEEDED, &depth);
        mark_one(r, bone->source, NEEDED, &depth);
    }
    for (size_t i = layer_end; i < rig->bone_count; i++)
        rig->reads_ahead |= (r->marks[rig->order[i]] & NEEDED) != 0;
    solver->follower = list_marked(rig, r->marks, FOLLOWS, &solver->followers);
    solver->inner_follower = list_marked(rig, r->marks, FOLLOWS | NEEDED, &solver->inner_followers);
    if (!solver->follower || !solver->inner_follower)
        return false;
    find_first_followers(rig, solver);
    return true;
}

/* A hostile file could ask for hours: solvers past this many placed bones in a frame do nothing. */
static bool affordable(const mmd_rig_solver *solver, double *budget)
{
    double steps = (double)solver->iterations * (double)solver->link_count;
    *budget -= steps * (double)(solver->inner_followers + 1) + (double)solver->followers;
    return *budget >= 0;
}

/* A local append reads where its source stands. */
static void find_local_reads(mmd_rig *rig, place *places)
{
    for (size_t i = 0; i < rig->bone_count; i++)
        places[i].emitted = false;
    for (size_t i = 0; i < rig->bone_count; i++) {
        const mmd_rig_bone *bone = &rig->bones[rig->order[i]];
        if (bone->append & MMD_APPEND_LOCAL && bone->source >= 0)
            rig->reads_ahead |= !places[bone->source].emitted;
        places[rig->order[i]].emitted = true;
    }
}

static bool build(mmd_rig *rig, const mmd_model *model, mmd_arena *temporary)
{
    size_t n = rig->bone_count = model->bone_count;
    rig->morph_count = model->morph_count;
    rig->morphs = model->morphs;
    rig->bones = mmd_arena_alloc(&rig->arena, n, sizeof *rig->bones);
    rig->order = mmd_arena_alloc(&rig->arena, n, sizeof *rig->order);
    rig->layers = mmd_arena_alloc(&rig->arena, n, sizeof *rig->layers);
    place *places = mmd_arena_alloc(temporary, n, sizeof *places);
    uint8_t *roles = mmd_arena_alloc(temporary, n, 1);
    if (!rig->bones || !rig->order || !rig->layers || !places || !roles)
        return false;
    for (size_t i = 0; i < n; i++)
        copy_bone(model, i, &rig->bones[i]);
    for (size_t i = 0; i < n; i++) {
        mmd_rig_bone *bone = &rig->bones[i];
        for (int k = 0; k < 3; k++)
            bone->offset[k] =
                bone->position[k] - (bone->parent < 0 ? 0 : rig->bones[bone->parent].position[k]);
    }
    if (!find_order(rig, model, places, temporary) || !find_solvers(rig, model) ||
        !find_fed(rig, roles))
        return false;
    readers r;
    if (!find_readers(rig, &r, temporary))
        return false;
    double budget = MAX_WORK;
    for (size_t i = 0; i < rig->layer_count; i++) {
        const mmd_rig_layer *layer = &rig->layers[i];
        for (size_t k = 0; k < layer->solver_count; k++) {
            mmd_rig_solver *solver = &rig->solvers[layer->first_solver + k];
            size_t end = layer->first_bone + layer->bone_count;
            if (budget >= 0 && !find_followers(rig, solver, roles, end, &r))
                return false;
            if (!affordable(solver, &budget))
                solver->iterations = 0;
        }
    }
    find_local_reads(rig, places);
    rig->settled = list_marked(rig, roles, IS_MOVED, &rig->settled_count);
    return rig->settled != NULL;
}

mmd_rig *mmd_rig_new(const mmd_model *model, mmd_error *err)
{
    mmd_arena temporary = {0};
    mmd_rig *rig = mmd_owner_new(sizeof *rig);
    bool built = rig && build(rig, model, &temporary);
    mmd_arena_free(&temporary);
    if (built)
        return rig;
    mmd_owner_free(rig);
    mmd_fail_memory(err);
    return NULL;
}

void mmd_rig_free(mmd_rig *rig)
{
    mmd_owner_free(rig);
}
