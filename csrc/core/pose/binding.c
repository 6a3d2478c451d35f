/* SPDX-License-Identifier: MIT */
/* Binds the tracks of a motion to the bones, morphs and IK solvers of a model by name. */
#include "core/pose/sampling.h"

#include "core/base/error.h"
#include "core/base/string_table.h"
#include "core/math/vec3.h"

/* Records of `stride` bytes that begin with their names. */
typedef struct name_list {
    const void *records;
    size_t stride, count;
} name_list;

static mmd_string name_at(const name_list *list, size_t index)
{
    const char *record = (const char *)list->records + index * list->stride;
    const mmd_text *name = (const mmd_text *)(const void *)record;
    return (mmd_string){(const uint8_t *)name->data, name->size};
}

/* For each item of a model, or only for the first ones of their names, the last track of its name,
   or -1. NULL when memory is short. */
static int32_t *bind_names(mmd_arena *arena, mmd_arena *temporary, const name_list *items,
                           bool first_only, const name_list *tracks)
{
    mmd_string_table names = {0};
    uint32_t *name_of_track = mmd_arena_alloc(temporary, tracks->count, sizeof *name_of_track);
    int32_t *last_track = mmd_arena_alloc(temporary, tracks->count, sizeof *last_track);
    bool *found = mmd_arena_alloc(temporary, tracks->count, sizeof *found); /* of each name */
    int32_t *track_of_item = mmd_arena_alloc(arena, items->count, sizeof *track_of_item);
    if (!name_of_track || !last_track || !found || !track_of_item)
        return NULL;
    for (size_t t = 0; t < tracks->count; t++) {
        mmd_string name = name_at(tracks, t);
        if (!mmd_string_table_add(temporary, &names, name.bytes, name.size, &name_of_track[t]))
            return NULL;
        last_track[name_of_track[t]] = (int32_t)t;
    }
    for (size_t i = 0; i < items->count; i++) {
        mmd_string item = name_at(items, i);
        uint32_t name;
        bool binds = mmd_string_table_find(&names, item.bytes, item.size, &name) &&
                     !(first_only && found[name]);
        track_of_item[i] = binds ? last_track[name] : -1;
        if (binds)
            found[name] = true;
    }
    return track_of_item;
}

/* Rotates by the same angle about the fixed axis: docs/mmd-behavior.md#fixed-axis. */
static void project_rotation(const float in[4], const double axis[3], float out[4])
{
    double v[3] = {in[0], in[1], in[2]};
    double length = mmd_vec3_length(v) * (mmd_vec3_dot(v, axis) < 0 ? -1 : 1);
    for (int i = 0; i < 3; i++)
        out[i] = (float)(axis[i] * length);
    out[3] = in[3];
}

/* The rotations of each bone's track, about its fixed axis if it has one. */
static bool bind_rotations(mmd_binding *binding)
{
    size_t n = binding->rig->bone_count;
    if (!MMD_ARENA_ARRAY(&binding->arena, binding->bone_rotations, n))
        return false;
    for (size_t b = 0; b < n; b++) {
        const mmd_rig_bone *bone = &binding->rig->bones[b];
        if (binding->bone_track[b] < 0)
            continue;
        const mmd_bone_track *track = &binding->motion->bone_tracks[binding->bone_track[b]];
        binding->bone_rotations[b] = track->rotations;
        if (!bone->has_fixed_axis)
            continue;
        float *rotations =
            mmd_arena_alloc(&binding->arena, track->key_count, 4 * sizeof *rotations);
        if (!rotations)
            return false;
        for (size_t k = 0; k < track->key_count; k++)
            project_rotation(track->rotations + 4 * k, bone->axis, rotations + 4 * k);
        binding->bone_rotations[b] = rotations;
    }
    return true;
}

static bool bind(mmd_binding *binding, mmd_arena *temporary)
{
    const mmd_rig *rig = binding->rig;
    const mmd_model *model = rig->model;
    const mmd_motion *motion = binding->motion;
    const mmd_property_track *properties = &motion->properties;
    mmd_arena *arena = &binding->arena;
    mmd_text *goals = mmd_arena_alloc(temporary, rig->solver_count, sizeof *goals);
    if (!goals)
        return false;
    for (size_t s = 0; s < rig->solver_count; s++)
        goals[s] = model->bones[rig->solvers[s].goal].name;
    const name_list bones = {model->bones, sizeof *model->bones, model->bone_count};
    const name_list morphs = {model->morphs, sizeof *model->morphs, model->morph_count};
    const name_list solvers = {goals, sizeof *goals, rig->solver_count};
    const name_list bone_tracks = {motion->bone_tracks, sizeof *motion->bone_tracks,
                                   motion->bone_track_count};
    const name_list morph_tracks = {motion->morph_tracks, sizeof *motion->morph_tracks,
                                    motion->morph_track_count};
    const name_list switches = {properties->ik_names, sizeof *properties->ik_names,
                                properties->ik_count};
    binding->bone_track = bind_names(arena, temporary, &bones, true, &bone_tracks);
    binding->morph_track = bind_names(arena, temporary, &morphs, false, &morph_tracks);
    binding->solver_property = bind_names(arena, temporary, &solvers, false, &switches);
    return binding->bone_track && binding->morph_track && binding->solver_property &&
           bind_rotations(binding);
}

mmd_binding *mmd_binding_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err)
{
    mmd_binding *binding = mmd_arena_new_owner(sizeof *binding, err);
    if (!binding)
        return NULL;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    binding->rig = rig;
    binding->motion = motion;
    return mmd_arena_keep_owner(binding, bind(binding, &temporary) || mmd_fail_memory(err));
}

void mmd_binding_free(mmd_binding *binding)
{
    mmd_arena_free_owner(binding);
}
