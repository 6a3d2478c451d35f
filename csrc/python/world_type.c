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
    mmd_world_desc desc;         /* copies of the arguments, for pickling */
    mmd_py_record_parser parser; /* owns the bodies and joints of desc */
    void *joint_order;           /* of desc; owned */
    mmd_world *world;
    mmd_py_object_lock lock;
} world_object;

static bool acquire(world_object *self)
{
    return mmd_py_object_lock_acquire(&self->lock, "world");
}

static void release(world_object *self)
{
    mmd_py_object_lock_release(&self->lock);
}

static bool copy_order(world_object *self, const mmd_py_array *array)
{
    size_t count = array->shape[0];
    self->joint_order = PyMem_Calloc(count + 1, sizeof(int32_t));
    if (!self->joint_order)
        return PyErr_NoMemory();
    if (count)
        memcpy(self->joint_order, array->data, count * sizeof(int32_t));
    self->desc.joint_order = self->joint_order;
    self->desc.joint_order_count = count;
    return true;
}

static bool parse_order(world_object *self, PyObject *argument)
{
    if (!argument || argument == Py_None)
        return true;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    return mmd_py_array_from(argument, "joint_order", MMD_PY_INT32, true, &array) &&
           mmd_py_array_check_shape(&array, "joint_order", 1, (size_t[]){MMD_PY_ANY}, "n") &&
           copy_order(self, &array);
}

static bool parse_records(world_object *self, mmd_py_record_kind kind, PyObject *records,
                          const char *name, void **data, size_t *count)
{
    self->parser.state = mmd_py_state_of((PyObject *)self);
    size_t length = mmd_py_record_parser_enter(&self->parser, "%s", name);
    bool ok = mmd_py_record_parse_list(&self->parser, kind, records, data, count);
    mmd_py_record_parser_leave(&self->parser, length);
    return ok;
}

static bool build(world_object *self, PyObject *bodies, PyObject *joints, PyObject *order)
{
    mmd_world_desc *desc = &self->desc;
    void *body_structs, *joint_structs;
    if (!parse_records(self, MMD_PY_RECORD_RIGID_BODY, bodies, "bodies", &body_structs,
                       &desc->body_count) ||
        !parse_records(self, MMD_PY_RECORD_JOINT, joints, "joints", &joint_structs,
                       &desc->joint_count) ||
        !parse_order(self, order))
        return false;
    desc->bodies = body_structs;
    desc->joints = joint_structs;
    mmd_error err = {0};
    Py_BEGIN_ALLOW_THREADS
    self->world = mmd_world_new(desc, &err);
    Py_END_ALLOW_THREADS
    return self->world || mmd_py_exceptions_raise(&err);
}

static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *given)
{
    static char *names[] = {"bodies",
                            "joints",
                            "gravity",
                            "hz",
                            "iterations",
                            "ground",
                            "contacts",
                            "additional_damping",
                            "collide_connected",
                            "joint_order",
                            "wind",
                            NULL};
    mmd_world_desc desc = {.settings = mmd_simulation_default_settings().world};
    mmd_world_settings *settings = &desc.settings;
    PyObject *bodies, *joints, *gravity = NULL, *hz = NULL, *iterations = NULL, *order = NULL;
    PyObject *ground = NULL, *wind = NULL;
    int contacts = 1, additional_damping = settings->additional_damping;
    int collide_connected = settings->collide_connected;
    MMD_PY_OWNED PyObject *kwargs =
        mmd_py_object_forward("mmdskin.records", "world_settings", (PyObject *)type, args, given);
    bool parsed = kwargs && PyArg_ParseTupleAndKeywords(
                                args, kwargs, "OO|$OOOOpppOO:World", names, &bodies, &joints,
                                &gravity, &hz, &iterations, &ground, &contacts, &additional_damping,
                                &collide_connected, &order, &wind);
    if (!parsed)
        return NULL;
    if ((gravity &&
         !mmd_py_argument_numbers(gravity, "gravity", MMD_PY_FLOAT64, 3, settings->gravity)) ||
        (wind && !mmd_py_argument_numbers(wind, "wind", MMD_PY_FLOAT64, 3, settings->wind)) ||
        (hz && !mmd_py_argument_double(hz, "hz", &settings->hz)) ||
        (ground && !mmd_py_physics_record_parse_ground(ground, "ground", settings)) ||
        (iterations &&
         !mmd_py_physics_record_parse_iterations(iterations, "iterations", &settings->iterations)))
        return NULL;
    settings->additional_damping = additional_damping;
    settings->collide_connected = collide_connected;
    desc.contacts = contacts;
    world_object *self = (world_object *)mmd_py_object_new(type);
    if (!self)
        return NULL;
    self->desc = desc;
    if (!mmd_py_object_lock_init(&self->lock) || !build(self, bodies, joints, order))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void world_dealloc(PyObject *object)
{
    world_object *self = (world_object *)object;
    mmd_world_free(self->world);
    PyMem_Free(self->joint_order);
    mmd_py_record_parser_free(&self->parser);
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
    if (!acquire(self))
        return NULL;
    size_t shape[] = {what->fill(self->world, NULL), what->columns};
    MMD_PY_OWNED PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(shape[0] * shape[1] * sizeof(double)));
    if (bytes)
        what->fill(self->world, (double *)PyBytes_AsString(bytes));
    release(self);
    return bytes ? mmd_py_array_view(MMD_PY_FLOAT64, PyBytes_AsString(bytes), 2, shape, bytes)
                 : NULL;
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
    bool set = mmd_py_array_from(value, "state", MMD_PY_FLOAT64, true, &array) &&
               mmd_py_array_check_shape(&array, "state", 2, shape, "") && acquire(self);
    if (set) {
        set = mmd_world_set_state(self->world, array.data, &err);
        release(self);
        if (!set)
            mmd_py_exceptions_raise(&err);
    }
    return set ? 0 : -1;
}

