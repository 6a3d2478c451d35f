/* SPDX-License-Identifier: MIT */
/* The interface of a simulation: creation, seeking, poses. simulation_run.c has the steps,
   simulation_state.c saves them. Step k of a run along a motion is at frame start + 30 max(k, 0) /
   hz; those before 0 hold the start pose (settling). A frame between two steps shows poses
   interpolated between theirs. */
#include "mmdskin.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/physics/joint_constraint.h"
#include "core/physics/simulation_parts.h"

#include <math.h>
#include <stdio.h>

#define ACCUMULATOR_EPSILON 1e-6 /* steps: a shorter rest of an interval is rounding */

/* Settings */

/* Those of most programs that play MMD's files: docs/physics.md. */
mmd_simulation_settings mmd_simulation_default_settings(void)
{
    return (mmd_simulation_settings){.world = {.gravity = {0, -98, 0},
                                               .hz = 60,
                                               .iterations = 10,
                                               .ground = true,
                                               .additional_damping = true,
                                               .collide_connected = true},
                                     .settle = 300};
}

static bool check_gravity(const mmd_gravity *gravity, mmd_error *err)
{
    if (gravity->rows && !gravity->row_count)
        return mmd_refuse(err, "gravity: 0 rows, expected at least 1");
    for (size_t i = 0; gravity->rows && i < 3 * gravity->row_count; i++)
        if (!(fabs(gravity->rows[i]) <= MMD_BODY_LIMIT))
            return mmd_refuse(err, "gravity[%zu, %zu]: %g, expected at most 1e6", i / 3, i % 3,
                              gravity->rows[i]);
    if (!(gravity->noise >= 0 && gravity->noise <= MMD_BODY_LIMIT))
        return mmd_refuse(err, "gravity_noise: %g, expected 0 to 1e6", gravity->noise);
    return true;
}

/* What mmd_world_check() does not check. */
static bool check_settings(const mmd_simulation_settings *settings, mmd_error *err)
{
    if (!check_gravity(&settings->gravity, err))
        return false;
    if (settings->has_start && !(fabs(settings->start) <= UINT32_MAX))
        return mmd_refuse(err, "start: %g, expected a frame", settings->start);
    if (settings->settle < 0 || settings->settle > MMD_SIMULATION_MAX_SETTLE)
        return mmd_refuse(err, "settle: %d steps, expected 0 to %d", settings->settle,
                          MMD_SIMULATION_MAX_SETTLE);
    if (!(settings->teleport >= 0))
        return mmd_refuse(err, "teleport: %g, expected at least 0", settings->teleport);
    return true;
}

/* Creation */

