/* SPDX-License-Identifier: MIT */
#include "core/pose/rig.h"

#include "core/base/error.h"
#include "core/pose/quaternion.h"
#include "core/pose/rig_solvers.h"

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
    length = sqrt(mmd_dot3(axis, axis));
    out->has_axis = bone->flags & MMD_BONE_FIXED_AXIS && length > 1e-6;
    for (int i = 0; i < 3 && out->has_axis; i++)
        out->axis[i] = axis[i] / length;
}

static bool copy_bones(mmd_rig *rig)
{
    size_t n = rig->bone_count;
    rig->bones = mmd_arena_alloc(&rig->arena, n, sizeof *rig->bones);
    if (!rig->bones)
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

static bool find_order(mmd_rig *rig, mmd_arena *temporary)
{
    size_t n = rig->bone_count;
    place *places = mmd_arena_alloc(temporary, n, sizeof *places);
    int32_t *path = mmd_arena_alloc(temporary, n, sizeof *path);
    ranked *sorted = mmd_arena_alloc(temporary, n, sizeof *sorted);
    rig->order = mmd_arena_alloc(&rig->arena, n, sizeof *rig->order);
    rig->layers = mmd_arena_alloc(&rig->arena, n, sizeof *rig->layers);
    if (!places || !path || !sorted || !rig->order || !rig->layers)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t length = path_to_root(rig, (int32_t)i, places, false, path);
        while (length--) {
            place *at = &places[path[length]];
            *at = own_place(rig->model, path[length]);
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
        if (i == 0 || !same_layer(&places[rig->order[i - 1]], &places[rig->order[i]]))
            rig->layers[rig->layer_count++].first_bone = i;
        rig->layers[rig->layer_count - 1].bone_count++;
        if (!places[rig->order[i]].after_physics)
            rig->layers_before_physics = rig->layer_count;
    }
    find_local_reads(rig, places);
    return true;
}

mmd_rig *mmd_rig_new(const mmd_model *model, mmd_error *err)
{
    mmd_arena temporary = {0};
    mmd_rig *rig = mmd_owner_new(sizeof *rig);
    bool built = false;
    if (rig) {
        rig->model = model;
        rig->bone_count = model->bone_count;
        rig->morph_count = model->morph_count;
        built =
            copy_bones(rig) && find_order(rig, &temporary) && mmd_rig_find_solvers(rig, &temporary);
    }
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
