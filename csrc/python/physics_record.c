/* SPDX-License-Identifier: MIT */
/* Settings of worlds and simulations, as physics_arguments.py returns them. */
#include "python/simulation_type.h"

void mmd_py_physics_record_ground(PyObject *value, mmd_world_settings *world)
{
    world->ground = value != Py_False;
    world->ground_height = PyFloat_Check(value) ? PyFloat_AsDouble(value) : 0;
}

/* (3,), or an array (F,3). */
static bool parse_gravity(PyObject *value, mmd_simulation_settings *physics, mmd_py_array *rows)
{
    double *g = physics->world.gravity;
    if (PyTuple_Check(value))
        return PyArg_ParseTuple(value, "ddd", &g[0], &g[1], &g[2]);
    if (!mmd_py_array_from(value, "gravity", MMD_PY_FLOAT64, false, rows))
        return false;
    physics->gravity.rows = rows->data;
    physics->gravity.row_count = rows->shape[0];
    return true;
}

bool mmd_py_physics_record_parse(PyObject *physics, mmd_simulation_settings *settings,
                                 mmd_py_array *rows)
{
    mmd_world_settings *world = &settings->world;
    PyObject *gravity, *ground, *start;
    int damping, connected;
    *settings = mmd_simulation_default_settings();
    if (!PyArg_ParseTuple(physics, "OdiOppOiddI(ddd)", &gravity, &world->hz, &world->iterations,
                          &ground, &damping, &connected, &start, &settings->settle,
                          &settings->teleport, &settings->gravity.noise, &settings->gravity.seed,
                          &world->wind[0], &world->wind[1], &world->wind[2]))
        return false;
    mmd_py_physics_record_ground(ground, world);
    world->additional_damping = damping;
    world->collide_connected = connected;
    settings->has_start = start != Py_None;
    settings->start = settings->has_start ? PyFloat_AsDouble(start) : 0;
    return parse_gravity(gravity, settings, rows);
}
