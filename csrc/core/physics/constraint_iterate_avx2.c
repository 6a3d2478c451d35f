/* SPDX-License-Identifier: MIT */
/* The solver's iteration (constraint_iterate.h) for AVX2, which without FMA gives the same bits:
   both halves in one register. */
#include "core/base/cpu.h"
#include "core/physics/constraint_solver.h"

#ifdef MMD_CPU_X86

#include <immintrin.h>

#define ITERATE mmd_constraint_iterate_avx2
#define TARGET __attribute__((target("avx2")))
#define LOAD(p, q, r) _mm256_loadu2_m128d(q, p)
#define STORE(v, p, q, r) _mm256_storeu2_m128d(q, p, v)
#define ADD_SIDES(v) ((v)[0] += _mm256_permute2f128_pd((v)[0], (v)[0], 1))
#define LANE(x) ((x) / 2 * 4 + (x) % 2)
#define PICK(a, b, x, y) __builtin_shufflevector(a, b, LANE(x), LANE(y), LANE(x) + 2, LANE(y) + 2)
#define LEAST(a, b) _mm256_min_pd(b, a)
#define GREATEST(a, b) _mm256_max_pd(b, a)
#define SELECT(mask, yes, no) _mm256_blendv_pd(no, yes, (__m256d)(mask))

typedef __m256d lanes;
enum { REGISTERS = 1 };

#include "core/physics/constraint_iterate.h"

#endif
