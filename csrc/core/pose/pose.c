/* SPDX-License-Identifier: MIT */
/* The evaluation of a frame, docs/mmd-behaviour.md#bone-poses and
   docs/mmd-behaviour.md#ik-order. */
#include "core/pose/pose.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/data/morph.h"
#include "core/pose/ik.h"
#include "core/pose/sampling.h"
#include "core/pose/store.h"

struct mmd_poser {
    mmd_arena arena;      /* owns everything below but the binding */
    mmd_binding *binding; /* of the motion, NULL without one */
    mmd_cursor *cursors;
    mmd_locals locals;
    float *weights; /* (M,) after groups and flips */
    mmd_frame frame;
};

static void rest(mmd_locals *locals, size_t bone_count)
{
    for (size_t i = 0; i < bone_count; i++) {
        memset(locals->translations[i], 0, sizeof *locals->translations);
        mmd_quaternion_identity(locals->rotations[i]);
    }
}

/* What only bones that append, and links that are fed, come to have. */
static void forget(mmd_posed_bone *posed)
{
    memset(posed->append_translation, 0, sizeof posed->append_translation);
    mmd_quaternion_identity(posed->append_rotation);
    mmd_quaternion_identity(posed->memory);
    posed->dropped = false;
}

static bool allocate(mmd_poser *poser, const mmd_rig *rig, const mmd_motion *motion)
{
    mmd_arena *arena = &poser->arena;
    mmd_locals *locals = &poser->locals;
    size_t n = rig->bone_count;
    locals->translations = mmd_arena_alloc(arena, n, sizeof *locals->translations);
    locals->rotations = mmd_arena_alloc(arena, n, sizeof *locals->rotations);
    locals->solvers_on = mmd_arena_alloc(arena, rig->solver_count, sizeof *locals->solvers_on);
    poser->cursors =
        mmd_arena_alloc(arena, motion ? mmd_sample_cursors(motion) : 0, sizeof *poser->cursors);
    poser->weights = mmd_arena_alloc(arena, rig->morph_count, sizeof *poser->weights);
    poser->frame.rig = rig;
    poser->frame.bones = mmd_arena_alloc(arena, n, sizeof *poser->frame.bones);
    if (!locals->translations || !locals->rotations || !locals->solvers_on || !poser->cursors ||
        !poser->weights || !poser->frame.bones)
        return false;
    rest(locals, n);
    for (size_t i = 0; i < n; i++)
        forget(&poser->frame.bones[i]);
    memset(locals->solvers_on, 1, rig->solver_count);
    return true;
}

mmd_poser *mmd_poser_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err)
{
    mmd_poser *poser = mmd_owner_new(sizeof *poser);
    if (!poser || !allocate(poser, rig, motion)) {
        mmd_fail_memory(err);
    } else {
        poser->binding = motion ? mmd_binding_new(rig, motion, err) : NULL;
        if (poser->binding || !motion)
            return poser;
    }
    mmd_poser_free(poser);
    return NULL;
}

void mmd_poser_free(mmd_poser *poser)
{
    if (poser)
        mmd_binding_free(poser->binding);
    mmd_owner_free(poser);
}

static bool check_frames(const char *name, size_t frames, size_t wanted, mmd_error *err)
{
    if (frames == 1 || frames == wanted)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT, "%s: %zu frames, expected 1 or %zu", name, frames, wanted);
}

/* Numbers of bones, of `width` components each. */
static bool check_components(const char *name, const float *numbers, size_t frames, size_t bones,
                             size_t width, mmd_error *err)
{
    size_t count = numbers ? frames * bones * width : 0;
    size_t bad = mmd_first_not_finite(numbers, count);
    if (bad == count)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT, "%s: frame %zu, bone %zu is %s in %c", name,
                    bad / width / bones, bad / width % bones, mmd_not_finite_name(numbers[bad]),
                    "xyzw"[bad % width]);
}

static bool check_lengths(const mmd_pose_job *job, size_t bones, mmd_error *err)
{
    for (size_t i = 0; job->rotations && i < job->rotation_frames * bones; i++) {
        const float *q = job->rotations + 4 * i;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return mmd_fail(err, MMD_E_ARGUMENT, "rotations: frame %zu, bone %zu has no length",
                            i / bones, i % bones);
    }
    return true;
}

