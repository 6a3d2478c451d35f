/* SPDX-License-Identifier: MIT */
#include "core/skin/skin_formulas.h"

#define CGLM_ALL_UNALIGNED
#include <cglm/cglm.h>

#include <math.h>
#include <string.h>

/* Inverse transpose, up to a positive factor: the cofactor matrix times the sign of the
 * determinant. */
void mmd_skin_precise_normal(const mmd_vertex *vertex, const mmd_skin_bone *bones, float out[3])
{
    double m[3][3] = {{0}}, cofactors[3][3], n[3], square = 0;
    for (int i = 0; i < vertex->count; i++)
        for (int k = 0; k < 9; k++)
            m[k / 3][k % 3] +=
                (double)vertex->weights[i] * bones[vertex->bones[i]].rows[k / 3][k % 3];
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            const double *a = m[(row + 1) % 3], *b = m[(row + 2) % 3];
            int next = (column + 1) % 3, last = (column + 2) % 3;
            cofactors[row][column] = a[next] * b[last] - a[last] * b[next];
        }
    double det = m[0][0] * cofactors[0][0] + m[0][1] * cofactors[0][1] + m[0][2] * cofactors[0][2];
    for (int row = 0; row < 3; row++) {
        n[row] = 0;
        for (int column = 0; column < 3; column++)
            n[row] += cofactors[row][column] * vertex->normal[column];
        square += n[row] * n[row];
    }
    double scale = (det < 0 ? -1 : 1) / sqrt(square);
    for (int row = 0; row < 3; row++)
        out[row] = square > 0 ? (float)(n[row] * scale) : vertex->normal[row];
}

double mmd_skin_arc(const float a[4], const float b[4])
{
    double chord = 0;
    for (int i = 0; i < 4; i++)
        chord += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    double angle = 2 * asin(fmin(sqrt(chord) / 2, 1));
    return angle < 1e-5 ? 0 : angle; /* below, sin(w a) / sin(a) is w to 1e-10 */
}

void mmd_skin_segment(const float c[3], const float c0[3], const mmd_skin_bone *bone, float head[3],
                      float along[3])
{
    versor q;
    memcpy(q, bone->rotation, sizeof q);
    glm_vec3_sub((float *)c0, (float *)c, along);
    glm_quat_rotatev(q, along, along);
    glm_quat_rotatev(q, (float *)c, head);
    for (int i = 0; i < 3; i++)
        head[i] += bone->rows[i][3];
}

/* By a unit quaternion; cglm's would make it one. */
static void rotate(const float q[4], const float v[3], vec3 out)
{
    vec3 axis = {q[0], q[1], q[2]}, twice, across;
    glm_vec3_cross(axis, (float *)v, twice);
    glm_vec3_scale(twice, 2, twice);
    glm_vec3_cross(axis, twice, across);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] + q[3] * twice[i] + across[i];
}

void mmd_skin_outward(const float u0[3], const float u1[3], const float q0[4], const float q1[4],
                      float out[3])
{
    versor a, b, between;
    vec3 first, second, outside;
    const float none[3] = {0};
    memcpy(a, q0, sizeof a);
    glm_quat_conjugate((float *)q1, b);
    glm_quat_mul(a, b, between);
    rotate(q0, u0, first);
    rotate(q1, u1, second);
    glm_vec3_add(first, second, outside);
    mmd_skin_unit_or(outside, none, outside);
    /* 1 - w by the other parts: as it stands it loses half of the digits near rest. */
    float square = glm_vec3_norm2(between);
    float reach = fminf(1, 2 * sqrtf(square / (1 + fabsf(between[3]))));
    float along = square > 0 ? glm_vec3_dot(between, outside) / square : 0;
    for (int i = 0; i < 3; i++)
        out[i] = reach * (outside[i] - along * between[i]);
}
