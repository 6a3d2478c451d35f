/* SPDX-License-Identifier: MIT */
/* Conversion between numpy arrays and memory of the core. */
#include "python/array.h"
#include "python/owned.h"
#include "python/types.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <numpy/arrayobject.h>

static const int numpy_types[] = {
    [MMD_PY_FLOAT32] = NPY_FLOAT32, [MMD_PY_FLOAT64] = NPY_FLOAT64, [MMD_PY_INT32] = NPY_INT32,
    [MMD_PY_UINT32] = NPY_UINT32,   [MMD_PY_UINT8] = NPY_UINT8,     [MMD_PY_BOOL] = NPY_BOOL};
/* As array_arguments.py knows them. */
static const char *const dtype_names[] = {
    [MMD_PY_FLOAT32] = "float32", [MMD_PY_FLOAT64] = "float64", [MMD_PY_INT32] = "int32",
    [MMD_PY_UINT32] = "uint32",   [MMD_PY_UINT8] = "uint8",     [MMD_PY_BOOL] = "bool"};

int mmd_py_array_init(void)
{
    return _import_array();
}

/* "(3, 4)", "(3,)", with the next letter for each length that is MMD_PY_ANY. */
static void shape_text(int rank, const size_t *shape, const char *letters, char *text, size_t size)
{
    size_t used = 0;
    text[used++] = '(';
    for (int i = 0; i < rank; i++) {
        const char *comma = i ? ", " : "";
        int more = shape[i] == MMD_PY_ANY
                       ? snprintf(text + used, size - used, "%s%c", comma, *letters++)
                       : snprintf(text + used, size - used, "%s%zu", comma, shape[i]);
        used += (size_t)more;
    }
    snprintf(text + used, size - used, rank == 1 ? ",)" : ")");
}

static void set_bounds(PyArrayObject *array, mmd_py_array *out)
{
    int rank = PyArray_NDIM(array);
    const char *memory_begin = PyArray_BYTES(array), *memory_end = memory_begin;
    for (int i = 0; i < rank; i++) {
        npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        if (reach < 0)
            memory_begin += reach;
        else
            memory_end += reach;
    }
    out->memory_begin = memory_begin;
    out->memory_end = PyArray_SIZE(array) ? memory_end + PyArray_ITEMSIZE(array) : memory_begin;
}

static void set_array(PyArrayObject *array, mmd_py_array *out)
{
    out->object = (PyObject *)array;
    out->data = PyArray_DATA(array);
    out->rank = PyArray_NDIM(array);
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = (size_t)PyArray_DIM(array, i);
}

