/* SPDX-License-Identifier: MIT */
/* Conversion between numpy arrays and memory of the core. */
#include "python/array.h"
#include "python/owned.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <numpy/arrayobject.h>

static const int numpy_types[] = {
    [MMD_PY_FLOAT32] = NPY_FLOAT32, [MMD_PY_FLOAT64] = NPY_FLOAT64, [MMD_PY_INT32] = NPY_INT32,
    [MMD_PY_UINT32] = NPY_UINT32,   [MMD_PY_UINT8] = NPY_UINT8,     [MMD_PY_BOOL] = NPY_BOOL};
static const struct {
    const char *name;
    npy_int64 min, max;
} integers[] = {[MMD_PY_INT32] = {"int32", INT32_MIN, INT32_MAX},
                [MMD_PY_UINT32] = {"uint32", 0, UINT32_MAX},
                [MMD_PY_UINT8] = {"uint8", 0, UINT8_MAX},
                [MMD_PY_BOOL] = {"bool", 0, 1}};

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

static bool check_rank(PyArrayObject *array, const char *name)
{
    return PyArray_NDIM(array) <= MMD_PY_MAX_RANK ||
           PyErr_Format(PyExc_ValueError, "%s: %d dimensions, expected at most %d", name,
                        PyArray_NDIM(array), MMD_PY_MAX_RANK);
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

/* The index of item `flat`: "[3, 1]". */
static void index_text(PyArrayObject *array, npy_intp flat, char *text, size_t size)
{
    npy_intp index[MMD_PY_MAX_RANK] = {0};
    int rank = PyArray_NDIM(array);
    for (int i = rank - 1; i >= 0; i--) {
        index[i] = flat % PyArray_DIM(array, i);
        flat /= PyArray_DIM(array, i);
    }
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zd%s", i ? ", " : "[",
                                 (Py_ssize_t)index[i], i == rank - 1 ? "]" : "");
}

static bool fill_floats(PyArrayObject *from, const char *name, float *to)
{
    const double *numbers = PyArray_DATA(from);
    npy_intp count = PyArray_SIZE(from);
    for (npy_intp i = 0; i < count; i++) {
        if (isfinite(numbers[i]) && fabs(numbers[i]) > (double)FLT_MAX) {
            char index[128], number[32];
            index_text(from, i, index, sizeof index);
            snprintf(number, sizeof number, "%g", numbers[i]);
            return PyErr_Format(PyExc_ValueError, "%s%s: %s is too large for float32", name, index,
                                number);
        }
        to[i] = (float)numbers[i];
    }
    return true;
}

static bool fill_integers(PyArrayObject *from, const char *name, mmd_py_array_dtype dtype,
                          bool is_unsigned, void *to)
{
    const npy_int64 *numbers = PyArray_DATA(from);
    npy_intp count = PyArray_SIZE(from);
    for (npy_intp i = 0; i < count; i++) {
        bool wrapped = is_unsigned && numbers[i] < 0;
        if (wrapped || numbers[i] < integers[dtype].min || numbers[i] > integers[dtype].max) {
            char index[128], number[32];
            index_text(from, i, index, sizeof index);
            if (wrapped)
                snprintf(number, sizeof number, "%llu", (unsigned long long)numbers[i]);
            else
                snprintf(number, sizeof number, "%lld", (long long)numbers[i]);
            return PyErr_Format(PyExc_ValueError, "%s%s: %s is out of range for %s", name, index,
                                number, integers[dtype].name);
        }
        if (dtype == MMD_PY_INT32)
            ((int32_t *)to)[i] = (int32_t)numbers[i];
        else if (dtype == MMD_PY_UINT32)
            ((uint32_t *)to)[i] = (uint32_t)numbers[i];
        else
            ((uint8_t *)to)[i] = (uint8_t)numbers[i];
    }
    return true;
}

bool mmd_py_array_is_bool_scalar(PyObject *value)
{
    return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
}

static bool is_real(mmd_py_array_dtype dtype)
{
    return dtype == MMD_PY_FLOAT32 || dtype == MMD_PY_FLOAT64;
}

static bool is_record(PyObject *object)
{
    return PyTuple_Check(object) && PyObject_HasAttrString(object, "_fields");
}

/* Raises TypeError for a record, such as a Pose, in place of one of its arrays, and for a list or
   tuple of them, as a Simulation of several models returns. */
static bool refuse_record(PyObject *argument, const char *name, const char *expected)
{
    const char *container = "";
    PyObject *record = argument;
    if (PyList_Check(argument) && PyList_Size(argument)) {
        container = "a list of ";
        record = PyList_GetItem(argument, 0);
    } else if (PyTuple_Check(argument) && PyTuple_Size(argument) && !is_record(argument)) {
        container = "a tuple of ";
        record = PyTuple_GetItem(argument, 0);
    }
    if (!is_record(record))
        return false;
    PyErr_Format(PyExc_TypeError, "%s: expected %s, not %s%R", name, expected, container,
                 (PyObject *)Py_TYPE(record));
    return true;
}

/* Raises ValueError if an array is one of objects because of integers that no dtype holds. */
static bool refuse_large(PyArrayObject *array, const char *name)
{
    int overflow = 0;
    PyObject *item, *flat = PyObject_GetAttrString((PyObject *)array, "flat");
    while (flat && overflow == 0 && (item = PyIter_Next(flat)) != NULL) {
        if (PyLong_Check(item))
            (void)PyLong_AsLongLongAndOverflow(item, &overflow);
        Py_DECREF(item);
    }
    Py_XDECREF(flat);
    if (overflow)
        PyErr_Format(PyExc_ValueError, "%s: a number is too large", name);
    return PyErr_Occurred();
}

/* What else to do with a value that is often passed as this argument; "" if nothing is known. */
static const char *hint(PyObject *argument, const char *name)
{
    bool is_path = PyUnicode_Check(argument) || PyBytes_Check(argument) ||
                   PyObject_HasAttrString(argument, "__fspath__");
    if (PyDict_Check(argument) && strcmp(name, "morph_weights") == 0)
        return "; Model.sliders() makes them of a dict of names";
    if (PyObject_HasAttrString(argument, "camera_at"))
        return "; Model.pose() makes the pose of a frame of a Motion";
    if (is_path && strncmp(name, "textures", 8) == 0)
        return "; load_textures() reads the files of a model";
    if (is_path && (strcmp(name, "pose") == 0 || strcmp(name, "bone_matrices") == 0))
        return "; Model.pose() makes it of a Motion, and load_motion() reads a file";
    return "";
}

static bool check_kind(PyArrayObject *array, PyObject *argument, const char *name,
                       mmd_py_array_dtype dtype)
{
    int type = PyArray_TYPE(array);
    bool real = PyTypeNum_ISFLOAT(type), whole = PyTypeNum_ISINTEGER(type);
    bool boolean = PyTypeNum_ISBOOL(type);
    bool fits = is_real(dtype) ? real || whole || boolean
                               : whole || (real && PyArray_SIZE(array) == 0) ||
                                     (boolean && dtype == MMD_PY_BOOL);
    if (fits)
        return true;
    const char *expected = is_real(dtype) ? "numbers" : "integers";
    if (type == NPY_OBJECT && (refuse_record(argument, name, expected) /* before numpy 1.24 */ ||
                               refuse_large(array, name)))
        return false;
    if (type == NPY_OBJECT && PyArray_NDIM(array) == 0) /* numpy made an array of one object */
        PyErr_Format(PyExc_TypeError, "%s: expected %s, not %R%s", name, expected,
                     (PyObject *)Py_TYPE(argument), hint(argument, name));
    else
        PyErr_Format(PyExc_TypeError, "%s: dtype %S, expected %s%s", name,
                     (PyObject *)PyArray_DESCR(array), expected, hint(argument, name));
    return false;
}

/* Other numeric types are converted through the widest type of their kind, so that every value is
   checked and numpy warns of nothing. */
static PyArrayObject *convert(PyArrayObject *input, const char *name, mmd_py_array_dtype dtype)
{
    int wide = is_real(dtype) ? NPY_FLOAT64 : NPY_INT64;
    PyArrayObject *from =
        (PyArrayObject *)PyArray_FromAny((PyObject *)input, PyArray_DescrFromType(wide), 0, 0,
                                         NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, NULL);
    if (!from || dtype == MMD_PY_FLOAT64)
        return from;
    PyArrayObject *to = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(from), PyArray_DIMS(from),
                                                           numpy_types[dtype]);
    if (to) {
        bool is_unsigned = PyTypeNum_ISUNSIGNED(PyArray_TYPE(input));
        bool filled = dtype == MMD_PY_FLOAT32
                          ? fill_floats(from, name, PyArray_DATA(to))
                          : fill_integers(from, name, dtype, is_unsigned, PyArray_DATA(to));
        if (!filled)
            Py_CLEAR(to);
    }
    Py_DECREF(from);
    return to;
}

