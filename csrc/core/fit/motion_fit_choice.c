/* SPDX-License-Identifier: MIT */
/* Which bones and morphs get tracks in a fitted motion, and how far each bone may be off. */
#include "core/fit/fit.h"

#include "core/base/string_table.h"
#include "core/base/text.h"

#include <math.h>

static const float MIN_TRANSLATION = 1e-4f; /* of a bone that is only turned: rounding */
static const float REST = 1e-9f; /* of a bone at rest: noise of the program that posed it */

static bool exceeds(const float values[3], float limit)
{
    return fabsf(values[0]) > limit || fabsf(values[1]) > limit || fabsf(values[2]) > limit;
}

/* Whether a bone is ever away from rest, and whether it changes. */
static void classify_bone(const mmd_motion_fit_job *job, size_t bone, bool *posed, bool *moving)
{
    const float *t0 = mmd_motion_fit_translation(job, 0, bone);
    const float *q0 = mmd_motion_fit_rotation(job, 0, bone);
    *posed = *moving = false;
    for (size_t f = 0; f < job->frame_count; f++) {
        const float *t = mmd_motion_fit_translation(job, f, bone);
        const float *q = mmd_motion_fit_rotation(job, f, bone);
        *posed = *posed || exceeds(t, REST) || exceeds(q, REST);
        *moving = *moving || memcmp(t, t0, 3 * sizeof *t) || memcmp(q, q0, 4 * sizeof *q);
    }
}

/* Bones that rigid bodies move, themselves or by what they follow. `moved` are those that are not
   only turned: of the mode MMD_PHYSICS, or children of simulated bones (docs/physics.md). */
static void find_simulated(mmd_motion_fit *fit, bool *moved)
{
    const mmd_rig *rig = fit->job.rig;
    for (size_t i = 0; i < rig->model->rigid_body_count; i++) {
        const mmd_rigid_body *body = &rig->model->rigid_bodies[i];
        if (body->bone < 0 || body->mode == MMD_FOLLOWS_BONE)
            continue;
        fit->simulated[body->bone] = true;
        moved[body->bone] = moved[body->bone] || body->mode == MMD_PHYSICS;
    }
    for (size_t i = 0; i < rig->bone_count; i++) {
        int32_t bone = fit->order[i];
        int32_t parent = rig->bones[bone].parent, source = rig->bones[bone].source;
        moved[bone] = moved[bone] || (parent >= 0 && fit->simulated[parent]);
        fit->follows_simulated[bone] = fit->simulated[bone] ||
                                       (parent >= 0 && fit->follows_simulated[parent]) ||
                                       (source >= 0 && fit->follows_simulated[source]);
    }
}

/* Whether a bone is ever translated by more than rounding. */
static bool is_translated(const mmd_motion_fit_job *job, size_t bone)
{
    size_t f = 0;
    while (f < job->frame_count &&
           !exceeds(mmd_motion_fit_translation(job, f, bone), MIN_TRANSLATION))
        f++;
    return f < job->frame_count;
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

/* Why a bone that has a pose gets no track, or a part of one. */
static mmd_motion_fit_skip find_skip(const mmd_motion_fit *fit, size_t bone, bool first, bool moved)
{
    if (!first)
        return MMD_MOTION_FIT_SKIP_DUPLICATE;
    if (!fit->job.key_physics && fit->simulated[bone])
        return !moved && is_translated(&fit->job, bone) ? MMD_MOTION_FIT_SKIP_ROTATION
                                                        : MMD_MOTION_FIT_SKIP_PHYSICS;
    return fit->tolerance.reach[bone] < 0 ? MMD_MOTION_FIT_SKIP_NO_MESH : MMD_MOTION_FIT_KEPT;
}

static const mmd_bone_track *find_earlier(const mmd_motion_fit_job *job, mmd_text name)
{
    const mmd_motion *earlier = job->earlier;
    for (size_t i = 0; earlier && i < earlier->bone_track_count; i++)
        if (mmd_text_equal(earlier->bone_tracks[i].name, name))
            return &earlier->bone_tracks[i];
    return NULL;
}

static bool add_bones(mmd_motion_fit *fit, mmd_arena *temporary, const bool *posed,
                      const bool *moved)
{
    const mmd_model *model = fit->job.rig->model;
    mmd_string_table names = {0};
    bool first;
    for (size_t i = 0; i < model->bone_count; i++) {
        if (!is_first(temporary, &names, model->bones[i].name, &first))
            return false;
        if (!posed[i])
            continue;
        fit->skipped[i] = find_skip(fit, i, first, moved[i]);
        if (fit->skipped[i] == MMD_MOTION_FIT_KEPT ||
            fit->skipped[i] == MMD_MOTION_FIT_SKIP_ROTATION)
            fit->tracks[fit->track_count++] =
                (mmd_motion_fit_track){.bone = (int32_t)i,
                                       .morph = -1,
                                       .scale = 1,
                                       .earlier = find_earlier(&fit->job, model->bones[i].name)};
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

bool mmd_motion_fit_choose(mmd_motion_fit *fit)
{
    const mmd_rig *rig = fit->job.rig;
    MMD_ARENA_LOCAL mmd_arena temporary = {0};
    size_t n = rig->bone_count;
    bool *posed, *moving, *moved;
    fit->order = mmd_rig_dependency_order(&fit->base.arena, rig);
    if (!fit->order || !MMD_ARENA_ARRAY(&temporary, posed, n) ||
        !MMD_ARENA_ARRAY(&temporary, moving, n) || !MMD_ARENA_ARRAY(&temporary, moved, n) ||
        !MMD_ARENA_ARRAY(&fit->base.arena, fit->skipped, n) ||
        !MMD_ARENA_ARRAY(&fit->base.arena, fit->simulated, n) ||
        !MMD_ARENA_ARRAY(&fit->base.arena, fit->follows_simulated, n) ||
        !MMD_ARENA_ARRAY(&fit->base.arena, fit->tracks, n + rig->morph_count))
        return false;
    find_simulated(fit, moved);
    for (size_t i = 0; i < n; i++)
        classify_bone(&fit->job, i, &posed[i], &moving[i]);
    return mmd_mesh_tolerance_init(&fit->base.arena, rig, fit->order, moving, &fit->tolerance) &&
           add_bones(fit, &temporary, posed, moved) && add_morphs(fit, &temporary);
}