PyObject *mmd_py_array_view(mmd_py_array_dtype dtype, const void *data, int rank,
                            const size_t *shape, PyObject *owner)
{
    npy_intp dims[MMD_PY_MAX_RANK];
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

/* The array of memory that PyDataMem_SetHandler() would give it. Making that NumPy's allocator and
   the former one again takes objects, so that it may fail half-way, and other code's arrays be
   ours.
 */
static PyObject *new_pooled(int rank, npy_intp *dims, int type, size_t size)
{
    static PyDataMem_Handler pool = {"mmdskin",
                                     1,
                                     {NULL, mmd_py_array_pool_malloc, mmd_py_array_pool_calloc,
                                      mmd_py_array_pool_realloc, mmd_py_array_pool_free}};
    void *data = mmd_py_array_pool_malloc(NULL, size);
    if (!data)
        return PyArray_SimpleNew(rank, dims, type); /* whose error says how large it is */
    PyObject *handler = PyCapsule_New(&pool, "mem_handler", NULL), *array = NULL;
    if (handler)
        array = PyArray_New(&PyArray_Type, rank, dims, type, NULL, data, 0, NPY_ARRAY_CARRAY, NULL);
    if (!array) {
        Py_XDECREF(handler);
        mmd_py_array_pool_free(NULL, data, size);
        return NULL;
    }
    ((PyArrayObject_fields *)array)->mem_handler = handler;
    PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    return array;
}

/* An allocator that the program has chosen is the one for all arrays. */
static bool has_default_allocator(void)
{
    MMD_PY_OWNED PyObject *handler = PyDataMem_GetHandler();
    if (!handler)
        PyErr_Clear();
    return handler == PyDataMem_DefaultHandler;
}

bool mmd_py_array_new(mmd_py_array_dtype dtype, int rank, const size_t *shape, mmd_py_array *out)
{
    npy_intp dims[MMD_PY_MAX_RANK];
    double bytes = dtype == MMD_PY_FLOAT64 ? 8 : dtype < MMD_PY_UINT8 ? 4 : 1;
    for (int i = 0; i < rank; i++) {
        dims[i] = (npy_intp)shape[i];
        bytes *= (double)shape[i];
    }
    bool large = bytes >= MMD_PY_ARRAY_POOL_LEAST && bytes < (double)PTRDIFF_MAX;
    PyObject *array = large && has_default_allocator()
                          ? new_pooled(rank, dims, numpy_types[dtype], (size_t)bytes)
                          : PyArray_SimpleNew(rank, dims, numpy_types[dtype]);
    if (!array)
        return false;
    set_bounds((PyArrayObject *)array, out);
    set_array((PyArrayObject *)array, out);
    return true;
}

bool mmd_py_array_new_floats(int rank, const size_t *shape, mmd_py_array *out)
{
    return mmd_py_array_new(MMD_PY_FLOAT32, rank, shape, out);
}

/* Replaces an array by a copy in the memory of a bytes object. An array that owns its memory could
   be made writable again, as by copy.setflags(write=True). */
static PyArrayObject *freeze(PyArrayObject *array, mmd_py_array_dtype dtype)
{
    mmd_py_array from;
    set_array(array, &from);
    MMD_PY_OWNED PyObject *bytes = PyBytes_FromStringAndSize(from.data, PyArray_NBYTES(array));
    Py_DECREF(array);
    return bytes ? (PyArrayObject *)mmd_py_array_view(dtype, PyBytes_AsString(bytes), from.rank,
                                                      from.shape, bytes)
                 : NULL;
}

/* Whether an array can be used as it is; NumPy takes longer to find that out. */
static bool is_ready(PyObject *argument, mmd_py_array_dtype dtype)
{
    PyArrayObject *array = (PyArrayObject *)argument;
    return PyArray_CheckExact(argument) && PyArray_TYPE(array) == numpy_types[dtype] &&
           PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) <= MMD_PY_MAX_RANK;
}

/* What Python makes of an argument. The name may be cut inside a character. */
static PyObject *call_python(const char *function, const char *format, PyObject *argument,
                             const char *name, mmd_py_array_dtype dtype)
{
    MMD_PY_OWNED PyObject *shown = PyUnicode_FromFormat("%s", name);
    return shown ? mmd_py_object_call("mmdskin.array_arguments", function, format, argument, shown,
                                      dtype_names[dtype], (int)MMD_PY_MAX_RANK)
                 : NULL;
}

static PyArrayObject *convert_any(PyObject *argument, const char *name, mmd_py_array_dtype dtype,
                                  mmd_py_array *out)
{
    MMD_PY_OWNED PyObject *both = call_python("converted", "(OOsi)", argument, name, dtype);
    if (!both)
        return NULL;
    set_bounds((PyArrayObject *)PyTuple_GetItem(both, 0), out);
    return (PyArrayObject *)Py_NewRef(PyTuple_GetItem(both, 1));
}

/* False if a number is out of range. */
static bool narrow(const double *from, npy_intp count, float *to)
{
    for (npy_intp i = 0; i < count; i++) {
        if (isfinite(from[i]) && fabs(from[i]) > (double)FLT_MAX)
            return false;
        to[i] = (float)from[i];
    }
    return true;
}

static PyArrayObject *convert_floats(PyArrayObject *input, mmd_py_array_dtype dtype)
{
    bool same = PyArray_TYPE(input) == numpy_types[dtype];
    MMD_PY_OWNED PyObject *from = PyArray_FromAny(
        (PyObject *)input, PyArray_DescrFromType(same ? numpy_types[dtype] : NPY_FLOAT64), 0, 0,
        NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
    if (!from || same || dtype == MMD_PY_FLOAT64)
        return (PyArrayObject *)Py_XNewRef(from);
    PyArrayObject *to = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(input), PyArray_DIMS(input),
                                                           numpy_types[dtype]);
    if (to && !narrow(PyArray_DATA((PyArrayObject *)from), PyArray_SIZE(to), PyArray_DATA(to)))
        Py_CLEAR(to);
    return to;
}

/* Whether float64 holds all numbers of a type. */
static bool fits_floats(int type)
{
    return PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type) ||
           (PyTypeNum_ISFLOAT(type) && type != NPY_LONGDOUBLE);
}

/* What most programs give for floats: arrays, lists and tuples of numbers in range, and numbers,
   also NumPy's. For all else NULL, without an exception if Python is to convert it, or to say what
   is wrong. */
