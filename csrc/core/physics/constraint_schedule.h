/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_SCHEDULE_H
#define MMD_CONSTRAINT_SCHEDULE_H

#include "core/base/arena.h"
#include "core/physics/body.h"
#include "core/physics/constraint_row.h"

/* The order in which constraint rows are solved, in blocks that move different bodies. */

/* Half of a model's rows connect a dynamic body to one of infinite mass, whose velocity the solver
   leaves alone: they have one side, that of the dynamic body, and two of them are a block. A row
   with two sides is a block by itself. */
typedef enum mmd_constraint_block_kind {
    MMD_CONSTRAINT_ONE_SIDED,
    MMD_CONSTRAINT_ONE_SIDED_FRICTION,
    MMD_CONSTRAINT_TWO_SIDED,
    MMD_CONSTRAINT_TWO_SIDED_FRICTION,
    MMD_CONSTRAINT_BLOCK_KINDS
} mmd_constraint_block_kind;

/* The second row of a block, where none is left. */
#define MMD_CONSTRAINT_NO_ROW UINT32_MAX

typedef struct mmd_constraint_schedule {
    size_t level_count;
    uint32_t *block_counts; /* of each kind, level after level */
    uint32_t *rows;         /* of each block: two if it has one side, else one */
    size_t body_count;
    uint32_t *levels, *groups, *ranks, *slots; /* scratch memory */
} mmd_constraint_schedule;

/* For at most `row_count` rows; false if out of memory. */
bool mmd_constraint_schedule_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                  mmd_constraint_schedule *schedule);

/* Level scheduling, for rows in the order of the solver; reads only their bodies and whether they
   are friction. Rows that move the same body keep their relative order, so that the result has the
   same bits as if they were solved one by one; independent rows come between them, so that the CPU
   works on several at once. The ground is the body after the last one. */
void mmd_constraint_schedule_set(mmd_constraint_schedule *schedule, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies);

#endif
