/* SPDX-License-Identifier: MIT */
/* The reference kernel: every skinning formula in its plainest form, one vertex after the other.
   The SIMD kernels, the shaders and the float64 twin of the tests repeat these formulas under the
   same names.

   name                  computes                                                     also in
   morph_positions       rest positions + weights x offsets of the vertex morphs      shader, twin
   vertex_blocks_morph   the same in the layout of vertex blocks                      SIMD only
   skin_kind_of          which formula a method applies to a vertex (mesh.h)          C, twin
   bone_rotation         unit quaternion of a matrix, by Gram-Schmidt (skin.c)        C, twin
   blend_linear          linear blend skinning: sum of w_i M_i                        all
   blend_sdef            spherical deform, equation (4)                               all
   blend_qdef            dual quaternion linear blending                              all
   blend_center          that rotation about a center, which moves linearly           here
   bulge_offset          bulge-compensated: offset direction (skin_group.c)           shader, twin
   correct_bulge         bulge-free: back to the rest distance from the bone          all
   slerp_weights         the factors of slerp for two weights; nlerp: the weights     all
   quaternion_matrix     rotation matrix of a quaternion (shaders: rotate)                SIMD, twin
   linear_normal         normal by the cofactor matrix of a linear blend              all
   precise_normal        the same in double, where float is not enough (skin_group.c) C
   orthogonal_tangent    the transformed tangent, made orthogonal to the normal       all
   is_mirrored           whether the bitangent, by its sign w, turns                  all
   normalized_or         unit vector, or another one where there is none              all

   Sources: linear blends and (4) as in dragonmeteor's article on MMD's morphing and skinning
   (docs/mmd-behavior.md#source-article; no paper describes SDEF). Dual quaternions: Kavan,
   Collins, Zara and O'Sullivan, "Geometric skinning with approximate dual quaternion blending", TOG
   27(4), 2008. The methods against bulges: Kim and Han 2014, Sulema and Rudenko 2020, Le and
   Hodgins 2016 (docs/methods.md).

   Symbols: p position and n normal in the rest pose after morphs, w_i weights, M_i = [A_i t_i]
   skinning matrices, q_i unit quaternions of A_i, d_i dual parts; lengths in model units. */
#include "core/skin/skin.h"

#include "core/math/scalar.h"

#define CGLM_ALL_UNALIGNED
#include <cglm/cglm.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* p' = linear (p - center) + target, and correct_bulge after it. If `linear` is a rotation it also
   transforms normals, else its cofactor matrix does. */
typedef struct transform {
    mat3 linear;
    vec3 center, target;
    bool is_rotation, corrects_bulge;
} transform;

/* Quaternions, x y z w. cglm computes with them in the vectors of each processor, whose sums are
   rounded in different orders. */

static float quaternion_norm2(const float q[4])
{
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
}

static void quaternion_matrix(const float q[4], mat3 out)
{
    float norm2 = quaternion_norm2(q), scale = norm2 > 0 ? 2 / norm2 : 0;
    float x = q[0], y = q[1], z = q[2], w = q[3];
    const mat3 columns = {
        {1 - scale * (y * y + z * z), scale * (x * y + w * z), scale * (x * z - w * y)},
        {scale * (x * y - w * z), 1 - scale * (x * x + z * z), scale * (y * z + w * x)},
        {scale * (x * z + w * y), scale * (y * z - w * x), 1 - scale * (x * x + y * y)}};
    memcpy(out, columns, sizeof columns);
}

static void bone_matrix(const mmd_skin_bone *bone, mat3 out)
{
    for (int column = 0; column < 3; column++)
        for (int row = 0; row < 3; row++)
            out[column][row] = bone->rows[row][column];
}

static void transform_by_bone(const mmd_skin_bone *bone, const float *point, float *out)
{
    for (int row = 0; row < 3; row++)
        out[row] = bone->rows[row][0] * point[0] + bone->rows[row][1] * point[1] +
                   bone->rows[row][2] * point[2] + bone->rows[row][3];
}

