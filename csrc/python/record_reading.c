/* SPDX-License-Identifier: MIT */
#include "python/record_fields.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A double beyond float is infinite, of which the core says what is wrong. */
static bool read_number(PyObject *value, float *to)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred())
        return false;
    *to = fabs(number) > (double)FLT_MAX ? copysignf(INFINITY, (float)(number > 0 ? 1 : -1))
                                         : (float)number;
    return true;
}

/* Sizes as mmd_show_integer has them. */
static bool read_integer(PyObject *value, const mmd_field *field, void *to)
{
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return false;
    long long least = field->size == 4 ? INT32_MIN : 0;
    long long most = field->size == 1 ? UINT8_MAX : field->size == 2 ? UINT16_MAX : INT32_MAX;
    if (number < least || number > most) {
        PyErr_Format(PyExc_ValueError, "%lld, expected %lld to %lld", number, least, most);
        return false;
    }
    if (field->size == 1)
        *(uint8_t *)to = (uint8_t)number;
    else if (field->size == 2)
        *(uint16_t *)to = (uint16_t)number;
    else
        *(int32_t *)to = (int32_t)number;
    return true;
}

static bool read_vector(PyObject *value, const mmd_field *field, float *to)
{
    Py_ssize_t count = (Py_ssize_t)(field->size / sizeof(float));
    PyObject *numbers = PySequence_Tuple(value);
    if (!numbers)
        return false;
    bool read = PyTuple_Size(numbers) == count;
    if (!read)
        PyErr_Format(PyExc_ValueError, "%zd numbers, expected %zd", PyTuple_Size(numbers), count);
    for (Py_ssize_t i = 0; read && i < count; i++)
        read = read_number(PyTuple_GetItem(numbers, i), &to[i]);
    Py_DECREF(numbers);
    return read;
}

static bool read_word(PyObject *value, const mmd_field *field, uint8_t *to)
{
    for (size_t i = 0; PyUnicode_Check(value) && i < field->size; i++)
        if (PyUnicode_CompareWithASCIIString(value, field->as.words[i]) == 0) {
            *to = (uint8_t)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "%R is none of its words, such as '%s'", value,
                 field->as.words[0]);
    return false;
}

static bool read_field(PyObject *value, const mmd_field *field, char *data)
{
    void *to = data + field->offset;
    if (field->make == mmd_show_integer)
        return read_integer(value, field, to);
    if (field->make == mmd_show_number)
        return read_number(value, to);
    if (field->make == mmd_show_vector)
        return read_vector(value, field, to);
    return read_word(value, field, to);
}

/* Puts the name of the thing before the message of a TypeError, ValueError or OverflowError. */
static void name_error(const char *list, size_t index, const char *field)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (PyErr_GivenExceptionMatches(type, PyExc_TypeError) ||
        PyErr_GivenExceptionMatches(type, PyExc_ValueError) ||
        PyErr_GivenExceptionMatches(type, PyExc_OverflowError)) {
        bool is_type = PyErr_GivenExceptionMatches(type, PyExc_TypeError);
        PyErr_Format(is_type ? PyExc_TypeError : PyExc_ValueError, "%s[%zu].%s: %S", list, index,
                     field, error);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
    } else {
        PyErr_Restore(type, error, trace);
    }
}

static bool read_record(mmd_record kind, PyObject *record, const char *list, size_t index,
                        void *data)
{
    const mmd_record_type *type = &mmd_record_types[kind];
    for (size_t i = 0; i < type->field_count; i++) {
        const mmd_field *field = &type->fields[i];
        if (field->make == mmd_show_text)
            continue;
        PyObject *value = PyObject_GetAttrString(record, field->name);
        if (!value && PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(PyExc_TypeError, "%s[%zu]: expected a %s, not %R", list, index, type->name,
                         (PyObject *)Py_TYPE(record));
        if (!value)
            return false;
        bool read = read_field(value, field, data);
        Py_DECREF(value);
        if (!read) {
            name_error(list, index, field->name);
            return false;
        }
    }
    return true;
}

PyObject *mmd_record_sequence(PyObject *given, const char *place)
{
    PyObject *all = PySequence_Tuple(given);
    if (!all && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: expected a sequence, not %R", place,
                     (PyObject *)Py_TYPE(given));
    return all;
}

void *mmd_records_read(mmd_record kind, PyObject *records, const char *list, size_t *count)
{
    PyObject *all = mmd_record_sequence(records, list);
    if (!all)
        return NULL;
    size_t size = mmd_record_types[kind].size;
    *count = (size_t)PyTuple_Size(all);
    char *data = PyMem_Calloc(*count + 1, size);
    if (!data)
        PyErr_NoMemory();
    for (size_t i = 0; data && i < *count; i++)
        if (!read_record(kind, PyTuple_GetItem(all, (Py_ssize_t)i), list, i, data + i * size)) {
            PyMem_Free(data);
            data = NULL;
        }
    Py_DECREF(all);
    return data;
}
