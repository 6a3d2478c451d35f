/* SPDX-License-Identifier: MIT */
#include "core/physics/given.h"

#include "core/base/numbers.h"
#include "core/pose/quaternion.h"

static bool locals_init(mmd_arena *arena, const mmd_given *given, mmd_locals_given *locals)
{
    size_t bones = given->bone_count;
    locals->translations = mmd_arena_alloc(arena, 3 * bones, sizeof(float));
    locals->rotations = mmd_arena_alloc(arena, 4 * bones, sizeof(float));
    locals->sliders = mmd_arena_alloc(arena, given->morph_count, sizeof(float));
    locals->ik = mmd_arena_alloc(arena, bones, sizeof *locals->ik);
    locals->physics = mmd_arena_alloc(arena, bones, sizeof *locals->physics);
    if (!locals->translations || !locals->rotations || !locals->sliders || !locals->ik ||
        !locals->physics)
        return false;
    memset(locals->ik, 1, bones);
    memset(locals->physics, 1, bones);
    for (size_t i = 0; i < bones; i++)
        locals->rotations[4 * i + 3] = 1;
    return true;
}

bool mmd_given_init(mmd_arena *arena, size_t bone_count, size_t morph_count, mmd_given *given)
{
    *given = (mmd_given){.bone_count = bone_count, .morph_count = morph_count};
    return locals_init(arena, given, &given->from) && locals_init(arena, given, &given->to) &&
           locals_init(arena, given, &given->now);
}

static void copy_numbers(const float *from, size_t count, float *to)
{
    if (count)
        memcpy(to, from, count * sizeof *to);
}

static void copy_locals(const mmd_given *given, const mmd_locals_given *from, mmd_locals_given *to)
{
    copy_numbers(from->translations, 3 * given->bone_count, to->translations);
    copy_numbers(from->rotations, 4 * given->bone_count, to->rotations);
    copy_numbers(from->sliders, given->morph_count, to->sliders);
    memcpy(to->ik, from->ik, given->bone_count);
    memcpy(to->physics, from->physics, given->bone_count);
}

static void take_numbers(const float *given, size_t count, float *to)
{
    if (given)
        copy_numbers(given, count, to);
    else if (count)
        memset(to, 0, count * sizeof *to);
}

void mmd_given_aim(mmd_given *given, const mmd_pose_job *job, const uint8_t *physics)
{
    copy_locals(given, &given->now, &given->from);
    take_numbers(job->translations, 3 * given->bone_count, given->to.translations);
    take_numbers(job->given_sliders, given->morph_count, given->to.sliders);
    for (size_t i = 0; i < given->bone_count; i++) {
        given->to.ik[i] = job->ik && (!job->ik_bones || job->ik_bones[i]);
        given->to.physics[i] = !physics || physics[i];
    }
    for (size_t i = 0; i < given->bone_count; i++) {
        double q[4] = {0, 0, 0, 1};
        for (size_t k = 0; job->rotations && k < 4; k++)
            q[k] = (double)job->rotations[4 * i + k];
        mmd_quaternion_normalize(q);
        for (size_t k = 0; k < 4; k++)
            given->to.rotations[4 * i + k] = (float)q[k];
    }
}

size_t mmd_given_count(const mmd_given *given)
{
    return 9 * given->bone_count + given->morph_count;
}

void mmd_given_save(const mmd_given *given, float *numbers)
{
    copy_numbers(given->now.translations, 3 * given->bone_count, numbers);
    copy_numbers(given->now.rotations, 4 * given->bone_count, numbers + 3 * given->bone_count);
    copy_numbers(given->now.sliders, given->morph_count, numbers + 7 * given->bone_count);
    float *switches = numbers + 7 * given->bone_count + given->morph_count;
    for (size_t i = 0; i < given->bone_count; i++) {
        switches[2 * i] = given->now.ik[i];
        switches[2 * i + 1] = given->now.physics[i];
    }
}

bool mmd_given_load(mmd_given *given, const float *numbers)
{
    const float *turns = numbers + 3 * given->bone_count;
    if (mmd_first_not_finite(numbers, mmd_given_count(given)) < mmd_given_count(given))
        return false;
    for (size_t i = 0; i < 4 * given->bone_count; i += 4)
        if (turns[i] == 0 && turns[i + 1] == 0 && turns[i + 2] == 0 && turns[i + 3] == 0)
            return false;
    copy_numbers(numbers, 3 * given->bone_count, given->now.translations);
    copy_numbers(turns, 4 * given->bone_count, given->now.rotations);
    copy_numbers(numbers + 7 * given->bone_count, given->morph_count, given->now.sliders);
    const float *switches = numbers + 7 * given->bone_count + given->morph_count;
    for (size_t i = 0; i < given->bone_count; i++) {
        given->now.ik[i] = switches[2 * i] != 0;
        given->now.physics[i] = switches[2 * i + 1] != 0;
    }
    return true;
}

static void mix_numbers(const float *from, const float *to, size_t count, double share, float *now)
{
    for (size_t i = 0; i < count; i++)
        now[i] = (float)((double)from[i] + share * ((double)to[i] - (double)from[i]));
}

void mmd_given_go(mmd_given *given, double share)
{
    const mmd_locals_given *from = &given->from, *to = &given->to;
    mmd_locals_given *now = &given->now;
    if (share >= 1) {
        copy_locals(given, to, now);
        return;
    }
    mix_numbers(from->translations, to->translations, 3 * given->bone_count, share,
                now->translations);
    mix_numbers(from->sliders, to->sliders, given->morph_count, share, now->sliders);
    for (size_t i = 0; i < 4 * given->bone_count; i += 4) {
        double a[4], b[4];
        for (size_t k = 0; k < 4; k++) {
            a[k] = (double)from->rotations[i + k];
            b[k] = (double)to->rotations[i + k];
        }
        mmd_quaternion_slerp(a, b, share, a);
        for (size_t k = 0; k < 4; k++)
            now->rotations[i + k] = (float)a[k];
    }
}
