/* SPDX-License-Identifier: MIT */
#ifndef MMD_CPU_H
#define MMD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The instruction sets of this CPU. */

#if defined(__GNUC__) && defined(__x86_64__)
#define MMD_CPU_X86
#elif defined(__GNUC__) && defined(__aarch64__)
#define MMD_CPU_ARM
#endif

/* Whether functions may be compiled for AVX2 and FMA, or AVX-512 (F, VL and DQ), and called. */
bool mmd_cpu_has_avx2(void);
bool mmd_cpu_has_avx512(void);

/* Copies by non-temporal stores, which write whole cache lines and read nothing of the target, for
   results that exceed the caches. */

#ifdef __SSE2__
#include <stdint.h>
#include <xmmintrin.h>

enum { MMD_STREAMS = 1, MMD_STREAM_LINE = 64 };

static inline void mmd_stream(float *to, const float *from, size_t count)
{
    const size_t line = MMD_STREAM_LINE / sizeof *to;
    size_t head = (size_t)(-(uintptr_t)to % MMD_STREAM_LINE) / sizeof *to;
    head = head < count ? head : count;
    memcpy(to, from, head * sizeof *to);
    size_t i = head;
    for (; i + line <= count; i += line)
        for (size_t k = i; k < i + line; k += 4)
            _mm_stream_ps(to + k, _mm_loadu_ps(from + k));
    memcpy(to + i, from + i, (count - i) * sizeof *to);
}

/* Makes the streamed data visible to other threads. */
static inline void mmd_stream_fence(void)
{
    _mm_sfence();
}

#else
enum { MMD_STREAMS = 0 };

static inline void mmd_stream(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
}

static inline void mmd_stream_fence(void)
{
}
#endif

#endif
