/* SPDX-License-Identifier: MIT */
#include "core/physics/world.h"

#include "python/arguments.h"
#include "python/object_lock.h"
#include "python/physics.h"
#include "python/records.h"

typedef struct world_object {
    PyObject_HEAD
    mmd_world *world;
    mmd_object_lock lock;
} world_object;

static bool take(world_object *self)
{
    return mmd_object_lock_take(&self->lock, "world");
}

static void leave(world_object *self)
{
    mmd_object_lock_leave(&self->lock);
}

static bool take_order(PyObject *argument, mmd_array *array, mmd_world_desc *desc)
{
    if (!argument || argument == Py_None)
        return true;
    if (!mmd_array_from(argument, "joint_order", MMD_INT32, true, array) ||
        !mmd_array_check_shape(array, "joint_order", 1, (size_t[]){MMD_ANY}, "n"))
        return false;
    desc->joint_order = array->data;
    desc->joint_order_count = array->shape[0];
    return true;
}

static bool build(world_object *self, PyObject *bodies, PyObject *joints, PyObject *order,
                  mmd_world_desc *desc)
{
    mmd_array order_array = {0};
    void *body_data = mmd_records_read(MMD_RECORD_RIGID_BODY, bodies, "bodies", &desc->body_count);
    void *joint_data =
        body_data ? mmd_records_read(MMD_RECORD_JOINT, joints, "joints", &desc->joint_count) : NULL;
    if (joint_data && take_order(order, &order_array, desc)) {
        mmd_error err = {0};
        desc->bodies = body_data;
        desc->joints = joint_data;
        Py_BEGIN_ALLOW_THREADS
        self->world = mmd_world_new(desc, &err);
        Py_END_ALLOW_THREADS
        if (!self->world)
            mmd_raise(mmd_state_of((PyObject *)self), &err);
    }
    mmd_array_clear(&order_array);
    PyMem_Free(joint_data);
    PyMem_Free(body_data);
    return self->world != NULL;
}

static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"bodies",         "joints",      "gravity",  "hz",
                            "iterations",     "ground",      "contacts", "damping_extra",
                            "joined_collide", "joint_order", NULL};
    mmd_world_desc desc = {.settings = mmd_physics_default.world};
    mmd_world_settings *settings = &desc.settings;
    PyObject *bodies, *joints, *gravity = NULL, *hz = NULL, *iterations = NULL, *order = NULL;
    int ground = settings->ground, contacts = 1, damping_extra = settings->damping_extra;
    int joined_collide = settings->joined_collide;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOppppO:World", names, &bodies, &joints,
                                     &gravity, &hz, &iterations, &ground, &contacts, &damping_extra,
                                     &joined_collide, &order))
        return NULL;
    if ((gravity && !mmd_numbers_take(gravity, "gravity", MMD_FLOAT64, 3, settings->gravity)) ||
        (hz && !mmd_number_take(hz, "hz", &settings->hz)) ||
        (iterations && !mmd_iterations_take(iterations, "iterations", &settings->iterations)))
        return NULL;
    settings->ground = ground;
    settings->damping_extra = damping_extra;
    settings->joined_collide = joined_collide;
    desc.contacts = contacts;
    world_object *self = (world_object *)mmd_object_new(type);
    if (!self)
        return NULL;
    if (!mmd_object_lock_init(&self->lock) || !build(self, bodies, joints, order, &desc))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void world_dealloc(PyObject *object)
{
    world_object *self = (world_object *)object;
    mmd_world_free(self->world);
    mmd_object_lock_free(&self->lock);
    mmd_object_free(object);
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

/* A read-only array of what `fill` writes; without memory to write to, it counts the rows. */
static PyObject *snapshot(world_object *self, size_t columns,
                          size_t (*fill)(const mmd_world *world, double *numbers))
{
    if (!take(self))
        return NULL;
    size_t shape[] = {fill(self->world, NULL), columns};
    PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(shape[0] * columns * sizeof(double)));
    if (bytes)
        fill(self->world, (double *)PyBytes_AsString(bytes));
    leave(self);
    PyObject *array =
        bytes ? mmd_array_view(MMD_FLOAT64, PyBytes_AsString(bytes), 2, shape, bytes) : NULL;
    Py_XDECREF(bytes);
    return array;
}

static PyObject *get_state(PyObject *self, void *unused)
{
    (void)unused;
    return snapshot((world_object *)self, 13, state_rows);
}

static PyObject *get_points(PyObject *self, void *unused)
{
    (void)unused;
    return snapshot((world_object *)self, 10, mmd_world_points);
}

