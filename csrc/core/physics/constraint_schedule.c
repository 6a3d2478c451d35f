/* SPDX-License-Identifier: MIT */
/* Level scheduling. The level of a row is one more than the highest level of the earlier rows that
   move one of its bodies: rows of one level are independent. Those of one level and kind are a
   group, and become blocks in a counting sort by group. All of it without branches, which would be
   mispredicted. */
#include "core/physics/constraint_schedule.h"

#include <string.h>

bool mmd_constraint_schedule_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                  mmd_constraint_schedule *schedule)
{
    size_t groups = MMD_CONSTRAINT_BLOCK_KINDS * row_count;
    *schedule = (mmd_constraint_schedule){
        .body_count = body_count,
        .block_counts = mmd_arena_alloc(arena, groups, sizeof *schedule->block_counts),
        .rows = mmd_arena_alloc(arena, 2 * row_count + 1, sizeof *schedule->rows),
        .levels = mmd_arena_alloc(arena, body_count + 1, sizeof *schedule->levels),
        .groups = mmd_arena_alloc(arena, row_count, sizeof *schedule->groups),
        .ranks = mmd_arena_alloc(arena, row_count, sizeof *schedule->ranks),
        .slots = mmd_arena_alloc(arena, groups, sizeof *schedule->slots)};
    return schedule->block_counts && schedule->rows && schedule->levels && schedule->groups &&
           schedule->ranks && schedule->slots;
}

/* Sets the group of each row; returns the number of levels. */
static uint32_t find_groups(const mmd_constraint_row *rows, size_t row_count,
                            const mmd_body *bodies, uint32_t *levels, uint32_t *groups)
{
    uint32_t level_count = 0;
    for (size_t i = 0; i < row_count; i++) {
        uint32_t a = rows[i].body_a, b = rows[i].body_b;
        bool moves_a = bodies[a].inverse_mass > 0, moves_b = bodies[b].inverse_mass > 0;
        uint32_t level = levels[a] > levels[b] ? levels[a] : levels[b];
        levels[a] = moves_a ? level + 1 : 0;
        levels[b] = moves_b ? level + 1 : 0;
        groups[i] = MMD_CONSTRAINT_BLOCK_KINDS * level +
                    ((moves_a & moves_b) ? MMD_CONSTRAINT_TWO_SIDED : 0u) + rows[i].friction;
        level_count = level >= level_count ? level + 1 : level_count;
    }
    return level_count;
}

/* Sets where the rows of each group begin, and the numbers of blocks. `slots` has those of rows. */
static void lay_out(mmd_constraint_schedule *schedule, uint32_t group_count)
{
    uint32_t *slots = schedule->slots, slot = 0;
    for (uint32_t i = 0; i < group_count; i++) {
        bool one_sided = i % MMD_CONSTRAINT_BLOCK_KINDS < MMD_CONSTRAINT_TWO_SIDED;
        uint32_t count = slots[i], room = count + (one_sided & count);
        slots[i] = slot;
        schedule->rows[slot + count] = MMD_CONSTRAINT_NO_ROW; /* overwritten unless it is odd */
        slot += room;
        schedule->block_counts[i] = room >> one_sided;
    }
}

void mmd_constraint_schedule_set(mmd_constraint_schedule *schedule, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies)
{
    uint32_t *groups = schedule->groups, *slots = schedule->slots;
    memset(schedule->levels, 0, (schedule->body_count + 1) * sizeof *schedule->levels);
    schedule->level_count = find_groups(rows, row_count, bodies, schedule->levels, groups);
    uint32_t group_count = (uint32_t)(MMD_CONSTRAINT_BLOCK_KINDS * schedule->level_count);
    memset(slots, 0, group_count * sizeof *slots);
    for (size_t i = 0; i < row_count; i++)
        schedule->ranks[i] = slots[groups[i]]++;
    lay_out(schedule, group_count);
    for (size_t i = 0; i < row_count; i++)
        schedule->rows[slots[groups[i]] + schedule->ranks[i]] = (uint32_t)i;
}
