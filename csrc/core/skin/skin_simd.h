/* SPDX-License-Identifier: MIT */
/* The body of the SIMD kernels: the formulas of skin_scalar.c, under the same names, on WIDTH
   vertices at a time. What depends on the bones only is in skin_group.c. A file per
   instruction set includes this one and defines

   KERNEL         name of the kernel's function
   WIDTH          lanes, 4 or 8
   TARGET         target attribute of all functions
   SPLAT(x)       x in all lanes
   FMA(a, b, c)   a * b + c
   RSQRT(x)       1 / sqrt(x) to full precision
   ANY(m)         whether any lane of a mask is set
   QUARTET(v, k)  lanes 4 k to 4 k + 3; k is a literal
   STORE3(p, v)   stores the first three lanes of a quartet, and only these */

#include "core/skin/simd_math.h"
#include "core/skin/skin.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum outputs { POSITIONS, NORMALS, TANGENTS } outputs; /* each includes those before it */

/* WIDTH vertices of a block: their rows (mesh.h), and their first lane. */
typedef struct lane_group {
    const float *position, *normal, *tangent, *weights, *params; /* params: rows of the kind */
    const mmd_vertex_block *block;
    uint32_t first;
} lane_group;

/* Applies the cofactor matrix, times the sign of the determinant. Of columns x, y, z it gives
   (n.x y - n.y x) x z + n.z (x x y), which takes a quarter less work than the matrix itself. */
INLINE simd_float3 transform_by_cofactors(const simd_float m[12], simd_float3 n)
{
    simd_float3 x = {m[0], m[4], m[8]}, y = {m[1], m[5], m[9]}, z = {m[2], m[6], m[10]};
    simd_float3 xy = cross3(x, y);
    simd_float3 sum = {FMA(n.x, y.x, -(n.y * x.x)), FMA(n.x, y.y, -(n.y * x.y)),
                       FMA(n.x, y.z, -(n.y * x.z))};
    sum = cross3(sum, z);
    simd_mask sign = (dot3(z, xy) < SPLAT(0)) & (simd_mask)SPLAT(-0.0f);
    simd_float3 out = {FMA(n.z, xy.x, sum.x), FMA(n.z, xy.y, sum.y), FMA(n.z, xy.z, sum.z)};
    out.x = (simd_float)((simd_mask)out.x ^ sign);
    out.y = (simd_float)((simd_mask)out.y ^ sign);
    out.z = (simd_float)((simd_mask)out.z ^ sign);
    return out;
}

INLINE void store3(float *out, const lane_group *b, simd_float3 v, size_t stride)
{
    uint32_t lanes = WIDTH == MMD_LANES ? MMD_CONTIGUOUS_ALL
                     : b->first == 0    ? MMD_CONTIGUOUS_FIRST_FOUR
                                        : MMD_CONTIGUOUS_LAST_FOUR;
    const uint32_t *vertex = b->block->vertex + b->first;
    if (stride == 3 && b->block->contiguous & lanes)
        store3_contiguous(out + 3 * (size_t)vertex[0], v);
    else
        store3_scattered(out, vertex, v, stride);
}

/* Recomputes lanes that are not good, one by one in double; rare. It takes no pointer to variables
   of the loop, which would keep them in memory. */
TARGET static __attribute__((noinline)) simd_float3 precise_normals(
    const mmd_mesh *mesh, const mmd_skin_bone *bones, const mmd_vertex_block *block, uint32_t first,
    simd_float3 normal, simd_mask good)
{
    for (uint32_t i = 0; i < WIDTH; i++) {
        float precise[3];
        if (good[i] || first + i >= block->lane_count)
            continue;
        mmd_skin_precise_normal(&mesh->vertices[block->vertex[first + i]], bones, precise);
        normal.x[i] = precise[0];
        normal.y[i] = precise[1];
        normal.z[i] = precise[2];
    }
    return normal;
}

INLINE simd_float3 normalized_or_precise(const mmd_skin_input *input, const lane_group *b,
                                         simd_float3 normal, float min_square)
{
    simd_float square = dot3(normal, normal);
    simd_float3 unit = scale3(normal, RSQRT(square));
    simd_mask good = (square >= SPLAT(min_square)) & (square <= SPLAT(FLT_MAX));
    if (ANY(~good))
        unit = precise_normals(input->mesh, input->bones, b->block, b->first, unit, good);
    return unit;
}

