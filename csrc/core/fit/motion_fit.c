/* SPDX-License-Identifier: MIT */
/* Finds the bones and morphs that get tracks, fits them, builds the motion, and compares its mesh
   with the mesh to be kept. */
#include "core/fit/fit.h"

#include "core/base/error.h"
#include "core/base/string_table.h"
#include "core/base/text.h"
#include "core/formats/formats.h"
#include "core/model/motion.h"
#include "core/pose/sampling.h"

#include <math.h>
#include <string.h>

static const double MIN_SCALE = 1.0 / 64;    /* of a tolerance, after corrections */
static const double MORPH_TOLERANCE = 0.002; /* of a weight */
static const float MIN_TRANSLATION = 1e-4f;  /* of a bone that is only turned: rounding */
static const float REST = 1e-9f; /* of a bone at rest: noise of the program that posed it */
enum { BONE_CHANNELS = 4, MAX_PASSES = 8 };

/* Shares of the time, about: of a pass its tracks, of what is left the next pass. */
static const double OF_TRACKS = 0.8, OF_PASS = 0.7;

/* The costs of about 10 ms: frames of a bone, vertices. */
enum { TRACK_STEP = 1 << 9, COMPARE_STEP = 1 << 20 };

/* Memory of one thread. */
typedef struct mmd_motion_fit_worker {
    mmd_arena arena;
    mmd_curve_fit_scratch scratch;
    double *columns; /* (F,7) */
    mmd_key_fit_segment *segments;
    mmd_poser *poser;
    mmd_skin_workspace skin;
    float *matrices, *morph_weights, *expected, *actual;
    float *max_squares; /* (V,) squared distance of each vertex, largest of the frames */
} mmd_motion_fit_worker;

/* The local values of a bone at a frame of the job. */
static inline const float *rotation_of(const mmd_motion_fit_job *job, size_t frame, size_t bone)
{
    return job->rotations + 4 * (frame * job->rig->bone_count + bone);
}

static inline const float *translation_of(const mmd_motion_fit_job *job, size_t frame, size_t bone)
{
    return job->translations + 3 * (frame * job->rig->bone_count + bone);
}

static bool is_zero(const float *values)
{
    return fabsf(values[0]) < REST && fabsf(values[1]) < REST && fabsf(values[2]) < REST;
}

/* Whether a bone is ever away from rest, and whether it changes. */
static void classify_bone(const mmd_motion_fit_job *job, size_t bone, bool *posed, bool *moving)
{
    const float *t0 = translation_of(job, 0, bone), *q0 = rotation_of(job, 0, bone);
    *posed = *moving = false;
    for (size_t f = 0; f < job->frame_count; f++) {
        const float *t = translation_of(job, f, bone), *q = rotation_of(job, f, bone);
        *posed = *posed || !is_zero(t) || !is_zero(q);
        *moving = *moving || memcmp(t, t0, 3 * sizeof *t) || memcmp(q, q0, 4 * sizeof *q);
    }
}

static void find_simulated(mmd_motion_fit *fit)
{
    const mmd_model *model = fit->job.rig->model;
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        const mmd_rigid_body *body = &model->rigid_bodies[i];
        if (body->bone >= 0 && body->mode != MMD_FOLLOWS_BONE)
            fit->simulated[body->bone] = true;
    }
    for (size_t i = 0; i < model->bone_count; i++)
        fit->turned[i] = fit->simulated[i];
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        const mmd_rigid_body *body = &model->rigid_bodies[i];
        if (body->bone < 0 || body->mode == MMD_FOLLOWS_BONE)
            continue;
        /* The children of simulated bones are moved as well: docs/physics.md. */
        int32_t parent = fit->job.rig->bones[body->bone].parent;
        if (body->mode != MMD_PHYSICS_AND_BONE || (parent >= 0 && fit->simulated[parent]))
            fit->turned[body->bone] = false;
    }
}

/* Whether a bone is ever translated by more than rounding. */
static bool is_translated(const mmd_motion_fit_job *job, size_t bone)
{
    for (size_t f = 0; f < job->frame_count; f++) {
        const float *t = translation_of(job, f, bone);
        if (fabsf(t[0]) > MIN_TRANSLATION || fabsf(t[1]) > MIN_TRANSLATION ||
            fabsf(t[2]) > MIN_TRANSLATION)
            return true;
    }
    return false;
}

