/* SPDX-License-Identifier: MIT */
/* Formulas that are computed once per group of vertices, or too rarely to be worth SIMD, and what
   the SIMD kernels read of a group: bone matrices, cofactors and dual quaternions, and its loop. */
#include "core/skin/skin.h"

#include "core/math/scalar.h"

#define CGLM_ALL_UNALIGNED
#include <cglm/cglm.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* a times the conjugate of b. */
static void quaternion_difference(const float a[4], const float b[4], versor out)
{
    out[0] = b[3] * a[0] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1];
    out[1] = b[3] * a[1] - a[3] * b[1] + a[0] * b[2] - a[2] * b[0];
    out[2] = b[3] * a[2] - a[3] * b[2] - a[0] * b[1] + a[1] * b[0];
    out[3] = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Rotates a vector by a unit quaternion. */
static void rotate(const float q[4], const float v[3], vec3 out)
{
    vec3 axis = {q[0], q[1], q[2]}, twice, cross;
    glm_vec3_cross(axis, (float *)v, twice);
    glm_vec3_scale(twice, 2, twice);
    glm_vec3_cross(axis, twice, cross);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] + q[3] * twice[i] + cross[i];
}

double mmd_skin_slerp_angle(const float a[4], const float b[4])
{
    double chord = 0;
    for (int i = 0; i < 4; i++)
        chord += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    double angle = 2 * mmd_portable_asin(sqrt(chord) / 2);
    return angle < 1e-5 ? 0 : angle; /* below, sin(w a) / sin(a) = w within 1e-10 */
}

void mmd_skin_transform_segment(const float c[3], const float c0[3], const mmd_skin_bone *bone,
                                float head[3], float segment[3])
{
    vec3 rest;
    glm_vec3_sub((float *)c0, (float *)c, rest);
    rotate(bone->rotation, rest, segment);
    rotate(bone->rotation, c, head);
    for (int i = 0; i < 3; i++)
        head[i] += bone->rows[i][3];
}

void mmd_skin_bulge_offset(const float u0[3], const float u1[3], const float q0[4],
                           const float q1[4], float out[3])
{
    versor relative;
    vec3 d0, d1, bisector;
    const float zero[3] = {0};
    quaternion_difference(q0, q1, relative);
    rotate(q0, u0, d0);
    rotate(q1, u1, d1);
    glm_vec3_add(d0, d1, bisector);
    mmd_skin_normalized_or(bisector, zero, bisector);
    /* 1 - w from x, y and z, as the difference loses half of the digits for small angles. */
    float square = glm_vec3_norm2(relative);
    float amount = fminf(1, 2 * sqrtf(square / (1 + fabsf(relative[3]))));
    float parallel = square > 0 ? glm_vec3_dot(relative, bisector) / square : 0;
    for (int i = 0; i < 3; i++)
        out[i] = amount * (bisector[i] - parallel * relative[i]);
}

void mmd_skin_precise_normal(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones,
                             float out[3])
{
    double m[3][3] = {{0}}, cofactors[3][3], n[3], square = 0;
    for (int i = 0; i < vertex->count; i++)
        for (int k = 0; k < 9; k++)
            m[k / 3][k % 3] +=
                (double)vertex->weights[i] * bones[vertex->bones[i]].rows[k / 3][k % 3];
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            const double *a = m[(row + 1) % 3], *b = m[(row + 2) % 3];
            int next = (column + 1) % 3, previous = (column + 2) % 3;
            cofactors[row][column] = a[next] * b[previous] - a[previous] * b[next];
        }
    double determinant =
        m[0][0] * cofactors[0][0] + m[0][1] * cofactors[0][1] + m[0][2] * cofactors[0][2];
    for (int row = 0; row < 3; row++) {
        n[row] = 0;
        for (int column = 0; column < 3; column++)
            n[row] += cofactors[row][column] * vertex->normal[column];
        square += n[row] * n[row];
    }
    double scale = (determinant < 0 ? -1 : 1) / sqrt(square);
    for (int row = 0; row < 3; row++)
        out[row] = square > 0 ? (float)(n[row] * scale) : vertex->normal[row];
}

/* Groups */

/* Within 1e-6: rows x and y are orthonormal, and z = x cross y. */
static bool is_rotation(const float m[12])
{
    const float *x = m, *y = m + 4, *z = m + 8;
    const float errors[6] = {x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1,
                             y[0] * y[0] + y[1] * y[1] + y[2] * y[2] - 1,
                             x[0] * y[0] + x[1] * y[1] + x[2] * y[2],
                             x[1] * y[2] - x[2] * y[1] - z[0],
                             x[2] * y[0] - x[0] * y[2] - z[1],
                             x[0] * y[1] - x[1] * y[0] - z[2]};
    bool rotates = true;
    for (int i = 0; i < 6; i++)
        rotates &= fabsf(errors[i]) < 1e-6f;
    return rotates;
}

static void set_cofactors(mmd_skin_group *g)
{
    const float *m = g->last;
    float *c = g->cofactors;
    for (int row = 0; row < 3; row++) {
        const float *a = m + 4 * ((row + 1) % 3), *b = m + 4 * ((row + 2) % 3);
        for (int column = 0; column < 3; column++) {
            int next = (column + 1) % 3, previous = (column + 2) % 3;
            c[4 * row + column] = a[next] * b[previous] - a[previous] * b[next];
        }
    }
    if (m[0] * c[0] + m[4] * c[4] + m[8] * c[8] < 0)
        for (int i = 0; i < 12; i++)
            c[i] = -c[i];
}

/* True if the signs do not depend on the pivot, up to one sign for all bones: always for two bones,
   and for more unless their rotations are far apart. */
