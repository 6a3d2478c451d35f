/* SPDX-License-Identifier: MIT */
#include "mesh_sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every kernel of this CPU against the scalar one, and each against itself where results must not
   depend on which other vertices a mesh has. */

enum { FRAMES = 3 };

static const float SLIDERS[FRAMES][SAMPLE_MORPHS] = {
    {0.7f, -0.4f, 0.5f, 1}, {0}, {-0.2f, 0.9f, 1, 0}};

typedef struct run {
    mmd_mesh *mesh;
    const float *matrices;
    size_t frames, matrix_frames;
    size_t slider_frame; /* the first */
    bool morphed, same_sliders, normals, tangents;
    mmd_method method;
    mmd_sdef_blend blend;
} run;

static mmd_skin_job skinned(const run *r, const mmd_skin_kernel *kernel)
{
    size_t morph_weight_frames = r->same_sliders ? 1 : r->frames;
    float *sliders = NULL;
    if (r->morphed)
        sliders = test_exact(SLIDERS[r->slider_frame], morph_weight_frames * sizeof *SLIDERS);
    mmd_skin_job job = {.mesh = r->mesh,
                        .frame_count = r->frames,
                        .bone_count = SAMPLE_BONES,
                        .matrices = r->matrices,
                        .matrix_frames = r->matrix_frames,
                        .morph_weights = sliders,
                        .morph_weight_frames = morph_weight_frames,
                        .method = r->method,
                        .sdef_blend = r->blend};
    skin_outputs_new(&job, r->normals, r->tangents);
    CHECK(mmd_skin_check(&job, NULL) && mmd_skin_cpu(&job, kernel, NULL));
    free(sliders);
    job.morph_weights = NULL;
    return job;
}

static double difference(const float *a, const float *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; a && i < count; i++) {
        double apart = fabs((double)a[i] - (double)b[i]);
        if (isnan(apart))
            return apart;
        largest = apart > largest ? apart : largest;
    }
    return largest;
}

static void compare(const run *r)
{
    const mmd_skin_kernel *kernels[MAX_KERNELS];
    size_t kernel_count = usable_kernels(kernels);
    size_t count = r->frames * r->mesh->vertex_count;
    mmd_skin_job scalar = skinned(r, kernels[0]);
    for (size_t k = 1; k < kernel_count; k++) {
        mmd_skin_job other = skinned(r, kernels[k]);
        bool good =
            CHECK_NEAR(difference(other.positions, scalar.positions, 3 * count), 0, 1e-5) &&
            CHECK_NEAR(difference(other.normals, scalar.normals, 3 * count), 0, 1e-5) &&
            CHECK_NEAR(difference(other.tangents, scalar.tangents, r->mesh->tangent_width * count),
                       0, 4e-5); /* a tangent almost parallel to the normal is less precise */
        if (!good)
            CHECK(strcmp("the kernel above is", kernels[k]->name) == 0);
        skin_outputs_free(&other);
    }
    skin_outputs_free(&scalar);
}

static void compare_methods(run r)
{
    for (int variant = 0; variant < 4; variant++) { /* three methods, "mmd" with both SDEF blends */
        r.method = variant ? (mmd_method)(variant - 1) : MMD_METHOD_MMD;
        r.blend = variant ? MMD_SDEF_NLERP : MMD_SDEF_SLERP;
        compare(&r);
    }
}

static mmd_mesh *sample_mesh(mesh_sample *sample, bool morphs)
{
    if (morphs) {
        sample->desc.morph_count = SAMPLE_MORPHS;
        sample->desc.morphs = sample->morphs;
    }
    return mmd_mesh_new(&sample->desc, NULL);
}

static void compare_sizes(size_t tangent_width, matrix_sort sort, bool contiguous)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 301};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        mesh_sample sample = mesh_sample_new(sizes[i], tangent_width, contiguous);
        float *matrices = sample_matrices(1, sort, (uint32_t)i + 11);
        run r = {.mesh = sample_mesh(&sample, true),
                 .matrices = matrices,
                 .frames = 1,
                 .matrix_frames = 1};
        for (int outputs = 0; outputs < 8; outputs++) {
            r.normals = outputs & 1;
            r.tangents = tangent_width && outputs & 2;
            r.morphed = outputs & 4;
            compare_methods(r);
        }
        mmd_mesh_free(r.mesh);
        free(matrices);
        mesh_sample_free(&sample);
    }
}

