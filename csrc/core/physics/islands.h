/* SPDX-License-Identifier: MIT */
#ifndef MMD_ISLANDS_H
#define MMD_ISLANDS_H

#include "mmdskin.h"

/* Numbers (N,) bodies so that those that joints hold together, by way of bodies that do not follow
   bones, have the same number. */
void mmd_islands_find(const mmd_model *model, size_t *islands);

#endif
