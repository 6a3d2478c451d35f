/* SPDX-License-Identifier: MIT */
/* The Python type World: constructor, steps, state, pickling. */
#include "core/physics/world.h"

#include "python/argument.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/simulation_type.h"
#include "python/types.h"

typedef struct world_object {
    mmd_py_object base;
    PyObject *settings;  /* a tuple: what physics_arguments.py has made of the arguments */
    mmd_world_desc desc; /* for pickling */
    mmd_py_record_parser bodies, joints; /* own those of desc */
    mmd_world *world;
    mmd_py_object_lock lock;
} world_object;

static bool parse_settings(world_object *self)
{
    mmd_world_desc *desc = &self->desc;
    mmd_simulation_settings settings;
    mmd_py_array order = {0};
    PyObject *physics, *joint_order;
    int contacts;
    if (!PyArg_ParseTuple(self->settings, "OpO", &physics, &contacts, &joint_order) ||
        !mmd_py_physics_record_parse(physics, &settings) ||
        !mmd_py_array_borrow(joint_order, MMD_PY_INT32, &order))
        return false;
    desc->settings = settings.world;
    desc->contacts = contacts;
    desc->joint_order = order.data;
    desc->joint_order_count = order.shape[0];
    return true;
}

static bool build(world_object *self, PyObject *bodies, PyObject *joints)
{
    mmd_world_desc *desc = &self->desc;
    mmd_py_state *state = mmd_py_state_of((PyObject *)self);
    self->bodies = (mmd_py_record_parser){.state = state, .path = "bodies"};
    self->joints = (mmd_py_record_parser){.state = state, .path = "joints"};
    if (!parse_settings(self) ||
        !mmd_py_record_parse_list(&self->bodies, MMD_PY_RECORD_RIGID_BODY, bodies,
                                  (void **)&desc->bodies, &desc->body_count) ||
        !mmd_py_record_parse_list(&self->joints, MMD_PY_RECORD_JOINT, joints,
                                  (void **)&desc->joints, &desc->joint_count))
        return false;
    mmd_error err = {0};
    Py_BEGIN_ALLOW_THREADS
    self->world = mmd_world_new(desc, &err);
    Py_END_ALLOW_THREADS
    return self->world || mmd_py_exceptions_raise(&err);
}

static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    MMD_PY_OWNED PyObject *given =
        mmd_py_object_forward(MMD_PY_PHYSICS_ARGUMENTS, "world", (PyObject *)type, args, kwargs);
    PyObject *bodies, *joints, *settings;
    if (!given || !PyArg_ParseTuple(given, "OOO", &bodies, &joints, &settings))
        return NULL;
    world_object *self = (world_object *)mmd_py_object_new(type);
    if (!self)
        return NULL;
    self->settings = Py_NewRef(settings);
    if (!mmd_py_object_lock_init(&self->lock, "world") || !build(self, bodies, joints))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void world_dealloc(PyObject *object)
{
    world_object *self = (world_object *)object;
    mmd_world_free(self->world);
    Py_CLEAR(self->settings);
    mmd_py_record_parser_free(&self->bodies);
    mmd_py_record_parser_free(&self->joints);
    mmd_py_object_lock_free(&self->lock);
    mmd_py_object_free(object);
}

static PyObject *world_repr(PyObject *self)
{
    const mmd_world *world = ((world_object *)self)->world;
    return PyUnicode_FromFormat("<mmdskin.World: %zu bodies>", mmd_world_body_count(world));
}

static size_t state_rows(const mmd_world *world, double *state)
{
    if (state)
        mmd_world_state(world, state);
    return mmd_world_body_count(world);
}

static size_t strain_rows(const mmd_world *world, double *strain)
{
    if (strain)
        mmd_world_strain(world, strain);
    return mmd_world_joint_count(world);
}

/* What a property shows: rows that `fill` writes. It returns their number; with NULL it only
   counts. */
typedef struct snapshot {
    size_t columns;
    size_t (*fill)(const mmd_world *world, double *numbers);
} snapshot;

/* A read-only array. */
static PyObject *get_snapshot(PyObject *object, void *closure)
{
    world_object *self = (world_object *)object;
    const snapshot *what = closure;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    size_t shape[] = {what->fill(self->world, NULL), what->columns};
    MMD_PY_OWNED PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(shape[0] * shape[1] * sizeof(double)));
    if (!bytes)
        return NULL;
    what->fill(self->world, (double *)PyBytes_AsString(bytes));
    return mmd_py_array_view(MMD_PY_FLOAT64, PyBytes_AsString(bytes), 2, shape, bytes);
}

static int set_state(PyObject *object, PyObject *value, void *unused)
{
    world_object *self = (world_object *)object;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "state cannot be deleted");
        return -1;
    }
    const size_t shape[] = {mmd_world_body_count(self->world), 13};
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    mmd_error err = {0};
    if (!mmd_py_array_from(value, "state", MMD_PY_FLOAT64, true, &array) ||
        !mmd_py_array_check_shape(&array, "state", 2, shape, ""))
        return -1;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return -1;
    bool done = mmd_world_set_state(self->world, array.data, &err);
    mmd_py_object_lock_release(&held);
    return done || mmd_py_exceptions_raise(&err) ? 0 : -1;
}

