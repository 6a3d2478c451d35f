/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_EXCEPTIONS_H
#define MMD_PY_EXCEPTIONS_H

#include "python/state.h"

/* Sets the exception for an error of the core. Returns NULL. */
PyObject *mmd_py_exceptions_raise(const mmd_error *err);

/* Sets UnknownNameError: none of `records`, an iterable, has this name, not in English either.
   `item` says what they are. */
void mmd_py_exceptions_raise_unknown(PyObject *name, const char *item, PyObject *records);

/* Sets TypeError for an argument that is not what is `expected`, which begins with its name; for
   the path of a file, it says that `loader` reads it. Returns false. */
bool mmd_py_exceptions_raise_wrong_type(PyObject *value, const char *expected, const char *loader);

/* Whether a signal handler has raised an exception, or another thread has one for this thread
   (PyThreadState_SetAsyncExc): Python raises that only where its own code runs. */
bool mmd_py_exceptions_interrupted(void);

/* A str of a C string that need not be valid UTF-8: drivers use any encoding, and a long message
   may be cut inside a character. */
PyObject *mmd_py_exceptions_str(const char *text);

#endif
