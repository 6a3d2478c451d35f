/* SPDX-License-Identifier: MIT */
/* The input is a script of bodies, joints and settings, and of what happens to them: steps and
   written states. Whatever was accepted stays finite, and can be written back. */
#include "core/physics/world.h"
#include "bodies.h"
#include "target.h"

#include <math.h>
#include <string.h>

enum { BODIES = 24, JOINTS = 32, STEPS = 24, PLACE = 7, STATE = 13 };

static void exercise(mmd_world *world, script *s)
{
    static double places[BODIES * PLACE], state[BODIES * STATE], points[10 * 2000];
    size_t count = mmd_world_body_count(world);
    for (int step = 0; step < STEPS; step++) {
        uint8_t what = take(s);
        if (what > 250) {
            for (size_t i = 0; i < count * STATE; i++)
                state[i] = take_place(s);
            mmd_world_set_state(world, state, NULL); /* or refuses */
        }
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            places[i] = what & 1 ? take_place(s) : i % PLACE == 6;
        if (!mmd_world_step(world, places, NULL))
            mmd_world_step(world, NULL, NULL);
        mmd_world_state(world, state);
        for (size_t i = 0; i < count * STATE; i++)
            PROMISE(isfinite(state[i]));
        size_t touched = mmd_world_points(world, NULL);
        PROMISE(touched <= sizeof points / sizeof *points / 10);
        PROMISE(mmd_world_points(world, points) == touched);
        for (size_t i = 0; i < touched * 10; i++)
            PROMISE(!isnan(points[i]));
    }
    PROMISE(mmd_world_set_state(world, state, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_rigid_body bodies[BODIES];
    mmd_joint joints[JOINTS];
    static const double rates[] = {60, 1, 1e5};
    script s = {data, size, 0};
    mmd_world_desc desc = {
        .body_count = take(&s) % (BODIES + 1),
        .bodies = bodies,
        .joint_count = take(&s) % (JOINTS + 1),
        .joints = joints,
        .settings = {.gravity = {(double)take_number(&s), -98, 0}, .hz = rates[take(&s) % 3]}};
    uint8_t sweeps = take(&s);
    desc.settings.iterations = sweeps < 250 ? 1 + sweeps % 10 : MMD_WORLD_ITERATIONS;
    uint8_t settings = take(&s);
    desc.settings.ground = settings & 1;
    desc.contacts = settings & 2;
    desc.settings.damping_extra = settings & 4;
    desc.settings.joined_collide = settings & 8;
    for (size_t i = 0; i < desc.body_count; i++)
        bodies[i] = take_body(&s);
    for (size_t i = 0; i < desc.joint_count; i++)
        joints[i] = take_joint(&s, desc.body_count);
    mmd_error err = {0};
    mmd_world *world = mmd_world_new(&desc, &err);
    PROMISE(world || err.text[0]);
    if (world)
        exercise(world, &s);
    mmd_world_free(world);
    return 0;
}
