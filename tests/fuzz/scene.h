/* SPDX-License-Identifier: MIT */
/* A small model with bodies, a motion for it and settings of physics, from a script. */
#ifndef SCENE_H
#define SCENE_H

#include "bodies.h"
#include "core/base/bytes.h"
#include "mmdskin.h"
#include "target.h"

enum { BONES = 8, BODIES = 10, JOINTS = 12, MORPHS = 3, KEYS = 4 };

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

/* What models and motions may hold. */
static inline float take_limited_number(script *s)
{
    return fmaxf(-MMD_BYTES_LIMIT, fminf(take_number(s), MMD_BYTES_LIMIT));
}

static inline void take_limited_numbers(script *s, float *numbers, size_t count)
{
    while (count-- > 0)
        *numbers++ = take_limited_number(s);
}

static inline mmd_bone take_bone(script *s, scene *scene, size_t index)
{
    static const uint16_t flags[] = {0, MMD_BONE_AFTER_PHYSICS, MMD_BONE_APPEND_ROTATION,
                                     MMD_BONE_APPEND_TRANSLATION | MMD_BONE_AFTER_PHYSICS};
    scene->names[index][0] = (char)('a' + index);
    mmd_bone bone = {.name = {scene->names[index], 1},
                     .parent = (int32_t)(take(s) % (index + 1)) - 1,
                     .flags = flags[take(s) % 4],
                     .append_source = (int32_t)(take(s) % (index + 1)) - 1,
                     .append_ratio = take_limited_number(s)};
    take_limited_numbers(s, bone.position, 3);
    return bone;
}

/* Mostly `few` bodies and joints; now and then `bodies` and `joints`. */
static inline void take_scene(script *s, scene *scene, size_t few, size_t bodies, size_t joints)
{
    mmd_model *model = &scene->model;
    *model = (mmd_model){.bone_count = take(s) % (BONES + 1),
                         .rigid_body_count = take_count(s, few, bodies),
                         .joint_count = take_count(s, few, joints),
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
        take_limited_numbers(s, scene->values[i], 7);
        scene->morphs[i] = (mmd_morph){.name = {"m", 1},
                                       .kind = MMD_MORPH_IMPULSE,
                                       .offset_count = 1,
                                       .indices = &scene->indices[i],
                                       .values = scene->values[i]};
    }
}

static inline mmd_motion *take_motion(script *s)
{
    uint32_t frames[KEYS];
    float moves[2][3 * KEYS], weights[KEYS];
    uint8_t physics[KEYS];
    for (uint32_t k = 0; k < KEYS; k++) {
        frames[k] = 4 * k + 1;
        weights[k] = take_limited_number(s);
        physics[k] = take(s) % 2;
    }
    take_limited_numbers(s, moves[0], 3 * KEYS);
    take_limited_numbers(s, moves[1], 3 * KEYS);
    mmd_bone_track bones[] = {
        {.name = {"a", 1}, .key_count = KEYS, .frames = frames, .translations = moves[0]},
        {.name = {"c", 1},
         .key_count = KEYS,
         .frames = frames,
         .translations = moves[1],
         .physics = physics}};
    mmd_morph_track morph = {{"m", 1}, KEYS, frames, weights};
    mmd_motion tracks = {.bone_track_count = 2,
                         .bone_tracks = bones,
                         .morph_track_count = 1,
                         .morph_tracks = &morph};
    mmd_motion *motion = mmd_motion_new(&tracks, NULL);
    PROMISE(motion);
    return motion;
}

static inline mmd_simulation_settings take_physics(script *s)
{
    static const double rates[] = {60, 60, 30, 100};
    static const double gravity[][3] = {{0, -98, 0}, {50, 0, 0}, {1e6, -1e6, 1e6}, {0, 0, 0}};
    uint8_t bits = take(s);
    mmd_simulation_settings physics = mmd_simulation_default_settings();
    physics.world.hz = rates[take(s) % 4];
    physics.settle = bits & 1 ? 2 : 0;
    physics.world.ground = bits & 2;
    physics.world.ground_height = take_coordinate(s);
    physics.teleport = bits & 4 ? 3 : 0;
    physics.gravity.noise = bits & 64 ? 50 : 0;
    physics.gravity.rows = bits & 128 ? gravity[0] : NULL;
    physics.gravity.row_count = sizeof gravity / sizeof *gravity;
    physics.world.additional_damping = bits & 8;
    physics.world.collide_connected = bits & 16;
    physics.has_start = bits & 32;
    physics.start = 3;
    return physics;
}

/* Results, of two simulations that are compared. */
static float matrices[2][16 * BONES], sliders[2][MORPHS];

static inline void pose_at(mmd_simulation *simulation, size_t model, double frame, size_t of)
{
    size_t steps = 0; /* first none, then one at a time */
    while (!mmd_simulation_seek(simulation, frame, &steps, NULL))
        steps = 1;
    mmd_simulation_pose(simulation, model, matrices[of], sliders[of], NULL);
}

static inline void check_pose(const mmd_rig *rig, size_t of)
{
    for (size_t i = 0; i < 16 * rig->bone_count; i++)
        PROMISE(isfinite(matrices[of][i]));
}

#endif
