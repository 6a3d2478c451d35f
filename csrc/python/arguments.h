/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_ARGUMENTS_H
#define MMD_PY_ARGUMENTS_H

#include "python/arrays.h"

/* Numbers as arguments. Functions return false with an exception that begins with `name`. */

/* A str without NUL; it lives as long as `value`. */
bool mmd_word_take(PyObject *value, const char *name, const char **out);

/* An integer, or whatever stands for one, of `least` to `most`. */
bool mmd_integer_take(PyObject *value, const char *name, long least, long most, long *out);

/* A float, or a whole number that a double holds. */
bool mmd_number_take(PyObject *value, const char *name, double *out);

/* `count` numbers, float32 or float64, into `out`: an array (count,), or for 1 a number. */
bool mmd_numbers_take(PyObject *value, const char *name, mmd_dtype dtype, size_t count, void *out);

/* Frames as float64: a number (NULL: 0), or (F,). */
bool mmd_frames_take(PyObject *value, const char *name, mmd_array *frames);

#endif
