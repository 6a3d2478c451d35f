/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_ARRAY_H
#define MMD_PY_ARRAY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything that needs numpy; no other file includes its headers. */

enum { MMD_PY_MAX_RANK = 5 };

typedef enum mmd_py_array_dtype {
    MMD_PY_FLOAT32,
    MMD_PY_FLOAT64,
    MMD_PY_INT32,
    MMD_PY_UINT32,
    MMD_PY_UINT8,
    MMD_PY_BOOL
} mmd_py_array_dtype;

/* An array for the core: C-contiguous, of our dtype. Zero means none. */
typedef struct mmd_py_array {
    PyObject *object; /* owns `data`; may be a converted copy */
    void *data;
    int rank;
    size_t shape[MMD_PY_MAX_RANK];
    /* Bounds of the argument's own memory, before conversion. */
    const char *memory_begin, *memory_end;
} mmd_py_array;

/* -1 with an exception on failure. */
int mmd_py_array_init(void);

/* A read-only view of memory that `owner` keeps alive. */
PyObject *mmd_py_array_view(mmd_py_array_dtype dtype, const void *data, int rank,
                            const size_t *shape, PyObject *owner);

/* A new array, uninitialized: of any dtype, or of float32. If it is large, its memory is that of
   array_pool.h, unless the program has chosen another allocator by PyDataMem_SetHandler(). */
bool mmd_py_array_new(mmd_py_array_dtype dtype, int rank, const size_t *shape, mmd_py_array *out);
bool mmd_py_array_new_floats(int rank, const size_t *shape, mmd_py_array *out);

/* Converts an argument, or fails with a TypeError or ValueError that begins with `name`. Integers
   out of range and floats for integers are errors. An object with the method as_quat (scipy's
   Rotation) is an array of quaternions x y z w. With `copy` the result is a new array that no
   caller can modify or make writable. */
bool mmd_py_array_from(PyObject *argument, const char *name, mmd_py_array_dtype dtype, bool copy,
                       mmd_py_array *out);

/* The memory and shape of an array of this dtype that Python has made, and that the caller keeps;
   nothing for None. */
bool mmd_py_array_borrow(PyObject *array, mmd_py_array_dtype dtype, mmd_py_array *out);

/* Fails with a ValueError ("positions: shape (4, 2), expected (V, 3)") unless the array has this
   rank and shape. MMD_PY_ANY allows any length; `letters` names these lengths in the message,
   in order. */
#define MMD_PY_ANY SIZE_MAX
bool mmd_py_array_check_shape(const mmd_py_array *array, const char *name, int rank,
                              const size_t *shape, const char *letters);

/* Converts an array of shape (...), or (F, ...) with an axis of frames. `shape` and `letters` begin
   with F, `rank` does not count it. Sets the number of frames, which is 1 without that axis; sets
   `batched` with it. */
bool mmd_py_array_from_frames(PyObject *argument, const char *name, mmd_py_array_dtype dtype,
                              int rank, const size_t *shape, const char *letters, mmd_py_array *out,
                              size_t *frames, bool *batched);

/* Accepts an array to write to: float32, C-contiguous, writable, of exactly this shape; of NumPy,
   or memory that NumPy can share: a tensor of the CPU, a buffer. */
bool mmd_py_array_for_output(PyObject *argument, const char *name, int rank, const size_t *shape,
                             mmd_py_array *out);

void mmd_py_array_clear(mmd_py_array *array);

/* Memory for large arrays that is kept when they are freed: to touch new pages for the first time
   takes several times as long as filling them. For any thread, with or without the GIL. */

/* Arrays of fewer bytes are better off with the memory of malloc(), which keeps it, too. */
enum { MMD_PY_ARRAY_POOL_LEAST = 1 << 16 };

/* The functions that NumPy asks of an allocator; `unused` is its context. */
void *mmd_py_array_pool_malloc(void *unused, size_t size);
void *mmd_py_array_pool_calloc(void *unused, size_t count, size_t size);
void *mmd_py_array_pool_realloc(void *unused, void *data, size_t size);
void mmd_py_array_pool_free(void *unused, void *data, size_t size);

/* Gives what is kept back to the system. */
void mmd_py_array_pool_empty(void);

#endif
