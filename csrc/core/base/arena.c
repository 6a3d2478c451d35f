/* SPDX-License-Identifier: MIT */
/* Memory arenas: blocks that grow by need and are freed together. */
#include "core/base/arena.h"

#include "core/base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Small allocations share blocks of this size, and are zeroed one by one: short calls use little of
   a block. A large one gets a block of its own, which calloc can map lazily. */
enum { BLOCK_SIZE = 32 * 1024 };

struct mmd_arena_block {
    struct mmd_arena_block *previous;
    unsigned char *next, *end;
};

#ifdef MMD_TEST_FAULTS
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else /* a compiler for another system */
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

/* Poisoned bytes behind every allocation, so that AddressSanitizer detects overruns. */
enum { GUARD = 16 };

/* The bytes of uninitialized memory: large numbers and invalid indices, so that tests fail if it is
   read. */
enum { UNINITIALIZED = 0x7F };

static long fail_after = -1;

void mmd_arena_fail_after(long count)
{
    fail_after = count;
}
#else
enum { GUARD = 0 };
#endif

static struct mmd_arena_block *block_new(size_t size, bool zeroed)
{
    size_t total = size + sizeof(struct mmd_arena_block) + MMD_ARENA_ALIGN - 1;
    struct mmd_arena_block *block = zeroed ? calloc(1, total) : malloc(total);
    if (!block)
        return NULL;
    uintptr_t first = (uintptr_t)(block + 1) + MMD_ARENA_ALIGN - 1;
    block->next = (unsigned char *)(first - first % MMD_ARENA_ALIGN);
    block->end = block->next + size;
    return block;
}

static void *allocate(mmd_arena *arena, size_t count, size_t size, bool zeroed)
{
#ifdef MMD_TEST_FAULTS
    if (fail_after >= 0 && fail_after-- == 0)
        return NULL;
#endif
    if (size && count > (SIZE_MAX / 2 - 2 * MMD_ARENA_ALIGN) / size)
        return NULL;
    size_t align = count * size < MMD_ARENA_ALIGN ? 16 : MMD_ARENA_ALIGN;
    size_t bytes = count * size + GUARD;
    bytes = bytes ? (bytes + align - 1) / align * align : align;

    struct mmd_arena_block *last = *arena;
    size_t gap = last ? (size_t)(-(uintptr_t)last->next % align) : 0;
    bool own = false;
    if (!last || (size_t)(last->end - last->next) < bytes + gap) {
        own = bytes > BLOCK_SIZE / 4;
        struct mmd_arena_block *block = block_new(own ? bytes : BLOCK_SIZE, zeroed && own);
        if (!block)
            return NULL;
        if (last && own) {
            /* Below the shared block, whose free space stays in use. */
            block->previous = last->previous;
            last->previous = block;
        } else {
            block->previous = last;
            *arena = block;
        }
        last = block;
        gap = 0;
    }
    void *memory = last->next + gap;
    last->next += gap + bytes;
    if (zeroed && !own)
        memset(memory, 0, bytes);
#ifdef MMD_TEST_FAULTS
    if (!zeroed)
        memset(memory, UNINITIALIZED, count * size);
    ASAN_POISON_MEMORY_REGION((char *)memory + count * size, bytes - count * size);
#endif
    return memory;
}

void *mmd_arena_alloc(mmd_arena *arena, size_t count, size_t size)
{
    return allocate(arena, count, size, true);
}

void *mmd_arena_alloc_uninitialized(mmd_arena *arena, size_t count, size_t size)
{
    return allocate(arena, count, size, false);
}

void mmd_arena_free(mmd_arena *arena)
{
    while (*arena) {
        struct mmd_arena_block *block = *arena;
        *arena = block->previous;
        free(block);
    }
}

void *mmd_arena_new_owner(size_t size, mmd_error *err)
{
    mmd_arena arena = NULL;
    mmd_arena *owner = mmd_arena_alloc(&arena, 1, size);
    if (owner)
        *owner = arena;
    else
        mmd_fail_memory(err);
    return owner;
}

void *mmd_arena_keep_owner(void *owner, bool made)
{
    if (made)
        return owner;
    mmd_arena_free_owner(owner);
    return NULL;
}

void mmd_arena_free_owner(void *owner)
{
    if (!owner)
        return;
    mmd_arena arena = *(mmd_arena *)owner; /* a copy: the owner lies in it */
    mmd_arena_free(&arena);
}
