/* SPDX-License-Identifier: MIT */
#ifndef MMD_BODY_H
#define MMD_BODY_H

#include "mmdskin.h"

/* Rigid bodies: mass properties, damping and semi-implicit Euler integration. The equations are
   those of Bullet 2.75 (btRigidBody, btTransformUtil), which MMD names as its engine. */

enum { MMD_BODY_GROUPS = 16 };

#define MMD_BODY_LIMIT 1e6 /* largest position and velocity along each axis */

typedef struct mmd_body_pose {
    double position[3], rotation[4]; /* units; unit quaternion x y z w */
} mmd_body_pose;

/* In world space. The order of the numbers is that of World.state. */
typedef struct mmd_body_state {
    union {
        struct {
            double position[3], rotation[4];
        };
        mmd_body_pose pose; /* the same */
    };
    double velocity[3], angular_velocity[3]; /* units and radians per second */
} mmd_body_state;

typedef struct mmd_body {
    mmd_body_state state;
    double basis[3][3];                     /* the matrix of state.rotation */
    double inverse_mass;                    /* 0: infinite mass (kinematic or static) */
    double inverse_inertia_local[3];        /* about the body's own axes */
    double inverse_inertia_world[3][3];     /* the inverse inertia tensor about world axes */
    double linear_factor, angular_factor;   /* what damping leaves of 1 in a step */
    double linear_damping, angular_damping; /* 0 to 1, per second */
    bool kinematic;                         /* mode follow_bone: moved by kinematic transforms */
    bool diverged; /* would have left MMD_BODY_LIMIT since this was last set to false */
} mmd_body;

/* The rest rotation Ry Rx Rz of PMX bodies and joints. */
void mmd_body_rest_rotation(const float angles[3], double rotation[4]);

/* At its rest pose. `time_step` in seconds. */
void mmd_body_init(const mmd_rigid_body *source, double time_step, mmd_body *body);

/* Updates basis and inverse_inertia_world after state.rotation has changed. */
void mmd_body_update_basis(mmd_body *body);

/* Sets the mass properties: infinite mass unless `dynamic` and source->mass > 0. `source` is the
   one that the body was made from. */
void mmd_body_set_dynamic(mmd_body *body, const mmd_rigid_body *source, bool dynamic);

/* Sets its velocities to zero. */
void mmd_body_stop(mmd_body *body);

/* Changes its velocities by an impulse at its center (mass units/s) and an angular impulse (mass
   units^2/s), along world axes. */
void mmd_body_apply_impulse(mmd_body *body, const double impulse[3], const double torque[3]);

/* Moves it to a pose. Its velocities become those that lead there in one step, clamped to
   MMD_BODY_LIMIT, so that contacts and joints feel the motion. */
void mmd_body_move_kinematic(mmd_body *body, const mmd_body_pose *pose, double time_step);

/* Applies gravity and damping to the velocities, in air that moves by `wind` (units/s), NULL: still
   air. `additional_damping` stops bodies that are slow in it. */
void mmd_body_integrate_velocity(mmd_body *body, const double gravity[3], const double *wind,
                                 double time_step, bool additional_damping);

/* Moves it by its velocities. A body that would exceed MMD_BODY_LIMIT, or become NaN, keeps its
   pose, stops and is marked as diverged. */
void mmd_body_integrate_pose(mmd_body *body, double time_step);

/* Whether no component exceeds MMD_BODY_LIMIT, or is NaN. */
bool mmd_body_is_in_range(const double v[3]);

/* Whether the numbers of a pose from outside are in range. */
bool mmd_body_pose_is_valid(const mmd_body_pose *pose);

/* The pose a fraction of a step back in time: `current` at 0, `previous` at 1. Positions by linear
   interpolation, rotations by normalized linear interpolation along the shorter arc. */
void mmd_body_pose_interpolate(const mmd_body_pose *current, const mmd_body_pose *previous,
                               double fraction, mmd_body_pose *pose);

/* Moves the pose of a state on by its velocities. */
void mmd_body_pose_extrapolate(const mmd_body_state *state, double seconds, mmd_body_pose *pose);

/* Collision shapes. Each is a core rounded by a radius (their Minkowski sum): a sphere is a point,
   a capsule a segment along y, a box a smaller box. */
typedef struct mmd_shape {
    mmd_body_shape kind;
    double core[3]; /* half extents of the core */
    double radius;
    double margin;             /* the part of the radius that GJK leaves out (collision margin) */
    double half_extents[3];    /* of the whole shape */
    double breaking_threshold; /* a contact lasts until the surfaces are farther apart than this */
} mmd_shape;

void mmd_shape_init(const mmd_rigid_body *source, mmd_shape *shape);

/* Diagonal of the inertia tensor about the body's own axes; its mass is positive. */
void mmd_shape_inertia(const mmd_rigid_body *source, double inertia[3]);

/* Half extents of its axis-aligned bounding box when rotated, as Bullet's getAabb: that of a
   capsule is the one of its bounding box, enlarged by the margin. */
void mmd_shape_aabb(const mmd_shape *shape, const double basis[3][3], double half_extents[3]);

/* The point with the least y, of the shape at a position. */
void mmd_shape_lowest_point(const mmd_shape *shape, const double position[3],
                            const double basis[3][3], double point[3]);

#endif
