/* SPDX-License-Identifier: MIT */
#ifndef MMD_ELEMENTARY_H
#define MMD_ELEMENTARY_H

/* Functions whose last bits differ between the C libraries of the systems; these are the same on
   every compiler, as they use only what IEEE 754 rounds correctly. Within 2e-16 of the truth,
   relative to the result or to 1 (mmd_sin, mmd_cos: up to an angle of 1e6). */

void mmd_sin_cos(double angle, double *sine, double *cosine);
double mmd_atan2(double y, double x);

/* -1 to 1; values beyond count as those. */
double mmd_asin(double sine);

/* base 0 to 1, exponent > 0. */
double mmd_power(double base, double exponent);

#endif
