/* SPDX-License-Identifier: MIT */
#include "core/skin/skin_vector.h"

#include "core/skin/skin_formulas.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* To 1e-6: rows x and y of length 1 and orthogonal, the third their cross product. */
static bool is_rotation(const float m[12])
{
    const float *x = m, *y = m + 4, *z = m + 8;
    const float off[6] = {x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1,
                          y[0] * y[0] + y[1] * y[1] + y[2] * y[2] - 1,
                          x[0] * y[0] + x[1] * y[1] + x[2] * y[2],
                          x[1] * y[2] - x[2] * y[1] - z[0],
                          x[2] * y[0] - x[0] * y[2] - z[1],
                          x[0] * y[1] - x[1] * y[0] - z[2]};
    bool good = true;
    for (int i = 0; i < 6; i++)
        good &= fabsf(off[i]) < 1e-6f;
    return good;
}

static void set_cofactors(mmd_group_matrices *g)
{
    const float *m = g->base;
    float *c = g->cofactors;
    for (int row = 0; row < 3; row++) {
        const float *a = m + 4 * ((row + 1) % 3), *b = m + 4 * ((row + 2) % 3);
        for (int column = 0; column < 3; column++) {
            int next = (column + 1) % 3, last = (column + 2) % 3;
            c[4 * row + column] = a[next] * b[last] - a[last] * b[next];
        }
    }
    if (m[0] * c[0] + m[4] * c[4] + m[8] * c[8] < 0)
        for (int i = 0; i < 12; i++)
            c[i] = -c[i];
}

static bool has_rotations(const mmd_skin_frame *frame, const mmd_group *group)
{
    for (int k = 0; k < group->count; k++) {
        const float *q = frame->bones[group->bones[k]].rotation;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return false;
    }
    return true;
}

/* Whether they are the same, up to one sign for all, whatever the pivot: always so for two bones,
   and for more unless they are far apart. */
static bool set_signs(const mmd_skin_frame *frame, const mmd_group *group, mmd_group_matrices *g)
{
    bool same = true;
    for (int p = 0; p < group->count; p++)
        for (int k = 0; k < group->count; k++) {
            const float *a = frame->bones[group->bones[p]].rotation;
            const float *b = frame->bones[group->bones[k]].rotation;
            float dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
            g->signs[p][k] = dot < 0 ? -1.0f : 1.0f;
            same &= g->signs[p][k] == g->signs[0][p] * g->signs[0][k];
        }
    return same;
}

static void set_rotations(const mmd_skin_frame *frame, const mmd_group *group, const float signs[4],
                          mmd_group_matrices *g)
{
    for (int k = 0; k < group->count; k++) {
        const mmd_skin_bone *bone = &frame->bones[group->bones[k]];
        for (int i = 0; i < 4; i++) {
            g->real[k][i] = signs[k] * bone->rotation[i];
            g->dual[k][i] = signs[k] * bone->dual[i];
        }
    }
}

static void set_segment(const mmd_skin_frame *frame, const mmd_group *group, mmd_group_matrices *g)
{
    float square = 0;
    for (int i = 0; i < 3; i++) {
        g->rest_head[i] = group->c[i];
        g->rest_along[i] = group->c0[i] - group->c[i];
        square += g->rest_along[i] * g->rest_along[i];
    }
    g->per_square = 1 / square;
    g->correction = frame->correction;
    mmd_skin_segment(group->c, group->c0, &frame->bones[group->bones[0]], g->head, g->along);
}

static void set_outward(const mmd_skin_frame *frame, const mmd_group *group, mmd_group_matrices *g)
{
    mmd_skin_outward(group->c, group->c0, frame->bones[group->bones[0]].rotation,
                     frame->bones[group->bones[1]].rotation, g->outward);
    for (int i = 0; i < 3; i++)
        g->outward[i] *= frame->correction;
}

/* QDEF and the kinds that go on from its rotation; of the latter the first bone is the pivot. */
static mmd_shape prepare_qdef(const mmd_skin_frame *frame, const mmd_group *group,
                              mmd_skin_kind kind, mmd_group_matrices *g)
{
    static const float as_they_are[4] = {1, 1, 1, 1};
    int last = group->count - 1;
    if (!set_signs(frame, group, g) && kind == MMD_SKIN_QDEF) {
        set_rotations(frame, group, as_they_are, g);
        return MMD_SHAPE_QDEF_SIGNS;
    }
    set_rotations(frame, group, g->signs[0], g);
    for (int k = 0; k < last; k++)
        for (int i = 0; i < 4; i++) {
            g->real[k][i] -= g->real[last][i];
            g->dual[k][i] -= g->dual[last][i];
        }
    if (kind == MMD_SKIN_BULGE_FREE) {
        set_segment(frame, group, g);
        return MMD_SHAPE_BULGE_FREE;
    }
    if (kind == MMD_SKIN_COMPENSATED) {
        set_outward(frame, group, g);
        return MMD_SHAPE_COMPENSATED;
    }
    return kind == MMD_SKIN_CENTER ? MMD_SHAPE_CENTER : MMD_SHAPE_QDEF;
}

static mmd_shape prepare_sdef(const mmd_skin_frame *frame, const mmd_group *group,
                              mmd_group_matrices *g)
{
    set_signs(frame, group, g);
    set_rotations(frame, group, g->signs[0], g);
    g->angle =
        frame->sdef_blend == MMD_SDEF_SLERP ? (float)mmd_skin_arc(g->real[0], g->real[1]) : 0;
    return MMD_SHAPE_SDEF;
}

static float least_normal(const float m[12])
{
    float squares[3]; /* of columns */
    for (int i = 0; i < 3; i++)
        squares[i] = m[i] * m[i] + m[4 + i] * m[4 + i] + m[8 + i] * m[8 + i];
    float square = squares[0] + squares[1] + squares[2];
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
    if (kind != MMD_SKIN_LINEAR && has_rotations(frame, group))
        return kind == MMD_SKIN_SDEF ? prepare_sdef(frame, group, g)
                                     : prepare_qdef(frame, group, kind, g);
    if (group->count == 1 && (!normals || is_rotation(g->base)))
        return MMD_SHAPE_RIGID_BONE;
    g->least_normal = least_normal(g->base);
    if (group->count > 1)
        return group->count == 2 ? MMD_SHAPE_TWO_BONES : MMD_SHAPE_MORE_BONES;
    set_cofactors(g);
    return MMD_SHAPE_ONE_BONE;
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
