/* SPDX-License-Identifier: MIT */
/* What changes while a simulation runs, in one block of memory that is saved by copying it, and the
   worlds that a run keeps to seek backwards. */
#include "core/base/error.h"
#include "core/physics/simulation_parts.h"

#include <math.h>

static const uint64_t state_layout = 0x100000000u * sizeof(mmd_simulation_state) + 7;

/* Shares the memory among what needs it and returns the size of that; NULL only counts. */
static size_t lay_out(mmd_simulation *simulation, char *memory)
{
    size_t poses = simulation->body_count * sizeof(mmd_body_pose);
    size_t size = sizeof *simulation->state + 2 * poses + (simulation->body_count + 7) / 8 * 8;
    if (memory) {
        simulation->state = (void *)memory;
        simulation->previous_poses = (void *)(memory + sizeof *simulation->state);
        simulation->still_poses = simulation->previous_poses + simulation->body_count;
        simulation->physics_off_in_world =
            (uint8_t *)(simulation->still_poses + simulation->body_count);
    }
    for (size_t m = 0; m < simulation->member_count; m++) {
        mmd_simulation_member *member = &simulation->members[m];
        bool takes_input = !member->poser->binding;
        size += mmd_pose_input_init(memory ? memory + size : NULL,
                                    takes_input ? member->rig->bone_count : 0,
                                    takes_input ? member->rig->morph_count : 0, &member->input);
        size += mmd_notes_init(memory ? memory + size : NULL, member->rig->model, &member->notes);
    }
    return size;
}

bool mmd_simulation_state_init(mmd_simulation *simulation)
{
    size_t poses = simulation->body_count * sizeof(mmd_body_pose);
    simulation->state_size = lay_out(simulation, NULL);
    char *memory = mmd_arena_alloc(&simulation->arena, simulation->state_size, 1);
    simulation->backup = mmd_arena_alloc(&simulation->arena, simulation->state_size, 1);
    if (!memory || !simulation->backup)
        return false;
    lay_out(simulation, memory);
    simulation->state->layout = state_layout;
    simulation->state->frame = simulation->start;
    if (poses) {
        memcpy(simulation->previous_poses, simulation->rest_poses, poses);
        memcpy(simulation->still_poses, simulation->rest_poses, poses);
    }
    return true;
}

/* The world follows the block. */
size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes)
{
    if (!simulation)
        return 0;
    size_t size = simulation->state_size;
    if (bytes)
        memcpy(bytes, simulation->state, size);
    return size + mmd_world_save(simulation->world, bytes ? (char *)bytes + size : NULL);
}

static bool is_step(const mmd_simulation *simulation, double step)
{
    return step >= -simulation->settings.settle && step <= 1e15 && step == floor(step);
}

static bool is_frame(double frame)
{
    return fabs(frame) <= 1e15;
}

static bool is_fraction(double number)
{
    return number >= 0 && number < 1;
}

/* Whether the present is in the interval or after it. */
static bool is_valid_interval(const mmd_simulation *simulation)
{
    const mmd_simulation_state *state = simulation->state;
    return mmd_simulation_run_takes_input(simulation) &&
           is_step(simulation, state->input_start_step) &&
           is_step(simulation, state->input_end_step) && is_frame(state->input_start_frame) &&
           is_frame(state->input_end_frame) && is_fraction(state->input_start_accumulator) &&
           is_fraction(state->input_end_accumulator) && mmd_body_is_in_range(state->gravity) &&
           mmd_body_is_in_range(state->start_gravity) &&
           mmd_body_is_in_range(state->target_gravity) &&
           (state->input_end_step <= state->input_start_step ||
            state->input_start_step <= state->step);
}

/* Whether the block, which may come from outside, is one to continue from. */
static bool is_valid(const mmd_simulation *simulation)
{
    const mmd_simulation_state *state = simulation->state;
    if (!is_step(simulation, state->step) || !is_step(simulation, state->still_step) ||
        !is_frame(state->frame) || !is_fraction(state->time_accumulator) ||
        (state->uses_input && !is_valid_interval(simulation)))
        return false;
    for (size_t i = 0; i < simulation->body_count; i++)
        if (!mmd_body_pose_is_valid(&simulation->previous_poses[i]) ||
            !mmd_body_pose_is_valid(&simulation->still_poses[i]))
            return false;
    for (size_t m = 0; m < simulation->member_count; m++)
        if (!mmd_pose_input_is_valid(&simulation->members[m].input) ||
            !mmd_notes_are_valid(&simulation->members[m].notes))
            return false;
    return true;
}

bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size, mmd_error *err)
{
    if (!mmd_error_require(simulation, "simulation", err) ||
        !mmd_error_require(bytes, "bytes", err))
        return false;
    size_t own = simulation->state_size;
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    mmd_error world_error = {.code = MMD_E_ARGUMENT};
    if (size >= sizeof state_layout && memcmp(bytes, &state_layout, sizeof state_layout) != 0)
        return mmd_refuse(
            err, "state: saved by another version of mmdskin or on another kind of system, "
                 "simulate it again");
    memcpy(simulation->backup, simulation->state, own);
    if (size >= own)
        memcpy(simulation->state, bytes, own);
    if (size < own || !is_valid(simulation) ||
        !mmd_world_load(simulation->world, (const char *)bytes + own, size - own, &world_error)) {
        memcpy(simulation->state, simulation->backup, own);
        return world_error.code == MMD_E_MEMORY
                   ? mmd_fail_memory(err)
                   : mmd_refuse(err, "state: not valid for this simulation");
    }
    for (size_t i = 0; i < simulation->body_count; i++)
        if (!bodies[i].kinematic)
            mmd_simulation_run_set_switch(simulation, i, simulation->physics_off_in_world[i]);
    simulation->arrived = false;
    mmd_simulation_run_forget_bones(simulation);
    return true;
}

/* Checkpoints, at multiples of an interval, which doubles when they become too many. */

/* Ten seconds at 60 steps per second, which take about a tenth of a second to simulate. */
enum { FIRST_INTERVAL = 600, MAX_BYTES = 1 << 26 };

/* Doubles the interval, which removes every other checkpoint of a run without gaps. */
static void thin_out(mmd_simulation_checkpoints *checkpoints)
{
    size_t kept = 0;
    checkpoints->interval *= 2;
    for (size_t i = 0; i < checkpoints->count; i++) {
        mmd_simulation_checkpoint *checkpoint = &checkpoints->list[i];
        if (fmod(checkpoint->step, checkpoints->interval) == 0) {
            checkpoints->list[kept++] = *checkpoint;
        } else {
            checkpoints->bytes -= checkpoint->size;
            mmd_arena_free(&checkpoint->arena);
        }
    }
    checkpoints->count = kept;
}

void mmd_simulation_checkpoints_update(mmd_simulation_checkpoints *checkpoints,
                                       const mmd_world *world, double step)
{
    if (checkpoints->interval == 0)
        checkpoints->interval = FIRST_INTERVAL;
    if (checkpoints->bytes > MAX_BYTES)
        thin_out(checkpoints);
    while (checkpoints->count ==
           MMD_SIMULATION_CHECKPOINTS_MAX) /* runs from saved states leave gaps */
        thin_out(checkpoints);
    bool is_new = checkpoints->count == 0 || checkpoints->list[checkpoints->count - 1].step < step;
    if (step < 0 || fmod(step, checkpoints->interval) != 0 || !is_new)
        return;
    mmd_simulation_checkpoint *checkpoint = &checkpoints->list[checkpoints->count];
    *checkpoint = (mmd_simulation_checkpoint){.step = step, .size = mmd_world_save(world, NULL)};
    checkpoint->world = mmd_arena_alloc(&checkpoint->arena, checkpoint->size, 1);
    if (!checkpoint->world) {
        mmd_arena_free(&checkpoint->arena);
        return;
    }
    mmd_world_save(world, checkpoint->world);
    checkpoints->bytes += checkpoint->size;
    checkpoints->count++;
}

const mmd_simulation_checkpoint *mmd_simulation_checkpoints_find(
    const mmd_simulation_checkpoints *checkpoints, double step)
{
    const mmd_simulation_checkpoint *found = NULL;
    for (size_t i = 0; i < checkpoints->count && checkpoints->list[i].step <= step; i++)
        found = &checkpoints->list[i];
    return found;
}

void mmd_simulation_checkpoints_free(mmd_simulation_checkpoints *checkpoints)
{
    for (size_t i = 0; i < checkpoints->count; i++)
        mmd_arena_free(&checkpoints->list[i].arena);
    *checkpoints = (mmd_simulation_checkpoints){0};
}
