/* SPDX-License-Identifier: MIT */
#include "python/records.h"

void mmd_tuple_put(PyObject **tuple, size_t index, PyObject *item)
{
    if (item)
        PyTuple_SetItem(*tuple, (Py_ssize_t)index, item);
    else
        Py_CLEAR(*tuple);
}

PyObject *mmd_record_of(mmd_state *state, mmd_record kind, const void *data, PyObject *owner)
{
    const mmd_record_type *type = &mmd_record_types[kind];
    mmd_shown shown = {state, data, owner};
    PyObject *values = PyTuple_New((Py_ssize_t)type->field_count);
    for (size_t i = 0; values && i < type->field_count; i++)
        mmd_tuple_put(&values, i, type->fields[i].make(&type->fields[i], &shown));
    PyObject *record = values ? PyObject_CallObject(state->records[kind], values) : NULL;
    Py_XDECREF(values);
    return record;
}

PyObject *mmd_records_of(mmd_state *state, mmd_record kind, const void *data, size_t count,
                         PyObject *owner)
{
    const char *item = data;
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++, item += mmd_record_types[kind].size)
        mmd_tuple_put(&tuple, i, mmd_record_of(state, kind, item, owner));
    return tuple;
}

PyObject *mmd_text_object(mmd_text text)
{
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "replace");
}

PyObject *mmd_texts_object(const mmd_text *texts, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++)
        mmd_tuple_put(&tuple, i, mmd_text_object(texts[i]));
    return tuple;
}

PyObject *mmd_section_object(const mmd_section *section, const mmd_shown *shown, PyObject **slot)
{
    if (*slot)
        return Py_NewRef(*slot);
    const char *from = shown->data;
    const void *data = *(void *const *)(from + section->data_offset);
    size_t count = *(const size_t *)(from + section->count_offset);
    PyObject *made = section->texts
                         ? mmd_texts_object(data, count)
                         : mmd_records_of(shown->state, section->kind, data, count, shown->owner);
    if (!made)
        return NULL;
    /* Making it may have let another thread make one, which stays. */
    if (*slot)
        Py_DECREF(made);
    else
        *slot = made;
    return Py_NewRef(*slot);
}
