/* SPDX-License-Identifier: MIT */
/* Parses records: named tuples, tuples, dicts and objects to C structs. */
#include "python/record.h"

#include "python/owned.h"
#include "python/types.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mmd_py_record_parser_free(mmd_py_record_parser *parser)
{
    mmd_arena_free(&parser->arena);
    Py_CLEAR(parser->references);
}

void *mmd_py_record_parser_alloc(mmd_py_record_parser *parser, size_t count, size_t size)
{
    void *memory = mmd_arena_alloc(&parser->arena, count, size);
    if (!memory)
        PyErr_NoMemory();
    return memory;
}

bool mmd_py_record_parser_keep(mmd_py_record_parser *parser, PyObject *object)
{
    if (!parser->references)
        parser->references = PyList_New(0);
    return parser->references && PyList_Append(parser->references, object) == 0;
}

size_t mmd_py_record_parser_enter(mmd_py_record_parser *parser, const char *format, ...)
{
    size_t length = strlen(parser->path);
    va_list args;
    va_start(args, format);
    vsnprintf(parser->path + length, sizeof parser->path - length, format, args);
    va_end(args);
    return length;
}

void mmd_py_record_parser_leave(mmd_py_record_parser *parser, size_t length)
{
    parser->path[length] = 0;
}

/* Texts */

/* Whether UTF-8 has a surrogate other than U+DC80 to U+DCFF, the bytes of a file that are no
   characters. */
static bool has_other_surrogate(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++)
        if (bytes[i] == 0xED && bytes[i + 1] >= 0xA0 && (bytes[i + 1] & 0xFE) != 0xB2)
            return true;
    return false;
}

bool mmd_py_record_parse_text(mmd_py_record_parser *parser, PyObject *value, mmd_text *text)
{
    if (!PyUnicode_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s: expected a str, not %R", parser->path,
                            (PyObject *)Py_TYPE(value));
    MMD_PY_OWNED PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    char *data = NULL;
    Py_ssize_t size = 0;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return false;
    if (has_other_surrogate((const uint8_t *)data, (size_t)size))
        return PyErr_Format(PyExc_ValueError, "%s: unpaired surrogate", parser->path);
    *text = (mmd_text){data, (size_t)size};
    return mmd_py_record_parser_keep(parser, bytes);
}

static bool parse_text(mmd_py_record_parser *parser, mmd_py_record_kind kind, PyObject *value,
                       void *out)
{
    return mmd_py_record_parse_text(parser, value, out);
}

/* Records */

void mmd_py_record_switch_flag(mmd_bone *bone, uint16_t flag, bool on)
{
    bone->flags = (uint16_t)(on ? bone->flags | flag : bone->flags & ~flag);
}

static bool parse_field(mmd_py_record_parser *parser, const mmd_py_record_field *field,
                        PyObject *value)
{
    if (field->flag) {
        mmd_py_record_switch_flag(parser->data, field->flag, value != Py_None);
        if (value == Py_None)
            return true;
    }
    return field->set(field, value, parser);
}

/* A tuple of the values of all fields: what has them as they are, or what records.py makes of it.
 */
static PyObject *values_of(const mmd_py_record_parser *parser, mmd_py_record_kind kind,
                           PyObject *record)
{
    PyObject *class = parser->state->records[kind];
    bool ready = (PyTuple_CheckExact(record) || (PyObject *)Py_TYPE(record) == class) &&
                 PyTuple_Size(record) == (Py_ssize_t)mmd_py_record_types[kind].field_count;
    return ready ? Py_NewRef(record)
                 : mmd_py_object_call("mmdskin.records", "values_of", "(OOs)", class, record,
                                      parser->path);
}

bool mmd_py_record_parse(mmd_py_record_parser *parser, mmd_py_record_kind kind, PyObject *record,
                         void *data)
{
    const mmd_py_record_type *type = &mmd_py_record_types[kind];
    MMD_PY_OWNED PyObject *values = values_of(parser, kind, record);
    if (!values)
        return false;
    void *outer = parser->data;
    bool outer_count = parser->has_row_count, ok = true;
    parser->data = data;
    parser->has_row_count = false;
    for (size_t i = 0; ok && i < type->field_count; i++) {
        const char *dot = *parser->path ? "." : "";
        size_t length = mmd_py_record_parser_enter(parser, "%s%s", dot, type->fields[i].name);
        ok = parse_field(parser, &type->fields[i], PyTuple_GetItem(values, (Py_ssize_t)i));
        mmd_py_record_parser_leave(parser, length);
    }
    parser->data = outer;
    parser->has_row_count = outer_count;
    return ok;
}

bool mmd_py_record_parse_list(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                              PyObject *records, void **data, size_t *count)
{
    bool texts = kind == MMD_PY_RECORD_TEXT;
    if (texts && PyUnicode_Check(records))
        return PyErr_Format(PyExc_TypeError, "%s: expected a sequence of names, not a str",
                            parser->path);
    return mmd_py_record_parse_items(
        parser, kind, records, texts ? parse_text : mmd_py_record_parse,
        texts ? sizeof(mmd_text) : mmd_py_record_types[kind].size, data, count);
}

bool mmd_py_record_parse_items(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                               PyObject *sequence, mmd_py_record_item *parse, size_t size,
                               void **data, size_t *count)
{
    MMD_PY_OWNED PyObject *all = mmd_py_record_sequence(sequence, parser->path);
    if (!all)
        return false;
    *count = (size_t)PyTuple_Size(all);
    *data = mmd_py_record_parser_alloc(parser, *count, size);
    bool ok = *data != NULL;
    for (size_t i = 0; ok && i < *count; i++) {
        size_t length = mmd_py_record_parser_enter(parser, "[%zu]", i);
        ok = parse(parser, kind, PyTuple_GetItem(all, (Py_ssize_t)i), (char *)*data + i * size);
        mmd_py_record_parser_leave(parser, length);
    }
    return ok;
}
