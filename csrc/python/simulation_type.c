/* SPDX-License-Identifier: MIT */
/* The Python type Simulation: constructor, poses, pickling. */
#include "python/simulation_type.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

#include <stddef.h>
#include <string.h>

bool mmd_py_simulation_acquire(mmd_py_simulation *self)
{
    return mmd_py_object_lock_acquire(&self->lock, "simulation");
}

void mmd_py_simulation_release(mmd_py_simulation *self)
{
    mmd_py_object_lock_release(&self->lock);
}

/* Construction */

/* The arguments of a new Simulation. */
typedef struct simulation_arguments {
    PyObject *models, *motions; /* tuples; owned */
    bool is_list;
    mmd_py_array places, offsets;
    int ik;
} simulation_arguments;

/* A tuple of the items of a list, of which there must be `count`, or any number. */
static PyObject *parse_list(PyObject *argument, const char *name, size_t count)
{
    if (!PySequence_Check(argument) || PyUnicode_Check(argument) || PyBytes_Check(argument))
        return PyErr_Format(PyExc_TypeError, "%s: expected a list like that of models, not %R",
                            name, (PyObject *)Py_TYPE(argument));
    PyObject *items = PySequence_Tuple(argument);
    if (items && count != MMD_PY_ANY && (size_t)PyTuple_Size(items) != count) {
        PyErr_Format(PyExc_ValueError, "%s: length %zd, expected %zu, an item for each model", name,
                     PyTuple_Size(items), count);
        Py_CLEAR(items);
    }
    return items;
}

/* A tuple of `count` times None. */
static PyObject *repeat_none(size_t count)
{
    PyObject *items = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; items && i < count; i++)
        PyTuple_SetItem(items, (Py_ssize_t)i, Py_NewRef(Py_None));
    return items;
}

/* A model, or a list of models; a motion, or a list of motions. */
static bool parse_models(mmd_py_state *state, PyObject *model, PyObject *motion,
                         simulation_arguments *arguments)
{
    arguments->is_list =
        PySequence_Check(model) && !PyUnicode_Check(model) && !PyBytes_Check(model);
    if (!arguments->is_list) {
        arguments->models = PyTuple_Pack(1, model);
        arguments->motions = PyTuple_Pack(1, motion);
    } else if ((arguments->models = parse_list(model, "model", MMD_PY_ANY)) != NULL) {
        size_t count = (size_t)PyTuple_Size(arguments->models);
        arguments->motions =
            motion == Py_None ? repeat_none(count) : parse_list(motion, "motion", count);
    }
    if (!arguments->models || !arguments->motions)
        return false;
    Py_ssize_t count = PyTuple_Size(arguments->models);
    if (count < 1 || count > MMD_SIMULATION_MAX_MODELS)
        return PyErr_Format(PyExc_ValueError, "model: %zd models, expected 1 to %d", count,
                            MMD_SIMULATION_MAX_MODELS);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!mmd_py_model_check(state, PyTuple_GetItem(arguments->models, i)) ||
            !mmd_py_motion_check(state, PyTuple_GetItem(arguments->motions, i),
                                 "motion: expected a Motion or None") ||
            !mmd_py_motion_check_names(PyTuple_GetItem(arguments->motions, i),
                                       PyTuple_GetItem(arguments->models, i)))
            return false;
    return true;
}

/* An array (N,) or (N,7), or None. */
static bool parse_numbers(PyObject *argument, const char *name, int rank,
                          const simulation_arguments *arguments, mmd_py_array *out)
{
    const size_t shape[] = {(size_t)PyTuple_Size(arguments->models), 7};
    if (argument == Py_None)
        return true;
    if (!arguments->is_list)
        return PyErr_Format(PyExc_TypeError, "%s: expected None for one model; give it in a list",
                            name);
    return mmd_py_array_from(argument, name, MMD_PY_FLOAT64, true, out) &&
           mmd_py_array_check_shape(out, name, rank, shape, "");
}

static PyObject *new_object(PyTypeObject *type, const simulation_arguments *arguments,
                            const mmd_simulation_settings *physics)
{
    mmd_py_simulation *self = (mmd_py_simulation *)mmd_py_object_new(type);
    if (!self)
        return NULL;
    self->models = Py_NewRef(arguments->models);
    self->motions = Py_NewRef(arguments->motions);
    self->places = Py_XNewRef(arguments->places.object);
    self->offsets = Py_XNewRef(arguments->offsets.object);
    self->is_list = arguments->is_list;
    self->ik = arguments->ik;
    self->physics = mmd_py_physics_record_new(PyType_GetModuleState(type), physics);
    if (self->physics && mmd_py_object_lock_init(&self->lock))
        self->simulation =
            mmd_py_simulation_create(self->models, self->motions, arguments->places.data,
                                     arguments->offsets.data, self->ik, physics);
    if (!self->simulation)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"model", "motion", "physics", "ik", "places", "offsets", NULL};
    mmd_py_state *state = PyType_GetModuleState(type);
    PyObject *model, *motion = Py_None, *physics_arg = Py_True, *places = Py_None, *self = NULL;
    PyObject *offsets = Py_None;
    simulation_arguments arguments = {.ik = 1};
    mmd_simulation_settings physics;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array gravity = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO$pOO:Simulation", names, &model, &motion,
                                     &physics_arg, &arguments.ik, &places, &offsets))
        return NULL;
    int simulates = mmd_py_physics_record_parse(state, physics_arg, &physics, &gravity);
    if (simulates == 0)
        PyErr_SetString(PyExc_TypeError, "physics: expected True or a Physics");
    else if (simulates > 0 && parse_models(state, model, motion, &arguments) &&
             parse_numbers(places, "places", 2, &arguments, &arguments.places) &&
             parse_numbers(offsets, "offsets", 1, &arguments, &arguments.offsets))
        self = new_object(type, &arguments, &physics);
    mmd_py_array_clear(&arguments.offsets);
    mmd_py_array_clear(&arguments.places);
    Py_XDECREF(arguments.motions);
    Py_XDECREF(arguments.models);
    return self;
}