static int set_state(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    world_object *self = (world_object *)object;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "state cannot be deleted");
        return -1;
    }
    const size_t shape[] = {mmd_world_body_count(self->world), 13};
    mmd_array array = {0};
    mmd_error err = {0};
    bool set = mmd_array_from(value, "state", MMD_FLOAT64, true, &array) &&
               mmd_array_check_shape(&array, "state", 2, shape, "") && take(self);
    if (set) {
        set = mmd_world_set_state(self->world, array.data, &err);
        leave(self);
        if (!set)
            mmd_raise(mmd_state_of(object), &err);
    }
    mmd_array_clear(&array);
    return set ? 0 : -1;
}

static PyObject *step(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"places", NULL};
    world_object *self = (world_object *)object;
    PyObject *places = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:step", names, &places))
        return NULL;
    mmd_array array = {0};
    const size_t shape[] = {mmd_world_follower_count(self->world), 7};
    bool done = places == Py_None || (mmd_array_from(places, "places", MMD_FLOAT64, true, &array) &&
                                      mmd_array_check_shape(&array, "places", 2, shape, ""));
    if (done && (done = take(self))) {
        mmd_error err = {0};
        Py_BEGIN_ALLOW_THREADS
        done = mmd_world_step(self->world, array.data, &err);
        Py_END_ALLOW_THREADS
        leave(self);
        if (!done)
            mmd_raise(mmd_state_of(object), &err);
    }
    mmd_array_clear(&array);
    return done ? Py_NewRef(Py_None) : NULL;
}

static const char step_doc[] =
    "step($self, /, places=None)\n--\n\n"
    "One step of 1 / hz seconds.\n\n"
    "places: (K,7) float64, position and rotation x y z w to which the K bodies of mode\n"
    "    \"follow_bone\" go, in the order of bodies; they stand there during the step, and their\n"
    "    velocity is the way from their old place. None: they stay.\n\n"
    "A body that would leave the numbers stays where it is, at rest. Raises ValueError; the text\n"
    "names the place.";

static PyMethodDef world_methods[] = {
    {"step", (PyCFunction)(void (*)(void))step, METH_VARARGS | METH_KEYWORDS, step_doc}, {0}};

static PyGetSetDef world_members[] = {
    {"state", get_state, set_state,
     "(N,13) float64 of all bodies: position, rotation x y z w, velocity and spin per second, in\n"
     "the file's space. A copy, read-only; assigning an array sets it, and forgets what touched.",
     NULL},
    {"points", get_points, NULL,
     "(P,10) float64 of the contacts of the last step: bodies a and b (-1: the ground), a point on "
     "b,\nthe direction from there to a, the distance along it (negative: they overlap), the "
     "impulse.",
     NULL},
    {0}};

static const char world_doc[] =
    "World(bodies, joints, *, gravity=(0, -98, 0), hz=60, iterations=10, ground=True,\n"
    "      contacts=True, damping_extra=True, joined_collide=True, joint_order=None)\n--\n\n"
    "Rigid bodies and their joints by the equations of Bullet 2.75, which MMD names. The same\n"
    "input gives the same bits in every run and on every system. Starts at rest.\n\n"
    "bodies, joints: RigidBody and Joint records, as in Model.rigid_bodies and Model.joints. "
    "Joints\n"
    "    of every kind are solved by their limits, springs are those of \"spring_6dof\".\n"
    "gravity: model units per second squared.\n"
    "hz: steps per second, 1 to 100000.\n"
    "iterations: sweeps over joints and contacts in a step, 1 to 1000.\n"
    "ground: the plane y = 0 holds what falls.\n"
    "contacts: bodies touch those of the groups in their masks, if each allows the other.\n"
    "damping_extra: slow bodies come to rest.\n"
    "joined_collide: bodies that a joint holds together touch, too.\n"
    "joint_order: (n,) int32, the joints that are solved, in order; None: all, as Bullet sorts "
    "them.\n\n"
    "Raises TypeError and ValueError; the text names the body or joint.";

static PyType_Slot world_slots[] = {{Py_tp_doc, (void *)world_doc},
                                    {Py_tp_new, world_new},
                                    {Py_tp_dealloc, world_dealloc},
                                    {Py_tp_repr, world_repr},
                                    {Py_tp_methods, world_methods},
                                    {Py_tp_getset, world_members},
                                    {0, NULL}};

PyType_Spec mmd_world_spec = {.name = "mmdskin.World",
                              .basicsize = sizeof(world_object),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                              .slots = world_slots};
