/* SPDX-License-Identifier: MIT */
#include "mmdskin.h"
#include "motion_sample.h"
#include "pmx_sample.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each function of the public header with each pointer NULL and each enum out of range: an error
   that names the argument, or what the header says. */

static void check_error(const mmd_error *err, const char *text)
{
    CHECK_INT(err->code, MMD_E_ARGUMENT);
    test_text((mmd_text){err->text, strlen(err->text)}, text, strlen(text), __FILE__, __LINE__,
              "text");
}

/* What a call returns must be false or NULL, with and without an error to fill. */
#define CHECK_REFUSED(call, text)                                                                  \
    do {                                                                                           \
        mmd_error failure = {0}, *err = &failure;                                                  \
        CHECK(!(call));                                                                            \
        check_error(err, text);                                                                    \
        err = NULL;                                                                                \
        CHECK(!(call));                                                                            \
    } while (0)

static mmd_model *sample_model(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.soft_body = false;
    pmx_sample sample = pmx_sample_new(layout);
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    pmx_sample_free(&sample);
    return model;
}

static mmd_motion *sample_motion(void)
{
    vmd_sample sample = vmd_sample_new();
    return mmd_motion_load(sample.bytes, sample.size, NULL);
}

static void arguments_that_are_missing_are_refused(void)
{
    mmd_model *model = sample_model();
    mmd_motion *motion = sample_motion();
    mmd_rig *rig = mmd_rig_new(model, NULL);
    mmd_mesh *mesh = mmd_mesh_of_model(model, NULL);
    mmd_mesh_extras extras = {0};
    uint8_t byte = 0;
    if (!CHECK(model && motion && rig && mesh))
        return;
    CHECK_REFUSED(mmd_model_load(NULL, 9, err), "bytes: missing");
    CHECK_REFUSED(mmd_motion_load(NULL, 9, err), "bytes: missing");
    CHECK_REFUSED(mmd_model_new(NULL, err), "arrays: missing");
    CHECK_REFUSED(mmd_motion_new(NULL, err), "tracks: missing");
    CHECK_REFUSED(mmd_pmx_write(NULL, &byte, err), "model: missing");
    CHECK_REFUSED(mmd_pmx_write(model, NULL, err), "bytes: missing");
    CHECK_REFUSED(mmd_vmd_write(NULL, false, &byte, err), "motion: missing");
    CHECK_REFUSED(mmd_vmd_write(motion, false, NULL, err), "bytes: missing");
    CHECK_REFUSED(mmd_rig_new(NULL, err), "model: missing");
    CHECK_REFUSED(mmd_poser_new(NULL, motion, err), "rig: missing");
    CHECK_REFUSED(mmd_mesh_new(NULL, err), "desc: missing");
    CHECK_REFUSED(mmd_mesh_of_model(NULL, err), "model: missing");
    CHECK_REFUSED(mmd_model_segments(NULL, (float *)&extras, err), "model: missing");
    CHECK_REFUSED(mmd_model_segments(model, NULL, err), "segments: missing");
    CHECK_REFUSED(mmd_mesh_variant(NULL, MMD_METHOD_BULGE_FREE, &extras, err), "base: missing");
    CHECK_REFUSED(mmd_mesh_variant(mesh, MMD_METHOD_BULGE_FREE, NULL, err), "extras: missing");
    CHECK_REFUSED(mmd_mesh_with_tangents(NULL, &extras, err), "base: missing");
    CHECK_REFUSED(mmd_mesh_with_tangents(mesh, NULL, err), "extras: missing");
    mmd_error err = {0};
    CHECK(!mmd_model_load(NULL, 0, &err) && err.code == MMD_E_FORMAT);
    CHECK(!mmd_motion_load(NULL, 0, &err) && err.code == MMD_E_FORMAT);
    mmd_mesh_free(mesh);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
}

