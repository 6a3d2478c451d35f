/* SPDX-License-Identifier: MIT */
/* Fits in slices: the iterator beneath the package's class Fit, whose arguments fitting.py has
   checked. */
#define _POSIX_C_SOURCE 200809L
#include "core/fit/fit.h"

#include "core/base/threads.h"
#include "core/formats/formats.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/types.h"

static const double SLICE = 0.03; /* seconds: a window that is drawn in between stays smooth */

typedef struct fit_object {
    mmd_py_object base;
    PyObject *args;            /* keep what the fit borrows */
    mmd_fit *fit;              /* NULL: its result was taken */
    mmd_motion_fit *of_motion; /* the same, if it is one */
    PyObject *threads;         /* of `args`; NULL: one */
    mmd_thread_part part;
    size_t done; /* items of the part */
    double share;
    mmd_py_object_lock lock;
} fit_object;

static fit_object *new_object(PyObject *module, PyObject *args, PyObject *threads)
{
    PyTypeObject *type = mmd_py_state_of_module(module)->types[MMD_PY_FIT];
    fit_object *self = (fit_object *)mmd_py_object_new(type);
    if (self) {
        self->args = Py_NewRef(args);
        self->threads = threads;
        if (!mmd_py_object_lock_init(&self->lock, "fit"))
            Py_CLEAR(self);
    }
    return self;
}

/* NULL with the exception for an error, if there is no fit. */
static PyObject *checked(fit_object *self, const mmd_error *err)
{
    if (self->fit)
        return (PyObject *)self;
    Py_DECREF(self);
    return mmd_py_exceptions_raise(err);
}

PyObject *mmd_py_fit_motion(PyObject *module, PyObject *args)
{
    mmd_py_state *state = mmd_py_state_of_module(module);
    PyObject *model, *moves, *turns, *weights, *matrices, *losses, *like, *threads;
    int is_off, as_keyed, key_physics;
    mmd_motion_fit_job job = {0};
    mmd_error err = {0};
    mmd_py_array values[4] = {{0}};
    if (!PyArg_ParseTuple(args, "O!OOOOOIddpppOO:_fit_motion", state->types[MMD_PY_MODEL], &model,
                          &moves, &turns, &weights, &matrices, &losses, &job.first_frame,
                          &job.tolerance, &job.physics_tolerance, &is_off, &as_keyed, &key_physics,
                          &like, &threads) ||
        !mmd_py_array_borrow(moves, MMD_PY_FLOAT32, &values[0]) ||
        !mmd_py_array_borrow(turns, MMD_PY_FLOAT32, &values[1]) ||
        !mmd_py_array_borrow(weights, MMD_PY_FLOAT32, &values[2]) ||
        !mmd_py_array_borrow(matrices, MMD_PY_FLOAT32, &values[3]))
        return NULL;
    job.frame_count = values[0].shape[0];
    job.translations = values[0].data;
    job.rotations = values[1].data;
    job.morph_weights = values[2].data;
    job.matrices = values[3].data;
    job.rig = mmd_py_model_of(model)->rig;
    job.ik = is_off ? MMD_MOTION_FIT_IK_OFF : MMD_MOTION_FIT_IK_AS_KEYED;
    job.keep_switches = as_keyed;
    job.key_physics = key_physics;
    job.earlier = like == Py_None ? NULL : mmd_py_motion_of(like)->motion;
    fit_object *self = new_object(module, args, threads);
    if (!self)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    job.mesh = mmd_py_mesh_cache_base(&mmd_py_model_of(model)->mesh_cache, &err);
    self->of_motion = job.mesh ? mmd_motion_fit_new(&job, &err) : NULL;
    Py_END_ALLOW_THREADS
    self->fit = (mmd_fit *)self->of_motion;
    return checked(self, &err);
}

