/* SPDX-License-Identifier: MIT */
/* The SIMD kernel (skin_simd.h) for AVX-512 F, VL and DQ: eight vertices at a time. */
#include "core/skin/skin.h"

#ifdef MMD_CPU_X86

#include <immintrin.h>

/* Eight lanes, as vertex blocks have: AVX-512 gains by its 32 registers and better estimate. */
#define KERNEL mmd_skin_avx512
#define WIDTH 8
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq")))
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define RSQRT(x) refine_rsqrt(x, _mm256_rsqrt14_ps(x))
#define ANY(m) (_mm256_movemask_ps((__m256)(m)) != 0)
#define STORE3(out, v) _mm_mask_storeu_ps(out, 7, v)
#define QUARTET(v, k) ((simd_float4)_mm256_extractf128_ps(v, k))

#include "core/skin/skin_simd.h"

#endif
