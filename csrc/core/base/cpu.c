/* SPDX-License-Identifier: MIT */
/* What this CPU can run, by cpuid. */
#include "core/base/cpu.h"

enum { QUERIED = 1, AVX2 = 2, AVX512 = 4 };

#ifdef MMD_CPU_X86
#include <cpuid.h>

/* By hand, as not every compiler fills the table behind __builtin_cpu_supports. */
static unsigned query_features(void)
{
    /* State that the system must save (XCR0): SSE and AVX; for AVX-512 three more registers. */
    const unsigned ymm = 0x06, zmm = 0xe6;
    const unsigned avx512 = bit_AVX512F | bit_AVX512VL | bit_AVX512DQ;
    unsigned a, b, c, d, saved, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & ymm) != ymm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
        return 0;
    return (saved & zmm) == zmm && (b & avx512) == avx512 ? AVX2 | AVX512 : AVX2;
}

/* Cached, as cpuid takes tens of microseconds in a virtual machine. */
static unsigned cpu_features(void)
{
    static _Atomic unsigned cached;
    unsigned features = cached;
    if (!features)
        cached = features = QUERIED | query_features();
    return features;
}
#else
static unsigned cpu_features(void)
{
    return 0;
}
#endif

bool mmd_cpu_has_avx2(void)
{
    return cpu_features() & AVX2;
}

bool mmd_cpu_has_avx512(void)
{
    return cpu_features() & AVX512;
}
