/* SPDX-License-Identifier: MIT */
/* World and local transforms of bones, from skinning matrices and back. */
#include "core/pose/pose.h"

#include "core/math/mat3.h"

#include <math.h>
#include <string.h>

/* x -> linear x + move */
typedef struct affine {
    double linear[3][3], move[3];
} affine;

static affine from_matrix(const float *m)
{
    affine a;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            a.linear[i][k] = (double)m[4 * i + k];
        a.move[i] = (double)m[4 * i + 3];
    }
    return a;
}

static void to_matrix(const affine *a, float *m)
{
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            m[4 * i + k] = (float)a->linear[i][k];
        m[4 * i + 3] = (float)a->move[i];
        m[12 + i] = 0;
    }
    m[15] = 1;
}

static void apply(const affine *a, const double v[3], double out[3])
{
    mmd_mat3_transform(a->linear, v, out);
    mmd_vec3_add_scaled(a->move, 1, out);
}

static affine multiply(const affine *a, const affine *b)
{
    affine out;
    mmd_mat3_multiply(a->linear, b->linear, out.linear);
    apply(a, b->move, out.move);
    return out;
}

/* By the rows' cross products, which are the columns of the inverse times the determinant. */
static bool invert(const affine *a, affine *out)
{
    double columns[3][3], determinant;
    for (int i = 0; i < 3; i++)
        mmd_vec3_cross(a->linear[(i + 1) % 3], a->linear[(i + 2) % 3], columns[i]);
    determinant = mmd_vec3_dot(a->linear[0], columns[0]);
    double scale = 1 / determinant;
    if (!isfinite(scale))
        return false;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            out->linear[i][k] = columns[k][i] * scale;
    mmd_mat3_transform(out->linear, a->move, out->move);
    mmd_vec3_scale(out->move, -1, out->move);
    return true;
}

static void rest_position(const mmd_model *model, size_t bone, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (double)model->bones[bone].position[i];
}

static affine world_of(const mmd_model *model, size_t bone, const float *skinning)
{
    double rest[3], moved[3];
    affine world = from_matrix(skinning + 16 * bone);
    rest_position(model, bone, rest);
    apply(&world, rest, moved);
    mmd_vec3_copy(moved, world.move);
    return world;
}

bool mmd_bone_spaces_from_skinning(const mmd_model *model, mmd_bone_space space,
                                   const float *skinning, float *out, size_t *bad)
{
    for (size_t b = 0; b < model->bone_count; b++) {
        affine transform = world_of(model, b, skinning);
        int32_t parent = model->bones[b].parent;
        if (space == MMD_BONE_LOCAL && parent >= 0) {
            affine above = world_of(model, (size_t)parent, skinning), inverse;
            if (!invert(&above, &inverse)) {
                *bad = (size_t)parent;
                return false;
            }
            transform = multiply(&inverse, &transform);
        }
        for (size_t i = 0; space == MMD_BONE_POSITIONS && i < 3; i++)
            out[3 * b + i] = (float)transform.move[i];
        if (space != MMD_BONE_POSITIONS)
            to_matrix(&transform, out + 16 * b);
    }
    return true;
}

void mmd_bone_spaces_to_skinning(const mmd_model *model, mmd_bone_space space, const size_t *order,
                                 const float *transforms, double *worlds, float *out)
{
    for (size_t i = 0; i < model->bone_count; i++) {
        size_t b = order[i];
        affine world = from_matrix(transforms + 16 * b), above;
        int32_t parent = model->bones[b].parent;
        if (space == MMD_BONE_LOCAL && parent >= 0) {
            memcpy(&above, worlds + 12 * (size_t)parent, sizeof above);
            world = multiply(&above, &world);
        }
        memcpy(worlds + 12 * b, &world, sizeof world);
        double rest[3], moved[3];
        rest_position(model, b, rest);
        mmd_mat3_transform(world.linear, rest, moved);
        mmd_vec3_subtract(world.move, moved, world.move);
        to_matrix(&world, out + 16 * b);
    }
}
