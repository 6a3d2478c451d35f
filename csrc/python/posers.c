/* SPDX-License-Identifier: MIT */
#include "python/posers.h"

#include "core/base/error.h"

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

static mmd_kept_poser *kept_new(const mmd_posed_pair *pair, mmd_error *err)
{
    mmd_kept_poser *kept = PyMem_Calloc(1, sizeof *kept);
    if (!kept) {
        mmd_fail_memory(err);
        return NULL;
    }
    mmd_ring_init(&kept->of_model);
    mmd_ring_init(&kept->of_motion);
    kept->motion = pair->motion;
    return kept;
}

mmd_kept_poser *mmd_posers_take(const mmd_posed_pair *pair, mmd_error *err)
{
    mmd_ring *ring = pair->of_model;
    for (mmd_ring *item = ring->next; item != ring; item = item->next) {
        mmd_kept_poser *kept = KEPT_OF(item, of_model);
        if (kept->motion == pair->motion) {
            ring_remove(&kept->of_model);
            ring_remove(&kept->of_motion);
            return kept;
        }
    }
    return kept_new(pair, err);
}

void mmd_posers_give_back(const mmd_posed_pair *pair, mmd_kept_poser *kept)
{
    mmd_ring *ring = pair->of_model;
    if (!kept->poser) {
        kept_free(kept);
        return;
    }
    ring_insert(ring, &kept->of_model);
    if (pair->of_motion)
        ring_insert(pair->of_motion, &kept->of_motion);
    size_t count = 0;
    for (mmd_ring *item = ring->next; item != ring; item = item->next)
        count++;
    if (count > MOST_KEPT)
        kept_free(KEPT_OF(ring->previous, of_model));
}

void mmd_posers_free_of_model(mmd_ring *ring)
{
    while (ring->next != ring)
        kept_free(KEPT_OF(ring->next, of_model));
}

void mmd_posers_free_of_motion(mmd_ring *ring)
{
    while (ring->next != ring)
        kept_free(KEPT_OF(ring->next, of_motion));
}
