/* SPDX-License-Identifier: MIT */
/* The SIMD kernel (skin_simd.h) for SSE2, which every x86-64 CPU has: four vertices at a time. */
#include "core/skin/skin.h"

#ifdef MMD_CPU_X86

#include <immintrin.h>

#define KERNEL mmd_skin_sse2
#define WIDTH 4
#define TARGET
#define SPLAT(x) _mm_set1_ps(x)
#define FMA(a, b, c) ((a) * (b) + (c))
#define RSQRT(x) (SPLAT(1) / _mm_sqrt_ps(x))
#define ANY(m) (_mm_movemask_ps((__m128)(m)) != 0)
#define STORE3(out, v) store_first3(out, v)
#define QUARTET(v, k) (v)
#include "core/skin/skin_simd.h"

#endif
