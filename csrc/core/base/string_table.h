/* SPDX-License-Identifier: MIT */
#ifndef MMD_STRING_TABLE_H
#define MMD_STRING_TABLE_H

#include "core/base/arena.h"

/* Interned strings: different byte strings get the indices 0, 1, 2 ... in the order in which they
   are added. The strings of one table have no NUL, or are all of one size. The bytes stay the
   caller's. */
typedef struct mmd_string {
    const uint8_t *bytes;
    size_t size;
} mmd_string;

/* A branch of the crit-bit tree: the first bit in which the strings below it differ. A child is a
   branch, or ~ the index of a string. */
typedef struct mmd_string_table_branch {
    size_t byte;
    uint8_t mask; /* of the bit */
    int32_t child[2];
} mmd_string_table_branch;

/* A zeroed table is empty. A crit-bit tree, in which a search takes no more steps than the string
   has bits: a hostile file could fill a hash table with strings that collide. Most strings repeat:
   they are found in `recent`, a hash table without collision handling, without a search. */
typedef struct mmd_string_table {
    size_t count, capacity;
    mmd_string *strings;
    mmd_string_table_branch *branches; /* count - 1 */
    int32_t root;
    uint32_t *recent; /* 4 capacity: by hash, the index of the string that had it last, or any */
} mmd_string_table;

/* The index of a string, which is added if it is new. False when memory is short. */
bool mmd_string_table_add(mmd_arena *arena, mmd_string_table *table, const uint8_t *bytes,
                          size_t size, uint32_t *index);

/* The index of a string; false when the table does not have it. */
bool mmd_string_table_find(const mmd_string_table *table, const uint8_t *bytes, size_t size,
                           uint32_t *index);

#endif
