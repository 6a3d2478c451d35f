/* SPDX-License-Identifier: MIT */
#ifndef MMD_CPU_H
#define MMD_CPU_H

#include <stdbool.h>

/* What the CPU has and the system keeps across threads. Always false on other machines than x86.
   Our own, as not every compiler fills the table behind __builtin_cpu_supports. */
bool mmd_cpu_has_avx2(void);   /* and FMA */
bool mmd_cpu_has_avx512(void); /* F, VL and DQ, and AVX2 */

#endif