static bool set_signs(const mmd_skin_input *input, const mmd_vertex_block_group *group,
                      mmd_skin_group *g)
{
    bool uniform = true;
    for (int p = 0; p < group->count; p++)
        for (int k = 0; k < group->count; k++) {
            const float *a = input->bones[group->bones[p]].rotation;
            const float *b = input->bones[group->bones[k]].rotation;
            float dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
            g->signs[p][k] = dot < 0 ? -1.0f : 1.0f;
            uniform &= g->signs[p][k] == g->signs[0][p] * g->signs[0][k];
        }
    return uniform;
}

static void set_dual_quaternions(const mmd_skin_input *input, const mmd_vertex_block_group *group,
                                 const float signs[4], mmd_skin_group *g)
{
    for (int k = 0; k < group->count; k++) {
        const mmd_skin_bone *bone = &input->bones[group->bones[k]];
        for (int i = 0; i < 4; i++) {
            g->real[k][i] = signs[k] * bone->rotation[i];
            g->dual[k][i] = signs[k] * bone->dual[i];
        }
    }
}

static void set_segment(const mmd_skin_input *input, const mmd_vertex_block_group *group,
                        mmd_skin_group *g)
{
    float square = 0;
    for (int i = 0; i < 3; i++) {
        g->rest_head[i] = group->c[i];
        g->rest_segment[i] = group->c0[i] - group->c[i];
        square += g->rest_segment[i] * g->rest_segment[i];
    }
    g->inverse_square = 1 / square;
    g->correction = input->correction;
    mmd_skin_transform_segment(group->c, group->c0, &input->bones[group->bones[0]], g->head,
                               g->segment);
}

static void set_bulge_offset(const mmd_skin_input *input, const mmd_vertex_block_group *group,
                             mmd_skin_group *g)
{
    mmd_skin_bulge_offset(group->c, group->c0, input->bones[group->bones[0]].rotation,
                          input->bones[group->bones[1]].rotation, g->bulge_offset);
    for (int i = 0; i < 3; i++)
        g->bulge_offset[i] *= input->correction;
}

/* QDEF, and the kinds that start from it, whose pivot is the first bone. */
static mmd_skin_group_path prepare_qdef(const mmd_skin_input *input,
                                        const mmd_vertex_block_group *group, mmd_skin_kind kind,
                                        mmd_skin_group *g)
{
    static const float unchanged[4] = {1, 1, 1, 1};
    int last = group->count - 1;
    if (!set_signs(input, group, g) && kind == MMD_SKIN_QDEF) {
        set_dual_quaternions(input, group, unchanged, g);
        return MMD_SKIN_GROUP_QDEF_SIGNED;
    }
    set_dual_quaternions(input, group, g->signs[0], g);
    for (int k = 0; k < last; k++)
        for (int i = 0; i < 4; i++) {
            g->real[k][i] -= g->real[last][i];
            g->dual[k][i] -= g->dual[last][i];
        }
    if (kind == MMD_SKIN_BULGE_FREE)
        set_segment(input, group, g);
    else if (kind == MMD_SKIN_COMPENSATED)
        set_bulge_offset(input, group, g);
    return (mmd_skin_group_path)kind;
}

static mmd_skin_group_path prepare_sdef(const mmd_skin_input *input,
                                        const mmd_vertex_block_group *group, mmd_skin_group *g)
{
    set_signs(input, group, g);
    set_dual_quaternions(input, group, g->signs[0], g);
    g->slerp_angle = input->sdef_blend == MMD_SDEF_SLERP
                         ? (float)mmd_skin_slerp_angle(g->real[0], g->real[1])
                         : 0;
    return MMD_SKIN_GROUP_SDEF;
}

static float min_normal(const float m[12])
{
    float squares[3]; /* of columns */
    for (int i = 0; i < 3; i++)
        squares[i] = m[i] * m[i] + m[4 + i] * m[4 + i] + m[8 + i] * m[8 + i];
    float square = squares[0] + squares[1] + squares[2];
    float min = MMD_MIN_NORMAL * square * square;
    return min > FLT_MIN ? min : FLT_MIN; /* fmaxf would be a call */
}

mmd_skin_group_path mmd_skin_group_prepare(const mmd_skin_input *input,
                                           const mmd_vertex_block_group *group, bool directions,
                                           mmd_skin_group *g)
{
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (group->count == 0) {
        memcpy(g->last, identity, sizeof identity);
        return MMD_SKIN_GROUP_RIGID_BONE;
    }
    int last = group->count - 1;
    memcpy(g->last, input->bones[group->bones[last]].rows, sizeof g->last);
    for (int k = 0; k < last; k++) {
        const float *rows = input->bones[group->bones[k]].rows[0];
        for (int i = 0; i < 12; i++)
            g->differences[k][i] = rows[i] - g->last[i];
    }
    mmd_skin_kind kind = mmd_skin_input_kind(input, group->kind, group->bones, group->count);
    if (kind != MMD_SKIN_LINEAR)
        return kind == MMD_SKIN_SDEF ? prepare_sdef(input, group, g)
                                     : prepare_qdef(input, group, kind, g);
    if (group->count == 1 && (!directions || is_rotation(g->last)))
        return MMD_SKIN_GROUP_RIGID_BONE;
    g->min_normal = min_normal(g->last);
    if (group->count > 1)
        return group->count == 2 ? MMD_SKIN_GROUP_LINEAR_TWO_BONES : MMD_SKIN_GROUP_LINEAR;
    set_cofactors(g);
    return MMD_SKIN_GROUP_ONE_BONE;
}
