/* SPDX-License-Identifier: MIT */
/* The SIMD kernel (skin_simd.h) for AVX2 and FMA: eight vertices at a time. */
#include "core/skin/skin.h"

#ifdef MMD_CPU_X86

#include <immintrin.h>

#define KERNEL mmd_skin_avx2
#define WIDTH 8
#define TARGET __attribute__((target("avx2,fma")))
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define RSQRT(x) refine_rsqrt(x, _mm256_rsqrt_ps(x))
#define ANY(m) (_mm256_movemask_ps((__m256)(m)) != 0)
#define STORE3(out, v) store_first3(out, v)
#define QUARTET(v, k) ((simd_float4)_mm256_extractf128_ps(v, k))

#include "core/skin/skin_simd.h"

#endif