static void kernels_agree_on_rigid_matrices(void)
{
    compare_sizes(3, MATRICES_RIGID, false);
    compare_sizes(4, MATRICES_RIGID, true);
    compare_sizes(0, MATRICES_RIGID, true);
}

static void kernels_agree_on_affine_matrices(void)
{
    compare_sizes(3, MATRICES_AFFINE, true);
    compare_sizes(4, MATRICES_AFFINE, false);
}

static void kernels_agree_on_mirrored_matrices(void)
{
    compare_sizes(3, MATRICES_MIRRORED, false);
    compare_sizes(4, MATRICES_MIRRORED, true);
}

static void kernels_agree_without_normals(void)
{
    mesh_sample sample = mesh_sample_new(41, 0, true);
    mmd_mesh_desc desc = sample.desc;
    desc.normals = NULL;
    desc.morph_count = SAMPLE_MORPHS;
    desc.morphs = sample.morphs;
    float *matrices = sample_matrices(1, MATRICES_RIGID, 5);
    run r = {.mesh = mmd_mesh_new(&desc, NULL),
             .matrices = matrices,
             .frames = 1,
             .matrix_frames = 1,
             .morphed = true};
    compare_methods(r);
    mmd_mesh_free(r.mesh);
    free(matrices);
    mesh_sample_free(&sample);
}

/* Compares `a` and `b`, each run through the same kernel. */
static void check_equal(const run *a, size_t a_first, const run *b, size_t b_first, size_t vertices)
{
    const mmd_skin_kernel *kernels[MAX_KERNELS];
    size_t count = usable_kernels(kernels), width = a->mesh->tangent_width;
    for (size_t k = 0; k < count; k++) {
        mmd_skin_job x = skinned(a, kernels[k]), y = skinned(b, kernels[k]);
        size_t bytes = vertices * 3 * sizeof(float);
        CHECK(memcmp(x.positions + 3 * a_first, y.positions + 3 * b_first, bytes) == 0);
        if (x.normals)
            CHECK(memcmp(x.normals + 3 * a_first, y.normals + 3 * b_first, bytes) == 0);
        if (x.tangents)
            CHECK(memcmp(x.tangents + width * a_first, y.tangents + width * b_first,
                         vertices * width * sizeof(float)) == 0);
        skin_outputs_free(&x);
        skin_outputs_free(&y);
    }
}

static void a_vertex_alone_equals_the_vertex_of_a_mesh(void)
{
    enum { COUNT = 60 };
    mesh_sample sample = mesh_sample_new(COUNT, 3, true);
    float *matrices = sample_matrices(1, MATRICES_AFFINE, 21);
    run all = {.mesh = sample_mesh(&sample, false),
               .matrices = matrices,
               .frames = 1,
               .matrix_frames = 1,
               .normals = true,
               .tangents = true,
               .blend = MMD_SDEF_SLERP};
    for (size_t v = 0; v < COUNT; v++) {
        mmd_mesh_desc desc = mesh_sample_vertex(&sample, v);
        run alone = all;
        alone.mesh = mmd_mesh_new(&desc, NULL);
        check_equal(&all, v, &alone, 0, 1);
        mmd_mesh_free(alone.mesh);
    }
    mmd_mesh_free(all.mesh);
    free(matrices);
    mesh_sample_free(&sample);
}

static void a_frame_alone_equals_the_frame_of_a_batch(void)
{
    enum { COUNT = 37 };
    mesh_sample sample = mesh_sample_new(COUNT, 4, true);
    float *matrices = sample_matrices(FRAMES, MATRICES_RIGID, 31);
    run all = {.mesh = sample_mesh(&sample, true),
               .matrices = matrices,
               .frames = FRAMES,
               .matrix_frames = FRAMES,
               .morphed = true,
               .normals = true,
               .tangents = true};
    for (size_t f = 0; f < FRAMES; f++) {
        run one = all;
        one.frames = one.matrix_frames = 1;
        one.matrices = matrices + f * SAMPLE_BONES * 16;
        one.slider_frame = f;
        check_equal(&all, f * COUNT, &one, 0, COUNT);
    }
    mmd_mesh_free(all.mesh);
    free(matrices);
    mesh_sample_free(&sample);
}

