/* SPDX-License-Identifier: MIT */
/* Saved states of a simulation, as for pickling. */
#include "core/base/error.h"
#include "core/physics/simulation_run.h"

#include <math.h>

/* The bytes begin with this; the pose inputs and the world follow. */
typedef struct saved {
    uint64_t layout; /* of this system and version */
    uint64_t started, uses_input;
    double step, frame, carried;
} saved;

static const uint64_t saved_layout = 0x100000000u * sizeof(saved) + 5;

static size_t input_size(const mmd_simulation *simulation)
{
    size_t size = 0;
    for (size_t m = 0; m < simulation->member_count; m++)
        size += mmd_pose_input_size(&simulation->members[m].input) * sizeof(float);
    return size;
}

size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes)
{
    const saved head = {saved_layout,     simulation->started, simulation->uses_input,
                        simulation->step, simulation->frame,   simulation->input_carried};
    char *out = bytes;
    if (out) {
        memcpy(out, &head, sizeof head);
        float *values = (float *)(void *)(out + sizeof head);
        for (size_t m = 0; m < simulation->member_count; m++) {
            mmd_pose_input_save(&simulation->members[m].input, values);
            values += mmd_pose_input_size(&simulation->members[m].input);
        }
    }
    size_t size = sizeof head + input_size(simulation);
    return size + mmd_world_save(simulation->world, out ? out + size : NULL);
}

static bool can_load_inputs(const mmd_simulation *simulation, const float *values)
{
    for (size_t m = 0; m < simulation->member_count; m++) {
        if (!mmd_pose_input_can_load(&simulation->members[m].input, values))
            return false;
        values += mmd_pose_input_size(&simulation->members[m].input);
    }
    return true;
}

static void load_inputs(mmd_simulation *simulation, const float *values)
{
    for (size_t m = 0; m < simulation->member_count; m++) {
        mmd_pose_input_load(&simulation->members[m].input, values);
        values += mmd_pose_input_size(&simulation->members[m].input);
    }
}

bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size, mmd_error *err)
{
    saved head;
    size_t world = sizeof head + input_size(simulation);
    const char *in = bytes;
    const float *inputs = (const float *)(const void *)(in + sizeof head);
    if (size >= world)
        memcpy(&head, in, sizeof head);
    if (size < world || head.layout != saved_layout ||
        !(head.step >= -simulation->settings.settle && head.step <= 1e15) ||
        head.step != floor(head.step) || !isfinite(head.frame) ||
        !(head.carried >= 0 && head.carried <= 1) ||
        !mmd_world_can_restore(simulation->world, in + world, size - world) ||
        !can_load_inputs(simulation, inputs))
        return mmd_fail(err, MMD_E_ARGUMENT, "state: not valid for this simulation");
    load_inputs(simulation, inputs);
    simulation->uses_input = head.uses_input && mmd_simulation_run_takes_input(simulation);
    simulation->frame = head.frame;
    mmd_simulation_run_restore(simulation, head.step, in + world);
    simulation->started = head.started && head.step >= 0; /* settling is made again */
    mmd_simulation_run_forget_bones(simulation);
    simulation->input_start_step = simulation->input_end_step = head.step;
    simulation->input_carried = simulation->input_end_carried = head.carried;
    simulation->input_end_frame = head.frame;
    return true;
}
