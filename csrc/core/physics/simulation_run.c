/* SPDX-License-Identifier: MIT */
/* One step of a simulation:

   1. The bones before physics are evaluated at the frame of the step, and with them the poses that
      bones give to bodies (kinematic transforms).
   2. Physics switches make bodies kinematic or dynamic. A jump of a whole model restarts its bodies
      (the setting `teleport`).
   3. Kinematic bodies move to their bones; impulse morphs act; the world advances by one step, in
      the gravity of the frame.
   4. Bodies that became unstable restart at their bones, with their islands. The joint stretch
      limit moves bodies back that are too far from their joints.
   5. Settling ends early when all bodies are at rest. */
#include "core/physics/simulation_parts.h"

#include "core/math/mat3.h"
#include "core/math/scalar.h"

#include <math.h>

enum {
    IMPULSES_PER_SECOND = 60 /* rate at which impulse morphs act at full weight */
};

/* The joint stretch limit: units beyond its limits at which a joint moves its child body back, so
   that a model stays in one piece. */
#define MAX_STRETCH 3

/* Stretch (units) that is reported although the limit acts: something other than its child body
   pulls the joint apart. */
#define NOTED_STRETCH 10

double mmd_simulation_run_frame_of_step(const mmd_simulation *simulation, double step)
{
    return simulation->start +
           fmax(step, 0) * MMD_SIMULATION_FRAMES_PER_SECOND / simulation->settings.world.hz;
}

void mmd_simulation_run_copy_poses(const mmd_simulation *simulation, mmd_body_pose *poses)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->body_count; i++)
        poses[i] = bodies[i].state.pose;
}

/* Bones */

/* Whether its bones are at poses of the caller. */
static bool uses_input(const mmd_simulation *simulation, const mmd_simulation_member *member)
{
    return simulation->state->uses_input && !member->poser->binding;
}

bool mmd_simulation_run_takes_input(const mmd_simulation *simulation)
{
    for (size_t m = 0; m < simulation->member_count; m++)
        if (!simulation->members[m].poser->binding)
            return true;
    return false;
}

/* The frame of the member's motion at one of the run: with poses of the caller, `frame` counts from
   the start. */
static double motion_frame(const mmd_simulation *simulation, const mmd_simulation_member *member,
                           double frame)
{
    bool counts = simulation->state->uses_input && member->poser->binding;
    return (counts ? simulation->start + frame : frame) + member->offset;
}

void mmd_simulation_run_forget_bones(mmd_simulation *simulation)
{
    for (size_t m = 0; m < simulation->member_count; m++)
        simulation->members[m].bones_valid = false;
}

mmd_pose_job mmd_simulation_run_pose_job(const mmd_simulation *simulation,
                                         mmd_simulation_member *member, double frame)
{
    member->motion_frame = motion_frame(simulation, member, frame);
    mmd_pose_job job = {.frame_count = 1,
                        .ik = simulation->ik,
                        .frames = &member->motion_frame,
                        .out_morph_weights = member->morph_weights};
    if (uses_input(simulation, member)) {
        const mmd_pose_input_values *values = &member->input.current;
        job.translation_frames = job.rotation_frames = job.morph_weight_frames = 1;
        job.translations = values->translations;
        job.rotations = values->rotations;
        job.morph_weights = values->morph_weights;
        job.ik_bones = values->ik;
        job.ik_frames = 1;
    }
    return job;
}

void mmd_simulation_run_pose_bones(mmd_simulation *simulation, mmd_simulation_member *member,
                                   double frame)
{
    if (member->bones_valid && member->bones_frame == frame)
        return;
    mmd_pose_job job = mmd_simulation_run_pose_job(simulation, member, frame);
    mmd_pose_before_physics(member->poser, &job, 0);
    member->bones_valid = true;
    member->bones_frame = frame;
}

/* The pose that a bone gives to a body. False if it exceeds MMD_BODY_LIMIT, or if there is no
   bone. */
static bool follow(const mmd_simulation_member *member, size_t body, mmd_body_pose *pose)
{
    if (!mmd_bone_bodies_follow(&member->bone_bodies.bindings[body], &member->poser->pose, pose))
        return false;
    mmd_simulation_member_to_world(member, pose);
    return mmd_body_is_in_range(pose->position);
}

