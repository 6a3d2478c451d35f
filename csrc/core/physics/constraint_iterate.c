/* SPDX-License-Identifier: MIT */
/* The solver's iteration (constraint_iterate.h) for every CPU: a half in each register. */
#include "core/physics/constraint_solver.h"

#define ITERATE mmd_constraint_iterate
#define TARGET
#define INLINE static inline __attribute__((always_inline))

typedef mmd_double2 lanes;
enum { REGISTERS = 2 };

INLINE lanes lanes_load(const double *p, const double *q, int r)
{
    return mmd_double2_load(r ? q : p);
}

INLINE void lanes_store(lanes v, double *p, double *q, int r)
{
    mmd_double2_store(v, r ? q : p);
}

INLINE void lanes_add_sides(lanes v[2])
{
    v[0] = v[1] = v[0] + v[1];
}

INLINE lanes lanes_swap(lanes v)
{
    return __builtin_shufflevector(v, v, 1, 0);
}

INLINE lanes lanes_first(lanes v)
{
    return __builtin_shufflevector(v, v, 0, 0);
}

INLINE lanes lanes_second(lanes a, lanes b)
{
    return __builtin_shufflevector(a, b, 1, 3);
}

INLINE lanes lanes_blend(lanes a, lanes b)
{
    return __builtin_shufflevector(a, b, 0, 3);
}

#define lanes_min mmd_double2_min
#define lanes_max mmd_double2_max
#define lanes_select mmd_double2_select

#include "core/physics/constraint_iterate.h"
