/* SPDX-License-Identifier: MIT */
#include "core/skin/skin.h"

#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/data/morph.h"
#include "core/skin/stream.h"

#include <math.h>
#include <string.h>

/* Results of a job larger than this push each other out of the caches: a share of the last level
   that a core may count on. Those of one frame are to stay there beside the mesh. */
static const size_t CACHED_BYTES = 16 << 20, CACHED_FRAME_BYTES = 4 << 20;

static bool check_frames(const char *what, size_t given, size_t wanted, mmd_error *err)
{
    if (given == 1 || given == wanted)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT, "%s: %zu frames, expected 1 or %zu", what, given, wanted);
}

static bool has_correction(mmd_method method)
{
    return method == MMD_METHOD_BULGE_FREE || method == MMD_METHOD_BULGE_COMPENSATED;
}

bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    if (mesh->method != (job->method < MMD_METHOD_BULGE_FREE ? MMD_METHOD_MMD : job->method))
        return mmd_fail(err, MMD_E_ARGUMENT, "method: the mesh is laid out for another one");
    if (has_correction(job->method) && !(job->correction >= 0 && job->correction <= 1))
        return mmd_fail(err, MMD_E_ARGUMENT, "correction: %g, expected 0 to 1",
                        (double)job->correction);
    if (!check_frames("bone_matrices", job->matrix_frames, job->frame_count, err) ||
        (job->sliders && !check_frames("morph_weights", job->slider_frames, job->frame_count, err)))
        return false;
    if (job->bone_count < mesh->bone_count) {
        for (size_t v = 0; v < mesh->vertex_count; v++)
            for (int i = 0; i < mesh->vertices[v].count; i++)
                if ((size_t)mesh->vertices[v].bones[i] >= job->bone_count)
                    return mmd_fail(err, MMD_E_ARGUMENT, "vertex %zu: bone %d of %zu", v,
                                    (int)mesh->vertices[v].bones[i], job->bone_count);
        return mmd_fail(err, MMD_E_ARGUMENT, "bone_matrices: %zu bones, the mesh names %zu",
                        job->bone_count, mesh->bone_count);
    }
    if (job->normals && !mesh->has_normals)
        return mmd_fail(err, MMD_E_ARGUMENT, "normals wanted, but the mesh has none");
    if (job->tangents && !mesh->tangent_width)
        return mmd_fail(err, MMD_E_ARGUMENT, "tangents wanted, but the mesh has none");

    size_t count = job->matrix_frames * job->bone_count * 16;
    size_t bad = mmd_first_not_finite(job->matrices, count);
    if (bad < count)
        return mmd_fail(err, MMD_E_ARGUMENT,
                        "bone_matrices: frame %zu, bone %zu, row %zu, column %zu is %s",
                        bad / 16 / job->bone_count, bad / 16 % job->bone_count, bad / 4 % 4,
                        bad % 4, mmd_not_finite_name(job->matrices[bad]));
    return mmd_morph_check(job->sliders, job->slider_frames, mesh->morph_count, err);
}

/* Columns x and y by Gram-Schmidt, z = x cross y, as a unit quaternion (x, y, z, w). False when the
   determinant is not positive. In double, so that the only error left is that of storing it. */
