/* SPDX-License-Identifier: MIT */
/* Validates what a world is made from, so that the solver need not: finite numbers, sizes and
   masses that are not negative, indices and enums in range. */
#include "core/physics/world.h"

#include "core/base/error.h"
#include "core/model/model.h"

#include <math.h>

static bool check_index(const char *kind, size_t index, const char *name, int value, size_t count,
                        mmd_error *err)
{
    return (value >= 0 && (size_t)value < count) ||
           mmd_refuse(err, "%s %zu: %s %d of %zu", kind, index, name, value, count);
}

/* The numbers and kinds of a record, by the table of its fields. */
static bool check_fields(mmd_model_record_kind record_kind, const char *kind, size_t index,
                         const void *record, mmd_error *err)
{
    const mmd_model_record_table *table = &mmd_model_record_tables[record_kind];
    for (size_t i = 0; i < table->field_count; i++) {
        const mmd_model_field *field = &table->fields[i];
        const void *at = (const char *)record + field->offset;
        bool floats = field->content == MMD_FIELD_FLOATS;
        size_t bad = floats ? mmd_numbers_first_not_finite(at, field->count) : field->count;
        if (bad < field->count)
            return mmd_refuse(err, "%s %zu: %s is %s", kind, index, field->name,
                              mmd_numbers_fault((double)((const float *)at)[bad]));
        if (field->content == MMD_FIELD_KIND && field->count &&
            !check_index(kind, index, field->name, *(const uint8_t *)at, field->count, err))
            return false;
    }
    return true;
}

static bool check_body(const mmd_rigid_body *body, size_t index, mmd_error *err)
{
    if (!check_fields(MMD_RECORD_RIGID_BODY, "body", index, body, err))
        return false;
    for (int i = 0; i < 3; i++) {
        double size = (double)body->size[i], position = (double)body->position[i];
        if (size < 0)
            return mmd_refuse(err, "body %zu: size %g is negative", index, size);
        if (fabs(position) > MMD_BODY_LIMIT)
            return mmd_refuse(err, "body %zu: position %g, expected at most 1e6", index, position);
    }
    if (body->mass < 0)
        return mmd_refuse(err, "body %zu: mass %g is negative", index, (double)body->mass);
    return check_index("body", index, "group", body->group, MMD_BODY_GROUPS, err);
}

static bool check_joint(const mmd_joint *joint, size_t index, size_t body_count, mmd_error *err)
{
    const int32_t bodies[] = {joint->body_a, joint->body_b};
    for (int i = 0; i < 2; i++)
        if (bodies[i] < -1 || (bodies[i] >= 0 && (size_t)bodies[i] >= body_count))
            return mmd_refuse(err, "joint %zu: body %d of %zu", index, (int)bodies[i], body_count);
    return check_fields(MMD_RECORD_JOINT, "joint", index, joint, err);
}

bool mmd_world_check_vector(const char *name, const double *vector, size_t count, mmd_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(vector[i]) <= MMD_BODY_LIMIT))
            return mmd_refuse(err, "%s: %g, expected at most 1e6", name, vector[i]);
    return true;
}

static bool check_settings(const mmd_world_settings *settings, mmd_error *err)
{
    if (!mmd_world_check_vector("gravity", settings->gravity, 3, err) ||
        !mmd_world_check_vector("wind", settings->wind, 3, err))
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
