/* SPDX-License-Identifier: MIT */
/* The formulas in their plainest form, one vertex after the other: the reference for the vector
   kernels and the shaders. Equation numbers are those of dragonmeteor's article on MMD's morphing
   and skinning (docs/mmd-behaviour.md#source-article).

   A formula has one name wherever it stands: here, in skin_kernel.h (vectors), in shaders/ and in
   tests/judges/twin.py and methods_twin.py (float64).

   name                  what                                                         where
   morph_positions       rest positions + weights x offsets of the vertex morphs      not vector
   mmd_block_positions   the same in the layout of the vector kernels                 vector
   mmd_skin_kind_of      the kind by which a method skins a vertex                    C, twin
   bone_rotation         unit quaternion of a matrix, by Gram-Schmidt                 skin.c, twin
   blend_linear          sum of w_i M_i                                               all four
   blend_sdef            equation (4), with c and c0 of mmd_vertex                    all four
   blend_qdef            real and dual part, signs relative to the pivot              all four
   blend_center          that rotation about a centre, which moves linearly           here
   outward               where COMPENSATED moves vertices to, of two bones            not vector
   pull_to_segment       BULGE_FREE's way back to the distance at rest                all four
   slerp_shares          what slerp makes of two weights; nlerp takes them as is      all four
   quaternion_matrix     the rotation of a quaternion (shaders: rotate, without it)   C, twin
   linear_normal         inverse transpose by cofactors                               all four
   precise_normal        the same in double, where float is not enough                C
   orthogonal_tangent    the turned tangent made orthogonal to the normal             all four
   unit_or               unit vector, or another where there is none                  all four

   Constants are in skin_frame.h. The twin, being of float64, has limits of its own, and so has
   slerp: below which angle it is nlerp depends on the arithmetic. */
#include "core/skin/skin_scalar.h"

#include "core/skin/skin_formulas.h"

#define CGLM_ALL_UNALIGNED
#include <cglm/cglm.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* p' = linear (p - center) + target; normals by `linear` itself when it is a rotation. */
typedef struct placement {
    mat3 linear;
    vec3 center, target;
    bool is_rotation;
    bool pulled; /* pull_to_segment follows */
} placement;

static void bone_linear(const mmd_skin_bone *bone, mat3 out)
{
    for (int column = 0; column < 3; column++)
        for (int row = 0; row < 3; row++)
            out[column][row] = bone->rows[row][column];
}

static void bone_point(const mmd_skin_bone *bone, const float *point, float *out)
{
    for (int row = 0; row < 3; row++)
        out[row] = bone->rows[row][0] * point[0] + bone->rows[row][1] * point[1] +
                   bone->rows[row][2] * point[2] + bone->rows[row][3];
}

static void blend_linear(const mmd_vertex *vertex, const mmd_skin_bone *bones, placement *out)
{
    for (int i = 0; i < vertex->count; i++) {
        const mmd_skin_bone *bone = &bones[vertex->bones[i]];
        float weight = vertex->weights[i];
        mat3 linear;
        bone_linear(bone, linear);
        for (int k = 0; k < 3; k++) {
            glm_vec3_muladds(linear[k], weight, out->linear[k]);
            out->target[k] += weight * bone->rows[k][3];
        }
    }
}

static void slerp_shares(double angle, const float *weights, float shares[2])
{
    for (int i = 0; i < 2; i++)
        shares[i] = angle > 0 ? (float)(sin(weights[i] * angle) / sin(angle)) : weights[i];
}

/* Equation (4), as M1 C + w0 (M0 - M1) C0 + R (p - C) with C0 = C + w1 (R0 - R1) / 2. */
static void blend_sdef(const mmd_vertex *vertex, const mmd_skin_bone *bones, mmd_sdef_blend blend,
                       placement *out)
{
    const mmd_skin_bone *bone0 = &bones[vertex->bones[0]], *bone1 = &bones[vertex->bones[1]];
    const float *q0 = bone0->rotation;
    float shares[2];
    double dot = 0;
    versor q1, q;
    for (int i = 0; i < 4; i++)
        dot += (double)q0[i] * bone1->rotation[i];
    glm_vec4_scale((float *)bone1->rotation, dot < 0 ? -1.0f : 1.0f, q1); /* the shorter arc */
    slerp_shares(blend == MMD_SDEF_SLERP ? mmd_skin_arc(q0, q1) : 0, vertex->weights, shares);
    for (int i = 0; i < 4; i++)
        q[i] = shares[0] * q0[i] + shares[1] * q1[i];
    glm_quat_normalize(q);
    glm_quat_mat3(q, out->linear);

    vec3 c1, c00, c01;
    bone_point(bone1, vertex->c, c1);
    bone_point(bone0, vertex->c0, c00);
    bone_point(bone1, vertex->c0, c01);
    for (int i = 0; i < 3; i++) {
        out->center[i] = vertex->c[i];
        out->target[i] = c1[i] + vertex->weights[0] * (c00[i] - c01[i]);
    }
    out->is_rotation = true;
}

