/* SPDX-License-Identifier: MIT */
#include "core/base/names.h"

#include <string.h>

/* A name goes on with zeros, which none of them contains unless all end together, so that none is
   the beginning of another. */
static uint8_t byte_at(const mmd_name *name, size_t byte)
{
    return byte < name->size ? name->bytes[byte] : 0;
}

static int side(const mmd_name_branch *branch, const mmd_name *name)
{
    return (byte_at(name, branch->byte) & branch->bit) != 0;
}

/* The name that shares the longest beginning with this one. */
static int32_t nearest(const mmd_names *names, const mmd_name *name)
{
    int32_t at = names->root;
    while (at >= 0)
        at = names->branches[at].child[side(&names->branches[at], name)];
    return ~at;
}

static bool branches_before(const mmd_name_branch *a, const mmd_name_branch *b)
{
    return a->byte < b->byte || (a->byte == b->byte && a->bit > b->bit);
}

static bool grow(mmd_arena *arena, mmd_names *names)
{
    size_t room = names->room ? 2 * names->room : 64;
    mmd_name *wider = mmd_arena_alloc(arena, room, sizeof *wider);
    mmd_name_branch *branches = mmd_arena_alloc(arena, room, sizeof *branches);
    uint32_t *recent = mmd_arena_alloc(arena, 4 * room, sizeof *recent);
    if (!wider || !branches || !recent)
        return false;
    if (names->count) {
        memcpy(wider, names->names, names->count * sizeof *wider);
        memcpy(branches, names->branches, names->count * sizeof *branches);
    }
    names->room = room;
    names->names = wider;
    names->branches = branches;
    names->recent = recent;
    return true;
}

/* Puts a branch with the new name above what it goes before. */
static void insert(mmd_names *names, mmd_name_branch branch, const mmd_name *name)
{
    int32_t number = (int32_t)names->count, *link = &names->root;
    while (*link >= 0 && branches_before(&names->branches[*link], &branch))
        link = &names->branches[*link].child[side(&names->branches[*link], name)];
    int new_side = side(&branch, name);
    branch.child[new_side] = ~number;
    branch.child[!new_side] = *link;
    *link = number - 1;
    names->branches[number - 1] = branch;
}

static bool equal(const mmd_name *a, const mmd_name *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* The branch at which two names part. */
static mmd_name_branch part(const mmd_name *a, const mmd_name *b)
{
    mmd_name_branch branch = {.bit = 0x80};
    while (byte_at(a, branch.byte) == byte_at(b, branch.byte))
        branch.byte++;
    while (side(&branch, a) == side(&branch, b))
        branch.bit >>= 1;
    return branch;
}

static bool find_or_add(mmd_arena *arena, mmd_names *names, const mmd_name *name, uint32_t *number)
{
    *number = names->count ? (uint32_t)nearest(names, name) : 0;
    if (names->count && equal(&names->names[*number], name))
        return true;
    if (names->count == names->room && !grow(arena, names))
        return false;
    if (names->count)
        insert(names, part(name, &names->names[*number]), name);
    else
        names->root = ~0;
    *number = (uint32_t)names->count;
    names->names[names->count++] = *name;
    return true;
}

static size_t hash(const mmd_name *name, size_t room)
{
    uint64_t value = name->size, word;
    size_t i = 0;
    for (; i + sizeof word <= name->size; i += sizeof word) {
        memcpy(&word, name->bytes + i, sizeof word);
        value = (value ^ word) * 0x9e3779b97f4a7c15u;
        value ^= value >> 32;
    }
    for (; i < name->size; i++)
        value = (value << 5 | value >> 59) ^ name->bytes[i];
    return (size_t)(value * 0x9e3779b97f4a7c15u >> 32) & (4 * room - 1);
}

bool mmd_names_add(mmd_arena *arena, mmd_names *names, const uint8_t *bytes, size_t size,
                   uint32_t *number)
{
    mmd_name name = {bytes, size};
    if (names->count) {
        *number = names->recent[hash(&name, names->room)];
        if (equal(&names->names[*number], &name))
            return true;
    }
    if (!find_or_add(arena, names, &name, number))
        return false;
    names->recent[hash(&name, names->room)] = *number;
    return true;
}
