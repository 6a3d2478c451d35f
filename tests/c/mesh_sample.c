/* SPDX-License-Identifier: MIT */
#include "mesh_sample.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static float *random_floats(size_t count, float low, float high, uint32_t *seed)
{
    float *numbers = zeroed(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = test_random_float(seed, low, high);
    return numbers;
}

static void fill_influences(size_t v, uint32_t seed, uint8_t *deform, int32_t *bones,
                            float *weights)
{
    *deform = (uint8_t)(test_random(&seed) % MMD_DEFORM_COUNT);
    uint32_t start = test_random(&seed);
    for (uint32_t i = 0; i < 4; i++)
        bones[i] = (int32_t)((start + i * (1 + start / 7 % 4)) % SAMPLE_BONES);
    uint32_t own = (uint32_t)v * 977 + 5;
    for (uint32_t i = 0; i < 4; i++)
        weights[i] = test_random_float(&own, 0.05f, 1);
    switch (start % 11) {
    case 0:
        bones[1] = -1;
        break;
    case 1:
        weights[0] = 0;
        break;
    case 2:
        bones[2] = bones[0];
        break;
    case 3:
        memset(weights, 0, 4 * sizeof *weights);
        break;
    case 4:
        weights[1] = -0.2f * weights[0];
        break;
    }
}

static void fill_morphs(mesh_sample *sample, uint32_t *seed)
{
    size_t n = sample->desc.vertex_count;
    mmd_morph *morphs = sample->morphs;
    for (size_t m = 0; m < 2; m++) {
        size_t count = m ? n : n / 2;
        morphs[m] = (mmd_morph){.kind = MMD_MORPH_VERTEX, .offset_count = count};
        morphs[m].indices = zeroed(count, sizeof *morphs[m].indices);
        morphs[m].values = random_floats(3 * count, -1, 1, seed);
        for (size_t i = 0; i < count; i++)
            morphs[m].indices[i] = (int32_t)(test_random(seed) % n);
    }
    morphs[2] = (mmd_morph){.kind = MMD_MORPH_GROUP, .offset_count = 2};
    morphs[3] = (mmd_morph){.kind = MMD_MORPH_FLIP, .offset_count = 1};
    for (size_t m = 2; m < 4; m++) {
        morphs[m].indices = zeroed(2, sizeof *morphs[m].indices);
        morphs[m].values = random_floats(2, 0.25f, 1, seed);
        morphs[m].indices[m == 2 ? 1 : 0] = 1;
    }
}

mesh_sample mesh_sample_new(size_t vertex_count, size_t tangent_width, bool contiguous)
{
    uint32_t seed = 4711;
    size_t n = vertex_count;
    int32_t *bones = zeroed(4 * n, sizeof *bones);
    float *weights = zeroed(4 * n, sizeof *weights);
    uint8_t *deform = zeroed(n, 1);
    for (size_t v = 0; v < n; v++)
        fill_influences(v, (uint32_t)(contiguous ? v / 13 % 17 : v) * 7919, deform + v,
                        bones + 4 * v, weights + 4 * v);
    mesh_sample sample = {
        .desc = {.vertex_count = n,
                 .positions = random_floats(3 * n, -10, 10, &seed),
                 .normals = random_floats(3 * n, -1, 1, &seed),
                 .tangents = tangent_width ? random_floats(tangent_width * n, -1, 1, &seed) : NULL,
                 .tangent_width = tangent_width,
                 .influence_count = 4,
                 .bone_indices = bones,
                 .bone_weights = weights,
                 .deform = deform,
                 .sdef = random_floats(9 * n, -10, 10, &seed)}};
    fill_morphs(&sample, &seed);
    return sample;
}

void mesh_sample_free(mesh_sample *sample)
{
    const mmd_mesh_desc *desc = &sample->desc;
    const void *arrays[] = {desc->positions,    desc->normals, desc->tangents, desc->bone_indices,
                            desc->bone_weights, desc->deform,  desc->sdef};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free((void *)arrays[i]);
    for (size_t m = 0; m < SAMPLE_MORPHS; m++) {
        free(sample->morphs[m].indices);
        free(sample->morphs[m].values);
    }
}

mmd_mesh_desc mesh_sample_vertex(const mesh_sample *sample, size_t v)
{
    mmd_mesh_desc desc = sample->desc;
    desc.vertex_count = 1;
    desc.positions += 3 * v;
    desc.normals += 3 * v;
    if (desc.tangents)
        desc.tangents += desc.tangent_width * v;
    desc.bone_indices += 4 * v;
    desc.bone_weights += 4 * v;
    desc.deform += v;
    desc.sdef += 9 * v;
    return desc;
}

/* A random unit quaternion's matrix, its columns scaled. */
static void fill_matrix(float out[16], matrix_sort sort, bool mirrored, uint32_t *seed)
{
    double q[4], square = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = (double)test_random_float(seed, -1, 1);
        square += q[i] * q[i];
    }
    double x = q[0], y = q[1], z = q[2], w = q[3], s = 2 / square;
    const double rotation[9] = {
        1 - s * (y * y + z * z), s * (x * y - w * z),     s * (x * z + w * y),
        s * (x * y + w * z),     1 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y),     s * (y * z + w * x),     1 - s * (x * x + y * y)};
    for (int column = 0; column < 3; column++) {
        double scale = sort == MATRICES_RIGID ? 1 : (double)test_random_float(seed, 0.7f, 1.4f);
        if (mirrored && column == 2)
            scale = -scale;
        for (int row = 0; row < 3; row++)
            out[4 * row + column] = (float)(scale * rotation[3 * row + column]);
    }
    for (int row = 0; row < 3; row++)
        out[4 * row + 3] = test_random_float(seed, -3, 3);
    out[15] = 1;
}

float *sample_matrices(size_t frames, matrix_sort sort, uint32_t seed)
{
    float *matrices = zeroed(frames * SAMPLE_BONES * 16, sizeof *matrices);
    for (size_t m = 0; m < frames * SAMPLE_BONES; m++) {
        float *matrix = matrices + 16 * m;
        if (sort == MATRICES_IDENTITY)
            matrix[0] = matrix[5] = matrix[10] = matrix[15] = 1;
        else
            fill_matrix(matrix, sort, sort == MATRICES_MIRRORED && m % 2, &seed);
    }
    return matrices;
}

size_t usable_kernels(const mmd_skin_kernel *kernels[MAX_KERNELS])
{
    static const char *const names[MAX_KERNELS] = {"scalar", "sse2", "avx2", "avx512", "neon"};
    size_t count = 0;
    for (size_t i = 0; i < MAX_KERNELS; i++)
        if ((kernels[count] = mmd_skin_kernel_find(names[i], NULL)))
            count++;
    return count;
}

static float *not_a_numbers(size_t count)
{
    float *numbers = malloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = NAN;
    return numbers;
}

void skin_outputs_new(mmd_skin_job *job, bool normals, bool tangents)
{
    size_t count = job->frame_count * job->mesh->vertex_count;
    job->positions = not_a_numbers(3 * count);
    job->normals = normals ? not_a_numbers(3 * count) : NULL;
    job->tangents = tangents ? not_a_numbers(job->mesh->tangent_width * count) : NULL;
}

void skin_outputs_free(mmd_skin_job *job)
{
    free(job->positions);
    free(job->normals);
    free(job->tangents);
}
