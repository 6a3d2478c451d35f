/* SPDX-License-Identifier: MIT */
/* Fields of records from Python objects to C structs. */
#include "core/model/morph.h"
#include "python/argument.h"
#include "python/record.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static void *member(const mmd_py_record_field *field, const mmd_py_record_parser *parser)
{
    return (char *)parser->data + field->offset;
}

bool mmd_py_field_set_text(const mmd_py_record_field *field, PyObject *value,
                           mmd_py_record_parser *parser)
{
    return mmd_py_record_parse_text(parser, value, member(field, parser));
}

/* The sizes that mmd_py_field_get_integer supports. */
bool mmd_py_field_set_integer(const mmd_py_record_field *field, PyObject *value,
                              mmd_py_record_parser *parser)
{
    void *to = member(field, parser);
    long number, min = field->size == 4 ? INT32_MIN : 0;
    long max = field->size == 1 ? UINT8_MAX : field->size == 2 ? UINT16_MAX : INT32_MAX;
    if (!mmd_py_argument_int(value, parser->path, min, max, &number))
        return false;
    if (field->size == 1)
        *(uint8_t *)to = (uint8_t)number;
    else if (field->size == 2)
        *(uint16_t *)to = (uint16_t)number;
    else
        *(int32_t *)to = (int32_t)number;
    return true;
}

/* A double beyond the range of float becomes infinity, which the core refuses. */
static bool parse_number(PyObject *value, const mmd_py_record_parser *parser, float *to)
{
    double number;
    if (!mmd_py_argument_double(value, parser->path, &number))
        return false;
    *to = fabs(number) > (double)FLT_MAX ? copysignf(INFINITY, (float)(number > 0 ? 1 : -1))
                                         : (float)number;
    return true;
}

bool mmd_py_field_set_number(const mmd_py_record_field *field, PyObject *value,
                             mmd_py_record_parser *parser)
{
    return parse_number(value, parser, member(field, parser));
}

bool mmd_py_field_set_bool(const mmd_py_record_field *field, PyObject *value,
                           mmd_py_record_parser *parser)
{
    int truth = PyObject_IsTrue(value);
    *(bool *)member(field, parser) = truth > 0;
    return truth >= 0;
}

static bool parse_vector(PyObject *value, const mmd_py_record_parser *parser, size_t count,
                         float *to)
{
    PyObject *numbers = mmd_py_record_sequence(value, parser->path);
    if (!numbers)
        return false;
    bool ok = PyTuple_Size(numbers) == (Py_ssize_t)count;
    if (!ok)
        PyErr_Format(PyExc_ValueError, "%s: %zd numbers, expected %zu", parser->path,
                     PyTuple_Size(numbers), count);
    for (size_t i = 0; ok && i < count; i++)
        ok = parse_number(PyTuple_GetItem(numbers, (Py_ssize_t)i), parser, &to[i]);
    Py_DECREF(numbers);
    return ok;
}

bool mmd_py_field_set_vector(const mmd_py_record_field *field, PyObject *value,
                             mmd_py_record_parser *parser)
{
    return parse_vector(value, parser, field->size / sizeof(float), member(field, parser));
}

static bool parse_enum(PyObject *value, const mmd_py_record_parser *parser,
                       const char *const *names, size_t count, size_t *out)
{
    for (size_t i = 0; PyUnicode_Check(value) && i < count; i++)
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) {
            *out = i;
            return true;
        }
    char expected[160] = "";
    for (size_t i = 0, at = 0; i < count && at < sizeof expected; i++)
        at += (size_t)snprintf(expected + at, sizeof expected - at, "%s'%s'", i ? ", " : "",
                               names[i]);
    PyErr_Format(PyExc_ValueError, "%s: %R is unknown, expected %s", parser->path, value, expected);
    return false;
}

bool mmd_py_field_set_enum(const mmd_py_record_field *field, PyObject *value,
                           mmd_py_record_parser *parser)
{
    size_t index;
    if (!parse_enum(value, parser, field->as.names, field->size, &index))
        return false;
    *(uint8_t *)member(field, parser) = (uint8_t)index;
    return true;
}

/* Bones. `flags` comes first in a bone: the fields after it switch its bits on and off, so that an
   edited record says in one place what it has. */

