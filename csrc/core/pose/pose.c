/* SPDX-License-Identifier: MIT */
/* Evaluates a pose in the order of docs/mmd-behavior.md#ik-order: local values, bone morphs, then
   layer by layer appends, world matrices and IK. */
#include "core/pose/pose.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/morph.h"
#include "core/pose/pose_state.h"
#include "core/pose/sampling.h"

static void set_rest_pose(mmd_sampling_locals *locals, size_t bone_count)
{
    for (size_t i = 0; i < bone_count; i++) {
        memset(locals->translations[i], 0, sizeof *locals->translations);
        mmd_quat_identity(locals->rotations[i]);
    }
}

static bool allocate(mmd_poser *poser, const mmd_rig *rig, const mmd_motion *motion)
{
    mmd_arena *arena = &poser->arena;
    mmd_sampling_locals *locals = &poser->locals;
    size_t n = rig->bone_count;
    if (!MMD_ARENA_ARRAY(arena, locals->translations, n) ||
        !MMD_ARENA_ARRAY(arena, locals->rotations, n) ||
        !MMD_ARENA_ARRAY(arena, locals->solvers_on, rig->solver_count) ||
        !MMD_ARENA_ARRAY(arena, poser->cursors, motion ? mmd_sampling_cursor_count(motion) : 0) ||
        !MMD_ARENA_ARRAY(arena, poser->weights, rig->morph_count) ||
        !mmd_pose_state_init(arena, rig, &poser->pose))
        return false;
    set_rest_pose(locals, n);
    memset(locals->solvers_on, 1, rig->solver_count);
    return true;
}

mmd_poser *mmd_poser_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err)
{
    if (!mmd_error_require(rig, "rig", err))
        return NULL;
    mmd_poser *poser = mmd_arena_new_owner(sizeof *poser, err);
    if (!poser || !allocate(poser, rig, motion))
        return mmd_arena_keep_owner(poser, mmd_fail_memory(err));
    poser->binding = motion ? mmd_binding_new(rig, motion, err) : NULL;
    return mmd_arena_keep_owner(poser, poser->binding || !motion);
}

void mmd_poser_free(mmd_poser *poser)
{
    if (poser)
        mmd_binding_free(poser->binding);
    mmd_arena_free_owner(poser);
}

static bool check_lengths(const mmd_pose_job *job, size_t bones, mmd_error *err)
{
    for (size_t i = 0; job->rotations && i < job->rotation_frames * bones; i++) {
        const float *q = job->rotations + 4 * i;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return mmd_refuse(err, "rotations: frame %zu, bone %zu has zero length", i / bones,
                              i % bones);
    }
    return true;
}

bool mmd_pose_check(const mmd_rig *rig, const mmd_pose_job *job, mmd_error *err)
{
    size_t expected = job->frame_count, bones = rig->bone_count;
    const mmd_numbers_array arrays[] = {
        {"translations", "bone", job->translations, job->translation_frames, bones, 3},
        {"rotations", "bone", job->rotations, job->rotation_frames, bones, 4},
        {"morph_weights", "morph", job->morph_weights, job->morph_weight_frames, rig->morph_count,
         1}};
    return mmd_numbers_check_frames("frames", job->frames, job->frames ? expected : 0, err) &&
           (!job->ik_bones || mmd_numbers_check_frame_count("ik", job->ik_frames, expected, err)) &&
           mmd_numbers_check(arrays, sizeof arrays / sizeof *arrays, expected, err) &&
           check_lengths(job, bones, err);
}