static PyObject *step(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"transforms", NULL};
    world_object *self = (world_object *)object;
    PyObject *transforms = Py_None;
    if (kwargs && PyDict_GetItemString(kwargs, "places"))
        return mmd_py_object_forward(MMD_PY_PHYSICS_ARGUMENTS, "step", object, args, kwargs);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:step", names, &transforms))
        return NULL;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    const size_t shape[] = {mmd_world_kinematic_count(self->world), 7};
    if (transforms != Py_None &&
        !(mmd_py_array_from(transforms, "transforms", MMD_PY_FLOAT64, true, &array) &&
          mmd_py_array_check_shape(&array, "transforms", 2, shape, "")))
        return NULL;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    mmd_error err = {0};
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = mmd_world_step(self->world, array.data, &err);
    Py_END_ALLOW_THREADS
    mmd_py_object_lock_release(&held);
    return done ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(&err);
}

static PyObject *apply_impulse(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"body", "impulse", "torque", NULL};
    world_object *self = (world_object *)object;
    long body, last = (long)mmd_world_body_count(self->world) - 1;
    PyObject *body_arg, *impulse_arg, *torque_arg = NULL;
    double impulse[3], torque[3] = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:apply_impulse", names, &body_arg,
                                     &impulse_arg, &torque_arg) ||
        !mmd_py_argument_int(body_arg, "body", 0, last > 0 ? last : 0, &body) ||
        !mmd_py_argument_numbers(impulse_arg, "impulse", MMD_PY_FLOAT64, 3, impulse) ||
        (torque_arg && !mmd_py_argument_numbers(torque_arg, "torque", MMD_PY_FLOAT64, 3, torque)))
        return NULL;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    mmd_error err = {0};
    bool done = mmd_world_apply_impulse(self->world, (size_t)body, impulse, torque, &err);
    mmd_py_object_lock_release(&held);
    return done ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(&err);
}

MMD_PY_FORWARD(push, MMD_PY_PHYSICS_ARGUMENTS, "push")

/* Pickling: the arguments, then the state */

static PyObject *getnewargs_ex(PyObject *object, PyObject *unused)
{
    const mmd_world_desc *desc = &((world_object *)object)->desc;
    mmd_py_state *state = mmd_py_state_of(object);
    PyObject *bodies = mmd_py_record_tuple(state, MMD_PY_RECORD_RIGID_BODY, desc->bodies,
                                           desc->body_count, object);
    PyObject *joints = bodies ? mmd_py_record_tuple(state, MMD_PY_RECORD_JOINT, desc->joints,
                                                    desc->joint_count, object)
                              : NULL;
    return mmd_py_object_call(MMD_PY_PHYSICS_ARGUMENTS, "world_again", "(NNO)", bodies, joints,
                              ((world_object *)object)->settings);
}

static PyObject *saved_state(PyObject *object, PyObject *unused)
{
    world_object *self = (world_object *)object;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    Py_ssize_t size = (Py_ssize_t)mmd_world_save(self->world, NULL);
    PyObject *state = PyBytes_FromStringAndSize(NULL, size);
    if (state)
        mmd_world_save(self->world, PyBytes_AsString(state));
    return state;
}

static PyObject *restore_state(PyObject *object, PyObject *state)
{
    world_object *self = (world_object *)object;
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0)
        return NULL;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    if (!held)
        return NULL;
    mmd_error err = {0};
    bool done = mmd_world_load(self->world, bytes, (size_t)size, &err);
    mmd_py_object_lock_release(&held);
    return done ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(&err);
}

static PyMethodDef world_methods[] = {
    MMD_PY_METHOD(World, __getstate__, saved_state, METH_NOARGS),
    MMD_PY_METHOD(World, __setstate__, restore_state, METH_O),
    MMD_PY_METHOD(World, __getnewargs_ex__, getnewargs_ex, METH_NOARGS),
    MMD_PY_METHOD(World, apply_impulse, apply_impulse, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(World, push, push, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(World, step, step, MMD_PY_KEYWORDS),
    {0}};

static PyGetSetDef world_members[] = {
    {"state", get_snapshot, set_state, MMD_DOC_World_state,
     (void *)&(const snapshot){13, state_rows}},
    MMD_PY_PROPERTY(World, points, get_snapshot, (&(const snapshot){10, mmd_world_contact_points})),
    MMD_PY_PROPERTY(World, strain, get_snapshot, (&(const snapshot){2, strain_rows})),
    {0}};

static PyType_Slot world_slots[] = {{Py_tp_doc, MMD_DOC_World},
                                    {Py_tp_new, world_new},
                                    {Py_tp_dealloc, world_dealloc},
                                    {Py_tp_repr, world_repr},
                                    {Py_tp_methods, world_methods},
                                    {Py_tp_getset, world_members},
                                    {Py_tp_members, mmd_py_object_members},
                                    {0, NULL}};

MMD_PY_TYPE_SPEC(world, "mmdskin.World", world_object, 0);
