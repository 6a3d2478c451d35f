/* SPDX-License-Identifier: MIT */
#include "python/simulation.h"

#include "core/physics/simulation.h"
#include "python/arguments.h"
#include "python/object_lock.h"
#include "python/physics.h"
#include "python/pose_arguments.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulation_object {
    PyObject_HEAD
    PyObject *model, *motion; /* what the simulation points to; None: no motion */
    PyObject *physics;        /* a Physics */
    int ik;
    mmd_simulation *simulation;
    mmd_object_lock lock;
} simulation_object;

/* Bodies and bones times steps between two looks at signals: about a hundredth of a second. */
enum { SLICE_WORK = 1 << 14 };

typedef struct wanted_frame {
    double frame;
    size_t place; /* in the result */
} wanted_frame;

static int compare_frames(const void *one, const void *other)
{
    const wanted_frame *a = one, *b = other;
    return a->frame != b->frame ? (a->frame < b->frame ? -1 : 1)
                                : (a->place > b->place) - (a->place < b->place);
}

typedef struct simulation_call {
    const mmd_model *model;
    wanted_frame *wanted; /* in the order of frames */
    size_t count, next;
    float *matrices, *sliders;
} simulation_call;

static size_t slice_steps(const mmd_model *model)
{
    return SLICE_WORK / (model->bone_count + model->rigid_body_count + 1) + 1;
}

/* Whether all is done; each frame is worth a step. */
static bool run_slice(mmd_simulation *simulation, simulation_call *call)
{
    size_t bones = call->model->bone_count, morphs = call->model->morph_count;
    size_t steps = slice_steps(call->model);
    for (; call->next < call->count && steps > 0; call->next++) {
        const wanted_frame *wanted = &call->wanted[call->next];
        if (!mmd_simulation_seek(simulation, wanted->frame, &steps))
            return false;
        mmd_simulation_pose(simulation, wanted->frame, call->matrices + wanted->place * 16 * bones,
                            call->sliders + wanted->place * morphs);
        steps -= steps > 0;
    }
    return call->next == call->count;
}

static bool run(mmd_simulation *simulation, simulation_call *call)
{
    bool done = false;
    while (!done) {
        Py_BEGIN_ALLOW_THREADS
        done = run_slice(simulation, call);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}

/* The Pose of frames, by a simulation that nobody else uses meanwhile. */
static PyObject *pose_frames(PyObject *model, mmd_simulation *simulation, const mmd_array *frames)
{
    mmd_state *state = mmd_state_of(model);
    size_t count = frames->rank ? frames->shape[0] : 1;
    simulation_call call = {.model = mmd_model_data(model), .count = count};
    mmd_error err = {0};
    if (!mmd_simulation_check(simulation, frames->data, count, &err))
        return mmd_raise(state, &err);
    call.wanted = PyMem_Calloc(count + 1, sizeof *call.wanted);
    if (!call.wanted)
        return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++)
        call.wanted[i] = (wanted_frame){((const double *)frames->data)[i], i};
    qsort(call.wanted, count, sizeof *call.wanted, compare_frames);
    mmd_pose_arrays arrays = {0};
    PyObject *pose = NULL;
    if (mmd_pose_arrays_new(call.model, frames->rank == 1, count, &arrays) &&
        (pose = mmd_pose_object(state, &arrays)) != NULL) {
        call.matrices = arrays.matrices.data;
        call.sliders = arrays.weights.data;
        if (!run(simulation, &call))
            Py_CLEAR(pose);
    }
    mmd_pose_arrays_clear(&arrays);
    PyMem_Free(call.wanted);
    return pose;
}

static mmd_simulation *make(PyObject *model, PyObject *motion, bool ik, const mmd_physics *physics)
{
    mmd_error err = {0};
    mmd_simulation *simulation;
    const mmd_rig *rig = mmd_model_rig(model);
    const mmd_motion *data = motion == Py_None ? NULL : mmd_motion_data(motion);
    Py_BEGIN_ALLOW_THREADS
    simulation = mmd_simulation_new(rig, data, ik, physics, &err);
    Py_END_ALLOW_THREADS
    if (!simulation)
        mmd_raise(mmd_state_of(model), &err);
    return simulation;
}