PyObject *mmd_py_fit_camera(PyObject *module, PyObject *args)
{
    PyObject *rows, *cuts;
    mmd_camera_fit_job job = {0};
    mmd_error err = {0};
    mmd_py_array cameras = {0}, flags = {0};
    if (!PyArg_ParseTuple(args, "OOIdd:_fit_camera", &rows, &cuts, &job.first_frame, &job.tolerance,
                          &job.angle_tolerance) ||
        !mmd_py_array_borrow(rows, MMD_PY_FLOAT64, &cameras) ||
        !mmd_py_array_borrow(cuts, MMD_PY_BOOL, &flags))
        return NULL;
    job.frame_count = cameras.shape[0];
    job.cameras = cameras.data;
    job.cuts = flags.data;
    fit_object *self = new_object(module, args, NULL);
    if (!self)
        return NULL;
    self->fit = mmd_camera_fit_new(&job, &err);
    return checked(self, &err);
}

static void fit_dealloc(PyObject *object)
{
    fit_object *self = (fit_object *)object;
    mmd_fit_free(self->fit);
    Py_XDECREF(self->args);
    mmd_py_object_lock_free(&self->lock);
    mmd_py_object_free(object);
}

/* Works for a slice, or until nothing is left to do. False with an exception, after which it may go
   on. */
static bool work(fit_object *self)
{
    double until = mmd_thread_seconds() + SLICE;
    do {
        if (self->done == self->part.count) {
            self->part = self->fit->next(self->fit);
            self->done = 0;
        }
        if (!self->part.task)
            return true;
        if (!mmd_py_batch_run_part(self->threads, &self->part, until, &self->done))
            return false;
    } while (mmd_thread_seconds() < until);
    return true;
}

/* The motion; with its report if it is of poses. */
static PyObject *make_result(const fit_object *self)
{
    const mmd_motion_fit *fit = self->of_motion;
    MMD_PY_CLEARED_BY(mmd_arena_free) mmd_arena arena = {0};
    mmd_motion tracks = *self->fit->motion;
    MMD_PY_OWNED PyObject *names =
        fit ? mmd_py_motion_name_faults(&arena, MMD_VMD_NAME_SIZE, &tracks) : Py_NewRef(Py_None);
    if (!names)
        return NULL;
    PyObject *motion =
        mmd_py_motion_new(mmd_py_state_of((PyObject *)self), self->fit->motion, NULL);
    self->fit->motion = NULL; /* which mmd_py_motion_new() owns now */
    if (!motion || !fit)
        return motion;
    return mmd_py_object_call(
        "mmdskin.fitting", "result", "(Nndy#OOO)", motion, (Py_ssize_t)fit->key_count,
        fit->max_distance, (const char *)fit->skipped, (Py_ssize_t)fit->job.rig->bone_count, names,
        PyTuple_GetItem(self->args, 0), PyTuple_GetItem(self->args, 5));
}

static PyObject *take_result(fit_object *self)
{
    PyObject *result = make_result(self);
    mmd_fit_free(self->fit);
    self->fit = NULL;
    return result;
}

/* NULL with StopIteration(result) at the end. */
static PyObject *advance(fit_object *self)
{
    if (!self->fit || !work(self))
        return NULL;
    if (self->part.task) {
        double of_part = (double)self->done / (double)self->part.count;
        self->share = fmax(self->share, self->fit->share(self->fit, of_part));
        return PyFloat_FromDouble(self->share);
    }
    MMD_PY_OWNED PyObject *result = take_result(self);
    MMD_PY_OWNED PyObject *end =
        result ? PyObject_CallFunctionObjArgs(PyExc_StopIteration, result, NULL) : NULL;
    if (end)
        PyErr_SetObject(PyExc_StopIteration, end);
    return NULL;
}

static PyObject *fit_next(PyObject *object)
{
    fit_object *self = (fit_object *)object;
    MMD_PY_HELD *held = mmd_py_object_lock_acquire(&self->lock);
    return held ? advance(self) : NULL;
}

static PyType_Slot fit_slots[] = {{Py_tp_doc, "A fit in slices, beneath the class Fit."},
                                  {Py_tp_dealloc, fit_dealloc},
                                  {Py_tp_iter, PyObject_SelfIter},
                                  {Py_tp_iternext, fit_next},
                                  {0, NULL}};

MMD_PY_TYPE_SPEC(fit, "mmdskin._mmdskin._Fit", fit_object, Py_TPFLAGS_DISALLOW_INSTANTIATION);
