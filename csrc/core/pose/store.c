/* SPDX-License-Identifier: MIT */
#include "core/pose/store.h"

#include <float.h>
#include <stdbool.h>

/* Two bones side by side: this is arithmetic that waits for nothing, and a tenth of a pose. */
typedef double pair __attribute__((vector_size(16)));
typedef int64_t pair_mask __attribute__((vector_size(16)));
typedef float float_pair __attribute__((vector_size(8)));
typedef float row __attribute__((vector_size(16)));

static inline void load_pairs(pair *out, const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (pair){a[i], b[i]};
}

/* Whether numbers surely are within those of floats, which hostile files can ask to leave. */
static inline bool fit_floats(const pair v[3])
{
    const pair_mask magnitude = {INT64_MAX, INT64_MAX};
    pair sum = {0, 0};
    for (int i = 0; i < 3; i++)
        sum += (pair)((pair_mask)v[i] & magnitude);
    return sum[0] <= (double)FLT_MAX && sum[1] <= (double)FLT_MAX;
}

static inline row join_row(pair a, pair b)
{
    return __builtin_convertvector(__builtin_shufflevector(a, b, 0, 1, 2, 3), row);
}

static inline row join_rows(const pair v[4], row *second)
{
    *second = join_row(__builtin_shufflevector(v[0], v[1], 1, 3),
                       __builtin_shufflevector(v[2], v[3], 1, 3));
    return join_row(__builtin_shufflevector(v[0], v[1], 0, 2),
                    __builtin_shufflevector(v[2], v[3], 0, 2));
}

static inline void store_two(const mmd_frame *frame, size_t a, size_t b, float *matrices)
{
    const mmd_posed_bone *bones = frame->bones;
    const mmd_rig_bone *rest = frame->rig->bones;
    pair rotation[4], world[3], position[3], m[3][4], shift[3];
    load_pairs(rotation, bones[a].world_rotation, bones[b].world_rotation, 4);
    load_pairs(world, bones[a].world_position, bones[b].world_position, 3);
    load_pairs(position, rest[a].position, rest[b].position, 3);
    MMD_QUATERNION_MATRIX(pair, rotation, m);
    for (int i = 0; i < 3; i++)
        shift[i] =
            world[i] - (m[i][0] * position[0] + m[i][1] * position[1] + m[i][2] * position[2]);
    if (!fit_floats(shift))
        for (int i = 0; i < 3; i++)
            shift[i] = (pair){mmd_within_float(shift[i][0]), mmd_within_float(shift[i][1])};
    row rows_a[4] = {[3] = {0, 0, 0, 1}}, rows_b[4] = {[3] = {0, 0, 0, 1}};
    for (int i = 0; i < 3; i++) {
        m[i][3] = shift[i];
        rows_a[i] = join_rows(m[i], &rows_b[i]);
    }
    memcpy(matrices + 16 * a, rows_a, sizeof rows_a);
    memcpy(matrices + 16 * b, rows_b, sizeof rows_b);
}

void mmd_frame_store(const mmd_frame *frame, float *matrices)
{
    size_t count = frame->rig->bone_count;
    for (size_t i = 0; i < count; i += 2)
        store_two(frame, i, i + 1 < count ? i + 1 : i, matrices);
}