INLINE simd_float3 linear_normal(const mmd_skin_input *input, const lane_group *b,
                                 const simd_float m[12], float min_square)
{
    return normalized_or_precise(input, b, transform_by_cofactors(m, load3(b->normal)), min_square);
}

INLINE simd_float3 orthogonal_tangent(const simd_float m[12], simd_float3 rest, simd_float3 normal)
{
    simd_float3 t = transform_vector(m, rest);
    simd_float3 orthogonal = subtract3(t, scale3(normal, dot3(normal, t)));
    simd_mask parallel = dot3(orthogonal, orthogonal) <= SPLAT(MMD_MIN_TANGENT) * dot3(t, t);
    orthogonal = select3(parallel, (simd_float3){SPLAT(0), SPLAT(0), SPLAT(0)}, orthogonal);
    return normalized_or(orthogonal, rest);
}

/* The signs of bitangents, which mirrored matrices turn. */
INLINE void store_signs(const mmd_skin_input *input, const lane_group *b, const simd_float m[12])
{
    simd_float3 x = {m[0], m[4], m[8]}, y = {m[1], m[5], m[9]}, z = {m[2], m[6], m[10]};
    simd_mask mirrored = dot3(z, cross3(x, y)) < SPLAT(0);
    for (uint32_t i = 0; i < WIDTH && b->first + i < b->block->lane_count; i++) {
        uint32_t v = b->block->vertex[b->first + i];
        float sign = input->mesh->vertices[v].tangent[3];
        input->tangents[4 * v + 3] = mirrored[i] ? -sign : sign;
    }
}

/* m transforms tangents; the normal is of unit length already. */
INLINE void store_outputs(const mmd_skin_input *input, const lane_group *b, outputs level,
                          simd_float3 position, const simd_float m[12], simd_float3 normal)
{
    store3(input->positions, b, position, 3);
    if (level == POSITIONS)
        return;
    if (input->normals)
        store3(input->normals, b, normal, 3);
    if (level == NORMALS)
        return;
    size_t width = input->mesh->tangent_width;
    store3(input->tangents, b, orthogonal_tangent(m, load3(b->tangent), normal), width);
    if (width == 4)
        store_signs(input, b, m);
}

INLINE void slerp_weights(float angle, const float *weights, float *out0, float *out1)
{
    float scale = 1 / sinf(angle);
    for (int i = 0; i < WIDTH; i++) {
        out0[i] = sinf(weights[i] * angle) * scale;
        out1[i] = sinf((1 - weights[i]) * angle) * scale;
    }
}

/* All vertices have the same matrix and cofactor matrix. */
INLINE void skin_one_bone(const mmd_skin_input *input, const lane_group *b, outputs level,
                          bool rigid, const mmd_skin_group *g)
{
    simd_float m[12], cofactors[12];
    splat_rows(g->last, m);
    simd_float3 position = transform_point(m, load3(b->position)), normal = position;
    if (level != POSITIONS && rigid) {
        normal = transform_vector(m, load3(b->normal));
    } else if (level != POSITIONS) {
        splat_rows(g->cofactors, cofactors);
        normal = transform_vector(cofactors, load3(b->normal));
        normal = normalized_or_precise(input, b, normal, g->min_normal);
    }
    store_outputs(input, b, level, position, m, normal);
}

/* M = M_last + sum of w_i (M_i - M_last), as the weights sum to 1. */
INLINE void blend_linear(const lane_group *b, int count, const mmd_skin_group *g, simd_float m[12])
{
    simd_float weight = load(b->weights);
    for (int i = 0; i < 12; i++)
        m[i] = FMA(weight, SPLAT(g->differences[0][i]), SPLAT(g->last[i]));
    for (int k = 1; k < count - 1; k++) {
        weight = load(b->weights + k * MMD_LANES);
        for (int i = 0; i < 12; i++)
            m[i] = FMA(weight, SPLAT(g->differences[k][i]), m[i]);
    }
}

INLINE void skin_linear(const mmd_skin_input *input, const lane_group *b, outputs level, int count,
                        const mmd_skin_group *g)
{
    simd_float m[12];
    blend_linear(b, count, g, m);
    simd_float3 position = transform_point(m, load3(b->position)), normal = position;
    if (level != POSITIONS)
        normal = linear_normal(input, b, m, g->min_normal);
    store_outputs(input, b, level, position, m, normal);
}

