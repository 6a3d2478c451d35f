/* SPDX-License-Identifier: MIT */
#include "core/physics/simulation.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/physics/islands.h"
#include "core/physics/simulation_run.h"

#include <math.h>

#define SHORTEST_STEP 1e-5 /* seconds: that of most steps per second */

/* The first step at or after a frame. */
static double step_of(const mmd_simulation *simulation, double frame)
{
    double step =
        ceil((frame - simulation->start) * simulation->physics.world.hz / MMD_FRAMES_PER_SECOND);
    while (step > 0 && mmd_run_frame(simulation, step - 1) >= frame)
        step--;
    while (mmd_run_frame(simulation, step) < frame)
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
    simulation->rest = mmd_arena_alloc(arena, bodies, sizeof *simulation->rest);
    simulation->held = mmd_arena_alloc(arena, bodies, sizeof *simulation->held);
    simulation->off = mmd_arena_alloc(arena, bodies, sizeof *simulation->off);
    simulation->islands = mmd_arena_alloc(arena, bodies, sizeof *simulation->islands);
    simulation->within = mmd_arena_alloc(arena, bodies, sizeof *simulation->within);
    simulation->anew = mmd_arena_alloc(arena, bodies, sizeof *simulation->anew);
    simulation->sliders =
        mmd_arena_alloc(arena, simulation->rig->morph_count, sizeof *simulation->sliders);
    simulation->kept = mmd_arena_alloc(arena, bones, sizeof *simulation->kept);
    return simulation->stands && simulation->stands_before && simulation->shown &&
           simulation->rest && simulation->held && simulation->off && simulation->islands &&
           simulation->within && simulation->anew && simulation->sliders && simulation->kept &&
           mmd_seats_init(arena, simulation->rig, mmd_world_bodies(simulation->world),
                          &simulation->seats) &&
           mmd_switches_init(arena, simulation->rig->model, mmd_poser_binding(simulation->poser),
                             &simulation->switches) &&
           mmd_given_init(arena, bones, simulation->rig->morph_count, &simulation->given) &&
           mmd_notes_init(arena, simulation->rig->model, &simulation->notes);
}

static bool build(mmd_simulation *simulation, const mmd_motion *motion, mmd_error *err)
{
    const mmd_model *model = simulation->rig->model;
    const mmd_physics *physics = &simulation->physics;
    mmd_world_desc desc = {.body_count = model->rigid_body_count,
                           .joint_count = model->joint_count,
                           .bodies = model->rigid_bodies,
                           .joints = model->joints,
                           .contacts = true,
                           .settings = physics->world};
    if (!mmd_physics_check(physics, err))
        return false;
    simulation->world = mmd_world_new(&desc, err);
    if (!simulation->world)
        return false;
    simulation->poser = mmd_poser_new(simulation->rig, motion, err);
    if (!simulation->poser)
        return false;
    if (!allocate(simulation))
        return mmd_fail_memory(err);
    mmd_islands_find(model, simulation->islands);
    mmd_run_keep_stands(simulation, simulation->rest);
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
    simulation->frame = simulation->start;
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
        mmd_checkpoints_free(&simulation->checkpoints);
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
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "frame: number %zu is %.12g, limit %.12g with physics", f, frames[f],
                            simulation->start + MMD_SIMULATION_FRAMES);
    }
    return true;
}

bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps)
{
    if (simulation->is_given) {
        simulation->is_given = simulation->placed = simulation->begun = false;
        simulation->frame = simulation->start;
    }
    if (frame < simulation->start)
        return true;
    double target = step_of(simulation, frame);
    /* A frame between steps takes both of them. */
    double last = mmd_run_frame(simulation, target) == frame ? target : target - 1;
    const mmd_checkpoint *checkpoint = mmd_checkpoints_before(&simulation->checkpoints, last);
    bool on_its_way = simulation->begun && (simulation->step <= last ||
                                            (simulation->step == target && simulation->has_before));
    if (checkpoint && (!on_its_way || simulation->step < checkpoint->step))
        mmd_run_go_back(simulation, checkpoint->step, checkpoint->world);
    else if (!on_its_way)
        mmd_run_begin(simulation);
    for (; simulation->step<target && * steps> 0; --*steps)
        mmd_run_step(simulation);
    return simulation->step == target;
}

bool mmd_simulation_aim(mmd_simulation *simulation, const mmd_pose_job *job, const uint8_t *physics,
                        double seconds, mmd_error *err)
{
    if (mmd_poser_binding(simulation->poser))
        return mmd_fail(err, MMD_E_ARGUMENT, "a simulation of a motion is posed by its frames");
    if (!(seconds >= 0 && seconds <= MMD_SIMULATION_SECONDS))
        return mmd_fail(err, MMD_E_ARGUMENT, "seconds: %g, expected 0 to %d", seconds,
                        MMD_SIMULATION_SECONDS);
    if (!mmd_pose_check(simulation->rig, job, err))
        return false;
    /* A start that was broken off while bodies settled has not been. */
    bool starts = !simulation->is_given || !simulation->begun || simulation->step < 0;
    mmd_given_aim(&simulation->given, job, physics);
    simulation->is_given = true;
    if (starts) {
        mmd_given_go(&simulation->given, 1);
        simulation->frame = 0;
        simulation->placed = false;
        mmd_run_begin(simulation);
        simulation->way_start = simulation->way_end = 0;
        return true;
    }
    /* As few steps as make none longer than those of a run. In one that is next to nothing, what a
       body must go would be a speed out of all bounds. */
    double count = ceil(seconds * simulation->physics.world.hz * (1 - 1e-9));
    if (seconds < SHORTEST_STEP)
        count = 0;
    simulation->way_start = simulation->step;
    simulation->way_end = simulation->step + count;
    simulation->way_frames = seconds * MMD_FRAMES_PER_SECOND;
    if (count > 0) {
        mmd_run_set_period(simulation, seconds / count);
    } else {
        mmd_given_go(&simulation->given, 1);
        simulation->frame += simulation->way_frames;
    }
    return true;
}