static void simulation_dealloc(PyObject *object)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    mmd_simulation_free(self->simulation);
    mmd_py_object_lock_free(&self->lock);
    Py_CLEAR(self->physics);
    Py_CLEAR(self->offsets);
    Py_CLEAR(self->places);
    Py_CLEAR(self->motions);
    Py_CLEAR(self->models);
    mmd_py_object_free(object);
}

/* Methods */

static PyObject *pose(PyObject *object, PyObject *frame)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array frames = {0};
    PyObject *result = NULL;
    if (mmd_py_argument_finite_frames(frame, "frame", &frames) && mmd_py_simulation_acquire(self)) {
        result =
            mmd_py_simulation_pose_frames(self->models, self->is_list, self->simulation, &frames);
        mmd_py_simulation_release(self);
    }
    return result;
}

static PyObject *get_frame(PyObject *object, void *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    if (!mmd_py_simulation_acquire(self))
        return NULL;
    double frame = mmd_simulation_frame(self->simulation);
    mmd_py_simulation_release(self);
    return PyFloat_FromDouble(frame);
}

/* The number of bodies, and that of joints, of all models. */
static void count_parts(const mmd_py_simulation *self, size_t *bodies, size_t *joints)
{
    *bodies = *joints = 0;
    for (Py_ssize_t m = 0; m < PyTuple_Size(self->models); m++) {
        const mmd_model *model = mmd_py_model_data(PyTuple_GetItem(self->models, m));
        *bodies += model->rigid_body_count;
        *joints += model->joint_count;
    }
}

/* Copies the rows of each model to an array of its own. */
static PyObject *split_strain(const mmd_py_simulation *self, const double *rows)
{
    Py_ssize_t count = PyTuple_Size(self->models);
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t m = 0; result && m < count; m++) {
        const size_t shape[] = {mmd_py_model_data(PyTuple_GetItem(self->models, m))->joint_count,
                                2};
        mmd_py_array own = {0};
        if (!mmd_py_array_new(MMD_PY_FLOAT64, 2, shape, &own)) {
            Py_CLEAR(result);
            break;
        }
        if (shape[0])
            memcpy(own.data, rows, 2 * shape[0] * sizeof *rows);
        rows += 2 * shape[0];
        PyTuple_SetItem(result, m, Py_NewRef(own.object));
        mmd_py_array_clear(&own);
    }
    return result;
}

static PyObject *get_strain(PyObject *object, void *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    size_t bodies, shape[2] = {0, 2};
    count_parts(self, &bodies, &shape[0]);
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array strain = {0};
    if (!mmd_py_array_new(MMD_PY_FLOAT64, 2, shape, &strain))
        return NULL;
    PyObject *result = NULL;
    if (mmd_py_simulation_acquire(self)) {
        mmd_simulation_strain(self->simulation, strain.data);
        mmd_py_simulation_release(self);
        result = self->is_list ? split_strain(self, strain.data) : Py_NewRef(strain.object);
    }
    return result;
}

static PyObject *get_notes(PyObject *object, void *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_OWNED PyObject *list = PyList_New(0);
    if (!list || !mmd_py_simulation_acquire(self))
        return NULL;
    char text[256];
    for (size_t i = 0; list && mmd_simulation_note(self->simulation, i, text); i++) {
        MMD_PY_OWNED PyObject *note = mmd_py_exceptions_str(text);
        if (!note || PyList_Append(list, note) < 0)
            Py_CLEAR(list);
    }
    mmd_py_simulation_release(self);
    return list ? PyList_AsTuple(list) : NULL;
}

/* What was given as a model or motion: the only item of a tuple, or a tuple. */
static PyObject *get_models(PyObject *object, void *offset)
{
    PyObject *items = *(PyObject **)(void *)((char *)object + (size_t)offset);
    return Py_NewRef(((mmd_py_simulation *)object)->is_list ? items : PyTuple_GetItem(items, 0));
}

static PyObject *get_physics(PyObject *object, void *unused)
{
    return Py_NewRef(((mmd_py_simulation *)object)->physics);
}

