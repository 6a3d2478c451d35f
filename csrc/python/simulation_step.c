/* SPDX-License-Identifier: MIT */
/* Simulation.step(): poses of the caller, for one model, or in lists for several. */
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/simulation_type.h"
#include "python/types.h"

#include <string.h>

/* The arguments of one model. */
typedef struct model_step {
    mmd_py_pose_input input;
    mmd_py_array physics; /* (B,) bool; without data: all True */
} model_step;

typedef struct step_call {
    double seconds;
    bool has_gravity;
    double gravity[3];
    size_t model_count;
    model_step *models;
    mmd_simulation_target *targets;
    mmd_py_pose_arrays *outputs;
} step_call;

static bool advance(mmd_py_simulation *self, const step_call *call)
{
    mmd_error err = {0};
    if (!mmd_simulation_set_targets(self->simulation, call->targets,
                                    call->has_gravity ? call->gravity : NULL, call->seconds, &err))
        return mmd_py_exceptions_raise(&err);
    bool arrived = false;
    while (!arrived) {
        size_t steps = mmd_py_simulation_chunk(self->models);
        Py_BEGIN_ALLOW_THREADS
        arrived = mmd_simulation_advance(self->simulation, &steps, NULL);
        Py_END_ALLOW_THREADS
        if (arrived ? PyErr_CheckSignals() < 0 : mmd_py_exceptions_interrupted())
            return false;
    }
    return true;
}

/* The Pose at the end of a step. It is created first: running out of memory after the simulation
   has moved would lose the result. */
static PyObject *step_to(mmd_py_simulation *self, step_call *call)
{
    PyObject *result =
        mmd_py_pose_output_records(self->models, self->is_list, false, 1, call->outputs);
    if (result && !advance(self, call))
        Py_CLEAR(result);
    for (size_t m = 0; result && m < call->model_count; m++)
        mmd_simulation_pose(self->simulation, m, call->outputs[m].matrices.data,
                            call->outputs[m].weights.data, NULL);
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

enum { TRANSLATIONS, ROTATIONS, WEIGHTS, IK, PHYSICS, ARGUMENTS };

static bool parse_model(mmd_py_simulation *self, size_t m, PyObject *const *arguments,
                        step_call *call)
{
    PyObject *model = PyTuple_GetItem(self->models, (Py_ssize_t)m);
    model_step *step = &call->models[m];
    step->input.translations = arguments[TRANSLATIONS];
    step->input.rotations = arguments[ROTATIONS];
    step->input.weights = arguments[WEIGHTS];
    step->input.ik = arguments[IK];
    bool at_rest = arguments[TRANSLATIONS] == Py_None && arguments[ROTATIONS] == Py_None &&
                   arguments[WEIGHTS] == Py_None;
    bool follows =
        self->is_list && at_rest && PyTuple_GetItem(self->motions, (Py_ssize_t)m) != Py_None;
    if (!mmd_py_pose_input_parse(model, &step->input) ||
        !parse_physics(arguments[PHYSICS], mmd_py_model_of(model)->model->bone_count,
                       &step->physics))
        return false;
    if (step->input.batched)
        return PyErr_Format(PyExc_ValueError, "step: a batch of frames, expected one pose");
    call->targets[m] =
        (mmd_simulation_target){follows ? NULL : &step->input.job, step->physics.data};
    return true;
}

/* Lets the exception begin with the model. */
static void prefix_exception(size_t m)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (type == PyExc_ValueError || type == PyExc_TypeError) {
        PyErr_Format(type, "model %zu: %S", m, value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    } else {
        PyErr_Restore(type, value, traceback);
    }
}

static bool parse(mmd_py_simulation *self, PyObject *const *arguments, step_call *call)
{
    if (!self->is_list)
        return parse_model(self, 0, arguments, call);
    MMD_PY_OWNED PyObject *rows = mmd_py_object_call(
        MMD_PY_PHYSICS_ARGUMENTS, "step_of_models", "(nOOOOO)", (Py_ssize_t)call->model_count,
        arguments[TRANSLATIONS], arguments[ROTATIONS], arguments[WEIGHTS], arguments[IK],
        arguments[PHYSICS]);
    for (size_t m = 0; rows && m < call->model_count; m++) {
        PyObject *row = PyList_GetItem(rows, (Py_ssize_t)m), *of_model[ARGUMENTS];
        for (int i = 0; i < ARGUMENTS; i++)
            of_model[i] = PyTuple_GetItem(row, i);
        if (!parse_model(self, m, of_model, call)) {
            prefix_exception(m);
            return false;
        }
    }
    return rows;
}

static void clear(step_call *call)
{
    for (size_t m = 0; call->models && m < call->model_count; m++) {
        mmd_py_pose_input_clear(&call->models[m].input);
        mmd_py_array_clear(&call->models[m].physics);
    }
    for (size_t m = 0; call->outputs && m < call->model_count; m++)
        mmd_py_pose_arrays_clear(&call->outputs[m]);
    PyMem_Free(call->outputs);
    PyMem_Free(call->targets);
    PyMem_Free(call->models);
}

static bool allocate(step_call *call)
{
    call->models = PyMem_Calloc(call->model_count, sizeof *call->models);
    call->targets = PyMem_Calloc(call->model_count, sizeof *call->targets);
    call->outputs = PyMem_Calloc(call->model_count, sizeof *call->outputs);
    return (call->models && call->targets && call->outputs) || PyErr_NoMemory();
}

PyObject *mmd_py_simulation_step(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"translations", "rotations", "morph_weights", "seconds",
                            "ik",           "physics",   "gravity",       NULL};
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    step_call call = {.seconds = 1.0 / 30, .model_count = (size_t)PyTuple_Size(self->models)};
    PyObject *arguments[ARGUMENTS] = {Py_None, Py_None, Py_None, Py_True, Py_True};
    PyObject *seconds = NULL, *gravity = Py_None, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|OOOO$OOO:step", names, &arguments[TRANSLATIONS], &arguments[ROTATIONS],
            &arguments[WEIGHTS], &seconds, &arguments[IK], &arguments[PHYSICS], &gravity))
        return NULL;
    call.has_gravity = gravity != Py_None;
    if ((!seconds || mmd_py_argument_double(seconds, "seconds", &call.seconds)) &&
        (!call.has_gravity ||
         mmd_py_argument_numbers(gravity, "gravity", MMD_PY_FLOAT64, 3, call.gravity)) &&
        allocate(&call) && parse(self, arguments, &call)) {
        MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
        result = held ? step_to(self, &call) : NULL;
    }
    clear(&call);
    return result;
}