/* Copies the local values that the caller passes for frame f. */
static void copy_locals(const mmd_pose_job *job, const mmd_rig *rig, size_t f,
                        mmd_sampling_locals *locals, float *sliders)
{
    size_t n = rig->bone_count, m = rig->morph_count;
    set_rest_pose(locals, n);
    if (job->translations) {
        const float *from = job->translations + (job->translation_frames == 1 ? 0 : f) * n * 3;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < 3; k++)
                locals->translations[i][k] = from[3 * i + k];
    }
    if (job->rotations) {
        const float *from = job->rotations + (job->rotation_frames == 1 ? 0 : f) * n * 4;
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < 4; k++)
                locals->rotations[i][k] = from[4 * i + k];
            mmd_quat_normalize(locals->rotations[i]);
        }
    }
    if (m && job->morph_weights)
        memcpy(sliders, job->morph_weights + (job->morph_weight_frames == 1 ? 0 : f) * m,
               m * sizeof *sliders);
    else if (m)
        memset(sliders, 0, m * sizeof *sliders);
    const uint8_t *on = job->ik_bones ? job->ik_bones + (job->ik_frames == 1 ? 0 : f) * n : NULL;
    for (size_t s = 0; s < rig->solver_count; s++)
        locals->solvers_on[s] = !on || on[rig->solvers[s].goal];
}

static bool moves_fixed(const mmd_rig_solver *solver, const bool *fixed)
{
    bool any = fixed[solver->effector];
    for (size_t k = 0; k < solver->link_count; k++)
        any |= fixed[solver->links[k].bone];
    return any;
}

/* The three passes of docs/mmd-behavior.md#bone-sweeps. `on` NULL: no solver runs. `fixed` (B,) or
   NULL: bones that keep their local values, without an append. */
static void evaluate_layer(mmd_pose_state *pose, const mmd_rig_layer *layer, const uint8_t *on,
                           const bool *fixed)
{
    const mmd_rig *rig = pose->rig;
    for (size_t i = layer->first_bone; i < layer->first_bone + layer->bone_count; i++)
        if (fixed && fixed[rig->order[i]])
            mmd_pose_state_update(pose, rig->order[i]);
        else
            mmd_pose_state_evaluate(pose, rig->order[i]);
    for (size_t i = layer->first_solver; on && i < layer->first_solver + layer->solver_count; i++)
        if (on[i] && !(fixed && moves_fixed(&rig->solvers[i], fixed)))
            mmd_ik_solve(pose, &rig->solvers[i]);
    for (size_t i = 0; on && i < layer->deferred_count; i++) {
        int32_t bone = rig->deferred[layer->first_deferred + i];
        if (fixed && fixed[bone])
            continue;
        pose->bones[bone].append_dropped = false;
        mmd_pose_state_evaluate(pose, bone);
    }
}

static const uint8_t *solvers_on(const mmd_poser *poser, const mmd_pose_job *job)
{
    return job->ik ? poser->locals.solvers_on : NULL;
}

static void evaluate_before_physics(mmd_poser *poser, const mmd_pose_job *job, const bool *fixed)
{
    const mmd_rig *rig = poser->pose.rig;
    for (size_t i = 0; rig->reads_later_layer && i < rig->bone_count; i++)
        mmd_pose_state_update(&poser->pose, rig->order[i]);
    for (size_t i = 0; i < rig->early_count; i++)
        if (rig->early[i] < 0)
            mmd_pose_state_update(&poser->pose, ~rig->early[i]);
        else if (!fixed || !fixed[rig->early[i]])
            mmd_pose_state_append(&poser->pose, rig->early[i]);
    for (size_t i = 0; i < rig->layers_before_physics; i++)
        evaluate_layer(&poser->pose, &rig->layers[i], solvers_on(poser, job), fixed);
}

void mmd_pose_before_physics(mmd_poser *poser, const mmd_pose_job *job, size_t f)
{
    mmd_pose_state *pose = &poser->pose;
    const mmd_rig *rig = pose->rig;
    float *sliders = job->out_morph_weights + f * rig->morph_count;
    if (poser->binding)
        mmd_sampling_run(poser->binding, job->frames[f], poser->cursors, &poser->locals, sliders);
    else
        copy_locals(job, rig, f, &poser->locals, sliders);
    mmd_morph_weights(rig->model->morphs, rig->morph_count, sliders, poser->weights);
    mmd_pose_state_reset(pose, poser->locals.translations, poser->locals.rotations, poser->weights);
    evaluate_before_physics(poser, job, NULL);
}

