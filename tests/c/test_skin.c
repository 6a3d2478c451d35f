/* SPDX-License-Identifier: MIT */
#include "mesh_sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One vertex through mmd_skin_cpu with every kernel, against values computed by hand or printed
   in docs/mmd-behavior.md#check-skinning. */

typedef struct one_case {
    uint8_t deform;
    int32_t bones[4];
    float weights[4];
    float position[3], normal[3], tangent[4];
    float sdef[9];
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    size_t bone_count;
    const float *matrices;
} one_case;

static void check_one(const one_case *c, double tolerance, const float position[3],
                      const float normal[3], const float *tangent)
{
    mmd_mesh_desc desc = {.vertex_count = 1,
                          .positions = c->position,
                          .normals = c->normal,
                          .tangents = c->tangent,
                          .tangent_width = 4,
                          .influence_count = 4,
                          .bone_indices = c->bones,
                          .bone_weights = c->weights,
                          .deform = &c->deform,
                          .sdef = c->sdef};
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    const mmd_skin_kernel *kernels[MAX_KERNELS];
    size_t count = usable_kernels(kernels);
    for (size_t k = 0; mesh && k < count; k++) {
        mmd_skin_job job = {.mesh = mesh,
                            .frame_count = 1,
                            .bone_count = c->bone_count,
                            .matrices = c->matrices,
                            .matrix_frames = 1,
                            .method = c->method,
                            .sdef_blend = c->sdef_blend};
        skin_outputs_new(&job, true, true);
        CHECK(mmd_skin_check(&job, NULL) && mmd_skin_cpu(&job, kernels[k], NULL));
        bool good =
            test_floats(job.positions, position, 3, tolerance, __FILE__, __LINE__, "position") &&
            test_floats(job.normals, normal, 3, tolerance, __FILE__, __LINE__, "normal") &&
            (!tangent ||
             test_floats(job.tangents, tangent, 4, tolerance, __FILE__, __LINE__, "tangent"));
        if (!good)
            CHECK(strcmp("the kernel above is", kernels[k]->name) == 0);
        skin_outputs_free(&job);
    }
    mmd_mesh_free(mesh);
}

#define V(...)                                                                                     \
    (const float[])                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* clang-format off */
#define IDENTITY_MATRIX 1, 0, 0, 0,  0, 1, 0, 0,  0, 0, 1, 0,  0, 0, 0, 1

/* Bone 1: 90 degrees about +Z around (0, 1.5, 0). */
static const float ELBOW[32] = {IDENTITY_MATRIX,
                                0, -1, 0, 1.5f,  1, 0, 0, 1.5f,  0, 0, 1, 0,  0, 0, 0, 1};
/* clang-format on */

static one_case elbow(uint8_t deform)
{
    return (one_case){.deform = deform,
                      .bones = {0, 1, -1, -1},
                      .weights = {0.6f, 0.4f},
                      .position = {1, 2, 0.5f},
                      .normal = {0.6f, 0.8f, 0},
                      .sdef = {0, 1.5f, 0, 0, 1, 0, 0, 2.2f, 0},
                      .bone_count = 2,
                      .matrices = ELBOW};
}

static void bdef2_matches_the_check_values(void)
{
    one_case c = elbow(MMD_BDEF2);
    check_one(&c, 2e-6, V(0.4f, 2.2f, 0.5f), V(0.05547f, 0.99846f, 0), NULL);
}

static void sdef_matches_the_check_values(void)
{
    one_case c = elbow(MMD_SDEF);
    c.sdef_blend = MMD_SDEF_SLERP;
    check_one(&c, 2e-6, V(0.371124f, 2.348294f, 0.5f), V(0.015182f, 0.999885f, 0), NULL);
    c.sdef_blend = MMD_SDEF_NLERP;
    check_one(&c, 2e-6, V(0.379272f, 2.344022f, 0.5f), V(0.023409f, 0.999726f, 0), NULL);
}

