/* SPDX-License-Identifier: MIT */
/* Prepares a model for posing: docs/mmd-behavior.md#bone-order. */
#include "core/pose/rig.h"

#include "core/base/error.h"
#include "core/math/vec3.h"
#include "core/model/model.h"

#include <stdlib.h>

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
    length = mmd_vec3_length(axis);
    out->has_fixed_axis = bone->flags & MMD_BONE_FIXED_AXIS && length > 1e-6;
    for (int i = 0; i < 3 && out->has_fixed_axis; i++)
        out->axis[i] = axis[i] / length;
}

static bool copy_bones(mmd_rig *rig)
{
    size_t n = rig->bone_count;
    if (!MMD_ARENA_ARRAY(&rig->arena, rig->bones, n))
        return false;
    for (size_t i = 0; i < n; i++)
        copy_bone(rig->model, i, &rig->bones[i]);
    for (size_t i = 0; i < n; i++) {
        mmd_rig_bone *bone = &rig->bones[i];
        for (int k = 0; k < 3; k++)
            bone->offset[k] =
                bone->position[k] - (bone->parent < 0 ? 0 : rig->bones[bone->parent].position[k]);
    }
    return true;
}

/* What the evaluation order of bones is sorted by: after physics or not, then the layer, both at
   least those of the parent. */
typedef struct sort_key {
    int32_t layer;
    bool after_physics, emitted;
} sort_key;

static sort_key own_key(const mmd_model *model, int32_t bone)
{
    return (sort_key){.layer = model->bones[bone].layer,
                      .after_physics = model->bones[bone].flags & MMD_BONE_AFTER_PHYSICS};
}

typedef struct sorted_bone {
    int32_t bone, layer;
    bool after_physics;
} sorted_bone;

static int compare_bones(const void *a, const void *b)
{
    const sorted_bone *x = a, *y = b;
    if (x->after_physics != y->after_physics)
        return x->after_physics ? 1 : -1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return x->bone < y->bone ? -1 : x->bone > y->bone;
}

static bool same_layer(const sort_key *a, const sort_key *b)
{
    return a->layer == b->layer && a->after_physics == b->after_physics;
}

/* A local append reads the world position and rotation of its source. */
static void find_local_reads(mmd_rig *rig, sort_key *keys)
{
    for (size_t i = 0; i < rig->bone_count; i++)
        keys[i].emitted = false;
    for (size_t i = 0; i < rig->bone_count; i++) {
        const mmd_rig_bone *bone = &rig->bones[rig->order[i]];
        if (bone->append & MMD_APPEND_LOCAL && bone->source >= 0)
            rig->reads_later_layer |= !keys[bone->source].emitted;
        keys[rig->order[i]].emitted = true;
    }
}

/* The values of bones that appends read, as nodes of a graph: 2 bone is the bone's append, 2 bone +
   1 its world transform. The k-th of the two that a node depends on; -1: none. */
static int32_t prerequisite(const mmd_rig *rig, int32_t node, int k)
{
    const mmd_rig_bone *bone = &rig->bones[node / 2];
    if (node % 2 && k == 0)
        return bone->parent < 0 ? -1 : 2 * bone->parent + 1;
    if (node % 2)
        return bone->source < 0 ? -1 : node - 1;
    if (k == 1)
        return -1;
    if (bone->append & MMD_APPEND_LOCAL)
        return 2 * bone->source + 1;
    return rig->bones[bone->source].source < 0 ? -1 : 2 * bone->source;
}

/* Adds what a node depends on, then the node, to the early values. False if it depends on itself.
   States: 0 new; 1 to 3 on the stack, of its two prerequisites one less is visited; 4 added. */
static bool add_early(mmd_rig *rig, int32_t node, uint8_t *states, int32_t *stack)
{
    size_t depth = 0;
    if (states[node] == 0)
        states[stack[depth++] = node] = 1;
    while (depth) {
        node = stack[depth - 1];
        if (states[node] == 3) {
            rig->early[rig->early_count++] = node % 2 ? ~(node / 2) : node / 2;
            states[node] = 4;
            depth--;
            continue;
        }
        int32_t next = prerequisite(rig, node, states[node]++ - 1);
        if (next >= 0 && states[next] == 0)
            states[stack[depth++] = next] = 1;
        else if (next >= 0 && states[next] != 4)
            return false;
    }
    return true;
}

