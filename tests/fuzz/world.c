/* SPDX-License-Identifier: MIT */
/* The input is a script of bodies, joints and settings, then of steps and written states. Whatever
   a world accepts stays finite, and can be written back. */
#include "core/physics/world.h"
#include "bodies.h"
#include "target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 24, FEW = 5, JOINTS = 32, STEPS = 12, FIRST_STEPS = 3, TRANSFORM = 7, STATE = 13 };

/* A saved world is valid, and saves as the same bytes once it is restored. */
static void save_and_restore(mmd_world *world)
{
    size_t size = mmd_world_save(world, NULL);
    char *bytes = malloc(2 * size);
    if (!bytes)
        return;
    PROMISE(mmd_world_save(world, bytes) == size);
    PROMISE(mmd_world_load(world, bytes, size, NULL));
    PROMISE(mmd_world_save(world, bytes + size) == size);
    PROMISE(memcmp(bytes, bytes + size, size) == 0);
    free(bytes);
}

static void exercise(mmd_world *world, script *s)
{
    static double transforms[BODIES * TRANSFORM], state[BODIES * STATE], points[10 * 2000];
    size_t count = mmd_world_body_count(world);
    /* Most promises break in the first steps, or when the script goes on. */
    for (int step = 0; step < STEPS && (step < FIRST_STEPS || s->at < s->size); step++) {
        uint8_t what = take(s);
        if (what > 250) {
            for (size_t i = 0; i < count * STATE; i++)
                state[i] = take_coordinate(s);
            mmd_world_set_state(world, state, NULL); /* or fails */
        }
        for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++)
            transforms[i] = what & 1 ? take_coordinate(s) : i % TRANSFORM == 6;
        if (!mmd_world_step(world, transforms, NULL))
            mmd_world_step(world, NULL, NULL);
        mmd_world_state(world, state);
        for (size_t i = 0; i < count * STATE; i++)
            PROMISE(isfinite(state[i]));
        size_t contacts = mmd_world_contact_points(world, NULL);
        PROMISE(contacts <= sizeof points / sizeof *points / 10);
        PROMISE(mmd_world_contact_points(world, points) == contacts);
        for (size_t i = 0; i < contacts * 10; i++)
            PROMISE(!isnan(points[i]));
    }
    save_and_restore(world);
    PROMISE(mmd_world_set_state(world, state, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_rigid_body bodies[BODIES];
    mmd_joint joints[JOINTS];
    static const double rates[] = {60, 1, 1e5};
    script s = {data, size, 0};
    mmd_world_desc desc = {
        .body_count = take_count(&s, FEW, BODIES),
        .bodies = bodies,
        .joint_count = take_count(&s, FEW, JOINTS),
        .joints = joints,
        .settings = {.gravity = {(double)take_number(&s), -98, 0}, .hz = rates[take(&s) % 3]}};
    uint8_t iterations = take(&s);
    desc.settings.iterations = iterations < 250 ? 1 + iterations % 6 : 30;
    uint8_t settings = take(&s);
    desc.settings.ground = settings & 1;
    desc.contacts = settings & 2;
    desc.settings.additional_damping = settings & 4;
    desc.settings.collide_connected = settings & 8;
    desc.settings.wind[0] = settings & 16 ? 1e6 : 0;
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
