/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"

#include "test.h"

#include <string.h>

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

static void allocations_are_aligned_and_zeroed(void)
{
    mmd_arena arena = {0};
    for (size_t size = 1; size < 300; size++) {
        unsigned char *piece = mmd_arena_alloc(&arena, 1, size);
        CHECK(piece && (uintptr_t)piece % (size < MMD_ARENA_ALIGN ? 16 : MMD_ARENA_ALIGN) == 0);
        CHECK(is_zero(piece, size));
        memset(piece, 0xFF, size);
    }
    mmd_arena_free(&arena);
}

/* In a shared block and in a block of its own. */
static void uninitialized_allocations_leave_others_zeroed(void)
{
    mmd_arena arena = {0};
    for (size_t size = 1000; size < 100000; size *= 3) {
        unsigned char *unset = mmd_arena_alloc_uninitialized(&arena, size, 1);
        CHECK(unset && (uintptr_t)unset % MMD_ARENA_ALIGN == 0);
        CHECK(unset[0] == 0x7F &&
              unset[size - 1] == 0x7F); /* the pattern of uninitialized memory */
        memset(unset, 0xFF, size);
        unsigned char *next = mmd_arena_alloc(&arena, size, 1);
        CHECK(next && is_zero(next, size));
    }
    CHECK(mmd_arena_alloc_uninitialized(&arena, SIZE_MAX, 1) == NULL);
    mmd_arena_fail_after(0);
    CHECK(mmd_arena_alloc_uninitialized(&arena, 1, 100) == NULL);
    mmd_arena_fail_after(-1);
    mmd_arena_free(&arena);
}

static void allocations_do_not_overlap(void)
{
    enum { COUNT = 400 };
    mmd_arena arena = {0};
    unsigned char *pieces[COUNT];
    uint32_t seed = 1;
    size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = test_random(&seed) % (i % 10 ? 200 : 40000);
        pieces[i] = mmd_arena_alloc(&arena, sizes[i], 1);
        memset(pieces[i], (int)(i % 256), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (!CHECK(pieces[i][k] == i % 256))
                break;
    mmd_arena_free(&arena);
}

static void large_allocations_leave_the_shared_block_in_use(void)
{
    mmd_arena arena = {0};
    char *small = mmd_arena_alloc(&arena, 1, 64);
    char *large = mmd_arena_alloc(&arena, 1, 1 << 20);
    char *next = mmd_arena_alloc(&arena, 1, 64);
    CHECK(small && large && next > small && next - small < 1024);
    mmd_arena_free(&arena);
}

static void a_count_of_zero_is_not_null(void)
{
    mmd_arena arena = {0};
    CHECK(mmd_arena_alloc(&arena, 0, 100) != NULL);
    CHECK(mmd_arena_alloc(&arena, 100, 0) != NULL);
    mmd_arena_free(&arena);
}

static void overflowing_sizes_are_rejected(void)
{
    mmd_arena arena = {0};
    CHECK(mmd_arena_alloc(&arena, SIZE_MAX, 1) == NULL);
    CHECK(mmd_arena_alloc(&arena, SIZE_MAX / 2, 3) == NULL);
    CHECK(mmd_arena_alloc(&arena, (size_t)1 << 33, (size_t)1 << 33) == NULL);
    CHECK(mmd_arena_alloc(&arena, 3, SIZE_MAX / 2) == NULL);
    CHECK(mmd_arena_alloc(&arena, 1, 16) != NULL);
    mmd_arena_free(&arena);
}

static void freeing_empties_the_arena(void)
{
    mmd_arena arena = {0};
    mmd_arena_free(&arena);
    mmd_arena_alloc(&arena, 1, 100);
    mmd_arena_free(&arena);
    CHECK(arena == NULL);
    CHECK(mmd_arena_alloc(&arena, 1, 100) != NULL);
    mmd_arena_free(&arena);
}

static void the_chosen_allocation_fails_once(void)
{
    mmd_arena arena = {0};
    mmd_arena_fail_after(2);
    CHECK(mmd_arena_alloc(&arena, 1, 100) != NULL);
    CHECK(mmd_arena_alloc(&arena, 1, 100) != NULL);
    CHECK(mmd_arena_alloc(&arena, 1, 100) == NULL);
    CHECK(mmd_arena_alloc(&arena, 1, 100) != NULL);
    mmd_arena_fail_after(-1);
    mmd_arena_free(&arena);
}

static void an_owner_is_zeroed_and_frees_what_it_holds(void)
{
    typedef struct list {
        mmd_arena arena;
        size_t count;
        int *numbers;
    } list;
    list *owner = mmd_arena_new_owner(sizeof *owner, NULL);
    if (!CHECK(owner))
        return;
    CHECK(owner->count == 0 && !owner->numbers);
    CHECK((owner->numbers = mmd_arena_alloc(&owner->arena, 100000, sizeof *owner->numbers)));
    mmd_arena_free_owner(owner); /* LeakSanitizer would report a leak */
    mmd_arena_free_owner(NULL);
    mmd_arena_fail_after(0);
    CHECK(mmd_arena_new_owner(sizeof *owner, NULL) == NULL);
    mmd_arena_fail_after(-1);
}

void arena_tests(void)
{
    RUN(an_owner_is_zeroed_and_frees_what_it_holds);
    RUN(allocations_are_aligned_and_zeroed);
    RUN(uninitialized_allocations_leave_others_zeroed);
    RUN(allocations_do_not_overlap);
    RUN(large_allocations_leave_the_shared_block_in_use);
    RUN(a_count_of_zero_is_not_null);
    RUN(overflowing_sizes_are_rejected);
    RUN(freeing_empties_the_arena);
    RUN(the_chosen_allocation_fails_once);
}
