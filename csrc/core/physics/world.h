/* SPDX-License-Identifier: MIT */
#ifndef MMD_WORLD_H
#define MMD_WORLD_H

#include "core/physics/body.h"

/* Rigid bodies of one model, stepped together. The same bodies, places and settings give the same
   bits in every run, on every compiler. */
typedef struct mmd_world mmd_world;

typedef struct mmd_world_settings {
    double gravity[3]; /* units per second squared */
    double hz;         /* steps per second */
    int iterations;    /* sweeps per step */
    bool ground;       /* the plane y = ground_height holds what falls */
    double ground_height;
    bool damping_extra;
    bool joined_collide; /* bodies that a joint holds together touch each other */
} mmd_world_settings;

typedef struct mmd_world_desc {
    size_t body_count, joint_count;
    const mmd_rigid_body *bodies;
    const mmd_joint *joints;
    const int32_t *joint_order; /* joints that are solved, in their order; NULL: all, in Bullet's */
    size_t joint_order_count;
    bool contacts;
    mmd_world_settings settings;
} mmd_world_desc;

enum { MMD_WORLD_HZ = 100000, MMD_WORLD_ITERATIONS = 1000 }; /* at most */

/* Bodies at rest. The arrays are copied. Fails with MMD_E_ARGUMENT, which names the body or joint,
   or MMD_E_MEMORY. */
mmd_world *mmd_world_new(const mmd_world_desc *desc, mmd_error *err);
void mmd_world_free(mmd_world *world);

size_t mmd_world_body_count(const mmd_world *world);
/* Bodies that follow bones. */
size_t mmd_world_follower_count(const mmd_world *world);

/* (N,13): position, rotation x y z w, velocity, spin of each body. */
void mmd_world_state(const mmd_world *world, double *state);
/* Rotations are normalised; what touched is forgotten. Fails with MMD_E_ARGUMENT, and changes
   nothing, where a number is not finite, is past 1e6 or a rotation has no length. */
bool mmd_world_set_state(mmd_world *world, const double *state, mmd_error *err);

/* What touched in the last step. (P,10): bodies a and b (-1: the ground), a point on b, the
   direction from there to a, the distance along it, the impulse. NULL counts only. */
size_t mmd_world_points(const mmd_world *world, double *points);

/* (J,2) how far each joint of the desc stands beyond its limits: units along its axes, radians
   about them. 0 for those that are not solved. */
void mmd_world_strain(const mmd_world *world, double *strain);

/* The joint that stands farthest beyond its limits along its axes, and how far; 0 without joints.
 */
double mmd_world_stretch(const mmd_world *world, size_t *joint);

/* For a simulation, which keeps what it writes finite. Bodies in their order, to be read and moved
   between steps; a step with the bodies as they are; whether one is farther beyond the limits of
   the joint it hangs on than `most` units, the first of those joints, and none is any more;
   contacts forgotten; another length of the steps, in seconds. */
mmd_body *mmd_world_bodies(mmd_world *world);
void mmd_world_advance(mmd_world *world);
bool mmd_world_leash(mmd_world *world, double most, size_t *joint);
void mmd_world_forget(mmd_world *world);
void mmd_world_set_period(mmd_world *world, double seconds);

/* All that later steps depend on but masses: writes so many bytes, or counts them for NULL, to
   which the same world may go back. */
size_t mmd_world_save(const mmd_world *world, void *bytes);
void mmd_world_restore(mmd_world *world, const void *bytes);
/* Whether bytes from elsewhere are sound, so that a world may go there. */
bool mmd_world_fits(const mmd_world *world, const void *bytes, size_t size);

/* One step. places: (K,7) position and rotation x y z w to which the bodies that follow bones go,
   in the order of bodies; NULL: they stay. Fails as mmd_world_set_state does. */
bool mmd_world_step(mmd_world *world, const double *places, mmd_error *err);

#endif
