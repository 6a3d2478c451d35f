/* SPDX-License-Identifier: MIT */
#include "core/skin/cpu.h"

enum { ASKED = 1, AVX2 = 2, AVX512 = 4 };

#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>

static unsigned ask(void)
{
    /* Of XCR0, the registers that the system saves: SSE and AVX; AVX-512's three on top. */
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
#else
static unsigned ask(void)
{
    return 0;
}
#endif

/* Once: a virtual machine takes tens of microseconds to answer. */
static unsigned features(void)
{
    static _Atomic unsigned known;
    unsigned found = known;
    if (!found)
        known = found = ASKED | ask();
    return found;
}

bool mmd_cpu_has_avx2(void)
{
    return features() & AVX2;
}

bool mmd_cpu_has_avx512(void)
{
    return features() & AVX512;
}