static PyObject *step(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"places", NULL};
    world_object *self = (world_object *)object;
    PyObject *places = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:step", names, &places))
        return NULL;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    const size_t shape[] = {mmd_world_kinematic_count(self->world), 7};
    bool done =
        places == Py_None || (mmd_py_array_from(places, "places", MMD_PY_FLOAT64, true, &array) &&
                              mmd_py_array_check_shape(&array, "places", 2, shape, ""));
    if (done && (done = acquire(self))) {
        mmd_error err = {0};
        Py_BEGIN_ALLOW_THREADS
        done = mmd_world_step(self->world, array.data, &err);
        Py_END_ALLOW_THREADS
        release(self);
        if (!done)
            mmd_py_exceptions_raise(&err);
    }
    return done ? Py_NewRef(Py_None) : NULL;
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
        (torque_arg && !mmd_py_argument_numbers(torque_arg, "torque", MMD_PY_FLOAT64, 3, torque)) ||
        !acquire(self))
        return NULL;
    mmd_error err = {0};
    bool pushed = mmd_world_apply_impulse(self->world, (size_t)body, impulse, torque, &err);
    release(self);
    return pushed ? Py_NewRef(Py_None) : mmd_py_exceptions_raise(&err);
}

static PyObject *push(PyObject *object, PyObject *args, PyObject *kwargs)
{
    return PyErr_WarnEx(PyExc_DeprecationWarning, "push() is called apply_impulse()", 1) < 0
               ? NULL
               : apply_impulse(object, args, kwargs);
}

/* Pickling: the arguments, then the state */

static PyObject *order_argument(const mmd_world_desc *desc)
{
    if (!desc->joint_order)
        Py_RETURN_NONE;
    PyObject *order = PyTuple_New((Py_ssize_t)desc->joint_order_count);
    for (size_t i = 0; order && i < desc->joint_order_count; i++)
        mmd_py_record_tuple_set(&order, i, PyLong_FromLong(desc->joint_order[i]));
    return order;
}

static PyObject *getnewargs_ex(PyObject *object, PyObject *unused)
{
    const mmd_world_desc *desc = &((world_object *)object)->desc;
    const mmd_world_settings *settings = &desc->settings;
    mmd_py_state *state = mmd_py_state_of(object);
    MMD_PY_OWNED PyObject *bodies = mmd_py_record_tuple(state, MMD_PY_RECORD_RIGID_BODY,
                                                        desc->bodies, desc->body_count, object);
    MMD_PY_OWNED PyObject *joints =
        bodies ? mmd_py_record_tuple(state, MMD_PY_RECORD_JOINT, desc->joints, desc->joint_count,
                                     object)
               : NULL;
    MMD_PY_OWNED PyObject *order = joints ? order_argument(desc) : NULL;
    MMD_PY_OWNED PyObject *ground = order ? mmd_py_physics_record_ground(settings) : NULL;
    if (!ground)
        return NULL;
    return Py_BuildValue("((OO){s(ddd)sdsisOsOsOsOsOs(ddd)})", bodies, joints, "gravity",
                         settings->gravity[0], settings->gravity[1], settings->gravity[2], "hz",
                         settings->hz, "iterations", settings->iterations, "ground", ground,
                         "contacts", desc->contacts ? Py_True : Py_False, "additional_damping",
                         settings->additional_damping ? Py_True : Py_False, "collide_connected",
                         settings->collide_connected ? Py_True : Py_False, "joint_order", order,
                         "wind", settings->wind[0], settings->wind[1], settings->wind[2]);
}

static PyObject *saved_state(PyObject *object, PyObject *unused)
{
    world_object *self = (world_object *)object;
    if (!acquire(self))
        return NULL;
    PyObject *state =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)mmd_world_save(self->world, NULL));
    if (state)
        mmd_world_save(self->world, PyBytes_AsString(state));
    release(self);
    return state;
}

static PyObject *restore_state(PyObject *object, PyObject *state)
{
    world_object *self = (world_object *)object;
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0 || !acquire(self))
        return NULL;
    mmd_error err = {0};
    bool loaded = mmd_world_load(self->world, bytes, (size_t)size, &err);
    release(self);
    if (!loaded)
        return mmd_py_exceptions_raise(&err);
    Py_RETURN_NONE;
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

PyType_Spec mmd_py_world_spec = {.name = "mmdskin.World",
                                 .basicsize = sizeof(world_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = world_slots};
