/* SPDX-License-Identifier: MIT */
#include "python/state.h"

#include <string.h>

PyObject *mmd_loose_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* offset and section lie in the instance's dictionary, where pickling finds them; the size of the
   base's struct is not known under the limited API. `name` is the attribute's. */

static PyObject *get_place(PyObject *self, void *name)
{
    PyObject *members = PyObject_GenericGetDict(self, NULL);
    PyObject *value = members ? PyMapping_GetItemString(members, name) : NULL;
    Py_XDECREF(members);
    if (value || !PyErr_ExceptionMatches(PyExc_KeyError))
        return value;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static int set_place(PyObject *self, PyObject *value, void *name)
{
    PyObject *members = PyObject_GenericGetDict(self, NULL);
    if (!members)
        return -1;
    int status = value ? PyMapping_SetItemString(members, name, value)
                       : PyMapping_DelItemString(members, name);
    Py_DECREF(members);
    return status;
}

static PyGetSetDef format_error_members[] = {
    {"offset", get_place, set_place, "Byte of the file where reading stopped, int or None.",
     "offset"},
    {"section", get_place, set_place,
     "Part of the file that could not be read, as in \"bones[12]\", str or None.", "section"},
    {0}};

static PyType_Slot format_error_slots[] = {
    {Py_tp_doc, "A file that cannot be read. offset: the byte where reading stopped; section: the\n"
                "part of the file, as in \"bones[12]\"."},
    {Py_tp_getset, format_error_members},
    {0, NULL}};

static PyType_Spec format_error_spec = {.name = "mmdskin.FormatError",
                                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                        .slots = format_error_slots};

bool mmd_errors_add(PyObject *module, mmd_state *state)
{
    state->format_error = PyType_FromModuleAndSpec(module, &format_error_spec, PyExc_ValueError);
    if (!state->format_error ||
        PyModule_AddObjectRef(module, "FormatError", state->format_error) < 0)
        return false;
    state->backend_error = PyErr_NewExceptionWithDoc(
        "mmdskin.BackendError", "A backend that cannot be used, in the driver's words.",
        PyExc_RuntimeError, NULL);
    return state->backend_error &&
           PyModule_AddObjectRef(module, "BackendError", state->backend_error) == 0;
}

static PyObject *raise_format(mmd_state *state, const mmd_error *err)
{
    PyObject *what = mmd_loose_text(err->text);
    PyObject *text = what ? PyUnicode_FromFormat("%s%s%U (byte %zu)", err->section,
                                                 err->section[0] ? ": " : "", what, err->offset)
                          : NULL;
    Py_XDECREF(what);
    PyObject *exception =
        text ? PyObject_CallFunctionObjArgs(state->format_error, text, NULL) : NULL;
    PyObject *offset = PyLong_FromSize_t(err->offset);
    PyObject *section = PyUnicode_FromString(err->section);
    if (exception && offset && section &&
        PyObject_SetAttrString(exception, "offset", offset) == 0 &&
        PyObject_SetAttrString(exception, "section", section) == 0)
        PyErr_SetObject(state->format_error, exception);
    Py_XDECREF(text);
    Py_XDECREF(exception);
    Py_XDECREF(offset);
    Py_XDECREF(section);
    return NULL;
}

PyObject *mmd_raise(mmd_state *state, const mmd_error *err)
{
    switch (err->code) {
    case MMD_E_FORMAT:
        return raise_format(state, err);
    case MMD_E_MEMORY:
        return PyErr_NoMemory();
    case MMD_E_BACKEND:
    case MMD_E_ARGUMENT:
    case MMD_E_NONE:
        break;
    }
    PyObject *text = mmd_loose_text(err->text);
    if (text)
        PyErr_SetObject(err->code == MMD_E_BACKEND ? state->backend_error : PyExc_ValueError, text);
    Py_XDECREF(text);
    return NULL;
}