/* The poses that the bones of a member give to its bodies at a frame. Bodies that follow bones
   after physics need those evaluated too; afterwards the bones are again as before physics. */
static void find_member_poses(mmd_simulation *simulation, mmd_simulation_member *member,
                              double frame)
{
    mmd_simulation_run_pose_bones(simulation, member, frame);
    mmd_pose_state *state = &member->poser->pose;
    size_t size = member->rig->bone_count * sizeof *member->saved_bones;
    bool after = member->bone_bodies.follows_after_physics;
    if (after) {
        mmd_pose_job job = mmd_simulation_run_pose_job(simulation, member, frame);
        memcpy(member->saved_bones, state->bones, size);
        mmd_pose_after_physics(member->poser, &job);
    }
    bool *in_range = simulation->in_range + member->first_body;
    for (size_t i = 0; i < member->body_count; i++) {
        in_range[i] = follow(member, i, &simulation->poses[member->first_body + i]);
        if (!in_range[i] && member->bone_bodies.bindings[i].bone >= 0)
            mmd_notes_add(&member->notes, MMD_NOTES_OUT_OF_RANGE, i, frame, 0);
    }
    if (after)
        memcpy(state->bones, member->saved_bones, size);
}

/* The poses that the bones give to all bodies at a frame. */
static void find_bone_poses(mmd_simulation *simulation, double frame)
{
    for (size_t m = 0; m < simulation->member_count; m++)
        find_member_poses(simulation, &simulation->members[m], frame);
}

/* Bodies */

static void place_body(mmd_body *body, const mmd_body_pose *pose)
{
    body->state = (mmd_body_state){.pose = *pose};
    mmd_body_update_basis(body);
}

/* Restarts the bodies from `first` to before `end`, of some islands, NULL: of all, at their bones
   and at rest. Bodies without a pose in range stay where they are. */
static void restart_bodies(mmd_simulation *simulation, size_t first, size_t end,
                           const bool *islands)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = first; i < end; i++) {
        if (islands && !islands[simulation->islands[i]])
            continue;
        if (simulation->in_range[i])
            place_body(&bodies[i], &simulation->poses[i]);
        else
            mmd_body_stop(&bodies[i]);
        bodies[i].diverged = false;
    }
    mmd_world_clear_contacts(simulation->world, first, end);
}

void mmd_simulation_run_read_switches(mmd_simulation *simulation, double frame)
{
    for (size_t m = 0; m < simulation->member_count; m++) {
        mmd_simulation_member *member = &simulation->members[m];
        bool *off = simulation->physics_off + member->first_body;
        if (!uses_input(simulation, member)) {
            double member_frame = motion_frame(simulation, member, frame);
            mmd_bone_bodies_read_switches(&member->bone_bodies, member_frame, off);
            continue;
        }
        for (size_t i = 0; i < member->body_count; i++) {
            int32_t bone = member->rig->model->rigid_bodies[i].bone;
            off[i] = bone >= 0 && !member->input.current.physics[bone];
        }
    }
}

void mmd_simulation_run_set_switch(mmd_simulation *simulation, size_t body, bool off)
{
    const mmd_simulation_member *member = mmd_simulation_members_of_body(simulation->members, body);
    simulation->physics_off_in_world[body] = off;
    mmd_body_set_dynamic(&mmd_world_bodies(simulation->world)[body],
                         &member->rig->model->rigid_bodies[body - member->first_body], !off);
}

/* Bodies whose physics is switched off become kinematic. Those that are switched on again start at
   rest from where they are. */
static void apply_switches(mmd_simulation *simulation, double frame)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    mmd_simulation_run_read_switches(simulation, frame);
    for (size_t i = 0; i < simulation->body_count; i++) {
        if (bodies[i].kinematic ||
            simulation->physics_off_in_world[i] == simulation->physics_off[i])
            continue;
        mmd_simulation_run_set_switch(simulation, i, simulation->physics_off[i]);
        mmd_body_stop(&bodies[i]);
    }
}

