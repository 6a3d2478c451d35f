/* SPDX-License-Identifier: MIT */
/* What Model computes besides skinning: poses, morphed texture coordinates and materials. */
#include "core/pose/pose.h"
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/data/morph.h"
#include "python/arrays.h"
#include "python/names.h"
#include "python/records.h"
#include "python/simulation.h"
#include "python/slices.h"

/* Arrays (...) or (F, ...): the number of frames, 1 without that axis, and whether it is there. */
static bool take_frames_of(mmd_dtype dtype, PyObject *argument, const char *name, int rank,
                           const size_t *shape, mmd_array *array, size_t *frames, bool *batch)
{
    if (!mmd_array_from(argument, name, dtype, false, array))
        return false;
    bool framed = array->rank == rank + 1;
    if (!mmd_array_check_shape(array, name, framed ? rank + 1 : rank, framed ? shape : shape + 1,
                               framed ? "F" : ""))
        return false;
    *frames = framed ? array->shape[0] : 1;
    *batch |= framed;
    return true;
}

static bool take_frames(PyObject *argument, const char *name, int rank, const size_t *shape,
                        mmd_array *array, size_t *frames, bool *batch)
{
    return take_frames_of(MMD_FLOAT32, argument, name, rank, shape, array, frames, batch);
}

static bool take_weights(PyObject *argument, const mmd_model *model, mmd_array *weights,
                         size_t *frames, bool *batch)
{
    const size_t shape[] = {MMD_ANY, model->morph_count};
    return take_frames(argument, "morph_weights", 1, shape, weights, frames, batch);
}

/* Weights of a method that has no check of its own. */
static bool take_checked_weights(PyObject *self, PyObject *argument, mmd_array *weights,
                                 size_t *frames, bool *batch)
{
    const mmd_model *model = mmd_model_data(self);
    mmd_error err = {0};
    if (!take_weights(argument, model, weights, frames, batch))
        return false;
    if (mmd_morph_check(weights->data, *frames, model->morph_count, &err))
        return true;
    mmd_raise(mmd_state_of(self), &err);
    return false;
}

bool mmd_pose_arrays(const mmd_model *model, bool batch, size_t frames, mmd_array *matrices,
                     mmd_array *weights)
{
    const size_t matrix_shape[] = {frames, model->bone_count, 4, 4};
    const size_t weight_shape[] = {frames, model->morph_count};
    return mmd_array_new(batch ? 4 : 3, matrix_shape + !batch, matrices) &&
           mmd_array_new(batch ? 2 : 1, weight_shape + !batch, weights);
}

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
    mmd_array matrices = {0}, sliders = {0};
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
               mmd_pose_arrays(mmd_model_data(self), batch, job->frame_count, &matrices,
                               &sliders)) {
        job->matrices = matrices.data;
        job->sliders = sliders.data;
        if (run_frames(state, &call, &slices))
            pose = PyObject_CallFunctionObjArgs(state->records[MMD_RECORD_POSE], matrices.object,
                                                sliders.object, NULL);
    }
    mmd_array_clear(&matrices);
    mmd_array_clear(&sliders);
    return pose;
}

bool mmd_motion_check(mmd_state *state, PyObject *motion)
{
    if (motion == Py_None || Py_TYPE(motion) == state->motion_type)
        return true;
    PyErr_Format(PyExc_TypeError, "motion: expected a Motion or None, not %R",
                 (PyObject *)Py_TYPE(motion));
    return false;
}

bool mmd_frames_take(PyObject *frame, mmd_array *frames)
{
    PyObject *given = frame ? Py_NewRef(frame) : PyFloat_FromDouble(0);
    bool taken = given && mmd_array_from(given, "frame", MMD_FLOAT64, false, frames);
    Py_XDECREF(given);
    if (taken && frames->rank > 1)
        PyErr_Format(PyExc_ValueError, "frame: %d dimensions, expected a number or (F,)",
                     frames->rank);
    return taken && frames->rank <= 1;
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
    if (simulates >= 0 && mmd_motion_check(state, motion) && mmd_frames_take(frame, &frames)) {
        mmd_pose_job job = {
            .frame_count = frames.rank ? frames.shape[0] : 1, .ik = ik, .frames = frames.data};
        pose = simulates ? mmd_simulate(self, motion, ik, &physics, &frames)
                         : run(self, motion, &job, frames.rank == 1, threads);
    }
    mmd_array_clear(&frames);
    return pose;
}