PyObject *mmd_simulate(PyObject *model, PyObject *motion, bool ik, const mmd_physics *physics,
                       const mmd_array *frames)
{
    mmd_simulation *simulation = make(model, motion, ik, physics);
    PyObject *pose = simulation ? pose_frames(model, simulation, frames) : NULL;
    mmd_simulation_free(simulation);
    return pose;
}

/* The type */

static bool take(simulation_object *self)
{
    return mmd_object_lock_take(&self->lock, "simulation");
}

static void leave(simulation_object *self)
{
    mmd_object_lock_leave(&self->lock);
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"model", "motion", "physics", "ik", NULL};
    mmd_state *state = PyType_GetModuleState(type);
    PyObject *model, *motion = Py_None, *given = Py_True;
    int ik = 1;
    mmd_physics physics;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO$p:Simulation", names, &model, &motion,
                                     &given, &ik) ||
        !mmd_model_check(state, model))
        return NULL;
    int simulates = mmd_physics_take(state, given, &physics);
    if (simulates < 0 || !mmd_motion_check(state, motion))
        return NULL;
    if (!simulates) {
        PyErr_SetString(PyExc_TypeError, "physics: expected True or a Physics");
        return NULL;
    }
    simulation_object *self = (simulation_object *)mmd_object_new(type);
    if (!self)
        return NULL;
    self->model = Py_NewRef(model);
    self->motion = Py_NewRef(motion);
    self->ik = ik;
    self->physics = mmd_physics_object(state, &physics);
    if (self->physics && mmd_object_lock_init(&self->lock))
        self->simulation = make(model, motion, ik, &physics);
    if (!self->simulation)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void simulation_dealloc(PyObject *object)
{
    simulation_object *self = (simulation_object *)object;
    mmd_simulation_free(self->simulation);
    mmd_object_lock_free(&self->lock);
    Py_CLEAR(self->physics);
    Py_CLEAR(self->motion);
    Py_CLEAR(self->model);
    mmd_object_free(object);
}

static PyObject *pose(PyObject *object, PyObject *frame)
{
    simulation_object *self = (simulation_object *)object;
    mmd_array frames = {0};
    PyObject *result = NULL;
    if (mmd_frames_take(frame, "frame", &frames) && take(self)) {
        result = pose_frames(self->model, self->simulation, &frames);
        leave(self);
    }
    mmd_array_clear(&frames);
    return result;
}

static const char pose_doc[] =
    "pose($self, frame, /)\n--\n\n"
    "The Pose of a frame, a number, or of (F,) frames in any order, as Model.pose() has it with\n"
    "physics. Forward of the last frame it goes on from there. What a frame comes to does not\n"
    "depend on those that were asked for before. Raises ValueError for a frame that is not finite\n"
    "or more than 10,000,000 after the start. Frames before the start have no physics.";

/* The job of a step: a way to given values. */
typedef struct step_call {
    mmd_given_pose given;
    mmd_array switches; /* of the physics of bones; without data: all are on */
    double seconds;
} step_call;

