/* SPDX-License-Identifier: MIT */
/* Builds the motion of fitted tracks, with what it keeps of an earlier one. */
#include "core/fit/fit.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/formats/formats.h"
#include "core/model/motion.h"
#include "core/pose/sampling.h"

/* Gives keys the bytes of the earlier motion's keys at their frames: mmd_motion_new() keeps those
   that mean the same. False when memory is short. */
static bool keep_stored(const mmd_motion_fit *fit, const mmd_motion_fit_track *from,
                        mmd_arena *arena, mmd_bone_track *to)
{
    const mmd_bone_track *earlier = from->earlier;
    if (!earlier || !earlier->stored)
        return true;
    to->stored = mmd_arena_alloc(arena, from->keys.count, MMD_STORED_SIZE);
    size_t cursor = 0;
    for (size_t k = 0; to->stored && k < from->keys.count; k++) {
        uint32_t frame = fit->job.first_frame + from->keys.frames[k];
        size_t at = mmd_sampling_key_before(earlier->frames, earlier->key_count, frame, &cursor);
        if (earlier->frames[at] == frame)
            memcpy(to->stored + MMD_STORED_SIZE * k, earlier->stored + MMD_STORED_SIZE * at,
                   MMD_STORED_SIZE);
        else
            mmd_vmd_encode(to, k, to->stored + MMD_STORED_SIZE * k);
    }
    return to->stored != NULL;
}

static bool build_bone(const mmd_motion_fit *fit, const mmd_motion_fit_track *from,
                       mmd_arena *arena, mmd_bone_track *to)
{
    const mmd_motion_fit_job *job = &fit->job;
    size_t bone = (size_t)from->bone, n = from->keys.count;
    to->name = job->rig->model->bones[bone].name;
    if (!mmd_motion_alloc(arena, &mmd_motion_layouts[MMD_MOTION_BONES], to, n))
        return false;
    to->interpolation = from->keys.curves;
    bool on = !(job->key_physics && fit->simulated[bone]);
    for (size_t k = 0; k < n; k++) {
        size_t f = from->keys.frames[k];
        to->frames[k] = job->first_frame + (uint32_t)f;
        to->physics[k] = on;
        memcpy(to->translations + 3 * k, mmd_motion_fit_translation(job, f, bone),
               3 * sizeof(float));
        memcpy(to->rotations + 4 * k, mmd_motion_fit_track_rotation(fit, from, f),
               4 * sizeof(float));
    }
    return keep_stored(fit, from, arena, to);
}

static bool build_morph(const mmd_motion_fit *fit, const mmd_motion_fit_track *from,
                        mmd_arena *arena, mmd_morph_track *to)
{
    const mmd_motion_fit_job *job = &fit->job;
    size_t n = from->keys.count, morphs = job->rig->morph_count;
    to->name = job->rig->model->morphs[from->morph].name;
    if (!mmd_motion_alloc(arena, &mmd_motion_layouts[MMD_MOTION_MORPHS], to, n))
        return false;
    for (size_t k = 0; k < n; k++) {
        to->frames[k] = job->first_frame + from->keys.frames[k];
        to->weights[k] = job->morph_weights[from->keys.frames[k] * morphs + (size_t)from->morph];
    }
    return true;
}

/* The keys of the earlier motion's visibility, and one at the first frame. */
static bool keep_visibility(const mmd_motion_fit_job *job, mmd_arena *arena,
                            mmd_property_track *track)
{
    static const mmd_property_track none = {0};
    const mmd_property_track *from = job->earlier ? &job->earlier->properties : &none;
    size_t cursor = 0;
    track->frames = mmd_arena_alloc(arena, from->key_count + 1, sizeof *track->frames);
    track->visible = mmd_arena_alloc(arena, from->key_count + 1, 1);
    if (!track->frames || !track->visible)
        return false;
    track->frames[0] = job->first_frame;
    track->visible[0] = 1;
    if (from->key_count)
        track->visible[0] = from->visible[mmd_sampling_key_before(from->frames, from->key_count,
                                                                  job->first_frame, &cursor)];
    track->key_count = 1;
    for (size_t k = 0; k < from->key_count; k++)
        if (from->frames[k] > job->first_frame &&
            from->visible[k] != track->visible[track->key_count - 1]) {
            track->frames[track->key_count] = from->frames[k];
            track->visible[track->key_count++] = from->visible[k];
        }
    return true;
}

/* Every key switches every IK off. */
static bool switch_ik_off(const mmd_motion_fit *fit, mmd_arena *arena, mmd_property_track *track)
{
    const mmd_rig *rig = fit->job.rig;
    track->ik_names = mmd_arena_alloc(arena, rig->solver_count, sizeof *track->ik_names);
    track->ik_enabled = mmd_arena_alloc(arena, track->key_count, rig->solver_count);
    if (!track->ik_names || !track->ik_enabled)
        return false;
    for (size_t s = 0; s < rig->solver_count; s++) {
        mmd_text name = rig->model->bones[rig->solvers[s].goal].name;
        bool known = false;
        for (size_t i = 0; i < track->ik_count; i++)
            known = known || mmd_text_equal(track->ik_names[i], name);
        if (!known)
            track->ik_names[track->ik_count++] = name;
    }
    return true;
}

static bool build_properties(const mmd_motion_fit *fit, mmd_arena *arena, mmd_property_track *track)
{
    const mmd_motion_fit_job *job = &fit->job;
    if (job->earlier && job->keep_switches) {
        *track = job->earlier->properties;
        return true;
    }
    if (!keep_visibility(job, arena, track))
        return false;
    if (job->ik == MMD_MOTION_FIT_IK_OFF && job->rig->solver_count)
        return switch_ik_off(fit, arena, track);
    if (track->key_count == 1 && track->visible[0]) /* as without a key */
        track->key_count = 0;
    return true;
}

bool mmd_motion_fit_build(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    mmd_motion_fit *fit = arg;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    (void)worker, (void)first, (void)count;
    mmd_motion tracks = {.name = fit->job.rig->model->name};
    tracks.bone_tracks = mmd_arena_alloc(&arena, fit->track_count, sizeof *tracks.bone_tracks);
    tracks.morph_tracks = mmd_arena_alloc(&arena, fit->track_count, sizeof *tracks.morph_tracks);
    bool done = tracks.bone_tracks && tracks.morph_tracks;
    fit->key_count = 0;
    for (size_t i = 0; done && i < fit->track_count; i++) {
        const mmd_motion_fit_track *track = &fit->tracks[i];
        fit->key_count += track->keys.count;
        done =
            track->bone >= 0
                ? build_bone(fit, track, &arena, &tracks.bone_tracks[tracks.bone_track_count++])
                : build_morph(fit, track, &arena, &tracks.morph_tracks[tracks.morph_track_count++]);
    }
    done = done && build_properties(fit, &arena, &tracks.properties);
    mmd_motion_free(fit->base.motion);
    fit->base.motion = done ? mmd_motion_new(&tracks, err) : NULL;
    return fit->base.motion || (done ? false : mmd_fail_memory(err));
}
