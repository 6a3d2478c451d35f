/* SPDX-License-Identifier: MIT */
#include "core/physics/constraint_solver.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { BODIES = 60, ROWS = 120, ITERATIONS = 10 };

static void fill(uint32_t *random, double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        numbers[i] = (double)test_random_float(random, -1, 1);
}

/* Moving bodies, a third of them of infinite mass, and the ground. */
static void make_bodies(uint32_t *random, mmd_body *bodies)
{
    memset(bodies, 0, (BODIES + 1) * sizeof *bodies);
    for (int i = 0; i < BODIES; i++) {
        fill(random, bodies[i].state.velocity, 3);
        fill(random, bodies[i].state.angular_velocity, 3);
        if (i % 3 == 0)
            continue;
        bodies[i].inverse_mass = (double)test_random_float(random, 0.5f, 2);
        for (int k = 0; k < 3; k++)
            for (int m = 0; m <= k; m++)
                bodies[i].inverse_inertia_world[k][m] = bodies[i].inverse_inertia_world[m][k] =
                    k == m ? (double)test_random_float(random, 1, 2)
                           : (double)test_random_float(random, -0.4f, 0.4f);
    }
}

/* A third each: angular rows, linear ones, and friction of those. Some rows are between two bodies
   of infinite mass. */
enum { ANGULAR_ROWS = ROWS / 3, FRICTION = 2 * ANGULAR_ROWS };

static void make_rows(uint32_t *random, mmd_constraint_row *rows)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        mmd_constraint_row *row = &rows[i];
        *row = (mmd_constraint_row){.friction = i >= FRICTION};
        row->body_a = test_random(random) % BODIES;
        row->body_b = (row->body_a + 1 + test_random(random) % BODIES) % (BODIES + 1);
        if (row->friction) {
            row->contact = i - ANGULAR_ROWS;
            row->body_a = rows[row->contact].body_a;
            row->body_b = rows[row->contact].body_b;
        }
        if (i >= ANGULAR_ROWS)
            fill(random, row->linear, 3);
        fill(random, row->angular_a, 3);
        fill(random, row->angular_b, 3);
        row->target_velocity = (double)test_random_float(random, -1, 1);
        row->lower_impulse = (double)test_random_float(random, -0.3f, 0);
        row->upper_impulse = (double)test_random_float(random, 0, 0.3f);
        if (i >= ANGULAR_ROWS && !row->friction)
            row->impulse = (double)test_random_float(random, -0.1f, 0.1f);
    }
}

/* Numbers in the order of a Jacobian: v_a, w_a, v_b, w_b. */
typedef struct reference_row {
    double jacobian[4][3], moved[4][3]; /* J, M^-1 J^T */
    double effective_mass, rhs, impulse;
} reference_row;

static double dot_of(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void prepare(const mmd_constraint_row *row, const mmd_body *bodies, reference_row *out)
{
    const mmd_body *both[] = {&bodies[row->body_a], &bodies[row->body_b]};
    const double *angular[] = {row->angular_a, row->angular_b};
    double turning = 0, velocity = 0;
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            out->jacobian[2 * side][k] = side ? -row->linear[k] : row->linear[k];
            out->jacobian[2 * side + 1][k] = angular[side][k];
            out->moved[2 * side][k] = out->jacobian[2 * side][k];
            out->moved[2 * side + 1][k] =
                dot_of(both[side]->inverse_inertia_world[k], angular[side]);
        }
        turning += dot_of(out->moved[2 * side + 1], angular[side]);
        velocity += dot_of(out->jacobian[2 * side], both[side]->state.velocity);
        velocity += dot_of(angular[side], both[side]->state.angular_velocity);
    }
    double mass = turning + (both[0]->inverse_mass + both[1]->inverse_mass) *
                                dot_of(row->linear, row->linear);
    out->effective_mass = mass > 0 ? 1 / mass : 0;
    out->rhs = (row->target_velocity - velocity) * out->effective_mass;
    out->impulse = row->impulse;
}

static void add_impulse(const mmd_constraint_row *row, const reference_row *reference,
                        double impulse, const mmd_body *bodies, double deltas[][2][3])
{
    const uint32_t both[] = {row->body_a, row->body_b};
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 3; k++) {
            double linear = impulse * bodies[both[side]].inverse_mass;
            deltas[both[side]][0][k] += reference->moved[2 * side][k] * linear;
            deltas[both[side]][1][k] += reference->moved[2 * side + 1][k] * impulse;
        }
}

