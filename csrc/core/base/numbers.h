/* SPDX-License-Identifier: MIT */
#ifndef MMD_NUMBERS_H
#define MMD_NUMBERS_H

#include "mmdskin.h"

/* Checks and clamps for numbers that files or callers provide. */

/* Index of the first NaN or infinity, or `count`. */
size_t mmd_numbers_first_not_finite(const float *numbers, size_t count);

/* Replaces NaN and infinity by 0. */
void mmd_numbers_make_finite(float *numbers, size_t count);

/* The nearest number that a float can hold; 0 for NaN. */
double mmd_numbers_clamp_to_float(double number);

/* "NaN" or "infinite", for error texts. */
const char *mmd_numbers_not_finite_name(double number);

/* Fails unless the array `name` has one frame, which all frames of the job share, or `expected`. */
bool mmd_numbers_check_frame_count(const char *name, size_t frames, size_t expected,
                                   mmd_error *err);

/* Fails unless all frames, the array or number `name`, are finite. */
bool mmd_numbers_check_frames(const char *name, const double *frames, size_t count, mmd_error *err);

#endif
