/* SPDX-License-Identifier: MIT */
/* The body of every vector kernel. A file that includes it defines KERNEL (the function's name),
   WIDTH (lanes), TARGET (attribute), SPLAT, FMA, RSQRT (to full precision), ANY (of a mask), QUAD
   (a literal one of the lanes' fours) and STORE3 (of a quad's first three lanes, no more). Formulas
   are those of skin_scalar.c under the same names; what belongs to a group of vertices with the
   same bones is worked out once per group, what remains runs on WIDTH vertices side by side. */

#include "core/skin/skin_formulas.h"
#include "core/skin/skin_lanes.h"
#include "core/skin/skin_vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum output { POSITIONS, NORMALS, TANGENTS } output; /* each with those before it */

/* WIDTH vertices of one block, and where their results go. */
typedef struct batch {
    const float *position, *normal, *tangent, *weights, *own; /* own: rows of its kind */
    const mmd_block *block;
    uint32_t first;
} batch;

/* Cofactors of the linear part, by the sign of its determinant, applied to n: of columns x, y, z
   (n.x y - n.y x) x z + n.z (x x y), a quarter less work than the cofactors themselves. */
INLINE lanes3 turn_by_cofactors(const vec m[12], lanes3 n)
{
    lanes3 x = {m[0], m[4], m[8]}, y = {m[1], m[5], m[9]}, z = {m[2], m[6], m[10]};
    lanes3 last = cross3(x, y), others = {FMA(n.x, y.x, -(n.y * x.x)), FMA(n.x, y.y, -(n.y * x.y)),
                                          FMA(n.x, y.z, -(n.y * x.z))};
    others = cross3(others, z);
    mask flip = (dot3(z, last) < SPLAT(0)) & (mask)SPLAT(-0.0f);
    lanes3 out = {FMA(n.z, last.x, others.x), FMA(n.z, last.y, others.y),
                  FMA(n.z, last.z, others.z)};
    out.x = (vec)((mask)out.x ^ flip);
    out.y = (vec)((mask)out.y ^ flip);
    out.z = (vec)((mask)out.z ^ flip);
    return out;
}

INLINE void store3(float *out, const batch *l, lanes3 v, size_t stride)
{
    uint32_t run = WIDTH == MMD_LANES ? MMD_RUN_ALL
                   : l->first == 0    ? MMD_RUN_FIRST_FOUR
                                      : MMD_RUN_LAST_FOUR;
    const uint32_t *vertex = l->block->vertex + l->first;
    if (stride == 3 && l->block->runs & run)
        store3_run(out + 3 * (size_t)vertex[0], v);
    else
        store3_each(out, vertex, v, stride);
}

/* Lane by lane in double; rare enough. */
TARGET static __attribute__((noinline)) lanes3 precise_normals(const mmd_skin_frame *frame,
                                                               const batch *l, lanes3 normal,
                                                               mask good)
{
    for (uint32_t i = 0; i < WIDTH; i++) {
        float precise[3];
        if (good[i] || l->first + i >= l->block->lanes)
            continue;
        mmd_skin_precise_normal(&frame->mesh->vertices[l->block->vertex[l->first + i]],
                                frame->bones, precise);
        normal.x[i] = precise[0];
        normal.y[i] = precise[1];
        normal.z[i] = precise[2];
    }
    return normal;
}

INLINE lanes3 unit_or_precise(const mmd_skin_frame *frame, const batch *l, lanes3 turned,
                              float least)
{
    vec square = dot3(turned, turned);
    lanes3 unit = scale3(turned, RSQRT(square));
    mask good = (square >= SPLAT(least)) & (square <= SPLAT(FLT_MAX));
    if (ANY(~good))
        unit = precise_normals(frame, l, unit, good);
    return unit;
}

INLINE lanes3 linear_normal(const mmd_skin_frame *frame, const batch *l, const vec m[12],
                            float least)
{
    return unit_or_precise(frame, l, turn_by_cofactors(m, load3(l->normal)), least);
}

