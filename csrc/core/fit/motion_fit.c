/* SPDX-License-Identifier: MIT */
/* Fits the tracks of a motion, and runs the parts: those of motion_fit_build.c and
   motion_fit_compare.c, after motion_fit_choice.c. */
#include "core/fit/fit.h"

#include "core/base/error.h"

#include <math.h>

static const double MORPH_TOLERANCE = 0.002; /* of a weight */
enum { BONE_CHANNELS = 4, MAX_PASSES = 8 };

/* Shares of the time, about: of a pass its tracks, of what is left the next pass. */
static const double OF_TRACKS = 0.8, OF_PASS = 0.7;

/* The costs of about 10 ms: frames of a bone, vertices. */
enum { TRACK_STEP = 1 << 9, COMPARE_STEP = 1 << 20 };

const float *mmd_motion_fit_track_rotation(const mmd_motion_fit *fit,
                                           const mmd_motion_fit_track *track, size_t frame)
{
    static const float at_rest[4] = {0, 0, 0, 1};
    size_t bone = (size_t)track->bone;
    return fit->skipped[bone] == MMD_MOTION_FIT_SKIP_ROTATION
               ? at_rest
               : mmd_motion_fit_rotation(&fit->job, frame, bone);
}

/* Memory for tracks; false when it is short. */
static bool prepare_worker(const mmd_motion_fit *fit, mmd_motion_fit_worker *worker)
{
    size_t frames = fit->job.frame_count;
    if (worker->segments)
        return true;
    worker->columns = mmd_arena_alloc_uninitialized(&worker->arena, frames, 7 * sizeof(double));
    worker->segments =
        mmd_arena_alloc_uninitialized(&worker->arena, frames, sizeof *worker->segments);
    return worker->columns && worker->segments &&
           mmd_curve_fit_scratch_init(&worker->arena, fit->tables, frames, &worker->scratch);
}

/* Samples of a bone as columns of their own; quaternions of unit length and continuous sign. */
static void read_samples(const mmd_motion_fit *fit, const mmd_motion_fit_track *track,
                         double *columns)
{
    size_t count = fit->job.frame_count, bone = (size_t)track->bone;
    double *rotation = columns + 3 * count;
    for (size_t f = 0; f < count; f++, rotation += 4) {
        const float *t = mmd_motion_fit_translation(&fit->job, f, bone);
        const float *q = mmd_motion_fit_track_rotation(fit, track, f);
        double dot = 0;
        for (size_t i = 0; i < 3; i++)
            columns[i * count + f] = (double)t[i];
        for (size_t i = 0; i < 4; i++)
            rotation[i] = (double)q[i];
        mmd_quat_normalize(rotation);
        for (size_t i = 0; f && i < 4; i++)
            dot += rotation[i] * rotation[i - 4];
        for (size_t i = 0; dot < 0 && i < 4; i++)
            rotation[i] = -rotation[i];
    }
}

/* The segments of the earlier motion's track within the frames of the job. */
static size_t find_segments(const mmd_motion_fit_job *job, const mmd_bone_track *track,
                            mmd_key_fit_segment *segments)
{
    size_t count = 0;
    for (size_t k = 0; track && k + 1 < track->key_count; k++) {
        uint32_t first = track->frames[k], last = track->frames[k + 1];
        if (first < job->first_frame || last - job->first_frame >= job->frame_count)
            continue;
        segments[count++] = (mmd_key_fit_segment){first - job->first_frame, last - job->first_frame,
                                                  track->interpolation + 16 * (k + 1)};
    }
    return count;
}

static bool prepare_keys(const mmd_motion_fit *fit, mmd_motion_fit_worker *worker,
                         mmd_key_fit_keys *keys, size_t curve_size)
{
    size_t frames = fit->job.frame_count;
    if (!keys->frames) {
        keys->frames = mmd_arena_alloc_uninitialized(&worker->arena, frames, sizeof *keys->frames);
        keys->curves = mmd_arena_alloc_uninitialized(&worker->arena, frames, curve_size);
    }
    return keys->frames && keys->curves;
}

static void fit_bone(const mmd_motion_fit *fit, mmd_motion_fit_worker *worker,
                     mmd_motion_fit_track *track)
{
    const mmd_motion_fit_job *job = &fit->job;
    size_t bone = (size_t)track->bone, count = job->frame_count;
    double distance = fit->simulated[bone] ? job->physics_tolerance : job->tolerance;
    mmd_mesh_tolerance_bone limit =
        mmd_mesh_tolerance_of(&fit->tolerance, bone, distance * track->scale);
    mmd_key_fit_channel channels[BONE_CHANNELS];
    read_samples(fit, track, worker->columns);
    for (size_t i = 0; i < 3; i++)
        channels[i] = (mmd_key_fit_channel){MMD_CHANNEL_SCALARS, 1, worker->columns + i * count,
                                            limit.translation};
    channels[3] =
        (mmd_key_fit_channel){MMD_CHANNEL_ROTATION, 4, worker->columns + 3 * count, limit.rotation};
    mmd_key_fit keys = {
        .frame_count = count,
        .channel_count = BONE_CHANNELS,
        .channels = channels,
        .earlier = worker->segments,
        .earlier_count = find_segments(job, track->earlier, worker->segments),
    };
    track->fitted = mmd_key_fit_continue(&keys, &worker->scratch, &track->keys);
}

static void fit_morph(const mmd_motion_fit *fit, mmd_motion_fit_worker *worker,
                      mmd_motion_fit_track *track)
{
    const mmd_motion_fit_job *job = &fit->job;
    for (size_t f = 0; f < job->frame_count; f++)
        worker->columns[f] =
            (double)job->morph_weights[f * job->rig->morph_count + (size_t)track->morph];
    track->keys.count =
        mmd_key_fit_lines(worker->columns, job->frame_count, MORPH_TOLERANCE, track->keys.frames);
    track->fitted = true;
}

