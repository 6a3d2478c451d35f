/* SPDX-License-Identifier: MIT */
/* Conversion of strings, numbers and frames from Python arguments. */
#include "python/argument.h"
#include "python/owned.h"
#include "python/types.h"

#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool mmd_py_argument_str(PyObject *value, const char *name, const char **out)
{
    if (!PyUnicode_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s: expected a str, not %R", name,
                            (PyObject *)Py_TYPE(value));
    Py_ssize_t size = 0;
    *out = PyUnicode_AsUTF8AndSize(value, &size);
    if (*out && strlen(*out) != (size_t)size)
        return PyErr_Format(PyExc_ValueError, "%s: %R contains a null character", name, value);
    return *out != NULL;
}

bool mmd_py_argument_word(PyObject *value, const char *name, const char *const *words, size_t count,
                          int *out)
{
    const char *word;
    if (!value)
        return true;
    if (!mmd_py_argument_str(value, name, &word))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (int)i;
            return true;
        }
    char known[256] = "";
    for (size_t i = 0, at = 0; i < count && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s\"%s\"",
                               i == 0          ? ""
                               : i + 1 < count ? ", "
                                               : " or ",
                               words[i]);
    return PyErr_Format(PyExc_ValueError, "%s: \"%s\" is unknown, expected %s", name, word, known);
}

bool mmd_py_argument_int(PyObject *value, const char *name, long min, long max, long *out)
{
    if (!PyIndex_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s: expected an integer, not %R", name,
                            (PyObject *)Py_TYPE(value));
    MMD_PY_OWNED PyObject *index = PyNumber_Index(value);
    int overflow = 0;
    long number = index ? PyLong_AsLongAndOverflow(index, &overflow) : -1;
    if (PyErr_Occurred())
        return false;
    if (overflow || number < min || number > max)
        return PyErr_Format(PyExc_ValueError, "%s: %S, expected %ld to %ld", name, value, min, max);
    *out = number;
    return true;
}

bool mmd_py_argument_double(PyObject *value, const char *name, double *out)
{
    *out = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
        return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "%s: %S is too large", name, value);
    else if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: expected a number, not %R", name,
                     (PyObject *)Py_TYPE(value));
    return false;
}

bool mmd_py_argument_numbers(PyObject *value, const char *name, mmd_py_array_dtype dtype,
                             size_t count, void *out)
{
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array numbers = {0};
    bool ok = mmd_py_array_from(value, name, dtype, false, &numbers) &&
              mmd_py_array_check_shape(&numbers, name, count > 1, &count, "");
    if (ok)
        memcpy(out, numbers.data,
               count * (dtype == MMD_PY_FLOAT64 ? sizeof(double) : sizeof(float)));
    return ok;
}

bool mmd_py_argument_finite_frames(PyObject *value, const char *name, mmd_py_array *frames)
{
    MMD_PY_OWNED PyObject *number = value ? Py_NewRef(value) : PyFloat_FromDouble(0);
    if (!number || !mmd_py_array_from(number, name, MMD_PY_FLOAT64, false, frames))
        return false;
    if (frames->rank > 1)
        return PyErr_Format(PyExc_ValueError, "%s: %d dimensions, expected a number or (F,)", name,
                            frames->rank);
    mmd_error err = {0};
    if (!mmd_numbers_check_frames(name, frames->data, frames->rank ? frames->shape[0] : 1, &err))
        PyErr_SetString(PyExc_ValueError, err.text);
    return err.code == MMD_E_NONE;
}
