/* SPDX-License-Identifier: MIT */
/* Simulation islands by union-find (Tarjan 1975; Bullet's btUnionFind and
   btSimulationIslandManager), and the order of joints and contacts that follows from them.

   In each step, dynamic bodies that the broad phase pairs or that a joint connects are united. The
   joints, and the manifolds, are then sorted by island index with btAlignedObjectArray::quickSort,
   which is not stable: it also exchanges those of the same island. Chains come out mostly from tip
   to root, and joints stretch up to a tenth farther than in the order of the files, from root to
   tip. */
#include "core/physics/joint_constraint.h"

/* Union-find: `islands` maps each body to another one of its island, the root to itself. */

static void init(size_t *islands, size_t body_count)
{
    for (size_t i = 0; i < body_count; i++)
        islands[i] = i;
}

/* The root, with path halving. */
static size_t find(size_t *islands, size_t body)
{
    while (islands[body] != body)
        body = islands[body] = islands[islands[body]];
    return body;
}

/* The root of b becomes that of both. */
static void unite(size_t *islands, size_t a, size_t b)
{
    islands[find(islands, a)] = find(islands, b);
}

void mmd_islands_of_model(const mmd_model *model, size_t *islands)
{
    init(islands, model->rigid_body_count);
    for (size_t i = 0; i < model->joint_count; i++) {
        int32_t a = model->joints[i].body_a, b = model->joints[i].body_b;
        if (a >= 0 && b >= 0 && model->rigid_bodies[a].mode != MMD_FOLLOWS_BONE &&
            model->rigid_bodies[b].mode != MMD_FOLLOWS_BONE)
            unite(islands, (size_t)a, (size_t)b);
    }
    for (size_t i = 0; i < model->rigid_body_count; i++)
        islands[i] = find(islands, i);
}

/* The order of joints and contacts */

/* Quicksort stops at this depth. Only files made for that reach it; then the slots stay partly
   unsorted, which is harmless, as islands do not affect each other. */
enum { MAX_DEPTH = 64 };

bool mmd_islands_init(mmd_arena *arena, size_t body_count, mmd_islands *islands)
{
    *islands = (mmd_islands){.body_count = body_count};
    return MMD_ARENA_ARRAY(arena, islands->roots, body_count) &&
           MMD_ARENA_ARRAY(arena, islands->islands, body_count + 1);
}

static void unite_dynamic(size_t *islands, const mmd_body *bodies, size_t a, size_t b)
{
    if (bodies[a].inverse_mass > 0 && bodies[b].inverse_mass > 0)
        unite(islands, a, b);
}

void mmd_islands_update(mmd_islands *islands, const mmd_body *bodies,
                        const mmd_joint_constraint *joints, size_t joint_count,
                        const mmd_broad_phase *broad_phase)
{
    init(islands->roots, islands->body_count);
    for (size_t i = 0; broad_phase && i < broad_phase->cache.count; i++) {
        mmd_broad_phase_pair pair = broad_phase->pairs[broad_phase->cache.pairs[i]];
        unite_dynamic(islands->roots, bodies, pair.a, pair.b);
    }
    for (size_t i = 0; i < joint_count; i++)
        unite_dynamic(islands->roots, bodies, joints[i].body_a, joints[i].body_b);
    for (size_t i = 0; i < islands->body_count; i++)
        islands->islands[i] =
            bodies[i].inverse_mass > 0 ? (uint32_t)find(islands->roots, i) + 1 : 0;
}

/* Hoare's quicksort with the middle slot as pivot. */
static void quicksort(mmd_islands_slot *slots, ptrdiff_t count, int depth)
{
    if (count < 2 || depth == 0)
        return;
    uint32_t pivot = slots[(count - 1) / 2].island;
    ptrdiff_t low = 0, high = count - 1;
    while (low <= high) {
        while (slots[low].island < pivot)
            low++;
        while (slots[high].island > pivot)
            high--;
        if (low > high)
            break;
        mmd_islands_slot slot = slots[low];
        slots[low++] = slots[high];
        slots[high--] = slot;
    }
    quicksort(slots, high + 1, depth - 1);
    quicksort(slots + low, count - low, depth - 1);
}

void mmd_islands_sort(mmd_islands_slot *slots, size_t count)
{
    quicksort(slots, (ptrdiff_t)count, MAX_DEPTH);
}
