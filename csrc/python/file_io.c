/* SPDX-License-Identifier: MIT */
/* Reading files from paths, open files and bytes-like objects, and writing them. */
#include "core/base/file.h"
#include "python/types.h"

#include <errno.h>
#include <string.h>

/* The path that an argument is; else a TypeError that says what the argument may be beside it. */
static PyObject *path_of(PyObject *argument, const char *name, const char *others)
{
    PyObject *path = PyOS_FSPath(argument);
    if (!path && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: %R is neither a path%s", name,
                     (PyObject *)Py_TYPE(argument), others);
    return path;
}

static PyObject *target_path(PyObject *target)
{
    return path_of(target, "path", " nor a file to write to");
}

static PyObject *open_file(PyObject *path)
{
    PyObject *io = PyImport_ImportModule("io");
    PyObject *file = io ? PyObject_CallMethod(io, "open", "Os", path, "rb") : NULL;
    Py_XDECREF(io);
    return file;
}

/* Closes the file. Returns the result of the last call on it, or NULL if either failed. */
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

/* What an open file still has. */
static PyObject *read_file(PyObject *file)
{
    PyObject *contents = PyObject_CallMethod(file, "read", NULL);
    PyObject *bytes = NULL;
    if (contents && PyUnicode_Check(contents))
        PyErr_SetString(PyExc_TypeError, "source: a file opened as text, expected mode \"rb\"");
    else if (contents)
        bytes = PyBytes_FromObject(contents);
    Py_XDECREF(contents);
    return bytes;
}

PyObject *mmd_py_file_io_read(PyObject *source)
{
    if (PyBytes_Check(source))
        return PyBytes_FromObject(source);
    if (PyObject_HasAttrString(source, "read"))
        return read_file(source);
    PyObject *view = PyMemoryView_FromObject(source);
    if (view) {
        PyObject *contents = PyBytes_FromObject(view);
        Py_DECREF(view);
        return contents;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return NULL;
    PyErr_Clear();
    PyObject *path = path_of(source, "source", ", bytes-like nor a file to read from");
    if (!path)
        return NULL;
    PyObject *file = open_file(path);
    PyObject *bytes = file ? read_file(file) : NULL;
    if (file)
        bytes = close_file(file, bytes);
    Py_DECREF(path);
    return bytes;
}

/* Whole or not at all: see core/base/file.h. */
static bool write_path(PyObject *path, PyObject *bytes)
{
    PyObject *encoded;
    if (!PyUnicode_FSConverter(path, &encoded))
        return false;
    const char *data = PyBytes_AsString(bytes), *name = PyBytes_AsString(encoded);
    size_t size = (size_t)PyBytes_Size(bytes);
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = mmd_file_write(name, data, size);
    Py_END_ALLOW_THREADS
    Py_DECREF(encoded);
    if (failed) {
        errno = failed;
        if (failed == ENOMEM)
            PyErr_NoMemory();
        else
            PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    }
    return !failed;
}

/* The name of a file to write in lower case, a str or bytes; None for a file without a name. */
static PyObject *lower_name(PyObject *target)
{
    bool is_file = PyObject_HasAttrString(target, "write");
    PyObject *name = is_file ? PyObject_GetAttrString(target, "name") : target_path(target);
    if (!name && is_file)
        PyErr_Clear();
    if (is_file && (!name || (!PyUnicode_Check(name) && !PyBytes_Check(name)))) {
        Py_XDECREF(name);
        return Py_NewRef(Py_None);
    }
    PyObject *lower = name ? PyObject_CallMethod(name, "lower", NULL) : NULL;
    Py_XDECREF(name);
    return lower;
}

/* -1 with an exception. */
static int ends_with(PyObject *name, const char *suffix)
{
    PyObject *ends =
        name == Py_None
            ? Py_NewRef(Py_False)
            : PyObject_CallMethod(name, "endswith", PyUnicode_Check(name) ? "s" : "y", suffix);
    int result = ends ? PyObject_IsTrue(ends) : -1;
    Py_XDECREF(ends);
    return result;
}

bool mmd_py_file_io_check_name(PyObject *target, const char *item, const char *first,
                               const char *second, bool *is_second)
{
    static const char *const formats[] = {".pmx", ".pmd",  ".vmd", ".vpd", ".bvh", ".obj",
                                          ".fbx", ".gltf", ".glb", ".abc", ".usd", ".npz"};
    PyObject *name = lower_name(target);
    if (!name)
        return false;
    int second_ends = second ? ends_with(name, second) : 0, other = 0;
    for (size_t i = 0; second_ends == 0 && other == 0 && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i], first) != 0)
            other = ends_with(name, formats[i]);
    Py_DECREF(name);
    *is_second = second_ends > 0;
    if (other > 0)
        PyErr_Format(PyExc_ValueError, "path: %S: a %s is written as %s%s%s", target, item, first,
                     second ? " or " : "", second ? second : "");
    return second_ends >= 0 && other == 0;
}

/* Whether a file is one without a buffer. -1 with an exception. */
static int is_raw(PyObject *file)
{
    PyObject *io = PyImport_ImportModule("io");
    PyObject *type = io ? PyObject_GetAttrString(io, "RawIOBase") : NULL;
    int raw = type ? PyObject_IsInstance(file, type) : -1;
    Py_XDECREF(type);
    Py_XDECREF(io);
    return raw;
}

/* How many of the bytes that were offered a call of write() has taken: all of them unless it
   returns a smaller number, or None where that means that it would have to wait. -1 with an
   exception. */
static Py_ssize_t count_written(PyObject *file, PyObject *answer, Py_ssize_t offered)
{
    int waits = answer == Py_None ? is_raw(file) : 0;
    bool counts = PyIndex_Check(answer) && !PyBool_Check(answer);
    if (waits < 0 || (!waits && !counts))
        return waits < 0 ? -1 : offered;
    Py_ssize_t count = counts ? PyNumber_AsSsize_t(answer, NULL) : 0;
    if (count >= offered || PyErr_Occurred())
        return PyErr_Occurred() ? -1 : offered;
    if (count > 0)
        return count;
    PyErr_Format(PyExc_OSError, "path: the file has taken %zd of %zd bytes", count, offered);
    return -1;
}

/* A file without a buffer may take only a part of what it is given. */
static bool write_to_file(PyObject *file, PyObject *bytes)
{
    const char *data = PyBytes_AsString(bytes);
    Py_ssize_t left = PyBytes_Size(bytes);
    PyObject *rest = Py_NewRef(bytes);
    while (rest) {
        PyObject *answer = PyObject_CallMethod(file, "write", "O", rest);
        Py_ssize_t count = answer ? count_written(file, answer, left) : -1;
        Py_XDECREF(answer);
        Py_CLEAR(rest);
        if (count < 0 || count == left)
            return count >= 0;
        data += count;
        left -= count;
        rest = PyBytes_FromStringAndSize(data, left);
    }
    return false;
}

bool mmd_py_file_io_write(PyObject *target, PyObject *bytes)
{
    if (PyObject_HasAttrString(target, "write"))
        return write_to_file(target, bytes);
    PyObject *path = target_path(target);
    if (!path)
        return false;
    bool written = write_path(path, bytes);
    Py_DECREF(path);
    return written;
}