static bool walk(simulation_object *self, const step_call *call)
{
    const mmd_model *model = mmd_model_data(self->model);
    mmd_error err = {0};
    if (!mmd_simulation_aim(self->simulation, &call->given.job, call->switches.data, call->seconds,
                            &err)) {
        mmd_raise(mmd_state_of(self->model), &err);
        return false;
    }
    bool there = false;
    while (!there) {
        size_t steps = slice_steps(model);
        Py_BEGIN_ALLOW_THREADS
        there = mmd_simulation_walk(self->simulation, &steps);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}

/* The Pose at the end of a way to what is given. It is made before the first step, after which no
   memory may be short. */
static PyObject *step_to(simulation_object *self, const step_call *call)
{
    mmd_pose_arrays arrays = {0};
    PyObject *result = NULL;
    if (mmd_pose_arrays_new(mmd_model_data(self->model), false, 1, &arrays) &&
        (result = mmd_pose_object(mmd_state_of(self->model), &arrays)) != NULL) {
        if (walk(self, call))
            mmd_simulation_pose_given(self->simulation, arrays.matrices.data, arrays.weights.data);
        else
            Py_CLEAR(result);
    }
    mmd_pose_arrays_clear(&arrays);
    return result;
}

/* Whether physics moves bodies: one truth, or one for each bone. */
static bool take_switches(PyObject *argument, size_t bones, mmd_array *switches)
{
    if (PySequence_Check(argument))
        return mmd_array_from(argument, "physics", MMD_BOOL, false, switches) &&
               mmd_array_check_shape(switches, "physics", 1, &bones, "B");
    int on = PyObject_IsTrue(argument);
    if (on != 0)
        return on > 0;
    if (!mmd_array_new_of(MMD_BOOL, 1, &bones, switches))
        return false;
    memset(switches->data, 0, bones);
    return true;
}

static PyObject *step(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"translations", "rotations", "morph_weights", "seconds", "ik",
                            "physics",      NULL};
    simulation_object *self = (simulation_object *)object;
    step_call call = {.given = {.translations = Py_None, .rotations = Py_None, .weights = Py_None},
                      .seconds = 1.0 / 30};
    mmd_given_pose *given = &call.given;
    PyObject *seconds = NULL, *physics = Py_True, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO$OO:step", names, &given->translations,
                                     &given->rotations, &given->weights, &seconds, &given->ik,
                                     &physics))
        return NULL;
    bool taken = (!seconds || mmd_number_take(seconds, "seconds", &call.seconds)) &&
                 mmd_given_take(self->model, given) &&
                 take_switches(physics, mmd_model_data(self->model)->bone_count, &call.switches);
    if (taken && given->batch) {
        PyErr_SetString(PyExc_ValueError, "step: an axis of frames, expected one pose");
    } else if (taken && take(self)) {
        result = step_to(self, &call);
        leave(self);
    }
    mmd_array_clear(&call.switches);
    mmd_given_clear(given);
    return result;
}

static const char step_doc[] =
    "step($self, /, translations=None, rotations=None, morph_weights=None, "
    "seconds=0.03333333333333333, *, ik=True, physics=True)\n--\n\n"
    "The Pose after `seconds` in which the bones go from the pose given before to this one; for "
    "an\n"
    "animation of your own, in a Simulation without a motion. The first call, also after reset() "
    "or\n"
    "pose(), is the start: bodies settle there, and no time passes.\n\n"
    "translations, rotations, morph_weights: of one frame, as of Model.pose_from(); None: at "
    "rest.\n"
    "seconds: 0 to 3600, in equal steps of at most 1 / Physics.hz; in less than 1e-5 bodies that\n"
    "physics moves stay where they are.\n"
    "ik: whether IK runs, or (B,) booleans: of which bones; switched at the end of the way, and "
    "off\n"
    "in a Simulation without.\n"
    "physics: whether bodies move as usual, or (B,) booleans: those of which bones; the others\n"
    "follow their bone, as the keys of a motion (BoneTrack.physics) have it, from the end of the "
    "way on.\n\n"
    "Raises ValueError, also with a motion; then nothing has changed.";

static PyObject *get_frame(PyObject *object, void *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    if (!take(self))
        return NULL;
    double frame = mmd_simulation_frame(self->simulation);
    leave(self);
    return PyFloat_FromDouble(frame);
}

static PyObject *get_strain(PyObject *object, void *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    const size_t shape[] = {mmd_model_data(self->model)->joint_count, 2};
    mmd_array strain = {0};
    if (!mmd_array_new_of(MMD_FLOAT64, 2, shape, &strain))
        return NULL;
    PyObject *result = NULL;
    if (take(self)) {
        mmd_simulation_strain(self->simulation, strain.data);
        leave(self);
        result = Py_NewRef(strain.object);
    }
    mmd_array_clear(&strain);
    return result;
}

