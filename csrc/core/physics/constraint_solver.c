/* SPDX-License-Identifier: MIT */
/* The order of constraint rows, their setup, warm start and write-back (equations:
   constraint_solver.h); constraint_iterate.h is the loop between these. */
#include "core/physics/constraint_solver.h"

#include "core/base/cpu.h"
#include "core/math/mat3.h"

#include <float.h>
#include <string.h>

/* Order: level scheduling. The level of a row is one more than the highest level of the earlier
   rows that move one of its bodies: rows of one level are independent. Those of one level and kind
   are a group, and become blocks in a counting sort by group. All of it without branches, which
   would be mispredicted. */
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

static void set_schedule(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                         size_t row_count, const mmd_body *bodies)
{
    mmd_constraint_schedule *schedule = &solver->schedule;
    uint32_t *groups = schedule->groups, *slots = schedule->slots;
    memset(schedule->levels, 0, (solver->body_count + 1) * sizeof *schedule->levels);
    schedule->level_count = find_groups(rows, row_count, bodies, schedule->levels, groups);
    uint32_t group_count = (uint32_t)(MMD_CONSTRAINT_BLOCK_KINDS * schedule->level_count);
    memset(slots, 0, group_count * sizeof *slots);
    for (size_t i = 0; i < row_count; i++)
        schedule->ranks[i] = slots[groups[i]]++;
    lay_out(schedule, group_count);
    for (size_t i = 0; i < row_count; i++)
        schedule->rows[slots[groups[i]] + schedule->ranks[i]] = (uint32_t)i;
}

bool mmd_constraint_solver_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                mmd_constraint_solver *solver)
{
    mmd_constraint_schedule *schedule = &solver->schedule;
    size_t groups = MMD_CONSTRAINT_BLOCK_KINDS * row_count;
    *solver = (mmd_constraint_solver){.body_count = body_count};
    return MMD_ARENA_ARRAY(arena, solver->deltas, body_count + 1) &&
           MMD_ARENA_ARRAY(arena, solver->blocks, row_count) &&
           MMD_ARENA_ARRAY(arena, solver->links, row_count) &&
           MMD_ARENA_ARRAY(arena, solver->halves, row_count) &&
           MMD_ARENA_ARRAY(arena, solver->impulses, row_count) &&
           MMD_ARENA_ARRAY(arena, schedule->block_counts, groups) &&
           MMD_ARENA_ARRAY(arena, schedule->rows, 2 * row_count + 1) &&
           MMD_ARENA_ARRAY(arena, schedule->levels, body_count + 1) &&
           MMD_ARENA_ARRAY(arena, schedule->groups, row_count) &&
           MMD_ARENA_ARRAY(arena, schedule->ranks, row_count) &&
           MMD_ARENA_ARRAY(arena, schedule->slots, groups);
}

/* Setup */

/* Lanes of a half: of vectors the linear and the angular part; of other numbers that of the row and
   one of the body, so that a block fills whole cache lines. */
enum { LINEAR, ANGULAR };
enum { ROW, BODY };

/* J V */
static inline double velocity_of(const mmd_constraint_row *row, const mmd_body_state *a,
                                 const mmd_body_state *b)
{
    return mmd_vec3_dot(row->linear, a->velocity) +
           mmd_vec3_dot(row->angular_a, a->angular_velocity) -
           mmd_vec3_dot(row->linear, b->velocity) +
           mmd_vec3_dot(row->angular_b, b->angular_velocity);
}

/* Sets a half of a block to a side of a row, without what depends on both sides. Returns what it
   adds to the inverse effective mass by turning. */
static inline double set_side(const mmd_constraint_row *row, const mmd_body *body, bool side_b,
                              mmd_constraint_block *block, int half)
{
    const double *angular = side_b ? row->angular_b : row->angular_a;
    double turn[3], sign = side_b ? -1 : 1;
    mmd_mat3_transform(body->inverse_inertia_world, angular, turn);
    for (int i = 0; i < 3; i++) {
        block->jacobian[i].of[half][LINEAR] = sign * row->linear[i];
        block->jacobian[i].of[half][ANGULAR] = angular[i];
    }
    block->effective_mass_turn_x.of[half][BODY] = turn[0];
    block->rhs_turn_y.of[half][BODY] = turn[1];
    block->lower_turn_z.of[half][BODY] = turn[2];
    block->upper_inverse_mass.of[half][BODY] = body->inverse_mass;
    return mmd_vec3_dot(turn, angular);
}

/* Sets halves [first, end) of a block to the sides of a row: both, or the only one. */
static inline void set_row(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                           const mmd_body *bodies, uint32_t index, size_t block, int first, int end)
{
    const mmd_constraint_row *row = &rows[index];
    const mmd_body *a = &bodies[row->body_a], *b = &bodies[row->body_b];
    mmd_constraint_block *out = &solver->blocks[block];
    double inverse_effective_mass = 0;
    for (int half = first; half < end; half++) {
        bool side_b = end - first == 2 ? half == 1 : !(a->inverse_mass > 0);
        inverse_effective_mass += set_side(row, side_b ? b : a, side_b, out, half);
        solver->links[block].bodies[half] = side_b ? row->body_b : row->body_a;
        solver->links[block].contacts[half] = row->friction ? solver->halves[row->contact] : 0;
    }
    solver->halves[index] = (uint32_t)(2 * block) + (uint32_t)first;
    solver->impulses[index] = &out->impulse.of[first][ROW];
    inverse_effective_mass +=
        (a->inverse_mass + b->inverse_mass) * mmd_vec3_dot(row->linear, row->linear);
    double effective_mass = inverse_effective_mass > DBL_MIN ? 1 / inverse_effective_mass : 0;
    double velocity = velocity_of(row, &a->state, &b->state);
    for (int half = first; half < end; half++) {
        out->effective_mass_turn_x.of[half][ROW] = effective_mass;
        out->rhs_turn_y.of[half][ROW] = (row->target_velocity - velocity) * effective_mass;
        out->lower_turn_z.of[half][ROW] = row->lower_impulse;
        out->upper_inverse_mass.of[half][ROW] = row->upper_impulse;
        out->impulse.of[half][ROW] = out->impulse.of[half][BODY] = row->impulse;
    }
}

