/* SPDX-License-Identifier: MIT */
/* Setup and solution of constraint rows; constraint_solver.h has the equations. */
#include "core/physics/constraint_solver.h"

#include "core/math/mat3.h"

#include <float.h>

/* Two rows in memory: this, then in `terms`

       n                  of linear rows and friction
       r_a, I_a^-1 r_a    of the first side
       r_b, I_b^-1 r_b    of the second side, whose linear axis is -n

   If there is one side, that of B, n is its linear axis. */
typedef struct row_pair {
    mmd_double2 effective_mass, rhs, lower_impulse, upper_impulse, impulse;
    mmd_double2 inverse_mass[2];       /* of the sides */
    uint32_t bodies[2][2];             /* of each side, in each lane */
    const double *contact_impulses[2]; /* of friction, in each lane */
    mmd_double2 terms[];
} row_pair;

enum { HEADER = sizeof(row_pair) / sizeof(mmd_double2), MAX_PAIR = HEADER + 15 };

enum {
    TWO_SIDED_ANGULAR = MMD_CONSTRAINT_TWO_SIDED + MMD_CONSTRAINT_ROW_ANGULAR,
    TWO_SIDED_LINEAR = MMD_CONSTRAINT_TWO_SIDED + MMD_CONSTRAINT_ROW_LINEAR,
    TWO_SIDED_FRICTION = MMD_CONSTRAINT_TWO_SIDED + MMD_CONSTRAINT_ROW_FRICTION
};

/* Numbers of a pair. */
static inline size_t size_of(bool two_sided, bool linear)
{
    return HEADER + (linear ? 3u : 0u) + (two_sided ? 12u : 6u);
}

bool mmd_constraint_solver_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                mmd_constraint_solver *solver)
{
    *solver = (mmd_constraint_solver){
        .body_count = body_count,
        .deltas = mmd_arena_alloc(arena, body_count + 1, sizeof *solver->deltas),
        .pairs = mmd_arena_alloc(arena, row_count, MAX_PAIR * sizeof *solver->pairs),
        .impulses = mmd_arena_alloc(arena, row_count, sizeof *solver->impulses)};
    return solver->deltas && solver->pairs && solver->impulses &&
           mmd_constraint_schedule_init(arena, body_count, row_count, &solver->schedule);
}

/* Setup */

#define INLINE static inline __attribute__((always_inline))

INLINE void load(const double *first, const double *second, mmd_double2 v[3])
{
    for (int i = 0; i < 3; i++)
        v[i] = (mmd_double2){first[i], second[i]};
}

