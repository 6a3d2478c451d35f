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
   least those of the parent, then the index. */
typedef struct sort_key {
    int32_t bone, layer;
    bool after_physics;
} sort_key;

static int compare_layers(const sort_key *a, const sort_key *b)
{
    if (a->after_physics != b->after_physics)
        return a->after_physics - b->after_physics;
    return (a->layer > b->layer) - (a->layer < b->layer);
}

static int compare_keys(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    int layers = compare_layers(x, y);
    return layers ? layers : (x->bone > y->bone) - (x->bone < y->bone);
}

/* Nodes of a graph: the k-th of the two that a node depends on; -1: none. */
typedef int32_t prerequisite(const mmd_rig *rig, int32_t node, int k);

/* Adds what a node depends on, then the node, to a list. False if it depends on itself: the cycle
   is cut where it closes. States: 0 new; 1 to 3 on the stack, of its two prerequisites one less is
   visited; 4 added. */
static bool add_node(const mmd_rig *rig, prerequisite *find, int32_t node, uint8_t *states,
                     int32_t *stack, int32_t *list, size_t *count)
{
    size_t depth = 0;
    bool acyclic = true;
    if (states[node] == 0)
        states[stack[depth++] = node] = 1;
    while (depth) {
        node = stack[depth - 1];
        if (states[node] == 3) {
            list[(*count)++] = node;
            states[node] = 4;
            depth--;
            continue;
        }
        int32_t next = find(rig, node, states[node]++ - 1);
        if (next >= 0 && states[next] == 0)
            states[stack[depth++] = next] = 1;
        else if (next >= 0 && states[next] != 4)
            acyclic = false;
    }
    return acyclic;
}

/* The values of bones that appends read: node 2 bone is the bone's append, 2 bone + 1 its world
   transform. */
static int32_t value_prerequisite(const mmd_rig *rig, int32_t node, int k)
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

/* Appends whose source is evaluated later and appends itself, or is placed by bones that do. A
   local append reads the world position and rotation of its source. */
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
    bool acyclic = true;
    for (size_t i = 0; i < n; i++) {
        const mmd_rig_bone *bone = &rig->bones[rig->order[i]];
        bool local = bone->append & MMD_APPEND_LOCAL;
        seen[rig->order[i]] = true;
        if (bone->source < 0 || seen[bone->source])
            continue;
        rig->reads_later_layer |= local;
        if (!(local ? placed[bone->source] : rig->bones[bone->source].source >= 0))
            continue;
        if (!rig->early && !MMD_ARENA_ARRAY(&rig->arena, rig->early, 2 * n))
            return false;
        acyclic &= add_node(rig, value_prerequisite, 2 * bone->source + local, states, stack,
                            rig->early, &rig->early_count);
    }
    if (!acyclic)
        rig->early_count = 0;
    for (size_t i = 0; i < rig->early_count; i++)
        rig->early[i] = rig->early[i] % 2 ? ~(rig->early[i] / 2) : rig->early[i] / 2;
    return true;
}

static int32_t parent_prerequisite(const mmd_rig *rig, int32_t bone, int k)
{
    return k == 0 ? rig->bones[bone].parent : -1;
}

static bool find_order(mmd_rig *rig, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    sort_key *keys = mmd_arena_alloc(temporary, n, sizeof *keys);
    sort_key *sorted = mmd_arena_alloc(temporary, n, sizeof *sorted);
    size_t *parents_first = mmd_arena_alloc(temporary, n, sizeof *parents_first);
    int32_t *stack = mmd_arena_alloc(temporary, n, sizeof *stack);
    uint8_t *states = mmd_arena_alloc(temporary, n, sizeof *states);
    if (!keys || !sorted || !parents_first || !stack || !states ||
        !MMD_ARENA_ARRAY(&rig->arena, rig->order, n) ||
        !MMD_ARENA_ARRAY(&rig->arena, rig->layers, n) ||
        !mmd_model_order(rig->model->bones, offsetof(mmd_bone, parent), sizeof(mmd_bone), n,
                         parents_first))
        return false;
    for (size_t i = 0; i < n; i++) {
        int32_t bone = (int32_t)parents_first[i], parent = rig->bones[bone].parent;
        const mmd_bone *from = &rig->model->bones[bone];
        sort_key key = {bone, from->layer, from->flags & MMD_BONE_AFTER_PHYSICS};
        if (parent >= 0 && compare_layers(&keys[parent], &key) > 0)
            key = (sort_key){bone, keys[parent].layer, keys[parent].after_physics};
        keys[bone] = sorted[i] = key;
    }
    if (n)
        qsort(sorted, n, sizeof *sorted, compare_keys);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        add_node(rig, parent_prerequisite, sorted[i].bone, states, stack, rig->order, &count);
    for (size_t i = 0; i < n; i++) {
        const sort_key *key = &keys[rig->order[i]];
        if (i == 0 || compare_layers(&keys[rig->order[i - 1]], key) != 0)
            rig->layers[rig->layer_count++].first_bone = i;
        rig->layers[rig->layer_count - 1].bone_count++;
        if (!key->after_physics)
            rig->layers_before_physics = rig->layer_count;
    }
    return true;
}

static int32_t bone_prerequisite(const mmd_rig *rig, int32_t bone, int k)
{
    return k == 0 ? rig->bones[bone].parent : rig->bones[bone].source;
}

const int32_t *mmd_rig_dependency_order(mmd_arena *arena, const mmd_rig *rig)
{
    size_t n = rig->bone_count, count = 0;
    int32_t *order = mmd_arena_alloc(arena, n, sizeof *order);
    int32_t *stack = mmd_arena_alloc(arena, n, sizeof *stack);
    uint8_t *states = mmd_arena_alloc(arena, n, sizeof *states);
    if (!order || !stack || !states)
        return NULL;
    for (size_t i = 0; i < n; i++)
        add_node(rig, bone_prerequisite, (int32_t)i, states, stack, order, &count);
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