/* numpy's errors, such as that for rows of different lengths, do not name the argument. */
static bool rename_error(PyObject *argument, const char *name)
{
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_BufferError))
        return false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* looking for an attribute would clear it */
    if (!refuse_record(argument, name, "numbers"))
        PyErr_Format(PyExc_ValueError, "%s: %S", name, value);
    Py_DECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
}

static bool is_buffer(PyObject *argument)
{
    MMD_PY_OWNED PyObject *view = PyMemoryView_FromObject(argument);
    if (!view)
        PyErr_Clear();
    return view != NULL;
}

/* Whether NumPy makes an array of numbers of it by itself, other than of a sequence. */
static bool is_array_like(PyObject *argument)
{
    return PyArray_Check(argument) || is_buffer(argument) ||
           PyObject_HasAttrString(argument, "__array__") ||
           PyObject_HasAttrString(argument, "__array_interface__");
}

/* numpy.asarray(), or for what has nothing but DLPack numpy.from_dlpack(), from NumPy 1.23 on. */
static PyObject *as_array(PyObject *argument)
{
    if (PyObject_HasAttrString(argument, "__dlpack__") && !is_array_like(argument)) {
        MMD_PY_OWNED PyObject *numpy = PyImport_ImportModule("numpy");
        if (!numpy || PyObject_HasAttrString(numpy, "from_dlpack"))
            return numpy ? PyObject_CallMethod(numpy, "from_dlpack", "O", argument) : NULL;
    }
    return PyArray_FromAny(argument, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
}

/* An argument as a base class array: a subclass is told of every copy and could modify ours. A
   rotation, such as scipy's, gives its quaternions x y z w. */
static PyArrayObject *base_array(PyObject *argument)
{
    /* To ask these for attributes that they do not have takes as long as to convert them. */
    bool is_plain = PyArray_Check(argument) || PyFloat_CheckExact(argument) ||
                    PyLong_CheckExact(argument) || PyList_CheckExact(argument) ||
                    PyTuple_CheckExact(argument);
    if (is_plain)
        return (PyArrayObject *)PyArray_FromAny(argument, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
    MMD_PY_OWNED PyObject *given = PyObject_HasAttrString(argument, "as_quat")
                                       ? PyObject_CallMethod(argument, "as_quat", NULL)
                                       : Py_NewRef(argument);
    return given ? (PyArrayObject *)as_array(given) : NULL;
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

bool mmd_py_array_from(PyObject *argument, const char *name, mmd_py_array_dtype dtype, bool copy,
                       mmd_py_array *out)
{
    if (!copy && is_ready(argument, dtype)) {
        Py_INCREF(argument);
        set_bounds((PyArrayObject *)argument, out);
        set_array((PyArrayObject *)argument, out);
        return true;
    }
    PyArrayObject *input = base_array(argument);
    if (!input)
        return rename_error(argument, name);
    PyArrayObject *array = NULL;
    if (check_rank(input, name) && check_kind(input, argument, name, dtype)) {
        set_bounds(input, out);
        if (PyArray_TYPE(input) != numpy_types[dtype])
            array = convert(input, name, dtype);
        else
            array = (PyArrayObject *)PyArray_FromAny((PyObject *)input,
                                                     PyArray_DescrFromType(numpy_types[dtype]), 0,
                                                     0, NPY_ARRAY_CARRAY_RO, NULL);
    }
    Py_DECREF(input);
    if (array && copy)
        array = freeze(array, dtype);
    if (!array)
        return false;
    set_array(array, out);
    return true;
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

/* Whether a tensor is in memory of the CPU, as DLPack numbers devices; false with an exception. */
static bool check_device(PyObject *argument, const char *name)
{
    enum { CPU = 1, CUDA_HOST = 3, ROCM_HOST = 11 };
    int kind = CPU;
    MMD_PY_OWNED PyObject *device = PyObject_CallMethod(argument, "__dlpack_device__", NULL);
    if (!device && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return true;
    }
    MMD_PY_OWNED PyObject *number = device ? PySequence_GetItem(device, 0) : NULL;
    if (number)
        kind = (int)PyLong_AsLong(number);
    if (PyErr_Occurred())
        return false;
    return kind == CPU || kind == CUDA_HOST || kind == ROCM_HOST ||
           PyErr_Format(
               PyExc_ValueError,
               "%s: on device %d, expected memory of the CPU; skin into an array of it and copy",
               name, kind);
}

/* An argument's own memory as an array: NumPy's, or what NumPy reads without a copy, such as
   PyTorch's tensors. Copies of what is not are in two places. */
static PyArrayObject *shared_array(PyObject *argument, const char *name)
{
    if (PyArray_Check(argument))
        return (PyArrayObject *)Py_NewRef(argument);
    if (!check_device(argument, name))
        return NULL;
    PyObject *array = NULL, *again = NULL;
    if (is_array_like(argument) || PyObject_HasAttrString(argument, "__dlpack__"))
        array = as_array(argument);
    if (array)
        again = as_array(argument);
    bool shared =
        again && PyArray_DATA((PyArrayObject *)array) == PyArray_DATA((PyArrayObject *)again);
    Py_XDECREF(again);
    if (shared)
        return (PyArrayObject *)array;
    Py_XDECREF(array);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: expected an array whose memory NumPy shares, not %R",
                     name, (PyObject *)Py_TYPE(argument));
    return NULL;
}

bool mmd_py_array_for_output(PyObject *argument, const char *name, int rank, const size_t *shape,
                             mmd_py_array *out)
{
    PyArrayObject *array = shared_array(argument, name);
    if (!array)
        return false;
    set_bounds(array, out);
    out->object = (PyObject *)array;
    if (!check_rank(array, name))
        return false;
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

bool mmd_py_array_overlap(const mmd_py_array *a, const mmd_py_array *b)
{
    return a->object && b->object && a->memory_begin < a->memory_end &&
           b->memory_begin < b->memory_end && a->memory_begin < b->memory_end &&
           b->memory_begin < a->memory_end;
}

void mmd_py_array_clear(mmd_py_array *array)
{
    Py_CLEAR(array->object);
}
