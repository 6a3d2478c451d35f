/* SPDX-License-Identifier: MIT */
/* Conversion of the fields of records from C structs to Python objects. */
#include "python/field.h"

#include "core/model/model.h"
#include "core/model/morph.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From C to Python */

static const void *member(const mmd_py_record_field *field, const mmd_py_record_source *source)
{
    return (const char *)source->data + field->offset;
}

PyObject *mmd_py_field_get_text(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    return mmd_py_record_str(*(const mmd_text *)member(field, source));
}

/* uint8_t, uint16_t or int32_t, by size. */
PyObject *mmd_py_field_get_integer(const mmd_py_record_field *field,
                                   const mmd_py_record_source *source)
{
    const void *at = member(field, source);
    return PyLong_FromLong(field->size == 1   ? *(const uint8_t *)at
                           : field->size == 2 ? *(const uint16_t *)at
                                              : *(const int32_t *)at);
}

PyObject *mmd_py_field_get_number(const mmd_py_record_field *field,
                                  const mmd_py_record_source *source)
{
    return PyFloat_FromDouble((double)*(const float *)member(field, source));
}

PyObject *mmd_py_field_get_bool(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    return PyBool_FromLong(*(const bool *)member(field, source));
}

static PyObject *vector(const float *numbers, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++)
        mmd_py_record_tuple_set(&tuple, i, PyFloat_FromDouble((double)numbers[i]));
    return tuple;
}

PyObject *mmd_py_field_get_vector(const mmd_py_record_field *field,
                                  const mmd_py_record_source *source)
{
    return vector(member(field, source), field->size / sizeof(float));
}

/* Loaded data is valid, so the value has a name. */
PyObject *mmd_py_field_get_enum(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    return PyUnicode_InternFromString(field->as.names[*(const uint8_t *)member(field, source)]);
}

PyObject *mmd_py_field_get_keys(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t count = *(const size_t *)((const char *)source->data + field->as.keys.count_offset);
    size_t shape[] = {count, columns, depth};
    if (!*(void *const *)member(field, source)) /* bytes that were not stored */
        Py_RETURN_NONE;
    return mmd_py_array_view(field->as.keys.dtype, *(void *const *)member(field, source),
                             columns == 0 ? 1
                             : depth == 0 ? 2
                                          : 3,
                             shape, source->owner);
}

PyObject *mmd_py_field_get_bone_flag(const mmd_py_record_field *field,
                                     const mmd_py_record_source *source)
{
    return PyBool_FromLong(((const mmd_bone *)source->data)->flags & field->as.flag);
}

PyObject *mmd_py_field_get_append(const mmd_py_record_field *field,
                                  const mmd_py_record_source *source)
{
    (void)field;
    const mmd_bone *bone = source->data;
    if (!(bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)))
        Py_RETURN_NONE;
    return mmd_py_record_new(source->state, MMD_PY_RECORD_APPEND, bone, source->owner);
}

PyObject *mmd_py_field_get_fixed_axis(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    if (!(((const mmd_bone *)source->data)->flags & MMD_BONE_FIXED_AXIS))
        Py_RETURN_NONE;
    return mmd_py_field_get_vector(field, source);
}

PyObject *mmd_py_field_get_local_axes(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    (void)field;
    const mmd_bone *bone = source->data;
    if (!(bone->flags & MMD_BONE_LOCAL_AXES))
        Py_RETURN_NONE;
    PyObject *x = vector(bone->local_x, 3), *z = vector(bone->local_z, 3);
    PyObject *axes = x && z ? PyTuple_Pack(2, x, z) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(z);
    return axes;
}

PyObject *mmd_py_field_get_external_parent(const mmd_py_record_field *field,
                                           const mmd_py_record_source *source)
{
    if (!(((const mmd_bone *)source->data)->flags & MMD_BONE_EXTERNAL_PARENT))
        Py_RETURN_NONE;
    return mmd_py_field_get_integer(field, source);
}

PyObject *mmd_py_field_get_ik(const mmd_py_record_field *field, const mmd_py_record_source *source)
{
    (void)field;
    const mmd_ik *ik = ((const mmd_bone *)source->data)->ik;
    if (!ik)
        Py_RETURN_NONE;
    return mmd_py_record_new(source->state, MMD_PY_RECORD_IK, ik, source->owner);
}

PyObject *mmd_py_field_get_ik_links(const mmd_py_record_field *field,
                                    const mmd_py_record_source *source)
{
    (void)field;
    const mmd_ik *ik = source->data;
    return mmd_py_record_tuple(source->state, MMD_PY_RECORD_IK_LINK, ik->links, ik->link_count,
                               source->owner);
}

PyObject *mmd_py_field_get_ik_limit(const mmd_py_record_field *field,
                                    const mmd_py_record_source *source)
{
    if (!((const mmd_ik_link *)source->data)->limited)
        Py_RETURN_NONE;
    return mmd_py_field_get_vector(field, source);
}

PyObject *mmd_py_field_get_morph_kind(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    return PyUnicode_InternFromString(field->as.names[((const mmd_morph *)source->data)->kind]);
}

PyObject *mmd_py_field_get_morph_indices(const mmd_py_record_field *field,
                                         const mmd_py_record_source *source)
{
    (void)field;
    const mmd_morph *morph = source->data;
    return mmd_py_array_view(MMD_PY_INT32, morph->indices, 1, &morph->offset_count, source->owner);
}

PyObject *mmd_py_field_get_morph_values(const mmd_py_record_field *field,
                                        const mmd_py_record_source *source)
{
    (void)field;
    const mmd_morph *morph = source->data;
    size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    return mmd_py_array_view(MMD_PY_FLOAT32, morph->values, 2, shape, source->owner);
}