static void visit_row(const mmd_constraint_row *row, reference_row *reference,
                      const reference_row *contact, const mmd_body *bodies, double deltas[][2][3])
{
    if (row->friction && !(contact->impulse > 0))
        return;
    double limit = row->friction ? contact->impulse : 1, velocity[2];
    for (int part = 0; part < 2; part++)
        velocity[part] = dot_of(reference->jacobian[part], deltas[row->body_a][part]) +
                         dot_of(reference->jacobian[2 + part], deltas[row->body_b][part]);
    double sum = reference->impulse + reference->rhs -
                 (velocity[1] + velocity[0]) * reference->effective_mass;
    sum = fmin(fmax(sum, row->lower_impulse * limit), row->upper_impulse * limit);
    add_impulse(row, reference, sum - reference->impulse, bodies, deltas);
    reference->impulse = sum;
}

/* `portable`: not with the instructions of this CPU only. */
static void check_rows_one_by_one(bool portable)
{
    static mmd_body bodies[BODIES + 1], moved[BODIES + 1];
    static mmd_constraint_row rows[ROWS];
    static reference_row references[ROWS];
    double deltas[BODIES + 1][2][3] = {0};
    uint32_t random = 3;
    make_bodies(&random, bodies);
    make_rows(&random, rows);

    for (int i = 0; i < ROWS; i++) {
        prepare(&rows[i], bodies, &references[i]);
        add_impulse(&rows[i], &references[i], rows[i].impulse, bodies, deltas);
    }
    for (int iteration = 0; iteration < ITERATIONS; iteration++)
        for (int i = 0; i < ROWS; i++)
            visit_row(&rows[i], &references[i], &references[rows[i].contact], bodies, deltas);

    mmd_arena arena = {0};
    mmd_constraint_solver solver;
    memcpy(moved, bodies, sizeof moved);
    if (!CHECK(mmd_constraint_solver_init(&arena, BODIES, ROWS, &solver)))
        return;
    mmd_constraint_solver_begin(&solver, rows, ROWS, bodies);
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        if (portable)
            mmd_constraint_iterate(&solver);
        else
            mmd_constraint_solver_iterate(&solver);
    }
    mmd_constraint_solver_end(&solver, moved);

    for (int i = 0; i < ROWS; i++)
        CHECK(*solver.impulses[i] == references[i].impulse);
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++) {
            double linear = bodies[i].state.velocity[k] + deltas[i][0][k];
            double angular = bodies[i].state.angular_velocity[k] + deltas[i][1][k];
            CHECK(moved[i].state.velocity[k] == linear);
            CHECK(moved[i].state.angular_velocity[k] == angular);
        }
    size_t block_count = 0;
    for (size_t i = 0; i < MMD_CONSTRAINT_BLOCK_KINDS * solver.schedule.level_count; i++)
        block_count += solver.schedule.block_counts[i];
    CHECK(block_count < ROWS * 7 / 8);
    mmd_arena_free(&arena);
}

static void blocks_of_rows_give_the_bits_of_rows_one_by_one(void)
{
    check_rows_one_by_one(false);
    check_rows_one_by_one(true);
}

/* A body whose velocity overflows does not take others with it: not those of the row that shares
   its block, nor that of a row with two sides. */
static void a_row_that_is_not_a_number_changes_nothing(void)
{
    static mmd_body bodies[7];
    memset(bodies, 0, sizeof bodies);
    for (int i = 0; i < 6; i++)
        bodies[i].inverse_mass = i % 2 == 0 || i > 3;
    bodies[0].state.velocity[0] = bodies[4].state.velocity[0] = NAN;
    mmd_constraint_row rows[3];
    for (uint32_t i = 0; i < 3; i++)
        rows[i] = (mmd_constraint_row){.body_a = 2 * i,
                                       .body_b = 2 * i + 1,
                                       .linear = {1, 0, 0},
                                       .target_velocity = 4,
                                       .lower_impulse = -10,
                                       .upper_impulse = 10};
    mmd_arena arena = {0};
    mmd_constraint_solver solver;
    if (!CHECK(mmd_constraint_solver_init(&arena, 6, 3, &solver)))
        return;
    mmd_constraint_solver_begin(&solver, rows, 3, bodies);
    CHECK_INT(solver.schedule.block_counts[MMD_CONSTRAINT_ONE_SIDED], 1);
    CHECK_INT(solver.schedule.block_counts[MMD_CONSTRAINT_TWO_SIDED], 1);
    mmd_constraint_solver_iterate(&solver);
    mmd_constraint_solver_end(&solver, bodies);
    CHECK_NEAR(bodies[2].state.velocity[0], 4, 0);
    CHECK_NEAR(bodies[5].state.velocity[0], 0, 0);
    mmd_arena_free(&arena);
}

void constraint_solver_tests(void)
{
    RUN(blocks_of_rows_give_the_bits_of_rows_one_by_one);
    RUN(a_row_that_is_not_a_number_changes_nothing);
}
