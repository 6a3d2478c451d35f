/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORD_H
#define MMD_PY_RECORD_H

#include "python/array.h"
#include "python/state.h"

/* Records are named tuples, such as Bone or Camera: csrc/mmdskin/records.py has the classes.
   record_types.c says how the fields of those that are made from C structs are converted. */

/* The struct that a record is made from. Arrays in the record are views that keep `owner` alive. */
typedef struct mmd_py_record_source {
    mmd_py_state *state;
    const void *data;
    PyObject *owner;
} mmd_py_record_source;

typedef struct mmd_py_record_parser mmd_py_record_parser; /* record_parser.h */

typedef struct mmd_py_record_field {
    const char *name;
    /* Converts to Python. */
    PyObject *(*get)(const struct mmd_py_record_field *field, const mmd_py_record_source *source);
    /* Converts from Python to the struct that is parsed. Exceptions begin with the parser's path.
     */
    bool (*set)(const struct mmd_py_record_field *field, PyObject *value,
                mmd_py_record_parser *parser);
    size_t offset, size; /* of the struct's member; the size of an enum is its number of names */
    union {
        const char *const *names; /* of an enum's values 0, 1, 2, ... */
        uint16_t flag;
        struct {
            mmd_py_array_dtype dtype;
            size_t count_offset; /* of the member with the number of keys */
            size_t columns, depth;
        } keys;
    } as;
} mmd_py_record_field;

typedef struct mmd_py_record_type {
    const char *name;
    size_t size; /* of the struct; 0: the class is called with values */
    size_t field_count;
    const mmd_py_record_field *fields;
} mmd_py_record_type;

extern const mmd_py_record_type mmd_py_record_types[MMD_PY_RECORD_COUNT];

/* Adds the classes to the module and its state. */
bool mmd_py_record_add_classes(PyObject *module, mmd_py_state *state);

/* A record of one struct, and a tuple of records of an array of structs. */
PyObject *mmd_py_record_new(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                            PyObject *owner);
PyObject *mmd_py_record_tuple(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                              size_t count, PyObject *owner);

/* A tuple of a sequence, or NULL with a TypeError that begins with `path`. */
PyObject *mmd_py_record_sequence(PyObject *argument, const char *path);

/* Stores an item in a new tuple; clears the tuple if the item is NULL. Steals the item. */
void mmd_py_record_tuple_set(PyObject **tuple, size_t index, PyObject *item);

PyObject *mmd_py_record_str(mmd_text text);
PyObject *mmd_py_record_texts(const mmd_text *texts, size_t count);

/* A property whose tuple is created at first use and cached by the object. */
typedef struct mmd_py_record_cached_tuple {
    bool texts; /* of str; false: a Named of records of `kind` */
    mmd_py_record_kind kind;
    size_t data_offset, count_offset; /* of the members in the source's struct */
} mmd_py_record_cached_tuple;

PyObject *mmd_py_record_cached_tuple_get(const mmd_py_record_cached_tuple *property,
                                         const mmd_py_record_source *source, PyObject **slot);

#endif
