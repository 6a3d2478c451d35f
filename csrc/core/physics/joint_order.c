/* SPDX-License-Identifier: MIT */
#include "core/physics/joint_order.h"

#include "core/physics/islands.h"

/* Parts of parts that are sorted. Only a file that is made for it has more, and then the rest stays
   as it is: the order of islands changes nothing. */
enum { DEEPEST = 64 };

bool mmd_joint_order_init(mmd_arena *arena, size_t body_count, size_t joint_count,
                          mmd_joint_order *order)
{
    *order = (mmd_joint_order){.body_count = body_count, .joint_count = joint_count};
    order->islands = mmd_arena_alloc(arena, body_count, sizeof *order->islands);
    order->slots = mmd_arena_alloc(arena, joint_count, sizeof *order->slots);
    for (size_t i = 0; order->slots && i < joint_count; i++)
        order->slots[i].joint = (uint32_t)i;
    return order->islands && order->slots;
}

static void join(size_t *islands, const mmd_body *bodies, size_t a, size_t b)
{
    if (bodies[a].inverse_mass > 0 && bodies[b].inverse_mass > 0)
        mmd_islands_join(islands, a, b);
}

/* Of the body that moves, first of A. */
static uint32_t island_of(size_t *islands, const mmd_body *bodies, const mmd_held_joint *joint)
{
    if (bodies[joint->a].inverse_mass > 0)
        return (uint32_t)mmd_island_of(islands, joint->a) + 1;
    if (bodies[joint->b].inverse_mass > 0)
        return (uint32_t)mmd_island_of(islands, joint->b) + 1;
    return 0;
}

/* Hoare's quicksort around the middle one. */
static void sort(mmd_joint_slot *slots, ptrdiff_t count, int depth)
{
    if (count < 2 || depth == 0)
        return;
    uint32_t middle = slots[(count - 1) / 2].island;
    ptrdiff_t low = 0, high = count - 1;
    while (low <= high) {
        while (slots[low].island < middle)
            low++;
        while (slots[high].island > middle)
            high--;
        if (low > high)
            break;
        mmd_joint_slot slot = slots[low];
        slots[low++] = slots[high];
        slots[high--] = slot;
    }
    sort(slots, high + 1, depth - 1);
    sort(slots + low, count - low, depth - 1);
}

void mmd_joint_order_find(mmd_joint_order *order, const mmd_held_joint *joints,
                          const mmd_body *bodies, const mmd_pairs *pairs)
{
    mmd_islands_reset(order->islands, order->body_count);
    for (size_t i = 0; pairs && i < pairs->count; i++)
        join(order->islands, bodies, pairs->found[i].a, pairs->found[i].b);
    for (size_t i = 0; i < order->joint_count; i++)
        join(order->islands, bodies, joints[i].a, joints[i].b);
    for (size_t i = 0; i < order->joint_count; i++)
        order->slots[i] =
            (mmd_joint_slot){island_of(order->islands, bodies, &joints[i]), (uint32_t)i};
    sort(order->slots, (ptrdiff_t)order->joint_count, DEEPEST);
}
