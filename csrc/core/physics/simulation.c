/* SPDX-License-Identifier: MIT */
#include "core/physics/simulation.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/physics/seats.h"
#include "core/physics/vector.h"
#include "core/pose/pose.h"

#include <math.h>

enum { FRAMES_PER_SECOND = 30 };

const mmd_physics mmd_physics_default = {.gravity = {0, -98, 0},
                                         .hz = 60,
                                         .iterations = 10,
                                         .ground = true,
                                         .damping_extra = true,
                                         .joined_collide = true,
                                         .settle = 60};

struct mmd_simulation {
    mmd_arena arena;
    const mmd_rig *rig;
    mmd_physics physics;
    double start;
    bool ik;
    mmd_world *world;
    mmd_poser *poser;
    mmd_seats seats;

    /* Steps are counted from the start; those before it are held there. `stands` is of the step,
       `stands_before` of the one before, `shown` of the frame that is posed. */
    bool begun;
    double step;
    mmd_stand *stands, *stands_before, *shown;
    bool *held;      /* bodies that go where their bones carry them */
    size_t *islands; /* bodies of one number are joined, by bodies that do not follow bones */

    /* The frame at which the bones before physics have been placed, if any, and what it takes to
       place all of them and come back. */
    bool placed;
    double placed_frame;
    float *sliders;
    mmd_posed_bone *kept;
    bool *within;
};

static double frame_of(const mmd_simulation *simulation, double step)
{
    return simulation->start + fmax(step, 0) * FRAMES_PER_SECOND / simulation->physics.hz;
}

/* The first step at or after a frame. */
static double step_of(const mmd_simulation *simulation, double frame)
{
    double step = ceil((frame - simulation->start) * simulation->physics.hz / FRAMES_PER_SECOND);
    while (step > 0 && frame_of(simulation, step - 1) >= frame)
        step--;
    while (frame_of(simulation, step) < frame)
        step++;
    return step;
}

static bool allocate(mmd_simulation *simulation)
{
    mmd_arena *arena = &simulation->arena;
    size_t bodies = mmd_world_body_count(simulation->world), bones = simulation->rig->bone_count;
    simulation->stands = mmd_arena_alloc(arena, bodies, sizeof *simulation->stands);
    simulation->stands_before = mmd_arena_alloc(arena, bodies, sizeof *simulation->stands_before);
    simulation->shown = mmd_arena_alloc(arena, bodies, sizeof *simulation->shown);
    simulation->held = mmd_arena_alloc(arena, bodies, sizeof *simulation->held);
    simulation->islands = mmd_arena_alloc(arena, bodies, sizeof *simulation->islands);
    simulation->within = mmd_arena_alloc(arena, bodies, sizeof *simulation->within);
    simulation->sliders =
        mmd_arena_alloc(arena, simulation->rig->morph_count, sizeof *simulation->sliders);
    simulation->kept = mmd_arena_alloc(arena, bones, sizeof *simulation->kept);
    return simulation->stands && simulation->stands_before && simulation->shown &&
           simulation->held && simulation->islands && simulation->within && simulation->sliders &&
           simulation->kept &&
           mmd_seats_init(arena, simulation->rig, mmd_world_bodies(simulation->world),
                          &simulation->seats);
}

static size_t island_of(size_t *islands, size_t body)
{
    while (islands[body] != body)
        body = islands[body] = islands[islands[body]];
    return body;
}

static void find_islands(const mmd_model *model, size_t *islands)
{
    for (size_t i = 0; i < model->rigid_body_count; i++)
        islands[i] = i;
    for (size_t i = 0; i < model->joint_count; i++) {
        int32_t a = model->joints[i].body_a, b = model->joints[i].body_b;
        if (a >= 0 && b >= 0 && model->rigid_bodies[a].mode != MMD_FOLLOWS_BONE &&
            model->rigid_bodies[b].mode != MMD_FOLLOWS_BONE)
            islands[island_of(islands, (size_t)a)] = island_of(islands, (size_t)b);
    }
    for (size_t i = 0; i < model->rigid_body_count; i++)
        islands[i] = island_of(islands, i);
}