static bool bone_rotation(const float rows[3][4], double q[4])
{
    double x[3], y[3], z[3];
    for (int i = 0; i < 3; i++) {
        x[i] = rows[i][0];
        y[i] = rows[i][1];
        z[i] = rows[i][2];
    }
    double det = x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) +
                 x[2] * (y[0] * z[1] - y[1] * z[0]);
    double square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    if (!(det > 0) || !(square > 0))
        return false;
    double scale = 1 / sqrt(square);
    double along = (x[0] * y[0] + x[1] * y[1] + x[2] * y[2]) / square;
    for (int i = 0; i < 3; i++) {
        y[i] -= along * x[i];
        x[i] *= scale;
    }
    square = y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
    if (!(square > 0))
        return false;
    scale = 1 / sqrt(square);
    for (int i = 0; i < 3; i++)
        y[i] *= scale;
    z[0] = x[1] * y[2] - x[2] * y[1];
    z[1] = x[2] * y[0] - x[0] * y[2];
    z[2] = x[0] * y[1] - x[1] * y[0];

    /* Four times the square of a component of at least a half, and all of them times it. */
    double xy = x[1] + y[0], xz = x[2] + z[0], yz = y[2] + z[1];
    double wx = y[2] - z[1], wy = z[0] - x[2], wz = x[1] - y[0];
    if (x[0] + y[1] + z[2] >= 0) {
        square = 1 + x[0] + y[1] + z[2];
        q[0] = wx, q[1] = wy, q[2] = wz, q[3] = square;
    } else if (x[0] >= y[1] && x[0] >= z[2]) {
        square = 1 + x[0] - y[1] - z[2];
        q[0] = square, q[1] = xy, q[2] = xz, q[3] = wx;
    } else if (y[1] >= z[2]) {
        square = 1 + y[1] - x[0] - z[2];
        q[0] = xy, q[1] = square, q[2] = yz, q[3] = wy;
    } else {
        square = 1 + z[2] - x[0] - y[1];
        q[0] = xz, q[1] = yz, q[2] = square, q[3] = wz;
    }
    scale = 0.5 / sqrt(square);
    for (int i = 0; i < 4; i++)
        q[i] *= scale;
    return true;
}

static void set_rotation(mmd_skin_bone *bone)
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

void mmd_skin_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones)
{
    const float *matrices =
        job->matrices + (job->matrix_frames == 1 ? 0 : frame) * job->bone_count * 16;
    for (size_t b = 0; b < job->mesh->bone_count; b++) {
        memcpy(bones[b].rows, matrices + 16 * b, sizeof bones[b].rows);
        memset(bones[b].rotation, 0, sizeof bones[b].rotation);
        memset(bones[b].dual, 0, sizeof bones[b].dual);
        if (job->method == MMD_METHOD_DUAL_QUATERNION ||
            (job->method != MMD_METHOD_LINEAR && job->mesh->bone_rotates[b]))
            set_rotation(&bones[b]);
    }
}

bool mmd_skin_weights(const mmd_skin_job *job, size_t frame, float *weights)
{
    const mmd_mesh *mesh = job->mesh;
    if (!job->sliders) {
        memset(weights, 0, mesh->morph_count * sizeof *weights);
        return false;
    }
    const float *sliders = job->sliders + (job->slider_frames == 1 ? 0 : frame) * mesh->morph_count;
    mmd_morph_weights(mesh->morphs, mesh->morph_count, sliders, weights);
    for (size_t i = 0; i < mesh->vertex_morph_count; i++)
        if (weights[mesh->vertex_morphs[i].morph] != 0)
            return true;
    return false;
}

mmd_skin_job mmd_skin_slice(const mmd_skin_job *job, size_t first, size_t count)
{
    const mmd_mesh *mesh = job->mesh;
    mmd_skin_job slice = *job;
    slice.frame_count = count;
    if (job->matrix_frames > 1) {
        slice.matrices += first * job->bone_count * 16;
        slice.matrix_frames = count;
    }
    if (job->sliders && job->slider_frames > 1) {
        slice.sliders += first * mesh->morph_count;
        slice.slider_frames = count;
    }
    slice.positions += first * mesh->vertex_count * 3;
    if (job->normals)
        slice.normals += first * mesh->vertex_count * 3;
    if (job->tangents)
        slice.tangents += first * mesh->vertex_count * mesh->tangent_width;
    return slice;
}

static size_t floats_of_frame(const mmd_skin_job *job)
{
    size_t width = 3;
    if (job->normals)
        width += 3;
    if (job->tangents)
        width += job->mesh->tangent_width;
    return job->mesh->vertex_count * width;
}

