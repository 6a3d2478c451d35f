/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"
#include "core/physics/elementary.h"
#include "core/physics/world.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* The C library's functions are right to the last bit or two. */
static void elementary_functions_are_right(void)
{
    uint32_t random = 1;
    for (int i = 0; i < 20000; i++) {
        double wide = (double)test_random_float(&random, -1e3f, 1e3f);
        double unit = (double)test_random_float(&random, -1, 1);
        double share = (double)test_random_float(&random, 0, 1), sine, cosine;
        mmd_sin_cos(wide, &sine, &cosine);
        CHECK_NEAR(sine, sin(wide), 4e-16);
        CHECK_NEAR(cosine, cos(wide), 4e-16);
        CHECK_NEAR(mmd_atan2(unit, share), atan2(unit, share), 4e-16);
        CHECK_NEAR(mmd_atan2(unit, -wide), atan2(unit, -wide), 9e-16);
        CHECK_NEAR(mmd_asin(unit), asin(unit), 4e-16);
        CHECK_NEAR(mmd_power(share, 1 / 60.0), pow(share, 1 / 60.0), 4e-16);
        CHECK_NEAR(mmd_power(share, 7), pow(share, 7), 4e-16);
    }
    CHECK_NEAR(mmd_asin(1.5), acos(0), 0);
    CHECK_NEAR(mmd_asin(-1.5), -acos(0), 0);
    CHECK_NEAR(mmd_atan2(0, 0), 0, 0);
    CHECK_NEAR(mmd_atan2(0, -1), acos(-1), 0);
    CHECK_NEAR(mmd_power(0, 0.5), 0, 0);
    CHECK_NEAR(mmd_power(1, 0.5), 1, 0);
}

/* A link that hangs from a follower. */
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
                                         .damping_extra = true}};
}

static void a_locked_link_follows(void)
{
    mmd_world_desc desc = link_desc();
    mmd_world *world = mmd_world_new(&desc, NULL);
    if (!CHECK(world))
        return;
    CHECK_INT(mmd_world_follower_count(world), 1);
    double place[] = {0, 0, 0, 0, 0, 0, 1}, state[26];
    for (int i = 0; i < 120; i++) {
        place[0] += 1 / 60.0;
        place[1] = 10;
        CHECK(mmd_world_step(world, place, NULL));
    }
    mmd_world_state(world, state);
    CHECK_NEAR(state[0], 2, 1e-12);
    CHECK_NEAR(state[7], 1, 1e-12);
    /* behind by what the joint gives */
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

/* A heap of every shape, chained in part. */
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

/* The number is what gcc for x86-64 makes of it; that every other compiler does, too, is the test.
   A change of the equations changes it. */
static void a_heap_has_the_same_bits_everywhere(void)
{
    mmd_world *world = heap_new(7);
    if (!CHECK(world))
        return;
    static double state[HEAP * 13], points[10 * 4 * (9 * HEAP + 64)];
    size_t touched = 0;
    for (int i = 0; i < 200; i++) {
        CHECK(mmd_world_step(world, NULL, NULL));
        touched += mmd_world_points(world, NULL);
    }
    mmd_world_state(world, state);
    for (size_t i = 0; i < HEAP * 13; i++)
        CHECK(isfinite(state[i]));
    CHECK(touched > 200 * 20 && touched < 200 * 1000);
    CHECK_INT(mmd_world_points(world, points), mmd_world_points(world, NULL));
    CHECK_INT(hash_of(state, HEAP * 13), 0x211ad126a8a56e26u);
    mmd_world_free(world);
}

/* Each body of the heap's chain hangs on the one before. */
static void a_leash_holds_what_is_far_and_nothing_else(void)
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
    CHECK(mmd_world_stretch(world, &joint) > 4);
    CHECK(!mmd_world_leash(world, 1000, &joint));
    mmd_world_state(world, state);
    CHECK(hash_of(state, HEAP * 13) == before);
    CHECK(mmd_world_leash(world, 2, &joint));
    CHECK_NEAR(mmd_world_stretch(world, &joint), 2, 1e-9);
    mmd_world_free(world);
}

void world_tests(void)
{
    RUN(elementary_functions_are_right);
    RUN(a_locked_link_follows);
    RUN(a_heap_has_the_same_bits_everywhere);
    RUN(a_leash_holds_what_is_far_and_nothing_else);
    RUN(a_world_survives_every_failing_allocation);
}
