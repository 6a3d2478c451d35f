/* SPDX-License-Identifier: MIT */
/* Runs skinning jobs: checks them, prepares each frame, runs a kernel on it, and streams results
   that exceed the caches. */
#include "core/skin/skin.h"

#include "core/base/cpu.h"
#include "core/base/error.h"
#include "core/math/mat3.h"
#include "core/model/morph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Kernels */

static bool always(void)
{
    return true;
}

/* Slowest first. */
static const mmd_skin_kernel kernels[] = {
    {"scalar", always, mmd_skin_scalar},
#ifdef MMD_CPU_X86
    {"sse2", always, mmd_skin_sse2},
    {"avx2", mmd_cpu_has_avx2, mmd_skin_avx2},
    {"avx512", mmd_cpu_has_avx512, mmd_skin_avx512},
#endif
#ifdef MMD_CPU_ARM
    {"neon", always, mmd_skin_neon},
#endif
};

enum { KERNEL_COUNT = sizeof kernels / sizeof *kernels };

const mmd_skin_kernel *mmd_skin_kernel_best(void)
{
    size_t best = KERNEL_COUNT - 1;
    while (!kernels[best].available())
        best--;
    return &kernels[best];
}

const mmd_skin_kernel *mmd_skin_kernel_find(const char *name, mmd_error *err)
{
    char available[64] = "";
    for (size_t i = 0; i < KERNEL_COUNT; i++) {
        if (!kernels[i].available())
            continue;
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
        size_t used = strlen(available);
        snprintf(available + used, sizeof available - used, "%s%s", used ? ", " : "",
                 kernels[i].name);
    }
    mmd_fail(err, MMD_E_BACKEND, "backend: kernel \"%s\" is unknown or not supported here: %s",
             name, available);
    return NULL;
}

/* Input of a frame: the skinning matrix of each bone as rotation and dual quaternion (Kavan et al.,
   "Skinning with dual quaternions", I3D 2007), and the weights of the morphs. */

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
        if (weights[mesh->vertex_morphs[i] - mesh->morphs] != 0)
            return true;
    return false;
}

/* Jobs */

bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    bool corrects =
        job->method == MMD_METHOD_BULGE_FREE || job->method == MMD_METHOD_BULGE_COMPENSATED;
    if ((unsigned)job->method > MMD_METHOD_CENTERS_OF_ROTATION)
        return mmd_refuse(err, "method: %d of %d", (int)job->method,
                          MMD_METHOD_CENTERS_OF_ROTATION + 1);
    if ((unsigned)job->sdef_blend > MMD_SDEF_SLERP)
        return mmd_refuse(err, "sdef_blend: %d of %d", (int)job->sdef_blend, MMD_SDEF_SLERP + 1);
    if (mesh->method != (job->method < MMD_METHOD_BULGE_FREE ? MMD_METHOD_MMD : job->method))
        return mmd_refuse(err, "method: the mesh is prepared for another one");
    if (corrects && !(job->correction >= 0 && job->correction <= 1))
        return mmd_refuse(err, "correction: %g, expected 0 to 1", (double)job->correction);
    if (!mmd_numbers_check_frame_count("bone_matrices", job->matrix_frames, job->frame_count, err))
        return false;
    if (job->bone_count < mesh->bone_count) {
        for (size_t v = 0; v < mesh->vertex_count; v++)
            for (int i = 0; i < mesh->vertices[v].count; i++)
                if ((size_t)mesh->vertices[v].bones[i] >= job->bone_count)
                    return mmd_refuse(err, "vertex %zu: bone %d of %zu", v,
                                      (int)mesh->vertices[v].bones[i], job->bone_count);
        return mmd_refuse(err, "bone_matrices: %zu %s, the mesh uses %zu", job->bone_count,
                          mmd_numbers_noun(job->bone_count, "bone", "bones"), mesh->bone_count);
    }
    if (job->normals && !mesh->has_normals)
        return mmd_refuse(err, "normals: the mesh has none");
    if (job->tangents && !mesh->tangent_width)
        return mmd_refuse(err, "tangents: the mesh has none");

    size_t count = job->matrix_frames * job->bone_count * 16;
    if (count && !mmd_error_require(job->matrices, "bone_matrices", err))
        return false;
    size_t bad = mmd_numbers_first_not_finite(job->matrices, count);
    if (bad < count)
        return mmd_refuse(err, "bone_matrices: frame %zu, bone %zu, row %zu, column %zu is %s",
                          bad / 16 / job->bone_count, bad / 16 % job->bone_count, bad / 4 % 4,
                          bad % 4, mmd_numbers_fault(job->matrices[bad]));
    const mmd_numbers_array weights = {"morph_weights",    "morph",
                                       job->morph_weights, job->morph_weight_frames,
                                       mesh->morph_count,  1};
    return mmd_numbers_check(&weights, 1, job->frame_count, err);
}

mmd_skin_job mmd_skin_slice(const mmd_skin_job *job, size_t first, size_t count)
{
    const mmd_mesh *mesh = job->mesh;
    mmd_skin_job slice = *job;
    slice.frame_count = count;
    MMD_NUMBERS_SLICE(slice.matrices, slice.matrix_frames, job->bone_count * 16, first, count);
    MMD_NUMBERS_SLICE(slice.morph_weights, slice.morph_weight_frames, mesh->morph_count, first,
                      count);
    if (job->positions)
        slice.positions += first * mesh->vertex_count * 3;
    if (job->normals)
        slice.normals += first * mesh->vertex_count * 3;
    if (job->tangents)
        slice.tangents += first * mesh->vertex_count * mesh->tangent_width;
    return slice;
}

