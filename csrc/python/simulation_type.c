/* SPDX-License-Identifier: MIT */
/* The Python type Simulation: constructor, poses, pickling. */
#include "python/simulation_type.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

/* Construction */

/* The items of `arguments`. */
enum { MODELS, MOTIONS, IS_LIST, PHYSICS, IK, TRANSFORMS, OFFSETS };

static PyObject *argument(const mmd_py_simulation *self, size_t which)
{
    return PyTuple_GetItem(self->arguments, (Py_ssize_t)which);
}

static bool create(mmd_py_simulation *self)
{
    mmd_simulation_settings settings;
    mmd_py_array transforms = {0}, offsets = {0};
    for (Py_ssize_t i = 0; i < PyTuple_Size(self->models); i++)
        if (!mmd_py_motion_check_names(PyTuple_GetItem(self->motions, i),
                                       PyTuple_GetItem(self->models, i)))
            return false;
    if (!mmd_py_physics_record_parse(argument(self, PHYSICS), &settings) ||
        !mmd_py_array_borrow(argument(self, TRANSFORMS), MMD_PY_FLOAT64, &transforms) ||
        !mmd_py_array_borrow(argument(self, OFFSETS), MMD_PY_FLOAT64, &offsets))
        return false;
    self->simulation =
        mmd_py_simulation_create(self->models, self->motions, transforms.data, offsets.data,
                                 argument(self, IK) == Py_True, &settings);
    return self->simulation;
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *arguments = mmd_py_object_forward(MMD_PY_PHYSICS_ARGUMENTS, "simulation",
                                                (PyObject *)type, args, kwargs);
    mmd_py_simulation *self = arguments ? (mmd_py_simulation *)mmd_py_object_new(type) : NULL;
    if (!self) {
        Py_XDECREF(arguments);
        return NULL;
    }
    self->arguments = arguments;
    self->models = argument(self, MODELS);
    self->motions = argument(self, MOTIONS);
    self->is_list = argument(self, IS_LIST) == Py_True;
    if (!mmd_py_object_lock_init(&self->lock, "simulation") || !create(self))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void simulation_dealloc(PyObject *object)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    mmd_simulation_free(self->simulation);
    mmd_py_object_lock_free(&self->lock);
    Py_CLEAR(self->arguments);
    mmd_py_object_free(object);
}

/* Methods */

static PyObject *pose(PyObject *object, PyObject *frame)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array frames = {0};
    if (!mmd_py_argument_finite_frames(frame, "frame", &frames))
        return NULL;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    return held ? mmd_py_simulation_pose_frames(self->models, self->is_list, self->simulation,
                                                &frames)
                : NULL;
}

static PyObject *get_frame(PyObject *object, void *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    return held ? PyFloat_FromDouble(mmd_simulation_frame(self->simulation)) : NULL;
}

static PyObject *get_strain(PyObject *object, void *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    size_t shape[2] = {0, 2};
    for (Py_ssize_t m = 0; m < PyTuple_Size(self->models); m++)
        shape[0] += mmd_py_model_of(PyTuple_GetItem(self->models, m))->model->joint_count;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array strain = {0};
    if (!mmd_py_array_new(MMD_PY_FLOAT64, 2, shape, &strain))
        return NULL;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    mmd_simulation_strain(self->simulation, strain.data);
    mmd_py_object_lock_release(&held);
    return self->is_list ? mmd_py_object_call(MMD_PY_PHYSICS_ARGUMENTS, "split_strain", "(OO)",
                                              self->models, strain.object)
                         : Py_NewRef(strain.object);
}

static PyObject *get_notes(PyObject *object, void *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_OWNED PyObject *list = PyList_New(0);
    MMD_PY_HELD *held = list ? mmd_py_object_lock_acquire(&self->lock) : NULL;
    if (!held)
        return NULL;
    char text[256];
    for (size_t i = 0; list && mmd_simulation_note(self->simulation, i, text); i++) {
        MMD_PY_OWNED PyObject *note = mmd_py_exceptions_str(text);
        if (!note || PyList_Append(list, note) < 0)
            Py_CLEAR(list);
    }
    return list ? PyList_AsTuple(list) : NULL;
}

/* What was given as a model or motion: the only item of a tuple, or a tuple. */
static PyObject *get_models(PyObject *object, void *which)
{
    const mmd_py_simulation *self = (const mmd_py_simulation *)object;
    PyObject *items = argument(self, (size_t)which);
    return Py_NewRef(self->is_list ? items : PyTuple_GetItem(items, 0));
}

static PyObject *get_argument(PyObject *object, void *which)
{
    return Py_NewRef(argument((const mmd_py_simulation *)object, (size_t)which));
}

static PyGetSetDef simulation_members[] = {
    MMD_PY_PROPERTY(Simulation, model, get_models, MODELS),
    MMD_PY_PROPERTY(Simulation, motion, get_models, MOTIONS),
    MMD_PY_PROPERTY(Simulation, physics, get_argument, PHYSICS),
    MMD_PY_PROPERTY(Simulation, transforms, get_argument, TRANSFORMS),
    MMD_PY_PROPERTY(Simulation, places, get_argument, TRANSFORMS),
    MMD_PY_PROPERTY(Simulation, offsets, get_argument, OFFSETS),
    MMD_PY_PROPERTY(Simulation, frame, get_frame, NULL),
    MMD_PY_PROPERTY(Simulation, notes, get_notes, NULL),
    MMD_PY_PROPERTY(Simulation, strain, get_strain, NULL),
    {0}};

static PyObject *reset(PyObject *object, PyObject *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    mmd_simulation_reset(self->simulation);
    Py_RETURN_NONE;
}

static PyObject *simulation_repr(PyObject *self)
{
    return mmd_py_object_call(MMD_PY_PHYSICS_ARGUMENTS, "simulation_repr", "(O)", self);
}

static PyObject *getnewargs_ex(PyObject *object, PyObject *unused)
{
    return mmd_py_object_forward(MMD_PY_PHYSICS_ARGUMENTS, "simulation_again", object,
                                 ((mmd_py_simulation *)object)->arguments, NULL);
}

static PyObject *saved_state(PyObject *object, PyObject *unused)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    Py_ssize_t size = (Py_ssize_t)mmd_simulation_save(self->simulation, NULL);
    PyObject *state = PyBytes_FromStringAndSize(NULL, size);
    if (state)
        mmd_simulation_save(self->simulation, PyBytes_AsString(state));
    return state;
}

static PyObject *restore_state(PyObject *object, PyObject *state)
{
    mmd_py_simulation *self = (mmd_py_simulation *)object;
    char *bytes;
    Py_ssize_t size;
    mmd_error err = {0};
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0)
        return NULL;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    bool done = mmd_simulation_load(self->simulation, bytes, (size_t)size, &err);
    mmd_py_object_lock_release(&held);
    return done ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(&err);
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

MMD_PY_TYPE_SPEC(simulation, "mmdskin.Simulation", mmd_py_simulation, 0);
