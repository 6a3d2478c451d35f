/* SPDX-License-Identifier: MIT */
/* Conversion between Physics records and settings. */
#include "python/simulation_type.h"

#include "python/argument.h"
#include "python/owned.h"

#include <limits.h>
#include <string.h>

PyObject *mmd_py_physics_record_ground(const mmd_world_settings *world)
{
    return world->ground && world->ground_height != 0 ? PyFloat_FromDouble(world->ground_height)
                                                      : PyBool_FromLong(world->ground);
}

static PyObject *gravity_of(const mmd_simulation_settings *p)
{
    const double *g = p->world.gravity;
    if (!p->gravity.rows)
        return Py_BuildValue("(ddd)", g[0], g[1], g[2]);
    const size_t shape[] = {p->gravity.row_count, 3};
    MMD_PY_OWNED PyObject *bytes = PyBytes_FromStringAndSize(
        (const char *)p->gravity.rows, (Py_ssize_t)(3 * shape[0] * sizeof(double)));
    return bytes ? mmd_py_array_view(MMD_PY_FLOAT64, PyBytes_AsString(bytes), 2, shape, bytes)
                 : NULL;
}

/* The fields of a Physics, as a tuple. */
static PyObject *values_of(const mmd_simulation_settings *p)
{
    const mmd_world_settings *w = &p->world;
    PyObject *ground = mmd_py_physics_record_ground(w);
    PyObject *start = p->has_start ? PyFloat_FromDouble(p->start) : Py_NewRef(Py_None);
    PyObject *gravity = ground && start ? gravity_of(p) : NULL;
    if (!gravity) {
        Py_XDECREF(ground);
        Py_XDECREF(start);
        return NULL;
    }
    return Py_BuildValue("(NdiNOONiddk(ddd))", gravity, w->hz, w->iterations, ground,
                         w->additional_damping ? Py_True : Py_False,
                         w->collide_connected ? Py_True : Py_False, start, p->settle, p->teleport,
                         p->gravity.noise, (unsigned long)p->gravity.seed, w->wind[0], w->wind[1],
                         w->wind[2]);
}

PyObject *mmd_py_physics_record_new(mmd_py_state *state, const mmd_simulation_settings *physics)
{
    MMD_PY_OWNED PyObject *values = values_of(physics);
    return values ? PyObject_CallObject(state->records[MMD_PY_RECORD_PHYSICS], values) : NULL;
}

static bool parse_count(PyObject *value, const char *name, int min, int max, int *count)
{
    long number;
    bool ok = mmd_py_argument_int(value, name, min, max, &number);
    if (ok)
        *count = (int)number;
    return ok;
}

static bool parse_bool(PyObject *value, bool *out)
{
    int answer = PyObject_IsTrue(value);
    *out = answer > 0;
    return answer >= 0;
}

/* A bool, or the height of the ground. */
bool mmd_py_physics_record_parse_ground(PyObject *value, const char *name,
                                        mmd_world_settings *world)
{
    world->ground_height = 0;
    if (mmd_py_array_is_bool_scalar(value))
        return parse_bool(value, &world->ground);
    world->ground = true;
    return mmd_py_argument_double(value, name, &world->ground_height);
}

static bool parse_start(PyObject *value, mmd_simulation_settings *physics)
{
    physics->has_start = value != Py_None;
    return !physics->has_start || mmd_py_argument_double(value, "Physics.start", &physics->start);
}

/* (3,), or (F,3), whose rows stay in `rows`. */
static bool parse_gravity(PyObject *value, mmd_simulation_settings *physics, mmd_py_array *rows)
{
    const size_t shape[] = {MMD_PY_ANY, 3};
    size_t count;
    bool batched = false;
    if (!mmd_py_array_from_frames(value, "Physics.gravity", MMD_PY_FLOAT64, 1, shape, "F", rows,
                                  &count, &batched))
        return false;
    if (batched && count == 0)
        return PyErr_Format(PyExc_ValueError, "Physics.gravity: no rows, expected (3,) or (F,3)");
    if (batched) {
        physics->gravity.rows = rows->data;
        physics->gravity.row_count = count;
    } else {
        memcpy(physics->world.gravity, rows->data, sizeof physics->world.gravity);
    }
    return true;
}

/* The core checks the range, too, but its type is int. */
bool mmd_py_physics_record_parse_iterations(PyObject *value, const char *name, int *iterations)
{
    return parse_count(value, name, 1, MMD_WORLD_MAX_ITERATIONS, iterations);
}

static bool parse_fields(PyObject *record, mmd_simulation_settings *physics, mmd_py_array *rows)
{
    PyObject *fields[12];
    if (!PyArg_ParseTuple(record, "OOOOOOOOOOOO:Physics", &fields[0], &fields[1], &fields[2],
                          &fields[3], &fields[4], &fields[5], &fields[6], &fields[7], &fields[8],
                          &fields[9], &fields[10], &fields[11]))
        return false;
    mmd_world_settings *world = &physics->world;
    int seed;
    if (!parse_count(fields[10], "Physics.gravity_seed", 0, INT_MAX, &seed))
        return false;
    physics->gravity.seed = (uint32_t)seed;
    return parse_gravity(fields[0], physics, rows) &&
           mmd_py_argument_double(fields[1], "Physics.hz", &world->hz) &&
           mmd_py_physics_record_parse_iterations(fields[2], "Physics.iterations",
                                                  &world->iterations) &&
           mmd_py_physics_record_parse_ground(fields[3], "Physics.ground", world) &&
           parse_bool(fields[4], &world->additional_damping) &&
           parse_bool(fields[5], &world->collide_connected) && parse_start(fields[6], physics) &&
           parse_count(fields[7], "Physics.settle", 0, MMD_SIMULATION_MAX_SETTLE,
                       &physics->settle) &&
           mmd_py_argument_double(fields[8], "Physics.teleport", &physics->teleport) &&
           mmd_py_argument_double(fields[9], "Physics.gravity_noise", &physics->gravity.noise) &&
           mmd_py_argument_numbers(fields[11], "Physics.wind", MMD_PY_FLOAT64, 3, world->wind);
}

int mmd_py_physics_record_parse(mmd_py_state *state, PyObject *argument,
                                mmd_simulation_settings *physics, mmd_py_array *rows)
{
    *physics = mmd_simulation_default_settings();
    if (argument == Py_None || argument == Py_False)
        return 0;
    if (argument == Py_True)
        return 1;
    if ((PyObject *)Py_TYPE(argument) != state->records[MMD_PY_RECORD_PHYSICS]) {
        PyErr_Format(PyExc_TypeError, "physics: expected None, a bool or a Physics, not %R",
                     (PyObject *)Py_TYPE(argument));
        return -1;
    }
    return parse_fields(argument, physics, rows) ? 1 : -1;
}
