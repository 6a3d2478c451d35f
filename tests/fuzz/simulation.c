/* SPDX-License-Identifier: MIT */
/* The input is a script of a model with bodies, a motion of it, settings, and frames that are asked
   for in any order. Poses are finite, and a frame is the same however it was come to. */
#include "core/physics/simulation.h"

#include "bodies.h"
#include "target.h"

#include <string.h>

enum { BONES = 8, BODIES = 10, JOINTS = 12, MORPHS = 3, KEYS = 4, ASKED = 3, FRAMES = 16 };

typedef struct scene {
    mmd_model model;
    mmd_bone bones[BONES];
    mmd_rigid_body bodies[BODIES];
    mmd_joint joints[JOINTS];
    mmd_morph morphs[MORPHS];
    int32_t indices[MORPHS];
    float values[MORPHS][7];
    char names[BONES][2];
} scene;

static mmd_bone take_bone(script *s, scene *scene, size_t index)
{
    static const uint16_t flags[] = {0, MMD_BONE_AFTER_PHYSICS, MMD_BONE_APPEND_ROTATION,
                                     MMD_BONE_APPEND_TRANSLATION | MMD_BONE_AFTER_PHYSICS};
    scene->names[index][0] = (char)('a' + index);
    mmd_bone bone = {.name = {scene->names[index], 1},
                     .parent = (int32_t)(take(s) % (index + 1)) - 1,
                     .flags = flags[take(s) % 4],
                     .append_source = (int32_t)(take(s) % (index + 1)) - 1,
                     .append_ratio = take_number(s)};
    take_numbers(s, bone.position, 3);
    return bone;
}

static void take_scene(script *s, scene *scene)
{
    mmd_model *model = &scene->model;
    *model = (mmd_model){.bone_count = take(s) % (BONES + 1),
                         .rigid_body_count = take(s) % (BODIES + 1),
                         .joint_count = take(s) % (JOINTS + 1),
                         .bones = scene->bones,
                         .rigid_bodies = scene->bodies,
                         .joints = scene->joints,
                         .morphs = scene->morphs};
    model->morph_count = model->rigid_body_count ? MORPHS : 0;
    for (size_t i = 0; i < model->bone_count; i++)
        scene->bones[i] = take_bone(s, scene, i);
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        scene->bodies[i] = take_body(s);
        scene->bodies[i].bone = (int32_t)(take(s) % (model->bone_count + 1)) - 1;
    }
    for (size_t i = 0; i < model->joint_count; i++)
        scene->joints[i] = take_joint(s, model->rigid_body_count);
    for (size_t i = 0; i < model->morph_count; i++) {
        scene->indices[i] = (int32_t)(take(s) % model->rigid_body_count);
        take_numbers(s, scene->values[i], 7);
        scene->morphs[i] = (mmd_morph){.name = {"m", 1},
                                       .kind = MMD_MORPH_IMPULSE,
                                       .offset_count = 1,
                                       .indices = &scene->indices[i],
                                       .values = scene->values[i]};
    }
}

static mmd_motion *take_motion(script *s)
{
    uint32_t frames[KEYS];
    float moves[2][3 * KEYS], weights[KEYS];
    uint8_t physics[KEYS];
    for (uint32_t k = 0; k < KEYS; k++) {
        frames[k] = 4 * k + 1;
        weights[k] = take_number(s);
        physics[k] = take(s) % 2;
    }
    take_numbers(s, moves[0], 3 * KEYS);
    take_numbers(s, moves[1], 3 * KEYS);
    mmd_bone_track bones[] = {{{"a", 1}, KEYS, frames, moves[0], NULL, NULL, NULL},
                              {{"c", 1}, KEYS, frames, moves[1], NULL, NULL, physics}};
    mmd_morph_track morph = {{"m", 1}, KEYS, frames, weights};
    mmd_motion tracks = {.bone_track_count = 2,
                         .bone_tracks = bones,
                         .morph_track_count = 1,
                         .morph_tracks = &morph};
    mmd_motion *motion = mmd_motion_new(&tracks, NULL);
    PROMISE(motion);
    return motion;
}

