/* SPDX-License-Identifier: MIT */
#include "python/state.h"

static PyObject *open_file(PyObject *path, const char *mode)
{
    PyObject *io = PyImport_ImportModule("io");
    PyObject *file = io ? PyObject_CallMethod(io, "open", "Os", path, mode) : NULL;
    Py_XDECREF(io);
    return file;
}

/* Closes the file and returns what the last call on it did, or NULL when either failed. */
static PyObject *close_file(PyObject *file, PyObject *result)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *closed = PyObject_CallMethod(file, "close", NULL);
    Py_XDECREF(closed);
    if (type)
        PyErr_Restore(type, value, trace);
    else if (!closed)
        Py_CLEAR(result);
    Py_DECREF(file);
    return result;
}

PyObject *mmd_read_source(PyObject *source)
{
    if (PyBytes_Check(source))
        return PyBytes_FromObject(source);
    PyObject *view = PyMemoryView_FromObject(source);
    if (view) {
        PyObject *contents = PyBytes_FromObject(view);
        Py_DECREF(view);
        return contents;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return NULL;
    PyErr_Clear();
    PyObject *path = PyOS_FSPath(source);
    if (!path) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "source: %R is neither a path nor bytes-like",
                         (PyObject *)Py_TYPE(source));
        return NULL;
    }
    PyObject *file = open_file(path, "rb");
    PyObject *bytes = file ? PyObject_CallMethod(file, "read", NULL) : NULL;
    if (file)
        bytes = close_file(file, bytes);
    Py_DECREF(path);
    return bytes;
}

bool mmd_write_target(PyObject *target, PyObject *bytes)
{
    bool is_file = PyObject_HasAttrString(target, "write");
    PyObject *path = is_file ? NULL : PyOS_FSPath(target);
    if (!is_file && !path) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "path: %R is neither a path nor a file to write to",
                         (PyObject *)Py_TYPE(target));
        return false;
    }
    PyObject *file = is_file ? Py_NewRef(target) : open_file(path, "wb");
    PyObject *done = file ? PyObject_CallMethod(file, "write", "O", bytes) : NULL;
    if (file && !is_file)
        done = close_file(file, done);
    else
        Py_XDECREF(file);
    bool written = done != NULL;
    Py_XDECREF(path);
    Py_XDECREF(done);
    return written;
}
