/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_MEMBERS_H
#define MMD_PY_MEMBERS_H

#include "docstrings.h" /* from the type stub, by the build */

#include <stdint.h>

/* Entries of the tables of methods and properties of a type. */

#define MMD_PY_KEYWORDS (METH_VARARGS | METH_KEYWORDS)

/* clang-format off */
#define MMD_PY_METHOD(type, name, function, flags) \
    {#name, (PyCFunction)(void (*)(void))function, flags, MMD_DOC_##type##_##name}

/* What the getter needs to know is a pointer or a number. */
#define MMD_PY_PROPERTY(type, name, get, closure) \
    {#name, get, NULL, MMD_DOC_##type##_##name, (void *)(uintptr_t)(closure)}

/* A type: its flags beside those of all, and its slots. */
#define MMD_PY_TYPE_SPEC(type, name_of, object, more_flags) \
    PyType_Spec mmd_py_##type##_spec = { \
        .name = name_of, .basicsize = sizeof(object), .slots = type##_slots, \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | (more_flags)}
/* clang-format on */

#endif
