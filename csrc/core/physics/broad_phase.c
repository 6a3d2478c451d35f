/* SPDX-License-Identifier: MIT */
/* Broad phase by sweep and prune on one axis (Baraff 1992; Bullet's btAxisSweep3 sorts all three):
   the bodies are sorted by the minimum of their AABBs on y, along which models
   have most bodies side by side, and each is tested against those that
   follow until their minimum lies beyond its maximum. Collision groups and masks filter the pairs,
   as btBroadphaseProxy's m_collisionFilterGroup and m_collisionFilterMask do. Two bodies that
   follow bones are a pair, too, but never touch: they take part in the order.

   The solver depends on the order of pairs and of their manifolds, which in Bullet is that of
   arrays: a new pair is added at the end, and the last one takes the place of one that is removed
   (btHashedOverlappingPairCache, btCollisionDispatcher::releaseManifold). */
#include "core/physics/broad_phase.h"

#include <stdlib.h>
#include <string.h>

/* Bullet's gContactBreakingThreshold, by which btCollisionWorld::updateAabbs enlarges AABBs. */
#define CONTACT_BREAKING_THRESHOLD 0.02

/* Of insertion sort, per body, before quicksort takes over. */
enum { MAX_MOVES = 16 };

/* A stable counting sort by one of the two members. */
static void sort_pairs(const mmd_broad_phase_pair *from, size_t count, bool by_second,
                       size_t body_count, size_t *starts, mmd_broad_phase_pair *to)
{
    memset(starts, 0, (body_count + 1) * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        starts[(by_second ? from[i].b : from[i].a) + 1]++;
    for (size_t i = 0; i < body_count; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        to[starts[by_second ? from[i].b : from[i].a]++] = from[i];
}

static int compare_pairs(mmd_broad_phase_pair p, mmd_broad_phase_pair q)
{
    return p.a != q.a ? (p.a < q.a ? -1 : 1) : p.b != q.b ? (p.b < q.b ? -1 : 1) : 0;
}

static int compare_excluded(const void *one, const void *other)
{
    return compare_pairs(*(const mmd_broad_phase_pair *)one, *(const mmd_broad_phase_pair *)other);
}

static bool exclude_joined(mmd_arena *arena, const mmd_world_desc *desc,
                           mmd_broad_phase *broad_phase)
{
    if (!MMD_ARENA_ARRAY(arena, broad_phase->excluded, desc->joint_count))
        return false;
    for (size_t i = 0; i < desc->joint_count; i++) {
        int32_t a = desc->joints[i].body_a, b = desc->joints[i].body_b;
        if (a >= 0 && b >= 0 && a != b)
            broad_phase->excluded[broad_phase->excluded_count++] =
                (mmd_broad_phase_pair){(uint32_t)(a < b ? a : b), (uint32_t)(a < b ? b : a)};
    }
    qsort(broad_phase->excluded, broad_phase->excluded_count, sizeof *broad_phase->excluded,
          compare_excluded);
    return true;
}

static bool init_order(mmd_arena *arena, size_t capacity, mmd_broad_phase_order *order)
{
    return MMD_ARENA_ARRAY(arena, order->pairs, 2 * capacity) &&
           MMD_ARENA_ARRAY(arena, order->indices, 2 * capacity);
}

bool mmd_broad_phase_init(mmd_arena *arena, const mmd_world_desc *desc, const mmd_body *bodies,
                          size_t capacity, mmd_broad_phase *broad_phase)
{
    size_t body_count = desc->body_count;
    *broad_phase = (mmd_broad_phase){.body_count = body_count, .capacity = capacity};
    if (!MMD_ARENA_ARRAY(arena, broad_phase->dynamic, body_count) ||
        !MMD_ARENA_ARRAY(arena, broad_phase->entries, body_count) ||
        !MMD_ARENA_ARRAY(arena, broad_phase->starts, body_count + 1) ||
        !MMD_ARENA_ARRAY(arena, broad_phase->pairs, capacity + body_count) ||
        !MMD_ARENA_ARRAY(arena, broad_phase->found, capacity + body_count) ||
        !MMD_ARENA_ARRAY(arena, broad_phase->scratch, capacity) ||
        !MMD_ARENA_ARRAY(arena, broad_phase->indices, 2 * capacity) ||
        !init_order(arena, capacity, &broad_phase->cache) ||
        !init_order(arena, capacity, &broad_phase->manifolds))
        return false;
    for (size_t i = 0; i < body_count; i++) {
        uint32_t group = 1u << desc->bodies[i].group, mask = desc->bodies[i].mask;
        broad_phase->entries[i] = (mmd_broad_phase_entry){
            .body = (uint32_t)i, .filter = mask << 16 | group, .wanted = group << 16 | mask};
        broad_phase->dynamic[i] = bodies[i].inverse_mass > 0;
    }
    return desc->settings.collide_connected || exclude_joined(arena, desc, broad_phase);
}

/* Ties are broken by the body index, so that the order does not depend on earlier steps. */
static int compare_entries(const void *one, const void *other)
{
    const mmd_broad_phase_entry *a = one, *b = other;
    return a->min != b->min ? (a->min < b->min ? -1 : 1)
                            : (a->body > b->body) - (a->body < b->body);
}

/* Insertion sort, as few entries change places from step to step; quicksort if many do. */
static void sort_entries(mmd_broad_phase_entry *entries, size_t count)
{
    size_t moves = 0;
    for (size_t i = 1; i < count && moves <= MAX_MOVES * count; i++) {
        mmd_broad_phase_entry entry = entries[i];
        size_t k = i;
        for (; k > 0 && compare_entries(&entry, &entries[k - 1]) < 0; k--, moves++)
            entries[k] = entries[k - 1];
        entries[k] = entry;
    }
    if (moves > MAX_MOVES * count)
        qsort(entries, count, sizeof *entries, compare_entries);
}

/* For bodies that overlap on the sweep axis. Without short-circuits: a mispredicted branch costs
   more than the comparisons. */
static inline bool may_collide(const mmd_broad_phase_entry *a, const mmd_broad_phase_entry *b)
{
    mmd_double2_bits overlap = (a->lower <= b->upper) & (b->lower <= a->upper);
    uint32_t allowed = a->filter & b->wanted;
    return (overlap[0] & overlap[1]) & ((allowed & UINT16_MAX) != 0) & (allowed > UINT16_MAX);
}

static size_t remove_excluded(const mmd_broad_phase *broad_phase, mmd_broad_phase_pair *pairs,
                              size_t count)
{
    size_t kept = 0, excluded = broad_phase->excluded_count;
    for (size_t i = 0; i < count; i++)
        if (!excluded ||
            !bsearch(&pairs[i], broad_phase->excluded, excluded, sizeof *pairs, compare_excluded))
            pairs[kept++] = pairs[i];
    return kept;
}

static void update_entry(const mmd_body *body, const mmd_shape *shape, mmd_broad_phase_entry *entry)
{
    double extents[3];
    const double *center = body->state.position;
    mmd_shape_aabb(shape, body->basis, extents);
    for (int k = 0; k < 3; k++)
        extents[k] += CONTACT_BREAKING_THRESHOLD;
    entry->lower = (mmd_double2){center[0] - extents[0], center[2] - extents[2]};
    entry->upper = (mmd_double2){center[0] + extents[0], center[2] + extents[2]};
    entry->min = center[1] - extents[1];
    entry->max = center[1] + extents[1];
}

/* Fills `found` with the pairs of this step, sorted; returns their number. */
static size_t find_pairs(mmd_broad_phase *broad_phase, const mmd_body *bodies,
                         const mmd_shape *shapes)
{
    mmd_broad_phase_entry *entries = broad_phase->entries;
    mmd_broad_phase_pair *found = broad_phase->found, *scratch = broad_phase->scratch;
    size_t body_count = broad_phase->body_count, count = 0;
    for (size_t i = 0; i < body_count; i++)
        update_entry(&bodies[entries[i].body], &shapes[entries[i].body], &entries[i]);
    sort_entries(entries, body_count);
    broad_phase->dropped_count = 0;
    for (size_t i = 0; i < body_count; i++) {
        mmd_broad_phase_entry entry = entries[i];
        for (size_t k = i + 1; k < body_count && entries[k].min <= entry.max; k++) {
            found[count] = (mmd_broad_phase_pair){entry.body, entries[k].body};
            count += may_collide(&entry, &entries[k]);
        }
        if (count > broad_phase->capacity) {
            broad_phase->dropped_count += count - broad_phase->capacity;
            count = broad_phase->capacity;
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t a = found[i].a, b = found[i].b;
        found[i] = (mmd_broad_phase_pair){a < b ? a : b, a < b ? b : a};
    }
    sort_pairs(found, count, true, body_count, broad_phase->starts, scratch);
    sort_pairs(scratch, count, false, body_count, broad_phase->starts, found);
    return remove_excluded(broad_phase, found, count);
}

/* The order of pairs */

static void append(mmd_broad_phase_order *order, uint32_t pair)
{
    order->indices[pair] = (uint32_t)order->count;
    order->pairs[order->count++] = pair;
}

static void remove_from(mmd_broad_phase_order *order, uint32_t pair)
{
    uint32_t last = order->pairs[--order->count], place = order->indices[pair];
    order->pairs[place] = last;
    order->indices[last] = place;
}

static void find_places(mmd_broad_phase_order *order)
{
    for (size_t i = 0; i < order->count; i++)
        order->indices[order->pairs[i]] = (uint32_t)i;
}

static void replace_indices(mmd_broad_phase_order *order, const uint32_t *indices)
{
    for (size_t i = 0; i < order->count; i++)
        order->pairs[i] = indices[order->pairs[i]];
}

/* Replaces the pairs by those found, and updates the orders as btSimpleBroadphase does, which goes
   through all pairs of bodies. Until the end, an old pair is known by its index and a new one by
   its index in `found` after those; `indices` leads from there to the index in `found`. */
static void replace_pairs(mmd_broad_phase *broad_phase, size_t found_count)
{
    mmd_broad_phase_order *cache = &broad_phase->cache, *manifolds = &broad_phase->manifolds;
    mmd_broad_phase_pair *old = broad_phase->pairs, *found = broad_phase->found;
    uint32_t old_count = (uint32_t)broad_phase->pair_count, i = 0, k = 0;
    find_places(cache);
    find_places(manifolds);
    while (i < old_count || k < found_count) {
        int compared = i == old_count ? 1 : k == found_count ? -1 : compare_pairs(old[i], found[k]);
        if (compared < 0) {
            remove_from(cache, i);
            remove_from(manifolds, i++);
        } else if (compared > 0) {
            append(cache, old_count + k);
            broad_phase->indices[old_count + k] = k;
            k++;
        } else {
            broad_phase->indices[i++] = k++;
        }
    }
    for (size_t n = 0; n < cache->count; n++) /* the dispatcher makes their manifolds */
        if (cache->pairs[n] >= old_count)
            append(manifolds, cache->pairs[n]);
    replace_indices(cache, broad_phase->indices);
    replace_indices(manifolds, broad_phase->indices);
    broad_phase->pairs = found;
    broad_phase->found = old;
    broad_phase->pair_count = found_count;
}

void mmd_broad_phase_update(mmd_broad_phase *broad_phase, const mmd_body *bodies,
                            const mmd_shape *shapes)
{
    replace_pairs(broad_phase, find_pairs(broad_phase, bodies, shapes));
}

/* Saved states */

/* Whether each index occurs once. */
static bool is_permutation(const uint32_t *indices, size_t count, uint32_t *seen)
{
    if (count)
        memset(seen, 0, count * sizeof *seen);
    for (size_t i = 0; i < count; i++)
        if (indices[i] >= count || seen[indices[i]]++)
            return false;
    return true;
}

static bool is_valid(const mmd_broad_phase *broad_phase)
{
    const mmd_broad_phase_pair *pairs = broad_phase->pairs;
    size_t count = broad_phase->pair_count;
    for (size_t i = 0; i < count; i++)
        if (pairs[i].a >= pairs[i].b || pairs[i].b >= broad_phase->body_count ||
            (i > 0 && compare_pairs(pairs[i - 1], pairs[i]) >= 0))
            return false;
    return is_permutation(broad_phase->cache.pairs, count, broad_phase->indices) &&
           is_permutation(broad_phase->manifolds.pairs, count, broad_phase->indices);
}

bool mmd_broad_phase_parts(mmd_broad_phase *broad_phase, mmd_bytes_parts *parts)
{
    size_t count = broad_phase->pair_count;
    mmd_bytes_part(parts, &count, sizeof count);
    if (count > broad_phase->capacity)
        return false;
    if (parts->from.data)
        broad_phase->pair_count = broad_phase->cache.count = broad_phase->manifolds.count = count;
    mmd_bytes_part(parts, broad_phase->pairs, count * sizeof *broad_phase->pairs);
    mmd_bytes_part(parts, broad_phase->cache.pairs, count * sizeof *broad_phase->cache.pairs);
    mmd_bytes_part(parts, broad_phase->manifolds.pairs,
                   count * sizeof *broad_phase->manifolds.pairs);
    return !parts->from.failed && (!parts->from.data || is_valid(broad_phase));
}
