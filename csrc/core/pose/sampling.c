/* SPDX-License-Identifier: MIT */
#include "core/pose/sampling.h"

#include "core/data/morph.h"
#include "core/pose/quaternion.h"

#include <stdlib.h>

/* MMD's own search: twelve halvings (docs/mmd-behaviour.md#bezier). */
double mmd_bezier(const uint8_t row[4], double x)
{
    if (x <= 0 || x >= 1 || (row[0] == row[1] && row[2] == row[3]))
        return fmin(fmax(x, 0), 1);
    double x1 = row[0] / 127.0, y1 = row[1] / 127.0, x2 = row[2] / 127.0, y2 = row[3] / 127.0;
    double t = 0.5, half = 0.5;
    for (int i = 0; i < 12; i++) {
        double s = 1 - t, miss = 3 * s * s * t * x1 + 3 * s * t * t * x2 + t * t * t - x;
        if (miss == 0)
            break;
        half /= 2;
        t += miss < 0 ? half : -half;
    }
    double s = 1 - t;
    return 3 * s * s * t * y1 + 3 * s * t * t * y2 + t * t * t;
}

typedef struct name_entry {
    mmd_text name;
    int32_t index;
} name_entry;

static int compare_text(const mmd_text *a, const mmd_text *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->data, b->data, size) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_entries(const void *a, const void *b)
{
    const name_entry *x = a, *y = b;
    int order = compare_text(&x->name, &y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* First of the sorted entries with this name, or `count`. */
static size_t find_name(const name_entry *entries, size_t count, const mmd_text *name)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_text(&entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && compare_text(&entries[low].name, name) == 0 ? low : count;
}

/* The whole angle, about the axis: docs/mmd-behaviour.md#fixed-axis. */
static void project_rotation(const float in[4], const double axis[3], float out[4])
{
    double v[3] = {in[0], in[1], in[2]};
    double length = sqrt(mmd_dot3(v, v)) * (mmd_dot3(v, axis) < 0 ? -1 : 1);
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
    if (!rig_bone->has_axis)
        return true;
    float *turned = mmd_arena_alloc(&binding->arena, track->key_count, 4 * sizeof *turned);
    if (!turned)
        return false;
    for (size_t k = 0; k < track->key_count; k++)
        project_rotation(track->rotations + 4 * k, rig_bone->axis, turned + 4 * k);
    binding->bone_rotations[bone] = turned;
    return true;
}

static bool bind(mmd_binding *binding, const mmd_model *model, mmd_arena *temporary)
{
    const mmd_motion *motion = binding->motion;
    size_t most = model->bone_count > model->morph_count ? model->bone_count : model->morph_count;
    name_entry *names = mmd_arena_alloc(temporary, most, sizeof *names);
    if (!names)
        return false;
    for (size_t i = 0; i < model->bone_count; i++)
        names[i] = (name_entry){model->bones[i].name, (int32_t)i};
    qsort(names, model->bone_count, sizeof *names, compare_entries);
    for (size_t i = 0; i < motion->bone_track_count; i++) {
        size_t at = find_name(names, model->bone_count, &motion->bone_tracks[i].name);
        if (at < model->bone_count && !bind_bone(binding, names[at].index, (int32_t)i))
            return false;
    }
    for (size_t i = 0; i < model->morph_count; i++)
        names[i] = (name_entry){model->morphs[i].name, (int32_t)i};
    qsort(names, model->morph_count, sizeof *names, compare_entries);
    for (size_t i = 0; i < motion->morph_track_count; i++) {
        const mmd_text *name = &motion->morph_tracks[i].name;
        for (size_t at = find_name(names, model->morph_count, name);
             at < model->morph_count && compare_text(&names[at].name, name) == 0; at++) {
            binding->morph_track[names[at].index] = (int32_t)i;
            binding->morph_track_bound[i] = true;
        }
    }
    for (size_t s = 0; s < binding->rig->solver_count; s++)
        for (size_t k = 0; k < motion->properties.ik_count; k++)
            if (compare_text(&model->bones[binding->rig->solvers[s].goal].name,
                             &motion->properties.ik_names[k]) == 0) {
                binding->solver_property[s] = (int32_t)k;
                binding->property_bound[k] = true;
            }
    return true;
}

static int32_t *unbound(mmd_arena *arena, size_t count)
{
    int32_t *list = mmd_arena_alloc(arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = -1;
    return list;
}

bool mmd_binding_init(mmd_binding *binding, const mmd_model *model, const mmd_rig *rig,
                      const mmd_motion *motion, mmd_error *err)
{
    mmd_arena *arena = &binding->arena, temporary = {0};
    size_t bones = model->bone_count, morphs = model->morph_count;
    *binding = (mmd_binding){.motion = motion, .rig = rig};
    binding->bone_track = unbound(arena, bones);
    binding->bone_rotations = mmd_arena_alloc(arena, bones, sizeof *binding->bone_rotations);
    binding->morph_track = unbound(arena, morphs);
    binding->solver_property = unbound(arena, rig->solver_count);
    binding->bone_track_bound = mmd_arena_alloc(arena, motion->bone_track_count, sizeof(bool));
    binding->morph_track_bound = mmd_arena_alloc(arena, motion->morph_track_count, sizeof(bool));
    binding->property_bound = mmd_arena_alloc(arena, motion->properties.ik_count, sizeof(bool));
    binding->cursor = mmd_arena_alloc(arena, bones + morphs + 1, sizeof *binding->cursor);
    bool bound = binding->bone_track && binding->bone_rotations && binding->morph_track &&
                 binding->solver_property && binding->bone_track_bound &&
                 binding->morph_track_bound && binding->property_bound && binding->cursor &&
                 bind(binding, model, &temporary);
    mmd_arena_free(&temporary);
    if (bound)
        return true;
    mmd_binding_free(binding);
    return mmd_fail_memory(err);
}

void mmd_binding_free(mmd_binding *binding)
{
    mmd_arena_free(&binding->arena);
}

/* Last key at or before the frame (0 when there is none before), starting where the last search
 * ended. */
static size_t find_key(const uint32_t *frames, size_t count, double frame, size_t *cursor)
{
    size_t low = 0, high = count, at = *cursor;
    if (at < count && frames[at] <= frame) {
        low = at;
        for (int i = 0; i < 2; i++, low++)
            if (low + 1 >= count || frames[low + 1] > frame)
                return *cursor = low;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (frames[middle] <= frame)
            low = middle;
        else
            high = middle;
    }
    return *cursor = low;
}

/* Place between key `at` and the next one: 0 before the first key and from the last one on. */
static double between(const uint32_t *frames, size_t count, size_t at, double frame)
{
    if (at + 1 >= count || frame <= frames[at])
        return 0;
    return (frame - frames[at]) / ((double)frames[at + 1] - frames[at]);
}

static void sample_bone(const mmd_bone_track *track, const float *rotations, double frame,
                        size_t *cursor, double translation[3], double rotation[4])
{
    size_t at = find_key(track->frames, track->key_count, frame, cursor);
    double x = between(track->frames, track->key_count, at, frame), from[4], to[4];
    const float *a = track->translations + 3 * at;
    for (int i = 0; i < 4; i++)
        from[i] = rotations[4 * at + (size_t)i];
    mmd_quaternion_normalize(from);
    for (int i = 0; i < 3; i++)
        translation[i] = a[i];
    memcpy(rotation, from, sizeof from);
    if (x == 0)
        return;
    /* The later key's curves shape the segment (docs/mmd-behaviour.md#key-interpolation); most axes
       stand still. */
    const uint8_t *curves = track->interpolation + 16 * (at + 1);
    for (int i = 0; i < 3; i++)
        if (a[3 + i] != a[i])
            translation[i] += ((double)a[3 + i] - a[i]) * mmd_bezier(curves + 4 * i, x);
    const float *b = rotations + 4 * (at + 1);
    if (memcmp(b - 4, b, 4 * sizeof *b) == 0)
        return;
    for (int i = 0; i < 4; i++)
        to[i] = b[i];
    mmd_quaternion_normalize(to);
    mmd_quaternion_slerp(from, to, mmd_bezier(curves + 12, x), rotation);
}

static float sample_morph(const mmd_morph_track *track, double frame, size_t *cursor)
{
    size_t at = find_key(track->frames, track->key_count, frame, cursor);
    double x = between(track->frames, track->key_count, at, frame), a = track->weights[at];
    return (float)(x == 0 ? a : a + (track->weights[at + 1] - a) * x);
}

void mmd_sample(mmd_binding *binding, double frame, mmd_pose_state *state, float *sliders,
                uint8_t *solvers_on)
{
    const mmd_motion *motion = binding->motion;
    const mmd_rig *rig = binding->rig;
    size_t *cursor = binding->cursor;
    for (size_t i = 0; i < rig->bone_count; i++, cursor++) {
        int32_t track = binding->bone_track[i];
        if (track >= 0)
            sample_bone(&motion->bone_tracks[track], binding->bone_rotations[i], frame, cursor,
                        state->translations[i], state->rotations[i]);
    }
    for (size_t i = 0; i < rig->morph_count; i++, cursor++) {
        int32_t track = binding->morph_track[i];
        sliders[i] = track < 0 ? 0 : sample_morph(&motion->morph_tracks[track], frame, cursor);
    }
    const mmd_property_track *properties = &motion->properties;
    size_t at = 0;
    if (properties->key_count)
        at = find_key(properties->frames, properties->key_count, frame, cursor);
    for (size_t s = 0; s < rig->solver_count; s++) {
        int32_t column = binding->solver_property[s];
        solvers_on[s] = column < 0 || !properties->key_count ||
                        properties->ik_enabled[at * properties->ik_count + (size_t)column];
    }
}

bool mmd_pose_motion(const mmd_model *model, const mmd_rig *rig, const mmd_motion *motion,
                     const double *frames, size_t count, bool ik, float *matrices, float *sliders,
                     mmd_error *err)
{
    mmd_pose_state state;
    mmd_binding binding;
    if (!mmd_pose_begin(&state, rig, err))
        return false;
    if (!mmd_binding_init(&binding, model, rig, motion, err)) {
        mmd_pose_end(&state);
        return false;
    }
    float *weights = mmd_arena_alloc(&state.arena, rig->morph_count, sizeof *weights);
    uint8_t *solvers_on = mmd_arena_alloc(&state.arena, rig->solver_count, 1);
    for (size_t f = 0; weights && solvers_on && f < count; f++) {
        float *of_frame = sliders + f * rig->morph_count;
        mmd_sample(&binding, frames[f], &state, of_frame, solvers_on);
        mmd_morph_weights(rig->morphs, rig->morph_count, of_frame, weights);
        mmd_pose_frame(&state, weights, ik ? solvers_on : NULL,
                       matrices + f * 16 * rig->bone_count);
    }
    bool done = weights && solvers_on;
    mmd_binding_free(&binding);
    mmd_pose_end(&state);
    return done || mmd_fail_memory(err);
}
