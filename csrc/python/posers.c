/* SPDX-License-Identifier: MIT */
#include "python/posers.h"

#include <stddef.h>

/* Per model, of all motions and threads: the one that waits longest goes first. */
enum { MOST_KEPT = 8 };

void mmd_ring_init(mmd_ring *ring)
{
    ring->next = ring->previous = ring;
}

static void ring_insert(mmd_ring *ring, mmd_ring *item)
{
    item->next = ring->next;
    item->previous = ring;
    ring->next->previous = item;
    ring->next = item;
}

static void ring_remove(mmd_ring *item)
{
    item->next->previous = item->previous;
    item->previous->next = item->next;
    mmd_ring_init(item);
}

#define KEPT_OF(item, member) ((mmd_kept_poser *)((char *)(item)-offsetof(mmd_kept_poser, member)))

static void kept_free(mmd_kept_poser *kept)
{
    ring_remove(&kept->of_model);
    ring_remove(&kept->of_motion);
    mmd_poser_free(kept->poser);
    PyMem_Free(kept);
}

static mmd_kept_poser *kept_new(PyObject *model, PyObject *motion)
{
    mmd_kept_poser *kept = PyMem_Calloc(1, sizeof *kept);
    if (!kept) {
        PyErr_NoMemory();
        return NULL;
    }
    mmd_ring_init(&kept->of_model);
    mmd_ring_init(&kept->of_motion);
    kept->motion = motion;
    const mmd_rig *rig = mmd_model_rig(model);
    const mmd_motion *data = motion == Py_None ? NULL : mmd_motion_data(motion);
    mmd_error err = {0};
    Py_BEGIN_ALLOW_THREADS
    kept->poser = mmd_poser_new(rig, data, &err);
    Py_END_ALLOW_THREADS
    if (kept->poser)
        return kept;
    PyMem_Free(kept);
    mmd_raise(mmd_state_of(model), &err);
    return NULL;
}

mmd_kept_poser *mmd_posers_take(PyObject *model, PyObject *motion)
{
    mmd_ring *ring = mmd_model_posers(model);
    for (mmd_ring *item = ring->next; item != ring; item = item->next) {
        mmd_kept_poser *kept = KEPT_OF(item, of_model);
        if (kept->motion == motion) {
            ring_remove(&kept->of_model);
            ring_remove(&kept->of_motion);
            return kept;
        }
    }
    return kept_new(model, motion);
}

void mmd_posers_give_back(PyObject *model, mmd_kept_poser *kept)
{
    mmd_ring *ring = mmd_model_posers(model);
    ring_insert(ring, &kept->of_model);
    if (kept->motion != Py_None)
        ring_insert(mmd_motion_posers(kept->motion), &kept->of_motion);
    size_t count = 0;
    for (mmd_ring *item = ring->next; item != ring; item = item->next)
        count++;
    if (count > MOST_KEPT)
        kept_free(KEPT_OF(ring->previous, of_model));
}

void mmd_posers_free_of_model(PyObject *model)
{
    mmd_ring *ring = mmd_model_posers(model);
    while (ring->next != ring)
        kept_free(KEPT_OF(ring->next, of_model));
}

void mmd_posers_free_of_motion(PyObject *motion)
{
    mmd_ring *ring = mmd_motion_posers(motion);
    while (ring->next != ring)
        kept_free(KEPT_OF(ring->next, of_motion));
}
