/* SPDX-License-Identifier: MIT */
#include "core/physics/contacts.h"

#include <math.h>
#include <string.h>

/* Room for pairs that are near each other, per body; dressed models need two. */
enum { PAIRS_PER_BODY = 8, PAIRS_AT_LEAST = 64 };

#define MOST_FRICTION 10

/* A larger impulse has left the numbers, and would come back in every step. */
#define MOST_KEPT 1e12

/* What a body of Bullet has when it is told nothing. */
#define GROUND_FRICTION 0.5
#define GROUND_RESTITUTION 0

bool mmd_touch_init(mmd_arena *arena, const mmd_touch_desc *desc, mmd_touch *touch)
{
    size_t count = desc->body_count, pairs = PAIRS_PER_BODY * count + PAIRS_AT_LEAST;
    size_t room = pairs + (desc->ground ? count : 0);
    *touch = (mmd_touch){.body_count = count,
                         .room = room,
                         .ground = desc->ground,
                         .ground_height = desc->ground_height};
    touch->shapes = mmd_arena_alloc(arena, count, sizeof *touch->shapes);
    touch->frictions = mmd_arena_alloc(arena, count + 1, sizeof *touch->frictions);
    touch->restitutions = mmd_arena_alloc(arena, count + 1, sizeof *touch->restitutions);
    touch->manifolds = mmd_arena_alloc(arena, room, sizeof *touch->manifolds);
    touch->before = mmd_arena_alloc(arena, room, sizeof *touch->before);
    touch->rows = mmd_arena_alloc(arena, room, 2 * MMD_CONTACTS * sizeof *touch->rows);
    if (!touch->shapes || !touch->frictions || !touch->restitutions || !touch->manifolds ||
        !touch->before || !touch->rows)
        return false;
    for (size_t i = 0; i < count; i++) {
        mmd_shape_init(&desc->sources[i], &touch->shapes[i]);
        touch->frictions[i] = (double)desc->sources[i].friction;
        touch->restitutions[i] = (double)desc->sources[i].restitution;
    }
    touch->frictions[count] = GROUND_FRICTION;
    touch->restitutions[count] = GROUND_RESTITUTION;
    return mmd_pairs_init(arena, desc->sources, desc->bodies, count, desc->apart,
                          desc->apart ? desc->joint_count : 0, pairs, &touch->pairs);
}

void mmd_touch_forget(mmd_touch *touch)
{
    touch->count = touch->point_count = 0;
}

static double breaking_of(const mmd_touch *touch, size_t a, size_t b)
{
    double breaking = touch->shapes[a].breaking;
    return b < touch->body_count ? fmin(breaking, touch->shapes[b].breaking) : breaking;
}

/* As Bullet solves a few bodies: the ground comes last. */
static bool comes_before(const mmd_touch *touch, const mmd_manifold *manifold, size_t a, size_t b)
{
    bool ground = manifold->b == touch->body_count, other = b == touch->body_count;
    if (ground != other)
        return other;
    return manifold->a != a ? manifold->a < a : manifold->b < b;
}

/* The points of two bodies, with those of the step before, of which `next` goes through the list.
 */
static void find_pair(mmd_touch *touch, const mmd_body *bodies, size_t a, size_t b, size_t *next)
{
    mmd_manifold *manifold = &touch->manifolds[touch->count];
    while (*next < touch->before_count && comes_before(touch, &touch->before[*next], a, b))
        ++*next;
    const mmd_manifold *old = &touch->before[*next];
    bool known = *next < touch->before_count && old->a == a && old->b == b;
    manifold->a = a;
    manifold->b = b;
    manifold->count = known ? old->count : 0;
    for (size_t i = 0; i < manifold->count; i++)
        manifold->points[i] = old->points[i];
    mmd_contact contacts[MMD_CONTACTS];
    double breaking = breaking_of(touch, a, b);
    mmd_solid solid = {&bodies[a], &touch->shapes[a]};
    size_t count =
        b == touch->body_count
            ? mmd_collide_ground(solid, touch->ground_height, contacts)
            : mmd_collide(solid, (mmd_solid){&bodies[b], &touch->shapes[b]}, breaking, contacts);
    mmd_manifold_update(manifold, bodies, breaking, contacts, count);
    touch->count += manifold->count > 0;
}

void mmd_touch_find(mmd_touch *touch, const mmd_body *bodies)
{
    mmd_manifold *before = touch->manifolds;
    touch->manifolds = touch->before;
    touch->before = before;
    touch->before_count = touch->count;
    touch->count = 0;
    mmd_pairs_find(&touch->pairs, bodies, touch->shapes);
    size_t next = 0;
    for (size_t i = 0; i < touch->pairs.count; i++)
        find_pair(touch, bodies, touch->pairs.found[i].a, touch->pairs.found[i].b, &next);
    for (size_t i = 0; touch->ground && i < touch->body_count; i++)
        if (touch->pairs.sides[i].moves && touch->pairs.extents[i].low[1] <= touch->ground_height)
            find_pair(touch, bodies, i, touch->body_count, &next);
    touch->point_count = 0;
    for (size_t i = 0; i < touch->count; i++)
        touch->point_count += touch->manifolds[i].count;
}

void mmd_touch_rows(mmd_touch *touch, const mmd_body *bodies, double step, mmd_change *changes)
{
    if (touch->count == 0)
        return;
    mmd_row *contact = touch->rows, *friction = touch->rows + touch->point_count;
    for (size_t i = 0; i < touch->count; i++) {
        const mmd_manifold *manifold = &touch->manifolds[i];
        double restitution = touch->restitutions[manifold->a] * touch->restitutions[manifold->b];
        for (size_t k = 0; k < manifold->count; k++)
            mmd_contact_rows(manifold, k, bodies, restitution, step, contact++, friction++,
                             changes);
    }
}

static double friction_of(const mmd_touch *touch, const mmd_row *row)
{
    double friction = touch->frictions[row->a] * touch->frictions[row->b];
    return friction < 0 ? 0 : friction > MOST_FRICTION ? MOST_FRICTION : friction;
}

void mmd_touch_solve(mmd_touch *touch, mmd_change *changes)
{
    size_t count = touch->point_count;
    for (size_t i = 0; i < count; i++)
        mmd_row_solve(&touch->rows[i], changes);
    for (size_t i = 0; i < count; i++) {
        mmd_row *friction = &touch->rows[count + i];
        double pressed = touch->rows[i].impulse;
        if (!(pressed > 0))
            continue;
        friction->high = friction_of(touch, friction) * pressed;
        friction->low = -friction->high;
        mmd_row_solve(friction, changes);
    }
}

void mmd_touch_keep(mmd_touch *touch)
{
    const mmd_row *row = touch->rows;
    for (size_t i = 0; i < touch->count; i++)
        for (size_t k = 0; k < touch->manifolds[i].count; k++, row++)
            touch->manifolds[i].points[k].impulse = row->impulse <= MOST_KEPT ? row->impulse : 0;
}