static void functions_without_an_error_accept_null(void)
{
    mmd_model_free(NULL);
    mmd_motion_free(NULL);
    mmd_rig_free(NULL);
    mmd_poser_free(NULL);
    mmd_mesh_free(NULL);
    mmd_world_free(NULL);
    mmd_simulation_free(NULL);
    mmd_simulation_reset(NULL);
    mmd_world_state(NULL, NULL);
    mmd_world_strain(NULL, NULL);
    mmd_simulation_strain(NULL, NULL);
    CHECK_INT(mmd_world_body_count(NULL) + mmd_world_kinematic_count(NULL), 0);
    CHECK_INT(mmd_world_joint_count(NULL) + mmd_world_contact_points(NULL, NULL), 0);
    CHECK_INT(mmd_world_save(NULL, NULL) + mmd_simulation_save(NULL, NULL), 0);
    CHECK_NEAR(mmd_simulation_frame(NULL), 0, 0);
    CHECK(!mmd_simulation_note(NULL, 0, NULL));
    CHECK_INT(mmd_pmx_size(NULL), 0);
    CHECK_INT(mmd_vmd_size(NULL), 0);
    mmd_motion none = mmd_motion_select(NULL, MMD_PART_MODEL);
    CHECK(none.bone_track_count == 0 && none.last_frame == 0);
    mmd_camera camera;
    mmd_light light;
    mmd_shadow shadow;
    mmd_camera_at(NULL, 0, &camera);
    mmd_light_at(NULL, 0, &light);
    mmd_shadow_at(NULL, 0, &shadow);
    CHECK_NEAR(camera.position[2], -45, 0);
    CHECK_NEAR(light.direction[1], -1, 0);
    CHECK_INT(shadow.mode, 0);
    mmd_motion *motion = sample_motion();
    if (!CHECK(motion))
        return;
    mmd_camera_at(&motion->camera, 0, NULL);
    mmd_light_at(&motion->light, 0, NULL);
    mmd_shadow_at(&motion->shadow, 0, NULL);
    CHECK_INT(mmd_motion_select(motion, (mmd_motion_part)9).bone_track_count,
              motion->bone_track_count);
    mmd_motion_free(motion);
}

/* Each pointer of a motion's tracks in turn. */
static void motions_without_an_array_are_made_or_refused(void)
{
    mmd_motion *motion = sample_motion();
    if (!CHECK(motion))
        return;
    mmd_bone_track *bone = motion->bone_tracks;
    mmd_morph_track *morph = motion->morph_tracks;
    const struct {
        void *pointer; /* to the pointer */
        const char *text;
    } arrays[] = {
        {&motion->bone_tracks, "bones: missing"},
        {&motion->morph_tracks, "morphs: missing"},
        {&bone->name.data, "bones[0]: the name is missing"},
        {&bone->frames, "bones[0].frames: missing"},
        {&bone->translations, NULL},
        {&bone->rotations, NULL},
        {&bone->interpolation, NULL},
        {&bone->physics, NULL},
        {&bone->stored, NULL},
        {&morph->name.data, "morphs[0]: the name is missing"},
        {&morph->frames, "morphs[0].frames: missing"},
        {&morph->weights, "morphs[0].weights: missing"},
        {&motion->camera.frames, "camera.frames: missing"},
        {&motion->camera.distances, "camera.distances: missing"},
        {&motion->camera.targets, "camera.targets: missing"},
        {&motion->camera.rotations, "camera.rotations: missing"},
        {&motion->camera.interpolation, NULL},
        {&motion->camera.view_angles, "camera.view_angles: missing"},
        {&motion->camera.perspective, NULL},
        {&motion->light.frames, "light.frames: missing"},
        {&motion->light.colors, "light.colors: missing"},
        {&motion->light.directions, "light.directions: missing"},
        {&motion->shadow.frames, "shadow.frames: missing"},
        {&motion->shadow.modes, "shadow.modes: missing"},
        {&motion->shadow.distances, "shadow.distances: missing"},
        {&motion->properties.frames, "properties.frames: missing"},
        {&motion->properties.visible, NULL},
        {&motion->properties.ik_names, "properties.ik_names: missing"},
        {&motion->properties.ik_names[0].data, "properties.ik_names[0]: the name is missing"},
        {&motion->properties.ik_enabled, "properties.ik_enabled: missing"},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *kept;
        memcpy(&kept, arrays[i].pointer, sizeof kept);
        memset(arrays[i].pointer, 0, sizeof kept);
        if (arrays[i].text) {
            CHECK_REFUSED(mmd_motion_new(motion, err), arrays[i].text);
        } else {
            mmd_motion *made = mmd_motion_new(motion, NULL);
            CHECK(made);
            mmd_motion_free(made);
        }
        memcpy(arrays[i].pointer, &kept, sizeof kept);
    }
    mmd_motion_free(motion);
}

