/* SPDX-License-Identifier: MIT */
/* The interface of a simulation: creation, seeking, poses, saved states. simulation_run.c has the
   steps. Step k of a run along a motion is at frame start + 30 max(k, 0) / hz; those before 0 hold
   the start pose (settling). A frame between two steps shows poses interpolated between theirs. */
#include "core/physics/simulation.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/physics/islands.h"
#include "core/physics/simulation_run.h"

#include <math.h>

#define CARRIED_EPSILON 1e-6 /* steps: a shorter rest of an interval is rounding */

/* Settings */

/* Those of most programs that play MMD's files: docs/physics.md. */
const mmd_simulation_settings mmd_simulation_settings_default = {
    .world = {.gravity = {0, -98, 0},
              .hz = 60,
              .iterations = 10,
              .ground = true,
              .additional_damping = true,
              .joined_collide = true},
    .settle = 300,
};

/* What mmd_world_check() does not check. */
static bool check_settings(const mmd_simulation_settings *settings, mmd_error *err)
{
    if (!mmd_gravity_check(&settings->gravity, err))
        return false;
    if (settings->has_start && !(fabs(settings->start) <= UINT32_MAX))
        return mmd_fail(err, MMD_E_ARGUMENT, "start: %g, expected a frame", settings->start);
    if (settings->settle < 0 || settings->settle > MMD_SIMULATION_MAX_SETTLE)
        return mmd_fail(err, MMD_E_ARGUMENT, "settle: %d steps, expected 0 to %d", settings->settle,
                        MMD_SIMULATION_MAX_SETTLE);
    if (!(settings->teleport >= 0))
        return mmd_fail(err, MMD_E_ARGUMENT, "teleport: %g, expected at least 0",
                        settings->teleport);
    return true;
}

/* Creation */

static bool allocate(mmd_simulation *simulation)
{
    mmd_arena *arena = &simulation->arena;
    const mmd_rig *rig = simulation->rig;
    size_t bodies = mmd_world_body_count(simulation->world), bones = rig->bone_count;
    const mmd_binding *motion = mmd_poser_binding(simulation->poser);
    simulation->poses = mmd_arena_alloc(arena, bodies, sizeof *simulation->poses);
    simulation->previous_poses = mmd_arena_alloc(arena, bodies, sizeof *simulation->poses);
    simulation->interpolated_poses = mmd_arena_alloc(arena, bodies, sizeof *simulation->poses);
    simulation->rest_poses = mmd_arena_alloc(arena, bodies, sizeof *simulation->poses);
    simulation->still_poses = mmd_arena_alloc(arena, bodies, sizeof *simulation->poses);
    simulation->physics_off_in_world =
        mmd_arena_alloc(arena, bodies, sizeof *simulation->physics_off_in_world);
    simulation->physics_off = mmd_arena_alloc(arena, bodies, sizeof *simulation->physics_off);
    simulation->islands = mmd_arena_alloc(arena, bodies, sizeof *simulation->islands);
    simulation->in_range = mmd_arena_alloc(arena, bodies, sizeof *simulation->in_range);
    simulation->restarting = mmd_arena_alloc(arena, bodies, sizeof *simulation->restarting);
    simulation->morph_weights =
        mmd_arena_alloc(arena, rig->morph_count, sizeof *simulation->morph_weights);
    simulation->saved_bones = mmd_arena_alloc(arena, bones, sizeof *simulation->saved_bones);
    return simulation->poses && simulation->previous_poses && simulation->interpolated_poses &&
           simulation->rest_poses && simulation->still_poses && simulation->physics_off_in_world &&
           simulation->physics_off && simulation->islands && simulation->in_range &&
           simulation->restarting && simulation->morph_weights && simulation->saved_bones &&
           mmd_bone_bodies_init(arena, rig, mmd_world_bodies(simulation->world), motion,
                                &simulation->bone_bodies) &&
           mmd_pose_input_init(arena, bones, rig->morph_count, &simulation->input) &&
           mmd_notes_init(arena, rig->model, &simulation->notes);
}

