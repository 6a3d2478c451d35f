/* SPDX-License-Identifier: MIT */
/* Computes local values from skinning matrices. With W the world rotation W.q (unit quaternion) and
   position W.t (units) of a bone, P those of its parent, p its offset from there at rest, m its
   bone morphs and a its append:

       q = conj(P.q) W.q              t = conj(P.q) (W.t - P.t) - p
       key.q = conj(m.q) q conj(a.q)  key.t = t - m.t - a.t

   as docs/mmd-behavior.md#bone-poses composes them. */
#include "core/fit/fit.h"

#include "core/base/error.h"
#include "core/math/mat3.h"
#include "core/model/morph.h"

/* Translations below this are rounding of the matrices. */
static const double MIN_TRANSLATION = 2e-6;
/* Columns farther from length 1 are scaled: the rotation is that of the polar decomposition. */
static const double MAX_SCALE = 1e-3;

bool mmd_inverse_pose_init(mmd_arena *arena, const mmd_rig *rig, mmd_inverse_pose *inverse)
{
    size_t n = rig->bone_count;
    *inverse = (mmd_inverse_pose){.order = mmd_rig_dependency_order(arena, rig)};
    return inverse->order && MMD_ARENA_ARRAY(arena, inverse->morph_translations, n) &&
           MMD_ARENA_ARRAY(arena, inverse->morph_rotations, n) &&
           MMD_ARENA_ARRAY(arena, inverse->weights, rig->morph_count) &&
           mmd_pose_state_init(arena, rig, &inverse->state);
}

/* The rotation of the polar decomposition by Newton's iteration, M <- (M + M^-T) / 2 (Higham 1986).
   A matrix without an inverse, or a mirrored one, stays as it is. */
static void make_orthogonal(double m[3][3])
{
    double size = 0;
    for (int i = 0; i < 3; i++)
        size = fmax(size, mmd_vec3_length(m[i]));
    for (int i = 0; size > 0 && i < 3; i++)
        mmd_vec3_scale(m[i], 1 / size, m[i]);
    for (int round = 0; round < 20; round++) {
        double cofactors[3][3], change = 0;
        mmd_vec3_cross(m[1], m[2], cofactors[0]);
        mmd_vec3_cross(m[2], m[0], cofactors[1]);
        mmd_vec3_cross(m[0], m[1], cofactors[2]);
        double determinant = mmd_vec3_dot(m[0], cofactors[0]);
        if (!(determinant > 1e-12))
            return;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) {
                double next = (m[i][k] + cofactors[i][k] / determinant) / 2;
                change = fmax(change, fabs(next - m[i][k]));
                m[i][k] = next;
            }
        if (change < 1e-14)
            return;
    }
}

/* World rotation and position of a bone by its skinning matrix. */
static void read_world(const float *matrix, const double rest[3], double rotation[4],
                       double position[3], mmd_inverse_pose_loss *loss)
{
    double m[3][3], scale = 0;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            m[i][k] = (double)matrix[4 * i + k];
        position[i] = mmd_vec3_dot(m[i], rest) + (double)matrix[4 * i + 3];
    }
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3;
        double column[3] = {m[0][k], m[1][k], m[2][k]};
        double other[3] = {m[0][next], m[1][next], m[2][next]};
        scale = fmax(scale, fabs(mmd_vec3_length(column) - 1));
        scale = fmax(scale, fabs(mmd_vec3_dot(column, other)));
    }
    if (mmd_vec3_triple_product(m[0], m[1], m[2]) < 0)
        scale = fmax(scale, 2);
    if (scale > MAX_SCALE) {
        loss->scale = fmaxf(loss->scale, (float)scale);
        make_orthogonal(m);
    }
    mmd_mat3_to_scaled_quat(m, rotation);
    mmd_quat_normalize(rotation);
}

/* The twist of swing-twist: of all rotations about the axis the nearest one. */
static void project_on_axis(const double axis[3], double q[4], mmd_inverse_pose_loss *loss)
{
    double along = mmd_vec3_dot(axis, q);
    double twist[4] = {along * axis[0], along * axis[1], along * axis[2], q[3]}, swing[4];
    mmd_quat_normalize(twist);
    mmd_quat_conjugate(twist, swing);
    mmd_quat_multiply(q, swing, swing);
    double angle = 2 * asin(fmin(mmd_vec3_length(swing), 1));
    loss->off_axis = fmaxf(loss->off_axis, (float)angle);
    memcpy(q, twist, sizeof twist);
}