static bool check_settings(const mmd_physics *physics, mmd_error *err)
{
    if (physics->starts && !(fabs(physics->start) <= UINT32_MAX))
        return mmd_fail(err, MMD_E_ARGUMENT, "start: %g, expected a frame", physics->start);
    if (physics->settle < 0 || physics->settle > MMD_SIMULATION_SETTLE)
        return mmd_fail(err, MMD_E_ARGUMENT, "settle: %d steps, expected 0 to %d", physics->settle,
                        MMD_SIMULATION_SETTLE);
    if (!(physics->teleport >= 0))
        return mmd_fail(err, MMD_E_ARGUMENT, "teleport: %g, expected at least 0",
                        physics->teleport);
    return true;
}

static bool build(mmd_simulation *simulation, const mmd_motion *motion, mmd_error *err)
{
    const mmd_model *model = simulation->rig->model;
    const mmd_physics *physics = &simulation->physics;
    mmd_world_desc desc = {.body_count = model->rigid_body_count,
                           .joint_count = model->joint_count,
                           .bodies = model->rigid_bodies,
                           .joints = model->joints,
                           .hz = physics->hz,
                           .iterations = physics->iterations,
                           .ground = physics->ground,
                           .ground_height = physics->ground_height,
                           .contacts = true,
                           .damping_extra = physics->damping_extra,
                           .joined_collide = physics->joined_collide};
    mmd_copy3(physics->gravity, desc.gravity);
    if (!check_settings(physics, err))
        return false;
    simulation->world = mmd_world_new(&desc, err);
    if (!simulation->world)
        return false;
    simulation->poser = mmd_poser_new(simulation->rig, motion, err);
    if (!simulation->poser)
        return false;
    if (!allocate(simulation))
        return mmd_fail_memory(err);
    find_islands(model, simulation->islands);
    return true;
}

mmd_simulation *mmd_simulation_new(const mmd_rig *rig, const mmd_motion *motion, bool ik,
                                   const mmd_physics *physics, mmd_error *err)
{
    mmd_simulation *simulation = mmd_owner_new(sizeof *simulation);
    if (!simulation) {
        mmd_fail_memory(err);
        return NULL;
    }
    simulation->rig = rig;
    simulation->physics = *physics;
    simulation->ik = ik;
    simulation->start = physics->starts ? physics->start : motion ? motion->first_frame : 0;
    if (build(simulation, motion, err))
        return simulation;
    mmd_simulation_free(simulation);
    return NULL;
}

void mmd_simulation_free(mmd_simulation *simulation)
{
    if (simulation) {
        mmd_world_free(simulation->world);
        mmd_poser_free(simulation->poser);
    }
    mmd_owner_free(simulation);
}

bool mmd_simulation_check(const mmd_simulation *simulation, const double *frames, size_t count,
                          mmd_error *err)
{
    for (size_t f = 0; f < count; f++) {
        if (!isfinite(frames[f]))
            return mmd_fail(err, MMD_E_ARGUMENT, "frame: number %zu is %s", f,
                            mmd_not_finite_name(frames[f]));
        if (frames[f] > simulation->start + MMD_SIMULATION_FRAMES)
            return mmd_fail(err, MMD_E_ARGUMENT, "frame: number %zu is %g, limit %g with physics",
                            f, frames[f], simulation->start + MMD_SIMULATION_FRAMES);
    }
    return true;
}

/* Bones */

static mmd_pose_job job_of(const mmd_simulation *simulation, const double *frame)
{
    return (mmd_pose_job){
        .frame_count = 1, .ik = simulation->ik, .frames = frame, .sliders = simulation->sliders};
}

static void place_bones(mmd_simulation *simulation, double frame)
{
    if (simulation->placed && simulation->placed_frame == frame)
        return;
    mmd_pose_job job = job_of(simulation, &frame);
    mmd_pose_before_physics(simulation->poser, &job, 0);
    simulation->placed = true;
    simulation->placed_frame = frame;
}

/* Where the bones of the frame carry the bodies; those are then as before physics again. */
static void find_stands(mmd_simulation *simulation, double frame, mmd_stand *stands)
{
    place_bones(simulation, frame);
    mmd_frame *bones = mmd_poser_frame(simulation->poser);
    size_t size = simulation->rig->bone_count * sizeof *simulation->kept;
    bool after = simulation->seats.on_after;
    if (after) {
        mmd_pose_job job = job_of(simulation, &frame);
        memcpy(simulation->kept, bones->bones, size);
        mmd_pose_after_physics(simulation->poser, &job);
    }
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        simulation->within[i] = mmd_seat_stand(&simulation->seats.seats[i], bones, &stands[i]);
    if (after)
        memcpy(bones->bones, simulation->kept, size);
}

