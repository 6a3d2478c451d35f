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
    bool texts = kind == MMD_PY_RECORD_TEXT;
    size_t size = texts ? sizeof(mmd_text) : mmd_py_record_types[kind].size;
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        const void *item = (const char *)data + i * size;
        mmd_py_record_tuple_set(&tuple, i,
                                texts ? mmd_py_record_str(*(const mmd_text *)item)
                                      : mmd_py_record_new(state, kind, item, owner));
    }
    return tuple;
}

PyObject *mmd_py_record_str(mmd_text text)
{
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "surrogatepass");
}

PyObject *mmd_py_record_cached_tuple(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                                     size_t count, PyObject *owner, PyObject **slot)
{
    if (*slot)
        return Py_NewRef(*slot);
    PyObject *created = mmd_py_record_tuple(state, kind, data, count, owner);
    if (created && kind != MMD_PY_RECORD_TEXT)
        created = PyObject_CallFunction(state->named, "(N)", created);
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
