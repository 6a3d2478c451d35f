/* SPDX-License-Identifier: MIT */
#include "core/skin/cpu.h"

#include "test.h"

#if defined(__x86_64__) && defined(__linux__)
/* gcc's own runtime is the judge. */
static void the_cpu_is_described_as_the_compiler_s_runtime_does(void)
{
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq");
    CHECK_INT(mmd_cpu_has_avx2(), avx2);
    CHECK_INT(mmd_cpu_has_avx512(), avx512);
}
#endif

static void wider_kernels_need_the_narrower_ones(void)
{
    CHECK(!mmd_cpu_has_avx512() || mmd_cpu_has_avx2());
}

void cpu_tests(void)
{
#if defined(__x86_64__) && defined(__linux__)
    RUN(the_cpu_is_described_as_the_compiler_s_runtime_does);
#endif
    RUN(wider_kernels_need_the_narrower_ones);
}
