/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_ARGUMENT_H
#define MMD_PY_ARGUMENT_H

#include "mmdskin.h"
#include "python/array.h"

/* Conversion of arguments. Functions return false with an exception that begins with `name`. */

/* A str without null characters, borrowed from `value`. */
bool mmd_py_argument_str(PyObject *value, const char *name, const char **out);

/* One of some words, by its index; NULL: leaves `out` as it is. */
bool mmd_py_argument_word(PyObject *value, const char *name, const char *const *words, size_t count,
                          int *out);

/* An integer, or an object with __index__, from `min` to `max`. */
bool mmd_py_argument_int(PyObject *value, const char *name, long min, long max, long *out);

/* A float, or an int within the range of double. */
bool mmd_py_argument_double(PyObject *value, const char *name, double *out);

/* Copies `count` float32 or float64 numbers to `out`: an array (count,), or a number if it is 1. */
bool mmd_py_argument_numbers(PyObject *value, const char *name, mmd_py_array_dtype dtype,
                             size_t count, void *out);

/* Frames as float64, neither infinite nor NaN: a number, or (F,). NULL: frame 0. */
bool mmd_py_argument_finite_frames(PyObject *value, const char *name, mmd_py_array *frames);

/* The numbers of a row that camera_rows() of argument.py makes of a frame of a Camera, which is a
   mmd_camera. */
enum { MMD_PY_ARGUMENT_CAMERA_WIDTH = sizeof(mmd_camera) / sizeof(double) };

#endif