static bool copy_gravity(mmd_simulation *simulation)
{
    mmd_gravity *gravity = &simulation->settings.gravity;
    if (!gravity->rows)
        return true;
    double *rows = mmd_arena_alloc(&simulation->arena, 3 * gravity->row_count, sizeof *rows);
    if (rows)
        memcpy(rows, gravity->rows, 3 * gravity->row_count * sizeof *rows);
    gravity->rows = rows;
    return rows != NULL;
}

static bool build(mmd_simulation *simulation, const mmd_motion *motion, mmd_error *err)
{
    const mmd_model *model = simulation->rig->model;
    const mmd_simulation_settings *settings = &simulation->settings;
    mmd_world_desc desc = {.body_count = model->rigid_body_count,
                           .joint_count = model->joint_count,
                           .bodies = model->rigid_bodies,
                           .joints = model->joints,
                           .contacts = true,
                           .settings = settings->world};
    if (!copy_gravity(simulation))
        return mmd_fail_memory(err);
    if (!check_settings(settings, err))
        return false;
    simulation->world = mmd_world_new(&desc, err);
    if (!simulation->world)
        return false;
    simulation->poser = mmd_poser_new(simulation->rig, motion, err);
    if (!simulation->poser)
        return false;
    if (!allocate(simulation))
        return mmd_fail_memory(err);
    mmd_islands_of_model(model, simulation->islands);
    mmd_simulation_run_copy_poses(simulation, simulation->rest_poses);
    return true;
}

mmd_simulation *mmd_simulation_new(const mmd_rig *rig, const mmd_motion *motion, bool ik,
                                   const mmd_simulation_settings *settings, mmd_error *err)
{
    mmd_simulation *simulation = mmd_arena_new_owner(sizeof *simulation);
    if (!simulation) {
        mmd_fail_memory(err);
        return NULL;
    }
    simulation->rig = rig;
    simulation->settings = *settings;
    simulation->time_step = 1 / settings->world.hz;
    simulation->ik = ik;
    simulation->start = settings->has_start ? settings->start : motion ? motion->first_frame : 0;
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
    mmd_arena_free_owner(simulation);
}

/* Running */

/* The first step at or after a frame. */
static double step_at(const mmd_simulation *simulation, double frame)
{
    double step = ceil((frame - simulation->start) * simulation->settings.world.hz /
                       MMD_SIMULATION_FRAMES_PER_SECOND);
    while (step > 0 && mmd_simulation_run_frame_of_step(simulation, step - 1) >= frame)
        step--;
    while (mmd_simulation_run_frame_of_step(simulation, step) < frame)
        step++;
    return step;
}

bool mmd_simulation_check(const mmd_simulation *simulation, const double *frames, size_t count,
                          mmd_error *err)
{
    if (!mmd_numbers_check_frames(frames, count, err))
        return false;
    for (size_t f = 0; f < count; f++)
        if (frames[f] > simulation->start + MMD_SIMULATION_MAX_FRAMES)
            return mmd_fail(err, MMD_E_ARGUMENT, "frames[%zu] is %.12g, limit %.12g with physics",
                            f, frames[f], simulation->start + MMD_SIMULATION_MAX_FRAMES);
    return true;
}

/* Runs up to a step; false if it runs out of `steps`. */
static bool run_to(mmd_simulation *simulation, double step, size_t *steps)
{
    while (simulation->step < step && *steps) {
        mmd_simulation_run_step(simulation);
        --*steps;
    }
    return simulation->step >= step;
}

bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps)
{
    if (simulation->uses_input) {
        simulation->uses_input = simulation->bones_valid = simulation->started = false;
        simulation->frame = simulation->start;
    }
    if (frame < simulation->start)
        return true;
    double target = step_at(simulation, frame);
    /* A frame between two steps needs the poses of both. */
    double first =
        mmd_simulation_run_frame_of_step(simulation, target) == frame ? target : target - 1;
    const mmd_checkpoint *checkpoint = mmd_checkpoints_find(&simulation->checkpoints, first);
    bool can_continue =
        simulation->started &&
        (simulation->step <= first || (simulation->step == target && simulation->has_previous));
    if (checkpoint && (!can_continue || simulation->step < checkpoint->step))
        mmd_simulation_run_restore(simulation, checkpoint->step, checkpoint->world);
    else if (!can_continue)
        mmd_simulation_run_start(simulation);
    return run_to(simulation, target, steps);
}

