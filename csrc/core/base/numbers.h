/* SPDX-License-Identifier: MIT */
#ifndef MMD_NUMBERS_H
#define MMD_NUMBERS_H

#include <stddef.h>

/* Index of the first NaN or infinity, or `count`. */
size_t mmd_first_not_finite(const float *numbers, size_t count);

/* Makes NaN and infinities 0. */
void mmd_numbers_make_finite(float *numbers, size_t count);

/* "NaN" or "infinite": what an error says of such a number. */
const char *mmd_not_finite_name(double number);

#endif
