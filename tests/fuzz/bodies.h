/* SPDX-License-Identifier: MIT */
/* Rigid bodies and joints from a script. */
#ifndef BODIES_H
#define BODIES_H

#include "core/physics/body.h"
#include "script.h"

#include <math.h>

static inline double take_coordinate(script *s)
{
    return fmax(-MMD_BODY_LIMIT, fmin((double)take_number(s), MMD_BODY_LIMIT));
}

static inline void take_numbers(script *s, float *numbers, size_t count)
{
    while (count--)
        *numbers++ = take_number(s);
}

static inline mmd_rigid_body take_body(script *s)
{
    uint8_t kinds = take(s);
    mmd_rigid_body body = {.bone = -1,
                           .shape = kinds % 3,
                           .mode = kinds / 3 % 3,
                           .group = kinds / 9 % 4,
                           .mask = kinds < 128 ? 0xFFFF : 5};
    take_numbers(s, body.size, 3);
    take_numbers(s, body.rotation, 3);
    for (int i = 0; i < 3; i++) {
        body.position[i] = (float)take_coordinate(s);
        body.size[i] = fabsf(body.size[i]);
    }
    body.mass = fabsf(take_number(s));
    body.linear_damping = take_number(s);
    body.angular_damping = take_number(s);
    body.restitution = take_number(s);
    body.friction = take_number(s);
    return body;
}

static inline mmd_joint take_joint(script *s, size_t body_count)
{
    mmd_joint joint = {.kind = take(s) % 6};
    joint.body_a = (int32_t)(take(s) % (body_count + 1)) - 1;
    joint.body_b = (int32_t)(take(s) % (body_count + 1)) - 1;
    take_numbers(s, joint.position, 3);
    take_numbers(s, joint.rotation, 3);
    take_numbers(s, joint.translation_lower, 3);
    take_numbers(s, joint.translation_upper, 3);
    take_numbers(s, joint.rotation_lower, 3);
    take_numbers(s, joint.rotation_upper, 3);
    take_numbers(s, joint.translation_spring, 3);
    take_numbers(s, joint.rotation_spring, 3);
    return joint;
}

#endif