/* Each pointer of a model in turn. */
static void models_without_an_array_are_made_or_refused(void)
{
    mmd_model *model = sample_model();
    if (!CHECK(model))
        return;
    mmd_morph *morph = model->morphs;
    mmd_bone *ik_bone = model->bones;
    while (!ik_bone->ik)
        ik_bone++;
    void *pointers[] = {
        &model->name.data,
        &model->comment.data,
        &model->positions,
        &model->normals,
        &model->uvs,
        &model->additional_uvs,
        &model->edge_scales,
        &model->deform,
        &model->bone_indices,
        &model->bone_weights,
        &model->sdef,
        &model->triangles,
        &model->textures,
        &model->textures[0].data,
        &model->materials,
        &model->materials[0].name.data,
        &model->materials[0].memo.data,
        &model->bones,
        &model->bones[0].name.data,
        &ik_bone->ik,
        &ik_bone->ik->links,
        &model->morphs,
        &morph->name.data,
        &morph->indices,
        &morph->values,
        &model->display_frames,
        &model->display_frames[1].elements,
        &model->rigid_bodies,
        &model->rigid_bodies[0].name.data,
        &model->joints,
        &model->joints[0].name.data,
    };
    size_t made_count = 0;
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        void *kept;
        mmd_error err = {0};
        memcpy(&kept, pointers[i], sizeof kept);
        memset(pointers[i], 0, sizeof kept);
        mmd_model *made = mmd_model_new(model, &err);
        CHECK(made || err.code == MMD_E_ARGUMENT);
        made_count += made != NULL;
        mmd_model_free(made);
        memcpy(pointers[i], &kept, sizeof kept);
    }
    CHECK(made_count >= 4 && made_count < sizeof pointers / sizeof *pointers / 2);
    model->morphs[0].kind = (mmd_morph_kind)99;
    CHECK_REFUSED(mmd_model_new(model, err), "morph 0: kind 99 of 11");
    mmd_model_free(model);
}

static void poses_without_an_array_are_refused(void)
{
    mmd_model *model = sample_model();
    mmd_motion *motion = sample_motion();
    mmd_rig *rig = mmd_rig_new(model, NULL);
    mmd_poser *poser = mmd_poser_new(rig, motion, NULL), *locals = mmd_poser_new(rig, NULL, NULL);
    float *matrices = malloc(16 * model->bone_count * sizeof *matrices);
    float *weights = malloc(model->morph_count * sizeof *weights);
    const double frame = 0;
    const mmd_pose_job good = {
        .frame_count = 1, .frames = &frame, .out_matrices = matrices, .out_morph_weights = weights};
    mmd_pose_job job = good;
    if (!CHECK(poser && locals && matrices && weights))
        return;
    CHECK(mmd_pose(poser, &good, NULL) && mmd_pose(locals, &good, NULL));
    CHECK_REFUSED(mmd_pose(NULL, &good, err), "poser: missing");
    CHECK_REFUSED(mmd_pose(poser, NULL, err), "job: missing");
    job.frames = NULL;
    CHECK_REFUSED(mmd_pose(poser, &job, err), "frames: missing, expected 1");
    CHECK(mmd_pose(locals, &job, NULL));
    job = good;
    job.out_matrices = NULL;
    CHECK_REFUSED(mmd_pose(poser, &job, err), "out_matrices: missing");
    job = good;
    job.out_morph_weights = NULL;
    CHECK_REFUSED(mmd_pose(poser, &job, err), "out_morph_weights: missing");
    CHECK(mmd_pose(poser, &(mmd_pose_job){0}, NULL));
    free(weights);
    free(matrices);
    mmd_poser_free(locals);
    mmd_poser_free(poser);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
}