INLINE lanes3 orthogonal_tangent(const vec m[12], lanes3 given, lanes3 normal)
{
    lanes3 t = turn(m, given), across = subtract3(t, scale3(normal, dot3(normal, t)));
    mask along = dot3(across, across) <= SPLAT(MMD_LEAST_TANGENT) * dot3(t, t);
    across = choose3(along, (lanes3){SPLAT(0), SPLAT(0), SPLAT(0)}, across);
    return unit_or(across, given);
}

/* m turns tangents; the normal is unit already. */
INLINE void finish(const mmd_skin_frame *frame, const batch *l, output wanted, lanes3 position,
                   const vec m[12], lanes3 normal)
{
    store3(frame->positions, l, position, 3);
    if (wanted == POSITIONS)
        return;
    if (frame->normals)
        store3(frame->normals, l, normal, 3);
    if (wanted == NORMALS)
        return;
    size_t width = frame->mesh->tangent_width;
    store3(frame->tangents, l, orthogonal_tangent(m, load3(l->tangent), normal), width);
    if (width == 4)
        for (uint32_t i = l->first; i < l->first + WIDTH && i < l->block->lanes; i++) {
            uint32_t v = l->block->vertex[i];
            frame->tangents[4 * v + 3] = frame->mesh->vertices[v].tangent[3];
        }
}

INLINE void slerp_shares(float angle, const float *weights, float *shares0, float *shares1)
{
    float scale = 1 / sinf(angle);
    for (int i = 0; i < WIDTH; i++) {
        shares0[i] = sinf(weights[i] * angle) * scale;
        shares1[i] = sinf((1 - weights[i]) * angle) * scale;
    }
}

/* One matrix for all: also its cofactors are shared. */
INLINE void skin_one_bone(const mmd_skin_frame *frame, const batch *l, output wanted, bool rigid,
                          const mmd_group_matrices *g)
{
    vec m[12], cofactors[12];
    splat_rows(g->base, m);
    lanes3 position = move(m, load3(l->position)), normal = position;
    if (wanted != POSITIONS && rigid) {
        normal = turn(m, load3(l->normal));
    } else if (wanted != POSITIONS) {
        splat_rows(g->cofactors, cofactors);
        normal = turn(cofactors, load3(l->normal));
        normal = unit_or_precise(frame, l, normal, g->least_normal);
    }
    finish(frame, l, wanted, position, m, normal);
}

/* M = M_last + sum of w_i (M_i - M_last). */
INLINE void blend_linear(const batch *l, int count, const mmd_group_matrices *g, vec m[12])
{
    vec weight = load(l->weights);
    for (int i = 0; i < 12; i++)
        m[i] = FMA(weight, SPLAT(g->differences[0][i]), SPLAT(g->base[i]));
    for (int k = 1; k < count - 1; k++) {
        weight = load(l->weights + k * MMD_LANES);
        for (int i = 0; i < 12; i++)
            m[i] = FMA(weight, SPLAT(g->differences[k][i]), m[i]);
    }
}

INLINE void skin_linear(const mmd_skin_frame *frame, const batch *l, output wanted, int count,
                        const mmd_group_matrices *g)
{
    vec m[12];
    blend_linear(l, count, g, m);
    lanes3 position = move(m, load3(l->position)), normal = position;
    if (wanted != POSITIONS)
        normal = linear_normal(frame, l, m, g->least_normal);
    finish(frame, l, wanted, position, m, normal);
}

/* The rotation of a quaternion of any length, given 2 / |q|^2. It leaves unit normals unit. */
INLINE void quaternion_matrix(const vec q[4], vec s, vec m[12])
{
    vec x = s * q[0], y = s * q[1], z = s * q[2], one = SPLAT(1);
    vec xx = x * q[0], yy = y * q[1], zz = z * q[2];
    vec xy = x * q[1], xz = x * q[2], yz = y * q[2], wx = x * q[3], wy = y * q[3], wz = z * q[3];
    m[0] = one - (yy + zz), m[1] = xy - wz, m[2] = xz + wy;
    m[4] = xy + wz, m[5] = one - (xx + zz), m[6] = yz - wx;
    m[8] = xz - wy, m[9] = yz + wx, m[10] = one - (xx + yy);
}