PyObject *mmd_py_field_get_frame_elements(const mmd_py_record_field *field,
                                          const mmd_py_record_source *source)
{
    (void)field;
    const mmd_display_frame *frame = source->data;
    PyObject *tuple = PyTuple_New((Py_ssize_t)frame->element_count);
    for (size_t i = 0; tuple && i < frame->element_count; i++) {
        const mmd_frame_element *element = &frame->elements[i];
        const char *kind = element->kind == 0 ? "bone" : "morph";
        mmd_py_record_tuple_set(&tuple, i, Py_BuildValue("(si)", kind, (int)element->index));
    }
    return tuple;
}

PyObject *mmd_py_field_get_ik_names(const mmd_py_record_field *field,
                                    const mmd_py_record_source *source)
{
    (void)field;
    const mmd_property_track *track = source->data;
    return mmd_py_record_texts(track->ik_names, track->ik_count);
}

PyObject *mmd_py_field_get_ik_enabled(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    (void)field;
    const mmd_property_track *track = source->data;
    size_t shape[] = {track->key_count, track->ik_count};
    return mmd_py_array_view(MMD_PY_BOOL, track->ik_enabled, 2, shape, source->owner);
}

/* From Python to C */

/* A double beyond the range of float becomes infinity, which the core refuses. */
static bool parse_number(PyObject *value, float *to)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred())
        return false;
    *to = fabs(number) > (double)FLT_MAX ? copysignf(INFINITY, (float)(number > 0 ? 1 : -1))
                                         : (float)number;
    return true;
}

/* The sizes that mmd_py_field_get_integer supports. */
static bool parse_integer(PyObject *value, const mmd_py_record_field *field, void *to)
{
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return false;
    long long min = field->size == 4 ? INT32_MIN : 0;
    long long max = field->size == 1 ? UINT8_MAX : field->size == 2 ? UINT16_MAX : INT32_MAX;
    if (number < min || number > max) {
        PyErr_Format(PyExc_ValueError, "%lld, expected %lld to %lld", number, min, max);
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

static bool parse_vector(PyObject *value, const mmd_py_record_field *field, float *to)
{
    Py_ssize_t count = (Py_ssize_t)(field->size / sizeof(float));
    PyObject *numbers = PySequence_Tuple(value);
    if (!numbers)
        return false;
    bool ok = PyTuple_Size(numbers) == count;
    if (!ok)
        PyErr_Format(PyExc_ValueError, "%zd numbers, expected %zd", PyTuple_Size(numbers), count);
    for (Py_ssize_t i = 0; ok && i < count; i++)
        ok = parse_number(PyTuple_GetItem(numbers, i), &to[i]);
    Py_DECREF(numbers);
    return ok;
}

static bool parse_enum(PyObject *value, const mmd_py_record_field *field, uint8_t *to)
{
    const char *const *names = field->as.names;
    for (size_t i = 0; PyUnicode_Check(value) && i < field->size; i++)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) {
            *to = (uint8_t)i;
            return true;
        }
    char expected[160] = "";
    for (size_t i = 0, at = 0; i < field->size && at < sizeof expected; i++)
        at += (size_t)snprintf(expected + at, sizeof expected - at, "%s'%s'", i ? ", " : "",
                               names[i]);
    PyErr_Format(PyExc_ValueError, "%R is unknown, expected %s", value, expected);
    return false;
}

static bool parse_field(PyObject *value, const mmd_py_record_field *field, char *data)
{
    void *to = data + field->offset;
    if (field->get == mmd_py_field_get_integer)
        return parse_integer(value, field, to);
    if (field->get == mmd_py_field_get_number)
        return parse_number(value, to);
    if (field->get == mmd_py_field_get_vector)
        return parse_vector(value, field, to);
    return parse_enum(value, field, to);
}

/* Prefixes the message of a TypeError, ValueError or OverflowError with the path of the field. */
static void prefix_error(const char *list, size_t index, const char *field)
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

static bool parse_record(mmd_py_record_kind kind, PyObject *record, const char *list, size_t index,
                         void *data)
{
    const mmd_py_record_type *type = &mmd_py_record_types[kind];
    for (size_t i = 0; i < type->field_count; i++) {
        const mmd_py_record_field *field = &type->fields[i];
        if (field->get == mmd_py_field_get_text)
            continue;
        PyObject *value = PyObject_GetAttrString(record, field->name);
        if (!value && PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(PyExc_TypeError, "%s[%zu]: expected a %s, not %R", list, index, type->name,
                         (PyObject *)Py_TYPE(record));
        if (!value)
            return false;
        bool ok = parse_field(value, field, data);
        Py_DECREF(value);
        if (!ok) {
            prefix_error(list, index, field->name);
            return false;
        }
    }
    return true;
}

void *mmd_py_field_parse_structs(mmd_py_record_kind kind, PyObject *records, const char *list,
                                 size_t *count)
{
    PyObject *all = mmd_py_record_sequence(records, list);
    if (!all)
        return NULL;
    size_t size = mmd_py_record_types[kind].size;
    *count = (size_t)PyTuple_Size(all);
    char *data = PyMem_Calloc(*count + 1, size);
    if (!data)
        PyErr_NoMemory();
    for (size_t i = 0; data && i < *count; i++)
        if (!parse_record(kind, PyTuple_GetItem(all, (Py_ssize_t)i), list, i, data + i * size)) {
            PyMem_Free(data);
            data = NULL;
        }
    Py_DECREF(all);
    return data;
}