static bool check_times(const mmd_pose_job *job, mmd_error *err)
{
    for (size_t f = 0; job->frames && f < job->frame_count; f++)
        if (!isfinite(job->frames[f]))
            return mmd_fail(err, MMD_E_ARGUMENT, "frame: number %zu is %s", f,
                            mmd_not_finite_name(job->frames[f]));
    return true;
}

bool mmd_pose_check(const mmd_rig *rig, const mmd_pose_job *job, mmd_error *err)
{
    size_t wanted = job->frame_count, bones = rig->bone_count;
    return check_times(job, err) &&
           (!job->translations ||
            check_frames("translations", job->translation_frames, wanted, err)) &&
           (!job->rotations || check_frames("rotations", job->rotation_frames, wanted, err)) &&
           (!job->given_sliders ||
            check_frames("morph_weights", job->slider_frames, wanted, err)) &&
           (!job->ik_bones || check_frames("ik", job->ik_frames, wanted, err)) &&
           check_components("translations", job->translations, job->translation_frames, bones, 3,
                            err) &&
           check_components("rotations", job->rotations, job->rotation_frames, bones, 4, err) &&
           check_lengths(job, bones, err) &&
           mmd_morph_check(job->given_sliders, job->slider_frames, rig->morph_count, err);
}

/* Local values of the caller at frame f. */
static void take_locals(const mmd_pose_job *job, const mmd_rig *rig, size_t f, mmd_locals *locals,
                        float *sliders)
{
    size_t n = rig->bone_count, m = rig->morph_count;
    rest(locals, n);
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
            mmd_quaternion_normalize(locals->rotations[i]);
        }
    }
    if (m && job->given_sliders)
        memcpy(sliders, job->given_sliders + (job->slider_frames == 1 ? 0 : f) * m,
               m * sizeof *sliders);
    else if (m)
        memset(sliders, 0, m * sizeof *sliders);
    const uint8_t *on = job->ik_bones ? job->ik_bones + (job->ik_frames == 1 ? 0 : f) * n : NULL;
    for (size_t s = 0; s < rig->solver_count; s++)
        locals->solvers_on[s] = !on || on[rig->solvers[s].goal];
}

static void apply_morph(mmd_frame *frame, const mmd_morph *morph, float weight)
{
    static const double identity[4] = {0, 0, 0, 1};
    for (size_t k = 0; k < morph->offset_count; k++) {
        const float *values = morph->values + 7 * k;
        mmd_posed_bone *posed = &frame->bones[morph->indices[k]];
        double turn[4] = {values[3], values[4], values[5], values[6]};
        mmd_quaternion_normalize(turn);
        mmd_quaternion_slerp(identity, turn, weight, turn);
        mmd_quaternion_multiply(turn, posed->own_rotation, posed->own_rotation);
        for (int i = 0; i < 3; i++)
            posed->own_translation[i] += (double)weight * values[i];
    }
}

/* Own = what user or motion set, bone morphs outside of it: docs/mmd-behaviour.md#bone-morphs. */
static void reset(mmd_frame *frame, const mmd_locals *locals, const float *weights)
{
    const mmd_rig *rig = frame->rig;
    for (size_t i = 0; i < rig->bone_count; i++) {
        mmd_posed_bone *posed = &frame->bones[i];
        memcpy(posed->own_translation, locals->translations[i], sizeof posed->own_translation);
        memcpy(posed->own_rotation, locals->rotations[i], sizeof posed->own_rotation);
        if (rig->bones[i].source >= 0 || rig->bones[i].fed)
            forget(posed);
    }
    for (size_t m = 0; m < rig->morph_count; m++)
        if (rig->model->morphs[m].kind == MMD_MORPH_BONE && weights[m] != 0)
            apply_morph(frame, &rig->model->morphs[m], weights[m]);
}

/* The three sweeps of docs/mmd-behaviour.md#bone-sweeps. `on` NULL: no solver is. */
static void evaluate_layer(mmd_frame *frame, const mmd_rig_layer *layer, const uint8_t *on)
{
    const mmd_rig *rig = frame->rig;
    for (size_t i = 0; i < layer->bone_count; i++)
        mmd_evaluate_bone(frame, rig->order[layer->first_bone + i]);
    for (size_t i = 0; on && i < layer->solver_count; i++)
        if (on[layer->first_solver + i])
            mmd_ik_solve(frame, &rig->solvers[layer->first_solver + i]);
    for (size_t i = 0; on && i < layer->deferred_count; i++) {
        int32_t bone = rig->deferred[layer->first_deferred + i];
        frame->bones[bone].dropped = false;
        mmd_evaluate_bone(frame, bone);
    }
}