INLINE mmd_double2 dot(const mmd_double2 a[3], const mmd_double2 b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The velocities of two bodies along axes. */
INLINE mmd_double2 velocity_along(const mmd_double2 axis[3], const double *first,
                                  const double *second)
{
    mmd_double2 velocity[3];
    load(first, second, velocity);
    return dot(axis, velocity);
}

/* Sets the terms of a side. Returns what it adds to the inverse effective mass by turning. */
INLINE mmd_double2 set_side(const mmd_body *first, const mmd_body *second,
                            const mmd_double2 angular[3], mmd_double2 *terms)
{
    for (int i = 0; i < 3; i++) {
        terms[i] = angular[i];
        terms[3 + i] = velocity_along(angular, first->inverse_inertia_world[i],
                                      second->inverse_inertia_world[i]);
    }
    return dot(terms + 3, angular);
}

/* The body of the only side of a row. */
static inline bool is_side_a(const mmd_constraint_row *row, const mmd_body *bodies)
{
    return bodies[row->body_a].inverse_mass > 0;
}

INLINE void set_pair(const mmd_constraint_row *first, const mmd_constraint_row *second,
                     const mmd_body *bodies, bool two_sided, bool linear, row_pair *pair)
{
    const mmd_body *first_a = &bodies[first->body_a], *first_b = &bodies[first->body_b];
    const mmd_body *second_a = &bodies[second->body_a], *second_b = &bodies[second->body_b];
    bool a_of_first = two_sided || is_side_a(first, bodies);
    bool a_of_second = two_sided || is_side_a(second, bodies);
    mmd_double2 axis[3], angular_a[3], angular_b[3], *terms = pair->terms;
    load(first->angular_a, second->angular_a, angular_a);
    load(first->angular_b, second->angular_b, angular_b);
    mmd_double2 inverse_mass_a = {first_a->inverse_mass, second_a->inverse_mass};
    mmd_double2 inverse_mass_b = {first_b->inverse_mass, second_b->inverse_mass};
    mmd_double2 velocity = velocity_along(angular_a, first_a->state.angular_velocity,
                                          second_a->state.angular_velocity);
    mmd_double2 inverse_effective_mass;
    if (linear) {
        load(first->linear, second->linear, axis);
        velocity = velocity_along(axis, first_a->state.velocity, second_a->state.velocity) +
                   velocity -
                   velocity_along(axis, first_b->state.velocity, second_b->state.velocity);
        mmd_double2 sign = {a_of_first ? 1 : -1, a_of_second ? 1 : -1};
        for (int i = 0; i < 3; i++)
            terms[i] = two_sided ? axis[i] : axis[i] * sign;
        terms += 3;
    }
    velocity += velocity_along(angular_b, first_b->state.angular_velocity,
                               second_b->state.angular_velocity);
    pair->bodies[0][0] = a_of_first ? first->body_a : first->body_b;
    pair->bodies[0][1] = a_of_second ? second->body_a : second->body_b;
    if (two_sided) {
        pair->bodies[1][0] = first->body_b;
        pair->bodies[1][1] = second->body_b;
        pair->inverse_mass[0] = inverse_mass_a;
        pair->inverse_mass[1] = inverse_mass_b;
        inverse_effective_mass = set_side(first_a, second_a, angular_a, terms) +
                                 set_side(first_b, second_b, angular_b, terms + 6);
    } else {
        mmd_double2 angular[3];
        pair->inverse_mass[0] = inverse_mass_a + inverse_mass_b; /* one of them is 0 */
        load(a_of_first ? first->angular_a : first->angular_b,
             a_of_second ? second->angular_a : second->angular_b, angular);
        inverse_effective_mass =
            set_side(&bodies[pair->bodies[0][0]], &bodies[pair->bodies[0][1]], angular, terms);
    }
    if (linear)
        inverse_effective_mass += (inverse_mass_a + inverse_mass_b) * dot(axis, axis);
    pair->effective_mass = mmd_double2_select(inverse_effective_mass > DBL_MIN,
                                              1 / inverse_effective_mass, (mmd_double2){0, 0});
    mmd_double2 target_velocity = {first->target_velocity, second->target_velocity};
    pair->rhs = (target_velocity - velocity) * pair->effective_mass;
    pair->lower_impulse = (mmd_double2){first->lower_impulse, second->lower_impulse};
    pair->upper_impulse = (mmd_double2){first->upper_impulse, second->upper_impulse};
    pair->impulse = (mmd_double2){first->impulse, second->impulse};
}

INLINE bool is_two_sided(uint32_t pair_kind)
{
    return pair_kind >= MMD_CONSTRAINT_TWO_SIDED;
}

INLINE mmd_constraint_row_kind row_kind_of(uint32_t pair_kind)
{
    return (mmd_constraint_row_kind)(pair_kind % MMD_CONSTRAINT_TWO_SIDED);
}

/* Where the next pair is read and written. */
typedef struct setup_cursor {
    const uint32_t *of_lanes;
    mmd_double2 *next;
} setup_cursor;

/* Sets up the pairs of one level and kind. An empty row does nothing to the ground. */
INLINE void set_run(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                    const mmd_body *bodies, const uint32_t *counts, uint32_t pair_kind,
                    setup_cursor *cursor)
{
    static const double no_impulse = 0;
    const uint32_t ground = (uint32_t)solver->body_count;
    const mmd_constraint_row empty = {.body_a = ground, .body_b = ground};
    mmd_constraint_row_kind kind = row_kind_of(pair_kind);
    bool two_sided = is_two_sided(pair_kind), linear = kind != MMD_CONSTRAINT_ROW_ANGULAR;
    const uint32_t *of_lanes = cursor->of_lanes;
    mmd_double2 *next = cursor->next;
    for (size_t i = 0; i < counts[pair_kind];
         i++, of_lanes += 2, next += size_of(two_sided, linear)) {
        row_pair *pair = (row_pair *)next;
        const double *impulses = (const double *)&pair->impulse;
        const mmd_constraint_row *first = &rows[of_lanes[0]], *second = &empty;
        solver->impulses[of_lanes[0]] = &impulses[0];
        if (of_lanes[1] != MMD_CONSTRAINT_NO_ROW) {
            second = &rows[of_lanes[1]];
            solver->impulses[of_lanes[1]] = &impulses[1];
        }
        set_pair(first, second, bodies, two_sided, linear, pair);
        if (kind == MMD_CONSTRAINT_ROW_FRICTION) {
            pair->contact_impulses[0] = solver->impulses[first->contact];
            pair->contact_impulses[1] =
                second == &empty ? &no_impulse : solver->impulses[second->contact];
        }
    }
    *cursor = (setup_cursor){of_lanes, next};
}

/* Each kind has code of its own, without a jump that depends on the kind. */
static void set_pairs(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                      const mmd_body *bodies)
{
    const mmd_constraint_schedule *schedule = &solver->schedule;
    const uint32_t *counts = schedule->pair_counts;
    setup_cursor cursor = {schedule->rows, solver->pairs};
    for (size_t i = 0; i < schedule->level_count; i++, counts += MMD_CONSTRAINT_PAIR_KINDS) {
        set_run(solver, rows, bodies, counts, MMD_CONSTRAINT_ROW_ANGULAR, &cursor);
        set_run(solver, rows, bodies, counts, MMD_CONSTRAINT_ROW_LINEAR, &cursor);
        set_run(solver, rows, bodies, counts, MMD_CONSTRAINT_ROW_FRICTION, &cursor);
        set_run(solver, rows, bodies, counts, TWO_SIDED_ANGULAR, &cursor);
        set_run(solver, rows, bodies, counts, TWO_SIDED_LINEAR, &cursor);
        set_run(solver, rows, bodies, counts, TWO_SIDED_FRICTION, &cursor);
    }
}

void mmd_constraint_solver_begin(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies)
{
    for (size_t i = 0; i <= solver->body_count; i++)
        solver->deltas[i] = (mmd_delta_velocity){.inverse_mass = bodies[i].inverse_mass};
    mmd_constraint_schedule_set(&solver->schedule, rows, row_count, bodies);
    set_pairs(solver, rows, bodies);
}

/* dV += M^-1 J^T lambda of one body */
static void warm_start(const mmd_body *body, const mmd_constraint_row *row, double sign,
                       const double angular[3], mmd_delta_velocity *delta)
{
    double turn[3];
    if (body->inverse_mass == 0)
        return;
    mmd_mat3_transform(body->inverse_inertia_world, angular, turn);
    mmd_vec3_add_scaled(row->linear, sign * (row->impulse * body->inverse_mass), delta->linear);
    mmd_vec3_add_scaled(turn, row->impulse, delta->angular);
}

void mmd_constraint_solver_warm_start(mmd_constraint_solver *solver, const mmd_constraint_row *row,
                                      const mmd_body *bodies)
{
    uint32_t a = row->body_a, b = row->body_b;
    warm_start(&bodies[a], row, 1, row->angular_a, &solver->deltas[a]);
    warm_start(&bodies[b], row, -1, row->angular_b, &solver->deltas[b]);
}

/* Solution: one function for all kinds of pairs, which is compiled for each. */

/* v += term * scale */
INLINE void add_scaled(const mmd_double2 term[3], mmd_double2 scale, const mmd_double2 v[3],
                       double *first, double *second)
{
    for (int i = 0; i < 3; i++) {
        mmd_double2 sum = v[i] + term[i] * scale;
        first[i] = sum[0];
        second[i] = sum[1];
    }
}

/* The delta velocities of one side's bodies. */
typedef struct side_deltas {
    mmd_delta_velocity *first, *second;
    mmd_double2 linear[3], angular[3];
} side_deltas;

INLINE void load_side(const row_pair *pair, size_t side, bool linear, mmd_delta_velocity *deltas,
                      side_deltas *out)
{
    out->first = &deltas[pair->bodies[side][0]];
    out->second = &deltas[pair->bodies[side][1]];
    load(out->first->angular, out->second->angular, out->angular);
    if (linear)
        load(out->first->linear, out->second->linear, out->linear);
}

/* dV += M^-1 J^T impulse */
INLINE void apply_side(const row_pair *pair, size_t side, bool linear, mmd_double2 impulse,
                       const side_deltas *deltas)
{
    const mmd_double2 *angular = pair->terms + (linear ? 3 : 0) + 6 * side;
    if (linear) {
        mmd_double2 scale = impulse * pair->inverse_mass[side];
        add_scaled(pair->terms, side ? -scale : scale, deltas->linear, deltas->first->linear,
                   deltas->second->linear);
    }
    add_scaled(angular + 3, impulse, deltas->angular, deltas->first->angular,
               deltas->second->angular);
}

INLINE void visit(row_pair *pair, bool two_sided, bool linear, mmd_double2 lower, mmd_double2 upper,
                  mmd_double2_bits active, mmd_delta_velocity *deltas)
{
    const mmd_double2 *angular = pair->terms + (linear ? 3 : 0);
    side_deltas a, b;
    load_side(pair, 0, linear, deltas, &a);
    mmd_double2 velocity = dot(angular, a.angular);
    if (two_sided) {
        load_side(pair, 1, linear, deltas, &b);
        velocity += dot(angular + 6, b.angular);
    }
    if (linear) {
        mmd_double2 along = dot(pair->terms, a.linear);
        velocity += two_sided ? along - dot(pair->terms, b.linear) : along;
    }
    mmd_double2 sum = pair->impulse + pair->rhs - velocity * pair->effective_mass;
    mmd_double2 clamped = mmd_double2_min(mmd_double2_max(sum, lower), upper);
    /* Not a number if a body's velocity has overflowed; the end of this step stops it. */
    clamped = mmd_double2_select((sum == sum) & active, clamped, pair->impulse);
    mmd_double2 impulse = clamped - pair->impulse;
    pair->impulse = clamped;
    apply_side(pair, 0, linear, impulse, &a);
    if (two_sided)
        apply_side(pair, 1, linear, impulse, &b);
}

/* Visits the pairs of one level and kind; returns where those of the next begin. */
INLINE mmd_double2 *visit_run(mmd_double2 *next, const uint32_t *counts, uint32_t pair_kind,
                              mmd_delta_velocity *deltas)
{
    mmd_constraint_row_kind kind = row_kind_of(pair_kind);
    bool two_sided = is_two_sided(pair_kind), linear = kind != MMD_CONSTRAINT_ROW_ANGULAR;
    for (size_t i = 0; i < counts[pair_kind]; i++, next += size_of(two_sided, linear)) {
        row_pair *pair = (row_pair *)next;
        mmd_double2 lower = pair->lower_impulse, upper = pair->upper_impulse;
        mmd_double2_bits active = {-1, -1};
        if (kind == MMD_CONSTRAINT_ROW_FRICTION) {
            mmd_double2 contact = {*pair->contact_impulses[0], *pair->contact_impulses[1]};
            active = contact > 0;
            lower *= contact;
            upper *= contact;
        }
        visit(pair, two_sided, linear, lower, upper, active, deltas);
    }
    return next;
}

void mmd_constraint_solver_iterate(mmd_constraint_solver *solver)
{
    const uint32_t *counts = solver->schedule.pair_counts;
    mmd_double2 *next = solver->pairs;
    mmd_delta_velocity *deltas = solver->deltas;
    for (size_t i = 0; i < solver->schedule.level_count; i++, counts += MMD_CONSTRAINT_PAIR_KINDS) {
        next = visit_run(next, counts, MMD_CONSTRAINT_ROW_ANGULAR, deltas);
        next = visit_run(next, counts, MMD_CONSTRAINT_ROW_LINEAR, deltas);
        next = visit_run(next, counts, MMD_CONSTRAINT_ROW_FRICTION, deltas);
        next = visit_run(next, counts, TWO_SIDED_ANGULAR, deltas);
        next = visit_run(next, counts, TWO_SIDED_LINEAR, deltas);
        next = visit_run(next, counts, TWO_SIDED_FRICTION, deltas);
    }
}

void mmd_constraint_solver_end(const mmd_constraint_solver *solver, mmd_body *bodies)
{
    for (size_t i = 0; i < solver->body_count; i++) {
        if (bodies[i].inverse_mass == 0) /* its delta may be 0 times infinity */
            continue;
        mmd_vec3_add_scaled(solver->deltas[i].linear, 1, bodies[i].state.velocity);
        mmd_vec3_add_scaled(solver->deltas[i].angular, 1, bodies[i].state.angular_velocity);
    }
}