/* Sets the second half of a block to nothing, which acts on the ground. */
static void set_empty(mmd_constraint_solver *solver, size_t block)
{
    solver->links[block].bodies[1] = (uint32_t)solver->body_count;
    solver->links[block].contacts[1] = solver->links[block].contacts[0];
    mmd_constraint_lanes *numbers = (mmd_constraint_lanes *)&solver->blocks[block];
    for (size_t i = 0; i < sizeof *solver->blocks / sizeof *numbers; i++)
        numbers[i].of[1][LINEAR] = numbers[i].of[1][ANGULAR] = 0;
}

static void set_blocks(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                       const mmd_body *bodies)
{
    const mmd_constraint_schedule *schedule = &solver->schedule;
    const uint32_t *counts = schedule->block_counts, *of_blocks = schedule->rows;
    size_t block = 0;
    for (size_t i = 0; i < schedule->level_count; i++, counts += MMD_CONSTRAINT_BLOCK_KINDS) {
        size_t end =
            block + counts[MMD_CONSTRAINT_ONE_SIDED] + counts[MMD_CONSTRAINT_ONE_SIDED_FRICTION];
        for (; block < end; block++, of_blocks += 2) {
            set_row(solver, rows, bodies, of_blocks[0], block, 0, 1);
            if (of_blocks[1] != MMD_CONSTRAINT_NO_ROW)
                set_row(solver, rows, bodies, of_blocks[1], block, 1, 2);
            else
                set_empty(solver, block);
        }
        end += counts[MMD_CONSTRAINT_TWO_SIDED] + counts[MMD_CONSTRAINT_TWO_SIDED_FRICTION];
        for (; block < end; block++, of_blocks++)
            set_row(solver, rows, bodies, of_blocks[0], block, 0, 2);
    }
}

/* dV += M^-1 J^T lambda of one body */
static void warm_start(const mmd_body *body, const mmd_constraint_row *row, double sign,
                       const double angular[3], mmd_delta_velocity *delta)
{
    double turn[3], scale = sign * (row->impulse * body->inverse_mass);
    if (body->inverse_mass == 0)
        return;
    mmd_mat3_transform(body->inverse_inertia_world, angular, turn);
    for (int i = 0; i < 3; i++) {
        delta->axes[i][LINEAR] += row->linear[i] * scale;
        delta->axes[i][ANGULAR] += turn[i] * row->impulse;
    }
}

void mmd_constraint_solver_begin(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies)
{
    memset(solver->deltas, 0, (solver->body_count + 1) * sizeof *solver->deltas);
    set_schedule(solver, rows, row_count, bodies);
    set_blocks(solver, rows, bodies);
    for (const mmd_constraint_row *row = rows; row < rows + row_count; row++) {
        if (row->impulse == 0)
            continue;
        warm_start(&bodies[row->body_a], row, 1, row->angular_a, &solver->deltas[row->body_a]);
        warm_start(&bodies[row->body_b], row, -1, row->angular_b, &solver->deltas[row->body_b]);
    }
}

/* The iteration for every CPU: a half in each register. */

#define ITERATE mmd_constraint_iterate
#define TARGET
#define LOAD(p, q, r) mmd_double2_load((r) ? (q) : (p))
#define STORE(v, p, q, r) mmd_double2_store(v, (r) ? (q) : (p))
#define ADD_SIDES(v) ((v)[0] = (v)[1] = (v)[0] + (v)[1])
#define PICK(a, b, x, y) __builtin_shufflevector(a, b, x, y)
#define LEAST(a, b) mmd_double2_min(a, b)
#define GREATEST(a, b) mmd_double2_max(a, b)
#define SELECT(mask, yes, no) mmd_double2_select(mask, yes, no)

typedef mmd_double2 lanes;
enum { REGISTERS = 2 };

#include "core/physics/constraint_iterate.h"

void mmd_constraint_solver_iterate(mmd_constraint_solver *solver)
{
#ifdef MMD_CPU_X86
    if (mmd_cpu_has_avx2()) {
        mmd_constraint_iterate_avx2(solver);
        return;
    }
#endif
    mmd_constraint_iterate(solver);
}

void mmd_constraint_solver_end(const mmd_constraint_solver *solver, mmd_body *bodies)
{
    for (size_t i = 0; i < solver->body_count; i++) {
        if (bodies[i].inverse_mass == 0) /* its delta may be 0 times infinity */
            continue;
        for (int k = 0; k < 3; k++) {
            const double *added = solver->deltas[i].axes[k];
            bodies[i].state.velocity[k] += added[LINEAR];
            bodies[i].state.angular_velocity[k] += added[ANGULAR];
        }
    }
}