/* Whether every kinematic body of a model moves farther in this step than `teleport` allows. */
static bool has_teleported(const mmd_simulation *simulation, const mmd_simulation_member *member)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    double limit =
        simulation->settings.teleport * MMD_SIMULATION_FRAMES_PER_SECOND * simulation->time_step;
    bool any = false;
    size_t end = member->first_body + member->body_count;
    for (size_t i = member->first_body; limit > 0 && i < end; i++) {
        double displacement[3];
        if (!bodies[i].kinematic || !simulation->in_range[i])
            continue;
        mmd_vec3_subtract(simulation->poses[i].position, bodies[i].state.position, displacement);
        if (mmd_vec3_length(displacement) <= limit)
            return false;
        any = true;
    }
    return any;
}

static void restart_teleported(mmd_simulation *simulation, double frame)
{
    for (size_t m = 0; m < simulation->member_count; m++) {
        mmd_simulation_member *member = &simulation->members[m];
        if (!has_teleported(simulation, member))
            continue;
        mmd_notes_add(&member->notes, MMD_NOTES_TELEPORTED, 0, frame, 0);
        restart_bodies(simulation, member->first_body, member->first_body + member->body_count,
                       NULL);
    }
}

static void move_kinematic_bodies(mmd_simulation *simulation)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->body_count; i++) {
        if (!bodies[i].kinematic && !simulation->physics_off_in_world[i])
            continue;
        if (simulation->in_range[i])
            mmd_body_move_kinematic(&bodies[i], &simulation->poses[i], simulation->time_step);
        else
            mmd_body_stop(&bodies[i]);
    }
}

/* Impulse morphs: docs/mmd-behavior.md#impulse-morphs. The columns of an offset; `local` means
   that impulse and torque are along the body's axes. */
enum { LOCAL, IMPULSE, TORQUE = 4, COLUMNS = 7 };

/* An offset of zeros stops its body. */
static bool is_stop(const float *offset)
{
    for (int i = IMPULSE; i < COLUMNS; i++)
        if (offset[i] != 0)
            return false;
    return true;
}

static void apply_impulse(const mmd_simulation_member *member, const float *offset, double scale,
                          mmd_body *body)
{
    double impulse[3], torque[3], rotated[3];
    for (int i = 0; i < 3; i++) {
        impulse[i] = scale * (double)offset[IMPULSE + i];
        torque[i] = scale * (double)offset[TORQUE + i];
    }
    if (offset[LOCAL] != 0) {
        mmd_mat3_transform(body->basis, impulse, rotated);
        mmd_vec3_copy(rotated, impulse);
        mmd_mat3_transform(body->basis, torque, rotated);
        mmd_vec3_copy(rotated, torque);
    } else if (member->placed) {
        mmd_quat_rotate(member->transform.rotation, impulse, impulse);
        mmd_quat_rotate(member->transform.rotation, torque, torque);
    }
    mmd_body_apply_impulse(body, impulse, torque);
}

/* All stops come before all impulses. */
static void apply_impulse_morphs(mmd_simulation *simulation, const mmd_simulation_member *member)
{
    const mmd_model *model = member->rig->model;
    const float *weights = member->poser->weights;
    mmd_body *bodies = mmd_world_bodies(simulation->world) + member->first_body;
    double scale = IMPULSES_PER_SECOND * simulation->time_step;
    for (int impulses = 0; impulses < 2; impulses++)
        for (size_t m = 0; m < model->morph_count; m++) {
            const mmd_morph *morph = &model->morphs[m];
            if (morph->kind != MMD_MORPH_IMPULSE || weights[m] == 0)
                continue;
            for (size_t k = 0; k < morph->offset_count; k++) {
                const float *offset = morph->values + COLUMNS * k;
                mmd_body *body = &bodies[morph->indices[k]];
                if (body->inverse_mass == 0 || is_stop(offset) == impulses)
                    continue;
                if (impulses)
                    apply_impulse(member, offset, scale * (double)weights[m], body);
                else
                    mmd_body_stop(body);
            }
        }
}

static void restart_diverged(mmd_simulation *simulation, double frame)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    bool *restarting = simulation->restarting;
    for (size_t m = 0; m < simulation->member_count; m++) {
        mmd_simulation_member *member = &simulation->members[m];
        size_t first = member->first_body, end = first + member->body_count;
        bool any = false;
        for (size_t i = first; i < end; i++)
            if (bodies[i].diverged && !restarting[simulation->islands[i]]) {
                mmd_notes_add(&member->notes, MMD_NOTES_DIVERGED, i - first, frame, 0);
                restarting[simulation->islands[i]] = any = true;
            }
        if (!any)
            continue;
        restart_bodies(simulation, first, end, restarting);
        memset(restarting + first, 0, member->body_count * sizeof *restarting);
    }
}