/* Streaming stores

   Kernels store vertex by vertex, so the CPU reads each cache line before it is written. If the
   results of a job exceed the caches, a frame is made in a staging buffer instead and copied with
   non-temporal stores, which write whole lines and read nothing. */

/* Results of a job that exceed a core's part of the last-level cache, and of a frame that still fit
   there together with the mesh. */
static const size_t CACHED_BYTES = 16 << 20, CACHED_FRAME_BYTES = 4 << 20;

static size_t floats_per_frame(const mmd_skin_job *job)
{
    size_t tangent_width = job->tangents ? job->mesh->tangent_width : 0;
    return job->mesh->vertex_count * ((job->normals ? 6 : 3) + tangent_width);
}

static bool workspace_init(mmd_skin_workspace *workspace, const mmd_skin_job *job, mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    size_t floats = floats_per_frame(job), bytes = floats * sizeof(float);
    size_t lanes = MMD_LANES * mesh->blocks.morphed_count;
    bool streams =
        MMD_STREAMS && bytes <= CACHED_FRAME_BYTES && bytes * job->frame_count > CACHED_BYTES;
    mmd_arena *arena = &workspace->arena;
    workspace->bones =
        mmd_arena_alloc_uninitialized(arena, mesh->bone_count, sizeof *workspace->bones);
    workspace->weights =
        mmd_arena_alloc_uninitialized(arena, mesh->morph_count, sizeof *workspace->weights);
    workspace->scratch = mmd_arena_alloc_uninitialized(
        arena,
        job->morph_weights ? 3 * (lanes > mesh->vertex_count ? lanes : mesh->vertex_count) : 0,
        sizeof *workspace->scratch);
    workspace->staging =
        streams ? mmd_arena_alloc_uninitialized(arena, floats, sizeof *workspace->staging) : NULL;
    if (workspace->bones && workspace->weights && workspace->scratch &&
        (workspace->staging || !streams))
        return true;
    mmd_skin_workspace_free(workspace);
    return mmd_fail_memory(err);
}

void mmd_skin_workspace_free(mmd_skin_workspace *workspace)
{
    mmd_arena_free(&workspace->arena);
    *workspace = (mmd_skin_workspace){0};
}

/* Sets the outputs to those of a job of one frame, or to the staging buffer in their place. */
static void set_outputs(const mmd_skin_job *frame, float *staging, mmd_skin_input *input)
{
    size_t n = frame->mesh->vertex_count;
    float *normals = staging ? staging + 3 * n : frame->normals;
    float *tangents = staging ? staging + (frame->normals ? 6 * n : 3 * n) : frame->tangents;
    input->positions = staging ? staging : frame->positions;
    input->normals = frame->normals ? normals : NULL;
    input->tangents = frame->tangents ? tangents : NULL;
}

static void stream_outputs(const mmd_skin_input *staged, const mmd_skin_job *to)
{
    size_t n = staged->mesh->vertex_count;
    mmd_stream(to->positions, staged->positions, 3 * n);
    if (to->normals)
        mmd_stream(to->normals, staged->normals, 3 * n);
    if (to->tangents)
        mmd_stream(to->tangents, staged->tangents, staged->mesh->tangent_width * n);
}

bool mmd_skin_frames(const mmd_skin_job *job, size_t first, size_t count,
                     const mmd_skin_kernel *kernel, mmd_skin_workspace *workspace, mmd_error *err)
{
    if (!kernel)
        kernel = mmd_skin_kernel_best();
    if (!workspace->bones && !workspace_init(workspace, job, err))
        return false;
    mmd_skin_input input = {.mesh = job->mesh,
                            .method = job->method,
                            .sdef_blend = job->sdef_blend,
                            .correction = job->correction,
                            .bones = workspace->bones,
                            .scratch = workspace->scratch};
    for (size_t f = first; f < first + count; f++) {
        mmd_skin_job frame = mmd_skin_slice(job, f, 1);
        if (f == first || job->matrix_frames > 1)
            mmd_skin_input_bones(job, f, workspace->bones);
        if (f == first || job->morph_weight_frames > 1)
            input.weights =
                mmd_skin_input_weights(job, f, workspace->weights) ? workspace->weights : NULL;
        set_outputs(&frame, workspace->staging, &input);
        kernel->run(&input);
        if (workspace->staging)
            stream_outputs(&input, &frame);
    }
    mmd_stream_fence();
    return true;
}

bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_skin_kernel *kernel, mmd_error *err)
{
    mmd_skin_workspace workspace = {0};
    bool done = mmd_skin_frames(job, 0, job->frame_count, kernel, &workspace, err);
    mmd_skin_workspace_free(&workspace);
    return done;
}

bool mmd_skin(const mmd_skin_job *job, const char *kernel_name, mmd_error *err)
{
    if (!mmd_error_require(job, "job", err) || !mmd_error_require(job->mesh, "mesh", err) ||
        (job->mesh->vertex_count && job->frame_count &&
         !mmd_error_require(job->positions, "positions", err)))
        return false;
    const mmd_skin_kernel *kernel =
        kernel_name ? mmd_skin_kernel_find(kernel_name, err) : mmd_skin_kernel_best();
    return kernel && mmd_skin_check(job, err) && mmd_skin_cpu(job, kernel, err);
}