static void blend_linear(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones, transform *out)
{
    for (int i = 0; i < vertex->count; i++) {
        const mmd_skin_bone *bone = &bones[vertex->bones[i]];
        float weight = vertex->weights[i];
        mat3 linear;
        bone_matrix(bone, linear);
        for (int k = 0; k < 3; k++) {
            glm_vec3_muladds(linear[k], weight, out->linear[k]);
            out->target[k] += weight * bone->rows[k][3];
        }
    }
}

static void slerp_weights(double angle, const float *weights, float out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = angle > 0 ? (float)(mmd_portable_sin(weights[i] * angle) / mmd_portable_sin(angle))
                           : weights[i];
}

/* Equation (4) of the article, p' = w0 M0 C0 + w1 M1 C1 + R (p - C), written as
   M1 C + w0 (M0 - M1) C0 + R (p - C), C0 = C + w1 (R0 - R1) / 2. */
static void blend_sdef(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones,
                       mmd_sdef_blend blend, transform *out)
{
    const mmd_skin_bone *bone0 = &bones[vertex->bones[0]], *bone1 = &bones[vertex->bones[1]];
    const float *q0 = bone0->rotation;
    float blend_weights[2];
    double dot = 0;
    versor q1, q;
    for (int i = 0; i < 4; i++)
        dot += (double)q0[i] * bone1->rotation[i];
    glm_vec4_scale((float *)bone1->rotation, dot < 0 ? -1.0f : 1.0f, q1); /* the shorter arc */
    slerp_weights(blend == MMD_SDEF_SLERP ? mmd_skin_slerp_angle(q0, q1) : 0, vertex->weights,
                  blend_weights);
    for (int i = 0; i < 4; i++)
        q[i] = blend_weights[0] * q0[i] + blend_weights[1] * q1[i];
    quaternion_matrix(q, out->linear);

    vec3 c1, c00, c01;
    transform_by_bone(bone1, vertex->c, c1);
    transform_by_bone(bone0, vertex->c0, c00);
    transform_by_bone(bone1, vertex->c0, c01);
    for (int i = 0; i < 3; i++) {
        out->center[i] = vertex->c[i];
        out->target[i] = c1[i] + vertex->weights[0] * (c00[i] - c01[i]);
    }
    out->is_rotation = true;
}

/* q = sum of w_i q_i and d = sum of w_i d_i, with signs that align each q_i with the pivot's, then
   p' = R(q) p + 2 vec(d conj(q)). False if the blend vanishes, which takes negative weights. */
static bool blend_qdef(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones, transform *out)
{
    const float *pivot = bones[vertex->bones[vertex->pivot]].rotation;
    versor real = {0}, dual = {0};
    for (int i = 0; i < vertex->count; i++) {
        const mmd_skin_bone *bone = &bones[vertex->bones[i]];
        float dot = 0;
        for (int k = 0; k < 4; k++)
            dot += bone->rotation[k] * pivot[k];
        float weight = dot < 0 ? -vertex->weights[i] : vertex->weights[i];
        for (int k = 0; k < 4; k++) {
            real[k] += weight * bone->rotation[k];
            dual[k] += weight * bone->dual[k];
        }
    }
    float square = quaternion_norm2(real);
    if (!(square >= MMD_MIN_QUATERNION))
        return false;
    float length = sqrtf(square);
    glm_vec4_scale(real, 1 / length, real);
    glm_vec4_scale(dual, 1 / length, dual);
    quaternion_matrix(real, out->linear);
    /* 2 vec(dual conj(real)); the scalar part, the component of dual along real, drops out. */
    vec3 cross;
    glm_vec3_cross(real, dual, cross);
    for (int i = 0; i < 3; i++)
        out->target[i] = 2 * (real[3] * dual[i] - dual[3] * real[i] + cross[i]);
    out->is_rotation = true;
    return true;
}

/* p' = R(q) (p - c) + sum of w_i M_i c, c being the center of rotation: docs/methods.md#centers. */
static bool blend_center(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones, transform *out)
{
    if (!blend_qdef(vertex, bones, out))
        return false;
    glm_vec3_copy((float *)vertex->c, out->center);
    glm_vec3_zero(out->target);
    for (int i = 0; i < vertex->count; i++) {
        vec3 moved;
        transform_by_bone(&bones[vertex->bones[i]], vertex->c, moved);
        glm_vec3_muladds(moved, vertex->weights[i], out->target);
    }
    return true;
}