/* p' = m (p - c) + target. */
INLINE void blend_sdef(const batch *l, const mmd_group_matrices *g, vec m[12], lanes3 *c,
                       lanes3 *target)
{
    vec weight = load(l->weights), q[4];
    if (g->angle > 0) {
        float shares[2][WIDTH];
        vec share0, share1;
        slerp_shares(g->angle, l->weights, shares[0], shares[1]);
        memcpy(&share0, shares[0], sizeof share0);
        memcpy(&share1, shares[1], sizeof share1);
        for (int i = 0; i < 4; i++)
            q[i] = FMA(share0, SPLAT(g->real[0][i]), share1 * SPLAT(g->real[1][i]));
    } else {
        for (int i = 0; i < 4; i++)
            q[i] = FMA(weight, SPLAT(g->real[0][i] - g->real[1][i]), SPLAT(g->real[1][i]));
    }
    quaternion_matrix(q, SPLAT(2) / square4(q), m);

    vec base[12], difference[12];
    splat_rows(g->base, base);
    splat_rows(g->differences[0], difference);
    *c = load3(l->own);
    lanes3 center = move(base, *c), apart = move(difference, load3(l->own + 3 * MMD_LANES));
    *target = (lanes3){FMA(weight, apart.x, center.x), FMA(weight, apart.y, center.y),
                       FMA(weight, apart.z, center.z)};
}

INLINE void skin_sdef(const mmd_skin_frame *frame, const batch *l, output wanted,
                      const mmd_group_matrices *g)
{
    vec m[12];
    lanes3 c, target;
    blend_sdef(l, g, m, &c, &target);
    lanes3 position = add3(target, turn(m, subtract3(load3(l->position), c))), normal = position;
    if (wanted != POSITIONS)
        normal = turn(m, load3(l->normal));
    finish(frame, l, wanted, position, m, normal);
}

INLINE void add_dual(vec real[4], vec dual[4], vec weight, const mmd_group_matrices *g, int k)
{
    for (int i = 0; i < 4; i++) {
        real[i] = FMA(weight, SPLAT(g->real[k][i]), real[i]);
        dual[i] = FMA(weight, SPLAT(g->dual[k][i]), dual[i]);
    }
}

/* As for linear blends: the last + sum of w_i (the others - the last). */
INLINE void sum_duals(const batch *l, int count, const mmd_group_matrices *g, vec real[4],
                      vec dual[4])
{
    for (int i = 0; i < 4; i++) {
        real[i] = SPLAT(g->real[count - 1][i]);
        dual[i] = SPLAT(g->dual[count - 1][i]);
    }
    for (int k = 0; k < count - 1; k++)
        add_dual(real, dual, load(l->weights + k * MMD_LANES), g, k);
}

/* The signs differ from lane to lane. */
INLINE void sum_signed_duals(const mmd_skin_frame *frame, const batch *l, int count,
                             const mmd_group_matrices *g, vec real[4], vec dual[4])
{
    vec rest = SPLAT(1);
    for (int i = 0; i < 4; i++)
        real[i] = dual[i] = SPLAT(0);
    for (int k = 0; k < count; k++) {
        float signs[WIDTH];
        vec sign, weight = k < count - 1 ? load(l->weights + k * MMD_LANES) : rest;
        for (int i = 0; i < WIDTH; i++) {
            uint32_t v = l->block->vertex[l->first + (uint32_t)i];
            signs[i] = g->signs[frame->mesh->vertices[v].pivot][k];
        }
        memcpy(&sign, signs, sizeof sign);
        rest -= weight;
        add_dual(real, dual, sign * weight, g, k);
    }
}

