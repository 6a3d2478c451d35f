/* SPDX-License-Identifier: MIT */
#include "core/physics/world_check.h"

#include "core/base/error.h"
#include "core/base/numbers.h"

#include <math.h>

static bool check_floats(const char *kind, size_t index, const char *name, const float *numbers,
                         size_t count, mmd_error *err)
{
    size_t bad = mmd_first_not_finite(numbers, count);
    return bad == count || mmd_fail(err, MMD_E_ARGUMENT, "%s %zu: %s is %s", kind, index, name,
                                    mmd_not_finite_name((double)numbers[bad]));
}

static bool check_below(const char *kind, size_t index, const char *name, int number, int count,
                        mmd_error *err)
{
    return (number >= 0 && number < count) ||
           mmd_fail(err, MMD_E_ARGUMENT, "%s %zu: %s %d of %d", kind, index, name, number, count);
}

static bool check_body(const mmd_rigid_body *body, size_t index, mmd_error *err)
{
    const struct {
        const char *name;
        const float *numbers;
        size_t count;
    } members[] = {{"size", body->size, 3},
                   {"position", body->position, 3},
                   {"rotation", body->rotation, 3},
                   {"mass", &body->mass, 1},
                   {"linear_damping", &body->linear_damping, 1},
                   {"angular_damping", &body->angular_damping, 1},
                   {"restitution", &body->restitution, 1},
                   {"friction", &body->friction, 1}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!check_floats("body", index, members[i].name, members[i].numbers, members[i].count,
                          err))
            return false;
    for (int i = 0; i < 3; i++)
        if (body->size[i] < 0)
            return mmd_fail(err, MMD_E_ARGUMENT, "body %zu: size %g is negative", index,
                            (double)body->size[i]);
    for (int i = 0; i < 3; i++)
        if (fabs((double)body->position[i]) > MMD_FARTHEST)
            return mmd_fail(err, MMD_E_ARGUMENT, "body %zu: position %g, expected at most 1e6",
                            index, (double)body->position[i]);
    if (body->mass < 0)
        return mmd_fail(err, MMD_E_ARGUMENT, "body %zu: mass %g is negative", index,
                        (double)body->mass);
    return check_below("body", index, "shape", body->shape, MMD_BODY_SHAPE_COUNT, err) &&
           check_below("body", index, "mode", body->mode, MMD_BODY_MODE_COUNT, err) &&
           check_below("body", index, "group", body->group, MMD_BODY_GROUPS, err);
}

static bool check_joint(const mmd_joint *joint, size_t index, size_t body_count, mmd_error *err)
{
    const struct {
        const char *name;
        const float *numbers;
    } members[] = {{"position", joint->position},
                   {"rotation", joint->rotation},
                   {"translation_lower", joint->translation_lower},
                   {"translation_upper", joint->translation_upper},
                   {"rotation_lower", joint->rotation_lower},
                   {"rotation_upper", joint->rotation_upper},
                   {"translation_spring", joint->translation_spring},
                   {"rotation_spring", joint->rotation_spring}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!check_floats("joint", index, members[i].name, members[i].numbers, 3, err))
            return false;
    const int32_t ends[] = {joint->body_a, joint->body_b};
    for (int i = 0; i < 2; i++)
        if (ends[i] < -1 || (ends[i] >= 0 && (size_t)ends[i] >= body_count))
            return mmd_fail(err, MMD_E_ARGUMENT, "joint %zu: body %d of %zu", index, (int)ends[i],
                            body_count);
    return check_below("joint", index, "kind", joint->kind, MMD_JOINT_KIND_COUNT, err);
}
static bool check_settings(const mmd_world_settings *settings, mmd_error *err)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(settings->gravity[i]) <= MMD_FARTHEST))
            return mmd_fail(err, MMD_E_ARGUMENT, "gravity: %g, expected at most 1e6",
                            settings->gravity[i]);
    if (!(fabs(settings->ground_height) <= MMD_FARTHEST))
        return mmd_fail(err, MMD_E_ARGUMENT, "ground: height %g, expected at most 1e6",
                        settings->ground_height);
    if (!(settings->hz >= 1 && settings->hz <= MMD_WORLD_HZ))
        return mmd_fail(err, MMD_E_ARGUMENT, "hz: %g, expected 1 to %d", settings->hz,
                        MMD_WORLD_HZ);
    if (settings->iterations < 1 || settings->iterations > MMD_WORLD_ITERATIONS)
        return mmd_fail(err, MMD_E_ARGUMENT, "iterations: %d, expected 1 to %d",
                        settings->iterations, MMD_WORLD_ITERATIONS);
    return true;
}

bool mmd_world_check(const mmd_world_desc *desc, mmd_error *err)
{
    for (size_t i = 0; i < desc->body_count; i++)
        if (!check_body(&desc->bodies[i], i, err))
            return false;
    for (size_t i = 0; i < desc->joint_count; i++)
        if (!check_joint(&desc->joints[i], i, desc->body_count, err))
            return false;
    return check_settings(&desc->settings, err);
}
