/* SPDX-License-Identifier: MIT */
/* Exceptions of errors of the core, which modules of the package make. */
#include "python/exceptions.h"
#include "python/owned.h"

#include "python/types.h"

PyObject *mmd_py_exceptions_str(const char *text)
{
    return mmd_py_object_call(MMD_PY_ERRORS, "text_of", "(y)", text);
}

/* Sets an exception, which it takes; NULL: there is one already. */
static PyObject *set(PyObject *exception)
{
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *mmd_py_exceptions_raise(const mmd_error *err)
{
    if (err->code == MMD_E_INTERRUPTED)
        return NULL; /* by the exception of a signal handler */
    if (err->code == MMD_E_MEMORY)
        return PyErr_NoMemory();
    if (err->code == MMD_E_FORMAT)
        return set(mmd_py_object_call(MMD_PY_ERRORS, "format_error", "(ysn)", err->text,
                                      err->section, (Py_ssize_t)err->offset));
    const char *function = err->code == MMD_E_BACKEND ? "backend_error" : "value_error";
    return set(mmd_py_object_call(MMD_PY_ERRORS, function, "(y)", err->text));
}

bool mmd_py_exceptions_interrupted(void)
{
    if (PyErr_CheckSignals() < 0)
        return true;
    /* Any function would do. Not Py_CompileString(), which crashes when memory is short. */
    MMD_PY_OWNED PyObject *result = mmd_py_object_call("mmdskin.errors", "printable", "(s)", "");
    return !result;
}

void mmd_py_exceptions_raise_unknown(PyObject *name, const char *item, PyObject *records)
{
    set(mmd_py_object_call("mmdskin.errors", "unknown_name", "(OsOO)", name, item, records,
                           Py_True));
}

bool mmd_py_exceptions_raise_wrong_type(PyObject *value, const char *expected, const char *loader)
{
    return set(mmd_py_object_call("mmdskin.argument", "wrong_type", "(Oss)", value, expected,
                                  loader)) != NULL;
}
