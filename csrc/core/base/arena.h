/* SPDX-License-Identifier: MIT */
#ifndef MMD_ARENA_H
#define MMD_ARENA_H

#include "mmdskin.h"

/* Memory that is allocated piece by piece and freed at once. A zeroed arena is empty and valid.
   Every allocation of the core goes through here, so that one hook can starve all of it. */

enum { MMD_ARENA_ALIGN = 64 };

/* Zeroed memory for `count` items of `size` bytes, aligned to MMD_ARENA_ALIGN (to 16
   when they are smaller than that). NULL when the product overflows or memory is short; never NULL
   for a count of zero. */
void *mmd_arena_alloc(mmd_arena *arena, size_t count, size_t size);

/* The same, but holding anything: for what is filled at once, so that it is not written twice. */
void *mmd_arena_alloc_unset(mmd_arena *arena, size_t count, size_t size);

/* Frees everything and leaves the arena empty. */
void mmd_arena_free(mmd_arena *arena);

/* An owner is a struct that begins with the arena in which it lies, and which holds all that it
   points to: a model, a motion, a mesh, a rig. A new one is zeroed otherwise; NULL when memory is
   short. Freeing takes NULL too. */
void *mmd_owner_new(size_t size);
void mmd_owner_free(void *owner);

#ifdef MMD_TEST_MEMORY
/* The allocation after `count` further ones fails, once; a negative count: none does. */
void mmd_arena_fail_after(long count);
#endif

#endif