static void switch_flag(mmd_bone *bone, uint16_t flag, bool on)
{
    bone->flags = (uint16_t)(on ? bone->flags | flag : bone->flags & ~flag);
}

bool mmd_py_field_set_bone_flag(const mmd_py_record_field *field, PyObject *value,
                                mmd_py_record_parser *parser)
{
    int truth = PyObject_IsTrue(value);
    switch_flag(parser->data, field->as.flag, truth > 0);
    return truth >= 0;
}

bool mmd_py_field_set_tail_bone(const mmd_py_record_field *field, PyObject *value,
                                mmd_py_record_parser *parser)
{
    mmd_bone *bone = parser->data;
    if (!mmd_py_field_set_integer(field, value, parser))
        return false;
    if (bone->tail_bone != -1)
        switch_flag(bone, MMD_BONE_TAIL_IS_BONE, true);
    return true;
}

/* Without a tail bone and an offset, files say either: the flag stays. */
bool mmd_py_field_set_tail_offset(const mmd_py_record_field *field, PyObject *value,
                                  mmd_py_record_parser *parser)
{
    mmd_bone *bone = parser->data;
    if (!mmd_py_field_set_vector(field, value, parser))
        return false;
    const float *offset = bone->tail_offset;
    if (bone->tail_bone == -1 && (offset[0] != 0 || offset[1] != 0 || offset[2] != 0))
        switch_flag(bone, MMD_BONE_TAIL_IS_BONE, false);
    return true;
}

bool mmd_py_field_set_append(const mmd_py_record_field *field, PyObject *value,
                             mmd_py_record_parser *parser)
{
    (void)field;
    mmd_bone *bone = parser->data;
    uint16_t flags = MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION;
    if (value == Py_None) {
        switch_flag(bone, flags, false);
        return true;
    }
    if (!mmd_py_record_parse(parser, MMD_PY_RECORD_APPEND, value, bone))
        return false;
    if (bone->flags & flags)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: appends neither rotation nor translation", parser->path);
    return false;
}

bool mmd_py_field_set_fixed_axis(const mmd_py_record_field *field, PyObject *value,
                                 mmd_py_record_parser *parser)
{
    switch_flag(parser->data, MMD_BONE_FIXED_AXIS, value != Py_None);
    return value == Py_None || mmd_py_field_set_vector(field, value, parser);
}

bool mmd_py_field_set_local_axes(const mmd_py_record_field *field, PyObject *value,
                                 mmd_py_record_parser *parser)
{
    (void)field;
    mmd_bone *bone = parser->data;
    switch_flag(bone, MMD_BONE_LOCAL_AXES, value != Py_None);
    if (value == Py_None)
        return true;
    PyObject *axes = mmd_py_record_sequence(value, parser->path);
    bool ok = axes && PyTuple_Size(axes) == 2;
    if (axes && !ok)
        PyErr_Format(PyExc_ValueError, "%s: %zd axes, expected 2", parser->path,
                     PyTuple_Size(axes));
    ok = ok && parse_vector(PyTuple_GetItem(axes, 0), parser, 3, bone->local_x) &&
         parse_vector(PyTuple_GetItem(axes, 1), parser, 3, bone->local_z);
    Py_XDECREF(axes);
    return ok;
}

bool mmd_py_field_set_external_parent(const mmd_py_record_field *field, PyObject *value,
                                      mmd_py_record_parser *parser)
{
    switch_flag(parser->data, MMD_BONE_EXTERNAL_PARENT, value != Py_None);
    return value == Py_None || mmd_py_field_set_integer(field, value, parser);
}

bool mmd_py_field_set_ik(const mmd_py_record_field *field, PyObject *value,
                         mmd_py_record_parser *parser)
{
    (void)field;
    mmd_bone *bone = parser->data;
    switch_flag(bone, MMD_BONE_IK, value != Py_None);
    if (value == Py_None)
        return true;
    bone->ik = mmd_py_record_parser_alloc(parser, 1, sizeof *bone->ik);
    return bone->ik && mmd_py_record_parse(parser, MMD_PY_RECORD_IK, value, bone->ik);
}

bool mmd_py_field_set_ik_links(const mmd_py_record_field *field, PyObject *value,
                               mmd_py_record_parser *parser)
{
    (void)field;
    mmd_ik *ik = parser->data;
    void *links;
    if (!mmd_py_record_parse_list(parser, MMD_PY_RECORD_IK_LINK, value, &links, &ik->link_count))
        return false;
    ik->links = links;
    return true;
}

