/* SPDX-License-Identifier: MIT */
/* clang -g -O1 -fsanitize=fuzzer,address,undefined -DMMD_TEST_MEMORY -ffp-contract=off -Icsrc \
       -Ibuild/generated tests/fuzz/model.c $(find csrc/core -name '*.c') -lm -o fuzz
   ./fuzz -max_len=200000 <corpus> <models>; `make check-fuzz` does both.
   With -DMMD_FUZZ_FILES and without "fuzzer": a program that runs the files it is given, once. */
#include "core/formats/load.h"
#include "core/skin/skin.h"
#include "index_safe.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A small turn about an axis that goes with the bone, and a small step. */
static float *gentle_matrices(size_t bone_count)
{
    float *matrices = calloc(bone_count ? bone_count : 1, 16 * sizeof *matrices);
    for (size_t b = 0; b < bone_count; b++) {
        float *m = matrices + 16 * b;
        size_t x = b % 3, y = (b + 1) % 3, z = (b + 2) % 3;
        m[5 * x] = m[5 * y] = 0.8f;
        m[4 * x + y] = -0.6f;
        m[4 * y + x] = 0.6f;
        m[5 * z] = 1;
        m[4 * x + 3] = (float)(b % 7) / 8;
        m[15] = 1;
    }
    return matrices;
}

static void skin_all(const mmd_mesh *mesh)
{
    static const char *const names[] = {"scalar", "sse2", "avx2", "avx512", "neon"};
    size_t n = mesh->vertex_count;
    float *matrices = gentle_matrices(mesh->bone_count);
    float *sliders = calloc(mesh->morph_count + 1, sizeof *sliders);
    float *positions = malloc(3 * n * sizeof *positions),
          *normals = malloc(3 * n * sizeof *normals);
    for (size_t i = 0; i < mesh->morph_count; i++)
        sliders[i] = (float)(i % 5) / 4;
    for (unsigned way = 0; way < 20; way++) {
        mmd_skin_job job = {.mesh = mesh,
                            .frame_count = 1,
                            .bone_count = mesh->bone_count,
                            .matrices = matrices,
                            .matrix_frames = 1,
                            .sliders = way / 5 % 2 ? NULL : sliders,
                            .slider_frames = 1,
                            .method = way / 5 == 3 ? MMD_METHOD_DUAL_QUATERNION : MMD_METHOD_MMD,
                            .sdef_blend = way / 10 ? MMD_SDEF_SLERP : MMD_SDEF_NLERP,
                            .positions = positions,
                            .normals = way / 5 == 1 ? NULL : normals};
        const mmd_kernel *kernel = mmd_kernel_find(names[way % 5]);
        if (kernel && !(mmd_skin_check(&job, NULL) && mmd_skin_cpu(&job, kernel, NULL)))
            abort();
    }
    free(matrices);
    free(sliders);
    free(positions);
    free(normals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_error err = {0};
    mmd_model *model = mmd_model_load(data, size, &err);
    if (!model) {
        if (err.code == MMD_E_NONE || (err.code == MMD_E_FORMAT && !err.section[0]))
            abort();
        return 0;
    }
    if (!model_is_safe(model))
        abort();
    mmd_mesh *mesh = mmd_mesh_of_model(model, &err);
    if (!mesh)
        abort();
    mmd_model_free(model); /* the mesh keeps nothing of it */
    skin_all(mesh);
    mmd_mesh_free(mesh);
    return 0;
}

#ifdef MMD_FUZZ_FILES
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file || fseek(file, 0, SEEK_END))
            return printf("%s cannot be read\n", argv[i]), 1;
        size_t size = (size_t)ftell(file);
        uint8_t *data = malloc(size);
        rewind(file);
        size = fread(data, 1, size, file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        printf("%s: %zu bytes\n", argv[i], size);
    }
    return 0;
}
#endif
