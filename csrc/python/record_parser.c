/* SPDX-License-Identifier: MIT */
/* Parses records: named tuples, tuples, dicts and objects to C structs. */
#include "python/record.h"

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
    PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    char *data = NULL;
    Py_ssize_t size = 0;
    bool ok = bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0;
    if (ok && has_other_surrogate((const uint8_t *)data, (size_t)size)) {
        PyErr_Format(PyExc_ValueError, "%s: unpaired surrogate", parser->path);
        ok = false;
    }
    *text = (mmd_text){data, (size_t)size};
    ok = ok && mmd_py_record_parser_keep(parser, bytes);
    Py_XDECREF(bytes);
    return ok;
}

bool mmd_py_record_parse_texts(mmd_py_record_parser *parser, PyObject *value, mmd_text **texts,
                               size_t *count)
{
    if (PyUnicode_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s: expected a sequence of names, not a str",
                            parser->path);
    PyObject *all = mmd_py_record_sequence(value, parser->path);
    if (!all)
        return false;
    *count = (size_t)PyTuple_Size(all);
    *texts = mmd_py_record_parser_alloc(parser, *count, sizeof **texts);
    bool ok = *texts != NULL;
    for (size_t i = 0; ok && i < *count; i++) {
        size_t length = mmd_py_record_parser_enter(parser, "[%zu]", i);
        ok = mmd_py_record_parse_text(parser, PyTuple_GetItem(all, (Py_ssize_t)i), &(*texts)[i]);
        mmd_py_record_parser_leave(parser, length);
    }
    Py_DECREF(all);
    return ok;
}

/* Records */

/* The default of a field, borrowed; NULL: it has none. */
static PyObject *default_of(const mmd_py_record_type *type, size_t index, PyObject *defaults)
{
    size_t first = type->field_count - (size_t)PyTuple_Size(defaults);
    return index < first ? NULL : PyTuple_GetItem(defaults, (Py_ssize_t)(index - first));
}

/* "a" or "an", as the name of a type needs it: an Append, an IK. */
static const char *article_of(const mmd_py_record_type *type)
{
    return strchr("AEIO", type->name[0]) ? "an" : "a";
}

static PyObject *fail_type(const mmd_py_record_parser *parser, const mmd_py_record_type *type,
                           PyObject *record)
{
    return PyErr_Format(PyExc_TypeError, "%s: expected %s %s, not %R", parser->path,
                        article_of(type), type->name, (PyObject *)Py_TYPE(record));
}

/* Of a dict that has more items than fields were found by their names. */
static PyObject *fail_unknown_field(const mmd_py_record_parser *parser,
                                    const mmd_py_record_type *type, PyObject *dict)
{
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
        bool known = false;
        for (size_t i = 0; PyUnicode_Check(key) && !known && i < type->field_count; i++)
            known = PyUnicode_CompareWithASCIIString(key, type->fields[i].name) == 0;
        if (!known)
            return PyErr_Format(PyExc_TypeError, "%s: %s %s has no field %R", parser->path,
                                article_of(type), type->name, key);
    }
    /* A key that only looks like the name of a field, or the dict has changed meanwhile. */
    return fail_type(parser, type, dict);
}

/* The value of a field: of a dict, or an attribute. Without one the default. */
static PyObject *find_value(const mmd_py_record_parser *parser, const mmd_py_record_type *type,
                            PyObject *record, size_t index, PyObject *defaults, size_t *found)
{
    const char *name = type->fields[index].name;
    bool is_dict = PyDict_Check(record);
    PyObject *key = is_dict ? PyUnicode_FromString(name) : NULL, *value = NULL;
    if (key)
        value = Py_XNewRef(PyDict_GetItemWithError(record, key));
    else if (!is_dict)
        value = PyObject_GetAttrString(record, name);
    Py_XDECREF(key);
    *found += value != NULL;
    if (value || (PyErr_Occurred() && (is_dict || !PyErr_ExceptionMatches(PyExc_AttributeError))))
        return value;
    PyErr_Clear();
    PyObject *fallback = default_of(type, index, defaults);
    if (!fallback && is_dict)
        PyErr_Format(PyExc_TypeError, "%s: the field '%s' of %s %s is missing", parser->path, name,
                     article_of(type), type->name);
    else if (!fallback)
        fail_type(parser, type, record);
    return Py_XNewRef(fallback);
}

