/* SPDX-License-Identifier: MIT */
#ifndef MMD_WORLD_H
#define MMD_WORLD_H

#include "core/physics/body.h"

/* The rigid bodies and joints of one model or several, stepped together: Bullet's
   btDiscreteDynamicsWorld. The same bodies, kinematic transforms and settings give the same bits in
   every run, on every compiler. */
typedef struct mmd_world mmd_world;

typedef struct mmd_world_settings {
    double gravity[3]; /* units per second squared */
    double hz;         /* steps per second */
    int iterations;    /* of the solver, per step */
    bool ground;       /* a static plane at y = ground_height */
    double ground_height;
    bool additional_damping; /* slow bodies come to rest: btRigidBody's m_additionalDamping */
    bool collide_connected;  /* bodies that a joint connects collide with each other */
} mmd_world_settings;

typedef struct mmd_world_desc {
    size_t body_count, joint_count;
    const mmd_rigid_body *bodies;
    const mmd_joint *joints;
    const int32_t *joint_order; /* the joints to solve, in order; NULL: all, in Bullet's order */
    size_t joint_order_count;
    bool contacts;
    mmd_world_settings settings;
} mmd_world_desc;

enum { MMD_WORLD_MAX_HZ = 100000, MMD_WORLD_MAX_ITERATIONS = 1000 };

/* Whether bodies, joints and settings (not joint_order) are what a world can simulate. Fails with
   MMD_E_ARGUMENT, which names what is not; in world_check.c. */
bool mmd_world_check(const mmd_world_desc *desc, mmd_error *err);

/* Bodies at rest. Copies the arrays. Fails with MMD_E_ARGUMENT, as mmd_world_check() does and for
   joint_order, or with MMD_E_MEMORY. */
mmd_world *mmd_world_new(const mmd_world_desc *desc, mmd_error *err);
void mmd_world_free(mmd_world *world);

size_t mmd_world_body_count(const mmd_world *world);
size_t mmd_world_kinematic_count(const mmd_world *world);

/* One step. `kinematic_transforms` (K,7), position and rotation x y z w, are the poses to which the
   kinematic bodies move, in the order of bodies; NULL: they stay. Fails with MMD_E_ARGUMENT, and
   changes nothing, if a number is not finite or exceeds 1e6, or a rotation has zero length. */
bool mmd_world_step(mmd_world *world, const double *kinematic_transforms, mmd_error *err);

/* (N,13): position, rotation x y z w, velocity, angular velocity of each body. */
void mmd_world_state(const mmd_world *world, double *state);
/* Normalizes rotations and removes all contacts. Fails as mmd_world_step() does. */
bool mmd_world_set_state(mmd_world *world, const double *state, mmd_error *err);

/* mmd_body_apply_impulse() of a body; one of infinite mass does not move. Fails with
   MMD_E_ARGUMENT, and changes nothing, for a body that does not exist, or if a number or a velocity
   that it yields is not finite or exceeds 1e6. */
bool mmd_world_apply_impulse(mmd_world *world, size_t body, const double impulse[3],
                             const double torque[3], mmd_error *err);

/* The contacts of the last step, (P,10): bodies a and b (-1: the ground), a point on b, the normal
   from there to a, the distance along it, the impulse. Returns P; NULL only counts. */
size_t mmd_world_contact_points(const mmd_world *world, double *points);

size_t mmd_world_joint_count(const mmd_world *world);

/* (J,2) how far each joint of the desc is beyond its limits: linear (units) and angular (rad). 0
   for joints that are not solved. */
void mmd_world_strain(const mmd_world *world, double *strain);

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

/* Everything but masses that later steps depend on. Writes it to `bytes`, and returns its size;
   NULL only counts. The same world can be restored from it. */
size_t mmd_world_save(const mmd_world *world, void *bytes);
void mmd_world_restore(mmd_world *world, const void *bytes);
/* Whether bytes from outside, as from a pickle, are ones that the world can be restored from. */
bool mmd_world_can_restore(const mmd_world *world, const void *bytes, size_t size);

#endif