static void note_joint(mmd_simulation *simulation, mmd_notes_kind kind, size_t joint, double frame,
                       double distance)
{
    mmd_simulation_member *member = mmd_simulation_members_of_joint(simulation->members, joint);
    mmd_notes_add(&member->notes, kind, joint - member->first_joint, frame, distance);
}

/* Applies the joint stretch limit, and notes where it acts and what it cannot hold. */
static void limit_stretch(mmd_simulation *simulation, double frame)
{
    size_t joint;
    double stretch;
    if (mmd_world_limit_stretch(simulation->world, MAX_STRETCH, &stretch, &joint))
        note_joint(simulation, MMD_NOTES_STRETCH_LIMITED, joint, frame, MAX_STRETCH);
    if (stretch <= MAX_STRETCH)
        return;
    stretch = mmd_world_max_stretch(simulation->world, &joint);
    if (stretch > NOTED_STRETCH)
        note_joint(simulation, MMD_NOTES_STRETCHED, joint, frame, stretch);
}

/* Settling */

/* Bodies are at rest if none leaves a pose by more than this (units, radians) in a half second:
   long enough for the turning point of a strand. */
#define REST_DISTANCE 0.002
#define REST_SECONDS 0.5

static bool is_near(const mmd_body_pose *a, const mmd_body_pose *b)
{
    double minus = 0, plus = 0; /* q and -q are the same rotation */
    for (int i = 0; i < 4; i++) {
        minus += (a->rotation[i] - b->rotation[i]) * (a->rotation[i] - b->rotation[i]);
        plus += (a->rotation[i] + b->rotation[i]) * (a->rotation[i] + b->rotation[i]);
    }
    return mmd_vec3_squared_distance(a->position, b->position) < REST_DISTANCE * REST_DISTANCE &&
           4 * fmin(minus, plus) < REST_DISTANCE * REST_DISTANCE;
}

/* Whether the bodies have been at rest for REST_SECONDS, so that further steps would change
   nothing. Otherwise remembers the poses that they have left. */
static bool has_settled(mmd_simulation *simulation)
{
    mmd_simulation_state *state = simulation->state;
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->body_count; i++) {
        if (!is_near(&bodies[i].state.pose, &simulation->still_poses[i])) {
            mmd_simulation_run_copy_poses(simulation, simulation->still_poses);
            state->still_step = state->step;
            return false;
        }
    }
    return (state->step - state->still_step) * simulation->time_step >= REST_SECONDS;
}

/* Steps */

void mmd_simulation_run_start(mmd_simulation *simulation)
{
    mmd_simulation_state *state = simulation->state;
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->body_count; i++)
        place_body(&bodies[i], &simulation->rest_poses[i]);
    double frame = state->uses_input ? 0 : simulation->start;
    find_bone_poses(simulation, frame);
    restart_bodies(simulation, 0, simulation->body_count, NULL);
    apply_switches(simulation, frame);
    mmd_simulation_run_copy_poses(simulation, simulation->still_poses);
    state->step = state->still_step = -simulation->settings.settle;
    state->time_accumulator = 0;
    state->started = true;
    state->has_previous = false;
}

void mmd_simulation_run_interpolate(mmd_simulation *simulation, double fraction)
{
    mmd_simulation_state *state = simulation->state;
    for (size_t m = 0; m < simulation->member_count; m++)
        mmd_pose_input_interpolate(&simulation->members[m].input, fraction);
    for (int i = 0; i < 3; i++) {
        double start = state->start_gravity[i], target = state->target_gravity[i];
        state->gravity[i] = fraction >= 1 ? target : start + fraction * (target - start);
    }
    mmd_simulation_run_forget_bones(simulation);
}

/* Gravity */

#define MAX_FRAME 1e15 /* beyond, doubles have few fractions */

/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t mixed(uint64_t bits)
{
    bits += 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return bits ^ bits >> 31;
}