/* Appends whose source is evaluated later and appends itself, or is placed by bones that do. */
static bool find_early(mmd_rig *rig, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    uint8_t *states = mmd_arena_alloc(temporary, 2 * n, sizeof *states);
    int32_t *stack = mmd_arena_alloc(temporary, 2 * n, sizeof *stack);
    bool *seen = mmd_arena_alloc(temporary, n, sizeof *seen);
    bool *placed = mmd_arena_alloc(temporary, n, sizeof *placed); /* by appends */
    if (!states || !stack || !seen || !placed)
        return false;
    for (size_t i = 0; i < n; i++) {
        const mmd_rig_bone *bone = &rig->bones[rig->order[i]];
        placed[rig->order[i]] = bone->source >= 0 || (bone->parent >= 0 && placed[bone->parent]);
    }
    for (size_t i = 0; i < n; i++) {
        const mmd_rig_bone *bone = &rig->bones[rig->order[i]];
        bool local = bone->append & MMD_APPEND_LOCAL;
        seen[rig->order[i]] = true;
        if (bone->source < 0 || seen[bone->source] ||
            !(local ? placed[bone->source] : rig->bones[bone->source].source >= 0))
            continue;
        if (!rig->early && !MMD_ARENA_ARRAY(&rig->arena, rig->early, 2 * n))
            return false;
        if (!add_early(rig, 2 * bone->source + local, states, stack)) {
            rig->early_count = 0;
            return true;
        }
    }
    return true;
}

static bool find_order(mmd_rig *rig, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    sort_key *keys = mmd_arena_alloc(temporary, n, sizeof *keys);
    size_t *parents_first = mmd_arena_alloc(temporary, n, sizeof *parents_first);
    int32_t *path = mmd_arena_alloc(temporary, n, sizeof *path);
    sorted_bone *sorted = mmd_arena_alloc(temporary, n, sizeof *sorted);
    if (!keys || !parents_first || !path || !sorted ||
        !MMD_ARENA_ARRAY(&rig->arena, rig->order, n) ||
        !MMD_ARENA_ARRAY(&rig->arena, rig->layers, n) ||
        !mmd_model_order(rig->model->bones, offsetof(mmd_bone, parent), sizeof(mmd_bone), n,
                         parents_first))
        return false;
    for (size_t i = 0; i < n; i++) {
        int32_t bone = (int32_t)parents_first[i], parent = rig->bones[bone].parent;
        sort_key *key = &keys[bone];
        *key = own_key(rig->model, bone);
        if (parent >= 0 && keys[parent].after_physics && !key->after_physics)
            *key = keys[parent];
        else if (parent >= 0 && keys[parent].after_physics == key->after_physics &&
                 key->layer < keys[parent].layer)
            key->layer = keys[parent].layer;
        sorted[i] = (sorted_bone){bone, key->layer, key->after_physics};
    }
    if (n)
        qsort(sorted, n, sizeof *sorted, compare_bones);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = 0; /* of the path up to the first bone that is emitted */
        for (int32_t bone = sorted[i].bone; bone >= 0 && !keys[bone].emitted;
             bone = rig->bones[bone].parent)
            path[length++] = bone;
        while (length--) {
            keys[path[length]].emitted = true;
            rig->order[count++] = path[length];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !same_layer(&keys[rig->order[i - 1]], &keys[rig->order[i]]))
            rig->layers[rig->layer_count++].first_bone = i;
        rig->layers[rig->layer_count - 1].bone_count++;
        if (!keys[rig->order[i]].after_physics)
            rig->layers_before_physics = rig->layer_count;
    }
    find_local_reads(rig, keys);
    return true;
}

/* Appends to the order what a bone depends on, then the bone. Cycles of append sources are cut
   where they close. */
static void visit(const mmd_rig *rig, int32_t bone, bool *visited, int32_t *stack, int32_t *order,
                  size_t *count)
{
    size_t depth = 0;
    stack[depth++] = bone;
    while (depth) {
        int32_t top = stack[depth - 1], next = -1;
        const mmd_rig_bone *at = &rig->bones[top];
        visited[top] = true;
        if (at->parent >= 0 && !visited[at->parent])
            next = at->parent;
        else if (at->source >= 0 && !visited[at->source])
            next = at->source;
        if (next >= 0) {
            stack[depth++] = next;
            continue;
        }
        order[(*count)++] = top;
        depth--;
    }
}

const int32_t *mmd_rig_dependency_order(mmd_arena *arena, const mmd_rig *rig)
{
    size_t n = rig->bone_count, count = 0;
    int32_t *order = mmd_arena_alloc(arena, n, sizeof *order);
    int32_t *stack = mmd_arena_alloc(arena, n, sizeof *stack);
    bool *visited = mmd_arena_alloc(arena, n, sizeof *visited);
    if (!order || !stack || !visited)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!visited[i])
            visit(rig, (int32_t)i, visited, stack, order, &count);
    return order;
}

mmd_rig *mmd_rig_new(const mmd_model *model, mmd_error *err)
{
    if (!mmd_error_require(model, "model", err))
        return NULL;
    mmd_rig *rig = mmd_arena_new_owner(sizeof *rig, err);
    if (!rig)
        return NULL;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    rig->model = model;
    rig->bone_count = model->bone_count;
    rig->morph_count = model->morph_count;
    bool built = copy_bones(rig) && find_order(rig, &temporary) && find_early(rig, &temporary) &&
                 mmd_rig_solvers_find(rig, &temporary);
    return mmd_arena_keep_owner(rig, built || mmd_fail_memory(err));
}

void mmd_rig_free(mmd_rig *rig)
{
    mmd_arena_free_owner(rig);
}
