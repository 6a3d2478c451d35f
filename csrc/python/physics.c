/* SPDX-License-Identifier: MIT */
#include "python/physics.h"

#include "python/arguments.h"

/* The values of a Physics. */
static PyObject *values_of(const mmd_physics *p)
{
    const mmd_world_settings *w = &p->world;
    PyObject *ground = w->ground && w->ground_height != 0 ? PyFloat_FromDouble(w->ground_height)
                                                          : PyBool_FromLong(w->ground);
    PyObject *start = p->starts ? PyFloat_FromDouble(p->start) : Py_NewRef(Py_None);
    if (!ground || !start) {
        Py_XDECREF(ground);
        Py_XDECREF(start);
        return NULL;
    }
    return Py_BuildValue("((ddd)diNOONid)", w->gravity[0], w->gravity[1], w->gravity[2], w->hz,
                         w->iterations, ground, w->damping_extra ? Py_True : Py_False,
                         w->joined_collide ? Py_True : Py_False, start, p->settle, p->teleport);
}

PyObject *mmd_physics_defaults(void)
{
    return values_of(&mmd_physics_default);
}

PyObject *mmd_physics_object(mmd_state *state, const mmd_physics *physics)
{
    PyObject *values = values_of(physics);
    PyObject *object =
        values ? PyObject_CallObject(state->records[MMD_RECORD_PHYSICS], values) : NULL;
    Py_XDECREF(values);
    return object;
}

static bool take_count(PyObject *value, const char *name, int least, int most, int *count)
{
    long number;
    bool taken = mmd_integer_take(value, name, least, most, &number);
    if (taken)
        *count = (int)number;
    return taken;
}

static bool take_truth(PyObject *value, bool *truth)
{
    int answer = PyObject_IsTrue(value);
    *truth = answer > 0;
    return answer >= 0;
}

/* Whether there is a ground, or its height. */
static bool take_ground(PyObject *value, mmd_world_settings *world)
{
    world->ground_height = 0;
    if (mmd_is_bool(value))
        return take_truth(value, &world->ground);
    world->ground = true;
    return mmd_number_take(value, "Physics.ground", &world->ground_height);
}

static bool take_start(PyObject *value, mmd_physics *physics)
{
    physics->starts = value != Py_None;
    return !physics->starts || mmd_number_take(value, "Physics.start", &physics->start);
}

/* The core refuses the same, but only what fits an int. */
bool mmd_iterations_take(PyObject *value, const char *name, int *iterations)
{
    return take_count(value, name, 1, MMD_WORLD_ITERATIONS, iterations);
}

static bool take_fields(PyObject *record, mmd_physics *physics)
{
    PyObject *fields[9];
    if (!PyArg_ParseTuple(record, "OOOOOOOOO:Physics", &fields[0], &fields[1], &fields[2],
                          &fields[3], &fields[4], &fields[5], &fields[6], &fields[7], &fields[8]))
        return false;
    mmd_world_settings *world = &physics->world;
    return mmd_numbers_take(fields[0], "Physics.gravity", MMD_FLOAT64, 3, world->gravity) &&
           mmd_number_take(fields[1], "Physics.hz", &world->hz) &&
           mmd_iterations_take(fields[2], "Physics.iterations", &world->iterations) &&
           take_ground(fields[3], world) && take_truth(fields[4], &world->damping_extra) &&
           take_truth(fields[5], &world->joined_collide) && take_start(fields[6], physics) &&
           take_count(fields[7], "Physics.settle", 0, MMD_SIMULATION_SETTLE, &physics->settle) &&
           mmd_number_take(fields[8], "Physics.teleport", &physics->teleport);
}

int mmd_physics_take(mmd_state *state, PyObject *argument, mmd_physics *physics)
{
    *physics = mmd_physics_default;
    if (argument == Py_None || argument == Py_False)
        return 0;
    if (argument == Py_True)
        return 1;
    if ((PyObject *)Py_TYPE(argument) != state->records[MMD_RECORD_PHYSICS]) {
        PyErr_Format(PyExc_TypeError, "physics: expected None, a bool or a Physics, not %R",
                     (PyObject *)Py_TYPE(argument));
        return -1;
    }
    return take_fields(argument, physics) ? 1 : -1;
}
