/* SPDX-License-Identifier: MIT */
#ifndef MMD_PYTHON_ARRAYS_H
#define MMD_PYTHON_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* Everything that numpy is needed for; no other file includes its headers. */

enum { MMD_MAX_RANK = 4 };

typedef enum mmd_dtype {
    MMD_FLOAT32,
    MMD_FLOAT64,
    MMD_INT32,
    MMD_UINT32,
    MMD_UINT8,
    MMD_BOOL
} mmd_dtype;

/* An argument as the core wants it: C-contiguous, of our dtype. A zeroed one holds nothing. */
typedef struct mmd_array {
    PyObject *object; /* holds `data`; may be a copy */
    void *data;
    int rank;
    size_t shape[MMD_MAX_RANK];
    const char *low, *high; /* memory of the argument itself, before any conversion */
} mmd_array;

/* -1 with an exception on failure. */
int mmd_arrays_init(void);

/* Whether it is a truth, Python's or numpy's, and not a number. */
bool mmd_is_bool(PyObject *value);

/* A read-only array over memory that `owner` keeps alive. */
PyObject *mmd_array_view(mmd_dtype dtype, const void *data, int rank, const size_t *shape,
                         PyObject *owner);

/* A new array, uninitialised; of float32. */
bool mmd_array_new_of(mmd_dtype dtype, int rank, const size_t *shape, mmd_array *out);
bool mmd_array_new(int rank, const size_t *shape, mmd_array *out);

/* Converts an argument, or fails with a TypeError or ValueError that starts with `name`. Integers
   that do not fit are an error, and so are floats for integers. With `copy` the memory is never the
   argument's, and read-only. */
bool mmd_array_from(PyObject *argument, const char *name, mmd_dtype dtype, bool copy,
                    mmd_array *out);

/* Fails with a ValueError ("positions: shape (4, 2), expected (V, 3)") unless the rank is that of
   `shape`, and each length too; MMD_ANY stands for any. `letters` names the lengths in the message
   where they are MMD_ANY. */
#define MMD_ANY SIZE_MAX
bool mmd_array_check_shape(const mmd_array *array, const char *name, int rank, const size_t *shape,
                           const char *letters);

/* Takes (...) or (F, ...), where `shape` and `letters` begin with F and `rank` does not count it:
   sets the number of frames, 1 without that axis, and `batch` where there is one. */
bool mmd_array_from_frames(PyObject *argument, const char *name, mmd_dtype dtype, int rank,
                           const size_t *shape, const char *letters, mmd_array *out, size_t *frames,
                           bool *batch);

/* Takes an array to be written: float32, C order, writable, of exactly this shape. */
bool mmd_array_for_output(PyObject *argument, const char *name, int rank, const size_t *shape,
                          mmd_array *out);

bool mmd_array_overlap(const mmd_array *a, const mmd_array *b);
void mmd_array_clear(mmd_array *array);

#endif