bool mmd_simulation_walk(mmd_simulation *simulation, size_t *steps)
{
    for (; simulation->step<simulation->way_end && * steps> 0; --*steps)
        mmd_run_step(simulation);
    return simulation->step >= simulation->way_end;
}

/* Poses */

/* Where bodies stand at a frame between the last two steps. */
static void show(mmd_simulation *simulation, double frame)
{
    double back = simulation->is_given ? 0 : mmd_run_frame(simulation, simulation->step) - frame;
    double share = back * simulation->physics.world.hz / MMD_FRAMES_PER_SECOND;
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        mmd_stand_between(&simulation->stands[i], &simulation->stands_before[i], share,
                          &simulation->shown[i]);
}

static void drive_bones(mmd_simulation *simulation, double frame, size_t first)
{
    mmd_run_read_switches(simulation, frame);
    mmd_seats_drive(&simulation->seats, simulation->shown, simulation->off,
                    mmd_poser_frame(simulation->poser), first, simulation->rig->bone_count);
}

/* `runs`: bodies are somewhere. */
static void pose(mmd_simulation *simulation, double frame, bool runs, float *matrices,
                 float *sliders)
{
    mmd_pose_job job = mmd_run_job(simulation, &frame);
    mmd_run_place_bones(simulation, frame);
    simulation->placed = false;
    if (runs) {
        show(simulation, frame);
        drive_bones(simulation, frame, 0);
    }
    mmd_pose_after_physics(simulation->poser, &job);
    if (runs && simulation->seats.drives_after)
        drive_bones(simulation, frame, simulation->seats.first_after);
    mmd_pose_store(simulation->poser, matrices);
    size_t morphs = simulation->rig->morph_count;
    if (morphs)
        memcpy(sliders, simulation->sliders, morphs * sizeof *sliders);
    simulation->frame = frame;
}

void mmd_simulation_pose(mmd_simulation *simulation, double frame, float *matrices, float *sliders)
{
    pose(simulation, frame, frame >= simulation->start, matrices, sliders);
}

void mmd_simulation_pose_given(mmd_simulation *simulation, float *matrices, float *sliders)
{
    simulation->placed = false;
    pose(simulation, simulation->frame, true, matrices, sliders);
}

/* What it tells */

/* What the bytes begin with; then come the given pose and the world. */
typedef struct saved {
    uint64_t layout; /* of this system and version */
    uint64_t begun, is_given;
    double step, frame;
} saved;

static const uint64_t saved_layout = 0x100000000u * sizeof(saved) + 2;

size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes)
{
    const saved head = {saved_layout, simulation->begun, simulation->is_given, simulation->step,
                        simulation->frame};
    size_t pose_size = mmd_given_count(&simulation->given) * sizeof(float);
    char *out = bytes;
    if (out) {
        memcpy(out, &head, sizeof head);
        mmd_given_save(&simulation->given, (float *)(void *)(out + sizeof head));
    }
    return sizeof head + pose_size +
           mmd_world_save(simulation->world, out ? out + sizeof head + pose_size : NULL);
}

bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size, mmd_error *err)
{
    saved head;
    size_t pose_size = mmd_given_count(&simulation->given) * sizeof(float);
    const char *in = bytes;
    if (size >= sizeof head + pose_size)
        memcpy(&head, in, sizeof head);
    if (size < sizeof head + pose_size || head.layout != saved_layout ||
        !(head.step >= -simulation->physics.settle && head.step <= 1e15) ||
        head.step != floor(head.step) || !isfinite(head.frame) ||
        !mmd_world_fits(simulation->world, in + sizeof head + pose_size,
                        size - sizeof head - pose_size) ||
        !mmd_given_load(&simulation->given, (const float *)(const void *)(in + sizeof head)))
        return mmd_fail(err, MMD_E_ARGUMENT, "state: not of such a simulation");
    simulation->is_given = head.is_given && !mmd_poser_binding(simulation->poser);
    mmd_run_go_back(simulation, head.step, in + sizeof head + pose_size);
    simulation->begun = head.begun;
    simulation->placed = false;
    simulation->frame = head.frame;
    simulation->way_start = simulation->way_end = head.step;
    return true;
}

void mmd_simulation_reset(mmd_simulation *simulation)
{
    simulation->begun = simulation->placed = simulation->is_given = false;
    simulation->frame = simulation->start;
}

double mmd_simulation_frame(const mmd_simulation *simulation)
{
    return simulation->frame;
}

void mmd_simulation_strain(const mmd_simulation *simulation, double *strain)
{
    mmd_world_strain(simulation->world, strain);
}

bool mmd_simulation_note(const mmd_simulation *simulation, size_t index, char text[256])
{
    return mmd_notes_text(&simulation->notes, index, text, 256);
}
