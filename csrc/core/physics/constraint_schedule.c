/* SPDX-License-Identifier: MIT */
/* Level scheduling. The level of a row is one more than the highest level of the earlier rows that
   move one of its bodies: rows of one level are independent. Those of one level and kind are a
   group, and become pairs in a counting sort by group. All of it without branches, which would be
   mispredicted. */
#include "core/physics/constraint_schedule.h"

#include <string.h>

bool mmd_constraint_schedule_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                  mmd_constraint_schedule *schedule)
{
    size_t groups = MMD_CONSTRAINT_PAIR_KINDS * row_count;
    *schedule = (mmd_constraint_schedule){
        .body_count = body_count,
        .pair_counts = mmd_arena_alloc(arena, groups, sizeof *schedule->pair_counts),
        .rows = mmd_arena_alloc(arena, 2 * row_count + 1, sizeof *schedule->rows),
        .levels = mmd_arena_alloc(arena, body_count + 1, sizeof *schedule->levels),
        .groups = mmd_arena_alloc(arena, row_count, sizeof *schedule->groups),
        .ranks = mmd_arena_alloc(arena, row_count, sizeof *schedule->ranks),
        .slots = mmd_arena_alloc(arena, groups, sizeof *schedule->slots),
        .ends = mmd_arena_alloc(arena, groups, sizeof *schedule->ends)};
    return schedule->pair_counts && schedule->rows && schedule->levels && schedule->groups &&
           schedule->ranks && schedule->slots && schedule->ends;
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
        groups[i] = MMD_CONSTRAINT_PAIR_KINDS * level + rows[i].kind +
                    ((moves_a & moves_b) ? MMD_CONSTRAINT_TWO_SIDED : 0u);
        level_count = level >= level_count ? level + 1 : level_count;
    }
    return level_count;
}

/* Sets where the rows of each group begin and end, and the numbers of pairs. `slots` has those of
   rows. */
static void lay_out(mmd_constraint_schedule *schedule, uint32_t group_count)
{
    uint32_t *slots = schedule->slots, slot = 0;
    for (uint32_t i = 0; i < group_count; i++) {
        /* the last of an odd number of angular rows goes to the linear ones, the next group */
        bool angular = i % MMD_CONSTRAINT_TWO_SIDED == MMD_CONSTRAINT_ROW_ANGULAR;
        uint32_t left_over = angular ? slots[i] % 2 : 0;
        uint32_t count = slots[i] - left_over;
        slots[i + left_over] += left_over;
        slots[i] = slot;
        schedule->ends[i] = slot + count;
        schedule->rows[slot + count] = MMD_CONSTRAINT_NO_ROW; /* overwritten if count is even */
        slot += count + count % 2;
        schedule->pair_counts[i] = (count + 1) / 2;
    }
}

void mmd_constraint_schedule_set(mmd_constraint_schedule *schedule, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies)
{
    uint32_t *groups = schedule->groups, *slots = schedule->slots;
    memset(schedule->levels, 0, (schedule->body_count + 1) * sizeof *schedule->levels);
    schedule->level_count = find_groups(rows, row_count, bodies, schedule->levels, groups);
    uint32_t group_count = (uint32_t)(MMD_CONSTRAINT_PAIR_KINDS * schedule->level_count);
    memset(slots, 0, group_count * sizeof *slots);
    for (size_t i = 0; i < row_count; i++)
        schedule->ranks[i] = slots[groups[i]]++;
    lay_out(schedule, group_count);
    for (size_t i = 0; i < row_count; i++) {
        const uint32_t *ends = schedule->ends + groups[i];
        uint32_t slot = slots[groups[i]] + schedule->ranks[i];
        slot = slot < ends[0] ? slot : ends[1] - 1; /* left over */
        schedule->rows[slot] = (uint32_t)i;
    }
}
