/* SPDX-License-Identifier: MIT */
/* The input is edits of a stored simulation, then the script of its scene: a state that is taken
   can be continued, and stored again. */
#include "scene.h"

#include <float.h>
#include <string.h>

enum { EDITS = 6, EDIT = 4, EARLY = 2, LATE = 3, FEW = 4 };
enum { TOUCHING = 1, TARGETS = 2, SHORT = 4 };

/* Puts a number that is hard on arithmetic, or a hard integer, over the bytes, or flips some. */
static void edit(uint8_t *bytes, size_t size, const uint8_t *how)
{
    static const double doubles[] = {
        0,        -0.0, 1,    -1,    1e-300, 1e300, -1e300, DBL_MAX,
        INFINITY, NAN,  1e10, -1e10, 5e-324, 1e15,  0.5,    4503599627370497.0};
    static const uint64_t integers[] = {0, 1,  2,  3,  4,   5,          7,          8,
                                        9, 10, 11, 64, 100, UINT32_MAX, UINT64_MAX, 1ull << 63};
    size_t at = (size_t)(how[0] | how[1] << 8);
    at = how[2] & 64 ? at % (size + 1) : at * 8 % (size + 1);
    size_t left = size - at, room = left < 8 ? left : 8;
    if (how[2] & 128)
        memcpy(bytes + at, &integers[how[3] % 16], room);
    else if (how[3] < 16)
        memcpy(bytes + at, &doubles[how[3]], room);
    else if (left)
        bytes[at] ^= how[3];
}

/* Bodies of moderate size, close to each other. */
static void make_touch(scene *scene)
{
    for (size_t i = 0; i < scene->model.rigid_body_count; i++) {
        mmd_rigid_body *body = &scene->bodies[i];
        for (size_t k = 0; k < 3; k++) {
            body->position[k] = i % 3 == k ? 0.3f : 0;
            if (!(body->size[k] > 0.1f && body->size[k] < 5))
                body->size[k] = 1;
        }
        body->mask = 0xFFFF;
        body->group = (uint8_t)(i % 4);
        body->mass = 1;
    }
}

static void advance(mmd_simulation *simulation, double seconds)
{
    float rotations[4 * BONES];
    for (size_t i = 0; i < 4 * BONES; i++)
        rotations[i] = i % 4 == 3;
    mmd_pose_job job = {.frame_count = 1,
                        .ik = true,
                        .rotations = rotations,
                        .rotation_frames = 1,
                        .translation_frames = 1};
    if (!mmd_simulation_set_targets(simulation, &(mmd_simulation_target){&job, NULL},
                                    (const double[]){0, -98, seconds}, seconds, NULL))
        return;
    for (size_t steps = 0; !mmd_simulation_advance(simulation, &steps, NULL); steps = 9)
        continue;
    mmd_simulation_pose(simulation, 0, matrices[0], sliders[0], NULL);
}

static uint8_t *stored(const mmd_simulation *simulation, size_t *size)
{
    *size = mmd_simulation_save(simulation, NULL);
    uint8_t *bytes = malloc(*size + 1);
    PROMISE(bytes && mmd_simulation_save(simulation, bytes) == *size);
    return bytes;
}

static void continue_from(mmd_simulation *simulation, const mmd_rig *rig, bool targets)
{
    double strain[2 * JOINTS];
    mmd_simulation_strain(simulation, strain);
    for (int i = EARLY; i < LATE; i++) {
        if (targets)
            advance(simulation, (i - EARLY) * 0.05);
        else
            pose_at(simulation, 0, i, 0);
        check_pose(rig, 0);
    }
}

/* `one` stores its state; `other` takes it, edited. */
static void exchange(mmd_simulation *one, mmd_simulation *other, const mmd_rig *rig,
                     const uint8_t *edits, uint8_t way)
{
    size_t size, again;
    if (way & TARGETS) {
        advance(one, 0.1);
        advance(one, 0.1);
    } else
        pose_at(one, 0, EARLY, 0);
    uint8_t *bytes = stored(one, &size);
    for (size_t i = 0; i < EDITS; i++)
        if (edits[i * EDIT + 2] & 32)
            edit(bytes, size, edits + i * EDIT);
    if (way & SHORT && size > 8)
        size -= 8;
    uint8_t *exact = malloc(size + !size); /* so that reading past the end is seen */
    memcpy(exact, bytes, size);
    if (mmd_simulation_load(other, exact, size, NULL)) {
        continue_from(other, rig, way & TARGETS);
        uint8_t *more = stored(other, &again);
        PROMISE(mmd_simulation_load(one, more, again, NULL));
        free(more);
    }
    free(bytes), free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static scene scene;
    uint8_t edits[EDITS * EDIT] = {0};
    size_t head = size < sizeof edits ? size : sizeof edits;
    if (head)
        memcpy(edits, data, head);
    script s = {data + head, size - head, 0};
    uint8_t way = take(&s);
    take_scene(&s, &scene, FEW, FEW, FEW);
    if (way & TOUCHING)
        make_touch(&scene);
    mmd_rig *rig = mmd_rig_new(&scene.model, NULL);
    mmd_motion *motion = take_motion(&s), *played = way & TARGETS ? NULL : motion;
    mmd_simulation_settings physics = take_physics(&s);
    PROMISE(rig);
    mmd_simulation *one =
        mmd_simulation_new(&(mmd_simulation_model){rig, played, NULL, 0}, 1, true, &physics, NULL);
    mmd_simulation *other =
        mmd_simulation_new(&(mmd_simulation_model){rig, played, NULL, 0}, 1, true, &physics, NULL);
    if (one && other)
        exchange(one, other, rig, edits, way);
    mmd_simulation_free(one), mmd_simulation_free(other);
    mmd_motion_free(motion);
    mmd_rig_free(rig);
    return 0;
}