/* Dual quaternion blend, signs relative to the pivot.
   False when the blend vanishes, which takes negative weights. */
static bool blend_qdef(const mmd_vertex *vertex, const mmd_skin_bone *bones, placement *out)
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
    float square = glm_vec4_norm2(real);
    if (!(square >= MMD_LEAST_QUATERNION))
        return false;
    float length = sqrtf(square);
    glm_vec4_scale(real, 1 / length, real);
    glm_vec4_scale(dual, 1 / length, dual);
    glm_quat_mat3(real, out->linear);
    /* 2 vec(dual conj(real)); its scalar part, the dual's component along real, drops out. */
    vec3 across;
    glm_vec3_cross(real, dual, across);
    for (int i = 0; i < 3; i++)
        out->target[i] = 2 * (real[3] * dual[i] - dual[3] * real[i] + across[i]);
    out->is_rotation = true;
    return true;
}

/* The rotation of blend_qdef about c, which moves linearly: docs/methods.md#centers. */
static bool blend_center(const mmd_vertex *vertex, const mmd_skin_bone *bones, placement *out)
{
    if (!blend_qdef(vertex, bones, out))
        return false;
    glm_vec3_copy((float *)vertex->c, out->center);
    glm_vec3_zero(out->target);
    for (int i = 0; i < vertex->count; i++) {
        vec3 moved;
        bone_point(&bones[vertex->bones[i]], vertex->c, moved);
        glm_vec3_muladds(moved, vertex->weights[i], out->target);
    }
    return true;
}

/* The point of the segment from `head` along `along` that is nearest to p. */
static void nearest_on_segment(float *p, float *head, float *along, float *out)
{
    vec3 away;
    glm_vec3_sub(p, head, away);
    float x = glm_vec3_dot(away, along) / glm_vec3_norm2(along);
    glm_vec3_copy(head, out);
    glm_vec3_muladds(along, glm_clamp_zo(x), out);
}

/* Brings p, where dual quaternions have put the vertex, back to the distance that it has from its
   leading bone's segment at rest: docs/methods.md#bulge-free. */
static void pull_to_segment(const mmd_vertex *vertex, const mmd_skin_bone *bone, float correction,
                            const float *rest, float *p)
{
    vec3 at_rest, head, along, foot;
    memcpy(at_rest, rest, sizeof at_rest);
    glm_vec3_copy((float *)vertex->c, head);
    glm_vec3_sub((float *)vertex->c0, head, along);
    nearest_on_segment(at_rest, head, along, foot);
    float wanted = glm_vec3_distance(at_rest, foot);

    mmd_skin_segment(vertex->c, vertex->c0, bone, head, along);
    nearest_on_segment(p, head, along, foot);
    float distance = glm_vec3_distance(p, foot);
    if (!(distance > wanted))
        return;
    float kept = 1 + correction * vertex->factor * (wanted / distance - 1);
    for (int i = 0; i < 3; i++)
        p[i] = foot[i] + kept * (p[i] - foot[i]);
}

/* docs/methods.md#bulge-compensated. */
static void compensate(const mmd_skin_frame *frame, const mmd_vertex *vertex, placement *out)
{
    vec3 away;
    mmd_skin_outward(vertex->c, vertex->c0, frame->bones[vertex->bones[0]].rotation,
                     frame->bones[vertex->bones[1]].rotation, away);
    glm_vec3_muladds(away, frame->correction * vertex->factor, out->target);
}

static bool has_rotations(const mmd_vertex *vertex, const mmd_skin_bone *bones)
{
    for (int i = 0; i < vertex->count; i++) {
        const float *q = bones[vertex->bones[i]].rotation;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return false;
    }
    return true;
}

static void place(const mmd_skin_frame *frame, const mmd_vertex *vertex, placement *out)
{
    memset(out, 0, sizeof *out);
    if (vertex->count == 0) {
        glm_mat3_identity(out->linear);
        out->is_rotation = true;
        return;
    }
    mmd_skin_kind kind = mmd_skin_kind_of(frame->method, vertex->kind, vertex->count);
    if (kind != MMD_SKIN_LINEAR && !has_rotations(vertex, frame->bones))
        kind = MMD_SKIN_LINEAR;
    bool placed = false;
    switch (kind) {
    case MMD_SKIN_SDEF:
        blend_sdef(vertex, frame->bones, frame->sdef_blend, out);
        placed = true;
        break;
    case MMD_SKIN_CENTER:
        placed = blend_center(vertex, frame->bones, out);
        break;
    case MMD_SKIN_QDEF:
        placed = blend_qdef(vertex, frame->bones, out);
        break;
    case MMD_SKIN_BULGE_FREE:
        placed = out->pulled = blend_qdef(vertex, frame->bones, out);
        break;
    case MMD_SKIN_COMPENSATED:
        placed = blend_qdef(vertex, frame->bones, out);
        if (placed)
            compensate(frame, vertex, out);
        break;
    default:
        break;
    }
    if (!placed)
        blend_linear(vertex, frame->bones, out);
}

