/* SPDX-License-Identifier: MIT */
/* World transforms of bones from their local values, morphs and appends. */
#include "core/pose/pose_state.h"

#include "core/base/error.h"
#include "core/math/mat3.h"
#include "core/math/scalar.h"

/* Only bones that append and link-driven ones have these values. */
static void reset_append(mmd_pose_bone *state)
{
    memset(state->append_translation, 0, sizeof state->append_translation);
    mmd_quat_identity(state->append_rotation);
    mmd_quat_identity(state->ik_memory);
    state->append_dropped = false;
}

bool mmd_pose_state_init(mmd_arena *arena, const mmd_rig *rig, mmd_pose_state *pose)
{
    pose->rig = rig;
    pose->bones = mmd_arena_alloc(arena, rig->bone_count, sizeof *pose->bones);
    for (size_t i = 0; pose->bones && i < rig->bone_count; i++)
        reset_append(&pose->bones[i]);
    return pose->bones != NULL;
}

static void apply_morph(mmd_pose_state *pose, const mmd_morph *morph, float weight)
{
    static const double identity[4] = {0, 0, 0, 1};
    for (size_t k = 0; k < morph->offset_count; k++) {
        const float *values = morph->values + 7 * k;
        mmd_pose_bone *state = &pose->bones[morph->indices[k]];
        double rotation[4] = {values[3], values[4], values[5], values[6]};
        mmd_quat_normalize(rotation);
        mmd_quat_slerp(identity, rotation, weight, rotation);
        mmd_quat_multiply(rotation, state->local_rotation, state->local_rotation);
        for (int i = 0; i < 3; i++)
            state->local_translation[i] =
                mmd_numbers_clamp(state->local_translation[i] + (double)weight * values[i]);
    }
}

void mmd_pose_state_reset(mmd_pose_state *pose, double (*translations)[3], double (*rotations)[4],
                          const float *weights)
{
    static const double no_translation[3], identity[4] = {0, 0, 0, 1};
    const mmd_rig *rig = pose->rig;
    for (size_t i = 0; i < rig->bone_count; i++) {
        mmd_pose_bone *state = &pose->bones[i];
        memcpy(state->local_translation, translations ? translations[i] : no_translation,
               sizeof state->local_translation);
        memcpy(state->local_rotation, rotations ? rotations[i] : identity,
               sizeof state->local_rotation);
        if (rig->bones[i].source >= 0 || rig->bones[i].link_driven)
            reset_append(state);
    }
    for (size_t m = 0; m < rig->morph_count; m++)
        if (rig->model->morphs[m].kind == MMD_MORPH_BONE && weights[m] != 0)
            apply_morph(pose, &rig->model->morphs[m], weights[m]);
}

/* The append of a source rotation a by a ratio r is a rotation by r times its angle about its axis:
   slerp(identity, a, r), docs/mmd-behavior.md#append. MMD computes it with this pi,
   docs/mmd-behavior.md#append-rounded-pi. */
#define MMD_ROUNDED_PI 3.14

static void scale_rotation(const double a[4], double ratio, double out[4])
{
    double v[3] = {a[0], a[1], a[2]}, w = a[3];
    int largest = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(v[i]) > fabs(v[largest]))
            largest = i;
    /* The sign of a quaternion made from a matrix, whose trace is >= 0 where |w| >= 1/2. */
    bool flip = 4 * w * w >= 1 ? w < 0 : v[largest] < 0;
    if (flip)
        w = -w;
    double half_angle = mmd_portable_acos(w) - (w < 0 ? MMD_ROUNDED_PI : 0);
    double length = mmd_vec3_length(v);
    if (half_angle == 0 || length < 1.2e-7) {
        mmd_quat_identity(out);
        return;
    }
    double sine;
    mmd_portable_sin_cos(half_angle * ratio, &sine, &out[3]);
    double s = sine / (flip ? -length : length);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] * s;
}

