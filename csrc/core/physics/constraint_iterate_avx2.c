/* SPDX-License-Identifier: MIT */
/* The solver's iteration (constraint_iterate.h) for AVX2, which without FMA gives the same bits:
   both halves in one register. */
#include "core/base/cpu.h"
#include "core/physics/constraint_solver.h"

#ifdef MMD_CPU_X86

#include <immintrin.h>

#define ITERATE mmd_constraint_iterate_avx2
#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

typedef __m256d lanes;
enum { REGISTERS = 1 };

INLINE lanes lanes_load(const double *p, const double *q, int r)
{
    (void)r;
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(q), 1);
}

INLINE void lanes_store(lanes v, double *p, double *q, int r)
{
    (void)r;
    _mm_storeu_pd(p, _mm256_castpd256_pd128(v));
    _mm_storeu_pd(q, _mm256_extractf128_pd(v, 1));
}

INLINE void lanes_add_sides(lanes v[1])
{
    v[0] += _mm256_permute2f128_pd(v[0], v[0], 1);
}

INLINE lanes lanes_swap(lanes v)
{
    return _mm256_permute_pd(v, 5);
}

INLINE lanes lanes_first(lanes v)
{
    return _mm256_movedup_pd(v);
}

INLINE lanes lanes_second(lanes a, lanes b)
{
    return _mm256_unpackhi_pd(a, b);
}

INLINE lanes lanes_blend(lanes a, lanes b)
{
    return _mm256_blend_pd(a, b, 10);
}

INLINE lanes lanes_min(lanes a, lanes b)
{
    return _mm256_min_pd(b, a);
}

INLINE lanes lanes_max(lanes a, lanes b)
{
    return _mm256_max_pd(b, a);
}

INLINE lanes lanes_select(__m256i mask, lanes yes, lanes no)
{
    return _mm256_blendv_pd(no, yes, (__m256d)mask);
}

#include "core/physics/constraint_iterate.h"

#endif
