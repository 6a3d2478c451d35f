/* SPDX-License-Identifier: MIT */
/* Binds the tracks of a motion to the bones, morphs and IK solvers of a model by name. */
#include "core/pose/sampling.h"

#include "core/base/error.h"
#include "core/base/string_table.h"
#include "core/math/vec3.h"

/* The bones or the morphs of a model by name. */
typedef struct name_map {
    mmd_string_table names;
    int32_t *first; /* of each name: its first item */
    int32_t *next;  /* of each item: the next one of the same name, or -1 */
} name_map;

static int32_t *alloc_unbound(mmd_arena *arena, size_t count)
{
    int32_t *list = mmd_arena_alloc(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = -1;
    return list;
}

/* The map of records of `stride` bytes that begin with their name. */
static bool map_names(const void *records, size_t stride, size_t count, name_map *map,
                      mmd_arena *temporary)
{
    int32_t *last = mmd_arena_alloc(temporary, count, sizeof *last);
    *map = (name_map){.first = mmd_arena_alloc(temporary, count, sizeof *map->first),
                      .next = alloc_unbound(temporary, count)};
    if (!last || !map->first || !map->next)
        return false;
    for (size_t i = 0; i < count; i++) {
        const mmd_text *name = (const mmd_text *)(const void *)((const char *)records + i * stride);
        size_t known = map->names.count;
        uint32_t index;
        if (!mmd_string_table_add(temporary, &map->names, (const uint8_t *)name->data, name->size,
                                  &index))
            return false;
        if (index == known)
            map->first[index] = (int32_t)i;
        else
            map->next[last[index]] = (int32_t)i;
        last[index] = (int32_t)i;
    }
    return true;
}

/* The index of a name in the map, or -1. */
static int32_t find_name(const name_map *map, const mmd_text *name)
{
    uint32_t index;
    return mmd_string_table_find(&map->names, (const uint8_t *)name->data, name->size, &index)
               ? (int32_t)index
               : -1;
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

static bool bind_bone(mmd_binding *binding, int32_t bone, int32_t index)
{
    const mmd_bone_track *track = &binding->motion->bone_tracks[index];
    const mmd_rig_bone *rig_bone = &binding->rig->bones[bone];
    binding->bone_track[bone] = index;
    binding->bone_track_bound[index] = true;
    binding->bone_rotations[bone] = track->rotations;
    if (!rig_bone->has_fixed_axis)
        return true;
    float *rotations = mmd_arena_alloc(&binding->arena, track->key_count, 4 * sizeof *rotations);
    if (!rotations)
        return false;
    for (size_t k = 0; k < track->key_count; k++)
        project_rotation(track->rotations + 4 * k, rig_bone->axis, rotations + 4 * k);
    binding->bone_rotations[bone] = rotations;
    return true;
}

static bool bind_bones(mmd_binding *binding, const name_map *bones)
{
    const mmd_motion *motion = binding->motion;
    for (size_t i = 0; i < motion->bone_track_count; i++) {
        int32_t name = find_name(bones, &motion->bone_tracks[i].name);
        if (name >= 0 && !bind_bone(binding, bones->first[name], (int32_t)i))
            return false;
    }
    return true;
}

/* Of tracks of one name the last one drives its morphs. */
static bool bind_morphs(mmd_binding *binding, const name_map *morphs, mmd_arena *temporary)
{
    const mmd_motion *motion = binding->motion;
    int32_t *track_of_name = alloc_unbound(temporary, morphs->names.count);
    if (!track_of_name)
        return false;
    for (size_t i = 0; i < motion->morph_track_count; i++) {
        int32_t name = find_name(morphs, &motion->morph_tracks[i].name);
        binding->morph_track_bound[i] = name >= 0;
        if (name >= 0)
            track_of_name[name] = (int32_t)i;
    }
    for (size_t n = 0; n < morphs->names.count; n++)
        for (int32_t morph = morphs->first[n]; morph >= 0; morph = morphs->next[morph])
            binding->morph_track[morph] = track_of_name[n];
    return true;
}

/* A name switches the solvers of all bones of that name. */
static bool bind_solvers(mmd_binding *binding, const name_map *bones, mmd_arena *temporary)
{
    const mmd_rig *rig = binding->rig;
    const mmd_property_track *properties = &binding->motion->properties;
    size_t names = bones->names.count;
    int32_t *solver_of_bone = mmd_arena_alloc(temporary, rig->bone_count, sizeof *solver_of_bone);
    int32_t *property_of_name = alloc_unbound(temporary, names);
    bool *has_solver = mmd_arena_alloc(temporary, names, sizeof *has_solver);
    if (!solver_of_bone || !property_of_name || !has_solver)
        return false;
    for (size_t s = 0; s < rig->solver_count; s++)
        solver_of_bone[rig->solvers[s].goal] = (int32_t)s + 1;
    for (size_t k = 0; k < properties->ik_count; k++) {
        int32_t name = find_name(bones, &properties->ik_names[k]);
        if (name >= 0)
            property_of_name[name] = (int32_t)k;
    }
    for (size_t n = 0; n < names; n++)
        for (int32_t bone = bones->first[n]; bone >= 0; bone = bones->next[bone])
            if (solver_of_bone[bone] > 0) {
                binding->solver_property[solver_of_bone[bone] - 1] = property_of_name[n];
                has_solver[n] = true;
            }
    for (size_t k = 0; k < properties->ik_count; k++) {
        int32_t name = find_name(bones, &properties->ik_names[k]);
        binding->property_bound[k] = name >= 0 && has_solver[name];
    }
    return true;
}

static bool allocate(mmd_binding *binding)
{
    const mmd_motion *motion = binding->motion;
    const mmd_rig *rig = binding->rig;
    mmd_arena *arena = &binding->arena;
    binding->bone_track = alloc_unbound(arena, rig->bone_count);
    binding->morph_track = alloc_unbound(arena, rig->morph_count);
    binding->solver_property = alloc_unbound(arena, rig->solver_count);
    return binding->bone_track && binding->morph_track && binding->solver_property &&
           MMD_ARENA_ARRAY(arena, binding->bone_rotations, rig->bone_count) &&
           MMD_ARENA_ARRAY(arena, binding->bone_track_bound, motion->bone_track_count) &&
           MMD_ARENA_ARRAY(arena, binding->morph_track_bound, motion->morph_track_count) &&
           MMD_ARENA_ARRAY(arena, binding->property_bound, motion->properties.ik_count);
}

static bool bind(mmd_binding *binding, mmd_arena *temporary)
{
    const mmd_model *model = binding->rig->model;
    name_map bones, morphs;
    if (!map_names(model->bones, sizeof *model->bones, model->bone_count, &bones, temporary) ||
        !map_names(model->morphs, sizeof *model->morphs, model->morph_count, &morphs, temporary) ||
        !bind_bones(binding, &bones))
        return false;
    return bind_solvers(binding, &bones, temporary) && bind_morphs(binding, &morphs, temporary);
}

mmd_binding *mmd_binding_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err)
{
    mmd_binding *binding = mmd_arena_new_owner(sizeof *binding, err);
    if (!binding)
        return NULL;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    binding->rig = rig;
    binding->motion = motion;
    return mmd_arena_keep_owner(binding, (allocate(binding) && bind(binding, &temporary)) ||
                                             mmd_fail_memory(err));
}

void mmd_binding_free(mmd_binding *binding)
{
    mmd_arena_free_owner(binding);
}