bool mmd_simulation_set_target(mmd_simulation *simulation, const mmd_pose_job *job,
                               const uint8_t *physics, double seconds, mmd_error *err)
{
    if (mmd_poser_binding(simulation->poser))
        return mmd_fail(err, MMD_E_ARGUMENT,
                        "a simulation of a motion takes no poses, only frames");
    if (!(seconds >= 0 && seconds <= MMD_SIMULATION_MAX_SECONDS))
        return mmd_fail(err, MMD_E_ARGUMENT, "seconds: %g, expected 0 to %d", seconds,
                        MMD_SIMULATION_MAX_SECONDS);
    if (!mmd_pose_check(simulation->rig, job, err))
        return false;
    /* A start that was interrupted while bodies settled is made again. */
    bool is_start = !simulation->uses_input || !simulation->started || simulation->step < 0;
    mmd_pose_input_set_target(&simulation->input, job, physics);
    simulation->uses_input = true;
    if (is_start) {
        mmd_pose_input_interpolate(&simulation->input, 1);
        simulation->frame = 0;
        simulation->bones_valid = false;
        mmd_simulation_run_start(simulation);
        simulation->input_start_step = simulation->input_end_step = 0;
        simulation->input_end_frame = simulation->input_end_carried = 0;
        return true;
    }
    double end = simulation->input_carried + seconds * simulation->settings.world.hz;
    double count = floor(end + CARRIED_EPSILON);
    simulation->input_start_step = simulation->step;
    simulation->input_end_step = simulation->step + count;
    simulation->input_start_frame = simulation->frame;
    simulation->input_end_frame = simulation->frame + seconds * MMD_SIMULATION_FRAMES_PER_SECOND;
    simulation->input_start_carried = simulation->input_carried;
    simulation->input_end_carried = end - count > CARRIED_EPSILON ? end - count : 0;
    return true;
}

bool mmd_simulation_advance(mmd_simulation *simulation, size_t *steps)
{
    if (!run_to(simulation, simulation->input_end_step, steps))
        return false;
    mmd_pose_input_interpolate(&simulation->input, 1);
    simulation->bones_valid = false;
    simulation->input_carried = simulation->input_end_carried;
    simulation->frame = simulation->input_end_frame;
    return true;
}

/* Poses */

/* Body poses at a frame between the last two steps; with poses of the caller, after the last step,
   from where the bodies go on with their velocities, as in Bullet's synchronizeMotionStates. */
static void show_bodies(mmd_simulation *simulation, double frame)
{
    if (simulation->uses_input) {
        const mmd_body *bodies = mmd_world_bodies(simulation->world);
        double seconds = simulation->input_carried / simulation->settings.world.hz;
        for (size_t i = 0; i < simulation->bone_bodies.body_count; i++) {
            simulation->interpolated_poses[i] = simulation->poses[i];
            if (seconds > 0)
                mmd_body_pose_extrapolate(&bodies[i].state, seconds,
                                          &simulation->interpolated_poses[i]);
        }
        return;
    }
    double frames_back = mmd_simulation_run_frame_of_step(simulation, simulation->step) - frame;
    double fraction =
        frames_back * simulation->settings.world.hz / MMD_SIMULATION_FRAMES_PER_SECOND;
    for (size_t i = 0; i < simulation->bone_bodies.body_count; i++)
        mmd_body_pose_interpolate(&simulation->poses[i], &simulation->previous_poses[i], fraction,
                                  &simulation->interpolated_poses[i]);
}