/* The lower limit comes first. */
bool mmd_py_field_set_ik_limit(const mmd_py_record_field *field, PyObject *value,
                               mmd_py_record_parser *parser)
{
    mmd_ik_link *link = parser->data;
    bool has_limit = value != Py_None;
    if (field->offset == offsetof(mmd_ik_link, lower)) {
        link->limited = has_limit;
    } else if (link->limited != has_limit) {
        PyErr_Format(PyExc_ValueError, "%s: expected both limits or neither", parser->path);
        return false;
    }
    return !has_limit || mmd_py_field_set_vector(field, value, parser);
}

/* Morphs: `kind` comes before the arrays. */

bool mmd_py_field_set_morph_kind(const mmd_py_record_field *field, PyObject *value,
                                 mmd_py_record_parser *parser)
{
    mmd_morph *morph = parser->data;
    size_t index = 0;
    bool ok = parse_enum(value, parser, field->as.names, MMD_MORPH_KIND_COUNT, &index);
    morph->kind = (mmd_morph_kind)index;
    return ok;
}

bool mmd_py_field_set_morph_indices(const mmd_py_record_field *field, PyObject *value,
                                    mmd_py_record_parser *parser)
{
    (void)field;
    mmd_morph *morph = parser->data;
    mmd_py_array array = {0};
    bool ok = mmd_py_array_from(value, parser->path, MMD_PY_INT32, true, &array) &&
              mmd_py_array_check_shape(&array, parser->path, 1, (size_t[]){MMD_PY_ANY}, "n") &&
              mmd_py_record_parser_keep(parser, array.object);
    if (ok) {
        morph->indices = array.data;
        morph->offset_count = array.shape[0];
    }
    mmd_py_array_clear(&array);
    return ok;
}

bool mmd_py_field_set_morph_values(const mmd_py_record_field *field, PyObject *value,
                                   mmd_py_record_parser *parser)
{
    (void)field;
    mmd_morph *morph = parser->data;
    const size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    mmd_py_array array = {0};
    if (!mmd_py_array_from(value, parser->path, MMD_PY_FLOAT32, true, &array))
        return false;
    bool is_empty = array.rank > 0 && array.shape[0] == 0 && morph->offset_count == 0;
    bool ok = (is_empty || mmd_py_array_check_shape(&array, parser->path, 2, shape, "")) &&
              mmd_py_record_parser_keep(parser, array.object);
    if (ok)
        morph->values = array.data;
    mmd_py_array_clear(&array);
    return ok;
}

static bool parse_element(PyObject *value, const mmd_py_record_parser *parser,
                          mmd_frame_element *element)
{
    static const char *const kinds[] = {"bone", "morph"};
    PyObject *pair = mmd_py_record_sequence(value, parser->path);
    bool ok = pair && PyTuple_Size(pair) == 2;
    if (pair && !ok)
        PyErr_Format(PyExc_ValueError, "%s: expected ('bone' or 'morph', index)", parser->path);
    size_t kind = 0;
    long index = 0;
    ok = ok && parse_enum(PyTuple_GetItem(pair, 0), parser, kinds, 2, &kind) &&
         mmd_py_argument_int(PyTuple_GetItem(pair, 1), parser->path, 0, INT32_MAX, &index);
    *element = (mmd_frame_element){(uint8_t)kind, (int32_t)index};
    Py_XDECREF(pair);
    return ok;
}

bool mmd_py_field_set_frame_elements(const mmd_py_record_field *field, PyObject *value,
                                     mmd_py_record_parser *parser)
{
    (void)field;
    mmd_display_frame *frame = parser->data;
    PyObject *all = mmd_py_record_sequence(value, parser->path);
    if (!all)
        return false;
    size_t count = frame->element_count = (size_t)PyTuple_Size(all);
    frame->elements = mmd_py_record_parser_alloc(parser, count, sizeof *frame->elements);
    bool ok = frame->elements != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        size_t length = mmd_py_record_parser_enter(parser, "[%zu]", i);
        ok = parse_element(PyTuple_GetItem(all, (Py_ssize_t)i), parser, &frame->elements[i]);
        mmd_py_record_parser_leave(parser, length);
    }
    Py_DECREF(all);
    return ok;
}
