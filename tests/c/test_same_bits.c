/* SPDX-License-Identifier: MIT */
/* Poses of published models, and meshes by the scalar kernel, have the same bytes on every system:
   these tests run on Linux, under Wine and in QEMU. That they are right is for other tests to show;
   after a change of formulas the hashes are to be replaced by the new ones, which a failure prints.
 */
#include "core/pose/pose.h"
#include "core/pose/rig.h"
#include "mmdskin.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#endif

enum { FRAMES = 500 };

typedef struct recorded_dance {
    const char *model, *motion;
    uint64_t hash, physics_hash; /* of all frames */
    uint64_t skin_hash;          /* of the scalar kernel, by all methods in a few frames */
} recorded_dance;

static const recorded_dance dances[] = {
    {"初音ミク.pmx", "realize_motion.vmd", 0xa1c28341ec0e056c, 0xff6ac8a12d018779,
     0x5a0b80662167872f},
    {"miku_v2.pmd", "wavefile_v2.vmd", 0xd4a0e3c5f5ab606e, 0x7cb879a7a63659d7, 0xf42dc089781ed491}};

static FILE *open_utf8(const char *path)
{
#ifdef _WIN32
    wchar_t wide[1024];
    if (!MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 1024))
        return NULL;
    return _wfopen(wide, L"rb");
#else
    return fopen(path, "rb");
#endif
}

/* The bytes of a file among the published models, or NULL. */
static uint8_t *read_published(const char *name, size_t *size)
{
    const char *shared = getenv("MMDSKIN_SHARED");
    char path[1000];
    snprintf(path, sizeof path, "%s/models/%s", shared ? shared : "../shared", name);
    FILE *file = open_utf8(path);
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, file) != *size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

