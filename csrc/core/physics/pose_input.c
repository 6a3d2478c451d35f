/* SPDX-License-Identifier: MIT */
/* Interpolation between the poses that a caller steps a simulation with, so that the kinematic
   bodies move smoothly in the steps between them. */
#include "core/physics/simulation_parts.h"

#include "core/base/error.h"
#include "core/math/quat.h"

/* Sets the arrays of one pose to its memory. */
static void values_init(const mmd_pose_input *input, char *memory, mmd_pose_input_values *values)
{
    size_t bones = input->bone_count;
    values->translations = (float *)(void *)memory;
    values->rotations = values->translations + 3 * bones;
    values->morph_weights = values->rotations + 4 * bones;
    values->ik = (uint8_t *)(values->morph_weights + input->morph_count);
    values->physics = values->ik + bones;
    memset(values->ik, 1, 2 * bones);
    for (size_t i = 0; i < bones; i++)
        values->rotations[4 * i + 3] = 1;
}

size_t mmd_pose_input_init(void *memory, size_t bone_count, size_t morph_count,
                           mmd_pose_input *input)
{
    size_t size = (7 * bone_count + morph_count) * sizeof(float) + 2 * bone_count;
    size = (size + 7) / 8 * 8;
    *input =
        (mmd_pose_input){.bone_count = bone_count, .morph_count = morph_count, .values_size = size};
    if (memory) {
        values_init(input, memory, &input->start);
        values_init(input, (char *)memory + size, &input->target);
        values_init(input, (char *)memory + 2 * size, &input->current);
    }
    return 3 * size;
}

static void copy_values(const mmd_pose_input *input, const mmd_pose_input_values *from,
                        mmd_pose_input_values *to)
{
    memcpy(to->translations, from->translations, input->values_size);
}

static void copy_or_zero(const float *from, size_t count, float *to)
{
    if (from && count)
        memcpy(to, from, count * sizeof *to);
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
        double q[4] = {0, 0, 0, 1};
        target->ik[i] = job->ik && (!job->ik_bones || job->ik_bones[i]);
        target->physics[i] = !physics || physics[i];
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

static bool is_valid(const mmd_pose_input *input, const mmd_pose_input_values *values)
{
    size_t numbers = 7 * input->bone_count + input->morph_count;
    if (mmd_numbers_first_not_finite(values->translations, numbers) < numbers)
        return false;
    for (size_t i = 0; i < input->bone_count; i++) {
        const float *q = values->rotations + 4 * i;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return false;
    }
    return true;
}

bool mmd_pose_input_is_valid(const mmd_pose_input *input)
{
    return is_valid(input, &input->start) && is_valid(input, &input->target) &&
           is_valid(input, &input->current);
}