/* By the cofactors in float, where they are enough. */
static void linear_normal(const mmd_vertex *vertex, const mmd_skin_bone *bones, placement *placed,
                          float *out)
{
    float *x = placed->linear[0], *y = placed->linear[1], *z = placed->linear[2];
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
    if (square >= MMD_LEAST_NORMAL * size * size && square >= FLT_MIN && square <= FLT_MAX)
        glm_vec3_scale(n, sign / sqrtf(square), out);
    else
        mmd_skin_precise_normal(vertex, bones, out);
}

static void rotated_normal(const mmd_vertex *vertex, placement *placed, float *out)
{
    vec3 n;
    memcpy(n, vertex->normal, sizeof n);
    glm_mat3_mulv(placed->linear, n, n);
    mmd_skin_unit_or(n, vertex->normal, out);
}

static void orthogonal_tangent(const mmd_vertex *vertex, placement *placed, float *normal,
                               float *out)
{
    vec3 t, across;
    memcpy(t, vertex->tangent, sizeof t);
    glm_mat3_mulv(placed->linear, t, t);
    glm_vec3_copy(t, across);
    glm_vec3_muladds(normal, -glm_vec3_dot(normal, t), across);
    /* Along the normal only rounding is left. */
    if (glm_vec3_norm2(across) <= MMD_LEAST_TANGENT * glm_vec3_norm2(t))
        glm_vec3_zero(across);
    mmd_skin_unit_or(across, vertex->tangent, out);
}

static void morph_positions(const mmd_skin_frame *frame)
{
    const mmd_mesh *mesh = frame->mesh;
    for (size_t v = 0; v < mesh->vertex_count; v++)
        memcpy(frame->scratch + 3 * v, mesh->vertices[v].position, 3 * sizeof(float));
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_vertex_morph *morph = &mesh->vertex_morphs[m];
        float weight = frame->weights[morph->morph];
        if (weight == 0)
            continue;
        for (size_t i = 0; i < morph->offset_count; i++)
            for (int k = 0; k < 3; k++)
                frame->scratch[3 * morph->vertices[i] + k] +=
                    weight * morph->offsets[3 * i + (size_t)k];
    }
}

static void put_directions(const mmd_skin_frame *frame, size_t v, placement *placed)
{
    const mmd_vertex *vertex = &frame->mesh->vertices[v];
    vec3 normal;
    if (placed->is_rotation)
        rotated_normal(vertex, placed, normal);
    else
        linear_normal(vertex, frame->bones, placed, normal);
    if (frame->normals)
        memcpy(frame->normals + 3 * v, normal, sizeof normal);
    if (!frame->tangents)
        return;
    float *tangent = frame->tangents + frame->mesh->tangent_width * v;
    orthogonal_tangent(vertex, placed, normal, tangent);
    if (frame->mesh->tangent_width == 4)
        tangent[3] = vertex->tangent[3];
}

static void put_position(const mmd_skin_frame *frame, size_t v, placement *placed)
{
    const mmd_vertex *vertex = &frame->mesh->vertices[v];
    const float *position = frame->weights ? frame->scratch + 3 * v : vertex->position;
    vec3 p;
    for (int i = 0; i < 3; i++)
        p[i] = position[i] - placed->center[i];
    glm_mat3_mulv(placed->linear, p, p);
    glm_vec3_add(p, placed->target, p);
    if (placed->pulled)
        pull_to_segment(vertex, &frame->bones[vertex->bones[0]], frame->correction, position, p);
    memcpy(frame->positions + 3 * v, p, sizeof p);
}

static void skin_vertices(const mmd_skin_frame *frame, size_t first, size_t end)
{
    for (size_t v = first; v < end; v++) {
        placement placed;
        place(frame, &frame->mesh->vertices[v], &placed);
        if (frame->positions)
            put_position(frame, v, &placed);
        if (frame->normals || frame->tangents)
            put_directions(frame, v, &placed);
    }
}

void mmd_skin_scalar_directions(const mmd_skin_frame *frame, size_t vertex)
{
    skin_vertices(frame, vertex, vertex + 1);
}

void mmd_skin_scalar(const mmd_skin_frame *frame)
{
    if (frame->weights)
        morph_positions(frame);
    skin_vertices(frame, 0, frame->mesh->vertex_count);
}
