/* SPDX-License-Identifier: MIT */
/* The Python type Simulation: constructor, poses, pickling. */
#include "core/physics/simulation.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/object_lock.h"
#include "python/physics_record.h"
#include "python/pose_io.h"
#include "python/record.h"
#include "python/types.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulation_object {
    PyObject_HEAD
    PyObject *model, *motion; /* kept alive for `simulation`; motion may be None */
    PyObject *physics;        /* a Physics */
    int ik;
    mmd_simulation *simulation;
    mmd_py_object_lock lock;
} simulation_object;

/* Bodies and bones times steps between checks for signals: about 10 ms. */
enum { CHUNK_WORK = 1 << 14 };

typedef struct requested_frame {
    double frame;
    size_t index; /* in the result */
} requested_frame;

static int compare_frames(const void *first, const void *second)
{
    const requested_frame *a = first, *b = second;
    return a->frame != b->frame ? (a->frame < b->frame ? -1 : 1)
                                : (a->index > b->index) - (a->index < b->index);
}

typedef struct simulation_call {
    const mmd_model *model;
    requested_frame *requested; /* in the order of frames */
    size_t count, next;
    float *matrices, *weights;
} simulation_call;

static size_t chunk_steps(const mmd_model *model)
{
    return CHUNK_WORK / (model->bone_count + model->rigid_body_count + 1) + 1;
}

/* Whether all frames are done. A frame that needs no step counts as one. */
static bool run_chunk(mmd_simulation *simulation, simulation_call *call)
{
    size_t bones = call->model->bone_count, morphs = call->model->morph_count;
    size_t steps = chunk_steps(call->model);
    for (; call->next < call->count && steps > 0; call->next++) {
        const requested_frame *requested = &call->requested[call->next];
        if (!mmd_simulation_seek(simulation, requested->frame, &steps))
            return false;
        mmd_simulation_pose(simulation, requested->frame,
                            call->matrices + requested->index * 16 * bones,
                            call->weights + requested->index * morphs);
        steps -= steps > 0;
    }
    return call->next == call->count;
}

static bool run(mmd_simulation *simulation, simulation_call *call)
{
    bool done = false;
    while (!done) {
        Py_BEGIN_ALLOW_THREADS
        done = run_chunk(simulation, call);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}

/* The Pose of frames. The caller holds the lock of the simulation. */
static PyObject *pose_frames(PyObject *model, mmd_simulation *simulation,
                             const mmd_py_array *frames)
{
    mmd_py_state *state = mmd_py_state_of(model);
    size_t count = frames->rank ? frames->shape[0] : 1;
    simulation_call call = {.model = mmd_py_model_data(model), .count = count};
    mmd_error err = {0};
    if (!mmd_simulation_check(simulation, frames->data, count, &err))
        return mmd_py_exceptions_raise(state, &err);
    call.requested = PyMem_Calloc(count + 1, sizeof *call.requested);
    if (!call.requested)
        return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++)
        call.requested[i] = (requested_frame){((const double *)frames->data)[i], i};
    qsort(call.requested, count, sizeof *call.requested, compare_frames);
    mmd_py_pose_output output = {0};
    PyObject *pose = NULL;
    if (mmd_py_pose_output_new(call.model, frames->rank == 1, count, &output) &&
        (pose = mmd_py_pose_output_record(state, &output)) != NULL) {
        call.matrices = output.matrices.data;
        call.weights = output.weights.data;
        if (!run(simulation, &call))
            Py_CLEAR(pose);
    }
    mmd_py_pose_output_clear(&output);
    PyMem_Free(call.requested);
    return pose;
}

static mmd_simulation *create(PyObject *model, PyObject *motion, bool ik,
                              const mmd_simulation_settings *physics)
{
    mmd_error err = {0};
    mmd_simulation *simulation;
    const mmd_rig *rig = mmd_py_model_rig(model);
    const mmd_motion *data = motion == Py_None ? NULL : mmd_py_motion_data(motion);
    Py_BEGIN_ALLOW_THREADS
    simulation = mmd_simulation_new(rig, data, ik, physics, &err);
    Py_END_ALLOW_THREADS
    if (!simulation)
        mmd_py_exceptions_raise(mmd_py_state_of(model), &err);
    return simulation;
}

PyObject *mmd_py_simulation_run(PyObject *model, PyObject *motion, bool ik,
                                const mmd_simulation_settings *physics, const mmd_py_array *frames)
{
    mmd_simulation *simulation = create(model, motion, ik, physics);
    PyObject *pose = simulation ? pose_frames(model, simulation, frames) : NULL;
    mmd_simulation_free(simulation);
    return pose;
}