void mmd_pose_state_append(mmd_pose_state *pose, int32_t index)
{
    const mmd_rig_bone *bone = &pose->rig->bones[index];
    mmd_pose_bone *state = &pose->bones[index];
    const mmd_pose_bone *source = &pose->bones[bone->source];
    bool local = bone->append & MMD_APPEND_LOCAL;
    if ((bone->append & MMD_APPEND_ROTATION) && !state->append_dropped) {
        double rotation[4];
        if (local)
            memcpy(rotation, source->world_rotation, sizeof rotation);
        else
            mmd_quat_multiply(source->local_rotation, source->append_rotation, rotation);
        scale_rotation(rotation, bone->ratio, state->append_rotation);
    }
    if (bone->append & MMD_APPEND_TRANSLATION) {
        const double *rest = pose->rig->bones[bone->source].position;
        for (int i = 0; i < 3; i++) {
            double amount = local ? source->world_position[i] - rest[i]
                                  : source->local_translation[i] + source->append_translation[i];
            /* Bones that append from each other would grow without end. */
            state->append_translation[i] = mmd_numbers_clamp(bone->ratio * amount);
        }
    }
}

/* The matrix of a bone with world rotation R and world position p, at rest at r, is [R | p - R r].
   Two bones are done at once, one in each half of a register: a tenth of the time of a pose. */
typedef float row __attribute__((vector_size(16)));

static inline void load_pairs(mmd_double2 *out, const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (mmd_double2){a[i], b[i]};
}

/* False if a number may be beyond MMD_NUMBERS_MAX, as those of hostile files. */
static inline bool are_within_limit(const mmd_double2 v[3])
{
    const mmd_double2_bits magnitude = {INT64_MAX, INT64_MAX};
    mmd_double2 sum = {0, 0};
    for (int i = 0; i < 3; i++)
        sum += (mmd_double2)((mmd_double2_bits)v[i] & magnitude);
    return sum[0] <= MMD_NUMBERS_MAX && sum[1] <= MMD_NUMBERS_MAX;
}

static inline row join_row(mmd_double2 a, mmd_double2 b)
{
    return __builtin_convertvector(__builtin_shufflevector(a, b, 0, 1, 2, 3), row);
}

static inline row join_rows(const mmd_double2 v[4], row *second)
{
    *second = join_row(__builtin_shufflevector(v[0], v[1], 1, 3),
                       __builtin_shufflevector(v[2], v[3], 1, 3));
    return join_row(__builtin_shufflevector(v[0], v[1], 0, 2),
                    __builtin_shufflevector(v[2], v[3], 0, 2));
}

static inline void write_two(const mmd_pose_state *pose, size_t a, size_t b, float *matrices)
{
    const mmd_pose_bone *bones = pose->bones;
    const mmd_rig_bone *rest = pose->rig->bones;
    mmd_double2 rotation[4], world[3], position[3], m[3][4], shift[3];
    load_pairs(rotation, bones[a].world_rotation, bones[b].world_rotation, 4);
    load_pairs(world, bones[a].world_position, bones[b].world_position, 3);
    load_pairs(position, rest[a].position, rest[b].position, 3);
    MMD_MAT3_FROM_QUAT(mmd_double2, rotation, m);
    for (int i = 0; i < 3; i++)
        shift[i] =
            world[i] - (m[i][0] * position[0] + m[i][1] * position[1] + m[i][2] * position[2]);
    if (!are_within_limit(shift))
        for (int i = 0; i < 3; i++)
            shift[i] =
                (mmd_double2){mmd_numbers_clamp(shift[i][0]), mmd_numbers_clamp(shift[i][1])};
    row rows_a[4] = {[3] = {0, 0, 0, 1}}, rows_b[4] = {[3] = {0, 0, 0, 1}};
    for (int i = 0; i < 3; i++) {
        m[i][3] = shift[i];
        rows_a[i] = join_rows(m[i], &rows_b[i]);
    }
    memcpy(matrices + 16 * a, rows_a, sizeof rows_a);
    memcpy(matrices + 16 * b, rows_b, sizeof rows_b);
}

void mmd_pose_state_matrices(const mmd_pose_state *pose, float *matrices)
{
    size_t count = pose->rig->bone_count;
    for (size_t i = 0; i < count; i += 2)
        write_two(pose, i, i + 1 < count ? i + 1 : i, matrices);
}
