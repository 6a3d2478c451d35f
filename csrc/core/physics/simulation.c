/* SPDX-License-Identifier: MIT */
#include "core/physics/simulation.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/physics/checkpoints.h"
#include "core/physics/given.h"
#include "core/physics/impulses.h"
#include "core/physics/islands.h"
#include "core/physics/notes.h"
#include "core/physics/seats.h"
#include "core/physics/switches.h"
#include "core/physics/vector.h"
#include "core/pose/pose.h"

#include <math.h>

enum {
    FRAMES_PER_SECOND = 30,
    IMPULSES_PER_SECOND = 60, /* of an impulse morph */
    STEPS_OF_WATCH = 30       /* between two looks at the joints' strain */
};

/* Units beyond its limits at which a joint is noted. Sound models reach 7 in quick dances. */
#define STRAINED 10

struct mmd_simulation {
    mmd_arena arena;
    const mmd_rig *rig;
    mmd_physics physics;
    double start;
    bool ik;
    mmd_world *world;
    mmd_poser *poser;
    mmd_seats seats;

    mmd_switches switches;
    mmd_checkpoints checkpoints;
    mmd_notes notes;
    size_t *islands; /* bodies of one number are joined, by bodies that do not follow bones */

    /* Steps are counted from the start; those before it are held there. `stands` is of the step,
       `stands_before` of the one before, `shown` of the frame that is posed; `rest` is of the model
       at rest. */
    bool begun, has_before; /* has_before: stands_before is known */
    double step, period, frame;
    mmd_stand *stands, *stands_before, *shown, *rest;
    bool *held, *off; /* bodies that go where their bones carry them: in the world, at a frame */

    /* Poses that are given instead of a motion: the way began at one step and ends at another. */
    bool is_given;
    mmd_given given;
    double way_start, way_end, way_frames;

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
    simulation->rest = mmd_arena_alloc(arena, bodies, sizeof *simulation->rest);
    simulation->held = mmd_arena_alloc(arena, bodies, sizeof *simulation->held);
    simulation->off = mmd_arena_alloc(arena, bodies, sizeof *simulation->off);
    simulation->islands = mmd_arena_alloc(arena, bodies, sizeof *simulation->islands);
    simulation->within = mmd_arena_alloc(arena, bodies, sizeof *simulation->within);
    simulation->sliders =
        mmd_arena_alloc(arena, simulation->rig->morph_count, sizeof *simulation->sliders);
    simulation->kept = mmd_arena_alloc(arena, bones, sizeof *simulation->kept);
    return simulation->stands && simulation->stands_before && simulation->shown &&
           simulation->rest && simulation->held && simulation->off && simulation->islands &&
           simulation->within && simulation->sliders && simulation->kept &&
           mmd_seats_init(arena, simulation->rig, mmd_world_bodies(simulation->world),
                          &simulation->seats) &&
           mmd_switches_init(arena, simulation->rig->model, mmd_poser_binding(simulation->poser),
                             &simulation->switches) &&
           mmd_given_init(arena, bones, simulation->rig->morph_count, &simulation->given) &&
           mmd_notes_init(arena, simulation->rig->model, &simulation->notes);
}

static void keep_stands(const mmd_simulation *simulation, mmd_stand *stands)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        mmd_copy3(bodies[i].state.position, stands[i].position);
        memcpy(stands[i].rotation, bodies[i].state.rotation, sizeof stands[i].rotation);
    }
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
    keep_stands(simulation, simulation->rest);
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
            return mmd_fail(err, MMD_E_ARGUMENT, "frame: number %zu is %g, limit %g with physics",
                            f, frames[f], simulation->start + MMD_SIMULATION_FRAMES);
    }
    return true;
}

/* Bones */

static mmd_pose_job job_of(const mmd_simulation *simulation, const double *frame)
{
    mmd_pose_job job = {
        .frame_count = 1, .ik = simulation->ik, .frames = frame, .sliders = simulation->sliders};
    if (simulation->is_given) {
        job.translation_frames = job.rotation_frames = job.slider_frames = 1;
        job.translations = simulation->given.now.translations;
        job.rotations = simulation->given.now.rotations;
        job.given_sliders = simulation->given.now.sliders;
    }
    return job;
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
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        const mmd_seat *seat = &simulation->seats.seats[i];
        simulation->within[i] = mmd_seat_stand(seat, bones, &stands[i]);
        if (!simulation->within[i] && seat->bone >= 0)
            mmd_notes_body(&simulation->notes, MMD_NOTE_FAR, i, frame);
    }
    if (after)
        memcpy(bones->bones, simulation->kept, size);
}