static void qdef_matches_the_check_values(void)
{
    one_case c = elbow(MMD_QDEF);
    check_one(&c, 2e-6, V(0.523272f, 2.488022f, 0.5f), V(0.023409f, 0.999726f, 0), NULL);
}

static void the_order_of_bones_does_not_matter(void)
{
    one_case c = elbow(MMD_SDEF);
    memcpy(c.bones, (int32_t[]){1, 0, -1, -1}, sizeof c.bones);
    memcpy(c.weights, V(0.4f, 0.6f, 0, 0), sizeof c.weights);
    memcpy(c.sdef, V(0, 1.5f, 0, 0, 2.2f, 0, 0, 1, 0), sizeof c.sdef);
    check_one(&c, 2e-6, V(0.379272f, 2.344022f, 0.5f), V(0.023409f, 0.999726f, 0), NULL);
}

static void methods_override_deform_types(void)
{
    one_case c = elbow(MMD_SDEF);
    c.method = MMD_METHOD_LINEAR;
    check_one(&c, 2e-6, V(0.4f, 2.2f, 0.5f), V(0.05547f, 0.99846f, 0), NULL);
    c.method = MMD_METHOD_DUAL_QUATERNION;
    check_one(&c, 2e-6, V(0.523272f, 2.488022f, 0.5f), V(0.023409f, 0.999726f, 0), NULL);
    c.deform = MMD_BDEF2;
    check_one(&c, 2e-6, V(0.523272f, 2.488022f, 0.5f), V(0.023409f, 0.999726f, 0), NULL);
}

static void sdef_without_data_is_bdef2(void)
{
    one_case c = elbow(MMD_SDEF);
    memset(c.sdef, 0, sizeof c.sdef);
    check_one(&c, 2e-6, V(0.4f, 2.2f, 0.5f), V(0.05547f, 0.99846f, 0), NULL);
}

/* A mirrored bone has no rotation: linear, in every type. 0.6 (1, 2, 0.5) + 0.4 (-1, 2, 0.5) and
   diag(0.2, 1, 1) for normals, whose inverse transpose turns (0.6, 0.8, 0) to (3, 0.8, 0). */
