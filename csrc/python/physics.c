/* SPDX-License-Identifier: MIT */
/* The record Physics. */
#include "core/physics/world.h"
#include "python/simulation.h"

#include <math.h>

/* The values of a Physics. */
static PyObject *values_of(const mmd_physics *p)
{
    PyObject *ground = p->ground && p->ground_height != 0 ? PyFloat_FromDouble(p->ground_height)
                                                          : PyBool_FromLong(p->ground);
    PyObject *start = p->starts ? PyFloat_FromDouble(p->start) : Py_NewRef(Py_None);
    if (!ground || !start) {
        Py_XDECREF(ground);
        Py_XDECREF(start);
        return NULL;
    }
    return Py_BuildValue("((ddd)diNOONid)", p->gravity[0], p->gravity[1], p->gravity[2], p->hz,
                         p->iterations, ground, p->damping_extra ? Py_True : Py_False,
                         p->joined_collide ? Py_True : Py_False, start, p->settle, p->teleport);
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

/* Of a number that the core checks: a NaN stands for what no double holds. */
static bool take_number(PyObject *value, const char *name, double *number)
{
    *number = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
        return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "%s: %S is too large", name, value);
    else if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: expected a number, not %R", name,
                     (PyObject *)Py_TYPE(value));
    return false;
}

static bool take_count(PyObject *value, const char *name, int least, int most, int *count)
{
    if (!PyIndex_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected an integer, not %R", name,
                     (PyObject *)Py_TYPE(value));
        return false;
    }
    PyObject *index = PyNumber_Index(value);
    int overflow = 0;
    long number = index ? PyLong_AsLongAndOverflow(index, &overflow) : -1;
    Py_XDECREF(index);
    if (PyErr_Occurred())
        return false;
    if (overflow || number < least || number > most) {
        PyErr_Format(PyExc_ValueError, "%s: %S, expected %d to %d", name, value, least, most);
        return false;
    }
    *count = (int)number;
    return true;
}

static bool take_truth(PyObject *value, bool *truth)
{
    int answer = PyObject_IsTrue(value);
    *truth = answer > 0;
    return answer >= 0;
}

/* Whether there is a ground, or its height. */
static bool take_ground(PyObject *value, mmd_physics *physics)
{
    physics->ground_height = 0;
    if (mmd_is_bool(value))
        return take_truth(value, &physics->ground);
    physics->ground = true;
    return take_number(value, "Physics.ground", &physics->ground_height);
}

static bool take_start(PyObject *value, mmd_physics *physics)
{
    physics->starts = value != Py_None;
    return !physics->starts || take_number(value, "Physics.start", &physics->start);
}

static bool take_gravity(PyObject *value, double gravity[3])
{
    mmd_array array = {0};
    bool taken = mmd_array_from(value, "Physics.gravity", MMD_FLOAT64, false, &array) &&
                 mmd_array_check_shape(&array, "Physics.gravity", 1, (size_t[]){3}, "");
    for (int i = 0; taken && i < 3; i++)
        gravity[i] = ((double *)array.data)[i];
    mmd_array_clear(&array);
    return taken;
}

static bool take_fields(PyObject *record, mmd_physics *physics)
{
    PyObject *fields[9];
    if (!PyArg_ParseTuple(record, "OOOOOOOOO:Physics", &fields[0], &fields[1], &fields[2],
                          &fields[3], &fields[4], &fields[5], &fields[6], &fields[7], &fields[8]))
        return false;
    return take_gravity(fields[0], physics->gravity) &&
           take_number(fields[1], "Physics.hz", &physics->hz) &&
           take_count(fields[2], "Physics.iterations", 1, MMD_WORLD_ITERATIONS,
                      &physics->iterations) &&
           take_ground(fields[3], physics) && take_truth(fields[4], &physics->damping_extra) &&
           take_truth(fields[5], &physics->joined_collide) && take_start(fields[6], physics) &&
           take_count(fields[7], "Physics.settle", 0, MMD_SIMULATION_SETTLE, &physics->settle) &&
           take_number(fields[8], "Physics.teleport", &physics->teleport);
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
