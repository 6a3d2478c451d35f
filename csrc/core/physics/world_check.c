/* SPDX-License-Identifier: MIT */
/* Validates what a world is made from, so that the solver need not: finite numbers, sizes and
   masses that are not negative, indices and enums in range. */
#include "core/physics/world.h"

#include "core/base/error.h"

#include <math.h>

static bool check_floats(const char *kind, size_t index, const char *name, const float *numbers,
                         size_t count, mmd_error *err)
{
    size_t bad = mmd_numbers_first_not_finite(numbers, count);
    return bad == count || mmd_refuse(err, "%s %zu: %s is %s", kind, index, name,
                                      mmd_numbers_fault((double)numbers[bad]));
}

static bool check_index(const char *kind, size_t index, const char *name, int value, int count,
                        mmd_error *err)
{
    return (value >= 0 && value < count) ||
           mmd_refuse(err, "%s %zu: %s %d of %d", kind, index, name, value, count);
}

static bool check_body(const mmd_rigid_body *body, size_t index, mmd_error *err)
{
    const struct {
        const char *name;
        const float *numbers;
        size_t count;
    } fields[] = {{"size", body->size, 3},
                  {"position", body->position, 3},
                  {"rotation", body->rotation, 3},
                  {"mass", &body->mass, 1},
                  {"linear_damping", &body->linear_damping, 1},
                  {"angular_damping", &body->angular_damping, 1},
                  {"restitution", &body->restitution, 1},
                  {"friction", &body->friction, 1}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!check_floats("body", index, fields[i].name, fields[i].numbers, fields[i].count, err))
            return false;
    for (int i = 0; i < 3; i++)
        if (body->size[i] < 0)
            return mmd_refuse(err, "body %zu: size %g is negative", index, (double)body->size[i]);
    for (int i = 0; i < 3; i++)
        if (fabs((double)body->position[i]) > MMD_BODY_LIMIT)
            return mmd_refuse(err, "body %zu: position %g, expected at most 1e6", index,
                              (double)body->position[i]);
    if (body->mass < 0)
        return mmd_refuse(err, "body %zu: mass %g is negative", index, (double)body->mass);
    return check_index("body", index, "shape", body->shape, MMD_SHAPE_COUNT, err) &&
           check_index("body", index, "mode", body->mode, MMD_BODY_MODE_COUNT, err) &&
           check_index("body", index, "group", body->group, MMD_BODY_GROUPS, err);
}

static bool check_joint(const mmd_joint *joint, size_t index, size_t body_count, mmd_error *err)
{
    const struct {
        const char *name;
        const float *numbers;
    } fields[] = {{"position", joint->position},
                  {"rotation", joint->rotation},
                  {"translation_lower", joint->translation_lower},
                  {"translation_upper", joint->translation_upper},
                  {"rotation_lower", joint->rotation_lower},
                  {"rotation_upper", joint->rotation_upper},
                  {"translation_spring", joint->translation_spring},
                  {"rotation_spring", joint->rotation_spring}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!check_floats("joint", index, fields[i].name, fields[i].numbers, 3, err))
            return false;
    const int32_t bodies[] = {joint->body_a, joint->body_b};
    for (int i = 0; i < 2; i++)
        if (bodies[i] < -1 || (bodies[i] >= 0 && (size_t)bodies[i] >= body_count))
            return mmd_refuse(err, "joint %zu: body %d of %zu", index, (int)bodies[i], body_count);
    return check_index("joint", index, "kind", joint->kind, MMD_JOINT_KIND_COUNT, err);
}

static bool check_vector(const char *name, const double vector[3], mmd_error *err)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(vector[i]) <= MMD_BODY_LIMIT))
            return mmd_refuse(err, "%s: %g, expected at most 1e6", name, vector[i]);
    return true;
}

bool mmd_world_check_gravity(const double gravity[3], mmd_error *err)
{
    return check_vector("gravity", gravity, err);
}

static bool check_settings(const mmd_world_settings *settings, mmd_error *err)
{
    if (!mmd_world_check_gravity(settings->gravity, err) ||
        !check_vector("wind", settings->wind, err))
        return false;
    if (!(fabs(settings->ground_height) <= MMD_BODY_LIMIT))
        return mmd_refuse(err, "ground: height %g, expected at most 1e6", settings->ground_height);
    if (!(settings->hz >= 1 && settings->hz <= MMD_WORLD_MAX_HZ))
        return mmd_refuse(err, "hz: %g, expected 1 to %d", settings->hz, MMD_WORLD_MAX_HZ);
    if (settings->iterations < 1 || settings->iterations > MMD_WORLD_MAX_ITERATIONS)
        return mmd_refuse(err, "iterations: %d, expected 1 to %d", settings->iterations,
                          MMD_WORLD_MAX_ITERATIONS);
    return true;
}

bool mmd_world_check(const mmd_world_desc *desc, mmd_error *err)
{
    if ((desc->body_count && !mmd_error_require(desc->bodies, "bodies", err)) ||
        (desc->joint_count && !mmd_error_require(desc->joints, "joints", err)))
        return false;
    for (size_t i = 0; i < desc->body_count; i++)
        if (!check_body(&desc->bodies[i], i, err))
            return false;
    for (size_t i = 0; i < desc->joint_count; i++)
        if (!check_joint(&desc->joints[i], i, desc->body_count, err))
            return false;
    return check_settings(&desc->settings, err);
}
