/* SPDX-License-Identifier: MIT */
/* Forward kinematics and appends: docs/mmd-behaviour.md#bone-poses and
   docs/mmd-behaviour.md#ik-order. */
#include "core/pose/pose.h"

#include "core/data/morph.h"
#include "core/pose/quaternion.h"

#include <float.h>

#define MMD_ROUNDED_PI 3.14 /* MMD's own, docs/mmd-behaviour.md#append-rounded-pi */

bool mmd_pose_begin(mmd_pose_state *state, const mmd_rig *rig, mmd_error *err)
{
    memset(state, 0, sizeof *state);
    state->rig = rig;
    size_t n = rig->bone_count;
    double(**vectors[])[3] = {&state->translations, &state->own_translation,
                              &state->append_translation, &state->world_position};
    double(**quaternions[])[4] = {&state->rotations, &state->own_rotation, &state->append_rotation,
                                  &state->world_rotation, &state->memory};
    bool complete = true;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        complete &= !!(*vectors[i] = mmd_arena_alloc(&state->arena, n, sizeof **vectors[i]));
    for (size_t i = 0; i < sizeof quaternions / sizeof *quaternions; i++)
        complete &=
            !!(*quaternions[i] = mmd_arena_alloc(&state->arena, n, sizeof **quaternions[i]));
    state->dropped = mmd_arena_alloc(&state->arena, n, sizeof *state->dropped);
    if (complete && state->dropped) {
        for (size_t i = 0; i < n; i++)
            mmd_quaternion_identity(state->rotations[i]);
        return true;
    }
    mmd_pose_end(state);
    return mmd_fail_memory(err);
}

void mmd_pose_end(mmd_pose_state *state)
{
    mmd_arena_free(&state->arena);
}

/* Own = what user or motion set, bone morphs outside of it (docs/mmd-behaviour.md#bone-morphs). */
static void reset(mmd_pose_state *state, const float *weights)
{
    const mmd_rig *rig = state->rig;
    size_t n = rig->bone_count;
    for (size_t i = 0; i < n; i++) {
        memcpy(state->own_translation[i], state->translations[i], sizeof *state->translations);
        memcpy(state->own_rotation[i], state->rotations[i], sizeof *state->rotations);
        memset(state->append_translation[i], 0, sizeof *state->append_translation);
        mmd_quaternion_identity(state->append_rotation[i]);
        mmd_quaternion_identity(state->memory[i]);
        state->dropped[i] = false;
    }
    for (size_t m = 0; weights && m < rig->morph_count; m++) {
        const mmd_morph *morph = &rig->morphs[m];
        if (morph->kind != MMD_MORPH_BONE || weights[m] == 0)
            continue;
        for (size_t k = 0; k < morph->offset_count; k++) {
            static const double identity[4] = {0, 0, 0, 1};
            const float *values = morph->values + 7 * k;
            int32_t bone = morph->indices[k];
            double turn[4] = {values[3], values[4], values[5], values[6]};
            mmd_quaternion_normalize(turn);
            mmd_quaternion_slerp(identity, turn, weights[m], turn);
            mmd_quaternion_multiply(turn, state->own_rotation[bone], state->own_rotation[bone]);
            for (int i = 0; i < 3; i++)
                state->own_translation[bone][i] += (double)weights[m] * values[i];
        }
    }
}

/* The rotation `a`, its angle times ratio, by MMD's own way with a rounded pi
   (docs/mmd-behaviour.md#append-rounded-pi). */
static void scale_rotation(const double a[4], double ratio, double out[4])
{
    double v[3] = {a[0], a[1], a[2]}, w = a[3];
    int largest = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(v[i]) > fabs(v[largest]))
            largest = i;
    /* |w| >= 1/2 is a trace of the matrix >= 0. */
    bool flip = 4 * w * w >= 1 ? w < 0 : v[largest] < 0;
    if (flip)
        w = -w;
    double half = acos(fmin(fmax(w, -1), 1)) - (w < 0 ? MMD_ROUNDED_PI : 0);
    double length = sqrt(mmd_dot3(v, v));
    if (half == 0 || length < 1.2e-7) {
        mmd_quaternion_identity(out);
        return;
    }
    double s = sin(half * ratio) / (flip ? -length : length);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] * s;
    out[3] = cos(half * ratio);
}

/* The nearest number that a float can hold: hostile files can ask for more. */
static double within_float(double value)
{
    if (fabs(value) <= (double)FLT_MAX)
        return value;
    return value > 0 ? (double)FLT_MAX : value < 0 ? -(double)FLT_MAX : 0;
}

void mmd_pose_append(mmd_pose_state *state, int32_t index)
{
    const mmd_rig_bone *bone = &state->rig->bones[index];
    if (bone->source < 0)
        return;
    const mmd_rig_bone *source = &state->rig->bones[bone->source];
    bool local = bone->append & MMD_APPEND_LOCAL;
    if ((bone->append & MMD_APPEND_ROTATION) && !state->dropped[index]) {
        double turn[4];
        if (local)
            memcpy(turn, state->world_rotation[bone->source], sizeof turn);
        else
            mmd_quaternion_multiply(state->own_rotation[bone->source],
                                    state->append_rotation[bone->source], turn);
        scale_rotation(turn, bone->ratio, state->append_rotation[index]);
    }
    if (bone->append & MMD_APPEND_TRANSLATION)
        for (int i = 0; i < 3; i++) {
            double amount = local ? state->world_position[bone->source][i] - source->position[i]
                                  : state->own_translation[bone->source][i] +
                                        state->append_translation[bone->source][i];
            /* Appends in a circle would grow without end. */
            state->append_translation[index][i] = within_float(bone->ratio * amount);
        }
}

