/* SPDX-License-Identifier: MIT */
#include "core/pose/binding.h"

#include "core/base/error.h"
#include "core/pose/quaternion.h"

#include <stdlib.h>

typedef struct name_entry {
    mmd_text name;
    int32_t index;
} name_entry;

static int compare_text(const mmd_text *a, const mmd_text *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->data, b->data, size) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_entries(const void *a, const void *b)
{
    const name_entry *x = a, *y = b;
    int order = compare_text(&x->name, &y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* The names of bones or morphs, sorted. */
typedef struct name_list {
    name_entry *entries;
    size_t count;
} name_list;

/* The range of entries with this name. */
static size_t find_name(const name_list *list, const mmd_text *name, size_t *end)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_text(&list->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    while (*end < list->count && compare_text(&list->entries[*end].name, name) == 0)
        ++*end;
    return low;
}

/* Records of `stride` bytes that begin with their name. */
static bool sort_names(const void *records, size_t stride, size_t count, name_list *out,
                       mmd_arena *temporary)
{
    out->count = count;
    out->entries = mmd_arena_alloc(temporary, count, sizeof *out->entries);
    if (!out->entries)
        return false;
    for (size_t i = 0; i < count; i++)
        out->entries[i] =
            (name_entry){*(const mmd_text *)((const char *)records + i * stride), (int32_t)i};
    if (count)
        qsort(out->entries, count, sizeof *out->entries, compare_entries);
    return true;
}

/* docs/mmd-behaviour.md#fixed-axis: the whole angle, about the axis. */
static void project_rotation(const float in[4], const double axis[3], float out[4])
{
    double v[3] = {in[0], in[1], in[2]};
    double length = sqrt(mmd_dot3(v, v)) * (mmd_dot3(v, axis) < 0 ? -1 : 1);
    for (int i = 0; i < 3; i++)
        out[i] = (float)(axis[i] * length);
    out[3] = in[3];
}

static bool bind_bone(mmd_binding *binding, int32_t bone, int32_t index)
{
    const mmd_bone_track *track = &binding->motion->bone_tracks[index];
    const mmd_rig_bone *rig_bone = &binding->rig->bones[bone];
    binding->bone_track[bone] = index;
    binding->bone_track_bound[index] = true;
    binding->bone_rotations[bone] = track->rotations;
    if (!rig_bone->has_axis)
        return true;
    float *turned = mmd_arena_alloc(&binding->arena, track->key_count, 4 * sizeof *turned);
    if (!turned)
        return false;
    for (size_t k = 0; k < track->key_count; k++)
        project_rotation(track->rotations + 4 * k, rig_bone->axis, turned + 4 * k);
    binding->bone_rotations[bone] = turned;
    return true;
}

static bool bind_bones(mmd_binding *binding, const name_list *bones)
{
    const mmd_motion *motion = binding->motion;
    for (size_t i = 0; i < motion->bone_track_count; i++) {
        size_t end, at = find_name(bones, &motion->bone_tracks[i].name, &end);
        if (at < end && !bind_bone(binding, bones->entries[at].index, (int32_t)i))
            return false;
    }
    return true;
}

static void bind_morphs(mmd_binding *binding, const name_list *morphs)
{
    const mmd_motion *motion = binding->motion;
    for (size_t i = 0; i < motion->morph_track_count; i++) {
        size_t end, at = find_name(morphs, &motion->morph_tracks[i].name, &end);
        binding->morph_track_bound[i] = at < end;
        for (; at < end; at++)
            binding->morph_track[morphs->entries[at].index] = (int32_t)i;
    }
}

static bool bind_solvers(mmd_binding *binding, const name_list *bones, mmd_arena *temporary)
{
    const mmd_rig *rig = binding->rig;
    const mmd_property_track *properties = &binding->motion->properties;
    int32_t *solver_of = mmd_arena_alloc(temporary, rig->bone_count, sizeof *solver_of);
    if (!solver_of)
        return false;
    for (size_t s = 0; s < rig->solver_count; s++)
        solver_of[rig->solvers[s].goal] = (int32_t)s + 1;
    for (size_t k = 0; k < properties->ik_count; k++) {
        size_t end, at = find_name(bones, &properties->ik_names[k], &end);
        for (; at < end; at++) {
            int32_t solver = solver_of[bones->entries[at].index];
            if (solver == 0)
                continue;
            binding->solver_property[solver - 1] = (int32_t)k;
            binding->property_bound[k] = true;
        }
    }
    return true;
}

static int32_t *unbound(mmd_arena *arena, size_t count)
{
    int32_t *list = mmd_arena_alloc(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = -1;
    return list;
}

static bool allocate(mmd_binding *binding)
{
    const mmd_motion *motion = binding->motion;
    const mmd_rig *rig = binding->rig;
    mmd_arena *arena = &binding->arena;
    binding->bone_track = unbound(arena, rig->bone_count);
    binding->bone_rotations =
        mmd_arena_alloc(arena, rig->bone_count, sizeof *binding->bone_rotations);
    binding->morph_track = unbound(arena, rig->morph_count);
    binding->solver_property = unbound(arena, rig->solver_count);
    binding->bone_track_bound = mmd_arena_alloc(arena, motion->bone_track_count, sizeof(bool));
    binding->morph_track_bound = mmd_arena_alloc(arena, motion->morph_track_count, sizeof(bool));
    binding->property_bound = mmd_arena_alloc(arena, motion->properties.ik_count, sizeof(bool));
    return binding->bone_track && binding->bone_rotations && binding->morph_track &&
           binding->solver_property && binding->bone_track_bound && binding->morph_track_bound &&
           binding->property_bound;
}

static bool bind(mmd_binding *binding, mmd_arena *temporary)
{
    const mmd_model *model = binding->rig->model;
    name_list bones, morphs;
    if (!sort_names(model->bones, sizeof *model->bones, model->bone_count, &bones, temporary) ||
        !sort_names(model->morphs, sizeof *model->morphs, model->morph_count, &morphs, temporary) ||
        !bind_bones(binding, &bones) || !bind_solvers(binding, &bones, temporary))
        return false;
    bind_morphs(binding, &morphs);
    return true;
}

mmd_binding *mmd_binding_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err)
{
    mmd_arena temporary = {0};
    mmd_binding *binding = mmd_owner_new(sizeof *binding);
    bool bound = false;
    if (binding) {
        binding->rig = rig;
        binding->motion = motion;
        bound = allocate(binding) && bind(binding, &temporary);
    }
    mmd_arena_free(&temporary);
    if (bound)
        return binding;
    mmd_owner_free(binding);
    mmd_fail_memory(err);
    return NULL;
}

void mmd_binding_free(mmd_binding *binding)
{
    mmd_owner_free(binding);
}
