/* SPDX-License-Identifier: MIT */
#include "python/arrays.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <numpy/arrayobject.h>

static const int numpy_types[] = {
    [MMD_FLOAT32] = NPY_FLOAT32, [MMD_FLOAT64] = NPY_FLOAT64, [MMD_INT32] = NPY_INT32,
    [MMD_UINT32] = NPY_UINT32,   [MMD_UINT8] = NPY_UINT8,     [MMD_BOOL] = NPY_BOOL};
static const struct {
    const char *name;
    npy_int64 least, most;
} integers[] = {[MMD_INT32] = {"int32", INT32_MIN, INT32_MAX},
                [MMD_UINT32] = {"uint32", 0, UINT32_MAX},
                [MMD_UINT8] = {"uint8", 0, UINT8_MAX},
                [MMD_BOOL] = {"bool", 0, 1}};

int mmd_arrays_init(void)
{
    return _import_array();
}

/* "(3, 4)", "(3,)"; letters stand for lengths that are MMD_ANY. */
static void shape_text(int rank, const size_t *shape, const char *letters, char *text, size_t size)
{
    size_t used = 0;
    text[used++] = '(';
    for (int i = 0; i < rank; i++) {
        const char *comma = i ? ", " : "";
        int more = shape[i] == MMD_ANY
                       ? snprintf(text + used, size - used, "%s%c", comma, letters[i])
                       : snprintf(text + used, size - used, "%s%zu", comma, shape[i]);
        used += (size_t)more;
    }
    snprintf(text + used, size - used, rank == 1 ? ",)" : ")");
}

static void describe(PyArrayObject *array, mmd_array *out)
{
    int rank = PyArray_NDIM(array);
    const char *low = PyArray_BYTES(array), *high = low;
    for (int i = 0; i < rank; i++) {
        npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    out->low = low;
    out->high = PyArray_SIZE(array) ? high + PyArray_ITEMSIZE(array) : low;
}

static void take(PyArrayObject *array, mmd_array *out)
{
    out->object = (PyObject *)array;
    out->data = PyArray_DATA(array);
    out->rank = PyArray_NDIM(array);
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = (size_t)PyArray_DIM(array, i);
}

static bool check_rank(PyArrayObject *array, const char *name)
{
    if (PyArray_NDIM(array) <= MMD_MAX_RANK)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: %d dimensions, expected at most %d", name,
                 PyArray_NDIM(array), MMD_MAX_RANK);
    return false;
}

