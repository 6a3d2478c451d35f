/* SPDX-License-Identifier: MIT */
#ifndef MMD_SHAPE_H
#define MMD_SHAPE_H

#include "mmdskin.h"

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
