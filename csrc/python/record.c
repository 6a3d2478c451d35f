/* SPDX-License-Identifier: MIT */
/* Records from C structs. */
#include "python/record.h"
#include "python/owned.h"

void mmd_py_record_tuple_set(PyObject **tuple, size_t index, PyObject *item)
{
    if (item)
        PyTuple_SetItem(*tuple, (Py_ssize_t)index, item);
    else
        Py_CLEAR(*tuple);
}

static PyObject *value_of(const mmd_py_record_field *field, const mmd_py_record_source *source)
{
    if (field->flag && !(((const mmd_bone *)source->data)->flags & field->flag))
        Py_RETURN_NONE;
    return field->get(field, source);
}

PyObject *mmd_py_record_new(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                            PyObject *owner)
{
    const mmd_py_record_type *type = &mmd_py_record_types[kind];
    mmd_py_record_source source = {state, data, owner};
    MMD_PY_OWNED PyObject *values = PyTuple_New((Py_ssize_t)type->field_count);
    for (size_t i = 0; values && i < type->field_count; i++)
        mmd_py_record_tuple_set(&values, i, value_of(&type->fields[i], &source));
    return values ? PyObject_CallObject(state->records[kind], values) : NULL;
}

PyObject *mmd_py_record_tuple(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                              size_t count, PyObject *owner)
{
    const char *item = data;
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++, item += mmd_py_record_types[kind].size)
        mmd_py_record_tuple_set(&tuple, i, mmd_py_record_new(state, kind, item, owner));
    return tuple;
}

PyObject *mmd_py_record_str(mmd_text text)
{
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "surrogatepass");
}

PyObject *mmd_py_record_texts(const mmd_text *texts, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++)
        mmd_py_record_tuple_set(&tuple, i, mmd_py_record_str(texts[i]));
    return tuple;
}

/* A Named of a tuple, which it takes. */
static PyObject *find_by_name(mmd_py_state *state, PyObject *tuple)
{
    PyObject *named = PyObject_CallFunctionObjArgs(state->named, tuple, NULL);
    Py_DECREF(tuple);
    return named;
}

PyObject *mmd_py_record_cached_tuple_get(const mmd_py_record_cached_tuple *property,
                                         const mmd_py_record_source *source, PyObject **slot)
{
    if (*slot)
        return Py_NewRef(*slot);
    const char *from = source->data;
    const void *data = *(void *const *)(from + property->data_offset);
    size_t count = *(const size_t *)(from + property->count_offset);
    PyObject *created = property->texts ? mmd_py_record_texts(data, count)
                                        : mmd_py_record_tuple(source->state, property->kind, data,
                                                              count, source->owner);
    if (created && !property->texts)
        created = find_by_name(source->state, created);
    if (!created)
        return NULL;
    /* Another thread may have filled the slot meanwhile: creating objects can release the GIL. */
    if (*slot)
        Py_DECREF(created);
    else
        *slot = created;
    return Py_NewRef(*slot);
}

/* A class of records.py, which is added to the module. */
static PyObject *add_class(PyObject *module, PyObject *records, const char *name)
{
    PyObject *class = PyObject_GetAttrString(records, name);
    if (class && PyModule_AddObjectRef(module, name, class) < 0)
        Py_CLEAR(class);
    return class;
}

bool mmd_py_record_add_classes(PyObject *module, mmd_py_state *state)
{
    MMD_PY_OWNED PyObject *records = PyImport_ImportModule("mmdskin.records");
    state->named = records ? add_class(module, records, "Named") : NULL;
    bool ok = state->named;
    for (int i = 0; ok && i < MMD_PY_RECORD_COUNT; i++) {
        state->records[i] = add_class(module, records, mmd_py_record_types[i].name);
        ok = state->records[i];
    }
    return ok;
}

PyObject *mmd_py_record_sequence(PyObject *argument, const char *path)
{
    PyObject *all = PySequence_Tuple(argument);
    if (!all && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: expected a sequence, not %R", path,
                     (PyObject *)Py_TYPE(argument));
    return all;
}