/* Fits a part of each of these tracks that are not fitted yet: a task. */
static bool fit_tracks(void *arg, size_t index, size_t first, size_t count, mmd_error *err)
{
    mmd_motion_fit *fit = arg;
    mmd_motion_fit_worker *worker = &fit->workers[index];
    if (!prepare_worker(fit, worker))
        return mmd_fail_memory(err);
    for (size_t i = first; i < first + count; i++) {
        mmd_motion_fit_track *track = &fit->tracks[i];
        bool is_bone = track->bone >= 0;
        if (track->fitted)
            continue;
        if (!prepare_keys(fit, worker, &track->keys, is_bone ? 4 * BONE_CHANNELS : 0))
            return mmd_fail_memory(err);
        if (is_bone)
            fit_bone(fit, worker, track);
        else
            fit_morph(fit, worker, track);
    }
    return true;
}

static bool is_fitted(const mmd_motion_fit *fit)
{
    for (size_t i = 0; i < fit->track_count; i++)
        if (!fit->tracks[i].fitted)
            return false;
    return true;
}

/* Begins with the tracks that are not fitted yet. Each pass has half of the work of the one before,
   so that all of them together take no more than twice the first. */
static void begin_tracks(mmd_motion_fit *fit)
{
    for (size_t i = 0; i < fit->track_count; i++) {
        mmd_motion_fit_track *track = &fit->tracks[i];
        if (!track->fitted)
            track->keys = (mmd_key_fit_keys){.frame_credit = MMD_KEY_FIT_FRAME_CREDIT >> fit->pass,
                                             .frames = track->keys.frames,
                                             .curves = track->keys.curves};
    }
}

/* Parts */

static mmd_thread_part next_part(mmd_fit *base)
{
    mmd_motion_fit *fit = (mmd_motion_fit *)base;
    const mmd_motion_fit_job *job = &fit->job;
    if (fit->next == MMD_MOTION_FIT_DECIDE) {
        bool ends = is_fitted(fit) || ++fit->pass == MAX_PASSES;
        fit->next = ends ? MMD_MOTION_FIT_DONE : MMD_MOTION_FIT_TRACKS;
        begin_tracks(fit);
    }
    switch (fit->next) {
    case MMD_MOTION_FIT_TRACKS:
        if (!is_fitted(fit)) /* each call fits a part of each track */
            return (mmd_thread_part){fit_tracks, fit, fit->track_count, job->frame_count,
                                     TRACK_STEP};
        fit->next = MMD_MOTION_FIT_COMPARE;
        return (mmd_thread_part){mmd_motion_fit_build, fit, 1, 1, 1};
    case MMD_MOTION_FIT_COMPARE:
        fit->next = MMD_MOTION_FIT_REFINE;
        return (mmd_thread_part){mmd_motion_fit_compare, fit, job->frame_count,
                                 2 * job->mesh->vertex_count, COMPARE_STEP};
    case MMD_MOTION_FIT_REFINE:
        fit->next = MMD_MOTION_FIT_DECIDE;
        return (mmd_thread_part){mmd_motion_fit_refine, fit, 1, 1, 1};
    default:
        return (mmd_thread_part){0};
    }
}

static double share(const mmd_fit *base, double of_part)
{
    const mmd_motion_fit *fit = (const mmd_motion_fit *)base;
    double tracks = 0, n = (double)fit->job.frame_count;
    for (size_t i = 0; i < fit->track_count; i++) {
        const mmd_motion_fit_track *track = &fit->tracks[i];
        if (track->fitted)
            tracks += 1;
        else if (track->keys.count)
            tracks += (double)track->keys.frames[track->keys.count - 1] / n;
    }
    double compared =
        fit->next == MMD_MOTION_FIT_REFINE ? of_part : fit->next > MMD_MOTION_FIT_REFINE;
    double fitted = fit->next > MMD_MOTION_FIT_TRACKS ? 1 : tracks / (double)fit->track_count;
    double of_pass = OF_TRACKS * fitted + (1 - OF_TRACKS) * compared;
    return fit->next == MMD_MOTION_FIT_DONE
               ? 1
               : 1 - (1 - OF_PASS * of_pass) * pow(1 - OF_PASS, fit->pass);
}

static void end(mmd_fit *base)
{
    const mmd_motion_fit *fit = (const mmd_motion_fit *)base;
    for (size_t i = 0; fit->workers && i < MMD_MAX_THREADS; i++) {
        mmd_poser_free(fit->workers[i].poser);
        mmd_skin_workspace_free(&fit->workers[i].skin);
        mmd_arena_free(&fit->workers[i].arena);
    }
}

mmd_motion_fit *mmd_motion_fit_new(const mmd_motion_fit_job *job, mmd_error *err)
{
    mmd_motion_fit *fit = mmd_arena_new_owner(sizeof *fit, err);
    if (!fit)
        return NULL;
    mmd_arena *arena = &fit->base.arena;
    fit->base = (mmd_fit){.arena = *arena, .next = next_part, .share = share, .end = end};
    fit->job = *job;
    fit->tables = mmd_curve_grid_tables_new(arena);
    if (!fit->tables || !MMD_ARENA_ARRAY(arena, fit->workers, MMD_MAX_THREADS) ||
        !mmd_motion_fit_choose(fit))
        return mmd_arena_keep_owner(fit, mmd_fail_memory(err));
    begin_tracks(fit);
    return fit;
}
