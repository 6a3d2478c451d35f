/* SPDX-License-Identifier: MIT */
#ifndef MMD_CPU_H
#define MMD_CPU_H

#include <stdbool.h>

/* The instruction sets of this CPU. */

#if defined(__GNUC__) && defined(__x86_64__)
#define MMD_CPU_X86
#elif defined(__GNUC__) && defined(__aarch64__)
#define MMD_CPU_ARM
#endif

/* Whether functions may be compiled for AVX2 and FMA, or AVX-512 (F, VL and DQ), and called. */
bool mmd_cpu_has_avx2(void);
bool mmd_cpu_has_avx512(void);

#endif
