/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_POSER_CACHE_H
#define MMD_PY_POSER_CACHE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mmdskin.h"

/* Posers kept for later calls with the same model and motion: binding the two and allocating memory
   costs as much as posing a frame. A call acquires a poser and releases it afterwards, so no two
   threads share one. A cached poser is linked into a list of its model and a list of its motion; it
   is freed with either. Each model caches a few posers and evicts the least recently used. All
   functions need the GIL, which serves as the lock. Cached posers hold no reference to a Python
   object. */

/* A node or the head of a circular doubly linked list. */
typedef struct mmd_py_poser_list {
    struct mmd_py_poser_list *next, *previous;
} mmd_py_poser_list;

void mmd_py_poser_list_init(mmd_py_poser_list *list);

/* A model and a motion with their lists; both motion members are NULL for poses by local values. */
typedef struct mmd_py_poser_key {
    const mmd_rig *rig;
    const mmd_motion *motion;
    mmd_py_poser_list *model_list, *motion_list;
} mmd_py_poser_key;

typedef struct mmd_py_poser_cached {
    mmd_py_poser_list model_node, motion_node;
    mmd_poser *poser; /* NULL: new; the caller creates it, without the GIL */
    const mmd_motion *motion;
} mmd_py_poser_cached;

/* NULL when out of memory. */
mmd_py_poser_cached *mmd_py_poser_cache_acquire(const mmd_py_poser_key *key, mmd_error *err);
void mmd_py_poser_cache_release(const mmd_py_poser_key *key, mmd_py_poser_cached *cached);

/* Frees every poser of a model, or of a motion. */
void mmd_py_poser_cache_clear_model(mmd_py_poser_list *list);
void mmd_py_poser_cache_clear_motion(mmd_py_poser_list *list);

#endif