static void drive_bones(mmd_simulation *simulation, double frame, size_t first)
{
    mmd_simulation_run_read_switches(simulation, frame);
    mmd_bone_bodies_drive(&simulation->bone_bodies, simulation->interpolated_poses,
                          simulation->physics_off, mmd_poser_state(simulation->poser), first,
                          simulation->rig->bone_count);
}

static void pose(mmd_simulation *simulation, double frame, bool with_physics, float *matrices,
                 float *morph_weights)
{
    mmd_pose_job job = mmd_simulation_run_pose_job(simulation, &frame);
    mmd_simulation_run_pose_bones(simulation, frame);
    simulation->bones_valid = false;
    if (with_physics) {
        show_bodies(simulation, frame);
        drive_bones(simulation, frame, 0);
    }
    mmd_pose_after_physics(simulation->poser, &job);
    if (with_physics && simulation->bone_bodies.drives_after_physics)
        drive_bones(simulation, frame, simulation->bone_bodies.first_after_physics);
    mmd_pose_write_matrices(simulation->poser, matrices);
    size_t morphs = simulation->rig->morph_count;
    if (morphs)
        memcpy(morph_weights, simulation->morph_weights, morphs * sizeof *morph_weights);
    simulation->frame = frame;
}

void mmd_simulation_pose(mmd_simulation *simulation, double frame, float *matrices,
                         float *morph_weights)
{
    pose(simulation, frame, frame >= simulation->start, matrices, morph_weights);
}

void mmd_simulation_pose_target(mmd_simulation *simulation, float *matrices, float *morph_weights)
{
    simulation->bones_valid = false;
    pose(simulation, simulation->frame, true, matrices, morph_weights);
}

/* Saved states */

/* The bytes begin with this; the pose input and the world follow. */
typedef struct saved {
    uint64_t layout; /* of this system and version */
    uint64_t started, uses_input;
    double step, frame, carried;
} saved;

static const uint64_t saved_layout = 0x100000000u * sizeof(saved) + 5;

size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes)
{
    const saved head = {saved_layout,     simulation->started, simulation->uses_input,
                        simulation->step, simulation->frame,   simulation->input_carried};
    size_t input_size = mmd_pose_input_size(&simulation->input) * sizeof(float);
    char *out = bytes;
    if (out) {
        memcpy(out, &head, sizeof head);
        mmd_pose_input_save(&simulation->input, (float *)(void *)(out + sizeof head));
    }
    return sizeof head + input_size +
           mmd_world_save(simulation->world, out ? out + sizeof head + input_size : NULL);
}

bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size, mmd_error *err)
{
    saved head;
    size_t input_size = mmd_pose_input_size(&simulation->input) * sizeof(float);
    const char *in = bytes;
    if (size >= sizeof head + input_size)
        memcpy(&head, in, sizeof head);
    if (size < sizeof head + input_size || head.layout != saved_layout ||
        !(head.step >= -simulation->settings.settle && head.step <= 1e15) ||
        head.step != floor(head.step) || !isfinite(head.frame) ||
        !(head.carried >= 0 && head.carried <= 1) ||
        !mmd_world_can_restore(simulation->world, in + sizeof head + input_size,
                               size - sizeof head - input_size) ||
        !mmd_pose_input_load(&simulation->input, (const float *)(const void *)(in + sizeof head)))
        return mmd_fail(err, MMD_E_ARGUMENT, "state: not valid for this simulation");
    simulation->uses_input = head.uses_input && !mmd_poser_binding(simulation->poser);
    mmd_simulation_run_restore(simulation, head.step, in + sizeof head + input_size);
    simulation->started = head.started && head.step >= 0; /* settling is made again */
    simulation->bones_valid = false;
    simulation->frame = head.frame;
    simulation->input_start_step = simulation->input_end_step = head.step;
    simulation->input_carried = simulation->input_end_carried = head.carried;
    simulation->input_end_frame = head.frame;
    return true;
}

void mmd_simulation_reset(mmd_simulation *simulation)
{
    simulation->started = simulation->bones_valid = simulation->uses_input = false;
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