/* Steps */

static void keep_stands(const mmd_simulation *simulation, mmd_stand *stands)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        mmd_copy3(bodies[i].state.position, stands[i].position);
        memcpy(stands[i].rotation, bodies[i].state.rotation, sizeof stands[i].rotation);
    }
}

static void put_body(mmd_body *body, const mmd_stand *stand)
{
    mmd_copy3(stand->position, body->state.position);
    memcpy(body->state.rotation, stand->rotation, sizeof body->state.rotation);
    mmd_body_rest(body);
    mmd_body_placed(body);
}

/* The bodies of an island, or all, go to where the bones carry them, at rest; those that nothing
   carries, or too far, stay where they are. */
static void put_bodies(mmd_simulation *simulation, const mmd_stand *stands, const size_t *island)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        if (island && simulation->islands[i] != *island)
            continue;
        if (simulation->within[i])
            put_body(&bodies[i], &stands[i]);
        else
            mmd_body_rest(&bodies[i]);
        bodies[i].lost = false;
    }
    mmd_world_forget(simulation->world);
}

static void begin(mmd_simulation *simulation)
{
    find_stands(simulation, simulation->start, simulation->shown);
    put_bodies(simulation, simulation->shown, NULL);
    keep_stands(simulation, simulation->stands);
    simulation->step = -simulation->physics.settle;
    simulation->begun = true;
}

static void take_step(mmd_simulation *simulation)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    mmd_stand *stands = simulation->stands_before;
    simulation->stands_before = simulation->stands;
    simulation->stands = stands;
    simulation->step++;
    find_stands(simulation, frame_of(simulation, simulation->step), stands);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        if (!bodies[i].follows)
            continue;
        if (simulation->within[i])
            mmd_body_follow(&bodies[i], stands[i].position, stands[i].rotation,
                            1 / simulation->physics.hz);
        else
            mmd_body_rest(&bodies[i]);
    }
    mmd_world_advance(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        if (bodies[i].lost)
            put_bodies(simulation, stands, &simulation->islands[i]);
    keep_stands(simulation, stands);
}

bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps)
{
    if (frame < simulation->start)
        return true;
    double target = step_of(simulation, frame);
    if (!simulation->begun || simulation->step > target)
        begin(simulation);
    for (; simulation->step<target && * steps> 0; --*steps)
        take_step(simulation);
    return simulation->step == target;
}

/* Where bodies stand at a frame between the last two steps. */
static void show(mmd_simulation *simulation, double frame)
{
    double last = frame_of(simulation, simulation->step);
    double share = (last - frame) * simulation->physics.hz / FRAMES_PER_SECOND;
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        const mmd_stand *to = &simulation->stands[i], *from = &simulation->stands_before[i];
        mmd_stand *shown = &simulation->shown[i];
        *shown = *to;
        if (share == 0)
            continue;
        double dot = mmd_dot3(to->rotation, from->rotation) + to->rotation[3] * from->rotation[3];
        for (int k = 0; k < 3; k++)
            shown->position[k] += share * (from->position[k] - to->position[k]);
        for (int k = 0; k < 4; k++)
            shown->rotation[k] +=
                share * ((dot < 0 ? -1 : 1) * from->rotation[k] - to->rotation[k]);
        mmd_quaternion_normalize(shown->rotation);
    }
}

void mmd_simulation_pose(mmd_simulation *simulation, double frame, float *matrices, float *sliders)
{
    const mmd_rig *rig = simulation->rig;
    mmd_seats *seats = &simulation->seats;
    mmd_frame *bones = mmd_poser_frame(simulation->poser);
    mmd_pose_job job = job_of(simulation, &frame);
    bool runs = frame >= simulation->start;
    place_bones(simulation, frame);
    simulation->placed = false;
    if (runs) {
        show(simulation, frame);
        mmd_seats_drive(seats, simulation->shown, simulation->held, bones, 0, rig->bone_count);
    }
    mmd_pose_after_physics(simulation->poser, &job);
    if (runs && seats->drives_after)
        mmd_seats_drive(seats, simulation->shown, simulation->held, bones, seats->first_after,
                        rig->bone_count);
    mmd_pose_store(simulation->poser, matrices);
    if (rig->morph_count)
        memcpy(sliders, simulation->sliders, rig->morph_count * sizeof *sliders);
}

void mmd_simulation_reset(mmd_simulation *simulation)
{
    simulation->begun = false;
}