/* The rotation of a quaternion of any length, s being 2 / |q|^2. It keeps unit normals unit. */
INLINE void quaternion_matrix(const simd_float q[4], simd_float s, simd_float m[12])
{
    simd_float x = s * q[0], y = s * q[1], z = s * q[2], one = SPLAT(1);
    simd_float xx = x * q[0], yy = y * q[1], zz = z * q[2];
    simd_float xy = x * q[1], xz = x * q[2], yz = y * q[2];
    simd_float wx = x * q[3], wy = y * q[3], wz = z * q[3];
    m[0] = one - (yy + zz), m[1] = xy - wz, m[2] = xz + wy;
    m[4] = xy + wz, m[5] = one - (xx + zz), m[6] = yz - wx;
    m[8] = xz - wy, m[9] = yz + wx, m[10] = one - (xx + yy);
}

/* p' = m (p - c) + target. */
INLINE void blend_sdef(const lane_group *b, const mmd_skin_group *g, simd_float m[12],
                       simd_float3 *c, simd_float3 *target)
{
    simd_float weight = load(b->weights), q[4];
    if (g->slerp_angle > 0) {
        float slerp[2][WIDTH];
        simd_float weight0, weight1;
        slerp_weights(g->slerp_angle, b->weights, slerp[0], slerp[1]);
        memcpy(&weight0, slerp[0], sizeof weight0);
        memcpy(&weight1, slerp[1], sizeof weight1);
        for (int i = 0; i < 4; i++)
            q[i] = FMA(weight0, SPLAT(g->real[0][i]), weight1 * SPLAT(g->real[1][i]));
    } else {
        for (int i = 0; i < 4; i++)
            q[i] = FMA(weight, SPLAT(g->real[0][i] - g->real[1][i]), SPLAT(g->real[1][i]));
    }
    quaternion_matrix(q, SPLAT(2) / square4(q), m);

    simd_float last[12], difference[12];
    splat_rows(g->last, last);
    splat_rows(g->differences[0], difference);
    *c = load3(b->params);
    simd_float3 c1 = transform_point(last, *c);
    simd_float3 apart = transform_point(difference, load3(b->params + 3 * MMD_LANES));
    *target = (simd_float3){FMA(weight, apart.x, c1.x), FMA(weight, apart.y, c1.y),
                            FMA(weight, apart.z, c1.z)};
}

INLINE void skin_sdef(const mmd_skin_input *input, const lane_group *b, outputs level,
                      const mmd_skin_group *g)
{
    simd_float m[12];
    simd_float3 c, target;
    blend_sdef(b, g, m, &c, &target);
    simd_float3 arm = subtract3(load3(b->position), c);
    simd_float3 position = add3(target, transform_vector(m, arm)), normal = position;
    if (level != POSITIONS)
        normal = transform_vector(m, load3(b->normal));
    store_outputs(input, b, level, position, m, normal);
}

INLINE void add_dual_quaternion(simd_float real[4], simd_float dual[4], simd_float weight,
                                const mmd_skin_group *g, int k)
{
    for (int i = 0; i < 4; i++) {
        real[i] = FMA(weight, SPLAT(g->real[k][i]), real[i]);
        dual[i] = FMA(weight, SPLAT(g->dual[k][i]), dual[i]);
    }
}

/* As blend_linear: the last + sum of w_i (the others - the last). */
INLINE void sum_dual_quaternions(const lane_group *b, int count, const mmd_skin_group *g,
                                 simd_float real[4], simd_float dual[4])
{
    for (int i = 0; i < 4; i++) {
        real[i] = SPLAT(g->real[count - 1][i]);
        dual[i] = SPLAT(g->dual[count - 1][i]);
    }
    for (int k = 0; k < count - 1; k++)
        add_dual_quaternion(real, dual, load(b->weights + k * MMD_LANES), g, k);
}

/* The same when the signs differ from lane to lane. */
INLINE void sum_signed_dual_quaternions(const mmd_skin_input *input, const lane_group *b, int count,
                                        const mmd_skin_group *g, simd_float real[4],
                                        simd_float dual[4])
{
    simd_float last_weight = SPLAT(1);
    for (int i = 0; i < 4; i++)
        real[i] = dual[i] = SPLAT(0);
    for (int k = 0; k < count; k++) {
        float signs[WIDTH];
        simd_float sign, weight = k < count - 1 ? load(b->weights + k * MMD_LANES) : last_weight;
        for (int i = 0; i < WIDTH; i++) {
            uint32_t v = b->block->vertex[b->first + (uint32_t)i];
            signs[i] = g->signs[input->mesh->vertices[v].pivot][k];
        }
        memcpy(&sign, signs, sizeof sign);
        last_weight -= weight;
        add_dual_quaternion(real, dual, sign * weight, g, k);
    }
}