static mmd_physics take_physics(script *s)
{
    static const double rates[] = {60, 60, 30, 100};
    uint8_t bits = take(s);
    mmd_physics physics = mmd_physics_default;
    physics.world.hz = rates[take(s) % 4];
    physics.settle = bits & 1 ? 2 : 0;
    physics.world.ground = bits & 2;
    physics.world.ground_height = take_place(s);
    physics.teleport = bits & 4 ? 3 : 0;
    physics.world.damping_extra = bits & 8;
    physics.world.joined_collide = bits & 16;
    physics.starts = bits & 32;
    physics.start = 3;
    return physics;
}

static float matrices[2][16 * BONES], sliders[2][MORPHS];

static void pose_at(mmd_simulation *simulation, double frame, size_t of)
{
    size_t steps = 0; /* as with signals: nothing, then one step at a time */
    while (!mmd_simulation_seek(simulation, frame, &steps))
        steps = 1;
    mmd_simulation_pose(simulation, frame, matrices[of], sliders[of]);
}

static void check_pose(const mmd_rig *rig, size_t of)
{
    for (size_t i = 0; i < 16 * rig->bone_count; i++)
        PROMISE(isfinite(matrices[of][i]));
}

static void check_tells(const mmd_simulation *simulation, const mmd_model *model)
{
    double strain[2 * JOINTS];
    char text[256];
    mmd_simulation_strain(simulation, strain);
    for (size_t i = 0; i < 2 * model->joint_count; i++)
        PROMISE(strain[i] >= 0);
    for (size_t i = 0; mmd_simulation_note(simulation, i, text); i++)
        PROMISE(i < 16 && text[0]);
}

/* What was saved by one can be gone on with by the other. */
static void pass_on(const mmd_simulation *one, mmd_simulation *other)
{
    static uint8_t bytes[1 << 17];
    size_t size = mmd_simulation_save(one, NULL);
    PROMISE(size <= sizeof bytes && mmd_simulation_save(one, bytes) == size);
    PROMISE(mmd_simulation_load(other, bytes, size, NULL));
}

static void seek(const mmd_rig *rig, const mmd_motion *motion, const mmd_physics *physics,
                 script *s)
{
    mmd_simulation *one = mmd_simulation_new(rig, motion, true, physics, NULL);
    for (size_t i = 0; one && i < ASKED; i++) {
        double frame = (double)(take(s) % (4 * FRAMES)) / 4;
        mmd_simulation *other = mmd_simulation_new(rig, motion, true, physics, NULL);
        PROMISE(other);
        if (i == 1)
            pass_on(one, other);
        pose_at(one, frame, 0);
        pose_at(other, frame, 1);
        check_pose(rig, 0);
        PROMISE(memcmp(matrices[0], matrices[1], 16 * rig->bone_count * sizeof(float)) == 0);
        check_tells(one, rig->model);
        mmd_simulation_free(other);
    }
    mmd_simulation_free(one);
}

static void walk(const mmd_rig *rig, const mmd_physics *physics, script *s)
{
    float moves[3 * BONES], turns[4 * BONES];
    uint8_t switches[BONES];
    mmd_simulation *simulation = mmd_simulation_new(rig, NULL, true, physics, NULL);
    for (size_t i = 0; simulation && i < ASKED; i++) {
        mmd_pose_job job = {.frame_count = 1,
                            .ik = true,
                            .translations = moves,
                            .rotations = turns,
                            .translation_frames = 1,
                            .rotation_frames = 1};
        take_numbers(s, moves, 3 * BONES);
        take_numbers(s, turns, 4 * BONES);
        for (size_t k = 0; k < BONES; k++)
            switches[k] = (i + k) % 3 > 0;
        if (!mmd_simulation_aim(simulation, &job, switches, (double)take(s) / 256, NULL))
            continue;
        for (size_t steps = 0; !mmd_simulation_walk(simulation, &steps); steps = 1)
            continue;
        mmd_simulation_pose_given(simulation, matrices[0], sliders[0]);
        check_pose(rig, 0);
    }
    mmd_simulation_free(simulation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static scene scene;
    script s = {data, size, 0};
    take_scene(&s, &scene);
    mmd_rig *rig = mmd_rig_new(&scene.model, NULL);
    mmd_motion *motion = take_motion(&s);
    PROMISE(rig);
    mmd_physics physics = take_physics(&s);
    seek(rig, motion, &physics, &s);
    walk(rig, &physics, &s);
    mmd_motion_free(motion);
    mmd_rig_free(rig);
    return 0;
}