static void meshes_without_an_array_are_refused(void)
{
    const float numbers[9] = {1};
    int32_t bones[] = {0};
    float offset[3] = {0};
    mmd_morph morph = {
        .kind = MMD_MORPH_VERTEX, .offset_count = 1, .indices = bones, .values = offset};
    const mmd_mesh_desc good = {.vertex_count = 1,
                                .positions = numbers,
                                .influence_count = 1,
                                .bone_indices = bones,
                                .bone_weights = numbers,
                                .morph_count = 1,
                                .morphs = &morph};
    mmd_mesh_desc desc = good;
    mmd_mesh *mesh = mmd_mesh_new(&good, NULL);
    CHECK(mesh);
    mmd_mesh_free(mesh);
    desc.positions = NULL;
    CHECK_REFUSED(mmd_mesh_new(&desc, err), "positions: missing");
    desc = good;
    desc.bone_indices = NULL;
    CHECK_REFUSED(mmd_mesh_new(&desc, err), "bone_indices: missing");
    desc = good;
    desc.bone_weights = NULL;
    CHECK_REFUSED(mmd_mesh_new(&desc, err), "bone_weights: missing");
    desc = good;
    desc.morphs = NULL;
    CHECK_REFUSED(mmd_mesh_new(&desc, err), "morphs: missing");
    morph.indices = NULL;
    CHECK_REFUSED(mmd_mesh_new(&good, err), "morph 0: indices: missing");
    morph.indices = bones;
    morph.values = NULL;
    CHECK_REFUSED(mmd_mesh_new(&good, err), "morph 0: values: missing");
    morph.values = offset;
    morph.kind = (mmd_morph_kind)-1;
    CHECK_REFUSED(mmd_mesh_new(&good, err), "morph 0: kind -1 of 11");
}

static void skinning_without_an_array_or_by_no_method_is_refused(void)
{
    mmd_model *model = sample_model();
    mmd_mesh *mesh = mmd_mesh_of_model(model, NULL);
    float *matrices = calloc(16 * model->bone_count, sizeof *matrices);
    float *positions = malloc(3 * model->vertex_count * sizeof *positions);
    if (!CHECK(mesh && matrices && positions))
        return;
    const mmd_skin_job good = {.mesh = mesh,
                               .frame_count = 1,
                               .bone_count = model->bone_count,
                               .matrices = matrices,
                               .matrix_frames = 1,
                               .positions = positions};
    CHECK(mmd_skin(&good, NULL, NULL));
    CHECK_REFUSED(mmd_skin(NULL, NULL, err), "job: missing");
    mmd_skin_job job = good;
    job.mesh = NULL;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "mesh: missing");
    job = good;
    job.matrices = NULL;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "bone_matrices: missing");
    job = good;
    job.positions = NULL;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "positions: missing");
    job = good;
    job.sdef_blend = (mmd_sdef_blend)9;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "sdef_blend: 9 of 2");
    job.sdef_blend = (mmd_sdef_blend)-1;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "sdef_blend: -1 of 2");
    job = good;
    job.method = (mmd_method)6;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "method: 6 of 6");
    job.method = (mmd_method)-1;
    CHECK_REFUSED(mmd_skin(&job, NULL, err), "method: -1 of 6");
    mmd_mesh_extras extras = {0};
    CHECK_REFUSED(mmd_mesh_variant(mesh, (mmd_method)-1, &extras, err),
                  "method: -1 needs no variant of the mesh, or is none");
    CHECK_REFUSED(mmd_mesh_variant(mesh, (mmd_method)6, &extras, err),
                  "method: 6 needs no variant of the mesh, or is none");
    free(positions);
    free(matrices);
    mmd_mesh_free(mesh);
    mmd_model_free(model);
}

