/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORDS_H
#define MMD_PY_RECORDS_H

#include "python/arrays.h"
#include "python/state.h"

/* Records are named tuples. record_types.c has a table of the fields of each, in their order: names
   for the class, and how each is made of the C struct that the record shows. */

/* The struct that a record is made of. Arrays in the record are views that `owner` keeps. */
typedef struct mmd_shown {
    mmd_state *state;
    const void *data;
    PyObject *owner;
} mmd_shown;

/* Where a struct that is made of a record has its memory; of tracks.c. */
typedef struct mmd_taking mmd_taking;

typedef struct mmd_field {
    const char *name;
    PyObject *(*make)(const struct mmd_field *field, const mmd_shown *shown);
    bool (*take)(const struct mmd_field *field, PyObject *value, mmd_taking *taking);
    size_t offset, size; /* of the struct's member; of a word: how many there are */
    union {
        const char *const *words; /* for 0, 1, 2, ... */
        uint16_t flag;
        struct {
            mmd_dtype dtype;
            size_t count_offset; /* of the number of keys */
            size_t columns, depth;
        } keys;
    } as;
} mmd_field;

typedef struct mmd_record_type {
    const char *name, *doc;
    size_t size; /* of the struct; 0: made of values by a call of the class */
    size_t field_count;
    const mmd_field *fields;
    PyObject *(*defaults)(void); /* a tuple of what the class takes for values that are left out */
} mmd_record_type;

extern const mmd_record_type mmd_record_types[MMD_RECORD_COUNT];

/* The record of one struct, and a tuple of those of several. */
PyObject *mmd_record_of(mmd_state *state, mmd_record kind, const void *data, PyObject *owner);
PyObject *mmd_records_of(mmd_state *state, mmd_record kind, const void *data, size_t count,
                         PyObject *owner);

/* The other way: structs of a sequence of records, or of whatever has their attributes, whose texts
   are left empty; freed by PyMem_Free. NULL with an exception that names the record and field. Of
   kinds that are made of texts, integers, numbers, vectors and words. */
void *mmd_records_read(mmd_record kind, PyObject *records, const char *list, size_t *count);

/* A tuple of what is given; a TypeError names the place. */
PyObject *mmd_record_sequence(PyObject *given, const char *place);

/* Puts an item into a new tuple; clears the tuple when the item is NULL. */
void mmd_tuple_put(PyObject **tuple, size_t index, PyObject *item);

PyObject *mmd_text_object(mmd_text text);
PyObject *mmd_texts_object(const mmd_text *texts, size_t count);

/* A tuple that an object makes of its data when it is first asked for, and keeps in `slot`. */
typedef struct mmd_section {
    bool texts; /* or records of `kind` */
    mmd_record kind;
    size_t data_offset, count_offset; /* of the members in the object's struct */
} mmd_section;

PyObject *mmd_section_object(const mmd_section *section, const mmd_shown *shown, PyObject **slot);

#endif