/* Local values as two arrays, or as a dict of the bones that move. */
static bool take_locals(PyObject *self, PyObject *given_translations, PyObject *given_rotations,
                        mmd_array *translations, mmd_array *rotations, mmd_pose_job *job,
                        bool *batch)
{
    if (given_translations == Py_None && given_rotations == Py_None) {
        job->translation_frames = job->rotation_frames = 1;
        return true;
    }
    const size_t bones = mmd_model_data(self)->bone_count;
    const size_t vectors[] = {MMD_ANY, bones, 3}, quaternions[] = {MMD_ANY, bones, 4};
    if (given_translations == Py_None) {
        if (!take_frames(given_rotations, "rotations", 2, quaternions, rotations,
                         &job->rotation_frames, batch))
            return false;
        job->translation_frames = 1;
    } else if (given_rotations == Py_None) {
        if (!mmd_named_bones(self, given_translations, translations, rotations,
                             &job->translation_frames, batch))
            return false;
        job->rotation_frames = job->translation_frames;
    } else if (!take_frames(given_translations, "translations", 2, vectors, translations,
                            &job->translation_frames, batch) ||
               !take_frames(given_rotations, "rotations", 2, quaternions, rotations,
                            &job->rotation_frames, batch)) {
        return false;
    }
    job->translations = translations->data;
    job->rotations = rotations->data;
    return true;
}

/* Whether IK runs: one truth, or one for each bone. */
static bool take_ik(PyObject *argument, const mmd_model *model, mmd_array *switches,
                    mmd_pose_job *job, bool *batch)
{
    const size_t shape[] = {MMD_ANY, model->bone_count};
    if (argument && PySequence_Check(argument)) {
        if (!take_frames_of(MMD_BOOL, argument, "ik", 1, shape, switches, &job->ik_frames, batch))
            return false;
        job->ik_bones = switches->data;
    }
    int on = !argument || job->ik_bones ? 1 : PyObject_IsTrue(argument);
    job->ik = on > 0;
    return on >= 0;
}

/* The number of frames of a job is that of whatever has more than one. */
static size_t count_frames(const mmd_pose_job *job)
{
    const size_t counts[] = {job->translation_frames, job->rotation_frames, job->slider_frames};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] != 1)
            return counts[i];
    return job->ik_frames;
}

bool mmd_given_take(PyObject *model, mmd_given_pose *given)
{
    mmd_pose_job *job = &given->job;
    job->slider_frames = job->ik_frames = 1;
    if (!take_locals(model, given->translations, given->rotations, &given->arrays[0],
                     &given->arrays[1], job, &given->batch))
        return false;
    if (given->weights != Py_None &&
        !take_weights(given->weights, mmd_model_data(model), &given->arrays[2], &job->slider_frames,
                      &given->batch))
        return false;
    if (!take_ik(given->ik, mmd_model_data(model), &given->arrays[3], job, &given->batch))
        return false;
    job->given_sliders = given->arrays[2].data;
    job->frame_count = count_frames(job);
    return true;
}

