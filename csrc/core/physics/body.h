/* SPDX-License-Identifier: MIT */
#ifndef MMD_BODY_H
#define MMD_BODY_H

#include "mmdskin.h"

/* Rigid bodies in motion. The equations are those of Bullet 2.75, which MMD names;
   its quirks are noted where they are met. */

enum { MMD_BODY_GROUPS = 16 };

#define MMD_FARTHEST 1e6 /* of places and speeds, along each axis */

/* Where a body is and how it moves: (position 3, quaternion x y z w, velocity 3, spin 3). */
typedef struct mmd_body_state {
    double position[3], rotation[4];
    double velocity[3], spin[3]; /* per second, about the axes of space */
} mmd_body_state;

typedef struct mmd_body {
    mmd_body_state state;
    double axes[3][3];               /* the matrix of state.rotation */
    double inverse_mass;             /* 0: nothing moves it */
    double inverse_inertia[3];       /* about its own axes */
    double inverse_tensor[3][3];     /* about those of space */
    double velocity_kept, spin_kept; /* by damping, in one step */
    double linear_damping, angular_damping;
    bool follows; /* its places are given */
    bool lost;    /* has left the numbers since this was last set to false */
} mmd_body;

/* T(position) Ry Rx Rz: how PMX writes the rest place of bodies and joints. */
void mmd_rest_rotation(const float angles[3], double rotation[4]);

/* At rest. `step` in seconds. */
void mmd_body_init(const mmd_rigid_body *source, double step, mmd_body *body);

/* What follows from the state: axes, inverse_tensor. */
void mmd_body_placed(mmd_body *body);

/* The length of the steps from here on, in seconds. */
void mmd_body_set_period(mmd_body *body, double step);

/* While it is held nothing moves it, and its places are given. `source` is what it was made of. */
void mmd_body_hold(mmd_body *body, const mmd_rigid_body *source, bool held);

/* Takes its speed. */
void mmd_body_rest(mmd_body *body);

/* Stands at a new place from here on; its motion is the way from the old one, as far as
   MMD_FARTHEST allows. */
void mmd_body_follow(mmd_body *body, const double position[3], const double rotation[4],
                     double step);

/* A step's acceleration and damping; `extra` brings slow bodies to rest. */
void mmd_body_accelerate(mmd_body *body, const double gravity[3], double step, bool extra);

/* Moves by its velocities. A body that would leave the numbers stays where it is, at rest, and is
   lost. */
void mmd_body_advance(mmd_body *body, double step);

#endif
