/* SPDX-License-Identifier: MIT */
/* The vector kernels: one source, skin_kernel.h, for every instruction set named here. */
#include "core/skin/cpu.h"
#include "core/skin/skin.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))

typedef float quad __attribute__((vector_size(16)));
typedef int64_t pair __attribute__((vector_size(16)));

typedef enum output { POSITIONS, NORMALS, TANGENTS } output; /* each with those before it */
typedef enum shape { ONE_BONE, TWO_BONES, MORE_BONES, SPHERICAL, DUAL } shape;

/* What the vertices of a group share in one frame. Bone matrices are rows of a 3x4 matrix. */
typedef struct group_matrices {
    float base[12];               /* of the last bone */
    float differences[3][12];     /* of the others to it */
    float cofactors[12];          /* one bone: times the sign of the determinant, column 3 unused */
    float real[4][4], dual[4][4]; /* with the signs that bring them into the pivot's hemisphere */
    float angle;                  /* SDEF by slerp: between the rotations, as quaternions; else 0 */
    float
        least_normal; /* below this squared length a blend's normal needs mmd_skin_linear_normal */
} group_matrices;

static void slerp_shares(float angle, float weight, float *share0, float *share1)
{
    float scale = 1 / sinf(angle);
    *share0 = sinf(weight * angle) * scale;
    *share1 = sinf((1 - weight) * angle) * scale;
}

static void set_cofactors(group_matrices *g)
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

/* False when a bone has no rotation. */
static bool set_rotations(const mmd_skin_frame *frame, const mmd_group *group, group_matrices *g)
{
    const float *pivot = frame->bones[group->bones[0]].rotation;
    for (int k = 0; k < group->count; k++) {
        const mmd_skin_bone *bone = &frame->bones[group->bones[k]];
        const float *q = bone->rotation;
        float dot = pivot[0] * q[0] + pivot[1] * q[1] + pivot[2] * q[2] + pivot[3] * q[3];
        float sign = dot < 0 ? -1.0f : 1.0f;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return false;
        for (int i = 0; i < 4; i++) {
            g->real[k][i] = sign * q[i];
            g->dual[k][i] = sign * bone->dual[i];
        }
    }
    return true;
}

static float angle_between(const float a[4], const float b[4])
{
    double chord = 0;
    for (int i = 0; i < 4; i++)
        chord += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    double angle = 2 * asin(fmin(sqrt(chord) / 2, 1));
    return angle < 1e-5 ? 0 : (float)angle; /* below, sin(w a) / sin(a) is w to 1e-10 */
}

static float least_normal(const float rows[12])
{
    float square = 0;
    for (int i = 0; i < 12; i++)
        square += i % 4 == 3 ? 0 : rows[i] * rows[i];
    return fmaxf(MMD_LEAST_NORMAL * square * square, FLT_MIN);
}

static shape prepare_group(const mmd_skin_frame *frame, const mmd_group *group, group_matrices *g)
{
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (group->count == 0) {
        memcpy(g->base, identity, sizeof identity);
        memcpy(g->cofactors, identity, sizeof identity);
        g->least_normal = FLT_MIN;
        return ONE_BONE;
    }
    int last = group->count - 1;
    memcpy(g->base, frame->bones[group->bones[last]].rows, sizeof g->base);
    for (int k = 0; k < last; k++) {
        const float *rows = frame->bones[group->bones[k]].rows[0];
        for (int i = 0; i < 12; i++)
            g->differences[k][i] = rows[i] - g->base[i];
    }
    int kind = frame->method == MMD_METHOD_LINEAR            ? MMD_SKIN_LINEAR
               : frame->method == MMD_METHOD_DUAL_QUATERNION ? MMD_SKIN_QDEF
                                                             : group->kind;
    if (kind != MMD_SKIN_LINEAR && set_rotations(frame, group, g)) {
        if (kind == MMD_SKIN_QDEF)
            return DUAL;
        g->angle = frame->sdef_blend == MMD_SDEF_SLERP ? angle_between(g->real[0], g->real[1]) : 0;
        return SPHERICAL;
    }
    g->least_normal = least_normal(g->base);
    if (group->count > 1)
        return group->count == 2 ? TWO_BONES : MORE_BONES;
    set_cofactors(g);
    return ONE_BONE;
}