static const uint8_t *solvers_on(const mmd_poser *poser, const mmd_pose_job *job)
{
    return job->ik ? poser->locals.solvers_on : NULL;
}

void mmd_pose_before_physics(mmd_poser *poser, const mmd_pose_job *job, size_t f)
{
    mmd_frame *frame = &poser->frame;
    const mmd_rig *rig = frame->rig;
    float *sliders = job->sliders + f * rig->morph_count;
    if (poser->binding)
        mmd_sample(poser->binding, job->frames[f], poser->cursors, &poser->locals, sliders);
    else
        take_locals(job, rig, f, &poser->locals, sliders);
    mmd_morph_weights(rig->model->morphs, rig->morph_count, sliders, poser->weights);
    reset(frame, &poser->locals, poser->weights);
    for (size_t i = 0; rig->reads_ahead && i < rig->bone_count; i++)
        mmd_place_bone(frame, rig->order[i]);
    for (size_t i = 0; i < rig->layers_before_physics; i++)
        evaluate_layer(frame, &rig->layers[i], solvers_on(poser, job));
}

void mmd_pose_after_physics(mmd_poser *poser, const mmd_pose_job *job)
{
    mmd_frame *frame = &poser->frame;
    const mmd_rig *rig = frame->rig;
    for (size_t i = rig->layers_before_physics; i < rig->layer_count; i++)
        evaluate_layer(frame, &rig->layers[i], solvers_on(poser, job));
    /* docs/mmd-behaviour.md#ik-settle: no append again, but all on its parent's last place. */
    for (size_t i = 0; job->ik && i < rig->settled_count; i++)
        mmd_place_bone(frame, rig->settled[i]);
}

void mmd_pose_store(const mmd_poser *poser, float *matrices)
{
    mmd_frame_store(&poser->frame, matrices);
}

mmd_frame *mmd_poser_frame(mmd_poser *poser)
{
    return &poser->frame;
}

const float *mmd_poser_weights(const mmd_poser *poser)
{
    return poser->weights;
}

const mmd_binding *mmd_poser_binding(const mmd_poser *poser)
{
    return poser->binding;
}

mmd_pose_job mmd_pose_slice(const mmd_rig *rig, const mmd_pose_job *job, size_t first, size_t count)
{
    mmd_pose_job slice = *job;
    slice.frame_count = count;
    if (job->frames)
        slice.frames += first;
    if (job->translations && job->translation_frames > 1) {
        slice.translations += first * rig->bone_count * 3;
        slice.translation_frames = count;
    }
    if (job->rotations && job->rotation_frames > 1) {
        slice.rotations += first * rig->bone_count * 4;
        slice.rotation_frames = count;
    }
    if (job->given_sliders && job->slider_frames > 1) {
        slice.given_sliders += first * rig->morph_count;
        slice.slider_frames = count;
    }
    if (job->ik_bones && job->ik_frames > 1) {
        slice.ik_bones += first * rig->bone_count;
        slice.ik_frames = count;
    }
    slice.matrices += first * rig->bone_count * 16;
    slice.sliders += first * rig->morph_count;
    return slice;
}

void mmd_pose_run(mmd_poser *poser, const mmd_pose_job *job)
{
    for (size_t f = 0; f < job->frame_count; f++) {
        mmd_pose_before_physics(poser, job, f);
        mmd_pose_after_physics(poser, job);
        mmd_pose_store(poser, job->matrices + f * 16 * poser->frame.rig->bone_count);
    }
}

bool mmd_pose(mmd_poser *poser, const mmd_pose_job *job, mmd_error *err)
{
    if (poser->binding && !job->frames && job->frame_count)
        return mmd_fail(err, MMD_E_ARGUMENT, "frames: none, and %zu wanted", job->frame_count);
    if (!mmd_pose_check(poser->frame.rig, job, err))
        return false;
    mmd_pose_run(poser, job);
    return true;
}
