/* SPDX-License-Identifier: MIT */
#include "python/state.h"

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
    PyObject *io = PyImport_ImportModule("io");
    PyObject *file = io ? PyObject_CallMethod(io, "open", "Os", path, "rb") : NULL;
    PyObject *bytes = file ? PyObject_CallMethod(file, "read", NULL) : NULL;
    if (file) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyObject *closed = PyObject_CallMethod(file, "close", NULL);
        Py_XDECREF(closed);
        if (type)
            PyErr_Restore(type, value, trace);
        else if (!closed)
            Py_CLEAR(bytes);
    }
    Py_XDECREF(file);
    Py_XDECREF(io);
    Py_DECREF(path);
    return bytes;
}
