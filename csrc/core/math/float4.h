/* SPDX-License-Identifier: MIT */
#ifndef MMD_FLOAT4_H
#define MMD_FLOAT4_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Four floats in one register. */
typedef float mmd_float4 __attribute__((vector_size(16)));
typedef int32_t mmd_float4_bits __attribute__((vector_size(16)));

/* In each lane a number of `yes` if that lane's bits of the mask are set, else of `no`. */
static inline mmd_float4 mmd_float4_select(mmd_float4_bits mask, mmd_float4 yes, mmd_float4 no)
{
    return (mmd_float4)((mask & (mmd_float4_bits)yes) | (~mask & (mmd_float4_bits)no));
}

/* In each lane; a where it is not less, or not greater, than b, also where one of them is NaN. */
static inline mmd_float4 mmd_float4_max(mmd_float4 a, mmd_float4 b)
{
#ifdef __SSE2__
    return (mmd_float4)_mm_max_ps((__m128)b, (__m128)a);
#else
    return mmd_float4_select(a < b, b, a);
#endif
}

static inline mmd_float4 mmd_float4_min(mmd_float4 a, mmd_float4 b)
{
#ifdef __SSE2__
    return (mmd_float4)_mm_min_ps((__m128)b, (__m128)a);
#else
    return mmd_float4_select(a > b, b, a);
#endif
}

#endif
