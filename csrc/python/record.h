/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORD_H
#define MMD_PY_RECORD_H

#include "core/base/arena.h"
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

typedef struct mmd_py_record_parser mmd_py_record_parser; /* below */

typedef struct mmd_py_record_field {
    const char *name;
    /* Converts to Python. */
    PyObject *(*get)(const struct mmd_py_record_field *field, const mmd_py_record_source *source);
    /* Converts from Python to the struct that is parsed. Exceptions begin with the parser's path.
     */
    bool (*set)(const struct mmd_py_record_field *field, PyObject *value,
                mmd_py_record_parser *parser);
    size_t offset, size; /* of the struct's member */
    uint16_t flag;       /* bits of a bone's flags, without which the value is None; 0: never */
    union {
        struct {
            const char *const *names;
            size_t count;
        } words;      /* of an enum's values 0, 1, 2, ... */
        uint16_t bit; /* of a bone's flags */
        struct {
            mmd_py_record_kind kind;
            size_t count_offset; /* of the member with the number of items */
        } list;
        struct {
            mmd_py_array_dtype dtype;
            int rank;
            size_t rows_offset; /* of the member with the number of rows */
            size_t columns, depth;
            size_t (*count_columns)(const void *data); /* NULL: `columns` */
        } array;
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

/* A record of one struct, and a tuple of records, or of str, of an array of structs. */
PyObject *mmd_py_record_new(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                            PyObject *owner);
PyObject *mmd_py_record_tuple(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                              size_t count, PyObject *owner);

/* A tuple of a sequence, or NULL with a TypeError that begins with `path`. */
PyObject *mmd_py_record_sequence(PyObject *argument, const char *path);

/* Stores an item in a new tuple; clears the tuple if the item is NULL. Steals the item. */
void mmd_py_record_tuple_set(PyObject **tuple, size_t index, PyObject *item);

PyObject *mmd_py_record_str(mmd_text text);

/* The same tuple, but of records a Named, created at first use and kept in a slot. */
PyObject *mmd_py_record_cached_tuple(mmd_py_state *state, mmd_py_record_kind kind, const void *data,
                                     size_t count, PyObject *owner, PyObject **slot);

/* From records to C structs, the reverse of mmd_py_record_new(). What else a record may be than one
   of its class, values_of() in records.py says. */

/* Owns the memory that the structs borrow, and knows what an exception is about. A parser that is
   zero but for the state is empty and valid. */
struct mmd_py_record_parser {
    mmd_py_state *state;
    PyObject *references; /* list */
    mmd_arena arena;
    char path[128];     /* of what is parsed: "bones[3].parent" */
    void *data;         /* the struct that is filled */
    bool has_row_count; /* of its arrays */
};

void mmd_py_record_parser_free(mmd_py_record_parser *parser);

/* Zeroed memory; NULL with an exception. */
void *mmd_py_record_parser_alloc(mmd_py_record_parser *parser, size_t count, size_t size);

/* Keeps an object alive as long as the parser. */
bool mmd_py_record_parser_keep(mmd_py_record_parser *parser, PyObject *object);

/* Appends to the path, as by printf; the length to restore it with. */
size_t mmd_py_record_parser_enter(mmd_py_record_parser *parser, const char *format, ...);
void mmd_py_record_parser_leave(mmd_py_record_parser *parser, size_t length);

/* Switches bits of a bone's flags: the fields after `flags` do, so that an edited record says in
   one place what it has. */
void mmd_py_record_switch_flag(mmd_bone *bone, uint16_t flag, bool on);

/* Fills a zeroed struct. */
bool mmd_py_record_parse(mmd_py_record_parser *parser, mmd_py_record_kind kind, PyObject *record,
                         void *data);

/* An array of structs from a sequence of records, or of str; it lives as long as the parser. */
bool mmd_py_record_parse_list(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                              PyObject *records, void **data, size_t *count);

/* A str, as UTF-8; surrogates other than U+DC80 to U+DCFF are refused. */
bool mmd_py_record_parse_text(mmd_py_record_parser *parser, PyObject *value, mmd_text *text);

/* An array of what a function makes of the items of a sequence. */
typedef bool mmd_py_record_item(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                                PyObject *value, void *out);
bool mmd_py_record_parse_items(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                               PyObject *sequence, mmd_py_record_item *parse, size_t size,
                               void **data, size_t *count);

#endif
