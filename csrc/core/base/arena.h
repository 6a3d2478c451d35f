/* SPDX-License-Identifier: MIT */
#ifndef MMD_ARENA_H
#define MMD_ARENA_H

#include "mmdskin.h"

/* Memory that is allocated piece by piece and freed at once. A zeroed arena is empty and valid. All
   memory of the core is allocated here, so that tests can make any allocation fail. */
typedef struct mmd_arena_block *mmd_arena;

enum { MMD_ARENA_ALIGN = 64 };

/* Zeroed memory for `count` items of `size` bytes, aligned to MMD_ARENA_ALIGN, or to 16 if it is
   smaller than that in all. NULL when count * size overflows or memory is short; not NULL for a
   count of zero. */
void *mmd_arena_alloc(mmd_arena *arena, size_t count, size_t size);

/* Sets a pointer to such memory for `count` of what it points to; whether there was enough. */
#define MMD_ARENA_ARRAY(arena, pointer, count)                                                     \
    (((pointer) = mmd_arena_alloc(arena, count, sizeof *(pointer))) != NULL)

/* Memory that is not zeroed, as it is written at once. */
void *mmd_arena_alloc_uninitialized(mmd_arena *arena, size_t count, size_t size);

/* Frees everything and leaves the arena empty. */
void mmd_arena_free(mmd_arena *arena);

/* For a variable that is freed at the end of its block, also by `return`:

       MMD_ARENA_LOCAL mmd_arena temporary = {0}; */
#define MMD_ARENA_LOCAL __attribute__((cleanup(mmd_arena_free)))

/* An owner is a struct whose first member is the arena that holds it and everything it points to: a
   model, a motion, a mesh, a rig. A new owner is zeroed apart from its arena; NULL with
   MMD_E_MEMORY when memory is short. NULL may be freed. An owner is kept if it is made; else it is
   freed, and NULL returned. */
void *mmd_arena_new_owner(size_t size, mmd_error *err);
void *mmd_arena_keep_owner(void *owner, bool made);
void mmd_arena_free_owner(void *owner);

#ifdef MMD_TEST_FAULTS
/* Makes one allocation fail, after `count` that succeed; none if the count is negative. */
void mmd_arena_fail_after(long count);
#endif

#endif
