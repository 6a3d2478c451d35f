/* SPDX-License-Identifier: MIT */
#include "core/physics/pairs.h"

#include <stdlib.h>
#include <string.h>

/* The axis along which models have most bodies beside each other. */
enum { SWEEP = 1 };

/* Per body, until a sort begins anew. */
enum { MOST_MOVES = 16 };

/* A stable sort by counting, of one of the two members. */
static void sort_pairs(const mmd_pair *from, size_t count, bool by_b, size_t body_count,
                       size_t *starts, mmd_pair *to)
{
    memset(starts, 0, (body_count + 1) * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        starts[(by_b ? from[i].b : from[i].a) + 1]++;
    for (size_t i = 0; i < body_count; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        to[starts[by_b ? from[i].b : from[i].a]++] = from[i];
}

static bool take_apart(mmd_arena *arena, const mmd_joint *joints, size_t joint_count,
                       mmd_pairs *pairs)
{
    pairs->apart = mmd_arena_alloc(arena, joint_count, sizeof *pairs->apart);
    mmd_pair *unsorted = mmd_arena_alloc(arena, joint_count, sizeof *unsorted);
    if (!pairs->apart || !unsorted)
        return false;
    for (size_t i = 0; i < joint_count; i++) {
        int32_t a = joints[i].body_a, b = joints[i].body_b;
        if (a >= 0 && b >= 0 && a != b)
            pairs->apart[pairs->apart_count++] =
                (mmd_pair){(uint32_t)(a < b ? a : b), (uint32_t)(a < b ? b : a)};
    }
    sort_pairs(pairs->apart, pairs->apart_count, true, pairs->body_count, pairs->starts, unsorted);
    sort_pairs(unsorted, pairs->apart_count, false, pairs->body_count, pairs->starts, pairs->apart);
    return true;
}

/* Masks of all bodies of each group, or of those that move. */
static void join_masks(const mmd_pairs *pairs, bool moving, uint16_t masks[MMD_BODY_GROUPS])
{
    memset(masks, 0, MMD_BODY_GROUPS * sizeof *masks);
    for (size_t i = 0; i < pairs->body_count; i++)
        for (int group = 0; group < MMD_BODY_GROUPS; group++)
            if (pairs->sides[i].group >> group & 1 && (pairs->sides[i].moves || !moving))
                masks[group] |= pairs->sides[i].mask;
}

static void find_touching(mmd_pairs *pairs)
{
    uint16_t of_all[MMD_BODY_GROUPS], of_moving[MMD_BODY_GROUPS];
    join_masks(pairs, false, of_all);
    join_masks(pairs, true, of_moving);
    for (size_t i = 0; i < pairs->body_count; i++) {
        mmd_pair_side *side = &pairs->sides[i];
        const uint16_t *masks = side->moves ? of_all : of_moving;
        for (int group = 0; group < MMD_BODY_GROUPS; group++)
            side->touches |= side->mask >> group & 1 && masks[group] & side->group;
    }
}

bool mmd_pairs_init(mmd_arena *arena, const mmd_rigid_body *sources, const mmd_body *bodies,
                    size_t body_count, const mmd_joint *joints, size_t joint_count, size_t room,
                    mmd_pairs *pairs)
{
    *pairs = (mmd_pairs){.body_count = body_count, .room = room};
    pairs->sides = mmd_arena_alloc(arena, body_count, sizeof *pairs->sides);
    pairs->extents = mmd_arena_alloc(arena, body_count, sizeof *pairs->extents);
    pairs->ends = mmd_arena_alloc(arena, body_count, sizeof *pairs->ends);
    pairs->starts = mmd_arena_alloc(arena, body_count + 1, sizeof *pairs->starts);
    pairs->found = mmd_arena_alloc(arena, room, sizeof *pairs->found);
    pairs->spare = mmd_arena_alloc(arena, room, sizeof *pairs->spare);
    if (!pairs->sides || !pairs->extents || !pairs->ends || !pairs->starts || !pairs->found ||
        !pairs->spare)
        return false;
    for (size_t i = 0; i < body_count; i++) {
        pairs->sides[i] = (mmd_pair_side){.group = (uint16_t)(1u << sources[i].group),
                                          .mask = sources[i].mask,
                                          .moves = bodies[i].inverse_mass > 0};
    }
    find_touching(pairs);
    for (size_t i = 0; i < body_count; i++)
        if (pairs->sides[i].touches)
            pairs->ends[pairs->end_count++].body = (uint32_t)i;
    return take_apart(arena, joints, joint_count, pairs);
}

/* Those at one height by their index, so that the order knows nothing of the steps before. */
static int compare_lower_ends(const void *one, const void *other)
{
    const mmd_lower_end *a = one, *b = other;
    return a->low != b->low ? (a->low < b->low ? -1 : 1)
                            : (a->body > b->body) - (a->body < b->body);
}

/* From step to step few change places, so that they are put in one by one; when that takes too
   long, at once. */
static void sort_lower_ends(mmd_lower_end *ends, size_t count)
{
    size_t moves = 0;
    for (size_t i = 1; i < count && moves <= MOST_MOVES * count; i++) {
        mmd_lower_end end = ends[i];
        size_t k = i;
        for (; k > 0 && compare_lower_ends(&end, &ends[k - 1]) < 0; k--, moves++)
            ends[k] = ends[k - 1];
        ends[k] = end;
    }
    if (moves > MOST_MOVES * count)
        qsort(ends, count, sizeof *ends, compare_lower_ends);
}

/* Of bodies that meet along the sweep. All is looked at: a wrong guess of the processor takes
   longer. */
static bool may_touch(const mmd_pairs *pairs, uint32_t a, uint32_t b)
{
    const mmd_pair_side *x = &pairs->sides[a], *y = &pairs->sides[b];
    const mmd_extent *m = &pairs->extents[a], *n = &pairs->extents[b];
    bool meet = (x->moves | y->moves) & ((x->mask & y->group) != 0) & ((y->mask & x->group) != 0);
    for (int i = 0; i < 3; i++)
        if (i != SWEEP)
            meet = meet & (m->low[i] <= n->high[i]) & (n->low[i] <= m->high[i]);
    return meet;
}

static int pair_order(mmd_pair p, mmd_pair q)
{
    return p.a != q.a ? (p.a < q.a ? -1 : 1) : p.b != q.b ? (p.b < q.b ? -1 : 1) : 0;
}

/* Both lists are in order. */
static void leave_out_apart(mmd_pairs *pairs)
{
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        mmd_pair pair = pairs->found[i];
        while (next < pairs->apart_count && pair_order(pairs->apart[next], pair) < 0)
            next++;
        if (next == pairs->apart_count || pair_order(pairs->apart[next], pair) != 0)
            pairs->found[kept++] = pair;
    }
    pairs->count = kept;
}

void mmd_pairs_find(mmd_pairs *pairs, const mmd_body *bodies, const mmd_shape *shapes)
{
    for (size_t i = 0; i < pairs->body_count; i++) {
        double half[3];
        mmd_shape_extents(&shapes[i], &bodies[i], half);
        for (int k = 0; k < 3; k++) {
            double reach = half[k] + shapes[i].breaking;
            pairs->extents[i].low[k] = bodies[i].state.position[k] - reach;
            pairs->extents[i].high[k] = bodies[i].state.position[k] + reach;
        }
    }
    for (size_t i = 0; i < pairs->end_count; i++)
        pairs->ends[i].low = pairs->extents[pairs->ends[i].body].low[SWEEP];
    sort_lower_ends(pairs->ends, pairs->end_count);
    pairs->count = 0;
    for (size_t i = 0; i < pairs->end_count; i++) {
        uint32_t a = pairs->ends[i].body;
        double high = pairs->extents[a].high[SWEEP];
        for (size_t k = i + 1; k < pairs->end_count && pairs->ends[k].low <= high; k++) {
            uint32_t b = pairs->ends[k].body;
            if (pairs->count == pairs->room)
                break;
            if (may_touch(pairs, a, b))
                pairs->found[pairs->count++] = (mmd_pair){a < b ? a : b, a < b ? b : a};
        }
    }
    sort_pairs(pairs->found, pairs->count, true, pairs->body_count, pairs->starts, pairs->spare);
    sort_pairs(pairs->spare, pairs->count, false, pairs->body_count, pairs->starts, pairs->found);
    leave_out_apart(pairs);
}