/* Bones that rigid bodies move, themselves or by what they follow. */
static void find_followers(mmd_motion_fit *fit, const int32_t *order)
{
    const mmd_rig *rig = fit->job.rig;
    for (size_t i = 0; i < rig->bone_count; i++) {
        int32_t bone = order[i], parent = rig->bones[bone].parent, source = rig->bones[bone].source;
        fit->follows_simulated[bone] = fit->simulated[bone] ||
                                       (parent >= 0 && fit->follows_simulated[parent]) ||
                                       (source >= 0 && fit->follows_simulated[source]);
    }
}

/* Finds out whether no record before it has this name. False when memory is short. */
static bool is_first(mmd_arena *temporary, mmd_string_table *names, mmd_text name, bool *first)
{
    uint32_t index;
    size_t known = names->count;
    bool added =
        mmd_string_table_add(temporary, names, (const uint8_t *)name.data, name.size, &index);
    *first = names->count > known;
    return added;
}

static bool add_bones(mmd_motion_fit *fit, mmd_arena *temporary, const bool *posed)
{
    const mmd_model *model = fit->job.rig->model;
    mmd_string_table names = {0};
    bool first;
    for (size_t i = 0; i < model->bone_count; i++) {
        if (!is_first(temporary, &names, model->bones[i].name, &first))
            return false;
        if (!posed[i])
            continue;
        if (!first)
            fit->skipped[i] = MMD_MOTION_FIT_SKIP_DUPLICATE;
        else if (!fit->job.key_physics && fit->turned[i] && is_translated(&fit->job, i))
            fit->skipped[i] = MMD_MOTION_FIT_SKIP_ROTATION;
        else if (!fit->job.key_physics && fit->simulated[i])
            fit->skipped[i] = MMD_MOTION_FIT_SKIP_PHYSICS;
        else if (fit->tolerance.reach[i] < 0)
            fit->skipped[i] = MMD_MOTION_FIT_SKIP_NO_MESH;
        bool translation_only = fit->skipped[i] == MMD_MOTION_FIT_SKIP_ROTATION;
        if (!fit->skipped[i] || translation_only)
            fit->tracks[fit->track_count++] = (mmd_motion_fit_track){
                .bone = (int32_t)i, .morph = -1, .scale = 1, .translation_only = translation_only};
    }
    return true;
}

/* Of morphs of one name, which one track drives, the first. */
static bool add_morphs(mmd_motion_fit *fit, mmd_arena *temporary)
{
    const mmd_model *model = fit->job.rig->model;
    size_t morphs = model->morph_count;
    mmd_string_table names = {0};
    bool first, used;
    for (size_t m = 0; m < morphs; m++) {
        if (!is_first(temporary, &names, model->morphs[m].name, &first))
            return false;
        used = false;
        for (size_t f = 0; f < fit->job.frame_count && first && !used; f++)
            used = fit->job.morph_weights[f * morphs + m] != 0;
        if (used)
            fit->tracks[fit->track_count++] =
                (mmd_motion_fit_track){.bone = -1, .morph = (int32_t)m};
    }
    return true;
}

