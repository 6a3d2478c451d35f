/* SPDX-License-Identifier: MIT */
#include "core/base/cpu.h"
#include "core/fit/fit.h"
#include "core/model/morph.h"
#include "core/skin/skin.h"
#include "mesh_sample.h"
#include "mmdskin.h"
#include "motion_sample.h"
#include "pmx_sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each allocation in turn fails, until one run has enough of them. What had been made by then is
   freed by the failing function (LeakSanitizer looks at the end) and the error says "memory". */

static pmx_layout layout_of_blocks(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.extra_vertices = 3000; /* arrays larger than a block of an arena */
    layout.index_sizes[INDEX_VERTEX] = 2;
    return layout;
}

static void check_memory_error(const mmd_error *err)
{
    CHECK_INT(err->code, MMD_E_MEMORY);
    CHECK(strcmp(err->text, "out of memory") == 0);
}

static void loading_survives_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(layout_of_blocks());
    mmd_model *model = NULL;
    long n = 0;
    for (; !model; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        model = mmd_model_load(sample.data, sample.size, &err);
        if (!model)
            check_memory_error(&err);
    }
    mmd_arena_fail_after(-1);
    CHECK(n > 80); /* 60 texts, 10 arrays of vertices, 9 of records, one per list inside them */
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void a_mesh_survives_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(layout_of_blocks());
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    mmd_mesh *mesh = NULL;
    long n = 0;
    for (; model && !mesh; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        mesh = mmd_mesh_of_model(model, &err);
        if (!mesh)
            check_memory_error(&err);
    }
    mmd_arena_fail_after(-1);
    CHECK(n > 10);
    mmd_mesh_free(mesh);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void many_groups_survive_every_failing_allocation(void)
{
    enum { COUNT = 600 };
    static float positions[3 * COUNT], weights[COUNT];
    static int32_t bones[COUNT];
    for (int32_t v = 0; v < COUNT; v++) {
        bones[v] = v;
        weights[v] = 1;
    }
    mmd_mesh_desc desc = {.vertex_count = COUNT,
                          .positions = positions,
                          .influence_count = 1,
                          .bone_indices = bones,
                          .bone_weights = weights};
    mmd_mesh *mesh = NULL;
    for (long n = 0; !mesh; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        mesh = mmd_mesh_new(&desc, &err);
        if (!mesh)
            check_memory_error(&err);
    }
    mmd_arena_fail_after(-1);
    CHECK_INT(mesh->blocks.group_count, COUNT);
    mmd_mesh_free(mesh);
}

/* One frame, or so many that their results exceed the caches. */
static void skinning_survives(size_t frames, long allocations)
{
    mesh_sample sample = mesh_sample_new(50, 4, true);
    sample.desc.morph_count = SAMPLE_MORPHS;
    sample.desc.morphs = sample.morphs;
    mmd_mesh *mesh = mmd_mesh_new(&sample.desc, NULL);
    float *matrices = sample_matrices(1, MATRICES_RIGID, 1);
    mmd_skin_job job = {.mesh = mesh,
                        .frame_count = frames,
                        .bone_count = SAMPLE_BONES,
                        .matrices = matrices,
                        .matrix_frames = 1};
    skin_outputs_new(&job, true, true);
    long n = 0;
    for (bool done = false; !done; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        done = mmd_skin_cpu(&job, NULL, &err);
        if (!done)
            check_memory_error(&err);
    }
    mmd_arena_fail_after(-1);
    CHECK(n > allocations);
    skin_outputs_free(&job);
    free(matrices);
    mmd_mesh_free(mesh);
    mesh_sample_free(&sample);
}

static void skinning_survives_every_failing_allocation(void)
{
    skinning_survives(1, 3);
    skinning_survives(15000, MMD_STREAMS ? 4 : 3); /* streaming needs a staging buffer */
}

/* Runs `attempt`, an expression that is true once it has enough memory, with each allocation
   failing in turn; more than `least` of them must have. */
#define STARVE(least, err, attempt)                                                                \
    do {                                                                                           \
        long count = 0;                                                                            \
        for (bool done = false; !done; count++) {                                                  \
            mmd_error err = {0};                                                                   \
            mmd_arena_fail_after(count);                                                           \
            done = (attempt);                                                                      \
            mmd_arena_fail_after(-1);                                                              \
            if (!done)                                                                             \
                check_memory_error(&err);                                                          \
        }                                                                                          \
        CHECK(count > (least));                                                                    \
    } while (0)