static PyObject *get_array(PyObject *object, void *offset)
{
    PyObject *array = *(PyObject **)(void *)((char *)object + (size_t)offset);
    return Py_NewRef(array ? array : Py_None);
}

static PyGetSetDef simulation_members[] = {
    MMD_PY_PROPERTY(Simulation, model, get_models, offsetof(mmd_py_simulation, models)),
    MMD_PY_PROPERTY(Simulation, motion, get_models, offsetof(mmd_py_simulation, motions)),
    MMD_PY_PROPERTY(Simulation, physics, get_physics, NULL),
    MMD_PY_PROPERTY(Simulation, places, get_array, offsetof(mmd_py_simulation, places)),
    MMD_PY_PROPERTY(Simulation, offsets, get_array, offsetof(mmd_py_simulation, offsets)),
    MMD_PY_PROPERTY(Simulation, frame, get_frame, NULL),
    MMD_PY_PROPERTY(Simulation, notes, get_notes, NULL),
    MMD_PY_PROPERTY(Simulation, strain, get_strain, NULL),
    {0}};

static PyObject *reset(PyObject *object, PyObject *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    if (!mmd_py_simulation_acquire(self))
        return NULL;
    mmd_simulation_reset(self->simulation);
    mmd_py_simulation_release(self);
    Py_RETURN_NONE;
}

/* The name of the model, or how many there are. */
static PyObject *title_of(const mmd_py_simulation *self)
{
    if (self->is_list)
        return PyUnicode_FromFormat("of %zd models", PyTuple_Size(self->models));
    MMD_PY_OWNED PyObject *name =
        mmd_py_record_str(mmd_py_model_data(PyTuple_GetItem(self->models, 0))->name);
    return name ? PyObject_Repr(name) : NULL;
}

static PyObject *simulation_repr(PyObject *object)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    size_t bodies, joints;
    count_parts(self, &bodies, &joints);
    MMD_PY_OWNED PyObject *title = title_of(self), *frame = title ? get_frame(object, NULL) : NULL;
    return frame ? PyUnicode_FromFormat("<mmdskin.Simulation %U: frame %S, %zu rigid "
                                        "bodies, %zu joints>",
                                        title, frame, bodies, joints)
                 : NULL;
}

static PyObject *getnewargs_ex(PyObject *object, PyObject *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    PyObject *ik = self->ik ? Py_True : Py_False;
    if (self->is_list)
        return Py_BuildValue("((OOO){sOsOsO})", self->models, self->motions, self->physics, "ik",
                             ik, "places", self->places ? self->places : Py_None, "offsets",
                             self->offsets ? self->offsets : Py_None);
    return Py_BuildValue("((OOO){sO})", PyTuple_GetItem(self->models, 0),
                         PyTuple_GetItem(self->motions, 0), self->physics, "ik", ik);
}

static PyObject *saved_state(PyObject *object, PyObject *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    if (!mmd_py_simulation_acquire(self))
        return NULL;
    Py_ssize_t size = (Py_ssize_t)mmd_simulation_save(self->simulation, NULL);
    PyObject *state = PyBytes_FromStringAndSize(NULL, size);
    if (state)
        mmd_simulation_save(self->simulation, PyBytes_AsString(state));
    mmd_py_simulation_release(self);
    return state;
}

static PyObject *restore_state(PyObject *object, PyObject *state)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    char *bytes;
    Py_ssize_t size;
    mmd_error err = {0};
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0 || !mmd_py_simulation_acquire(self))
        return NULL;
    bool loaded = mmd_simulation_load(self->simulation, bytes, (size_t)size, &err);
    mmd_py_simulation_release(self);
    return loaded ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(&err);
}

static PyMethodDef simulation_methods[] = {
    MMD_PY_METHOD(Simulation, __getstate__, saved_state, METH_NOARGS),
    MMD_PY_METHOD(Simulation, __setstate__, restore_state, METH_O),
    MMD_PY_METHOD(Simulation, __getnewargs_ex__, getnewargs_ex, METH_NOARGS),
    MMD_PY_METHOD(Simulation, pose, pose, METH_O),
    MMD_PY_METHOD(Simulation, step, mmd_py_simulation_step, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Simulation, reset, reset, METH_NOARGS),
    MMD_PY_METHOD(Simulation, __class_getitem__, Py_GenericAlias, METH_O | METH_CLASS),
    {0}};

static PyType_Slot simulation_slots[] = {
    {Py_tp_doc, MMD_DOC_Simulation},     {Py_tp_new, simulation_new},
    {Py_tp_dealloc, simulation_dealloc}, {Py_tp_methods, simulation_methods},
    {Py_tp_getset, simulation_members},  {Py_tp_members, mmd_py_object_members},
    {Py_tp_repr, simulation_repr},       {0, NULL}};

PyType_Spec mmd_py_simulation_spec = {.name = "mmdskin.Simulation",
                                      .basicsize = sizeof(mmd_py_simulation),
                                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                      .slots = simulation_slots};
