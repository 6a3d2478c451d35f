/* SPDX-License-Identifier: MIT */
#include "core/physics/simulation_run.h"

#include "core/physics/impulses.h"
#include "core/physics/vector.h"

#include <math.h>

enum {
    IMPULSES_PER_SECOND = 60, /* of an impulse morph */
    STEPS_OF_WATCH = 30       /* between two looks at the joints' strain */
};

/* Units beyond the limits of its joint at which a body is held: what hangs stays in one piece. */
#define LEASH 3

/* Those at which a joint is noted: it is pulled by more than the body that hangs on it. */
#define STRAINED 10

double mmd_run_frame(const mmd_simulation *simulation, double step)
{
    return simulation->start + fmax(step, 0) * MMD_FRAMES_PER_SECOND / simulation->physics.world.hz;
}

void mmd_run_keep_stands(const mmd_simulation *simulation, mmd_stand *stands)
{
    const mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        mmd_copy3(bodies[i].state.position, stands[i].position);
        memcpy(stands[i].rotation, bodies[i].state.rotation, sizeof stands[i].rotation);
    }
}

/* Bones */

mmd_pose_job mmd_run_job(const mmd_simulation *simulation, const double *frame)
{
    mmd_pose_job job = {
        .frame_count = 1, .ik = simulation->ik, .frames = frame, .sliders = simulation->sliders};
    if (simulation->is_given) {
        job.translation_frames = job.rotation_frames = job.slider_frames = 1;
        job.translations = simulation->given.now.translations;
        job.rotations = simulation->given.now.rotations;
        job.given_sliders = simulation->given.now.sliders;
        job.ik_bones = simulation->given.now.ik;
        job.ik_frames = 1;
    }
    return job;
}

void mmd_run_place_bones(mmd_simulation *simulation, double frame)
{
    if (simulation->placed && simulation->placed_frame == frame)
        return;
    mmd_pose_job job = mmd_run_job(simulation, &frame);
    mmd_pose_before_physics(simulation->poser, &job, 0);
    simulation->placed = true;
    simulation->placed_frame = frame;
}

/* Where the bones of the frame carry the bodies; those are then as before physics again. */
static void find_stands(mmd_simulation *simulation, double frame, mmd_stand *stands)
{
    mmd_run_place_bones(simulation, frame);
    mmd_frame *bones = mmd_poser_frame(simulation->poser);
    size_t size = simulation->rig->bone_count * sizeof *simulation->kept;
    bool after = simulation->seats.on_after;
    if (after) {
        mmd_pose_job job = mmd_run_job(simulation, &frame);
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

/* The bodies of some islands, or of all, go to where the bones carry them, at rest; those that
   nothing carries, or too far, stay where they are. */
static void put_bodies(mmd_simulation *simulation, const mmd_stand *stands, const bool *islands)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        if (islands && !islands[simulation->islands[i]])
            continue;
        if (simulation->within[i])
            put_body(&bodies[i], &stands[i]);
        else
            mmd_body_rest(&bodies[i]);
        bodies[i].lost = false;
    }
    mmd_world_forget(simulation->world);
}

void mmd_run_read_switches(mmd_simulation *simulation, double frame)
{
    if (!simulation->is_given) {
        mmd_switches_read(&simulation->switches, frame, simulation->off);
        return;
    }
    for (size_t i = 0; i < simulation->seats.body_count; i++) {
        int32_t bone = simulation->rig->model->rigid_bodies[i].bone;
        simulation->off[i] = bone >= 0 && !simulation->given.now.physics[bone];
    }
}

/* Bodies whose physics is switched off are held; those that are let go again start from where they
   are. */
static void hold_bodies(mmd_simulation *simulation, double frame)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    mmd_run_read_switches(simulation, frame);
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
    double most = simulation->physics.teleport * MMD_FRAMES_PER_SECOND * simulation->period;
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
    bool *anew = simulation->anew, any = false;
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        if (bodies[i].lost && !anew[simulation->islands[i]]) {
            mmd_notes_body(&simulation->notes, MMD_NOTE_LOST, i, frame);
            anew[simulation->islands[i]] = any = true;
        }
    if (!any)
        return;
    put_bodies(simulation, stands, anew);
    memset(anew, 0, simulation->seats.body_count * sizeof *anew);
}

/* Holds what hangs in one piece, and tells of joints that keep straining. */
static void hold_joints(mmd_simulation *simulation, double frame)
{
    size_t joint;
    bool held = mmd_world_leash(simulation->world, LEASH, &joint);
    if (fmod(simulation->step, STEPS_OF_WATCH) != 0)
        return;
    if (held)
        mmd_notes_joint(&simulation->notes, MMD_NOTE_HELD, joint, frame, LEASH);
    double stretch = mmd_world_stretch(simulation->world, &joint);
    if (stretch > STRAINED)
        mmd_notes_joint(&simulation->notes, MMD_NOTE_STRAIN, joint, frame, stretch);
}

/* Steps */

void mmd_run_set_period(mmd_simulation *simulation, double seconds)
{
    simulation->period = seconds;
    mmd_world_set_period(simulation->world, seconds);
}

void mmd_run_begin(mmd_simulation *simulation)
{
    mmd_body *bodies = mmd_world_bodies(simulation->world);
    for (size_t i = 0; i < simulation->seats.body_count; i++)
        put_body(&bodies[i], &simulation->rest[i]);
    mmd_run_set_period(simulation, 1 / simulation->physics.world.hz);
    find_stands(simulation, simulation->start, simulation->shown);
    put_bodies(simulation, simulation->shown, NULL);
    hold_bodies(simulation, simulation->start);
    mmd_run_keep_stands(simulation, simulation->stands);
    simulation->step = -simulation->physics.settle;
    simulation->begun = true;
    simulation->has_before = false;
}

/* The frame of the step that is taken now, where the bones go. */
static double next_frame(mmd_simulation *simulation)
{
    simulation->step++;
    if (!simulation->is_given)
        return mmd_run_frame(simulation, simulation->step);
    double way = simulation->way_end - simulation->way_start;
    if (way > 0)
        mmd_given_go(&simulation->given, (simulation->step - simulation->way_start) / way);
    simulation->placed = false;
    simulation->frame += way > 0 ? simulation->way_frames / way : 0;
    return simulation->frame;
}

void mmd_run_step(mmd_simulation *simulation)
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
    hold_joints(simulation, frame);
    mmd_run_keep_stands(simulation, stands);
    if (!simulation->is_given)
        mmd_checkpoints_visit(&simulation->checkpoints, simulation->world, simulation->step);
}

void mmd_run_go_back(mmd_simulation *simulation, double step, const void *world)
{
    mmd_run_set_period(simulation, 1 / simulation->physics.world.hz);
    hold_bodies(simulation, mmd_run_frame(simulation, step));
    mmd_world_restore(simulation->world, world);
    mmd_run_keep_stands(simulation, simulation->stands);
    simulation->step = step;
    simulation->begun = true;
    simulation->has_before = false;
}