void mmd_pose_again(mmd_poser *poser, const mmd_pose_job *job, const bool *fixed,
                    mmd_pose_bone *before)
{
    mmd_pose_state *pose = &poser->pose;
    memcpy(before, pose->bones, pose->rig->bone_count * sizeof *before);
    mmd_pose_state_reset(pose, poser->locals.translations, poser->locals.rotations, poser->weights);
    for (size_t i = 0; i < pose->rig->bone_count; i++)
        if (fixed[i]) {
            mmd_vec3_copy(before[i].local_translation, pose->bones[i].local_translation);
            mmd_vec3_add_scaled(before[i].append_translation, 1, pose->bones[i].local_translation);
            mmd_quat_multiply(before[i].local_rotation, before[i].append_rotation,
                              pose->bones[i].local_rotation);
        }
    evaluate_before_physics(poser, job, fixed);
}

void mmd_pose_after_physics(mmd_poser *poser, const mmd_pose_job *job)
{
    mmd_pose_state *pose = &poser->pose;
    const mmd_rig *rig = pose->rig;
    for (size_t i = rig->layers_before_physics; i < rig->layer_count; i++)
        evaluate_layer(pose, &rig->layers[i], solvers_on(poser, job), NULL);
    /* docs/mmd-behavior.md#ik-settle: world matrices once more, without appends. */
    for (size_t i = 0; job->ik && i < rig->final_update_count; i++)
        mmd_pose_state_update(pose, rig->final_update[i]);
}

mmd_pose_job mmd_pose_slice(const mmd_rig *rig, const mmd_pose_job *job, size_t first, size_t count)
{
    mmd_pose_job slice = *job;
    slice.frame_count = count;
    if (job->frames)
        slice.frames += first;
    MMD_NUMBERS_SLICE(slice.translations, slice.translation_frames, rig->bone_count * 3, first,
                      count);
    MMD_NUMBERS_SLICE(slice.rotations, slice.rotation_frames, rig->bone_count * 4, first, count);
    MMD_NUMBERS_SLICE(slice.morph_weights, slice.morph_weight_frames, rig->morph_count, first,
                      count);
    MMD_NUMBERS_SLICE(slice.ik_bones, slice.ik_frames, rig->bone_count, first, count);
    slice.out_matrices += first * rig->bone_count * 16;
    slice.out_morph_weights += first * rig->morph_count;
    return slice;
}

void mmd_pose_run(mmd_poser *poser, const mmd_pose_job *job)
{
    for (size_t f = 0; f < job->frame_count; f++) {
        mmd_pose_before_physics(poser, job, f);
        mmd_pose_after_physics(poser, job);
        mmd_pose_state_matrices(&poser->pose,
                                job->out_matrices + f * 16 * poser->pose.rig->bone_count);
    }
}

bool mmd_pose(mmd_poser *poser, const mmd_pose_job *job, mmd_error *err)
{
    if (!mmd_error_require(poser, "poser", err) || !mmd_error_require(job, "job", err))
        return false;
    const mmd_rig *rig = poser->pose.rig;
    if (poser->binding && !job->frames && job->frame_count)
        return mmd_refuse(err, "frames: missing, expected %zu", job->frame_count);
    if (!mmd_pose_check(rig, job, err))
        return false;
    if (job->frame_count &&
        ((rig->bone_count && !mmd_error_require(job->out_matrices, "out_matrices", err)) ||
         (rig->morph_count &&
          !mmd_error_require(job->out_morph_weights, "out_morph_weights", err))))
        return false;
    mmd_pose_run(poser, job);
    return true;
}