static bool make_space(const mmd_skin_job *job, const mmd_kernel *kernel, mmd_skin_space *space,
                       mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    size_t floats = floats_of_frame(job), bytes = floats * sizeof(float);
    bool streams =
        MMD_STREAMS && bytes <= CACHED_FRAME_BYTES && bytes * job->frame_count > CACHED_BYTES;
    mmd_arena *arena = &space->arena;
    space->bones = mmd_arena_alloc(arena, mesh->bone_count, sizeof *space->bones);
    space->weights = mmd_arena_alloc(arena, mesh->morph_count, sizeof *space->weights);
    space->scratch =
        mmd_arena_alloc(arena, job->sliders ? kernel->scratch(mesh) : 0, sizeof *space->scratch);
    space->stage = streams ? mmd_arena_alloc(arena, floats, sizeof *space->stage) : NULL;
    if (space->bones && space->weights && space->scratch && (space->stage || !streams))
        return true;
    mmd_skin_space_free(space);
    return mmd_fail_memory(err);
}

void mmd_skin_space_free(mmd_skin_space *space)
{
    mmd_arena_free(&space->arena);
    *space = (mmd_skin_space){0};
}

/* Outputs of frame f of the job. */
static void aim(mmd_skin_frame *frame, const mmd_skin_job *job, size_t f)
{
    size_t n = f * job->mesh->vertex_count;
    frame->positions = job->positions + 3 * n;
    frame->normals = job->normals ? job->normals + 3 * n : NULL;
    frame->tangents = job->tangents ? job->tangents + job->mesh->tangent_width * n : NULL;
}

static void aim_at_stage(mmd_skin_frame *frame, float *stage)
{
    size_t n = frame->mesh->vertex_count;
    float *behind = stage + (frame->normals ? 6 * n : 3 * n);
    frame->positions = stage;
    frame->normals = frame->normals ? stage + 3 * n : NULL;
    frame->tangents = frame->tangents ? behind : NULL;
}

static void stream_frame(const mmd_skin_frame *staged, const mmd_skin_frame *to)
{
    size_t n = staged->mesh->vertex_count;
    mmd_stream(to->positions, staged->positions, 3 * n);
    if (to->normals)
        mmd_stream(to->normals, staged->normals, 3 * n);
    if (to->tangents)
        mmd_stream(to->tangents, staged->tangents, staged->mesh->tangent_width * n);
}

bool mmd_skin_part(const mmd_skin_job *job, size_t first, size_t count, const mmd_kernel *kernel,
                   mmd_skin_space *space, mmd_error *err)
{
    if (!kernel)
        kernel = mmd_kernel_best();
    if (!space->bones && !make_space(job, kernel, space, err))
        return false;
    mmd_skin_frame frame = {.mesh = job->mesh,
                            .method = job->method,
                            .sdef_blend = job->sdef_blend,
                            .correction = job->correction,
                            .bones = space->bones,
                            .scratch = space->scratch};
    for (size_t f = first; f < first + count; f++) {
        if (f == first || job->matrix_frames > 1)
            mmd_skin_bones(job, f, space->bones);
        if (f == first || job->slider_frames > 1)
            frame.weights = mmd_skin_weights(job, f, space->weights) ? space->weights : NULL;
        aim(&frame, job, f);
        mmd_skin_frame wanted = frame;
        if (space->stage)
            aim_at_stage(&frame, space->stage);
        kernel->run(&frame);
        if (space->stage)
            stream_frame(&frame, &wanted);
    }
    mmd_stream_end();
    return true;
}

bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_kernel *kernel, mmd_error *err)
{
    mmd_skin_space space = {0};
    bool done = mmd_skin_part(job, 0, job->frame_count, kernel, &space, err);
    mmd_skin_space_free(&space);
    return done;
}

bool mmd_skin(const mmd_skin_job *job, const char *kernel_name, mmd_error *err)
{
    const mmd_kernel *kernel = kernel_name ? mmd_kernel_find(kernel_name, err) : mmd_kernel_best();
    return kernel && mmd_skin_check(job, err) && mmd_skin_cpu(job, kernel, err);
}