static PyObject *get_notes(PyObject *object, void *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    PyObject *list = PyList_New(0);
    if (!list || !take(self)) {
        Py_XDECREF(list);
        return NULL;
    }
    char text[256];
    for (size_t i = 0; list && mmd_simulation_note(self->simulation, i, text); i++) {
        PyObject *note = mmd_loose_text(text);
        if (!note || PyList_Append(list, note) < 0)
            Py_CLEAR(list);
        Py_XDECREF(note);
    }
    leave(self);
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
     "The last frame of pose(), float; of step() 30 times the seconds since the start.", NULL},
    {"notes", get_notes, NULL,
     "Tuple of str: what is odd in the model's bodies and joints, and in what has been run so "
     "far:\n"
     "bodies that left the numbers, joints that hold what would go farther than 3 units beyond\n"
     "their limits, or stood 10 beyond.",
     NULL},
    {"strain", get_strain, NULL,
     "(J,2) float64: how far each joint of the model stands beyond its limits at the last step, "
     "in\n"
     "model units along its axes and in radians about them. Dressed models dance with 0.1 and 0.1\n"
     "on average; what goes farther than 3 units is held by the first joint of its body.",
     NULL},
    {0}};

static PyObject *reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    simulation_object *self = (simulation_object *)object;
    if (!take(self))
        return NULL;
    mmd_simulation_reset(self->simulation);
    leave(self);
    Py_RETURN_NONE;
}

static const char reset_doc[] = "reset($self, /)\n--\n\nBack to before the start of the run.";

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
    if (!take(self))
        return NULL;
    Py_ssize_t size = (Py_ssize_t)mmd_simulation_save(self->simulation, NULL);
    PyObject *state = PyBytes_FromStringAndSize(NULL, size);
    if (state)
        mmd_simulation_save(self->simulation, PyBytes_AsString(state));
    leave(self);
    return state;
}

static PyObject *restore_state(PyObject *object, PyObject *state)
{
    simulation_object *self = (simulation_object *)object;
    char *bytes;
    Py_ssize_t size;
    mmd_error err = {0};
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0 || !take(self))
        return NULL;
    bool loaded = mmd_simulation_load(self->simulation, bytes, (size_t)size, &err);
    leave(self);
    return loaded ? Py_NewRef(Py_None) : mmd_raise(mmd_state_of(object), &err);
}

static PyMethodDef simulation_methods[] = {
    {"__getstate__", saved_state, METH_NOARGS, "For pickling: where it is."},
    {"__setstate__", restore_state, METH_O, "For pickling."},
    {"__getnewargs_ex__", getnewargs_ex, METH_NOARGS, "For pickling: what it was made of."},
    {"pose", pose, METH_O, pose_doc},
    {"step", (PyCFunction)(void (*)(void))step, METH_VARARGS | METH_KEYWORDS, step_doc},
    {"reset", reset, METH_NOARGS, reset_doc},
    {0}};

static const char simulation_doc[] =
    "Simulation(model, motion=None, physics=True, *, ik=True)\n--\n\n"
    "A model whose hair and clothes move: a run of its rigid bodies along a motion, by the\n"
    "equations of Bullet 2.75, which MMD names. It keeps its place, so that frames one after the\n"
    "other are cheap. The same model, motion, settings and frame give the same bytes, whatever "
    "was\n"
    "asked for before.\n\n"
    "motion: a Motion, or None: the model at rest.\n"
    "physics: True or a Physics.\n"
    "ik: as of Model.pose().\n\n"
    "Threads may share one, and wait for each other; one each runs side by side. Raises "
    "ValueError\n"
    "for settings, bodies and joints that cannot be; the text names them.";

static PyType_Slot simulation_slots[] = {
    {Py_tp_doc, (void *)simulation_doc}, {Py_tp_new, simulation_new},
    {Py_tp_dealloc, simulation_dealloc}, {Py_tp_methods, simulation_methods},
    {Py_tp_getset, simulation_members},  {0, NULL}};

PyType_Spec mmd_simulation_spec = {.name = "mmdskin.Simulation",
                                   .basicsize = sizeof(simulation_object),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                   .slots = simulation_slots};