static PyArrayObject *convert_usual(PyObject *argument, mmd_py_array_dtype dtype, mmd_py_array *out)
{
    if (dtype > MMD_PY_FLOAT64)
        return NULL;
    if (!PyArray_Check(argument) && !PyFloat_CheckExact(argument) && !PyLong_CheckExact(argument) &&
        !PyList_CheckExact(argument) && !PyTuple_CheckExact(argument) &&
        !PyArray_IsScalar(argument, Number))
        return NULL;
    MMD_PY_OWNED PyObject *input =
        PyArray_FromAny(argument, NULL, 0, MMD_PY_MAX_RANK, NPY_ARRAY_ENSUREARRAY, NULL);
    PyArrayObject *array = NULL;
    if (input && fits_floats(PyArray_TYPE((PyArrayObject *)input))) {
        set_bounds((PyArrayObject *)input, out);
        array = convert_floats((PyArrayObject *)input, dtype);
    }
    if (PyErr_Occurred() &&
        (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError)))
        PyErr_Clear();
    return array;
}

bool mmd_py_array_from(PyObject *argument, const char *name, mmd_py_array_dtype dtype, bool copy,
                       mmd_py_array *out)
{
    PyArrayObject *array;
    if (is_ready(argument, dtype)) {
        array = (PyArrayObject *)Py_NewRef(argument);
        set_bounds(array, out);
    } else {
        array = convert_usual(argument, dtype, out);
        if (!array && !PyErr_Occurred())
            array = convert_any(argument, name, dtype, out);
    }
    if (array && copy)
        array = freeze(array, dtype);
    if (array)
        set_array(array, out);
    return array != NULL;
}

bool mmd_py_array_borrow(PyObject *array, mmd_py_array_dtype dtype, mmd_py_array *out)
{
    if (array != Py_None && !is_ready(array, dtype))
        return PyErr_Format(PyExc_TypeError, "expected an array that needs no conversion");
    bool borrowed = array == Py_None || mmd_py_array_from(array, "array", dtype, false, out);
    mmd_py_array_clear(out);
    return borrowed;
}

bool mmd_py_array_check_shape(const mmd_py_array *array, const char *name, int rank,
                              const size_t *shape, const char *letters)
{
    bool same = array->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = shape[i] == MMD_PY_ANY || shape[i] == array->shape[i];
    if (same)
        return true;
    char actual[128], expected[128];
    shape_text(array->rank, array->shape, "", actual, sizeof actual);
    shape_text(rank, shape, letters, expected, sizeof expected);
    return PyErr_Format(PyExc_ValueError, "%s: shape %s, expected %s", name, actual, expected);
}

bool mmd_py_array_from_frames(PyObject *argument, const char *name, mmd_py_array_dtype dtype,
                              int rank, const size_t *shape, const char *letters, mmd_py_array *out,
                              size_t *frames, bool *batched)
{
    if (!mmd_py_array_from(argument, name, dtype, false, out))
        return false;
    bool has_frames = out->rank == rank + 1;
    if (!mmd_py_array_check_shape(out, name, rank + has_frames, shape + !has_frames,
                                  letters + !has_frames))
        return false;
    *frames = has_frames ? out->shape[0] : 1;
    *batched |= has_frames;
    return true;
}

bool mmd_py_array_for_output(PyObject *argument, const char *name, int rank, const size_t *shape,
                             mmd_py_array *out)
{
    PyArrayObject *array =
        (PyArrayObject *)(PyArray_Check(argument)
                              ? Py_NewRef(argument)
                              : call_python("shared", "(OO)", argument, name, MMD_PY_FLOAT32));
    if (!array)
        return false;
    set_bounds(array, out);
    out->object = (PyObject *)array;
    if (PyArray_NDIM(array) > MMD_PY_MAX_RANK)
        return PyErr_Format(PyExc_ValueError, "%s: %d dimensions, expected at most %d", name,
                            PyArray_NDIM(array), MMD_PY_MAX_RANK);
    if (PyArray_TYPE(array) != NPY_FLOAT32 || PyArray_ISBYTESWAPPED(array))
        return PyErr_Format(PyExc_ValueError, "%s: dtype %S, expected float32", name,
                            (PyObject *)PyArray_DESCR(array));
    set_array(array, out);
    if (!mmd_py_array_check_shape(out, name, rank, shape, ""))
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

void mmd_py_array_clear(mmd_py_array *array)
{
    Py_CLEAR(array->object);
}
