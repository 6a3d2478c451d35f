/* SPDX-License-Identifier: MIT */
#ifndef MMD_NAMES_H
#define MMD_NAMES_H

#include "core/base/arena.h"

/* Different byte strings, numbered 0, 1, 2 ... as they come: all without NUL, or all of one size.
   The bytes stay the caller's. */
typedef struct mmd_name {
    const uint8_t *bytes;
    size_t size;
} mmd_name;

/* A branch of the tree in which names are looked up: at the first bit where those below it differ.
   A child is a branch, or ~ the number of a name. */
typedef struct mmd_name_branch {
    size_t byte;
    uint8_t bit; /* as a mask */
    int32_t child[2];
} mmd_name_branch;

/* A zeroed one is empty. A look-up takes no more steps than the name has bits, whatever a file is
   made of: a hash table could be filled with names that collide. Most names come again and are
   found in `recent` without a walk. */
typedef struct mmd_names {
    size_t count, room;
    mmd_name *names;
    mmd_name_branch *branches; /* count - 1 */
    int32_t root;
    uint32_t *recent; /* 4 room numbers: by a hash, the name that had it last, or any other */
} mmd_names;

/* The number of a name, new or known. False when memory is short. */
bool mmd_names_add(mmd_arena *arena, mmd_names *names, const uint8_t *bytes, size_t size,
                   uint32_t *number);

#endif