/* The matrix of a sum of dual quaternions. Returns the lanes whose sum does not vanish. */
INLINE simd_mask blend_qdef(const simd_float real[4], const simd_float dual[4], simd_float m[12])
{
    simd_float square = square4(real), s = SPLAT(2) / square;
    quaternion_matrix(real, s, m);
    simd_float3 r = {real[0], real[1], real[2]}, d = {dual[0], dual[1], dual[2]};
    simd_float3 cross = cross3(r, d);
    m[3] = s * (FMA(real[3], d.x, -(dual[3] * r.x)) + cross.x);
    m[7] = s * (FMA(real[3], d.y, -(dual[3] * r.y)) + cross.y);
    m[11] = s * (FMA(real[3], d.z, -(dual[3] * r.z)) + cross.z);
    return square >= SPLAT(MMD_MIN_QUATERNION);
}

/* The vector from the nearest point of a segment to v. */
INLINE simd_float3 from_segment(simd_float3 v, const float head[3], const float segment[3],
                                float inverse_square)
{
    simd_float3 from_head = subtract3(v, splat3(head)), axis = splat3(segment);
    simd_float x = clamp01(dot3(from_head, axis) * SPLAT(inverse_square));
    return subtract3(from_head, scale3(axis, x));
}

INLINE simd_float3 correct_bulge(const lane_group *b, const mmd_skin_group *g, simd_float3 rest,
                                 simd_float3 p)
{
    simd_float3 rest_offset = from_segment(rest, g->rest_head, g->rest_segment, g->inverse_square);
    simd_float3 offset = from_segment(p, g->head, g->segment, g->inverse_square);
    simd_float rest_square = dot3(rest_offset, rest_offset), square = dot3(offset, offset);
    simd_mask bulges = square > rest_square;
    /* rest distance / distance; both squares may be zero. */
    simd_float min = SPLAT(FLT_MIN);
    simd_float distance = rest_square * RSQRT(select1(rest_square > min, rest_square, min));
    simd_float ratio = distance * RSQRT(select1(square > min, square, min));
    simd_float amount = load(b->params) * SPLAT(g->correction) * (ratio - SPLAT(1));
    return add3(p, scale3(offset, select1(bulges, amount, SPLAT(0))));
}

/* QDEF, and the kinds that start from it. */
INLINE void skin_qdef(const mmd_skin_input *input, const lane_group *b, outputs level,
                      mmd_skin_group_path path, int count, const mmd_skin_group *g)
{
    simd_float real[4], dual[4], m[12];
    if (path == MMD_SKIN_GROUP_QDEF_SIGNED)
        sum_signed_dual_quaternions(input, b, count, g, real, dual);
    else
        sum_dual_quaternions(b, count, g, real, dual);
    simd_mask good = blend_qdef(real, dual, m);
    simd_float3 p = load3(b->position), normal = p;
    if (level != POSITIONS)
        normal = transform_vector(m, load3(b->normal));
    simd_float3 position = transform_point(m, p);
    if (path == MMD_SKIN_GROUP_BULGE_FREE)
        position = correct_bulge(b, g, p, position);
    else if (path == MMD_SKIN_GROUP_COMPENSATED)
        position = add_scaled3(position, splat3(g->bulge_offset), load(b->params));
    simd_float linear[12];
    if (path == MMD_SKIN_GROUP_CENTER) {
        simd_float3 c = load3(b->params);
        blend_linear(b, count, g, linear);
        position = add3(transform_point(linear, c), transform_vector(m, subtract3(p, c)));
    }
    if (ANY(~good)) { /* only with negative weights */
        blend_linear(b, count, g, linear);
        position = select3(good, position, transform_point(linear, p));
        if (level != POSITIONS)
            normal = precise_normals(input->mesh, input->bones, b->block, b->first, normal, good);
        for (int i = 0; i < 12; i++)
            m[i] = select1(good, m[i], linear[i]);
    }
    store_outputs(input, b, level, position, m, normal);
}