static void nearest_on_segment(float *p, float *head, float *segment, float *out)
{
    vec3 from_head;
    glm_vec3_sub(p, head, from_head);
    float x = glm_vec3_dot(from_head, segment) / glm_vec3_norm2(segment);
    glm_vec3_copy(head, out);
    glm_vec3_muladds(segment, glm_clamp_zo(x), out);
}

/* If dual quaternions move the vertex away from its leading bone, brings p back to the distance
   from the bone's segment that it has in the rest pose: docs/methods.md#bulge-free. */
static void correct_bulge(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bone,
                          float correction, const float *rest, float *p)
{
    vec3 rest_point, head, segment, nearest;
    memcpy(rest_point, rest, sizeof rest_point);
    glm_vec3_copy((float *)vertex->c, head);
    glm_vec3_sub((float *)vertex->c0, head, segment);
    nearest_on_segment(rest_point, head, segment, nearest);
    float rest_distance = glm_vec3_distance(rest_point, nearest);

    mmd_skin_transform_segment(vertex->c, vertex->c0, bone, head, segment);
    nearest_on_segment(p, head, segment, nearest);
    float distance = glm_vec3_distance(p, nearest);
    if (!(distance > rest_distance))
        return;
    float scale = 1 + correction * vertex->factor * (rest_distance / distance - 1);
    for (int i = 0; i < 3; i++)
        p[i] = nearest[i] + scale * (p[i] - nearest[i]);
}

/* Adds correction k o: docs/methods.md#bulge-compensated. */
static void compensate_bulge(const mmd_skin_input *input, const mmd_mesh_vertex *vertex,
                             transform *out)
{
    vec3 offset;
    mmd_skin_bulge_offset(vertex->c, vertex->c0, input->bones[vertex->bones[0]].rotation,
                          input->bones[vertex->bones[1]].rotation, offset);
    glm_vec3_muladds(offset, input->correction * vertex->factor, out->target);
}

static void vertex_transform(const mmd_skin_input *input, const mmd_mesh_vertex *vertex,
                             transform *out)
{
    memset(out, 0, sizeof *out);
    if (vertex->count == 0) {
        glm_mat3_identity(out->linear);
        out->is_rotation = true;
        return;
    }
    bool done = false;
    switch (mmd_skin_input_kind(input, vertex->kind, vertex->bones, vertex->count)) {
    case MMD_SKIN_SDEF:
        blend_sdef(vertex, input->bones, input->sdef_blend, out);
        done = true;
        break;
    case MMD_SKIN_CENTER:
        done = blend_center(vertex, input->bones, out);
        break;
    case MMD_SKIN_QDEF:
        done = blend_qdef(vertex, input->bones, out);
        break;
    case MMD_SKIN_BULGE_FREE:
        done = out->corrects_bulge = blend_qdef(vertex, input->bones, out);
        break;
    case MMD_SKIN_COMPENSATED:
        done = blend_qdef(vertex, input->bones, out);
        if (done)
            compensate_bulge(input, vertex, out);
        break;
    default:
        break;
    }
    if (!done)
        blend_linear(vertex, input->bones, out);
}

/* By the cofactor matrix: the inverse transpose times the determinant, of which the sign counts. */
static void linear_normal(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones, transform *by,
                          float *out)
{
    float *x = by->linear[0], *y = by->linear[1], *z = by->linear[2];
    mat3 cofactors;
    glm_vec3_cross(y, z, cofactors[0]);
    glm_vec3_cross(z, x, cofactors[1]);
    glm_vec3_cross(x, y, cofactors[2]);
    float sign = glm_vec3_dot(x, cofactors[0]) < 0 ? -1.0f : 1.0f;
    float size = glm_vec3_norm2(x) + glm_vec3_norm2(y) + glm_vec3_norm2(z);
    vec3 n;
    memcpy(n, vertex->normal, sizeof n);
    glm_mat3_mulv(cofactors, n, n);
    float square = glm_vec3_norm2(n);
    if (square >= MMD_MIN_NORMAL * size * size && square >= FLT_MIN && square <= FLT_MAX)
        glm_vec3_scale(n, sign / sqrtf(square), out);
    else
        mmd_skin_precise_normal(vertex, bones, out);
}

