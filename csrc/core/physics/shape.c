/* SPDX-License-Identifier: MIT */
/* Collision shapes with the margins and inertia tensors of Bullet 2.75's btSphereShape, btBoxShape
   and btCapsuleShape. */
#include "core/physics/body.h"

#include "core/math/mat3.h"

/* Bullet's CONVEX_DISTANCE_MARGIN: of boxes, and in the bounding sphere of capsules. */
#define COLLISION_MARGIN 0.04

/* Bullet's gContactThresholdFactor: the contact breaking threshold relative to the radius of the
   bounding sphere (getAngularMotionDisc). */
#define BREAKING_FACTOR 0.02

void mmd_shape_init(const mmd_rigid_body *source, mmd_shape *shape)
{
    double size[3], bounds[3];
    for (int i = 0; i < 3; i++)
        size[i] = (double)source->size[i];
    *shape = (mmd_shape){.kind = (mmd_body_shape)source->shape};
    if (shape->kind == MMD_SHAPE_BOX) {
        double least = fmin(size[0], fmin(size[1], size[2]));
        shape->radius = shape->margin = fmin(COLLISION_MARGIN, least);
        for (int i = 0; i < 3; i++) {
            shape->core[i] = size[i] - shape->radius;
            shape->half_extents[i] = bounds[i] = size[i];
        }
    } else {
        double margin = shape->kind == MMD_SHAPE_CAPSULE ? COLLISION_MARGIN : 0;
        shape->radius = size[0];
        shape->margin =
            shape->kind == MMD_SHAPE_CAPSULE ? fmin(COLLISION_MARGIN, size[0]) : size[0];
        shape->core[1] = shape->kind == MMD_SHAPE_CAPSULE ? size[1] / 2 : 0;
        for (int i = 0; i < 3; i++) {
            shape->half_extents[i] = shape->core[i] + shape->radius;
            bounds[i] = shape->half_extents[i] + margin;
        }
    }
    shape->breaking_threshold = BREAKING_FACTOR * mmd_vec3_length(bounds);
}

static void box_inertia(double mass_factor, double x, double y, double z, double inertia[3])
{
    inertia[0] = mass_factor * (y * y + z * z);
    inertia[1] = mass_factor * (x * x + z * z);
    inertia[2] = mass_factor * (x * x + y * y);
}

void mmd_shape_inertia(const mmd_rigid_body *source, double inertia[3])
{
    double mass = (double)source->mass;
    double x = (double)source->size[0], y = (double)source->size[1], z = (double)source->size[2];
    if (source->shape == MMD_SHAPE_SPHERE) {
        inertia[0] = inertia[1] = inertia[2] = 0.4 * mass * x * x;
    } else if (source->shape == MMD_SHAPE_BOX) {
        box_inertia(mass / 12, 2 * x, 2 * y, 2 * z, inertia);
    } else { /* btCapsuleShape: that of its bounding box, enlarged by the margin on every side */
        double width = 2 * (x + COLLISION_MARGIN);
        double height = 2 * (x + y / 2 + COLLISION_MARGIN);
        box_inertia(mass * 0.08333333, width, height, width, inertia);
    }
}

void mmd_shape_aabb(const mmd_shape *shape, const double basis[3][3], double half_extents[3])
{
    if (shape->kind == MMD_SHAPE_SPHERE) {
        for (int i = 0; i < 3; i++)
            half_extents[i] = shape->radius;
        return;
    }
    double margin = shape->kind == MMD_SHAPE_CAPSULE ? COLLISION_MARGIN : 0;
    const double *box = shape->half_extents;
    for (int i = 0; i < 3; i++)
        half_extents[i] = fabs(basis[i][0]) * (box[0] + margin) +
                          fabs(basis[i][1]) * (box[1] + margin) +
                          fabs(basis[i][2]) * (box[2] + margin);
}

void mmd_shape_lowest_point(const mmd_shape *shape, const double position[3],
                            const double basis[3][3], double point[3])
{
    const double *up = basis[1]; /* world y in the body's axes */
    const double *core = shape->kind == MMD_SHAPE_BOX ? shape->half_extents : shape->core;
    double local[3];
    for (int i = 0; i < 3; i++)
        local[i] = up[i] <= 0 ? core[i] : -core[i];
    mmd_mat3_transform(basis, local, point);
    mmd_vec3_add_scaled(position, 1, point);
    if (shape->kind != MMD_SHAPE_BOX)
        point[1] -= shape->radius;
}
