/* SPDX-License-Identifier: MIT */
/* Compares the mesh of a fitted motion with the mesh to be kept, and selects the tracks to fit
   again. */
#include "core/fit/fit.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

static const double MIN_SCALE = 1.0 / 64; /* of a tolerance, after corrections */

/* Once for each comparison. */
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
    if (worker->poser)
        return true;
    memset(worker->max_squares, 0, vertices * sizeof *worker->max_squares);
    worker->poser = mmd_poser_new(rig, fit->base.motion, err);
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

bool mmd_motion_fit_compare(void *arg, size_t index, size_t first, size_t count, mmd_error *err)
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

/* Merges the largest squared distances of the workers that have compared into the array of the
   first one, and frees their posers, which are bound to the motion just compared. */
static const float *merge_max_squares(mmd_motion_fit *fit)
{
    float *all = NULL;
    for (mmd_motion_fit_worker *w = fit->workers; w < fit->workers + MMD_MAX_THREADS; w++) {
        if (!w->poser)
            continue;
        all = all ? all : w->max_squares;
        for (size_t v = 0; v < fit->job.mesh->vertex_count; v++)
            all[v] = fmaxf(all[v], w->max_squares[v]);
        mmd_poser_free(w->poser);
        w->poser = NULL;
    }
    return all;
}

bool mmd_motion_fit_refine(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    mmd_motion_fit *fit = arg;
    (void)worker, (void)first, (void)count;
    const mmd_rig *rig = fit->job.rig;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    uint8_t *marked = mmd_arena_alloc(&temporary, rig->bone_count, sizeof *marked);
    const float *squares = merge_max_squares(fit);
    fit->max_distance = 0;
    if (!marked)
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
    mark_chains(rig, fit->order, marked);
    for (size_t i = 0; i < fit->track_count; i++) {
        mmd_motion_fit_track *track = &fit->tracks[i];
        if (track->bone >= 0 && marked[track->bone] && track->scale > MIN_SCALE) {
            track->scale *= marked[track->bone] & FAR_OFF ? 0.5 : 1 - 2 * FAR;
            track->fitted = false;
        }
    }
    return true;
}