/* FNV-1a. */
static uint64_t hashed(uint64_t hash, const float *numbers, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)numbers;
    for (size_t i = 0; i < count * sizeof *numbers; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* Of the poses of all frames; 0 if one of them fails. */
static uint64_t hash_of(const mmd_rig *rig, const mmd_motion *motion, bool physics)
{
    uint64_t hash = 0xcbf29ce484222325u;
    float *matrices = malloc(16 * rig->bone_count * sizeof *matrices);
    float *weights = malloc((rig->morph_count + 1) * sizeof *weights);
    mmd_poser *poser = mmd_poser_new(rig, motion, NULL);
    mmd_simulation *simulation =
        mmd_simulation_new(&(mmd_simulation_model){rig, motion, NULL, 0}, 1, true, NULL, NULL);
    bool made = matrices && weights && poser && simulation;
    for (int f = 0; made && f < FRAMES; f++) {
        double frame = f;
        size_t steps = SIZE_MAX;
        mmd_pose_job job = {.frame_count = 1,
                            .ik = true,
                            .frames = &frame,
                            .out_matrices = matrices,
                            .out_morph_weights = weights};
        if (physics) {
            mmd_simulation_seek(simulation, frame, &steps, NULL);
            mmd_simulation_pose(simulation, 0, matrices, weights, NULL);
        } else {
            mmd_pose(poser, &job, NULL);
        }
        hash = hashed(hash, matrices, 16 * rig->bone_count);
        hash = hashed(hash, weights, rig->morph_count);
    }
    mmd_simulation_free(simulation);
    mmd_poser_free(poser);
    free(weights);
    free(matrices);
    return made ? hash : 0;
}

/* The mesh of a method; NULL if that fails. Only bones are needed by methods against bulges. */
static mmd_mesh *mesh_of(const mmd_model *model, const mmd_mesh *base, mmd_method method)
{
    float *segments = malloc(6 * model->bone_count * sizeof *segments);
    int32_t *parents = malloc(model->bone_count * sizeof *parents);
    mmd_mesh *mesh = NULL;
    for (size_t i = 0; parents && i < model->bone_count; i++)
        parents[i] = model->bones[i].parent;
    const mmd_mesh_extras extras = {.segments = segments,
                                    .segment_count = model->bone_count,
                                    .parents = parents,
                                    .parent_count = model->bone_count};
    if (segments && parents && mmd_model_segments(model, segments, NULL))
        mesh = mmd_mesh_variant(base, method, &extras, NULL);
    free(parents);
    free(segments);
    return mesh;
}

static uint64_t hash_of_skin(const mmd_model *model, const mmd_mesh *mesh, mmd_method method,
                             mmd_poser *poser, uint64_t hash)
{
    size_t bones = model->bone_count, count = 3 * model->vertex_count;
    float *matrices = malloc((16 * bones + model->morph_count + 2 * count) * sizeof *matrices);
    if (!matrices)
        return 0;
    float *weights = matrices + 16 * bones, *positions = weights + model->morph_count;
    for (double frame = 0; frame < FRAMES; frame += 100) {
        mmd_pose_job pose = {.frame_count = 1, .ik = true, .frames = &frame};
        mmd_skin_job job = {.mesh = mesh, .frame_count = 1, .bone_count = bones, .method = method};
        job.matrices = pose.out_matrices = matrices;
        job.morph_weights = pose.out_morph_weights = weights;
        job.matrix_frames = job.morph_weight_frames = 1;
        job.correction = 1;
        job.sdef_blend = MMD_SDEF_SLERP;
        job.positions = positions;
        job.normals = positions + count;
        if (!mmd_pose(poser, &pose, NULL) || !mmd_skin(&job, "scalar", NULL))
            hash = 0;
        hash = hashed(hash, positions, 2 * count);
    }
    free(matrices);
    return hash;
}

static uint64_t hash_of_methods(const mmd_model *model, const mmd_rig *rig,
                                const mmd_motion *motion)
{
    static const mmd_method methods[] = {MMD_METHOD_MMD, MMD_METHOD_DUAL_QUATERNION,
                                         MMD_METHOD_BULGE_FREE, MMD_METHOD_BULGE_COMPENSATED};
    uint64_t hash = 0xcbf29ce484222325u;
    mmd_poser *poser = mmd_poser_new(rig, motion, NULL);
    mmd_mesh *base = mmd_mesh_of_model(model, NULL);
    for (size_t i = 0; poser && base && i < sizeof methods / sizeof *methods; i++) {
        bool is_variant = methods[i] >= MMD_METHOD_BULGE_FREE;
        mmd_mesh *mesh = is_variant ? mesh_of(model, base, methods[i]) : NULL;
        hash = hash_of_skin(model, mesh ? mesh : base, methods[i], poser, hash);
        mmd_mesh_free(mesh);
    }
    mmd_mesh_free(base);
    mmd_poser_free(poser);
    return hash;
}

static void check_hash(const char *name, const char *what, uint64_t found, uint64_t expected)
{
    if (!CHECK(found == expected))
        printf("%s, %s: 0x%016" PRIx64 "\n", name, what, found);
}

static void check_dance(const recorded_dance *dance)
{
    size_t model_size = 0, motion_size = 0;
    uint8_t *model_bytes = read_published(dance->model, &model_size);
    uint8_t *motion_bytes = read_published(dance->motion, &motion_size);
    if (model_bytes && motion_bytes) {
        mmd_model *model = mmd_model_load(model_bytes, model_size, NULL);
        mmd_motion *motion = mmd_motion_load(motion_bytes, motion_size, NULL);
        mmd_rig *rig = model ? mmd_rig_new(model, NULL) : NULL;
        if (CHECK(rig && motion)) {
            check_hash(dance->model, "hash", hash_of(rig, motion, false), dance->hash);
            check_hash(dance->model, "physics_hash", hash_of(rig, motion, true),
                       dance->physics_hash);
            check_hash(dance->model, "skin_hash", hash_of_methods(model, rig, motion),
                       dance->skin_hash);
        }
        mmd_rig_free(rig);
        mmd_motion_free(motion);
        mmd_model_free(model);
    } else {
        printf("skipped: %s may not be shipped\n", dance->model);
    }
    free(motion_bytes);
    free(model_bytes);
}

static void poses_of_dances_have_the_same_bytes(void)
{
    for (size_t i = 0; i < sizeof dances / sizeof *dances; i++)
        check_dance(&dances[i]);
}

void same_bits_tests(void)
{
    RUN(poses_of_dances_have_the_same_bytes);
}
