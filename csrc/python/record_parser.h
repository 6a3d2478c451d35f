/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORD_PARSER_H
#define MMD_PY_RECORD_PARSER_H

#include "core/base/arena.h"
#include "python/record.h"

/* From records to C structs, the reverse of mmd_py_record_new(). A record may be a named tuple, a
   plain tuple of the same values, a dict by the names of the fields, or an object with these
   attributes; fields with a default may be left out. */

/* Owns the memory that the structs borrow, and knows what an exception is about. A parser that is
   zero but for the state is empty and valid. */
struct mmd_py_record_parser {
    mmd_py_state *state;
    PyObject *references; /* list */
    mmd_arena arena;
    char path[128]; /* of what is parsed: "bones[3].parent" */
    void *data;     /* the struct that is filled */
    bool has_key_count;
};

void mmd_py_record_parser_free(mmd_py_record_parser *parser);

/* Zeroed memory; NULL with an exception. */
void *mmd_py_record_parser_alloc(mmd_py_record_parser *parser, size_t count, size_t size);

/* Keeps an object alive as long as the parser. */
bool mmd_py_record_parser_keep(mmd_py_record_parser *parser, PyObject *object);

/* Appends to the path, as by printf; the length to restore it with. */
size_t mmd_py_record_parser_enter(mmd_py_record_parser *parser, const char *format, ...);
void mmd_py_record_parser_leave(mmd_py_record_parser *parser, size_t length);

/* Fills a zeroed struct. */
bool mmd_py_record_parse(mmd_py_record_parser *parser, mmd_py_record_kind kind, PyObject *record,
                         void *data);

/* An array of structs from a sequence of records; it lives as long as the parser. */
bool mmd_py_record_parse_list(mmd_py_record_parser *parser, mmd_py_record_kind kind,
                              PyObject *records, void **data, size_t *count);

/* A str, as UTF-8; surrogates other than U+DC80 to U+DCFF are refused. */
bool mmd_py_record_parse_text(mmd_py_record_parser *parser, PyObject *value, mmd_text *text);

/* A sequence of str. */
bool mmd_py_record_parse_texts(mmd_py_record_parser *parser, PyObject *value, mmd_text **texts,
                               size_t *count);

#endif
