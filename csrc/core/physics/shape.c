/* SPDX-License-Identifier: MIT */
#include "core/physics/shape.h"

#include "core/physics/vector.h"

/* Bullet's: of boxes against what is no box, and in what it takes for a capsule's reach. */
#define MARGIN 0.04

/* Of a shape's reach, the largest gap across which a contact lasts. */
#define BREAKING_SHARE 0.02

void mmd_shape_init(const mmd_rigid_body *source, mmd_shape *shape)
{
    double size[3], reach[3];
    for (int i = 0; i < 3; i++)
        size[i] = (double)source->size[i];
    *shape = (mmd_shape){.kind = (mmd_body_shape)source->shape};
    if (shape->kind == MMD_BOX) {
        double least = fmin(size[0], fmin(size[1], size[2]));
        shape->radius = shape->margin = fmin(MARGIN, least);
        for (int i = 0; i < 3; i++) {
            shape->core[i] = size[i] - shape->radius;
            shape->half[i] = reach[i] = size[i];
        }
    } else {
        double margin = shape->kind == MMD_CAPSULE ? MARGIN : 0;
        shape->radius = size[0];
        shape->margin = shape->kind == MMD_CAPSULE ? fmin(MARGIN, size[0]) : size[0];
        shape->core[1] = shape->kind == MMD_CAPSULE ? size[1] / 2 : 0;
        for (int i = 0; i < 3; i++) {
            shape->half[i] = shape->core[i] + shape->radius;
            reach[i] = shape->half[i] + margin;
        }
    }
    shape->breaking = BREAKING_SHARE * mmd_length3(reach);
}

void mmd_shape_extents(const mmd_shape *shape, const mmd_body *body, double extents[3])
{
    const double *core = shape->kind == MMD_BOX ? shape->half : shape->core;
    double radius = shape->kind == MMD_BOX ? 0 : shape->radius;
    for (int i = 0; i < 3; i++)
        extents[i] = fabs(body->axes[i][0]) * core[0] + fabs(body->axes[i][1]) * core[1] +
                     fabs(body->axes[i][2]) * core[2] + radius;
}

void mmd_shape_lowest(const mmd_shape *shape, const mmd_body *body, double point[3])
{
    const double *down = body->axes[1]; /* y of space as the body sees it */
    const double *core = shape->kind == MMD_BOX ? shape->half : shape->core;
    double local[3];
    for (int i = 0; i < 3; i++)
        local[i] = down[i] <= 0 ? core[i] : -core[i];
    mmd_transform3(body->axes, local, point);
    mmd_add_scaled3(body->state.position, 1, point);
    if (shape->kind != MMD_BOX)
        point[1] -= shape->radius;
}