void mmd_given_clear(mmd_given_pose *given)
{
    for (size_t i = 0; i < sizeof given->arrays / sizeof *given->arrays; i++)
        mmd_array_clear(&given->arrays[i]);
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

/* Final weights of all morphs of one frame; freed by PyMem_Free. */
static float *final_weights(const mmd_model *model, const float *sliders)
{
    float *weights = PyMem_Calloc(model->morph_count + 1, sizeof *weights);
    if (weights && sliders)
        mmd_morph_weights(model->morphs, model->morph_count, sliders, weights);
    if (!weights)
        PyErr_NoMemory();
    return weights;
}

enum { SLICE_UVS = 1 << 22 };

typedef struct uvs_call {
    const mmd_model *model;
    const float *sliders;
    int channel;
    size_t width;
    float *uvs;
} uvs_call;

static bool run_uvs(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker;
    const uvs_call *call = arg;
    const mmd_model *model = call->model;
    mmd_arena temporary = {0};
    float *weights = mmd_arena_alloc(&temporary, model->morph_count, sizeof *weights);
    for (size_t f = first; weights && f < first + count; f++) {
        mmd_morph_weights(model->morphs, model->morph_count, call->sliders + f * model->morph_count,
                          weights);
        mmd_morph_uvs(model, weights, call->channel,
                      call->uvs + f * model->vertex_count * call->width);
    }
    mmd_arena_free(&temporary);
    return weights || mmd_fail_memory(err);
}

PyObject *mmd_py_uvs_at(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"morph_weights", "channel", NULL};
    PyObject *given;
    int channel = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i:uvs_at", names, &given, &channel))
        return NULL;
    if (channel < 0 || channel > 4) {
        PyErr_Format(PyExc_ValueError, "channel: %d, expected 0 to 4", channel);
        return NULL;
    }
    const mmd_model *model = mmd_model_data(self);
    mmd_array weights = {0}, uvs = {0};
    size_t frames = 1, width = channel == 0 ? 2 : 4;
    bool batch = false;
    bool taken = take_checked_weights(self, given, &weights, &frames, &batch);
    const size_t shape[] = {frames, model->vertex_count, width};
    taken = taken && mmd_array_new(batch ? 3 : 2, shape + !batch, &uvs);
    uvs_call call = {model, weights.data, channel, width, uvs.data};
    mmd_slices slices;
    taken = taken && mmd_slices_plan(NULL, frames, model->vertex_count, SLICE_UVS, &slices) &&
            mmd_slices_run(mmd_state_of(self), &slices, run_uvs, &call);
    PyObject *result = taken ? Py_NewRef(uvs.object) : NULL;
    mmd_array_clear(&weights);
    mmd_array_clear(&uvs);
    return result;
}

PyObject *mmd_py_materials_at(PyObject *self, PyObject *given)
{
    mmd_state *state = mmd_state_of(self);
    const mmd_model *model = mmd_model_data(self);
    mmd_array weights = {0};
    size_t frames;
    bool batch = false;
    PyObject *result = NULL;
    if (!take_checked_weights(self, given, &weights, &frames, &batch))
        return NULL;
    if (batch) {
        PyErr_Format(PyExc_ValueError, "morph_weights: a batch of frames, expected (%zu,)",
                     model->morph_count);
        mmd_array_clear(&weights);
        return NULL;
    }
    float *used = final_weights(model, weights.data);
    mmd_material *materials = PyMem_Calloc(model->material_count + 1, sizeof *materials);
    mmd_error err = {0};
    if (!used || !materials)
        PyErr_NoMemory();
    else if (!mmd_morph_materials(model, used, materials, &err))
        mmd_raise(state, &err);
    else
        result = mmd_records_of(state, MMD_RECORD_MATERIAL, materials, model->material_count, NULL);
    PyMem_Free(materials);
    PyMem_Free(used);
    mmd_array_clear(&weights);
    return result;
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

const char mmd_uvs_at_doc[] =
    "uvs_at($self, morph_weights, channel=0)\n--\n\n"
    "Texture coordinates with UV morphs applied, float32: (V,2) or (F,V,2) of the main UV, or\n"
    "(..., V, 4) of the additional UV 1 to 4, which starts from zero when the model lacks it.\n\n"
    "morph_weights: (M,) or (F,M) slider values. Raises ValueError for other channels.";

const char mmd_materials_at_doc[] =
    "materials_at($self, morph_weights, /)\n--\n\n"
    "The model's materials with material morphs applied, a tuple of Material: factors multiply "
    "over\n"
    "all morphs, summands add up. morph_weights: (M,) slider values.";