/* A random number of -1 to 1. */
static double random_number(uint32_t seed, int64_t frame, int axis)
{
    uint64_t bits = mixed(mixed((uint64_t)seed << 2 | (uint64_t)axis) ^ (uint64_t)frame);
    return (double)(bits >> 11) * 0x1p-52 - 1;
}

/* The gravity at a frame: linear between rows, the first row before and the last one after them, or
   `constant`. Plus noise: random numbers of each frame, also linear in between, so that they depend
   on seed and frame, not on the length of steps. */
static void gravity_at(const mmd_gravity *gravity, const double constant[3], double frame,
                       double result[3])
{
    double last = gravity->row_count > 0 ? (double)(gravity->row_count - 1) : 0;
    double place = mmd_clamp(frame, 0, last), row = floor(place);
    const double *from = gravity->rows ? gravity->rows + 3 * (size_t)row : constant;
    const double *to = gravity->rows && row < last ? from + 3 : from;
    frame = mmd_clamp(frame, -MAX_FRAME, MAX_FRAME);
    int64_t before = (int64_t)floor(frame);
    double fraction = frame - floor(frame);
    for (int i = 0; i < 3; i++) {
        result[i] = from[i] + (place - row) * (to[i] - from[i]);
        if (gravity->noise == 0)
            continue;
        double a = random_number(gravity->seed, before, i);
        double b = random_number(gravity->seed, before + 1, i);
        result[i] += gravity->noise * (a + fraction * (b - a));
    }
}

/* That of the caller, or of the settings at a frame. */
static void set_gravity(mmd_simulation *simulation, double frame)
{
    const mmd_simulation_state *state = simulation->state;
    mmd_gravity changes = simulation->settings.gravity;
    const double *constant = simulation->settings.world.gravity;
    double gravity[3];
    if (state->uses_input && state->has_gravity) {
        changes.rows = NULL;
        constant = state->gravity;
    }
    gravity_at(&changes, constant, frame, gravity);
    mmd_world_set_gravity(simulation->world, gravity);
}

/* Begins the next step and returns its frame. */
static double next_frame(mmd_simulation *simulation)
{
    mmd_simulation_state *state = simulation->state;
    state->step++;
    if (!state->uses_input)
        return mmd_simulation_run_frame_of_step(simulation, state->step);
    double made = state->step - state->input_start_step;
    double length = state->input_end_step - state->input_start_step + state->input_end_accumulator -
                    state->input_start_accumulator;
    if (state->input_end_step > state->input_start_step) { /* else bodies settle */
        double fraction = (made - state->input_start_accumulator) / length;
        mmd_simulation_run_interpolate(simulation, fraction);
        state->frame = state->input_start_frame +
                       fraction * (state->input_end_frame - state->input_start_frame);
    }
    state->time_accumulator = 0;
    return state->frame;
}

void mmd_simulation_run_step(mmd_simulation *simulation)
{
    mmd_simulation_state *state = simulation->state;
    mmd_simulation_run_copy_poses(simulation, simulation->previous_poses);
    state->has_previous = true;
    double frame = next_frame(simulation);
    find_bone_poses(simulation, frame);
    apply_switches(simulation, frame);
    restart_teleported(simulation, frame);
    move_kinematic_bodies(simulation);
    for (size_t m = 0; m < simulation->member_count; m++)
        apply_impulse_morphs(simulation, &simulation->members[m]);
    set_gravity(simulation, frame);
    mmd_world_advance(simulation->world);
    restart_diverged(simulation, frame);
    limit_stretch(simulation, frame);
    mmd_notes_add_dropped_pairs(&simulation->members[0].notes,
                                mmd_world_dropped_pairs(simulation->world), frame);
    if (state->step < 0 && has_settled(simulation))
        state->step = 0;
}

void mmd_simulation_run_restore(mmd_simulation *simulation,
                                const mmd_simulation_checkpoint *checkpoint)
{
    mmd_simulation_state *state = simulation->state;
    apply_switches(simulation, mmd_simulation_run_frame_of_step(simulation, checkpoint->step));
    mmd_world_restore(simulation->world, checkpoint->world, checkpoint->size);
    state->step = checkpoint->step;
    state->started = true;
    state->has_previous = false;
}