/* A new tuple of the values of all fields, by their names. */
static PyObject *values_by_name(const mmd_py_record_parser *parser, const mmd_py_record_type *type,
                                PyObject *record, PyObject *defaults)
{
    PyObject *values = PyTuple_New((Py_ssize_t)type->field_count);
    size_t found = 0;
    for (size_t i = 0; values && i < type->field_count; i++)
        mmd_py_record_tuple_set(&values, i, find_value(parser, type, record, i, defaults, &found));
    if (values && PyDict_Check(record) && found < (size_t)PyDict_Size(record)) {
        Py_DECREF(values);
        return fail_unknown_field(parser, type, record);
    }
    return values;
}

/* The same of a sequence, whose last values may be missing. NULL without an exception: it is none.
 */
static PyObject *values_in_order(const mmd_py_record_parser *parser, const mmd_py_record_type *type,
                                 PyObject *record, PyObject *defaults)
{
    PyObject *given = PySequence_Tuple(record);
    if (!given) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear();
        return NULL;
    }
    size_t count = (size_t)PyTuple_Size(given);
    bool fits = count <= type->field_count &&
                (count == type->field_count || default_of(type, count, defaults) != NULL);
    PyObject *values =
        fits ? PyTuple_New((Py_ssize_t)type->field_count) : fail_type(parser, type, record);
    for (size_t i = 0; values && i < type->field_count; i++)
        mmd_py_record_tuple_set(&values, i,
                                Py_NewRef(i < count ? PyTuple_GetItem(given, (Py_ssize_t)i)
                                                    : default_of(type, i, defaults)));
    Py_DECREF(given);
    return values;
}

static PyObject *values_of(const mmd_py_record_parser *parser, const mmd_py_record_type *type,
                           PyObject *record, PyObject *defaults)
{
    PyObject *values = NULL;
    if (PyUnicode_Check(record))
        return fail_type(parser, type, record);
    if (!PyDict_Check(record))
        values = values_in_order(parser, type, record, defaults);
    return values || PyErr_Occurred() ? values : values_by_name(parser, type, record, defaults);
}

static bool parse(mmd_py_record_parser *parser, const mmd_py_record_type *type, PyObject *record,
                  PyObject *defaults, void *data)
{
    PyObject *values = values_of(parser, type, record, defaults);
    if (!values)
        return false;
    void *outer = parser->data;
    bool outer_count = parser->has_key_count, ok = true;
    parser->data = data;
    parser->has_key_count = false;
    for (size_t i = 0; ok && i < type->field_count; i++) {
        const mmd_py_record_field *field = &type->fields[i];
        size_t length =
            mmd_py_record_parser_enter(parser, "%s%s", *parser->path ? "." : "", field->name);
        ok = field->set(field, PyTuple_GetItem(values, (Py_ssize_t)i), parser);
        mmd_py_record_parser_leave(parser, length);
    }
    parser->data = outer;
    parser->has_key_count = outer_count;
    Py_DECREF(values);
    return ok;
}

/* A new tuple of the defaults of a class's last fields. */
static PyObject *defaults_of(const mmd_py_record_parser *parser, mmd_py_record_kind kind)
{
    PyObject *new = PyObject_GetAttrString(parser->state->records[kind], "__new__");
    PyObject *defaults = new ? PyObject_GetAttrString(new, "__defaults__") : NULL;
    Py_XDECREF(new);
    return defaults;
}

bool mmd_py_record_parse(mmd_py_record_parser *parser, mmd_py_record_kind kind, PyObject *record,
                         void *data)
{
    PyObject *defaults = defaults_of(parser, kind);
    bool ok = defaults && parse(parser, &mmd_py_record_types[kind], record, defaults, data);
    Py_XDECREF(defaults);
    return ok;
}

bool mmd_py_record_parse_list(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                              PyObject *records, void **data, size_t *count)
{
    const mmd_py_record_type *type = &mmd_py_record_types[kind];
    PyObject *all = mmd_py_record_sequence(records, parser->path);
    PyObject *defaults = all ? defaults_of(parser, kind) : NULL;
    bool ok = defaults;
    if (ok) {
        *count = (size_t)PyTuple_Size(all);
        *data = mmd_py_record_parser_alloc(parser, *count, type->size);
        ok = *data != NULL;
    }
    for (size_t i = 0; ok && i < *count; i++) {
        size_t length = mmd_py_record_parser_enter(parser, "[%zu]", i);
        ok = parse(parser, type, PyTuple_GetItem(all, (Py_ssize_t)i), defaults,
                   (char *)*data + i * type->size);
        mmd_py_record_parser_leave(parser, length);
    }
    Py_XDECREF(defaults);
    Py_XDECREF(all);
    return ok;
}