static bool allocate(mmd_simulation *simulation)
{
    mmd_arena *arena = &simulation->arena;
    size_t bodies = simulation->body_count;
    return MMD_ARENA_ARRAY(arena, simulation->poses, bodies) &&
           MMD_ARENA_ARRAY(arena, simulation->rest_poses, bodies) &&
           MMD_ARENA_ARRAY(arena, simulation->physics_off, bodies) &&
           MMD_ARENA_ARRAY(arena, simulation->islands, bodies) &&
           MMD_ARENA_ARRAY(arena, simulation->in_range, bodies) &&
           MMD_ARENA_ARRAY(arena, simulation->restarting, bodies) &&
           mmd_simulation_members_bind(arena, simulation->world, simulation->member_count,
                                       simulation->members);
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

/* The earliest first frame of the motions, on the clock of the run; 0 without motions. */
static double first_frame(const mmd_simulation_model *models, size_t count)
{
    bool any = false;
    double first = 0;
    for (size_t m = 0; m < count; m++) {
        const mmd_motion *motion = models[m].motion;
        if (motion && (!any || motion->first_frame - models[m].offset < first))
            first = motion->first_frame - models[m].offset;
        any = any || motion;
    }
    return first;
}

static void find_islands(mmd_simulation *simulation)
{
    for (size_t m = 0; m < simulation->member_count; m++) {
        const mmd_simulation_member *member = &simulation->members[m];
        size_t *islands = simulation->islands + member->first_body;
        mmd_islands_of_model(member->rig->model, islands);
        for (size_t i = 0; i < member->body_count; i++)
            islands[i] += member->first_body;
    }
}

static bool find_rest_poses(mmd_simulation *simulation, mmd_error *err)
{
    mmd_body_pose *poses = simulation->rest_poses;
    mmd_simulation_run_copy_poses(simulation, poses);
    for (size_t i = 0; i < simulation->body_count; i++) {
        const mmd_simulation_member *member =
            mmd_simulation_members_of_body(simulation->members, i);
        mmd_simulation_member_to_world(member, &poses[i]);
        for (int k = 0; k < 3; k++)
            if (!(fabs(poses[i].position[k]) <= MMD_BODY_LIMIT)) {
                mmd_refuse(err, "transforms: body %zu at %g, expected at most 1e6",
                           i - member->first_body, poses[i].position[k]);
                return mmd_simulation_members_fail((size_t)(member - simulation->members),
                                                   simulation->member_count, err);
            }
    }
    return true;
}

static bool build(mmd_simulation *simulation, const mmd_simulation_model *models, mmd_error *err)
{
    const mmd_simulation_settings *settings = &simulation->settings;
    size_t count = simulation->member_count;
    if (!MMD_ARENA_ARRAY(&simulation->arena, simulation->members, count) ||
        !copy_gravity(simulation))
        return mmd_fail_memory(err);
    if (!check_settings(settings, err) ||
        !mmd_simulation_members_init(&simulation->arena, models, count, simulation->members, err))
        return false;
    simulation->world =
        mmd_simulation_members_new_world(simulation->members, count, &settings->world, err);
    if (!simulation->world)
        return false;
    simulation->body_count = mmd_world_body_count(simulation->world);
    if (!allocate(simulation))
        return mmd_fail_memory(err);
    find_islands(simulation);
    if (!find_rest_poses(simulation, err))
        return false;
    return mmd_simulation_state_init(simulation) || mmd_fail_memory(err);
}

static bool check_models(const mmd_simulation_model *models, size_t count, mmd_error *err)
{
    if (count < 1 || count > MMD_SIMULATION_MAX_MODELS)
        return mmd_refuse(err, "%zu models, expected 1 to %d", count, MMD_SIMULATION_MAX_MODELS);
    if (!mmd_error_require(models, "models", err))
        return false;
    for (size_t m = 0; m < count; m++)
        if (!mmd_error_require(models[m].rig, "rig", err))
            return mmd_simulation_members_fail(m, count, err);
    return true;
}

mmd_simulation *mmd_simulation_new(const mmd_simulation_model *models, size_t count, bool ik,
                                   const mmd_simulation_settings *settings, mmd_error *err)
{
    if (!check_models(models, count, err))
        return NULL;
    mmd_simulation *simulation = mmd_arena_new_owner(sizeof *simulation, err);
    if (!simulation)
        return NULL;
    simulation->member_count = count;
    simulation->settings = settings ? *settings : mmd_simulation_default_settings();
    settings = &simulation->settings;
    simulation->time_step = 1 / settings->world.hz;
    simulation->ik = ik;
    simulation->start = settings->has_start ? settings->start : first_frame(models, count);
    if (build(simulation, models, err))
        return simulation;
    mmd_simulation_free(simulation);
    return NULL;
}

void mmd_simulation_free(mmd_simulation *simulation)
{
    if (simulation) {
        mmd_world_free(simulation->world);
        if (simulation->members)
            mmd_simulation_members_free(simulation->members, simulation->member_count);
        mmd_simulation_checkpoints_free(&simulation->checkpoints);
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
    if (!mmd_error_require(simulation, "simulation", err) ||
        (count && !mmd_error_require(frames, "frames", err)) ||
        !mmd_numbers_check_frames("frame", frames, count, err))
        return false;
    for (size_t f = 0; f < count; f++)
        if (frames[f] > simulation->start + MMD_SIMULATION_MAX_FRAMES)
            return mmd_refuse(err, "frame is %.12g, limit %.12g with physics", frames[f],
                              simulation->start + MMD_SIMULATION_MAX_FRAMES);
    return true;
}

/* Runs up to a step, where the next pose shows a frame. */
static bool run_to(mmd_simulation *simulation, double step, size_t *steps, mmd_error *err)
{
    while (simulation->state->step < step) {
        if (steps && !*steps)
            return mmd_fail(err, MMD_E_INTERRUPTED, "no steps are left");
        mmd_simulation_run_step(simulation);
        if (!simulation->state->uses_input)
            mmd_simulation_checkpoints_update(&simulation->checkpoints, simulation->world,
                                              simulation->state->step);
        if (steps)
            --*steps;
    }
    return true;
}

/* Runs to where the frame is between the last two steps. */
static bool run_to_frame(mmd_simulation *simulation, double frame, size_t *steps, mmd_error *err)
{
    mmd_simulation_state *state = simulation->state;
    double target = step_at(simulation, frame);
    /* A frame between two steps needs the poses of both. */
    double first =
        mmd_simulation_run_frame_of_step(simulation, target) == frame ? target : target - 1;
    const mmd_simulation_checkpoint *checkpoint =
        mmd_simulation_checkpoints_find(&simulation->checkpoints, first);
    bool can_continue =
        state->started && (state->step <= first || (state->step == target && state->has_previous));
    if (checkpoint && (!can_continue || state->step < checkpoint->step))
        mmd_simulation_run_restore(simulation, checkpoint);
    else if (!can_continue)
        mmd_simulation_run_start(simulation);
    return run_to(simulation, target, steps, err);
}

bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps, mmd_error *err)
{
    if (!mmd_simulation_check(simulation, &frame, 1, err))
        return false;
    mmd_simulation_state *state = simulation->state;
    if (state->uses_input)
        mmd_simulation_reset(simulation);
    simulation->arrived = frame < simulation->start || run_to_frame(simulation, frame, steps, err);
    if (simulation->arrived)
        state->frame = frame;
    return simulation->arrived;
}

static bool check_target(const mmd_simulation_member *member, const mmd_simulation_target *target,
                         mmd_error *err)
{
    bool has_motion = member->poser->binding;
    if (has_motion && target->job)
        return mmd_refuse(err, "it has a motion and takes no pose");
    if (!has_motion && !target->job)
        return mmd_refuse(err, "it has no motion and needs a pose");
    if (!has_motion && target->job->frame_count != 1)
        return mmd_refuse(err, "a pose of %zu frames, expected 1", target->job->frame_count);
    return has_motion || mmd_pose_check(member->rig, target->job, err);
}

/* The gravity at the end of the interval that begins; NULL: that of the settings. */
static void set_target_gravity(mmd_simulation_state *state, const double *gravity)
{
    if (gravity) {
        mmd_vec3_copy(state->has_gravity ? state->gravity : gravity, state->start_gravity);
        mmd_vec3_copy(gravity, state->target_gravity);
    }
    state->has_gravity = gravity != NULL;
}

bool mmd_simulation_set_targets(mmd_simulation *simulation, const mmd_simulation_target *targets,
                                const double *gravity, double seconds, mmd_error *err)
{
    if (!mmd_error_require(simulation, "simulation", err) ||
        !mmd_error_require(targets, "targets", err))
        return false;
    mmd_simulation_state *state = simulation->state;
    if (!mmd_simulation_run_takes_input(simulation))
        return mmd_refuse(err, "a simulation of a motion takes no poses, only frames");
    if (!(seconds >= 0 && seconds <= MMD_SIMULATION_MAX_SECONDS))
        return mmd_refuse(err, "seconds: %g, expected 0 to %d", seconds,
                          MMD_SIMULATION_MAX_SECONDS);
    if (gravity && !mmd_world_check_vector("gravity", gravity, 3, err))
        return false;
    for (size_t m = 0; m < simulation->member_count; m++)
        if (!check_target(&simulation->members[m], &targets[m], err))
            return mmd_simulation_members_fail(m, simulation->member_count, err);
    /* A start that was interrupted while bodies settled is made again. */
    bool is_start = !state->uses_input || !state->started || state->step < 0;
    for (size_t m = 0; m < simulation->member_count; m++)
        if (targets[m].job)
            mmd_pose_input_set_target(&simulation->members[m].input, targets[m].job,
                                      targets[m].physics);
    set_target_gravity(state, gravity);
    simulation->arrived = false;
    state->uses_input = true;
    if (is_start) {
        mmd_simulation_run_interpolate(simulation, 1);
        state->frame = 0;
        mmd_simulation_run_start(simulation);
        state->input_start_step = state->input_end_step = 0;
        state->input_end_frame = state->input_end_accumulator = 0;
        return true;
    }
    double end = state->time_accumulator + seconds * simulation->settings.world.hz;
    double count = floor(end + ACCUMULATOR_EPSILON);
    state->input_start_step = state->step;
    state->input_end_step = state->step + count;
    state->input_start_frame = state->frame;
    state->input_end_frame = state->frame + seconds * MMD_SIMULATION_FRAMES_PER_SECOND;
    state->input_start_accumulator = state->time_accumulator;
    state->input_end_accumulator = end - count > ACCUMULATOR_EPSILON ? end - count : 0;
    return true;
}

bool mmd_simulation_advance(mmd_simulation *simulation, size_t *steps, mmd_error *err)
{
    if (!mmd_error_require(simulation, "simulation", err))
        return false;
    mmd_simulation_state *state = simulation->state;
    if (!state->uses_input)
        return mmd_refuse(err, "there are no targets to advance to");
    if (!run_to(simulation, state->input_end_step, steps, err))
        return false;
    mmd_simulation_run_interpolate(simulation, 1);
    state->time_accumulator = state->input_end_accumulator;
    state->frame = state->input_end_frame;
    simulation->arrived = true;
    return true;
}

/* Poses */

/* A member's body poses, in its own space, at a frame between the last two steps; with poses of the
   caller, after the last step, from where the bodies go on with their velocities, as in Bullet's
   synchronizeMotionStates. */
static void show_bodies(mmd_simulation *simulation, const mmd_simulation_member *member,
                        double frame)
{
    mmd_simulation_state *state = simulation->state;
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    double frames_back = mmd_simulation_run_frame_of_step(simulation, state->step) - frame;
    double fraction =
        frames_back * simulation->settings.world.hz / MMD_SIMULATION_FRAMES_PER_SECOND;
    double seconds = state->time_accumulator / simulation->settings.world.hz;
    size_t end = member->first_body + member->body_count;
    for (size_t i = member->first_body; i < end; i++) {
        mmd_body_pose *pose = &simulation->poses[i], current = bodies[i].state.pose;
        if (!state->uses_input)
            mmd_body_pose_interpolate(&current, &simulation->previous_poses[i], fraction, pose);
        else
            *pose = current;
        if (state->uses_input && seconds > 0)
            mmd_body_pose_extrapolate(&bodies[i].state, seconds, pose);
        mmd_simulation_member_to_model(member, pose);
    }
}

static void drive_bones(mmd_simulation *simulation, mmd_simulation_member *member, double frame,
                        size_t first)
{
    mmd_simulation_run_read_switches(simulation, frame);
    mmd_bone_bodies_drive(&member->bone_bodies, simulation->poses + member->first_body,
                          simulation->physics_off + member->first_body, &member->poser->pose, first,
                          member->rig->bone_count);
}

static void pose(mmd_simulation *simulation, mmd_simulation_member *member, float *matrices,
                 float *morph_weights)
{
    double frame = simulation->state->frame;
    bool with_physics = simulation->state->uses_input || frame >= simulation->start;
    member->bones_valid = member->bones_valid && !simulation->state->uses_input;
    mmd_pose_job job = mmd_simulation_run_pose_job(simulation, member, frame);
    mmd_simulation_run_pose_bones(simulation, member, frame);
    member->bones_valid = false;
    if (with_physics) {
        show_bodies(simulation, member, frame);
        drive_bones(simulation, member, frame, 0);
    }
    if (with_physics && member->bone_bodies.again) {
        mmd_bone_bodies_find_fixed(member->rig, simulation->physics_off + member->first_body,
                                   &member->bone_bodies);
        mmd_pose_again(member->poser, &job, member->bone_bodies.fixed, member->saved_bones);
        drive_bones(simulation, member, frame, 0);
    }
    mmd_pose_after_physics(member->poser, &job);
    if (with_physics && member->bone_bodies.drives_after_physics)
        drive_bones(simulation, member, frame, member->bone_bodies.first_after_physics);
    mmd_pose_state_matrices(&member->poser->pose, matrices);
    size_t morphs = member->rig->morph_count;
    if (morphs)
        memcpy(morph_weights, member->morph_weights, morphs * sizeof *morph_weights);
}

bool mmd_simulation_pose(mmd_simulation *simulation, size_t model, float *matrices,
                         float *morph_weights, mmd_error *err)
{
    if (!mmd_error_require(simulation, "simulation", err))
        return false;
    if (model >= simulation->member_count)
        return mmd_refuse(err, "model: %zu of %zu", model, simulation->member_count);
    mmd_simulation_member *member = &simulation->members[model];
    if ((member->rig->bone_count && !mmd_error_require(matrices, "matrices", err)) ||
        (member->rig->morph_count && !mmd_error_require(morph_weights, "morph_weights", err)))
        return false;
    if (!simulation->arrived)
        return mmd_refuse(err, "the simulation has not arrived at a frame");
    pose(simulation, member, matrices, morph_weights);
    return true;
}

void mmd_simulation_reset(mmd_simulation *simulation)
{
    if (!simulation)
        return;
    simulation->arrived = false;
    mmd_simulation_state *state = simulation->state;
    state->started = state->uses_input = false;
    mmd_simulation_run_forget_bones(simulation);
    state->frame = simulation->start;
}

double mmd_simulation_frame(const mmd_simulation *simulation)
{
    return simulation ? simulation->state->frame : 0;
}

void mmd_simulation_strain(const mmd_simulation *simulation, double *strain)
{
    mmd_world_strain(simulation ? simulation->world : NULL, strain);
}

bool mmd_simulation_note(const mmd_simulation *simulation, size_t index, char text[256])
{
    size_t m = 0, count;
    if (!simulation || !text)
        return false;
    while (m < simulation->member_count &&
           index >= (count = mmd_notes_count(&simulation->members[m].notes))) {
        index -= count;
        m++;
    }
    if (m == simulation->member_count)
        return false;
    const mmd_simulation_member *member = &simulation->members[m];
    mmd_text name = member->rig->model->name;
    char owner[64] = "";
    if (simulation->member_count > 1)
        snprintf(owner, sizeof owner, "model %zu \"%.*s\": ", m, mmd_text_fit(name, 36),
                 name.data ? name.data : "");
    mmd_notes_text(&member->notes, index, owner, text, 256);
    return true;
}