INLINE void skin_lane_group(const mmd_skin_input *input, const lane_group *b, outputs level,
                            mmd_skin_group_path path, int count, const mmd_skin_group *g)
{
    if (path == MMD_SKIN_GROUP_RIGID_BONE || path == MMD_SKIN_GROUP_ONE_BONE)
        skin_one_bone(input, b, level, path == MMD_SKIN_GROUP_RIGID_BONE, g);
    else if (path == MMD_SKIN_GROUP_LINEAR_TWO_BONES)
        skin_linear(input, b, level, 2, g);
    else if (path == MMD_SKIN_GROUP_LINEAR)
        skin_linear(input, b, level, count, g);
    else if (path == MMD_SKIN_GROUP_SDEF)
        skin_sdef(input, b, level, g);
    else
        skin_qdef(input, b, level, path, count, g);
}

/* Input and constants are copies that no other function can change, so that the compiler need not
   read them again after each store: a twentieth of the time, a sixth with SSE2. */
INLINE void skin_group(mmd_skin_input input_copy, const mmd_vertex_block_group *group,
                       outputs level, mmd_skin_group_path path, mmd_skin_group constants)
{
    const mmd_skin_input *input = &input_copy;
    const mmd_skin_group *g = &constants;
    const mmd_mesh *mesh = input->mesh;
    const mmd_vertex_block *blocks = mesh->blocks.blocks + group->first_block;
    const size_t block_count = group->block_count, stride = group->block_stride;
    const size_t normal_floats = mesh->has_normals ? 3 * MMD_LANES : 0;
    const size_t tangent_floats = mesh->tangent_width ? 3 * MMD_LANES : 0;
    const int bone_count = group->count;
    const float *data = group->data;
    for (size_t i = 0; i < block_count; i++, data += stride) {
        lane_group b = {.position = data, .normal = data + 3 * MMD_LANES, .block = &blocks[i]};
        b.tangent = b.normal + normal_floats;
        b.weights = b.tangent + tangent_floats;
        b.params = b.weights + (bone_count > 1 ? bone_count - 1 : 0) * MMD_LANES;
        if (input->weights && b.block->morph_slot >= 0)
            b.position = input->scratch + 3 * MMD_LANES * (size_t)b.block->morph_slot;
        for (int part = 0; part < MMD_LANES / WIDTH; part++, b.first += WIDTH) {
            if (part > 0 && b.first >= b.block->lane_count)
                break;
            skin_lane_group(input, &b, level, path, bone_count, g);
            b.position += WIDTH;
            b.normal += WIDTH;
            b.tangent += WIDTH;
            b.weights += WIDTH;
            b.params += WIDTH;
        }
    }
}

/* Compiles one loop per path and output level, without branches. */
INLINE void skin_groups(const mmd_skin_input *input, outputs level)
{
#define LOOP(path)                                                                                 \
    case path:                                                                                     \
        skin_group(*input, group, level, path, g);                                                 \
        break
    for (size_t i = 0; i < input->mesh->blocks.group_count; i++) {
        const mmd_vertex_block_group *group = &input->mesh->blocks.groups[i];
        mmd_skin_group g;
        switch (mmd_skin_group_prepare(input, group, level != POSITIONS, &g)) {
            LOOP(MMD_SKIN_GROUP_RIGID_BONE);
            LOOP(MMD_SKIN_GROUP_ONE_BONE);
            LOOP(MMD_SKIN_GROUP_LINEAR_TWO_BONES);
            LOOP(MMD_SKIN_GROUP_LINEAR);
            LOOP(MMD_SKIN_GROUP_SDEF);
            LOOP(MMD_SKIN_GROUP_QDEF);
            LOOP(MMD_SKIN_GROUP_QDEF_SIGNED);
            LOOP(MMD_SKIN_GROUP_CENTER);
            LOOP(MMD_SKIN_GROUP_BULGE_FREE);
            LOOP(MMD_SKIN_GROUP_COMPENSATED);
        }
    }
#undef LOOP
}

/* Separate functions: in a single one the loops would share its stack and registers. */
TARGET static __attribute__((noinline)) void skin_positions(const mmd_skin_input *input)
{
    skin_groups(input, POSITIONS);
}

TARGET static __attribute__((noinline)) void skin_normals(const mmd_skin_input *input)
{
    skin_groups(input, NORMALS);
}

TARGET static __attribute__((noinline)) void skin_tangents(const mmd_skin_input *input)
{
    skin_groups(input, TANGENTS);
}

void KERNEL(const mmd_skin_input *input)
{
    if (input->weights)
        mmd_vertex_blocks_morph(input->mesh, input->weights, input->scratch);
    if (input->tangents)
        skin_tangents(input);
    else if (input->normals)
        skin_normals(input);
    else
        skin_positions(input);
}