static void mirrored_bones_are_skinned_linearly(void)
{
    static const float mirrored[32] = {
        IDENTITY_MATRIX, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (uint8_t deform = MMD_BDEF2; deform < MMD_DEFORM_COUNT; deform++) {
        one_case c = elbow(deform);
        c.matrices = mirrored;
        check_one(&c, 2e-6, V(0.2f, 2, 0.5f), V(0.966235f, 0.257663f, 0), NULL);
    }
}

/* Equal blend of 1.2 rad about X and -0.9 rad about Z: inverse transpose. */
static void normals_transform_by_the_inverse_transpose(void)
{
    float matrices[32] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    matrices[5] = matrices[10] = cosf(1.2f);
    matrices[6] = -sinf(1.2f);
    matrices[9] = sinf(1.2f);
    matrices[16] = matrices[21] = cosf(-0.9f);
    matrices[17] = -sinf(-0.9f);
    matrices[20] = sinf(-0.9f);
    one_case c = {.deform = MMD_BDEF2,
                  .bones = {0, 1, -1, -1},
                  .weights = {0.5f, 0.5f},
                  .normal = {1, 2, 3},
                  .bone_count = 2,
                  .matrices = matrices};
    check_one(&c, 2e-6, V(0, 0, 0), V(0.232724f, -0.127853f, 0.964102f), NULL);
}

/* Equal blend with almost 180 degrees about X: the plane shrinks to some thousandth, and float
   alone would miss the direction by up to 1e-4. Cofactors of the blend worked out in double. */
static void check_almost_opposite(double degrees)
{
    float matrices[32] = {IDENTITY_MATRIX, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    double angle = degrees / 180 * acos(-1);
    matrices[21] = matrices[26] = (float)cos(angle);
    matrices[25] = (float)sin(angle);
    matrices[22] = -matrices[25];
    one_case c = {.deform = MMD_BDEF2,
                  .bones = {0, 1, -1, -1},
                  .weights = {0.5f, 0.5f},
                  .normal = {0.6f, 0.8f, 0},
                  .bone_count = 2,
                  .matrices = matrices};
    double a = 0.5 * (1 + (double)matrices[21]), b = 0.5 * (double)matrices[25];
    double x = 0.6 * (a * a + b * b), y = 0.8 * a, z = 0.8 * b;
    double length = sqrt(x * x + y * y + z * z);
    check_one(&c, 1e-6, V(0, 0, 0),
              V((float)(x / length), (float)(y / length), (float)(z / length)), NULL);
}

static void normals_of_almost_opposite_rotations_are_precise(void)
{
    for (int i = 0; i < 40; i++)
        check_almost_opposite(179.5 + 0.0123 * i);
}

static void check_linear(const float matrix[16], const one_case *input, const float position[3],
                         const float normal[3], const float tangent[4])
{
    one_case c = *input;
    c.bone_count = 1;
    c.matrices = matrix;
    check_one(&c, 2e-6, position, normal, tangent);
}

static one_case diagonal_directions(void)
{
    return (one_case){.deform = MMD_BDEF1,
                      .bones = {0, -1, -1, -1},
                      .position = {1, 2, 3},
                      .normal = {0.6f, 0.8f, 0},
                      .tangent = {0.8f, -0.6f, 0, -1}};
}

/* diag(2, 1, 1): n becomes (0.3, 0.8, 0), the tangent stays orthogonal to it. */
static void scaling_keeps_tangents_orthogonal(void)
{
    one_case c = diagonal_directions();
    check_linear(V(2, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7, 0, 0, 0, 1), &c, V(7, 8, 10),
                 V(0.351123f, 0.936329f, 0), V(0.936329f, -0.351123f, 0, -1));
}

static void mirroring_keeps_normals_outside(void)
{
    one_case c = diagonal_directions();
    check_linear(V(-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1), &c, V(-1, 2, 3),
                 V(-0.6f, 0.8f, 0), V(-0.8f, -0.6f, 0, 1));
}

static void the_last_row_is_not_used(void)
{
    one_case c = diagonal_directions();
    check_linear(V(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 9, 9, 9, 9), &c, V(1, 2, 3),
                 V(0.6f, 0.8f, 0), V(0.8f, -0.6f, 0, -1));
}

static void a_singular_matrix_keeps_directions(void)
{
    one_case c = diagonal_directions();
    check_linear(V(0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 1), &c, V(4, 5, 6),
                 V(0.6f, 0.8f, 0), V(0.8f, -0.6f, 0, -1));
}

/* The part of such a tangent that is orthogonal to the normal has no direction. */
static void a_tangent_parallel_to_the_normal_is_kept(void)
{
    one_case c = diagonal_directions();
    memcpy(c.tangent, V(0.6f, 0.8f, 0, 1), sizeof c.tangent);
    check_linear(V(0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1), &c, V(-2, 1, 3),
                 V(-0.8f, 0.6f, 0), V(0.6f, 0.8f, 0, 1));
}

static void a_tangent_that_is_only_rounding_is_kept(void)
{
    uint32_t seed = 17;
    for (uint32_t round = 0; round < 50; round++) {
        float *matrix = sample_matrices(1, MATRICES_RIGID, round);
        float n[3], out[3] = {0};
        for (int i = 0; i < 3; i++)
            n[i] = test_random_float(&seed, 0.1f, 1);
        float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int i = 0; i < 3; i++)
            n[i] /= length;
        for (int i = 0; i < 9; i++)
            out[i / 3] += matrix[i / 3 * 4 + i % 3] * n[i % 3];
        one_case c = {.bones = {0, -1, -1, -1}, .normal = {n[0], n[1], n[2]}};
        memcpy(c.tangent, n, sizeof n);
        check_linear(matrix, &c, V(matrix[3], matrix[7], matrix[11]), out, c.tangent);
        free(matrix);
    }
}

/* Almost singular: the transformed normal is short relative to the matrix. */
static void almost_singular_mirroring_keeps_normals_outside(void)
{
    one_case c = diagonal_directions();
    check_linear(V(-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.001f, 0, 0, 0, 0, 1), &c, V(-1, 2, 0.003f),
                 V(-0.6f, 0.8f, 0), V(-0.8f, -0.6f, 0, 1));
}

static void zero_directions_stay_zero(void)
{
    for (uint8_t deform = 0; deform < MMD_DEFORM_COUNT; deform++) {
        one_case c = elbow(deform);
        memset(c.normal, 0, sizeof c.normal);
        const float stays[4] = {0};
        float position[3];
        memcpy(position,
               deform == MMD_BDEF1  ? V(1, 2, 0.5f)
               : deform < MMD_SDEF  ? V(0.4f, 2.2f, 0.5f)
               : deform == MMD_SDEF ? V(0.379272f, 2.344022f, 0.5f)
                                    : V(0.523272f, 2.488022f, 0.5f),
               sizeof position);
        check_one(&c, 2e-6, position, stays, stays);
    }
}

static void a_vertex_without_bones_stays(void)
{
    for (uint8_t deform = 0; deform < MMD_DEFORM_COUNT; deform++) {
        one_case c = elbow(deform);
        memset(c.bones, 0xFF, sizeof c.bones);
        memcpy(c.tangent, V(0.8f, -0.6f, 0, 1), sizeof c.tangent);
        check_one(&c, 3e-7, c.position, c.normal, c.tangent);
        memset(c.normal, 0, sizeof c.normal);
        check_one(&c, 3e-7, c.position, c.normal, c.tangent);
    }
}

/* With equal matrices SDEF is that matrix, whatever C, R0 and R1 are
   (docs/mmd-behavior.md#check-sdef-identity). */
static void sdef_of_equal_matrices_is_that_matrix(void)
{
    /* 90 degrees about (1, 1, 1) / sqrt 3 cycles no axes; 120 does: (x, y, z) -> (z, x, y). */
    static const float matrix[16] = {0, 0, 1, 3, 1, 0, 0, -2, 0, 1, 0, 5, 0, 0, 0, 1};
    float matrices[32];
    memcpy(matrices, matrix, sizeof matrix);
    memcpy(matrices + 16, matrix, sizeof matrix);
    uint32_t seed = 3;
    for (int round = 0; round < 100; round++) {
        one_case c = elbow(MMD_SDEF);
        c.matrices = matrices;
        c.sdef_blend = round % 2 ? MMD_SDEF_SLERP : MMD_SDEF_NLERP;
        for (int i = 0; i < 9; i++)
            c.sdef[i] = test_random_float(&seed, -10, 10);
        for (int i = 0; i < 3; i++)
            c.position[i] = test_random_float(&seed, -10, 10);
        c.weights[0] = test_random_float(&seed, 0.1f, 0.9f);
        c.weights[1] = 1 - c.weights[0];
        const float *p = c.position;
        check_one(&c, 1e-5, V(p[2] + 3, p[0] - 2, p[1] + 5), V(0, 0.6f, 0.8f), NULL);
    }
}

/* Bones turned by 0, a and a / 2 about Z with cos(a / 2) = 1 / 8: the quaternions 2 q0 + 2 q1 are
   3 q2, so that with weights 2, 2, -3 nothing is left and the blend is linear. */
static void vanishing_dual_quaternions_are_skinned_linearly(void)
{
    float matrices[48] = {0};
    const double angles[3] = {0, 2 * acos(0.125), acos(0.125)};
    const double weights[3] = {2, 2, -3};
    double cosine = 0, sine = 0;
    for (int b = 0; b < 3; b++) {
        float *m = matrices + 16 * b;
        m[0] = m[5] = (float)cos(angles[b]);
        m[1] = (float)-sin(angles[b]);
        m[4] = (float)sin(angles[b]);
        m[10] = m[15] = 1;
        cosine += weights[b] * cos(angles[b]);
        sine += weights[b] * sin(angles[b]);
    }
    one_case c = {.deform = MMD_QDEF,
                  .bones = {0, 1, 2, -1},
                  .weights = {2, 2, -3},
                  .position = {1, 2, 3},
                  .normal = {0, 0, 1},
                  .bone_count = 3,
                  .matrices = matrices};
    float x = (float)(cosine - 2 * sine), y = (float)(sine + 2 * cosine);
    check_one(&c, 5e-6, V(x, y, 3), V(0, 0, 1), NULL);
}

/* 0.5 of (2, 0, 0), 0.25 x 0.5 of the same through the group, and (0, 0, 8) x 0.125. */
static void morphs_move_the_rest_position(void)
{
    const int32_t bones[] = {0, 0};
    const float positions[6] = {1, 2, 3, 1, 2, 3}, weights[] = {1, 1};
    int32_t second[] = {1, 1}, first[] = {0};
    float offsets[] = {2, 0, 0, 0, 0, 8 * 0.125f / 0.625f}, ratio[] = {0.25f};
    mmd_morph morphs[] = {{.kind = MMD_MORPH_VERTEX, .offset_count = 2},
                          {.kind = MMD_MORPH_GROUP, .offset_count = 1}};
    morphs[0].indices = second;
    morphs[0].values = offsets;
    morphs[1].indices = first;
    morphs[1].values = ratio;
    mmd_mesh_desc desc = {.vertex_count = 2,
                          .positions = positions,
                          .influence_count = 1,
                          .bone_indices = bones,
                          .bone_weights = weights,
                          .morph_count = 2,
                          .morphs = morphs};
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    const mmd_skin_kernel *kernels[MAX_KERNELS];
    size_t count = usable_kernels(kernels);
    for (size_t k = 0; k < count; k++) {
        float out[6];
        mmd_skin_job job = {.mesh = mesh,
                            .frame_count = 1,
                            .bone_count = 1,
                            .matrices = V(0, -1, 0, 10, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1),
                            .matrix_frames = 1,
                            .morph_weights = V(0.5f, 0.5f),
                            .morph_weight_frames = 1,
                            .positions = out};
        CHECK(mmd_skin_cpu(&job, kernels[k], NULL));
        CHECK_FLOATS_NEAR(out, 6, 1e-6, 8, 1, 3, 8, 2.25f, 4);
    }
    mmd_mesh_free(mesh);
}

void skin_tests(void)
{
    RUN(bdef2_matches_the_check_values);
    RUN(sdef_matches_the_check_values);
    RUN(qdef_matches_the_check_values);
    RUN(the_order_of_bones_does_not_matter);
    RUN(methods_override_deform_types);
    RUN(sdef_without_data_is_bdef2);
    RUN(mirrored_bones_are_skinned_linearly);
    RUN(normals_transform_by_the_inverse_transpose);
    RUN(normals_of_almost_opposite_rotations_are_precise);
    RUN(scaling_keeps_tangents_orthogonal);
    RUN(mirroring_keeps_normals_outside);
    RUN(the_last_row_is_not_used);
    RUN(a_singular_matrix_keeps_directions);
    RUN(a_tangent_parallel_to_the_normal_is_kept);
    RUN(a_tangent_that_is_only_rounding_is_kept);
    RUN(almost_singular_mirroring_keeps_normals_outside);
    RUN(zero_directions_stay_zero);
    RUN(a_vertex_without_bones_stays);
    RUN(sdef_of_equal_matrices_is_that_matrix);
    RUN(vanishing_dual_quaternions_are_skinned_linearly);
    RUN(morphs_move_the_rest_position);
}
