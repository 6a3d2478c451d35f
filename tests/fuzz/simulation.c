/* SPDX-License-Identifier: MIT */
/* The input is a script of a model with bodies, a motion, settings, and frames in any order. Poses
   are finite, and a frame does not depend on how it is reached. */
#include "scene.h"

#include <string.h>

enum { POSES = 2, FRAMES = 4, FEW = 4, MODELS = 2 };

static void check_reports(const mmd_simulation *simulation, const mmd_model *model, size_t models)
{
    double strain[2 * JOINTS * MODELS];
    char text[256];
    mmd_simulation_strain(simulation, strain);
    for (size_t i = 0; i < 2 * model->joint_count * models; i++)
        PROMISE(strain[i] >= 0);
    for (size_t i = 0; mmd_simulation_note(simulation, i, text); i++)
        PROMISE(i < 16 * models && text[0]);
}

/* One simulation can continue from the saved state of another. */
static void copy_state(const mmd_simulation *one, mmd_simulation *other)
{
    static uint8_t bytes[1 << 18];
    size_t size = mmd_simulation_save(one, NULL);
    PROMISE(size <= sizeof bytes && mmd_simulation_save(one, bytes) == size);
    PROMISE(mmd_simulation_load(other, bytes, size, NULL));
}

/* The model with its motion, and now and then beside it once more at rest, turned. */
static const double place[7] = {1, 0.5, 0, 0, 3, 0, 4};

static void seek(const mmd_simulation_model *models, size_t count,
                 const mmd_simulation_settings *physics, script *s)
{
    const mmd_rig *rig = models[0].rig;
    mmd_simulation *one = mmd_simulation_new(models, count, true, physics, NULL);
    for (size_t i = 0; one && i < POSES; i++) {
        double frame = (double)(take(s) % (4 * FRAMES)) / 4;
        mmd_simulation *other = mmd_simulation_new(models, count, true, physics, NULL);
        PROMISE(other);
        if (i == 1)
            copy_state(one, other);
        for (size_t m = 0; m < count; m++) {
            pose_at(one, m, frame, 0);
            pose_at(other, m, frame, 1);
            check_pose(rig, 0);
            PROMISE(memcmp(matrices[0], matrices[1], 16 * rig->bone_count * sizeof(float)) == 0);
        }
        check_reports(one, rig->model, count);
        mmd_simulation_free(other);
    }
    mmd_simulation_free(one);
}

static void step(const mmd_simulation_model *models, size_t count,
                 const mmd_simulation_settings *physics, script *s)
{
    float translations[3 * BONES], rotations[4 * BONES];
    uint8_t switches[BONES];
    mmd_simulation *simulation = mmd_simulation_new(models, count, true, physics, NULL);
    for (size_t i = 0; simulation && i < POSES; i++) {
        mmd_pose_job job = {.frame_count = 1,
                            .ik = true,
                            .translations = translations,
                            .rotations = rotations,
                            .translation_frames = 1,
                            .rotation_frames = 1};
        const mmd_simulation_target targets[MODELS] = {{&job, switches}, {&job, NULL}};
        take_numbers(s, translations, 3 * BONES);
        take_numbers(s, rotations, 4 * BONES);
        for (size_t k = 0; k < BONES; k++)
            switches[k] = (i + k) % 3 > 0;
        float numbers[3];
        take_numbers(s, numbers, 3);
        const double gravity[] = {(double)numbers[0], (double)numbers[1], (double)numbers[2]};
        if (!mmd_simulation_set_targets(simulation, targets, i % 3 ? gravity : NULL,
                                        (double)take(s) / 1024, NULL))
            continue;
        for (size_t steps = 0; !mmd_simulation_advance(simulation, &steps, NULL); steps = 1)
            continue;
        for (size_t m = 0; m < count; m++) {
            mmd_simulation_pose(simulation, m, matrices[0], sliders[0], NULL);
            check_pose(models[0].rig, 0);
        }
    }
    mmd_simulation_free(simulation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static scene scene;
    script s = {data, size, 0};
    size_t count = size > 0 && data[size - 1] % 4 == 1 ? MODELS : 1;
    take_scene(&s, &scene, FEW, BODIES, JOINTS);
    mmd_rig *rig = mmd_rig_new(&scene.model, NULL);
    mmd_motion *motion = take_motion(&s);
    PROMISE(rig);
    mmd_simulation_settings physics = take_physics(&s);
    seek((mmd_simulation_model[]){{rig, motion, NULL, 0}, {rig, NULL, place, 2.5}}, count, &physics,
         &s);
    step((mmd_simulation_model[]){{rig, NULL, NULL, 0}, {rig, NULL, place, 0}}, count, &physics,
         &s);
    mmd_motion_free(motion);
    mmd_rig_free(rig);
    return 0;
}