/* The type */

static bool acquire(simulation_object *self)
{
    return mmd_py_object_lock_acquire(&self->lock, "simulation");
}

static void release(simulation_object *self)
{
    mmd_py_object_lock_release(&self->lock);
}

static PyObject *new_object(PyTypeObject *type, PyObject *model, PyObject *motion, bool ik,
                            const mmd_simulation_settings *physics)
{
    simulation_object *self = (simulation_object *)mmd_py_object_new(type);
    if (!self)
        return NULL;
    self->model = Py_NewRef(model);
    self->motion = Py_NewRef(motion);
    self->ik = ik;
    self->physics = mmd_py_physics_record_new(PyType_GetModuleState(type), physics);
    if (self->physics && mmd_py_object_lock_init(&self->lock))
        self->simulation = create(model, motion, ik, physics);
    if (!self->simulation)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"model", "motion", "physics", "ik", NULL};
    mmd_py_state *state = PyType_GetModuleState(type);
    PyObject *model, *motion = Py_None, *physics_arg = Py_True, *self = NULL;
    int ik = 1;
    mmd_simulation_settings physics;
    mmd_py_array gravity = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO$p:Simulation", names, &model, &motion,
                                     &physics_arg, &ik) ||
        !mmd_py_model_check(state, model))
        return NULL;
    int simulates = mmd_py_physics_record_parse(state, physics_arg, &physics, &gravity);
    if (simulates == 0)
        PyErr_SetString(PyExc_TypeError, "physics: expected True or a Physics");
    else if (simulates > 0 && mmd_py_motion_check(state, motion))
        self = new_object(type, model, motion, ik, &physics);
    mmd_py_array_clear(&gravity);
    return self;
}

static void simulation_dealloc(PyObject *object)
{
    simulation_object *self = (simulation_object *)object;
    mmd_simulation_free(self->simulation);
    mmd_py_object_lock_free(&self->lock);
    Py_CLEAR(self->physics);
    Py_CLEAR(self->motion);
    Py_CLEAR(self->model);
    mmd_py_object_free(object);
}

static PyObject *pose(PyObject *object, PyObject *frame)
{
    simulation_object *self = (simulation_object *)object;
    mmd_py_array frames = {0};
    PyObject *result = NULL;
    if (mmd_py_argument_frames(frame, "frame", &frames) && acquire(self)) {
        result = pose_frames(self->model, self->simulation, &frames);
        release(self);
    }
    mmd_py_array_clear(&frames);
    return result;
}

static const char pose_doc[] =
    "pose($self, frame, /)\n--\n\n"
    "The Pose of a frame, a number, or of (F,) frames in any order, as Model.pose() returns it\n"
    "with physics. After the last frame the simulation continues from there. The result for a\n"
    "frame does not depend on earlier calls. Frames before the start have no physics. Raises\n"
    "ValueError for a frame that is not finite or more than 10,000,000 after the start.";

/* The arguments of step(). */
typedef struct step_call {
    mmd_py_pose_input input;
    mmd_py_array physics; /* (B,) bool; without data: all True */
    double seconds;
} step_call;

static bool advance(simulation_object *self, const step_call *call)
{
    const mmd_model *model = mmd_py_model_data(self->model);
    mmd_error err = {0};
    if (!mmd_simulation_set_target(self->simulation, &call->input.job, call->physics.data,
                                   call->seconds, &err)) {
        mmd_py_exceptions_raise(mmd_py_state_of(self->model), &err);
        return false;
    }
    bool arrived = false;
    while (!arrived) {
        size_t steps = chunk_steps(model);
        Py_BEGIN_ALLOW_THREADS
        arrived = mmd_simulation_advance(self->simulation, &steps);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}

/* The Pose at the end of a step. It is created first: running out of memory after the simulation
   has moved would lose the result. */
static PyObject *step_to(simulation_object *self, const step_call *call)
{
    mmd_py_pose_output output = {0};
    PyObject *result = NULL;
    if (mmd_py_pose_output_new(mmd_py_model_data(self->model), false, 1, &output) &&
        (result = mmd_py_pose_output_record(mmd_py_state_of(self->model), &output)) != NULL) {
        if (advance(self, call))
            mmd_simulation_pose_target(self->simulation, output.matrices.data, output.weights.data);
        else
            Py_CLEAR(result);
    }
    mmd_py_pose_output_clear(&output);
    return result;
}

/* The argument `physics`: a bool, or one for each bone. */
static bool parse_physics(PyObject *argument, size_t bones, mmd_py_array *out)
{
    if (PySequence_Check(argument))
        return mmd_py_array_from(argument, "physics", MMD_PY_BOOL, false, out) &&
               mmd_py_array_check_shape(out, "physics", 1, &bones, "B");
    int on = PyObject_IsTrue(argument);
    if (on != 0)
        return on > 0;
    if (!mmd_py_array_new(MMD_PY_BOOL, 1, &bones, out))
        return false;
    memset(out->data, 0, bones);
    return true;
}

static PyObject *step(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"translations", "rotations", "morph_weights", "seconds", "ik",
                            "physics",      NULL};
    simulation_object *self = (simulation_object *)object;
    step_call call = {.input = {.translations = Py_None, .rotations = Py_None, .weights = Py_None},
                      .seconds = 1.0 / 30};
    mmd_py_pose_input *input = &call.input;
    PyObject *seconds = NULL, *physics = Py_True, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO$OO:step", names, &input->translations,
                                     &input->rotations, &input->weights, &seconds, &input->ik,
                                     &physics))
        return NULL;
    bool ok = (!seconds || mmd_py_argument_double(seconds, "seconds", &call.seconds)) &&
              mmd_py_pose_input_parse(self->model, input) &&
              parse_physics(physics, mmd_py_model_data(self->model)->bone_count, &call.physics);
    if (ok && input->batched) {
        PyErr_SetString(PyExc_ValueError, "step: a batch of frames, expected one pose");
    } else if (ok && acquire(self)) {
        result = step_to(self, &call);
        release(self);
    }
    mmd_py_array_clear(&call.physics);
    mmd_py_pose_input_clear(input);
    return result;
}

