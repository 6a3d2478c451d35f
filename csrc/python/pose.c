/* SPDX-License-Identifier: MIT */
/* Poses of a Model, by a motion and by local values. */
#include "core/pose/pose.h"
#include "python/arguments.h"
#include "python/physics.h"
#include "python/pose_arguments.h"
#include "python/simulation.h"
#include "python/slices.h"

/* Bones of a slice: what takes about a hundredth of a second, IK included. */
enum { SLICE_BONES = 1 << 15 };

typedef struct pose_call {
    mmd_posed_pair pair;
    const mmd_pose_job *job;
    mmd_kept_poser *posers[MMD_MOST_THREADS]; /* of each thread */
} pose_call;

static bool run_part(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const pose_call *call = arg;
    mmd_kept_poser *kept = call->posers[worker];
    if (!kept->poser)
        kept->poser = mmd_poser_new(call->pair.rig, call->pair.motion, err);
    if (!kept->poser)
        return false;
    mmd_pose_job part = mmd_pose_slice(call->pair.rig, call->job, first, count);
    mmd_pose_run(kept->poser, &part);
    return true;
}

static bool run_frames(mmd_state *state, pose_call *call, const mmd_slices *slices)
{
    mmd_error err = {0};
    size_t taken = 0;
    while (taken < slices->threads &&
           (call->posers[taken] = mmd_posers_take(&call->pair, &err)) != NULL)
        taken++;
    bool done = taken == slices->threads;
    if (!done)
        mmd_raise(state, &err);
    done = done && mmd_slices_run(state, slices, run_part, call);
    while (taken-- > 0)
        mmd_posers_give_back(&call->pair, call->posers[taken]);
    return done;
}

/* The Pose of a job that lacks only its outputs, by a motion or None. */
static PyObject *run(PyObject *self, PyObject *motion, mmd_pose_job *job, bool batch,
                     PyObject *threads)
{
    mmd_state *state = mmd_state_of(self);
    mmd_pose_arrays arrays = {0};
    bool by_motion = motion != Py_None;
    pose_call call = {.pair = {.rig = mmd_model_rig(self),
                               .of_model = mmd_model_posers(self),
                               .motion = by_motion ? mmd_motion_data(motion) : NULL,
                               .of_motion = by_motion ? mmd_motion_posers(motion) : NULL},
                      .job = job};
    mmd_slices slices;
    mmd_error err = {0};
    PyObject *pose = NULL;
    if (!mmd_pose_check(call.pair.rig, job, &err)) {
        mmd_raise(state, &err);
    } else if (mmd_slices_plan(threads, job->frame_count, mmd_model_data(self)->bone_count,
                               SLICE_BONES, &slices) &&
               mmd_pose_arrays_new(mmd_model_data(self), batch, job->frame_count, &arrays)) {
        job->matrices = arrays.matrices.data;
        job->sliders = arrays.weights.data;
        if (run_frames(state, &call, &slices))
            pose = mmd_pose_object(state, &arrays);
    }
    mmd_pose_arrays_clear(&arrays);
    return pose;
}

PyObject *mmd_py_pose(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"motion", "frame", "ik", "threads", "physics", NULL};
    PyObject *motion = Py_None, *frame = NULL, *threads = Py_None, *given_physics = Py_None;
    int ik = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$pOO:pose", names, &motion, &frame, &ik,
                                     &threads, &given_physics))
        return NULL;
    mmd_state *state = mmd_state_of(self);
    mmd_physics physics;
    int simulates = mmd_physics_take(state, given_physics, &physics);
    mmd_array frames = {0};
    PyObject *pose = NULL;
    if (simulates >= 0 && mmd_motion_check(state, motion) &&
        mmd_frames_take(frame, "frame", &frames)) {
        mmd_pose_job job = {
            .frame_count = frames.rank ? frames.shape[0] : 1, .ik = ik, .frames = frames.data};
        pose = simulates ? mmd_simulate(self, motion, ik, &physics, &frames)
                         : run(self, motion, &job, frames.rank == 1, threads);
    }
    mmd_array_clear(&frames);
    return pose;
}

PyObject *mmd_py_pose_from(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"translations", "rotations", "morph_weights", "ik", "threads", NULL};
    PyObject *given_translations, *given_rotations = Py_None, *given_weights = Py_None;
    PyObject *threads = Py_None, *ik = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO$OO:pose_from", names, &given_translations,
                                     &given_rotations, &given_weights, &ik, &threads))
        return NULL;
    mmd_given_pose given = {.translations = given_translations,
                            .rotations = given_rotations,
                            .weights = given_weights,
                            .ik = ik};
    PyObject *pose = NULL;
    if (given_translations == Py_None) {
        PyErr_SetString(PyExc_TypeError, "translations: expected an array or a dict, not None");
    } else if (mmd_given_take(self, &given)) {
        pose = run(self, Py_None, &given.job, given.batch, threads);
    }
    mmd_given_clear(&given);
    return pose;
}

const char mmd_pose_doc[] =
    "pose($self, motion=None, frame=0.0, *, ik=True, threads=None, physics=None)\n--\n\n"
    "The pose of a motion as MMD has it: keys by their curves, bone morphs, append, IK. Returns a\n"
    "Pose of skinning matrices and of morph weights as the motion sets them.\n\n"
    "motion: a Motion, or None: all bones at rest, then IK.\n"
    "frame: a number (30 frames a second, may be fractional), then matrices are (B,4,4) and "
    "weights\n"
    "    (M,); or (F,) numbers in any order, then (F,B,4,4) and (F,M). Before the first key of a\n"
    "    track its first key holds, after the last its last.\n"
    "ik: whether IK runs; the motion's IK switches act then.\n"
    "threads: how many the frames are shared among, at least 1; no more are used than there are\n"
    "    frames, nor than 256. None: all cores where they are worth it. Results do not differ.\n"
    "physics: True or a Physics moves the bones of rigid bodies, from the start of the run on, "
    "which\n"
    "    takes time with the frames before; a Simulation keeps its place. One thread does it "
    "all.\n\n"
    "Matrices are float32, row-major for column vectors, translations in model units. A frame "
    "does\n"
    "not depend on the others of a batch. Raises ValueError for a frame that is not finite.\n"
    "Rules: MMD 9.32 as it was observed; IK is solved in double precision.";

const char mmd_pose_from_doc[] =
    "pose_from($self, translations, rotations=None, morph_weights=None, *, ik=True, "
    "threads=None)\n--\n\n"
    "The pose of local values, by the same evaluation as pose().\n\n"
    "translations: (B,3) or (F,B,3), model units, from the rest place, in the parent's frame.\n"
    "rotations: (B,4) or (F,B,4) quaternions x y z w of any length but zero. They are not\n"
    "    projected on fixed axes.\n"
    "Or in place of both a dict of the bones that move, {name: (translation, rotation)} with None\n"
    "    for what is at rest; names as bone() takes them.\n"
    "morph_weights: (M,) or (F,M) slider values, None: all zero; see sliders(). Bone morphs act.\n"
    "ik: whether IK runs, or (B,) or (F,B) booleans: of which bones.\n"
    "A single frame serves all frames of the others.\n"
    "threads: as of pose().\n\n"
    "Returns a Pose; raises ValueError for NaN, infinity and quaternions of length zero, KeyError "
    "for\n"
    "a name that the model lacks.";
