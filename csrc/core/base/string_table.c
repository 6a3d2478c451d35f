/* SPDX-License-Identifier: MIT */
/* String tables: interned strings in a crit-bit tree. */
#include "core/base/string_table.h"

#include <string.h>

/* Bytes past the end read as zero. As strings contain no NUL, or all have the same length, no
   padded string is a prefix of another. */
static uint8_t byte_at(const mmd_string *string, size_t byte)
{
    return byte < string->size ? string->bytes[byte] : 0;
}

static int side(const mmd_string_table_branch *branch, const mmd_string *string)
{
    return (byte_at(string, branch->byte) & branch->mask) != 0;
}

/* The string that shares the longest prefix with this one. The table must not be empty. */
static int32_t nearest(const mmd_string_table *table, const mmd_string *string)
{
    int32_t at = table->root;
    while (at >= 0)
        at = table->branches[at].child[side(&table->branches[at], string)];
    return ~at;
}

static bool branches_before(const mmd_string_table_branch *a, const mmd_string_table_branch *b)
{
    return a->byte < b->byte || (a->byte == b->byte && a->mask > b->mask);
}

static bool grow(mmd_arena *arena, mmd_string_table *table)
{
    size_t capacity = table->capacity ? 2 * table->capacity : 64;
    mmd_string *strings = mmd_arena_alloc(arena, capacity, sizeof *strings);
    mmd_string_table_branch *branches = mmd_arena_alloc(arena, capacity, sizeof *branches);
    uint32_t *recent = mmd_arena_alloc(arena, 4 * capacity, sizeof *recent);
    if (!strings || !branches || !recent)
        return false;
    if (table->count) {
        memcpy(strings, table->strings, table->count * sizeof *strings);
        memcpy(branches, table->branches, table->count * sizeof *branches);
    }
    table->capacity = capacity;
    table->strings = strings;
    table->branches = branches;
    table->recent = recent;
    return true;
}

/* Inserts a branch to the new string above the first branch on a later bit. */
static void insert(mmd_string_table *table, mmd_string_table_branch branch,
                   const mmd_string *string)
{
    int32_t index = (int32_t)table->count, *link = &table->root;
    while (*link >= 0 && branches_before(&table->branches[*link], &branch))
        link = &table->branches[*link].child[side(&table->branches[*link], string)];
    int new_side = side(&branch, string);
    branch.child[new_side] = ~index;
    branch.child[!new_side] = *link;
    *link = index - 1;
    table->branches[index - 1] = branch;
}

static bool equal(const mmd_string *a, const mmd_string *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* The first bit in which two different strings differ. */
static mmd_string_table_branch first_difference(const mmd_string *a, const mmd_string *b)
{
    mmd_string_table_branch branch = {.mask = 0x80};
    while (byte_at(a, branch.byte) == byte_at(b, branch.byte))
        branch.byte++;
    while (side(&branch, a) == side(&branch, b))
        branch.mask >>= 1;
    return branch;
}

static size_t hash(const mmd_string *string, size_t capacity)
{
    uint64_t value = string->size, word;
    size_t i = 0;
    for (; i + sizeof word <= string->size; i += sizeof word) {
        memcpy(&word, string->bytes + i, sizeof word);
        value = (value ^ word) * 0x9e3779b97f4a7c15u;
        value ^= value >> 32;
    }
    for (; i < string->size; i++)
        value = (value << 5 | value >> 59) ^ string->bytes[i];
    return (size_t)(value * 0x9e3779b97f4a7c15u >> 32) & (4 * capacity - 1);
}

/* False with the nearest string, if there is one. */
bool mmd_string_table_find(const mmd_string_table *table, const uint8_t *bytes, size_t size,
                           uint32_t *index)
{
    const mmd_string string = {bytes, size};
    *index = 0;
    if (!table->count)
        return false;
    *index = table->recent[hash(&string, table->capacity)];
    if (equal(&table->strings[*index], &string))
        return true;
    *index = (uint32_t)nearest(table, &string);
    return equal(&table->strings[*index], &string);
}

static bool add_new(mmd_arena *arena, mmd_string_table *table, const mmd_string *string,
                    uint32_t *index)
{
    if (table->count == table->capacity && !grow(arena, table))
        return false;
    if (table->count)
        insert(table, first_difference(string, &table->strings[*index]), string);
    else
        table->root = ~0;
    *index = (uint32_t)table->count;
    table->strings[table->count++] = *string;
    return true;
}

bool mmd_string_table_add(mmd_arena *arena, mmd_string_table *table, const uint8_t *bytes,
                          size_t size, uint32_t *index)
{
    const mmd_string string = {bytes, size};
    if (!mmd_string_table_find(table, bytes, size, index) && !add_new(arena, table, &string, index))
        return false;
    table->recent[hash(&string, table->capacity)] = *index;
    return true;
}