/* The local values of a bone, from the states of its parent and append source; sets its own state.
 */
static void invert_bone(mmd_inverse_pose *inverse, int32_t index, const double rotation[4],
                        const double position[3], float *translation_out, float *rotation_out,
                        mmd_inverse_pose_loss *loss)
{
    mmd_pose_state *state = &inverse->state;
    const mmd_rig_bone *bone = &state->rig->bones[index];
    mmd_pose_bone *at = &state->bones[index];
    double parent_inverse[4] = {0, 0, 0, 1}, from_parent[3], q[4], t[3], inverted[4];
    memcpy(from_parent, position, sizeof from_parent);
    if (bone->parent >= 0) {
        const mmd_pose_bone *parent = &state->bones[bone->parent];
        mmd_quat_conjugate(parent->world_rotation, parent_inverse);
        mmd_vec3_subtract(from_parent, parent->world_position, from_parent);
    }
    mmd_quat_multiply(parent_inverse, rotation, q);
    mmd_quat_rotate(parent_inverse, from_parent, t);
    if (bone->source >= 0) {
        mmd_pose_state_append(state, index);
        mmd_quat_conjugate(at->append_rotation, inverted);
        mmd_quat_multiply(q, inverted, q);
    }
    mmd_quat_conjugate(inverse->morph_rotations[index], inverted);
    mmd_quat_multiply(inverted, q, q);
    mmd_quat_normalize(q);
    double sign = q[3] < 0 ? -1 : 1;
    for (int i = 0; i < 4; i++)
        q[i] *= sign;
    if (bone->has_fixed_axis)
        project_on_axis(bone->axis, q, loss);
    for (int i = 0; i < 3; i++) {
        t[i] -= bone->offset[i] + inverse->morph_translations[index][i] +
                (bone->source >= 0 ? at->append_translation[i] : 0);
        translation_out[i] = fabs(t[i]) < MIN_TRANSLATION ? 0 : (float)mmd_numbers_clamp(t[i]);
        at->local_translation[i] =
            inverse->morph_translations[index][i] + (double)translation_out[i];
    }
    for (int i = 0; i < 4; i++) {
        rotation_out[i] = (float)q[i];
        q[i] = (double)rotation_out[i];
    }
    mmd_quat_normalize(q);
    mmd_quat_multiply(inverse->morph_rotations[index], q, at->local_rotation);
    mmd_pose_state_update(state, index);
}

void mmd_inverse_pose_run(mmd_inverse_pose *inverse, const float *matrices,
                          const float *morph_weights, bool place_goals, float *translations,
                          float *rotations, mmd_inverse_pose_loss *loss)
{
    mmd_pose_state *state = &inverse->state;
    const mmd_rig *rig = state->rig;
    size_t n = rig->bone_count, morphs = rig->morph_count;
    memset(inverse->weights, 0, morphs * sizeof *inverse->weights);
    if (morph_weights)
        mmd_morph_weights(rig->model->morphs, morphs, morph_weights, inverse->weights);
    mmd_pose_state_reset(state, NULL, NULL, inverse->weights);
    for (size_t i = 0; i < n; i++) {
        memcpy(inverse->morph_translations[i], state->bones[i].local_translation,
               sizeof *inverse->morph_translations);
        memcpy(inverse->morph_rotations[i], state->bones[i].local_rotation,
               sizeof *inverse->morph_rotations);
    }
    /* Where a cycle of sources is cut, a bone is inverted against its parent as given. */
    for (size_t i = 0; i < n; i++) {
        mmd_inverse_pose_loss unused = {0, 0};
        read_world(matrices + 16 * i, rig->bones[i].position, state->bones[i].world_rotation,
                   state->bones[i].world_position, &unused);
    }
    for (size_t i = 0; i < n; i++) {
        int32_t bone = inverse->order[i];
        const mmd_ik *ik = rig->model->bones[bone].ik;
        double rotation[4], position[3], effector_rotation[4];
        mmd_inverse_pose_loss unused = {0, 0};
        read_world(matrices + 16 * bone, rig->bones[bone].position, rotation, position,
                   &loss[bone]);
        if (place_goals && ik && ik->target >= 0)
            read_world(matrices + 16 * ik->target, rig->bones[ik->target].position,
                       effector_rotation, position, &unused);
        invert_bone(inverse, bone, rotation, position, translations + 3 * bone,
                    rotations + 4 * bone, &loss[bone]);
    }
}