/* m from the sums. The lanes where they do not vanish. */
INLINE mask blend_qdef(const vec real[4], const vec dual[4], vec m[12])
{
    vec square = square4(real), s = SPLAT(2) / square;
    quaternion_matrix(real, s, m);
    lanes3 r = {real[0], real[1], real[2]}, d = {dual[0], dual[1], dual[2]};
    lanes3 across = cross3(r, d);
    m[3] = s * (FMA(real[3], d.x, -(dual[3] * r.x)) + across.x);
    m[7] = s * (FMA(real[3], d.y, -(dual[3] * r.y)) + across.y);
    m[11] = s * (FMA(real[3], d.z, -(dual[3] * r.z)) + across.z);
    return square >= SPLAT(MMD_LEAST_QUATERNION);
}

/* From the nearest point of a segment to v. */
INLINE lanes3 away_from_segment(lanes3 v, const float head[3], const float along[3],
                                float per_square)
{
    lanes3 from = subtract3(v, splat3(head)), way = splat3(along);
    return subtract3(from, scale3(way, clamp01(dot3(from, way) * SPLAT(per_square))));
}

INLINE lanes3 pull_to_segment(const batch *l, const mmd_group_matrices *g, lanes3 rest, lanes3 p)
{
    lanes3 before = away_from_segment(rest, g->rest_head, g->rest_along, g->per_square);
    lanes3 away = away_from_segment(p, g->head, g->along, g->per_square);
    vec wanted = dot3(before, before), square = dot3(away, away);
    mask grown = square > wanted;
    /* The ratio of the distances; both squares may be zero. */
    vec least = SPLAT(FLT_MIN), root = wanted * RSQRT(choose(wanted > least, wanted, least));
    vec ratio = root * RSQRT(choose(square > least, square, least));
    vec pull = load(l->own) * SPLAT(g->correction) * (ratio - SPLAT(1));
    return add3(p, scale3(away, choose(grown, pull, SPLAT(0))));
}

/* QDEF and the kinds that go on from its rotation. */
INLINE void skin_qdef(const mmd_skin_frame *frame, const batch *l, output wanted, mmd_shape shape,
                      int count, const mmd_group_matrices *g)
{
    vec real[4], dual[4], m[12];
    if (shape == MMD_SHAPE_QDEF_SIGNS)
        sum_signed_duals(frame, l, count, g, real, dual);
    else
        sum_duals(l, count, g, real, dual);
    mask good = blend_qdef(real, dual, m);
    lanes3 p = load3(l->position), normal = p;
    if (wanted != POSITIONS)
        normal = turn(m, load3(l->normal));
    lanes3 position = move(m, p);
    if (shape == MMD_SHAPE_BULGE_FREE)
        position = pull_to_segment(l, g, p, position);
    else if (shape == MMD_SHAPE_COMPENSATED)
        position = add_scaled3(position, splat3(g->outward), load(l->own));
    vec blended[12];
    if (shape == MMD_SHAPE_CENTER) {
        lanes3 c = load3(l->own);
        blend_linear(l, count, g, blended);
        position = add3(move(blended, c), turn(m, subtract3(p, c)));
    }
    if (ANY(~good)) { /* only with negative weights */
        blend_linear(l, count, g, blended);
        position = choose3(good, position, move(blended, p));
        if (wanted != POSITIONS)
            normal = precise_normals(frame, l, normal, good);
        for (int i = 0; i < 12; i++)
            m[i] = choose(good, m[i], blended[i]);
    }
    finish(frame, l, wanted, position, m, normal);
}

INLINE void skin_batch(const mmd_skin_frame *frame, const batch *l, output wanted, mmd_shape shape,
                       int count, const mmd_group_matrices *g)
{
    if (shape == MMD_SHAPE_RIGID_BONE || shape == MMD_SHAPE_ONE_BONE)
        skin_one_bone(frame, l, wanted, shape == MMD_SHAPE_RIGID_BONE, g);
    else if (shape == MMD_SHAPE_TWO_BONES)
        skin_linear(frame, l, wanted, 2, g);
    else if (shape == MMD_SHAPE_MORE_BONES)
        skin_linear(frame, l, wanted, count, g);
    else if (shape == MMD_SHAPE_SDEF)
        skin_sdef(frame, l, wanted, g);
    else
        skin_qdef(frame, l, wanted, shape, count, g);
}

