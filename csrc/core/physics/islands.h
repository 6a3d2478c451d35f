/* SPDX-License-Identifier: MIT */
#ifndef MMD_ISLANDS_H
#define MMD_ISLANDS_H

#include "mmdskin.h"

/* Bodies that hold together. `islands` (N,) leads each body to another of its island, and on to the
   one that names it. */

/* Each body is an island. */
void mmd_islands_reset(size_t *islands, size_t body_count);

/* The body that names the island; ways become shorter. */
size_t mmd_island_of(size_t *islands, size_t body);

/* Makes one island of those of a and b; that of b gives the name. */
void mmd_islands_join(size_t *islands, size_t a, size_t b);

/* Numbers bodies so that those that joints hold together, by way of bodies that do not follow
   bones, have the same number. */
void mmd_islands_find(const mmd_model *model, size_t *islands);

#endif
