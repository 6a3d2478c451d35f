/* SPDX-License-Identifier: MIT */
#include "mesh_sample.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* What mmd_skin_check refuses, and empty jobs. */

static void check_refused(const mmd_skin_job *job, const char *text)
{
    mmd_error err = {0};
    CHECK(!mmd_skin_check(job, &err));
    CHECK_INT(err.code, MMD_E_ARGUMENT);
    mmd_text got = {err.text, strlen(err.text)};
    test_text(got, text, strlen(text), __FILE__, __LINE__, "text");
}

static void errors_name_invalid_jobs(void)
{
    const int32_t bones[] = {0, 2};
    const float positions[6] = {0}, weights[] = {1, 1};
    mmd_morph morphs[] = {{.kind = MMD_MORPH_BONE}, {.kind = MMD_MORPH_UV}};
    mmd_mesh_desc desc = {.vertex_count = 2,
                          .positions = positions,
                          .influence_count = 1,
                          .bone_indices = bones,
                          .bone_weights = weights,
                          .morph_count = 2,
                          .morphs = morphs};
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    float matrices[2 * 3 * 16] = {0}, sliders[2 * 2] = {0}, out[6];
    const mmd_skin_job good = {.mesh = mesh,
                               .frame_count = 2,
                               .bone_count = 3,
                               .matrices = matrices,
                               .matrix_frames = 2,
                               .morph_weights = sliders,
                               .morph_weight_frames = 2,
                               .positions = out};
    CHECK(mmd_skin_check(&good, NULL));
    mmd_skin_job job = good;
    job.matrix_frames = 3;
    check_refused(&job, "bone_matrices: 3 frames, expected 1 or 2");
    job = good;
    job.morph_weight_frames = 0;
    check_refused(&job, "morph_weights: 0 frames, expected 1 or 2");
    job = good;
    job.bone_count = 2;
    check_refused(&job, "vertex 1: bone 2 of 2");
    job = good;
    job.normals = out;
    check_refused(&job, "normals: the mesh has none");
    job = good;
    job.tangents = out;
    check_refused(&job, "tangents: the mesh has none");
    matrices[16 * 4 + 4 * 2 + 3] = NAN;
    check_refused(&good, "bone_matrices: frame 1, bone 1, row 2, column 3 is NaN");
    matrices[16 * 4 + 4 * 2 + 3] = 0;
    sliders[3] = -INFINITY;
    check_refused(&good, "morph_weights: frame 1, morph 1 is infinite");
    mmd_mesh_free(mesh);
}

static void kernels_are_found_by_name(void)
{
    CHECK(mmd_skin_kernel_find("scalar", NULL) != NULL);
    CHECK(mmd_skin_kernel_find("mmx", NULL) == NULL);
    CHECK(mmd_skin_kernel_best() != NULL);
    CHECK(mmd_skin_kernel_find(mmd_skin_kernel_best()->name, NULL) == mmd_skin_kernel_best());
}

static void a_job_without_frames_is_valid(void)
{
    mesh_sample sample = mesh_sample_new(9, 0, true);
    mmd_mesh *mesh = mmd_mesh_new(&sample.desc, NULL);
    mmd_skin_job job = {.mesh = mesh, .bone_count = SAMPLE_BONES};
    CHECK(mmd_skin_check(&job, NULL) && mmd_skin_cpu(&job, NULL, NULL));
    mmd_mesh_free(mesh);
    mesh_sample_free(&sample);
}

static void a_mesh_without_vertices_is_valid(void)
{
    mmd_mesh_desc desc = {.influence_count = 4};
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    mmd_skin_job job = {.mesh = mesh, .frame_count = 3, .matrix_frames = 3};
    const mmd_skin_kernel *kernels[MAX_KERNELS];
    size_t count = usable_kernels(kernels);
    for (size_t k = 0; k < count; k++)
        CHECK(mmd_skin_check(&job, NULL) && mmd_skin_cpu(&job, kernels[k], NULL));
    mmd_mesh_free(mesh);
}

void job_tests(void)
{
    RUN(errors_name_invalid_jobs);
    RUN(kernels_are_found_by_name);
    RUN(a_job_without_frames_is_valid);
    RUN(a_mesh_without_vertices_is_valid);
}