INLINE void skin_group(const mmd_skin_frame *frame, const mmd_group *group, output wanted,
                       mmd_shape shape, const mmd_group_matrices *g)
{
    const mmd_mesh *mesh = frame->mesh;
    const float *data = group->data;
    for (size_t b = 0; b < group->block_count; b++, data += group->block_stride) {
        batch l = {.position = data,
                   .normal = data + 3 * MMD_LANES,
                   .block = &mesh->blocks.blocks[group->first_block + b]};
        l.tangent = l.normal + (mesh->has_normals ? 3 * MMD_LANES : 0);
        l.weights = l.tangent + (mesh->tangent_width ? 3 * MMD_LANES : 0);
        l.own = l.weights + (group->count > 1 ? group->count - 1 : 0) * MMD_LANES;
        if (frame->weights && l.block->morph_slot >= 0)
            l.position = frame->scratch + 3 * MMD_LANES * (size_t)l.block->morph_slot;
        for (int part = 0; part < MMD_LANES / WIDTH; part++, l.first += WIDTH) {
            if (part > 0 && l.first >= l.block->lanes)
                break;
            skin_batch(frame, &l, wanted, shape, group->count, g);
            l.position += WIDTH;
            l.normal += WIDTH;
            l.tangent += WIDTH;
            l.weights += WIDTH;
            l.own += WIDTH;
        }
    }
}

/* One copy of the loop per shape and output, so that nothing inside asks what it is doing. */
INLINE void skin_groups(const mmd_skin_frame *frame, output wanted)
{
    for (size_t i = 0; i < frame->mesh->blocks.group_count; i++) {
        const mmd_group *group = &frame->mesh->blocks.groups[i];
        mmd_group_matrices g;
        switch (mmd_group_prepare(frame, group, wanted != POSITIONS, &g)) {
        case MMD_SHAPE_RIGID_BONE:
            skin_group(frame, group, wanted, MMD_SHAPE_RIGID_BONE, &g);
            break;
        case MMD_SHAPE_ONE_BONE:
            skin_group(frame, group, wanted, MMD_SHAPE_ONE_BONE, &g);
            break;
        case MMD_SHAPE_TWO_BONES:
            skin_group(frame, group, wanted, MMD_SHAPE_TWO_BONES, &g);
            break;
        case MMD_SHAPE_MORE_BONES:
            skin_group(frame, group, wanted, MMD_SHAPE_MORE_BONES, &g);
            break;
        case MMD_SHAPE_SDEF:
            skin_group(frame, group, wanted, MMD_SHAPE_SDEF, &g);
            break;
        case MMD_SHAPE_QDEF:
            skin_group(frame, group, wanted, MMD_SHAPE_QDEF, &g);
            break;
        case MMD_SHAPE_QDEF_SIGNS:
            skin_group(frame, group, wanted, MMD_SHAPE_QDEF_SIGNS, &g);
            break;
        case MMD_SHAPE_CENTER:
            skin_group(frame, group, wanted, MMD_SHAPE_CENTER, &g);
            break;
        case MMD_SHAPE_BULGE_FREE:
            skin_group(frame, group, wanted, MMD_SHAPE_BULGE_FREE, &g);
            break;
        case MMD_SHAPE_COMPENSATED:
            skin_group(frame, group, wanted, MMD_SHAPE_COMPENSATED, &g);
            break;
        }
    }
}

/* Functions of their own: in one, the loops would share its stack and registers. */
TARGET static __attribute__((noinline)) void skin_positions(const mmd_skin_frame *frame)
{
    skin_groups(frame, POSITIONS);
}

TARGET static __attribute__((noinline)) void skin_normals(const mmd_skin_frame *frame)
{
    skin_groups(frame, NORMALS);
}

TARGET static __attribute__((noinline)) void skin_tangents(const mmd_skin_frame *frame)
{
    skin_groups(frame, TANGENTS);
}

void KERNEL(const mmd_skin_frame *frame)
{
    if (frame->weights)
        mmd_block_positions(frame);
    if (frame->tangents)
        skin_tangents(frame);
    else if (frame->normals)
        skin_normals(frame);
    else
        skin_positions(frame);
}