static void worlds_without_an_array_are_refused(void)
{
    const mmd_rigid_body body = {.mass = 1, .size = {1}};
    const mmd_joint joint = {.body_b = -1};
    const mmd_world_desc good = {.body_count = 1,
                                 .bodies = &body,
                                 .joint_count = 1,
                                 .joints = &joint,
                                 .settings = mmd_simulation_default_settings().world};
    const double numbers[3] = {0};
    mmd_world_desc desc = good;
    desc.bodies = NULL;
    CHECK_REFUSED(mmd_world_new(NULL, err), "desc: missing");
    CHECK_REFUSED(mmd_world_new(&desc, err), "bodies: missing");
    desc = good;
    desc.joints = NULL;
    CHECK_REFUSED(mmd_world_new(&desc, err), "joints: missing");
    mmd_world *world = mmd_world_new(&good, NULL);
    if (!CHECK(world))
        return;
    CHECK_REFUSED(mmd_world_step(NULL, NULL, err), "world: missing");
    CHECK_REFUSED(mmd_world_set_state(NULL, numbers, err), "world: missing");
    CHECK_REFUSED(mmd_world_set_state(world, NULL, err), "state: missing");
    CHECK_REFUSED(mmd_world_apply_impulse(NULL, 0, numbers, numbers, err), "world: missing");
    CHECK_REFUSED(mmd_world_apply_impulse(world, 0, NULL, numbers, err), "impulse: missing");
    CHECK_REFUSED(mmd_world_apply_impulse(world, 0, numbers, NULL, err), "torque: missing");
    CHECK_REFUSED(mmd_world_load(NULL, numbers, 8, err), "world: missing");
    CHECK_REFUSED(mmd_world_load(world, NULL, 8, err), "bytes: missing");
    CHECK_REFUSED(mmd_world_load(world, numbers, 8, err), "state: not valid for this world");
    CHECK(mmd_world_step(world, NULL, NULL));
    mmd_world_state(world, NULL);
    mmd_world_strain(world, NULL);
    mmd_world_free(world);
}

