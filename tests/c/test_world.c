/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"
#include "core/math/scalar.h"
#include "core/physics/world.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* The C library's functions are right to the last bit or two. */
static void portable_math_is_right(void)
{
    uint32_t random = 1;
    for (int i = 0; i < 20000; i++) {
        double wide = (double)test_random_float(&random, -1e3f, 1e3f);
        double unit = (double)test_random_float(&random, -1, 1);
        double positive = (double)test_random_float(&random, 0, 1), sine, cosine;
        mmd_portable_sin_cos(wide, &sine, &cosine);
        CHECK_NEAR(sine, sin(wide), 4e-16);
        CHECK_NEAR(cosine, cos(wide), 4e-16);
        CHECK_NEAR(mmd_portable_atan2(unit, positive), atan2(unit, positive), 4e-16);
        CHECK_NEAR(mmd_portable_atan2(unit, -wide), atan2(unit, -wide), 9e-16);
        CHECK_NEAR(mmd_portable_sin(wide), sin(wide), 4e-16);
        CHECK_NEAR(mmd_portable_sin(unit), sin(unit), 3e-16 * fabs(unit));
        CHECK_NEAR(mmd_portable_asin(unit), asin(unit), 4e-16);
        CHECK_NEAR(mmd_portable_acos(unit), acos(unit), 9e-16);
        CHECK_NEAR(mmd_portable_atan2(1e-9 * unit, 1), atan2(1e-9 * unit, 1), 3e-25 * fabs(unit));
        CHECK_NEAR(mmd_portable_pow(positive, 1 / 60.0), pow(positive, 1 / 60.0), 4e-16);
        CHECK_NEAR(mmd_portable_pow(positive, 7), pow(positive, 7), 4e-16);
    }
    CHECK_NEAR(mmd_portable_asin(1.5), acos(0), 0);
    CHECK_NEAR(mmd_portable_asin(-1.5), -acos(0), 0);
    CHECK_NEAR(mmd_portable_acos(1.5), 0, 0);
    CHECK_NEAR(mmd_portable_acos(-1.5), acos(-1), 0);
    CHECK_NEAR(mmd_portable_sin(1e300), sin(fmod(1e300, 2 * acos(-1))), 4e-16);
    CHECK(isnan(mmd_portable_sin(NAN)) && isnan(mmd_portable_sin(INFINITY)));
    CHECK(isnan(mmd_portable_atan2(NAN, 1)) && isnan(mmd_portable_atan2(1, NAN)));
    CHECK_NEAR(mmd_portable_atan2(0, 0), 0, 0);
    CHECK_NEAR(mmd_portable_atan2(0, -1), acos(-1), 0);
    CHECK_NEAR(mmd_portable_pow(0, 0.5), 0, 0);
    CHECK_NEAR(mmd_portable_pow(1, 0.5), 1, 0);
}

/* A capsule below a kinematic box. */
static const mmd_rigid_body bodies[] = {{.shape = 1, .size = {1, 1, 1}, .mask = 0xFFFF, .mode = 0},
                                        {.shape = 2,
                                         .size = {0.5f, 1, 0},
                                         .position = {0, -2, 0},
                                         .mask = 0xFFFF,
                                         .mass = 1,
                                         .mode = 1}};
static const mmd_joint joints[] = {{.body_a = 0, .body_b = 1, .position = {0, -1, 0}}};

static mmd_world_desc link_desc(void)
{
    return (mmd_world_desc){.body_count = 2,
                            .bodies = bodies,
                            .joint_count = 1,
                            .joints = joints,
                            .contacts = true,
                            .settings = {.gravity = {0, -98, 0},
                                         .hz = 60,
                                         .iterations = 10,
                                         .ground = true,
                                         .additional_damping = true}};
}

static void a_locked_joint_follows_its_kinematic_body(void)
{
    mmd_world_desc desc = link_desc();
    mmd_world *world = mmd_world_new(&desc, NULL);
    if (!CHECK(world))
        return;
    CHECK_INT(mmd_world_kinematic_count(world), 1);
    double transform[] = {0, 0, 0, 0, 0, 0, 1}, state[26];
    for (int i = 0; i < 120; i++) {
        transform[0] += 1 / 60.0;
        transform[1] = 10;
        CHECK(mmd_world_step(world, transform, NULL));
    }
    mmd_world_state(world, state);
    CHECK_NEAR(state[0], 2, 1e-12);
    CHECK_NEAR(state[7], 1, 1e-12);
    /* lags behind, as the joint is soft */
    CHECK_NEAR(state[13], 2, 0.1);
    CHECK_NEAR(state[14], 8, 0.1);
    CHECK_NEAR(state[20], 1, 0.1);
    mmd_world_free(world);
}

