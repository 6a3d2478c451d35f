/* SPDX-License-Identifier: MIT */
/* Interpolation between the poses that a caller steps a simulation with, so that the kinematic
   bodies move smoothly in the steps between them. */
#include "core/physics/pose_input.h"

#include "core/base/numbers.h"
#include "core/math/quat.h"

static bool values_init(mmd_arena *arena, const mmd_pose_input *input,
                        mmd_pose_input_values *values)
{
    size_t bones = input->bone_count;
    values->translations = mmd_arena_alloc(arena, 3 * bones, sizeof(float));
    values->rotations = mmd_arena_alloc(arena, 4 * bones, sizeof(float));
    values->morph_weights = mmd_arena_alloc(arena, input->morph_count, sizeof(float));
    values->ik = mmd_arena_alloc(arena, bones, sizeof *values->ik);
    values->physics = mmd_arena_alloc(arena, bones, sizeof *values->physics);
    if (!values->translations || !values->rotations || !values->morph_weights || !values->ik ||
        !values->physics)
        return false;
    memset(values->ik, 1, bones);
    memset(values->physics, 1, bones);
    for (size_t i = 0; i < bones; i++)
        values->rotations[4 * i + 3] = 1;
    return true;
}

bool mmd_pose_input_init(mmd_arena *arena, size_t bone_count, size_t morph_count,
                         mmd_pose_input *input)
{
    *input = (mmd_pose_input){.bone_count = bone_count, .morph_count = morph_count};
    return values_init(arena, input, &input->start) && values_init(arena, input, &input->target) &&
           values_init(arena, input, &input->current);
}

static void copy_floats(const float *from, size_t count, float *to)
{
    if (count)
        memcpy(to, from, count * sizeof *to);
}

static void copy_values(const mmd_pose_input *input, const mmd_pose_input_values *from,
                        mmd_pose_input_values *to)
{
    copy_floats(from->translations, 3 * input->bone_count, to->translations);
    copy_floats(from->rotations, 4 * input->bone_count, to->rotations);
    copy_floats(from->morph_weights, input->morph_count, to->morph_weights);
    memcpy(to->ik, from->ik, input->bone_count);
    memcpy(to->physics, from->physics, input->bone_count);
}

static void copy_or_zero(const float *from, size_t count, float *to)
{
    if (from)
        copy_floats(from, count, to);
    else if (count)
        memset(to, 0, count * sizeof *to);
}

void mmd_pose_input_set_target(mmd_pose_input *input, const mmd_pose_job *job,
                               const uint8_t *physics)
{
    mmd_pose_input_values *target = &input->target;
    copy_values(input, &input->current, &input->start);
    copy_or_zero(job->translations, 3 * input->bone_count, target->translations);
    copy_or_zero(job->morph_weights, input->morph_count, target->morph_weights);
    for (size_t i = 0; i < input->bone_count; i++) {
        target->ik[i] = job->ik && (!job->ik_bones || job->ik_bones[i]);
        target->physics[i] = !physics || physics[i];
    }
    for (size_t i = 0; i < input->bone_count; i++) {
        double q[4] = {0, 0, 0, 1};
        for (size_t k = 0; job->rotations && k < 4; k++)
            q[k] = (double)job->rotations[4 * i + k];
        mmd_quat_normalize(q);
        for (size_t k = 0; k < 4; k++)
            target->rotations[4 * i + k] = (float)q[k];
    }
}

static void lerp(const float *start, const float *target, size_t count, double fraction,
                 float *current)
{
    for (size_t i = 0; i < count; i++)
        current[i] = (float)((double)start[i] + fraction * ((double)target[i] - (double)start[i]));
}

void mmd_pose_input_interpolate(mmd_pose_input *input, double fraction)
{
    const mmd_pose_input_values *start = &input->start, *target = &input->target;
    mmd_pose_input_values *current = &input->current;
    if (fraction >= 1) {
        copy_values(input, target, current);
        return;
    }
    lerp(start->translations, target->translations, 3 * input->bone_count, fraction,
         current->translations);
    lerp(start->morph_weights, target->morph_weights, input->morph_count, fraction,
         current->morph_weights);
    for (size_t i = 0; i < 4 * input->bone_count; i += 4) {
        double a[4], b[4];
        for (size_t k = 0; k < 4; k++) {
            a[k] = (double)start->rotations[i + k];
            b[k] = (double)target->rotations[i + k];
        }
        mmd_quat_slerp(a, b, fraction, a);
        for (size_t k = 0; k < 4; k++)
            current->rotations[i + k] = (float)a[k];
    }
}

size_t mmd_pose_input_size(const mmd_pose_input *input)
{
    return 9 * input->bone_count + input->morph_count;
}

void mmd_pose_input_save(const mmd_pose_input *input, float *values)
{
    const mmd_pose_input_values *current = &input->current;
    copy_floats(current->translations, 3 * input->bone_count, values);
    copy_floats(current->rotations, 4 * input->bone_count, values + 3 * input->bone_count);
    copy_floats(current->morph_weights, input->morph_count, values + 7 * input->bone_count);
    float *switches = values + 7 * input->bone_count + input->morph_count;
    for (size_t i = 0; i < input->bone_count; i++) {
        switches[2 * i] = current->ik[i];
        switches[2 * i + 1] = current->physics[i];
    }
}

bool mmd_pose_input_can_load(const mmd_pose_input *input, const float *values)
{
    const float *rotations = values + 3 * input->bone_count;
    if (mmd_numbers_first_not_finite(values, mmd_pose_input_size(input)) <
        mmd_pose_input_size(input))
        return false;
    for (size_t i = 0; i < 4 * input->bone_count; i += 4)
        if (rotations[i] == 0 && rotations[i + 1] == 0 && rotations[i + 2] == 0 &&
            rotations[i + 3] == 0)
            return false;
    return true;
}

void mmd_pose_input_load(mmd_pose_input *input, const float *values)
{
    mmd_pose_input_values *current = &input->current;
    copy_floats(values, 3 * input->bone_count, current->translations);
    copy_floats(values + 3 * input->bone_count, 4 * input->bone_count, current->rotations);
    copy_floats(values + 7 * input->bone_count, input->morph_count, current->morph_weights);
    const float *switches = values + 7 * input->bone_count + input->morph_count;
    for (size_t i = 0; i < input->bone_count; i++) {
        current->ik[i] = switches[2 * i] != 0;
        current->physics[i] = switches[2 * i + 1] != 0;
    }
}