static void simulations_without_an_array_or_a_frame_are_refused(void)
{
    mmd_model *model = sample_model();
    mmd_rig *rig = mmd_rig_new(model, NULL);
    float *matrices = malloc(16 * model->bone_count * sizeof *matrices);
    float *weights = malloc(model->morph_count * sizeof *weights);
    const mmd_simulation_model one = {.rig = rig}, none = {0}, two[] = {one, none};
    mmd_simulation *simulation = mmd_simulation_new(&one, 1, true, NULL, NULL);
    const mmd_pose_job rest = {.frame_count = 1};
    const mmd_simulation_target target = {.job = &rest}, nowhere = {0};
    size_t no_steps = 0;
    if (!CHECK(simulation && matrices && weights))
        return;
    CHECK_REFUSED(mmd_simulation_new(NULL, 1, true, NULL, err), "models: missing");
    CHECK_REFUSED(mmd_simulation_new(&one, 0, true, NULL, err), "0 models, expected 1 to 1000");
    CHECK_REFUSED(mmd_simulation_new(&none, 1, true, NULL, err), "rig: missing");
    CHECK_REFUSED(mmd_simulation_new(two, 2, true, NULL, err), "model 1: rig: missing");
    CHECK_REFUSED(mmd_simulation_check(NULL, NULL, 0, err), "simulation: missing");
    CHECK_REFUSED(mmd_simulation_check(simulation, NULL, 1, err), "frames: missing");
    CHECK_REFUSED(mmd_simulation_seek(NULL, 0, NULL, err), "simulation: missing");
    CHECK_REFUSED(mmd_simulation_seek(simulation, NAN, NULL, err), "frame is NaN");
    CHECK_REFUSED(mmd_simulation_pose(simulation, 0, matrices, weights, err),
                  "the simulation has not arrived at a frame");
    CHECK(mmd_simulation_seek(simulation, 1, NULL, NULL));
    CHECK_REFUSED(mmd_simulation_pose(NULL, 0, matrices, weights, err), "simulation: missing");
    CHECK_REFUSED(mmd_simulation_pose(simulation, 1, matrices, weights, err), "model: 1 of 1");
    CHECK_REFUSED(mmd_simulation_pose(simulation, 0, NULL, weights, err), "matrices: missing");
    CHECK_REFUSED(mmd_simulation_pose(simulation, 0, matrices, NULL, err),
                  "morph_weights: missing");
    CHECK(mmd_simulation_pose(simulation, 0, matrices, weights, NULL));
    CHECK_NEAR(mmd_simulation_frame(simulation), 1, 0);
    CHECK_REFUSED(mmd_simulation_advance(NULL, NULL, err), "simulation: missing");
    CHECK_REFUSED(mmd_simulation_advance(simulation, NULL, err),
                  "there are no targets to advance to");
    CHECK_REFUSED(mmd_simulation_set_targets(NULL, &target, NULL, 1, err), "simulation: missing");
    CHECK_REFUSED(mmd_simulation_set_targets(simulation, NULL, NULL, 1, err), "targets: missing");
    CHECK_REFUSED(mmd_simulation_set_targets(simulation, &nowhere, NULL, 1, err),
                  "it has no motion and needs a pose");
    const mmd_pose_job nothing = {.translations = matrices};
    CHECK_REFUSED(mmd_simulation_set_targets(simulation, &(mmd_simulation_target){.job = &nothing},
                                             NULL, 1, err),
                  "a pose of 0 frames, expected 1");
    mmd_simulation_settings settings = mmd_simulation_default_settings();
    settings.gravity.rows = (const double[]){0, 0, 0};
    CHECK_REFUSED(mmd_simulation_new(&one, 1, true, &settings, err),
                  "gravity: 0 rows, expected at least 1");
    CHECK(mmd_simulation_set_targets(simulation, &target, NULL, 1, NULL));
    CHECK_REFUSED(mmd_simulation_pose(simulation, 0, matrices, weights, err),
                  "the simulation has not arrived at a frame");
    mmd_error stopped = {0};
    CHECK(!mmd_simulation_advance(simulation, &no_steps, &stopped));
    CHECK_INT(stopped.code, MMD_E_INTERRUPTED);
    CHECK(mmd_simulation_advance(simulation, NULL, NULL));
    CHECK(mmd_simulation_pose(simulation, 0, matrices, weights, NULL));
    CHECK_REFUSED(mmd_simulation_load(NULL, matrices, 8, err), "simulation: missing");
    CHECK_REFUSED(mmd_simulation_load(simulation, NULL, 8, err), "bytes: missing");
    mmd_simulation_free(simulation);
    free(weights);
    free(matrices);
    mmd_rig_free(rig);
    mmd_model_free(model);
}

static void the_version_is_the_same_as_text_and_as_a_number(void)
{
    char text[32];
    uint32_t number = mmd_version_number();
    snprintf(text, sizeof text, "%u.%u.%u", (unsigned)(number / 1000000),
             (unsigned)(number / 1000 % 1000), (unsigned)(number % 1000));
    CHECK(strcmp(text, mmd_version()) == 0);
    CHECK_INT(number, MMDSKIN_VERSION_NUMBER);
}

void public_tests(void)
{
    RUN(worlds_without_an_array_are_refused);
    RUN(simulations_without_an_array_or_a_frame_are_refused);
    RUN(the_version_is_the_same_as_text_and_as_a_number);
    RUN(arguments_that_are_missing_are_refused);
    RUN(functions_without_an_error_accept_null);
    RUN(motions_without_an_array_are_made_or_refused);
    RUN(models_without_an_array_are_made_or_refused);
    RUN(poses_without_an_array_are_refused);
    RUN(meshes_without_an_array_are_refused);
    RUN(skinning_without_an_array_or_by_no_method_is_refused);
}
