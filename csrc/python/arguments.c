/* SPDX-License-Identifier: MIT */
#include "python/arguments.h"

#include <string.h>

bool mmd_word_take(PyObject *value, const char *name, const char **out)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a str, not %R", name,
                     (PyObject *)Py_TYPE(value));
        return false;
    }
    Py_ssize_t size = 0;
    *out = PyUnicode_AsUTF8AndSize(value, &size);
    if (*out && strlen(*out) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "%s: %R has a NUL", name, value);
        return false;
    }
    return *out != NULL;
}

bool mmd_integer_take(PyObject *value, const char *name, long least, long most, long *out)
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
        PyErr_Format(PyExc_ValueError, "%s: %S, expected %ld to %ld", name, value, least, most);
        return false;
    }
    *out = number;
    return true;
}

bool mmd_number_take(PyObject *value, const char *name, double *number)
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

bool mmd_numbers_take(PyObject *value, const char *name, mmd_dtype dtype, size_t count, void *out)
{
    mmd_array numbers = {0};
    bool taken = mmd_array_from(value, name, dtype, false, &numbers) &&
                 mmd_array_check_shape(&numbers, name, count > 1, &count, "");
    if (taken)
        memcpy(out, numbers.data, count * (dtype == MMD_FLOAT64 ? sizeof(double) : sizeof(float)));
    mmd_array_clear(&numbers);
    return taken;
}

bool mmd_frames_take(PyObject *value, const char *name, mmd_array *frames)
{
    PyObject *given = value ? Py_NewRef(value) : PyFloat_FromDouble(0);
    bool taken = given && mmd_array_from(given, name, MMD_FLOAT64, false, frames);
    Py_XDECREF(given);
    if (taken && frames->rank > 1)
        PyErr_Format(PyExc_ValueError, "%s: %d dimensions, expected a number or (F,)", name,
                     frames->rank);
    return taken && frames->rank <= 1;
}