static void a_world_survives_every_failing_allocation(void)
{
    mmd_world_desc desc = link_desc();
    mmd_world *world = NULL;
    for (long n = 0; !world; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        world = mmd_world_new(&desc, &err);
        if (!world)
            CHECK_INT(err.code, MMD_E_MEMORY);
    }
    mmd_arena_fail_after(-1);
    mmd_world_free(world);
}

enum { HEAP = 60 };

/* A heap of all shapes; half of the bodies form a chain. */
static mmd_world *heap_new(uint32_t seed)
{
    mmd_rigid_body heap[HEAP];
    mmd_joint chain[HEAP / 2];
    uint32_t random = seed;
    for (int i = 0; i < HEAP; i++) {
        heap[i] = (mmd_rigid_body){.shape = (uint8_t)(i % 3),
                                   .mask = 0xFFFF,
                                   .mass = test_random_float(&random, 0.1f, 3),
                                   .friction = 0.5f,
                                   .restitution = 0.2f,
                                   .linear_damping = 0.3f,
                                   .angular_damping = 0.5f,
                                   .mode = i > 2};
        for (int k = 0; k < 3; k++) {
            heap[i].size[k] = test_random_float(&random, 0.1f, 1);
            heap[i].position[k] = test_random_float(&random, -2, 2) + (k == 1 ? 4 : 0);
            heap[i].rotation[k] = test_random_float(&random, -3, 3);
        }
    }
    for (int i = 0; i < HEAP / 2; i++) {
        chain[i] = (mmd_joint){.body_a = i, .body_b = i + 1};
        for (int k = 0; k < 3; k++) {
            chain[i].position[k] = heap[i + 1].position[k];
            chain[i].rotation_lower[k] = test_random_float(&random, -1, 0);
            chain[i].rotation_upper[k] = test_random_float(&random, 0, 1);
            chain[i].rotation_spring[k] = test_random_float(&random, 0, 50);
        }
    }
    mmd_world_desc desc = link_desc();
    desc.body_count = HEAP;
    desc.bodies = heap;
    desc.joint_count = HEAP / 2;
    desc.joints = chain;
    return mmd_world_new(&desc, NULL);
}

static uint64_t hash_of(const double *numbers, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV */
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}

/* The hash is that of gcc on x86-64: every other compiler and system must have the same. A change
   of the equations changes it. */
static void a_heap_has_the_same_bits_everywhere(void)
{
    mmd_world *world = heap_new(7);
    if (!CHECK(world))
        return;
    static double state[HEAP * 13], points[10 * 4 * (9 * HEAP + 64)];
    size_t contacts = 0;
    for (int i = 0; i < 200; i++) {
        CHECK(mmd_world_step(world, NULL, NULL));
        contacts += mmd_world_contact_points(world, NULL);
    }
    mmd_world_state(world, state);
    for (size_t i = 0; i < HEAP * 13; i++)
        CHECK(isfinite(state[i]));
    CHECK(contacts > 200 * 20 && contacts < 200 * 1000);
    CHECK_INT(mmd_world_contact_points(world, points), mmd_world_contact_points(world, NULL));
    CHECK_INT(hash_of(state, HEAP * 13), 0x9680f761a497d7efu);
    mmd_world_free(world);
}

/* Each body of the heap's chain is the child of the one before. */
static void the_stretch_limit_moves_only_what_exceeds_it(void)
{
    mmd_world *world = heap_new(7);
    if (!CHECK(world))
        return;
    static double state[HEAP * 13];
    mmd_world_state(world, state);
    for (int i = 1; i <= HEAP / 2; i++)
        state[i * 13] += 5.0 * (i % 3);
    CHECK(mmd_world_set_state(world, state, NULL));
    mmd_world_state(world, state);
    uint64_t before = hash_of(state, HEAP * 13);
    size_t joint;
    double largest;
    CHECK(!mmd_world_limit_stretch(world, 1000, &largest, &joint));
    CHECK(largest > 4);
    CHECK(largest == mmd_world_max_stretch(world, &joint));
    mmd_world_state(world, state);
    CHECK(hash_of(state, HEAP * 13) == before);
    CHECK(mmd_world_limit_stretch(world, 2, &largest, &joint));
    CHECK_NEAR(mmd_world_max_stretch(world, &joint), 2, 1e-9);
    mmd_world_free(world);
}

void world_tests(void)
{
    RUN(portable_math_is_right);
    RUN(a_locked_joint_follows_its_kinematic_body);
    RUN(a_heap_has_the_same_bits_everywhere);
    RUN(the_stretch_limit_moves_only_what_exceeds_it);
    RUN(a_world_survives_every_failing_allocation);
}
