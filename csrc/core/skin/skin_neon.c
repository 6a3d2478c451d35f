/* SPDX-License-Identifier: MIT */
/* The SIMD kernel (skin_simd.h) for NEON, part of every AArch64 CPU: four vertices at a time. */
#include "core/skin/skin.h"

#ifdef MMD_CPU_ARM

#include <arm_neon.h>

#define KERNEL mmd_skin_neon
#define WIDTH 4
#define TARGET
#define SPLAT(x) vdupq_n_f32(x)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define RSQRT(x) (SPLAT(1) / vsqrtq_f32(x))
#define ANY(m) (vmaxvq_u32((uint32x4_t)(m)) != 0)
#define STORE3(out, v) store_first3(out, v)
#define QUARTET(v, k) (v)
#include "core/skin/skin_simd.h"

#endif
