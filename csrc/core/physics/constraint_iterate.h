/* SPDX-License-Identifier: MIT */
/* The body of the solver's iteration (constraint_solver.h has the equations). A file per
   instruction set includes this one; constraint_solver.c does for those that have no file. It
   defines

   ITERATE, TARGET      name and attribute of the function
   lanes                a vector of one half, or of both
   REGISTERS            how many of them both halves need
   LOAD(p, q, r)        register r of halves at p and q
   STORE(v, p, q, r)
   ADD_SIDES(v)         in each half of v[REGISTERS] the sum of both
   PICK(a, b, x, y)     in each half lane x, then lane y: 0 and 1 are those of a, 2 and 3 of b
   LEAST(a, b), GREATEST(a, b), SELECT(mask, a, b)    as mmd_double2_min() */

#define INLINE TARGET static inline __attribute__((always_inline))

/* Register r of a block's numbers. */
#define LANES(numbers, r) (((const lanes *)&(numbers))[r])

/* Updates the impulse for a velocity along the axes; returns what is added to it. */
INLINE lanes change_impulse(mmd_constraint_block *block, lanes along, bool friction, lanes contact,
                            int r)
{
    lanes impulse = LANES(block->impulse, r);
    lanes lower = LANES(block->lower_turn_z, r), upper = LANES(block->upper_inverse_mass, r);
    lanes sum =
        impulse + LANES(block->rhs_turn_y, r) - along * LANES(block->effective_mass_turn_x, r);
    lanes clamped = friction ? LEAST(GREATEST(sum, lower * contact), upper * contact)
                             : LEAST(GREATEST(sum, lower), upper);
    /* Not a number if a body's velocity has overflowed; the end of this step stops it. */
    clamped = SELECT(friction ? (sum == sum) & (contact > 0) : sum == sum, clamped, impulse);
    clamped = PICK(clamped, clamped, 0, 0);
    ((lanes *)&block->impulse)[r] = clamped;
    return clamped - impulse;
}

/* Visits one block; `base` is the first of all. */
INLINE void visit(mmd_constraint_block *block, const mmd_constraint_links *links,
                  const mmd_constraint_block *base, mmd_delta_velocity *deltas, bool two_sided,
                  bool friction)
{
    double(*first)[2] = deltas[links->bodies[0]].axes;
    double(*second)[2] = deltas[links->bodies[1]].axes;
    lanes velocity[3][REGISTERS], along[REGISTERS], added = {0};
    for (int r = 0; r < REGISTERS; r++) {
        for (int i = 0; i < 3; i++)
            velocity[i][r] = LOAD(first[i], second[i], r);
        along[r] = LANES(block->jacobian[0], r) * velocity[0][r] +
                   LANES(block->jacobian[1], r) * velocity[1][r] +
                   LANES(block->jacobian[2], r) * velocity[2][r];
    }
    if (two_sided)
        ADD_SIDES(along);
    /* both lanes have it; read as it was stored, as the CPU forwards no store to a load of more */
    const double *contacts[2];
    for (int half = 0; half < 2; half++)
        contacts[half] = base[links->contacts[half] / 2].impulse.of[links->contacts[half] % 2];
    for (int r = 0; r < REGISTERS; r++) {
        if (r == 0 || !two_sided) /* else it is the same again */
            added = change_impulse(block, along[r] + PICK(along[r], along[r], 1, 0), friction,
                                   LOAD(contacts[0], contacts[1], r), r);
        const mmd_constraint_lanes *const turns[] = {&block->effective_mass_turn_x,
                                                     &block->rhs_turn_y, &block->lower_turn_z};
        lanes scale = PICK(added * LANES(block->upper_inverse_mass, r), added, 1, 3);
        for (int i = 0; i < 3; i++) {
            lanes response = PICK(LANES(block->jacobian[i], r), LANES(*turns[i], r), 0, 3);
            STORE(velocity[i][r] + response * scale, first[i], second[i], r);
        }
    }
}

TARGET void ITERATE(const mmd_constraint_solver *solver)
{
    const uint32_t *counts = solver->schedule.block_counts;
    const mmd_constraint_links *links = solver->links;
    mmd_constraint_block *block = solver->blocks, *base = solver->blocks;
    mmd_delta_velocity *deltas = solver->deltas;
    for (size_t i = 0; i < solver->schedule.level_count;
         i++, counts += MMD_CONSTRAINT_BLOCK_KINDS) {
        for (uint32_t k = counts[MMD_CONSTRAINT_ONE_SIDED]; k-- > 0; block++, links++)
            visit(block, links, base, deltas, false, false);
        for (uint32_t k = counts[MMD_CONSTRAINT_ONE_SIDED_FRICTION]; k-- > 0; block++, links++)
            visit(block, links, base, deltas, false, true);
        for (uint32_t k = counts[MMD_CONSTRAINT_TWO_SIDED]; k-- > 0; block++, links++)
            visit(block, links, base, deltas, true, false);
        for (uint32_t k = counts[MMD_CONSTRAINT_TWO_SIDED_FRICTION]; k-- > 0; block++, links++)
            visit(block, links, base, deltas, true, true);
    }
}
