/* SPDX-License-Identifier: MIT */
#include "core/skin/skin_vector.h"

#include "core/skin/skin_scalar.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Whether they are the matrix itself, which only a rotation's are (and those of zero). */
static bool set_cofactors(mmd_group_matrices *g)
{
    const float *m = g->base;
    float *c = g->cofactors, off = 0;
    for (int row = 0; row < 3; row++) {
        const float *a = m + 4 * ((row + 1) % 3), *b = m + 4 * ((row + 2) % 3);
        for (int column = 0; column < 3; column++) {
            int next = (column + 1) % 3, last = (column + 2) % 3;
            c[4 * row + column] = a[next] * b[last] - a[last] * b[next];
            float error = fabsf(c[4 * row + column] - m[4 * row + column]);
            off = error > off ? error : off;
        }
    }
    if (off < 1e-6f && fabsf(m[0]) + fabsf(m[1]) + fabsf(m[2]) > 0.5f)
        return true;
    if (m[0] * c[0] + m[4] * c[4] + m[8] * c[8] < 0)
        for (int i = 0; i < 12; i++)
            c[i] = -c[i];
    return false;
}

/* False when a bone has no rotation. */
static bool set_rotations(const mmd_skin_frame *frame, const mmd_group *group,
                          mmd_group_matrices *g)
{
    const float *pivot = frame->bones[group->bones[0]].rotation;
    for (int k = 0; k < group->count; k++) {
        const mmd_skin_bone *bone = &frame->bones[group->bones[k]];
        const float *q = bone->rotation;
        float dot = pivot[0] * q[0] + pivot[1] * q[1] + pivot[2] * q[2] + pivot[3] * q[3];
        float sign = dot < 0 ? -1.0f : 1.0f;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return false;
        for (int i = 0; i < 4; i++) {
            g->real[k][i] = sign * q[i];
            g->dual[k][i] = sign * bone->dual[i];
        }
    }
    return true;
}

static float least_normal(const float rows[12])
{
    float square = 0;
    for (int i = 0; i < 12; i++)
        square += i % 4 == 3 ? 0 : rows[i] * rows[i];
    float least = MMD_LEAST_NORMAL * square * square;
    return least > FLT_MIN ? least : FLT_MIN; /* fmaxf is a call */
}

mmd_shape mmd_group_prepare(const mmd_skin_frame *frame, const mmd_group *group, bool normals,
                            mmd_group_matrices *g)
{
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (group->count == 0) {
        memcpy(g->base, identity, sizeof identity);
        return MMD_SHAPE_RIGID_BONE;
    }
    int last = group->count - 1;
    memcpy(g->base, frame->bones[group->bones[last]].rows, sizeof g->base);
    for (int k = 0; k < last; k++) {
        const float *rows = frame->bones[group->bones[k]].rows[0];
        for (int i = 0; i < 12; i++)
            g->differences[k][i] = rows[i] - g->base[i];
    }
    mmd_skin_kind kind = mmd_skin_kind_of(frame->method, group->kind, group->count);
    if (kind != MMD_SKIN_LINEAR && set_rotations(frame, group, g)) {
        if (kind == MMD_SKIN_QDEF) {
            for (int i = 0; i < 4 * last; i++) {
                g->real[i / 4][i % 4] -= g->real[last][i % 4];
                g->dual[i / 4][i % 4] -= g->dual[last][i % 4];
            }
            return MMD_SHAPE_QDEF;
        }
        g->angle =
            frame->sdef_blend == MMD_SDEF_SLERP ? (float)mmd_skin_arc(g->real[0], g->real[1]) : 0;
        return MMD_SHAPE_SDEF;
    }
    if (group->count == 1 && (!normals || set_cofactors(g)))
        return MMD_SHAPE_RIGID_BONE;
    g->least_normal = least_normal(g->base);
    return group->count == 1   ? MMD_SHAPE_ONE_BONE
           : group->count == 2 ? MMD_SHAPE_TWO_BONES
                               : MMD_SHAPE_MORE_BONES;
}

void mmd_block_positions(const mmd_skin_frame *frame)
{
    const mmd_mesh *mesh = frame->mesh;
    for (size_t slot = 0; slot < mesh->blocks.morphed_count; slot++)
        memcpy(frame->scratch + slot * 3 * MMD_LANES, mesh->blocks.morphed[slot],
               3 * MMD_LANES * sizeof(float));
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_vertex_morph *morph = &mesh->vertex_morphs[m];
        float weight = frame->weights[morph->morph];
        if (weight == 0)
            continue;
        const uint32_t *lanes = mesh->blocks.morph_lanes[m];
        for (size_t i = 0; i < morph->offset_count; i++) {
            float *x = frame->scratch + lanes[i];
            x[0] += weight * morph->offsets[3 * i];
            x[MMD_LANES] += weight * morph->offsets[3 * i + 1];
            x[2 * MMD_LANES] += weight * morph->offsets[3 * i + 2];
        }
    }
}