static bool set_up(mmd_motion_fit *fit)
{
    const mmd_rig *rig = fit->job.rig;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    size_t n = rig->bone_count;
    bool *posed, *moving;
    const int32_t *order = mmd_rig_dependency_order(&temporary, rig);
    fit->tables = mmd_curve_grid_tables_new(&fit->arena);
    if (!order || !fit->tables || !MMD_ARENA_ARRAY(&temporary, posed, n) ||
        !MMD_ARENA_ARRAY(&temporary, moving, n) || !MMD_ARENA_ARRAY(&fit->arena, fit->skipped, n) ||
        !MMD_ARENA_ARRAY(&fit->arena, fit->simulated, n) ||
        !MMD_ARENA_ARRAY(&fit->arena, fit->turned, n) ||
        !MMD_ARENA_ARRAY(&fit->arena, fit->follows_simulated, n) ||
        !MMD_ARENA_ARRAY(&fit->arena, fit->tracks, n + rig->morph_count) ||
        !MMD_ARENA_ARRAY(&fit->arena, fit->workers, MMD_MAX_THREADS))
        return false;
    find_simulated(fit);
    find_followers(fit, order);
    for (size_t i = 0; i < n; i++)
        classify_bone(&fit->job, i, &posed[i], &moving[i]);
    return mmd_mesh_tolerance_init(&fit->arena, rig, order, moving, &fit->tolerance) &&
           add_bones(fit, &temporary, posed) && add_morphs(fit, &temporary);
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

/* The rotation that a bone's track gets at a frame. */
static const float *track_rotation(const mmd_motion_fit_job *job, const mmd_motion_fit_track *track,
                                   size_t frame)
{
    static const float at_rest[4] = {0, 0, 0, 1};
    return track->translation_only ? at_rest : rotation_of(job, frame, (size_t)track->bone);
}

/* Samples of a bone as columns of their own; quaternions of unit length and continuous sign. */
static void read_samples(const mmd_motion_fit_job *job, const mmd_motion_fit_track *track,
                         double *columns)
{
    size_t count = job->frame_count, bone = (size_t)track->bone;
    double *rotation = columns + 3 * count;
    for (size_t f = 0; f < count; f++, rotation += 4) {
        const float *t = translation_of(job, f, bone);
        const float *q = track_rotation(job, track, f);
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

/* The track of a bone in the earlier motion, or NULL. */
static const mmd_bone_track *earlier_track(const mmd_motion_fit_job *job, mmd_text name)
{
    const mmd_motion *earlier = job->earlier;
    for (size_t i = 0; earlier && i < earlier->bone_track_count; i++)
        if (mmd_text_equal(earlier->bone_tracks[i].name, name))
            return &earlier->bone_tracks[i];
    return NULL;
}

/* The segments of the earlier motion's track of this name within the frames of the job. */
static size_t find_segments(const mmd_motion_fit_job *job, mmd_text name,
                            mmd_key_fit_segment *segments)
{
    const mmd_bone_track *track = earlier_track(job, name);
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
    read_samples(job, track, worker->columns);
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
        .earlier_count = find_segments(job, job->rig->model->bones[bone].name, worker->segments),
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

void mmd_motion_fit_free(mmd_motion_fit *fit)
{
    if (!fit)
        return;
    for (size_t i = 0; fit->workers && i < MMD_MAX_THREADS; i++) {
        mmd_poser_free(fit->workers[i].poser);
        mmd_skin_workspace_free(&fit->workers[i].skin);
        mmd_arena_free(&fit->workers[i].arena);
    }
    mmd_motion_free(fit->motion);
    mmd_arena_free_owner(fit);
}

mmd_motion_fit *mmd_motion_fit_new(const mmd_motion_fit_job *job, mmd_error *err)
{
    mmd_motion_fit *fit = mmd_arena_new_owner(sizeof *fit, err);
    if (!fit)
        return NULL;
    fit->job = *job;
    if (!set_up(fit)) {
        mmd_fail_memory(err);
        mmd_motion_fit_free(fit);
        return NULL;
    }
    begin_tracks(fit);
    return fit;
}

/* The motion, with what it keeps of an earlier one */

/* Gives keys the bytes of the earlier motion's keys at their frames: mmd_motion_new() keeps those
   that mean the same. False when memory is short. */
static bool keep_stored(const mmd_motion_fit *fit, const mmd_motion_fit_track *from,
                        mmd_arena *arena, mmd_bone_track *to)
{
    const mmd_bone_track *earlier = earlier_track(&fit->job, to->name);
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
            mmd_vmd_encode(to->rotations + 4 * k, to->interpolation + 16 * k, to->physics[k],
                           to->stored + MMD_STORED_SIZE * k);
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
        memcpy(to->translations + 3 * k, translation_of(job, f, bone), 3 * sizeof(float));
        memcpy(to->rotations + 4 * k, track_rotation(job, from, f), 4 * sizeof(float));
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

static bool build(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
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
    mmd_motion_free(fit->motion);
    fit->motion = done ? mmd_motion_new(&tracks, err) : NULL;
    return fit->motion || (done ? false : mmd_fail_memory(err));
}

/* The comparison, which selects the tracks to fit again */

static bool prepare_comparison(const mmd_motion_fit *fit, mmd_motion_fit_worker *worker,
                               mmd_error *err)
{
    const mmd_rig *rig = fit->job.rig;
    size_t vertices = fit->job.mesh->vertex_count;
    mmd_arena *arena = &worker->arena;
    if (!worker->max_squares && (!MMD_ARENA_ARRAY(arena, worker->matrices, 16 * rig->bone_count) ||
                                 !MMD_ARENA_ARRAY(arena, worker->morph_weights, rig->morph_count) ||
                                 !MMD_ARENA_ARRAY(arena, worker->expected, 3 * vertices) ||
                                 !MMD_ARENA_ARRAY(arena, worker->actual, 3 * vertices) ||
                                 !MMD_ARENA_ARRAY(arena, worker->max_squares, vertices)))
        return mmd_fail_memory(err);
    if (!worker->poser)
        worker->poser = mmd_poser_new(rig, fit->motion, err);
    return worker->poser != NULL;
}

/* Whether a rigid body moves one of a vertex's bones. */
static bool is_simulated(const mmd_motion_fit *fit, size_t vertex)
{
    const mmd_model *model = fit->job.rig->model;
    bool simulated = false;
    for (size_t k = 4 * vertex; k < 4 * vertex + 4; k++)
        simulated = simulated || (model->bone_indices[k] >= 0 && model->bone_weights[k] != 0 &&
                                  fit->follows_simulated[model->bone_indices[k]]);
    return simulated;
}

static bool skin(const mmd_motion_fit *fit, mmd_motion_fit_worker *worker, const float *matrices,
                 const float *morph_weights, float *positions, mmd_error *err)
{
    mmd_skin_job job = {
        .mesh = fit->job.mesh,
        .frame_count = 1,
        .bone_count = fit->job.rig->bone_count,
        .matrices = matrices,
        .matrix_frames = 1,
        .morph_weights = morph_weights,
        .morph_weight_frames = 1,
        .positions = positions,
    };
    return mmd_skin_frames(&job, 0, 1, NULL, &worker->skin, err);
}

/* Raises squared distances where those of a frame are larger. */
static void raise_distances(const float *expected, const float *actual, size_t count, float *most)
{
    for (size_t v = 0; v < count; v++) {
        const float *a = expected + 3 * v, *b = actual + 3 * v;
        float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
        float squared = x * x + y * y + z * z;
        most[v] = squared > most[v] ? squared : most[v];
    }
}

static bool compare(void *arg, size_t index, size_t first, size_t count, mmd_error *err)
{
    mmd_motion_fit *fit = arg;
    const mmd_motion_fit_job *job = &fit->job;
    mmd_motion_fit_worker *worker = &fit->workers[index];
    size_t bones = job->rig->bone_count, morphs = job->rig->morph_count;
    if (!prepare_comparison(fit, worker, err))
        return false;
    for (size_t f = first; f < first + count; f++) {
        double frame = (double)job->first_frame + (double)f;
        mmd_pose_job pose = {.frame_count = 1,
                             .ik = true,
                             .frames = &frame,
                             .out_matrices = worker->matrices,
                             .out_morph_weights = worker->morph_weights};
        mmd_pose_run(worker->poser, &pose);
        if (!skin(fit, worker, job->matrices + 16 * f * bones, job->morph_weights + f * morphs,
                  worker->expected, err) ||
            !skin(fit, worker, worker->matrices, worker->morph_weights, worker->actual, err))
            return false;
        raise_distances(worker->expected, worker->actual, job->mesh->vertex_count,
                        worker->max_squares);
    }
    return true;
}

/* Bones that are off: a bit mask. */
enum { OFF = 1, FAR_OFF = 2 };

/* By what part of the tolerance vertices are far off. Less is rounding, or nearly right. */
static const double FAR = 0.01;

static void mark_bones(const mmd_model *model, size_t vertex, uint8_t mark, uint8_t *marked)
{
    for (size_t k = 4 * vertex; k < 4 * vertex + 4; k++)
        if (model->bone_indices[k] >= 0 && model->bone_weights[k] != 0)
            marked[model->bone_indices[k]] |= mark;
}

static void mark_sources(const mmd_rig *rig, const int32_t *order, uint8_t *marked)
{
    for (size_t i = rig->bone_count; i-- > 0;) {
        const mmd_rig_bone *bone = &rig->bones[order[i]];
        if (bone->parent >= 0)
            marked[bone->parent] |= marked[order[i]];
        if (bone->source >= 0)
            marked[bone->source] |= marked[order[i]];
    }
}

/* A bone is as far off as what it follows: parents, append sources, and the IK bones of links. */
static void mark_chains(const mmd_rig *rig, const int32_t *order, uint8_t *marked)
{
    mark_sources(rig, order, marked);
    for (size_t s = 0; s < rig->solver_count; s++)
        for (size_t k = 0; k < rig->solvers[s].link_count; k++)
            marked[rig->solvers[s].goal] |= marked[rig->solvers[s].links[k].bone];
    mark_sources(rig, order, marked);
}

/* Merges the workers' largest squared distances into the first worker's array, and frees their
   posers, which are bound to the motion just compared. */
static const float *merge_max_squares(mmd_motion_fit *fit)
{
    float *all = NULL;
    for (size_t i = 0; i < MMD_MAX_THREADS; i++) {
        mmd_motion_fit_worker *worker = &fit->workers[i];
        mmd_poser_free(worker->poser);
        worker->poser = NULL;
        if (worker->max_squares && !all) {
            all = worker->max_squares;
        } else if (worker->max_squares) {
            for (size_t v = 0; v < fit->job.mesh->vertex_count; v++)
                all[v] = fmaxf(all[v], worker->max_squares[v]);
        }
    }
    return all;
}

static void clear_max_squares(mmd_motion_fit *fit)
{
    for (size_t i = 0; i < MMD_MAX_THREADS; i++)
        if (fit->workers[i].max_squares)
            memset(fit->workers[i].max_squares, 0, fit->job.mesh->vertex_count * sizeof(float));
}

static bool refine(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    mmd_motion_fit *fit = arg;
    (void)worker, (void)first, (void)count;
    const mmd_rig *rig = fit->job.rig;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    uint8_t *marked = mmd_arena_alloc(&temporary, rig->bone_count, sizeof *marked);
    const int32_t *order = mmd_rig_dependency_order(&temporary, rig);
    const float *squares = merge_max_squares(fit);
    fit->max_distance = 0;
    if (!marked || !order)
        return mmd_fail_memory(err);
    for (size_t v = 0; squares && v < fit->job.mesh->vertex_count; v++) {
        bool simulated = is_simulated(fit, v);
        if (simulated && !fit->job.key_physics) /* left to MMD's own simulation */
            continue;
        double distance = sqrt((double)squares[v]), allowed = fit->job.tolerance;
        if (simulated)
            allowed = fmax(allowed, fit->job.physics_tolerance);
        uint8_t mark = distance > (1 + FAR) * allowed ? OFF | FAR_OFF
                       : distance > allowed           ? OFF
                                                      : 0;
        mark_bones(rig->model, v, mark, marked);
        fit->max_distance = fmax(fit->max_distance, distance);
    }
    mark_chains(rig, order, marked);
    for (size_t i = 0; i < fit->track_count; i++) {
        mmd_motion_fit_track *track = &fit->tracks[i];
        if (track->bone >= 0 && marked[track->bone] && track->scale > MIN_SCALE) {
            track->scale *= marked[track->bone] & FAR_OFF ? 0.5 : 1 - 2 * FAR;
            track->fitted = false;
        }
    }
    clear_max_squares(fit);
    return true;
}

/* Parts */

mmd_thread_part mmd_motion_fit_next(mmd_motion_fit *fit)
{
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
        return (mmd_thread_part){build, fit, 1, 1, 1};
    case MMD_MOTION_FIT_COMPARE:
        fit->next = MMD_MOTION_FIT_REFINE;
        return (mmd_thread_part){compare, fit, job->frame_count, 2 * job->mesh->vertex_count,
                                 COMPARE_STEP};
    case MMD_MOTION_FIT_REFINE:
        fit->next = MMD_MOTION_FIT_DECIDE;
        return (mmd_thread_part){refine, fit, 1, 1, 1};
    default:
        return (mmd_thread_part){0};
    }
}

double mmd_motion_fit_share(const mmd_motion_fit *fit, double of_part)
{
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

mmd_motion *mmd_motion_fit_release_motion(mmd_motion_fit *fit)
{
    mmd_motion *motion = fit->motion;
    fit->motion = NULL;
    return motion;
}
