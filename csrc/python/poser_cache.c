/* SPDX-License-Identifier: MIT */
/* Keeps posers for later calls, the most recently used first. */
#include "python/types.h"

#include "core/base/error.h"

#include <stddef.h>

/* Per model, over all motions and threads. */
enum { MAX_CACHED = 8 };

void mmd_py_poser_list_init(mmd_py_poser_list *list)
{
    list->next = list->previous = list;
}

static void list_insert(mmd_py_poser_list *list, mmd_py_poser_list *node)
{
    node->next = list->next;
    node->previous = list;
    list->next->previous = node;
    list->next = node;
}

static void list_remove(mmd_py_poser_list *node)
{
    node->next->previous = node->previous;
    node->previous->next = node->next;
    mmd_py_poser_list_init(node);
}

/* The cached poser that contains this node. */
#define CACHED_POSER(node, member)                                                                 \
    ((mmd_py_poser_cached *)((char *)(node)-offsetof(mmd_py_poser_cached, member)))

static void cached_poser_free(mmd_py_poser_cached *cached)
{
    list_remove(&cached->model_node);
    list_remove(&cached->motion_node);
    mmd_poser_free(cached->poser);
    PyMem_Free(cached);
}

static mmd_py_poser_cached *cached_poser_new(const mmd_py_poser_key *key, mmd_error *err)
{
    mmd_py_poser_cached *cached = PyMem_Calloc(1, sizeof *cached);
    if (!cached) {
        mmd_fail_memory(err);
        return NULL;
    }
    mmd_py_poser_list_init(&cached->model_node);
    mmd_py_poser_list_init(&cached->motion_node);
    cached->motion = key->motion;
    return cached;
}

mmd_py_poser_cached *mmd_py_poser_cache_acquire(const mmd_py_poser_key *key, mmd_error *err)
{
    mmd_py_poser_list *list = key->model_list;
    for (mmd_py_poser_list *node = list->next; node != list; node = node->next) {
        mmd_py_poser_cached *cached = CACHED_POSER(node, model_node);
        if (cached->motion == key->motion) {
            list_remove(&cached->model_node);
            list_remove(&cached->motion_node);
            return cached;
        }
    }
    return cached_poser_new(key, err);
}

void mmd_py_poser_cache_release(const mmd_py_poser_key *key, mmd_py_poser_cached *cached)
{
    mmd_py_poser_list *list = key->model_list;
    if (!cached->poser) {
        cached_poser_free(cached);
        return;
    }
    list_insert(list, &cached->model_node);
    if (key->motion_list)
        list_insert(key->motion_list, &cached->motion_node);
    size_t count = 0;
    for (mmd_py_poser_list *node = list->next; node != list; node = node->next)
        count++;
    if (count > MAX_CACHED)
        cached_poser_free(CACHED_POSER(list->previous, model_node));
}

void mmd_py_poser_cache_clear_model(mmd_py_poser_list *list)
{
    while (list->next != list)
        cached_poser_free(CACHED_POSER(list->next, model_node));
}

void mmd_py_poser_cache_clear_motion(mmd_py_poser_list *list)
{
    while (list->next != list)
        cached_poser_free(CACHED_POSER(list->next, motion_node));
}
