/* SPDX-License-Identifier: MIT */
/* FormatError, BackendError, the exceptions of errors of the core, and the package's
   UnknownNameError. */
#include "python/exceptions.h"

#include "python/types.h"

#include <stdio.h>
#include <string.h>

/* Whether a character in UTF-8 would control a terminal, and how many bytes it has: C0, DEL, C1,
   and marks of lines and directions, as in the package's printable.py. */
static size_t control_size(const uint8_t *c)
{
    if (c[0] < 0x20 || c[0] == 0x7F)
        return 1;
    if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F)
        return 2;
    bool marks = c[0] == 0xE2 && c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F);
    bool lines = c[0] == 0xE2 && c[1] == 0x80 && c[2] >= 0xA8 && c[2] <= 0xAE;
    bool isolates = c[0] == 0xE2 && c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9;
    return marks || lines || isolates ? 3 : 0;
}

static bool is_surrogate(const uint8_t *c)
{
    return c[0] == 0xED && (c[1] & 0xFE) == 0xB2 && c[2];
}

/* Bytes of names that are not characters, which the core has as surrogates, become U+FFFD. */
PyObject *mmd_py_exceptions_str(const char *text)
{
    size_t size = 0;
    char *shown = PyMem_Malloc(4 * strlen(text) + 1);
    if (!shown)
        return PyErr_NoMemory();
    for (const uint8_t *c = (const uint8_t *)text; *c;) {
        size_t control = control_size(c);
        if (control == 3)
            size += (size_t)sprintf(shown + size, "\\u20%02x",
                                    (unsigned)((c[1] & 0x3F) << 6 | (c[2] & 0x3F)) & 0xFF);
        else if (control)
            size += (size_t)sprintf(shown + size, "\\x%02x", (unsigned)c[control - 1]);
        else if (is_surrogate(c))
            memcpy(shown + size, "\xEF\xBF\xBD", 3), size += 3, c += 2;
        else
            shown[size++] = (char)*c;
        c += control ? control : 1;
    }
    PyObject *result = PyUnicode_DecodeUTF8(shown, (Py_ssize_t)size, "replace");
    PyMem_Free(shown);
    return result;
}

/* FormatError keeps offset and section in its instance dictionary, where pickle finds them: the
   limited API hides the size of the base struct. `name` is the name of the attribute. */

static PyObject *get_attribute(PyObject *self, void *name)
{
    PyObject *members = PyObject_GenericGetDict(self, NULL);
    PyObject *value = members ? PyMapping_GetItemString(members, name) : NULL;
    Py_XDECREF(members);
    if (value || !PyErr_ExceptionMatches(PyExc_KeyError))
        return value;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static int set_attribute(PyObject *self, PyObject *value, void *name)
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
    {"offset", get_attribute, set_attribute,
     "Byte of the file at which reading failed, int or None.", "offset"},
    {"section", get_attribute, set_attribute,
     "Part of the file that could not be read, such as \"bones[12]\", str or None.", "section"},
    {0}};

static PyType_Slot format_error_slots[] = {
    {Py_tp_doc, "A file that cannot be read. offset: the byte at which reading failed; section:\n"
                "the part of the file, such as \"bones[12]\"."},
    {Py_tp_getset, format_error_members},
    {0, NULL}};

static PyType_Spec format_error_spec = {.name = "mmdskin.FormatError",
                                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                        .slots = format_error_slots};

bool mmd_py_exceptions_add(PyObject *module, mmd_py_state *state)
{
    state->format_error = PyType_FromModuleAndSpec(module, &format_error_spec, PyExc_ValueError);
    if (!state->format_error ||
        PyModule_AddObjectRef(module, "FormatError", state->format_error) < 0)
        return false;
    state->backend_error = PyErr_NewExceptionWithDoc(
        "mmdskin.BackendError", "A backend that is not available; the message is the driver's.",
        PyExc_RuntimeError, NULL);
    return state->backend_error &&
           PyModule_AddObjectRef(module, "BackendError", state->backend_error) == 0;
}

static PyObject *raise_format(mmd_py_state *state, const mmd_error *err)
{
    PyObject *what = mmd_py_exceptions_str(err->text);
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

PyObject *mmd_py_exceptions_raise(mmd_py_state *state, const mmd_error *err)
{
    switch (err->code) {
    case MMD_E_FORMAT:
        return raise_format(state, err);
    case MMD_E_MEMORY:
        return PyErr_NoMemory();
    case MMD_E_INTERRUPTED:
        return NULL; /* by the exception of a signal handler */
    case MMD_E_BACKEND:
    case MMD_E_ARGUMENT:
    case MMD_E_NONE:
        break;
    }
    PyObject *text = mmd_py_exceptions_str(err->text);
    if (text)
        PyErr_SetObject(err->code == MMD_E_BACKEND ? state->backend_error : PyExc_ValueError, text);
    Py_XDECREF(text);
    return NULL;
}

bool mmd_py_exceptions_interrupted(void)
{
    if (PyErr_CheckSignals() < 0)
        return true;
    /* Any function would do. Not Py_CompileString(), which crashes when memory is short. */
    PyObject *result = mmd_py_object_call("mmdskin.printable", "printable", "(s)", "");
    Py_XDECREF(result);
    return !result;
}

void mmd_py_exceptions_raise_unknown(PyObject *name, const char *item, PyObject *records,
                                     bool english)
{
    PyObject *module = PyImport_ImportModule("mmdskin.unknown_name");
    PyObject *exception = module ? PyObject_CallMethod(module, "unknown_name", "OsOO", name, item,
                                                       records, english ? Py_True : Py_False)
                                 : NULL;
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(module);
}