static const char step_doc[] =
    "step($self, /, translations=None, rotations=None, morph_weights=None, "
    "seconds=0.03333333333333333, *, ik=True, physics=True)\n--\n\n"
    "Moves the bones from the last pose to this one within `seconds`, and returns the resulting\n"
    "Pose. For your own animation, in a Simulation without a motion. The first call, also after\n"
    "reset() or pose(), sets the start pose: bodies settle in it, and no time passes.\n\n"
    "translations, rotations, morph_weights: of one frame, as in Model.pose_from(); None: rest\n"
    "    pose, zero.\n"
    "seconds: 0 to 3600. Steps are 1 / Physics.hz long; what remains is carried over to the next\n"
    "    call, and bodies are shown there with the velocities of the last step.\n"
    "ik: whether to run IK, or (B,) booleans for the IK of each bone; takes effect at the end\n"
    "    of the interval. Always off in a Simulation with ik=False.\n"
    "physics: whether bodies are simulated, or (B,) booleans for the bodies of each bone; the\n"
    "    others follow their bone, as with BoneTrack.physics. Takes effect at the end of the\n"
    "    interval.\n\n"
    "Raises ValueError, also in a Simulation with a motion; the simulation is unchanged then.";

static PyObject *get_frame(PyObject *object, void *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    if (!acquire(self))
        return NULL;
    double frame = mmd_simulation_frame(self->simulation);
    release(self);
    return PyFloat_FromDouble(frame);
}

static PyObject *get_strain(PyObject *object, void *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    const size_t shape[] = {mmd_py_model_data(self->model)->joint_count, 2};
    mmd_py_array strain = {0};
    if (!mmd_py_array_new(MMD_PY_FLOAT64, 2, shape, &strain))
        return NULL;
    PyObject *result = NULL;
    if (acquire(self)) {
        mmd_simulation_strain(self->simulation, strain.data);
        release(self);
        result = Py_NewRef(strain.object);
    }
    mmd_py_array_clear(&strain);
    return result;
}

static PyObject *get_notes(PyObject *object, void *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    PyObject *list = PyList_New(0);
    if (!list || !acquire(self)) {
        Py_XDECREF(list);
        return NULL;
    }
    char text[256];
    for (size_t i = 0; list && mmd_simulation_note(self->simulation, i, text); i++) {
        PyObject *note = mmd_py_exceptions_str(text);
        if (!note || PyList_Append(list, note) < 0)
            Py_CLEAR(list);
        Py_XDECREF(note);
    }
    release(self);
    PyObject *notes = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return notes;
}

static PyObject *get_object(PyObject *object, void *offset)
{
    return Py_NewRef(*(PyObject **)(void *)((char *)object + (size_t)offset));
}