void mmd_pose_place(mmd_pose_state *state, int32_t index)
{
    const mmd_rig_bone *bone = &state->rig->bones[index];
    double t[3], q[4];
    for (int i = 0; i < 3; i++)
        t[i] = bone->offset[i] + state->own_translation[index][i] +
               state->append_translation[index][i];
    mmd_quaternion_multiply(state->own_rotation[index], state->append_rotation[index], q);
    if (bone->parent < 0) {
        memcpy(state->world_position[index], t, sizeof t);
        memcpy(state->world_rotation[index], q, sizeof q);
        return;
    }
    const double *parent = state->world_rotation[bone->parent];
    mmd_quaternion_rotate(parent, t, t);
    for (int i = 0; i < 3; i++)
        state->world_position[index][i] = state->world_position[bone->parent][i] + t[i];
    mmd_quaternion_multiply(parent, q, state->world_rotation[index]);
}

/* The three sweeps of docs/mmd-behaviour.md#bone-sweeps. */
static void evaluate_layer(mmd_pose_state *state, const mmd_rig_layer *layer,
                           const uint8_t *solvers_on)
{
    const mmd_rig *rig = state->rig;
    for (size_t i = 0; i < layer->bone_count; i++) {
        int32_t bone = rig->order[layer->first_bone + i];
        mmd_pose_append(state, bone);
        mmd_pose_place(state, bone);
    }
    for (size_t i = 0; i < layer->solver_count; i++)
        if (solvers_on && solvers_on[layer->first_solver + i])
            mmd_ik_solve(state, &rig->solvers[layer->first_solver + i]);
    for (size_t i = 0; solvers_on && i < layer->deferred_count; i++) {
        int32_t bone = rig->deferred[layer->first_deferred + i];
        state->dropped[bone] = false;
        mmd_pose_append(state, bone);
        mmd_pose_place(state, bone);
    }
}

static void store_matrix(const mmd_pose_state *state, size_t bone, float *out)
{
    double m[3][3];
    double q[4];
    memcpy(q, state->world_rotation[bone], sizeof q);
    mmd_quaternion_normalize(q);
    mmd_quaternion_matrix(q, m);
    const double *rest = state->rig->bones[bone].position, *world = state->world_position[bone];
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++)
            out[4 * row + column] = (float)m[row][column];
        out[4 * row + 3] = (float)within_float(world[row] - mmd_dot3(m[row], rest));
    }
    out[12] = out[13] = out[14] = 0;
    out[15] = 1;
}

void mmd_pose_frame(mmd_pose_state *state, const float *weights, const uint8_t *solvers_on,
                    float *matrices)
{
    const mmd_rig *rig = state->rig;
    reset(state, weights);
    for (size_t i = 0; rig->reads_ahead && i < rig->bone_count; i++)
        mmd_pose_place(state, rig->order[i]);
    for (size_t i = 0; i < rig->layer_count; i++)
        evaluate_layer(state, &rig->layers[i], solvers_on);
    /* Settle (docs/mmd-behaviour.md#ik-settle): no append again, but everything on its parent's
       last place. */
    for (size_t i = 0; solvers_on && i < rig->settled_count; i++)
        mmd_pose_place(state, rig->settled[i]);
    for (size_t i = 0; i < rig->bone_count; i++)
        store_matrix(state, i, matrices + 16 * i);
}

bool mmd_pose_locals(const mmd_rig *rig, const mmd_pose_locals_job *job, mmd_error *err)
{
    mmd_pose_state state;
    if (!mmd_pose_begin(&state, rig, err))
        return false;
    float *weights = mmd_arena_alloc(&state.arena, rig->morph_count, sizeof *weights);
    uint8_t *solvers_on = mmd_arena_alloc(&state.arena, rig->solver_count, 1);
    bool ready = weights && solvers_on;
    if (ready && rig->solver_count)
        memset(solvers_on, 1, rig->solver_count);
    for (size_t f = 0; ready && f < job->frame_count; f++) {
        size_t n = rig->bone_count, at = job->translation_frames == 1 ? 0 : f * n;
        for (size_t i = 0; job->translations && i < n; i++)
            for (size_t k = 0; k < 3; k++)
                state.translations[i][k] = job->translations[3 * (at + i) + k];
        at = job->rotation_frames == 1 ? 0 : f * n;
        for (size_t i = 0; job->rotations && i < n; i++) {
            for (size_t k = 0; k < 4; k++)
                state.rotations[i][k] = job->rotations[4 * (at + i) + k];
            mmd_quaternion_normalize(state.rotations[i]);
        }
        if (job->sliders)
            mmd_morph_weights(rig->morphs, rig->morph_count,
                              job->sliders + (job->slider_frames == 1 ? 0 : f) * rig->morph_count,
                              weights);
        mmd_pose_frame(&state, job->sliders ? weights : NULL, job->ik ? solvers_on : NULL,
                       job->matrices + f * 16 * rig->bone_count);
    }
    mmd_pose_end(&state);
    return ready || mmd_fail_memory(err);
}