static void rigid_normal(const mmd_mesh_vertex *vertex, transform *by, float *out)
{
    vec3 n;
    memcpy(n, vertex->normal, sizeof n);
    glm_mat3_mulv(by->linear, n, n);
    mmd_skin_normalized_or(n, vertex->normal, out);
}

static void orthogonal_tangent(const mmd_mesh_vertex *vertex, transform *by, float *normal,
                               float *out)
{
    vec3 t, orthogonal;
    memcpy(t, vertex->tangent, sizeof t);
    glm_mat3_mulv(by->linear, t, t);
    glm_vec3_copy(t, orthogonal);
    glm_vec3_muladds(normal, -glm_vec3_dot(normal, t), orthogonal);
    /* A tangent parallel to the normal leaves only rounding. */
    if (glm_vec3_norm2(orthogonal) <= MMD_MIN_TANGENT * glm_vec3_norm2(t))
        glm_vec3_zero(orthogonal);
    mmd_skin_normalized_or(orthogonal, vertex->tangent, out);
}

/* Whether a transform turns a right hand into a left one. */
static bool is_mirrored(transform *by)
{
    vec3 cofactor;
    glm_vec3_cross(by->linear[1], by->linear[2], cofactor);
    return !by->is_rotation && glm_vec3_dot(by->linear[0], cofactor) < 0;
}

static void morph_positions(const mmd_skin_input *input)
{
    const mmd_mesh *mesh = input->mesh;
    for (size_t v = 0; v < mesh->vertex_count; v++)
        memcpy(input->scratch + 3 * v, mesh->vertices[v].position, 3 * sizeof(float));
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_morph *morph = mesh->vertex_morphs[m];
        float weight = input->weights[morph - mesh->morphs];
        if (weight == 0)
            continue;
        for (size_t i = 0; i < morph->offset_count; i++)
            for (int k = 0; k < 3; k++)
                input->scratch[3 * morph->indices[i] + k] +=
                    weight * morph->values[3 * i + (size_t)k];
    }
}

static void store_directions(const mmd_skin_input *input, size_t v, transform *by)
{
    const mmd_mesh_vertex *vertex = &input->mesh->vertices[v];
    vec3 normal;
    if (by->is_rotation)
        rigid_normal(vertex, by, normal);
    else
        linear_normal(vertex, input->bones, by, normal);
    if (input->normals)
        memcpy(input->normals + 3 * v, normal, sizeof normal);
    if (!input->tangents)
        return;
    float *tangent = input->tangents + input->mesh->tangent_width * v;
    orthogonal_tangent(vertex, by, normal, tangent);
    if (input->mesh->tangent_width == 4)
        tangent[3] = is_mirrored(by) ? -vertex->tangent[3] : vertex->tangent[3];
}

static void store_position(const mmd_skin_input *input, size_t v, transform *by)
{
    const mmd_mesh_vertex *vertex = &input->mesh->vertices[v];
    const float *position = input->weights ? input->scratch + 3 * v : vertex->position;
    vec3 p;
    for (int i = 0; i < 3; i++)
        p[i] = position[i] - by->center[i];
    glm_mat3_mulv(by->linear, p, p);
    glm_vec3_add(p, by->target, p);
    if (by->corrects_bulge)
        correct_bulge(vertex, &input->bones[vertex->bones[0]], input->correction, position, p);
    memcpy(input->positions + 3 * v, p, sizeof p);
}

static void skin_vertices(const mmd_skin_input *input, size_t first, size_t end)
{
    for (size_t v = first; v < end; v++) {
        transform by;
        vertex_transform(input, &input->mesh->vertices[v], &by);
        if (input->positions)
            store_position(input, v, &by);
        if (input->normals || input->tangents)
            store_directions(input, v, &by);
    }
}

void mmd_skin_scalar_directions(const mmd_skin_input *input, size_t vertex)
{
    skin_vertices(input, vertex, vertex + 1);
}

void mmd_skin_scalar(const mmd_skin_input *input)
{
    if (input->weights)
        morph_positions(input);
    skin_vertices(input, 0, input->mesh->vertex_count);
}
