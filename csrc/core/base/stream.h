/* SPDX-License-Identifier: MIT */
#ifndef MMD_STREAM_H
#define MMD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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
