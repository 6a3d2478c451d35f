/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_ARRAY_POOL_H
#define MMD_PY_ARRAY_POOL_H

#include <stddef.h>

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
