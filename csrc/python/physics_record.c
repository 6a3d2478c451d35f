/* SPDX-License-Identifier: MIT */
/* Settings of worlds and simulations, as physics_arguments.py returns them. */
#include "python/simulation_type.h"

/* (3,), or an array (F,3). */
static bool parse_gravity(PyObject *value, mmd_simulation_settings *physics)
{
    double *g = physics->world.gravity;
    mmd_py_array rows = {0};
    if (PyTuple_Check(value))
        return PyArg_ParseTuple(value, "ddd", &g[0], &g[1], &g[2]);
    if (!mmd_py_array_borrow(value, MMD_PY_FLOAT64, &rows))
        return false;
    physics->gravity.rows = rows.data;
    physics->gravity.row_count = rows.shape[0];
    return true;
}

bool mmd_py_physics_record_parse(PyObject *physics, mmd_simulation_settings *settings)
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
    world->ground = ground != Py_False; /* or its height */
    world->ground_height = PyFloat_Check(ground) ? PyFloat_AsDouble(ground) : 0;
    world->additional_damping = damping;
    world->collide_connected = connected;
    settings->has_start = start != Py_None;
    settings->start = settings->has_start ? PyFloat_AsDouble(start) : 0;
    return parse_gravity(gravity, settings);
}