PyObject *mmd_array_view(mmd_dtype dtype, const void *data, int rank, const size_t *shape,
                         PyObject *owner)
{
    npy_intp dims[MMD_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = (npy_intp)shape[i];
    PyObject *array = PyArray_SimpleNewFromData(rank, dims, numpy_types[dtype], (void *)data);
    if (!array)
        return NULL;
    Py_INCREF(owner);
    if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

bool mmd_array_new_of(mmd_dtype dtype, int rank, const size_t *shape, mmd_array *out)
{
    npy_intp dims[MMD_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = (npy_intp)shape[i];
    PyArrayObject *array = (PyArrayObject *)PyArray_SimpleNew(rank, dims, numpy_types[dtype]);
    if (!array)
        return false;
    describe(array, out);
    take(array, out);
    return true;
}

bool mmd_array_new(int rank, const size_t *shape, mmd_array *out)
{
    return mmd_array_new_of(MMD_FLOAT32, rank, shape, out);
}

/* The place of item `flat`: "[3, 1]". */
static void place_text(PyArrayObject *array, npy_intp flat, char *text, size_t size)
{
    npy_intp place[MMD_MAX_RANK] = {0};
    int rank = PyArray_NDIM(array);
    for (int i = rank - 1; i >= 0; i--) {
        place[i] = flat % PyArray_DIM(array, i);
        flat /= PyArray_DIM(array, i);
    }
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zd%s", i ? ", " : "[",
                                 (Py_ssize_t)place[i], i == rank - 1 ? "]" : "");
}

static bool fill_floats(PyArrayObject *from, const char *name, float *to)
{
    const double *numbers = PyArray_DATA(from);
    npy_intp count = PyArray_SIZE(from);
    for (npy_intp i = 0; i < count; i++) {
        if (isfinite(numbers[i]) && fabs(numbers[i]) > (double)FLT_MAX) {
            char place[128], number[32];
            place_text(from, i, place, sizeof place);
            snprintf(number, sizeof number, "%g", numbers[i]);
            PyErr_Format(PyExc_ValueError, "%s%s: %s is too large for float32", name, place,
                         number);
            return false;
        }
        to[i] = (float)numbers[i];
    }
    return true;
}

static bool fill_integers(PyArrayObject *from, const char *name, mmd_dtype dtype, bool is_unsigned,
                          void *to)
{
    const npy_int64 *numbers = PyArray_DATA(from);
    npy_intp count = PyArray_SIZE(from);
    for (npy_intp i = 0; i < count; i++) {
        bool wrapped = is_unsigned && numbers[i] < 0;
        if (wrapped || numbers[i] < integers[dtype].least || numbers[i] > integers[dtype].most) {
            char place[128], number[32];
            place_text(from, i, place, sizeof place);
            if (wrapped)
                snprintf(number, sizeof number, "%llu", (unsigned long long)numbers[i]);
            else
                snprintf(number, sizeof number, "%lld", (long long)numbers[i]);
            PyErr_Format(PyExc_ValueError, "%s%s: %s is outside of %s", name, place, number,
                         integers[dtype].name);
            return false;
        }
        if (dtype == MMD_INT32)
            ((int32_t *)to)[i] = (int32_t)numbers[i];
        else if (dtype == MMD_UINT32)
            ((uint32_t *)to)[i] = (uint32_t)numbers[i];
        else
            ((uint8_t *)to)[i] = (uint8_t)numbers[i];
    }
    return true;
}

bool mmd_is_bool(PyObject *value)
{
    return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
}

static bool is_real(mmd_dtype dtype)
{
    return dtype == MMD_FLOAT32 || dtype == MMD_FLOAT64;
}

static bool check_kind(PyArrayObject *array, const char *name, mmd_dtype dtype)
{
    int type = PyArray_TYPE(array);
    bool real = PyTypeNum_ISFLOAT(type), whole = PyTypeNum_ISINTEGER(type);
    bool boolean = PyTypeNum_ISBOOL(type);
    bool fits = is_real(dtype)
                    ? real || whole || boolean
                    : whole || (real && PyArray_SIZE(array) == 0) || (boolean && dtype == MMD_BOOL);
    if (fits)
        return true;
    PyErr_Format(PyExc_TypeError, "%s: dtype %S, expected %s", name,
                 (PyObject *)PyArray_DESCR(array), is_real(dtype) ? "numbers" : "integers");
    return false;
}

/* Numbers of another type go through the widest one of their kind: checked, without warnings. */
static PyArrayObject *convert(PyArrayObject *given, const char *name, mmd_dtype dtype)
{
    int wide = is_real(dtype) ? NPY_FLOAT64 : NPY_INT64;
    PyArrayObject *from =
        (PyArrayObject *)PyArray_FromAny((PyObject *)given, PyArray_DescrFromType(wide), 0, 0,
                                         NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
    if (!from || dtype == MMD_FLOAT64)
        return from;
    PyArrayObject *to = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(from), PyArray_DIMS(from),
                                                           numpy_types[dtype]);
    if (to) {
        bool is_unsigned = PyTypeNum_ISUNSIGNED(PyArray_TYPE(given));
        bool filled = dtype == MMD_FLOAT32
                          ? fill_floats(from, name, PyArray_DATA(to))
                          : fill_integers(from, name, dtype, is_unsigned, PyArray_DATA(to));
        if (!filled)
            Py_CLEAR(to);
    }
    Py_DECREF(from);
    return to;
}

/* What numpy says of rows of many lengths does not name the argument. */
static bool name_first(const char *name)
{
    if (PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_Format(PyExc_ValueError, "%s: %S", name, value);
        Py_DECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    return false;
}

bool mmd_array_from(PyObject *argument, const char *name, mmd_dtype dtype, bool copy,
                    mmd_array *out)
{
    /* Base class: a subclass sees every copy that is made of it, and could write to ours. */
    PyArrayObject *given =
        (PyArrayObject *)PyArray_FromAny(argument, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
    if (!given)
        return name_first(name);
    PyArrayObject *array = NULL;
    if (check_rank(given, name) && check_kind(given, name, dtype)) {
        describe(given, out);
        if (PyArray_TYPE(given) != numpy_types[dtype])
            array = convert(given, name, dtype);
        else
            array = (PyArrayObject *)PyArray_FromAny(
                (PyObject *)given, PyArray_DescrFromType(numpy_types[dtype]), 0, 0,
                NPY_ARRAY_CARRAY_RO | (copy ? NPY_ARRAY_ENSURECOPY : 0), NULL);
    }
    Py_DECREF(given);
    if (!array)
        return false;
    if (copy)
        PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    take(array, out);
    return true;
}

bool mmd_array_check_shape(const mmd_array *array, const char *name, int rank, const size_t *shape,
                           const char *letters)
{
    bool same = array->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = shape[i] == MMD_ANY || shape[i] == array->shape[i];
    if (same)
        return true;
    char given[128], wanted[128];
    shape_text(array->rank, array->shape, "", given, sizeof given);
    shape_text(rank, shape, letters, wanted, sizeof wanted);
    PyErr_Format(PyExc_ValueError, "%s: shape %s, expected %s", name, given, wanted);
    return false;
}

bool mmd_array_from_frames(PyObject *argument, const char *name, mmd_dtype dtype, int rank,
                           const size_t *shape, const char *letters, mmd_array *out, size_t *frames,
                           bool *batch)
{
    if (!mmd_array_from(argument, name, dtype, false, out))
        return false;
    bool framed = out->rank == rank + 1;
    if (!mmd_array_check_shape(out, name, rank + framed, shape + !framed, letters + !framed))
        return false;
    *frames = framed ? out->shape[0] : 1;
    *batch |= framed;
    return true;
}

bool mmd_array_for_output(PyObject *argument, const char *name, int rank, const size_t *shape,
                          mmd_array *out)
{
    if (!PyArray_Check(argument)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a numpy array, not %R", name,
                     (PyObject *)Py_TYPE(argument));
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)argument;
    if (!check_rank(array, name))
        return false;
    if (PyArray_TYPE(array) != NPY_FLOAT32 || PyArray_ISBYTESWAPPED(array)) {
        PyErr_Format(PyExc_ValueError, "%s: dtype %S, expected float32", name,
                     (PyObject *)PyArray_DESCR(array));
        return false;
    }
    Py_INCREF(argument);
    describe(array, out);
    take(array, out);
    if (!mmd_array_check_shape(out, name, rank, shape, ""))
        return false;
    const char *fault = NULL;
    if (!PyArray_IS_C_CONTIGUOUS(array))
        fault = "not C-contiguous";
    else if (!PyArray_ISALIGNED(array))
        fault = "not aligned";
    else if (!PyArray_ISWRITEABLE(array))
        fault = "read-only";
    if (fault)
        PyErr_Format(PyExc_ValueError, "%s: %s", name, fault);
    return !fault;
}

bool mmd_array_overlap(const mmd_array *a, const mmd_array *b)
{
    return a->object && b->object && a->low < a->high && b->low < b->high && a->low < b->high &&
           b->low < a->high;
}

void mmd_array_clear(mmd_array *array)
{
    Py_CLEAR(array->object);
}