/* Bodies */

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

/* Bodies whose physics the motion switches off are held; those that it switches on again start from
   where they are. */
static void hold_bodies(mmd_simulation *simulation, double frame)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    if (simulation->is_given)
        return;
    mmd_switches_read(&simulation->switches, frame, simulation->off);
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        if (!bodies[i].follows && simulation->held[i] != simulation->off[i]) {
            simulation->held[i] = simulation->off[i];
            mmd_body_hold(&bodies[i], &simulation->rig->model->rigid_bodies[i],
                          simulation->held[i]);
            mmd_body_rest(&bodies[i]);
        }
}

/* Whether all that follows bones is farther from its last place than a model goes in one step. */
static bool teleports(const mmd_simulation *simulation, const mmd_stand *stands)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    double most = simulation->physics.teleport * FRAMES_PER_SECOND * simulation->period;
    bool any = false;
    for (size_t i = 0; most > 0 && i < simulation->seats.body_count; i++) {
        double way[3];
        if (!bodies[i].follows || !simulation->within[i])
            continue;
        mmd_subtract3(stands[i].position, bodies[i].state.position, way);
        if (mmd_length3(way) <= most)
            return false;
        any = true;
    }
    return any;
}

static void follow_bones(mmd_simulation *simulation, const mmd_stand *stands)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        if (!bodies[i].follows && !simulation->held[i])
            continue;
        if (simulation->within[i])
            mmd_body_follow(&bodies[i], stands[i].position, stands[i].rotation, simulation->period);
        else
            mmd_body_rest(&bodies[i]);
    }
}

/* Bodies that have left the numbers begin anew, with all that they are joined to. */
static void contain(mmd_simulation *simulation, const mmd_stand *stands, double frame)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        if (bodies[i].lost) {
            mmd_notes_body(&simulation->notes, MMD_NOTE_LOST, i, frame);
            put_bodies(simulation, stands, &simulation->islands[i]);
        }
}

static void watch_joints(mmd_simulation *simulation, double frame)
{
    size_t joint;
    double stretch = mmd_world_stretch(simulation->world, &joint);
    if (stretch > STRAINED)
        mmd_notes_joint(&simulation->notes, MMD_NOTE_STRAIN, joint, frame, stretch);
}

/* Steps */

static void set_period(mmd_simulation *simulation, double seconds)
{
    simulation->period = seconds;
    mmd_world_set_period(simulation->world, seconds);
}

static void begin(mmd_simulation *simulation)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        put_body(&bodies[i], &simulation->rest[i]);
    set_period(simulation, 1 / simulation->physics.hz);
    find_stands(simulation, simulation->start, simulation->shown);
    put_bodies(simulation, simulation->shown, NULL);
    hold_bodies(simulation, simulation->start);
    keep_stands(simulation, simulation->stands);
    simulation->step = -simulation->physics.settle;
    simulation->begun = true;
    simulation->has_before = false;
}

/* The frame of the step that is taken now, where the bones go. */
static double next_frame(mmd_simulation *simulation)
{
    simulation->step++;
    if (!simulation->is_given)
        return frame_of(simulation, simulation->step);
    double way = simulation->way_end - simulation->way_start;
    if (way > 0)
        mmd_given_go(&simulation->given, (simulation->step - simulation->way_start) / way);
    simulation->placed = false;
    simulation->frame += way > 0 ? simulation->way_frames / way : 0;
    return simulation->frame;
}

static void take_step(mmd_simulation *simulation)
{
    mmd_stand *stands = simulation->stands_before;
    simulation->stands_before = simulation->stands;
    simulation->stands = stands;
    simulation->has_before = true;
    double frame = next_frame(simulation);
    find_stands(simulation, frame, stands);
    hold_bodies(simulation, frame);
    if (teleports(simulation, stands)) {
        mmd_notes_body(&simulation->notes, MMD_NOTE_ANEW, 0, frame);
        put_bodies(simulation, stands, NULL);
    }
    follow_bones(simulation, stands);
    mmd_impulses_apply(simulation->rig->model, mmd_poser_weights(simulation->poser),
                       IMPULSES_PER_SECOND * simulation->period,
                       mmd_world_bodies(simulation->world));
    mmd_world_advance(simulation->world);
    contain(simulation, stands, frame);
    keep_stands(simulation, stands);
    if (!simulation->is_given)
        mmd_checkpoints_visit(&simulation->checkpoints, simulation->world, simulation->step);
    if (fmod(simulation->step, STEPS_OF_WATCH) == 0)
        watch_joints(simulation, frame);
}