static void variants_of_a_mesh_survive_every_failing_allocation(void)
{
    static const int32_t triangles[] = {0, 1, 2, 3, 4, 5};
    static const float uvs[2 * 50] = {0, 0, 1, 0, 0, 1}, segments[6 * SAMPLE_BONES] = {1};
    static const int32_t parents[SAMPLE_BONES] = {-1};
    const mmd_mesh_extras extras = {.triangles = triangles,
                                    .triangle_count = 2,
                                    .uvs = uvs,
                                    .segments = segments,
                                    .segment_count = SAMPLE_BONES,
                                    .parents = parents,
                                    .parent_count = SAMPLE_BONES};
    mesh_sample sample = mesh_sample_new(50, 0, true);
    mmd_mesh *mesh = mmd_mesh_new(&sample.desc, NULL), *made = NULL;
    for (int m = MMD_METHOD_BULGE_FREE; mesh && m <= MMD_METHOD_CENTERS_OF_ROTATION; m++) {
        mmd_mesh *tangents = NULL;
        STARVE(5, err, (made = mmd_mesh_variant(mesh, (mmd_method)m, &extras, &err)) != NULL);
        STARVE(5, err, (tangents = mmd_mesh_with_tangents(made, &extras, &err)) != NULL);
        mmd_mesh_free(tangents);
        mmd_mesh_free(made);
    }
    CHECK(made);
    mmd_mesh_free(mesh);
    mesh_sample_free(&sample);
}

static void motions_survive_every_failing_allocation(void)
{
    vmd_sample sample = vmd_sample_new();
    mmd_motion *motion = NULL;
    STARVE(15, err, (motion = mmd_motion_load(sample.bytes, sample.size, &err)) != NULL);
    mmd_motion *made = NULL;
    STARVE(15, err, (made = mmd_motion_new(motion, &err)) != NULL);
    uint8_t bytes[sizeof sample.bytes];
    bool written = false;
    if (CHECK(made && mmd_vmd_size(made) <= sizeof bytes))
        STARVE(3, err, (written = mmd_vmd_write(made, false, bytes, &err)));
    CHECK(written);
    mmd_motion_free(made);
    mmd_motion_free(motion);
    const uint8_t *pose = (const uint8_t *)vpd_sample;
    STARVE(5, err, (motion = mmd_motion_load(pose, strlen(vpd_sample), &err)) != NULL);
    mmd_motion_free(motion);
}

static void models_from_arrays_survive_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL), *made = NULL;
    mmd_model arrays = *model;
    arrays.normals = arrays.uvs = arrays.additional_uvs = arrays.edge_scales = NULL;
    STARVE(30, err, (made = mmd_model_new(&arrays, &err)) != NULL);
    mmd_model_free(made);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void posing_survives_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    vmd_sample keys = vmd_sample_new();
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    mmd_motion *motion = mmd_motion_load(keys.bytes, keys.size, NULL);
    mmd_rig *rig = NULL;
    mmd_poser *poser = NULL;
    if (!CHECK(model) || !CHECK(motion))
        return;
    STARVE(15, err, (rig = mmd_rig_new(model, &err)) != NULL);
    STARVE(6, err, (poser = mmd_poser_new(rig, NULL, &err)) != NULL);
    mmd_poser_free(poser);
    STARVE(15, err, (poser = mmd_poser_new(rig, motion, &err)) != NULL);
    mmd_poser_free(poser);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void a_simulation_survives_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    mmd_rig *rig = model ? mmd_rig_new(model, NULL) : NULL;
    if (!CHECK(rig))
        return;
    mmd_simulation *made = NULL;
    STARVE(10, err,
           (made = mmd_simulation_new(&(mmd_simulation_model){rig, NULL, NULL, 0}, 1, true, NULL,
                                      &err)));
    mmd_simulation_free(made);
    mmd_rig_free(rig);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

/* The motion of a fit, which it frees; NULL if one of its parts fails, or if it is NULL. */
static mmd_motion *run_fit(mmd_fit *fit, mmd_error *err)
{
    bool done = fit != NULL;
    mmd_thread_part part;
    while (done && (part = fit->next(fit)).task)
        done = part.task(part.arg, 0, 0, part.count, err);
    mmd_motion *motion = done ? fit->motion : NULL;
    if (done)
        fit->motion = NULL;
    mmd_fit_free(fit);
    return motion;
}