static void a_single_frame_of_input_is_shared_by_all(void)
{
    enum { COUNT = 37 };
    mesh_sample sample = mesh_sample_new(COUNT, 3, true);
    float *matrices = sample_matrices(FRAMES, MATRICES_RIGID, 41);
    run one = {.mesh = sample_mesh(&sample, true),
               .matrices = matrices,
               .frames = 1,
               .matrix_frames = 1,
               .morphed = true,
               .normals = true};
    run same_matrices = one, same_sliders = one;
    same_matrices.frames = same_sliders.frames = same_sliders.matrix_frames = FRAMES;
    same_sliders.same_sliders = true;
    for (size_t f = 0; f < FRAMES; f++) {
        one.slider_frame = f;
        one.matrices = matrices;
        check_equal(&same_matrices, f * COUNT, &one, 0, COUNT);
        one.slider_frame = 0;
        one.matrices = matrices + f * SAMPLE_BONES * 16;
        check_equal(&same_sliders, f * COUNT, &one, 0, COUNT);
    }
    mmd_mesh_free(one.mesh);
    free(matrices);
    mesh_sample_free(&sample);
}

static void identity_matrices_move_no_vertex(void)
{
    enum { COUNT = 301 };
    mesh_sample sample = mesh_sample_new(COUNT, 3, true);
    float *matrices = sample_matrices(1, MATRICES_IDENTITY, 0);
    run r = {.mesh = sample_mesh(&sample, false),
             .matrices = matrices,
             .frames = 1,
             .matrix_frames = 1,
             .normals = true};
    const mmd_skin_kernel *kernels[MAX_KERNELS];
    size_t count = usable_kernels(kernels);
    for (size_t k = 0; k < count; k++)
        for (int variant = 0; variant < 4; variant++) {
            r.method = variant ? (mmd_method)(variant - 1) : MMD_METHOD_MMD;
            r.blend = variant ? MMD_SDEF_NLERP : MMD_SDEF_SLERP;
            mmd_skin_job job = skinned(&r, kernels[k]);
            CHECK_NEAR(difference(job.positions, sample.desc.positions, 3 * COUNT), 0, 4e-6);
            for (size_t v = 0; v < COUNT; v++)
                CHECK_NEAR(difference(job.normals + 3 * v, r.mesh->vertices[v].normal, 3), 0, 1e-6);
            skin_outputs_free(&job);
        }
    mmd_mesh_free(r.mesh);
    free(matrices);
    mesh_sample_free(&sample);
}

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
/* Judged by gcc's runtime. */
static void kernels_are_available_if_the_compiler_s_runtime_says_so(void)
{
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq");
    CHECK_INT(mmd_skin_kernel_find("avx2", NULL) != NULL, avx2);
    CHECK_INT(mmd_skin_kernel_find("avx512", NULL) != NULL, avx512);
}
#endif

static void wider_kernels_imply_narrower_ones(void)
{
    CHECK(!mmd_skin_kernel_find("avx512", NULL) || mmd_skin_kernel_find("avx2", NULL));
    CHECK(!mmd_skin_kernel_find("avx2", NULL) || mmd_skin_kernel_find("sse2", NULL));
}

void kernel_tests(void)
{
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
    RUN(kernels_are_available_if_the_compiler_s_runtime_says_so);
#endif
    RUN(wider_kernels_imply_narrower_ones);
    RUN(kernels_agree_on_rigid_matrices);
    RUN(kernels_agree_on_affine_matrices);
    RUN(kernels_agree_on_mirrored_matrices);
    RUN(kernels_agree_without_normals);
    RUN(a_vertex_alone_equals_the_vertex_of_a_mesh);
    RUN(a_frame_alone_equals_the_frame_of_a_batch);
    RUN(a_single_frame_of_input_is_shared_by_all);
    RUN(identity_matrices_move_no_vertex);
}