static void go_back(mmd_simulation *simulation, const mmd_checkpoint *checkpoint)
{
    set_period(simulation, 1 / simulation->physics.hz);
    hold_bodies(simulation, frame_of(simulation, checkpoint->step));
    mmd_world_restore(simulation->world, checkpoint->world);
    keep_stands(simulation, simulation->stands);
    simulation->step = checkpoint->step;
    simulation->begun = true;
    simulation->has_before = false;
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
    double last = frame_of(simulation, target) == frame ? target : target - 1;
    const mmd_checkpoint *checkpoint = mmd_checkpoints_before(&simulation->checkpoints, last);
    bool on_its_way = simulation->begun && (simulation->step <= last ||
                                            (simulation->step == target && simulation->has_before));
    if (checkpoint && (!on_its_way || simulation->step < checkpoint->step))
        go_back(simulation, checkpoint);
    else if (!on_its_way)
        begin(simulation);
    for (; simulation->step<target && * steps> 0; --*steps)
        take_step(simulation);
    return simulation->step == target;
}

bool mmd_simulation_aim(mmd_simulation *simulation, const mmd_pose_job *job, double seconds,
                        mmd_error *err)
{
    if (mmd_poser_binding(simulation->poser))
        return mmd_fail(err, MMD_E_ARGUMENT, "a simulation of a motion is posed by its frames");
    if (!(seconds >= 0 && seconds <= MMD_SIMULATION_SECONDS))
        return mmd_fail(err, MMD_E_ARGUMENT, "seconds: %g, expected 0 to %d", seconds,
                        MMD_SIMULATION_SECONDS);
    if (!mmd_pose_check(simulation->rig, job, err))
        return false;
    bool starts = !simulation->is_given || !simulation->begun;
    mmd_given_aim(&simulation->given, job);
    simulation->is_given = true;
    if (starts) {
        mmd_given_go(&simulation->given, 1);
        simulation->frame = 0;
        simulation->placed = false;
        begin(simulation);
        simulation->way_start = simulation->way_end = 0;
        return true;
    }
    /* As few steps as make none longer than those of a run. */
    double count = ceil(seconds * simulation->physics.hz * (1 - 1e-9));
    simulation->way_start = simulation->step;
    simulation->way_end = simulation->step + count;
    simulation->way_frames = seconds * FRAMES_PER_SECOND;
    if (count > 0)
        set_period(simulation, seconds / count);
    else
        mmd_given_go(&simulation->given, 1);
    return true;
}

bool mmd_simulation_walk(mmd_simulation *simulation, size_t *steps)
{
    for (; simulation->step<simulation->way_end && * steps> 0; --*steps)
        take_step(simulation);
    return simulation->step >= simulation->way_end;
}

/* Poses */

/* Where bodies stand at a frame between the last two steps. */
static void show(mmd_simulation *simulation, double frame)
{
    double back = simulation->is_given ? 0 : frame_of(simulation, simulation->step) - frame;
    double share = back * simulation->physics.hz / FRAMES_PER_SECOND;
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        mmd_stand_between(&simulation->stands[i], &simulation->stands_before[i], share,
                          &simulation->shown[i]);
}

static void drive_bones(mmd_simulation *simulation, double frame, size_t first)
{
    mmd_switches_read(&simulation->switches, frame, simulation->off);
    mmd_seats_drive(&simulation->seats, simulation->shown, simulation->off,
                    mmd_poser_frame(simulation->poser), first, simulation->rig->bone_count);
}

/* `runs`: bodies are somewhere. */
static void pose(mmd_simulation *simulation, double frame, bool runs, float *matrices,
                 float *sliders)
{
    mmd_pose_job job = job_of(simulation, &frame);
    place_bones(simulation, frame);
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