static void a_motion_fit_survives_every_failing_allocation(void)
{
    enum { FRAMES = 8 };
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    mmd_rig *rig = model ? mmd_rig_new(model, NULL) : NULL;
    mmd_mesh *mesh = model ? mmd_mesh_of_model(model, NULL) : NULL;
    mmd_poser *poser = rig ? mmd_poser_new(rig, NULL, NULL) : NULL;
    if (!CHECK(poser && mesh))
        return;
    size_t bones = model->bone_count, morphs = model->morph_count;
    float *translations = calloc(FRAMES * bones * 3, sizeof *translations);
    float *rotations = calloc(FRAMES * bones * 4, sizeof *rotations);
    float *matrices = calloc(FRAMES * bones * 16, sizeof *matrices);
    float *weights = calloc(FRAMES * morphs + 1, sizeof *weights);
    for (size_t i = 0; i < FRAMES * bones; i++) {
        translations[3 * i] = 0.01f * (float)(i / bones);
        rotations[4 * i + 3] = 1;
    }
    mmd_pose_job pose = {.frame_count = FRAMES,
                         .translations = translations,
                         .translation_frames = FRAMES,
                         .rotation_frames = 1,
                         .morph_weight_frames = 1,
                         .ik_frames = 1,
                         .out_matrices = matrices,
                         .out_morph_weights = weights};
    CHECK(mmd_pose(poser, &pose, NULL));
    mmd_motion_fit_job job = {.rig = rig,
                              .mesh = mesh,
                              .frame_count = FRAMES,
                              .translations = translations,
                              .rotations = rotations,
                              .morph_weights = weights,
                              .matrices = matrices,
                              .ik = MMD_MOTION_FIT_IK_OFF,
                              .tolerance = 0.02,
                              .physics_tolerance = 0.1};
    mmd_motion *motion = NULL;
    STARVE(20, err, (motion = run_fit((mmd_fit *)mmd_motion_fit_new(&job, &err), &err)));
    CHECK(motion && motion->bone_track_count > 0);
    mmd_motion_free(motion);
    free(weights);
    free(matrices);
    free(rotations);
    free(translations);
    mmd_poser_free(poser);
    mmd_mesh_free(mesh);
    mmd_rig_free(rig);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void a_camera_fit_survives_every_failing_allocation(void)
{
    const mmd_camera cameras[2] = {
        {.position = {0, 10, -45}, .target = {0, 10, 0}, .up = {0, 1, 0}, .fov = 30},
        {.position = {5, 10, -40}, .target = {0, 10, 0}, .up = {0, 1, 0}, .fov = 30}};
    mmd_camera_fit_job job = {
        .frame_count = 2, .cameras = cameras, .tolerance = 0.02, .angle_tolerance = 0.001};
    mmd_motion *motion = NULL;
    STARVE(5, err, (motion = run_fit(mmd_camera_fit_new(&job, &err), &err)));
    CHECK_INT(motion->camera.key_count, 2);
    mmd_motion_free(motion);
}

static void material_morphs_survive_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(pmx_sample_layout());
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    if (!CHECK(model))
        return;
    float *weights = calloc(model->morph_count + 1, sizeof *weights);
    mmd_material *materials = calloc(model->material_count + 1, sizeof *materials);
    STARVE(1, err, mmd_morph_materials(model, weights, materials, &err));
    free(materials);
    free(weights);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void bulge_correction_survives_every_failing_allocation(void)
{
    pmx_sample sample = pmx_sample_new(layout_of_blocks());
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    mmd_mesh *mesh = model ? mmd_mesh_of_model(model, NULL) : NULL;
    if (!CHECK(mesh))
        return;
    float *segments = calloc(6 * model->bone_count, sizeof *segments);
    int32_t *parents = calloc(model->bone_count, sizeof *parents);
    for (size_t b = 0; b < model->bone_count; b++)
        parents[b] = model->bones[b].parent;
    STARVE(2, err, mmd_model_segments(model, segments, &err));
    mmd_mesh_extras extras = {.triangles = model->triangles,
                              .triangle_count = model->triangle_count,
                              .segments = segments,
                              .parents = parents,
                              .segment_count = model->bone_count,
                              .parent_count = model->bone_count};
    for (int method = MMD_METHOD_BULGE_FREE; method <= MMD_METHOD_CENTERS_OF_ROTATION; method++) {
        mmd_mesh *variant;
        STARVE(8, err, (variant = mmd_mesh_variant(mesh, (mmd_method)method, &extras, &err)));
        mmd_mesh_free(variant);
    }
    free(parents);
    free(segments);
    mmd_mesh_free(mesh);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

void memory_tests(void)
{
    RUN(loading_survives_every_failing_allocation);
    RUN(variants_of_a_mesh_survive_every_failing_allocation);
    RUN(motions_survive_every_failing_allocation);
    RUN(models_from_arrays_survive_every_failing_allocation);
    RUN(posing_survives_every_failing_allocation);
    RUN(a_simulation_survives_every_failing_allocation);
    RUN(a_motion_fit_survives_every_failing_allocation);
    RUN(a_camera_fit_survives_every_failing_allocation);
    RUN(material_morphs_survive_every_failing_allocation);
    RUN(a_mesh_survives_every_failing_allocation);
    RUN(bulge_correction_survives_every_failing_allocation);
    RUN(many_groups_survive_every_failing_allocation);
    RUN(skinning_survives_every_failing_allocation);
}
