/* SPDX-License-Identifier: MIT */
/* The input is a VMD or VPD file; it moves a model that has a name for each of its tracks. */
#include "mmdskin.h"
#include "target.h"

#include <string.h>

enum { MOST_BONES = 64, MOST_MORPHS = 16, MOST_ALLOCATIONS = 60 /* what a seed takes */ };

/* A chain of bones that are named after the motion's tracks, the goals of its IK among them. */
static mmd_model *model_for(const mmd_motion *motion)
{
    mmd_model *model = mmd_arena_new_owner(sizeof *model, NULL);
    PROMISE(model);
    size_t tracks = motion->bone_track_count, names = motion->properties.ik_count;
    size_t bones = tracks + names < MOST_BONES ? tracks + names : MOST_BONES;
    model->bone_count = bones;
    model->bones = mmd_arena_alloc(&model->arena, bones, sizeof *model->bones);
    model->morph_count =
        motion->morph_track_count < MOST_MORPHS ? motion->morph_track_count : MOST_MORPHS;
    model->morphs = mmd_arena_alloc(&model->arena, model->morph_count, sizeof *model->morphs);
    PROMISE(model->bones && model->morphs);
    for (size_t i = 0; i < bones; i++) {
        bool is_goal = i < names;
        mmd_bone *bone = &model->bones[i];
        bone->name = is_goal ? motion->properties.ik_names[i] : motion->bone_tracks[i - names].name;
        bone->parent = (int32_t)i - 1;
        bone->position[1] = (float)i;
        if (i % 5 == 0)
            bone->flags = MMD_BONE_FIXED_AXIS;
        bone->fixed_axis[i % 3] = 1;
        if (!is_goal)
            continue;
        bone->ik = mmd_arena_alloc(&model->arena, 1, sizeof *bone->ik);
        PROMISE(bone->ik);
        bone->ik->target = (int32_t)(bones - 1);
        bone->ik->loop_count = 3;
        bone->ik->unit_angle = 1;
        bone->ik->links = mmd_arena_alloc(&model->arena, 1, sizeof *bone->ik->links);
        PROMISE(bone->ik->links);
        bone->ik->link_count = 1;
        bone->ik->links[0].bone = (int32_t)(bones - 1 - i % 2 * (bones > 1));
    }
    for (size_t i = 0; i < model->morph_count; i++)
        model->morphs[i].name = motion->morph_tracks[i].name;
    return model;
}

/* What is written is read as what it was, or refused for its names. */
static void write_and_read(const mmd_motion *motion)
{
    mmd_error err = {0};
    size_t size = mmd_vmd_size(motion);
    uint8_t *bytes = malloc(2 * size);
    PROMISE(bytes);
    if (mmd_vmd_write(motion, true, bytes, &err)) {
        mmd_motion *read = mmd_motion_load(bytes, size, NULL);
        PROMISE(read && mmd_vmd_size(read) == size);
        PROMISE(mmd_vmd_write(read, false, bytes + size, NULL));
        PROMISE(memcmp(bytes, bytes + size, size) == 0);
        mmd_motion *made = mmd_motion_new(read, NULL);
        PROMISE(made && mmd_vmd_size(made) == size);
        PROMISE(mmd_vmd_write(made, false, bytes + size, NULL));
        PROMISE(memcmp(bytes, bytes + size, size) == 0);
        mmd_motion_free(made);
        mmd_motion_free(read);
    } else {
        PROMISE(err.code == MMD_E_ARGUMENT);
    }
    free(bytes);
}

static void load_with_short_memory(const uint8_t *data, size_t size, chance *c)
{
    mmd_error err = {0};
    memory_runs_short(c, MOST_ALLOCATIONS);
    mmd_motion *motion = mmd_motion_load(data, size, &err);
    check_short_memory(motion, &err);
    mmd_motion_free(motion);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_error err = {0};
    chance c = chance_of(data, size);
    load_with_short_memory(data, size, &c);
    mmd_motion *motion = mmd_motion_load(data, size, &err);
    if (!motion) {
        check_refusal(&err, size);
        return 0;
    }
    write_and_read(motion);
    mmd_model *model = model_for(motion);
    mmd_rig *rig = mmd_rig_new(model, NULL);
    PROMISE(rig);
    exercise_motion(rig, NULL, motion, &c);
    mmd_rig_free(rig);
    mmd_model_free(model);
    mmd_motion_free(motion);
    return 0;
}
