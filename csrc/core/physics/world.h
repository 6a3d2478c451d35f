/* SPDX-License-Identifier: MIT */
#ifndef MMD_WORLD_H
#define MMD_WORLD_H

#include "core/physics/body.h"

/* What a simulation does with its world, beyond the public API. */

/* Whether bodies, joints and settings (not joint_order) are what a world can simulate. Fails with
   MMD_E_ARGUMENT, which names what is not; in world_check.c. */
bool mmd_world_check(const mmd_world_desc *desc, mmd_error *err);

/* Fails with MMD_E_ARGUMENT if a number exceeds 1e6 or is not finite; in world_check.c. */
bool mmd_world_check_vector(const char *name, const double *vector, size_t count, mmd_error *err);

/* The largest linear excess of a joint over its limits, and that joint; 0 without joints. */
double mmd_world_max_stretch(const mmd_world *world, size_t *joint);

/* Unchecked access for a simulation: the bodies, to be read or set (to finite values) between
   steps; gravity; and a step that leaves kinematic bodies where they are. */
mmd_body *mmd_world_bodies(mmd_world *world);
void mmd_world_set_gravity(mmd_world *world, const double gravity[3]);
void mmd_world_advance(mmd_world *world);

/* Moves the child bodies of joints that are stretched by more than `max_stretch` units. Returns
   whether there were any; `joint` is the first. `largest` is the largest stretch before. */
bool mmd_world_limit_stretch(mmd_world *world, double max_stretch, double *largest, size_t *joint);

/* The pairs of neighboring bodies that the last step left out, as there were too many. */
size_t mmd_world_dropped_pairs(const mmd_world *world);

/* Removes the contacts of the bodies from `first` to before `end`. */
void mmd_world_clear_contacts(mmd_world *world, size_t first, size_t end);

/* mmd_world_load() of bytes that this world has saved. */
void mmd_world_restore(mmd_world *world, const void *bytes, size_t size);

#endif