/* Rest positions of the blocks that morphs can reach, then the offsets of the morphs that act. */
static void morph_blocks(const mmd_skin_frame *frame)
{
    const mmd_mesh *mesh = frame->mesh;
    for (size_t slot = 0; slot < mesh->morphed_block_count; slot++)
        memcpy(frame->scratch + slot * 3 * MMD_LANES, mesh->morphed_data[slot],
               3 * MMD_LANES * sizeof(float));
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_vertex_morph *morph = &mesh->vertex_morphs[m];
        float weight = frame->weights[morph->morph];
        if (weight == 0)
            continue;
        for (size_t i = 0; i < morph->offset_count; i++) {
            float *x = frame->scratch + morph->lanes[i];
            x[0] += weight * morph->offsets[3 * i];
            x[MMD_LANES] += weight * morph->offsets[3 * i + 1];
            x[2 * MMD_LANES] += weight * morph->offsets[3 * i + 2];
        }
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

static bool always(void)
{
    return true;
}

#define NAME(name) name##_sse2
#define WIDTH 4
#define TARGET
#define SPLAT(x) _mm_set1_ps(x)
#define FMA(a, b, c) ((a) * (b) + (c))
#define RSQRT(x) (SPLAT(1) / _mm_sqrt_ps(x))
#define ANY(m) (_mm_movemask_ps((__m128)(m)) != 0)
#define QUAD(v, k) (v)
#include "core/skin/skin_kernel.h"

#define NAME(name) name##_avx2
#define WIDTH 8
#define TARGET __attribute__((target("avx2,fma")))
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define RSQRT(x) refined_avx2(x)
#define ANY(m) (_mm256_movemask_ps((__m256)(m)) != 0)
#define QUAD(v, k) ((quad)_mm256_extractf128_ps(v, k))
/* One Newton step on the 12-bit estimate. */
TARGET static inline __m256 refined_avx2(__m256 x)
{
    __m256 y = _mm256_rsqrt_ps(x), half = _mm256_mul_ps(x, _mm256_set1_ps(0.5f));
    return _mm256_mul_ps(y, _mm256_fnmadd_ps(_mm256_mul_ps(half, y), y, _mm256_set1_ps(1.5f)));
}
#include "core/skin/skin_kernel.h"

/* Eight lanes too, as blocks are: the gain is in the 32 registers and the better estimate. */
#define NAME(name) name##_avx512
#define WIDTH 8
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq")))
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define RSQRT(x) refined_avx512(x)
#define ANY(m) (_mm256_movemask_ps((__m256)(m)) != 0)
#define QUAD(v, k) ((quad)_mm256_extractf128_ps(v, k))
TARGET static inline __m256 refined_avx512(__m256 x)
{
    __m256 y = _mm256_rsqrt14_ps(x), half = _mm256_mul_ps(x, _mm256_set1_ps(0.5f));
    return _mm256_mul_ps(y, _mm256_fnmadd_ps(_mm256_mul_ps(half, y), y, _mm256_set1_ps(1.5f)));
}
#include "core/skin/skin_kernel.h"

static const mmd_kernel kernels[] = {{"sse2", always, run_sse2},
                                     {"avx2", mmd_cpu_has_avx2, run_avx2},
                                     {"avx512", mmd_cpu_has_avx512, run_avx512}};

#else
#include <arm_neon.h>

static bool always(void)
{
    return true;
}

#define NAME(name) name##_neon
#define WIDTH 4
#define TARGET
#define SPLAT(x) vdupq_n_f32(x)
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define RSQRT(x) (SPLAT(1) / vsqrtq_f32(x))
#define ANY(m) (vmaxvq_u32((uint32x4_t)(m)) != 0)
#define QUAD(v, k) (v)
#include "core/skin/skin_kernel.h"

static const mmd_kernel kernels[] = {{"neon", always, run_neon}};
#endif

const mmd_kernel *mmd_skin_simd(size_t *count)
{
    *count = sizeof kernels / sizeof *kernels;
    return kernels;
}

#else

const mmd_kernel *mmd_skin_simd(size_t *count)
{
    *count = 0;
    return NULL;
}

#endif
