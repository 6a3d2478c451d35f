/* SPDX-License-Identifier: MIT */
/* Prepares a frame for skinning: the skinning matrix of each bone as rotation and dual quaternion
   (Kavan et al., "Skinning with dual quaternions", I3D 2007), and the weights of the morphs. */
#include "core/skin/skin_input.h"

#include "core/math/mat3.h"
#include "core/model/morph.h"

#include <math.h>
#include <string.h>

/* The rotation with columns x and y by Gram-Schmidt and z = x cross y, as a unit quaternion x y z
   w. False if the determinant is not positive. In double, so that storing it is the only error. */
static bool bone_rotation(const float rows[3][4], double q[4])
{
    double x[3], y[3], z[3], cross[3];
    for (int i = 0; i < 3; i++) {
        x[i] = rows[i][0];
        y[i] = rows[i][1];
        z[i] = rows[i][2];
    }
    mmd_vec3_cross(y, z, cross);
    double determinant = mmd_vec3_dot(x, cross), square = mmd_vec3_dot(x, x);
    if (!(determinant > 0) || !(square > 0))
        return false;
    mmd_vec3_add_scaled(x, -(mmd_vec3_dot(x, y) / square), y);
    mmd_vec3_scale(x, 1 / sqrt(square), x);
    square = mmd_vec3_dot(y, y);
    if (!(square > 0))
        return false;
    mmd_vec3_scale(y, 1 / sqrt(square), y);
    mmd_vec3_cross(x, y, z);

    const double rotation[3][3] = {{x[0], y[0], z[0]}, {x[1], y[1], z[1]}, {x[2], y[2], z[2]}};
    double scale = 0.5 / sqrt(mmd_mat3_to_scaled_quat(rotation, q));
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
    return true;
}

static void set_dual_quaternion(mmd_skin_bone *bone)
{
    double q[4];
    if (!bone_rotation((const float(*)[4])bone->rows, q))
        return;
    double x = bone->rows[0][3], y = bone->rows[1][3], z = bone->rows[2][3];
    for (int i = 0; i < 4; i++)
        bone->rotation[i] = (float)q[i];
    bone->dual[0] = (float)(0.5 * (y * q[2] - z * q[1] + q[3] * x));
    bone->dual[1] = (float)(0.5 * (z * q[0] - x * q[2] + q[3] * y));
    bone->dual[2] = (float)(0.5 * (x * q[1] - y * q[0] + q[3] * z));
    bone->dual[3] = (float)(-0.5 * (x * q[0] + y * q[1] + z * q[2]));
}

void mmd_skin_input_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones)
{
    const float *matrices =
        job->matrices + (job->matrix_frames == 1 ? 0 : frame) * job->bone_count * 16;
    for (size_t b = 0; b < job->mesh->bone_count; b++) {
        memcpy(bones[b].rows, matrices + 16 * b, sizeof bones[b].rows);
        memset(bones[b].rotation, 0, sizeof bones[b].rotation);
        memset(bones[b].dual, 0, sizeof bones[b].dual);
        if (job->method == MMD_METHOD_DUAL_QUATERNION ||
            (job->method != MMD_METHOD_LINEAR && job->mesh->bone_rotates[b]))
            set_dual_quaternion(&bones[b]);
    }
}

bool mmd_skin_input_weights(const mmd_skin_job *job, size_t frame, float *weights)
{
    const mmd_mesh *mesh = job->mesh;
    if (!job->morph_weights) {
        memset(weights, 0, mesh->morph_count * sizeof *weights);
        return false;
    }
    const float *sliders =
        job->morph_weights + (job->morph_weight_frames == 1 ? 0 : frame) * mesh->morph_count;
    mmd_morph_weights(mesh->morphs, mesh->morph_count, sliders, weights);
    for (size_t i = 0; i < mesh->vertex_morph_count; i++)
        if (weights[mesh->vertex_morphs[i].morph] != 0)
            return true;
    return false;
}