static PyGetSetDef simulation_members[] = {
    {"model", get_object, NULL, "The Model.", (void *)offsetof(simulation_object, model)},
    {"motion", get_object, NULL, "The Motion, or None.",
     (void *)offsetof(simulation_object, motion)},
    {"physics", get_object, NULL, "The settings, a Physics.",
     (void *)offsetof(simulation_object, physics)},
    {"frame", get_frame, NULL,
     "The frame of the last pose(), float; after step(), 30 times the seconds since the start.",
     NULL},
    {"notes", get_notes, NULL,
     "Tuple of str: warnings about the model's bodies and joints, and about the run so far:\n"
     "bodies whose state became infinite or NaN, joints whose stretch was limited to 3 units, or\n"
     "reached 10, pairs of bodies beyond those that a world has room for.",
     NULL},
    {"strain", get_strain, NULL,
     "(J,2) float64: how far each joint exceeds its limits after the last step, in model units\n"
     "along its axes and radians about them. Clothed models average 0.1 and 0.1 in a dance. The\n"
     "first joint of a body limits its stretch to 3 units.",
     NULL},
    {0}};

static PyObject *reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    if (!acquire(self))
        return NULL;
    mmd_simulation_reset(self->simulation);
    release(self);
    Py_RETURN_NONE;
}

static const char reset_doc[] = "reset($self, /)\n--\n\n"
                                "Returns to before the start of the run.";

static PyObject *simulation_repr(PyObject *object)
{
    simulation_object *self = (simulation_object *)object;
    const mmd_model *model = mmd_py_model_data(self->model);
    PyObject *name = mmd_py_record_str(model->name), *frame = name ? get_frame(object, NULL) : NULL;
    PyObject *text =
        frame ? PyUnicode_FromFormat("<mmdskin.Simulation %R: frame %S, %zu rigid bodies, %zu "
                                     "joints>",
                                     name, frame, model->rigid_body_count, model->joint_count)
              : NULL;
    Py_XDECREF(name);
    Py_XDECREF(frame);
    return text;
}

static PyObject *getnewargs_ex(PyObject *object, PyObject *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    return Py_BuildValue("((OOO){sO})", self->model, self->motion, self->physics, "ik",
                         self->ik ? Py_True : Py_False);
}

static PyObject *saved_state(PyObject *object, PyObject *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    if (!acquire(self))
        return NULL;
    Py_ssize_t size = (Py_ssize_t)mmd_simulation_save(self->simulation, NULL);
    PyObject *state = PyBytes_FromStringAndSize(NULL, size);
    if (state)
        mmd_simulation_save(self->simulation, PyBytes_AsString(state));
    release(self);
    return state;
}

static PyObject *restore_state(PyObject *object, PyObject *state)
{
    simulation_object *self = (simulation_object *)object;
    char *bytes;
    Py_ssize_t size;
    mmd_error err = {0};
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0 || !acquire(self))
        return NULL;
    bool loaded = mmd_simulation_load(self->simulation, bytes, (size_t)size, &err);
    release(self);
    return loaded ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(mmd_py_state_of(object), &err);
}

static PyMethodDef simulation_methods[] = {
    {"__getstate__", saved_state, METH_NOARGS, "For pickling: the state of the run."},
    {"__setstate__", restore_state, METH_O, "For pickling."},
    {"__getnewargs_ex__", getnewargs_ex, METH_NOARGS, "For pickling: the arguments."},
    {"pose", pose, METH_O, pose_doc},
    {"step", (PyCFunction)(void (*)(void))step, METH_VARARGS | METH_KEYWORDS, step_doc},
    {"reset", reset, METH_NOARGS, reset_doc},
    {0}};

static const char simulation_doc[] =
    "Simulation(model, motion=None, physics=True, *, ik=True)\n--\n\n"
    "Simulates the rigid bodies of a model, such as hair and clothes, along a motion, by the\n"
    "equations of Bullet 2.75, the engine that MMD credits. It keeps its state, so consecutive\n"
    "frames are cheap. The same model, motion, settings and frame give the same bytes, whatever\n"
    "was requested before.\n\n"
    "motion: a Motion, or None for the rest pose.\n"
    "physics: True or a Physics.\n"
    "ik: as in Model.pose().\n\n"
    "Threads may share a Simulation; their calls wait for each other. Separate Simulations can\n"
    "run in parallel. Raises ValueError for invalid settings, bodies and joints; the message\n"
    "names them.";

static PyType_Slot simulation_slots[] = {{Py_tp_doc, (void *)simulation_doc},
                                         {Py_tp_new, simulation_new},
                                         {Py_tp_dealloc, simulation_dealloc},
                                         {Py_tp_methods, simulation_methods},
                                         {Py_tp_getset, simulation_members},
                                         {Py_tp_repr, simulation_repr},
                                         {0, NULL}};

PyType_Spec mmd_py_simulation_spec = {.name = "mmdskin.Simulation",
                                      .basicsize = sizeof(simulation_object),
                                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                      .slots = simulation_slots};
