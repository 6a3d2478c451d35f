/* SPDX-License-Identifier: MIT */
#ifndef MMD_SHAPE_H
#define MMD_SHAPE_H

#include "core/physics/body.h"

/* A shape is a core and the ball of `radius` around each of its points: the centre of a sphere, the
   middle line of a capsule (along y), a box less its margin. */
typedef struct mmd_shape {
    mmd_body_shape kind;
    double core[3]; /* half extents */
    double radius;
    double margin;   /* the part of the radius that a search for the gap leaves out */
    double half[3];  /* of the whole */
    double breaking; /* a contact lasts until the surfaces are farther apart than this */
} mmd_shape;

void mmd_shape_init(const mmd_rigid_body *source, mmd_shape *shape);

/* Half extents along the axes of space. */
void mmd_shape_extents(const mmd_shape *shape, const mmd_body *body, double extents[3]);

/* The lowest point of the body. */
void mmd_shape_lowest(const mmd_shape *shape, const mmd_body *body, double point[3]);

#endif
