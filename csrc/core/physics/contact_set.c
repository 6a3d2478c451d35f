/* SPDX-License-Identifier: MIT */
/* Contacts of a world: the narrow phase for each pair, and the rows that
   btSequentialImpulseConstraintSolver of Bullet 2.75 makes of the contact points (convertContact,
   solveGroupCacheFriendlyIterations).

   A point with normal n (from B to A), distance d (units, negative: overlap) and relative velocity
   v = v_a(p) - v_b(p) (units/s) gets two constraint rows, without split impulse:

       contact   along n:  target velocity max(0, -e v.n) - ERP d / h,   impulse >= 0
       friction  along t:  target velocity 0,   |impulse| <= mu * contact impulse

       e, mu     restitution and friction: products of both bodies' coefficients, mu at most 10
       ERP       Baumgarte stabilization: 0.2 of the overlap per step of h seconds
       t         direction of v without its normal part, or any tangent if it does not slide

   A contact row starts with 0.85 of the point's last impulse (warm starting); friction rows start
   with none. Points older than two steps do not bounce. */
#include "core/physics/contact_set.h"

#include "core/math/scalar.h"

#include <float.h>

/* Room for pairs whose AABBs overlap, and for those that touch, per body; dressed models need three
   and one. */
enum { PAIRS_PER_BODY = 16, MANIFOLDS_PER_BODY = 8, MIN_PAIRS = 64 };

#define NONE UINT32_MAX /* no manifold */

#define CONTACT_ERP 0.2
#define WARM_STARTING_FACTOR 0.85
#define MAX_FRICTION 10 /* calculateCombinedFriction */

enum { MAX_BOUNCING_LIFETIME = 2 }; /* m_restingContactRestitutionThreshold */

/* A larger impulse has diverged, and warm starting would repeat it in every step. */
#define MAX_STORED_IMPULSE 1e12

/* Bullet's defaults. */
#define GROUND_FRICTION 0.5
#define GROUND_RESTITUTION 0

bool mmd_contact_set_init(mmd_arena *arena, const mmd_world_desc *desc, const mmd_body *bodies,
                          mmd_contact_set *set)
{
    size_t count = desc->body_count, pairs = PAIRS_PER_BODY * count + MIN_PAIRS;
    bool ground = desc->settings.ground;
    size_t capacity = MANIFOLDS_PER_BODY * count + MIN_PAIRS + (ground ? count : 0);
    *set = (mmd_contact_set){.body_count = count,
                             .capacity = capacity,
                             .ground = ground,
                             .ground_height = desc->settings.ground_height};
    if (!MMD_ARENA_ARRAY(arena, set->shapes, count) ||
        !MMD_ARENA_ARRAY(arena, set->frictions, count + 1) ||
        !MMD_ARENA_ARRAY(arena, set->restitutions, count + 1) ||
        !MMD_ARENA_ARRAY(arena, set->manifolds, capacity) ||
        !MMD_ARENA_ARRAY(arena, set->previous, capacity) ||
        !MMD_ARENA_ARRAY(arena, set->pair_manifolds, pairs) ||
        !MMD_ARENA_ARRAY(arena, set->ground_manifolds, count) ||
        !MMD_ARENA_ARRAY(arena, set->order, pairs + count + 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        mmd_shape_init(&desc->bodies[i], &set->shapes[i]);
        set->frictions[i] = (double)desc->bodies[i].friction;
        set->restitutions[i] = (double)desc->bodies[i].restitution;
    }
    set->frictions[count] = GROUND_FRICTION;
    set->restitutions[count] = GROUND_RESTITUTION;
    return mmd_broad_phase_init(arena, desc, bodies, pairs, &set->broad_phase);
}

void mmd_contact_set_clear(mmd_contact_set *set)
{
    set->count = set->point_count = set->order_count = 0;
    mmd_broad_phase *pairs = &set->broad_phase;
    pairs->pair_count = pairs->cache.count = pairs->manifolds.count = 0;
}

void mmd_contact_set_clear_bodies(mmd_contact_set *set, size_t first, size_t end)
{
    size_t kept = 0;
    set->point_count = set->order_count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const mmd_contact_manifold *manifold = &set->manifolds[i];
        if ((manifold->body_a >= first && manifold->body_a < end) ||
            (manifold->body_b >= first && manifold->body_b < end))
            continue;
        set->point_count += manifold->count;
        set->manifolds[kept++] = *manifold;
    }
    set->count = kept;
}

/* Collision detection */

static double breaking_threshold_of(const mmd_contact_set *set, size_t a, size_t b)
{
    double threshold = set->shapes[a].breaking_threshold;
    double other = b < set->body_count ? set->shapes[b].breaking_threshold : threshold;
    return other < threshold ? other : threshold;
}

/* Whether a manifold comes before that of a and b in the list: those with the ground come first. */
static bool comes_before(const mmd_contact_set *set, const mmd_contact_manifold *manifold, size_t a,
                         size_t b)
{
    bool ground = manifold->body_b == set->body_count, other = b == set->body_count;
    if (ground != other)
        return ground;
    return manifold->body_a != a ? manifold->body_a < a : manifold->body_b < b;
}

/* Makes the manifold of two bodies from that of the previous step, which `next` finds, as pairs
   come in the order of that list. Returns its index, or NONE if they do not touch. */
static uint32_t detect_pair(mmd_contact_set *set, const mmd_body *bodies, size_t a, size_t b,
                            size_t *next)
{
    while (*next < set->previous_count && comes_before(set, &set->previous[*next], a, b))
        ++*next;
    if (set->count == set->capacity) {
        set->broad_phase.dropped_count++;
        return NONE;
    }
    mmd_contact_manifold *manifold = &set->manifolds[set->count];
    const mmd_contact_manifold *old = &set->previous[*next];
    bool known = *next < set->previous_count && old->body_a == a && old->body_b == b;
    manifold->body_a = a;
    manifold->body_b = b;
    manifold->count = known ? old->count : 0;
    for (size_t i = 0; i < manifold->count; i++)
        manifold->points[i] = old->points[i];
    mmd_collide_contact contacts[MMD_COLLIDE_MAX_CONTACTS];
    double threshold = breaking_threshold_of(set, a, b);
    mmd_collider collider = {&bodies[a], &set->shapes[a]};
    size_t count = b == set->body_count
                       ? mmd_collide_ground(collider, set->ground_height, contacts)
                       : mmd_collide(collider, (mmd_collider){&bodies[b], &set->shapes[b]},
                                     threshold, contacts);
    if (count == 0 && manifold->count == 0)
        return NONE;
    mmd_contact_manifold_update(manifold, bodies, threshold, contacts, count);
    set->point_count += manifold->count;
    return manifold->count > 0 ? (uint32_t)set->count++ : NONE;
}

void mmd_contact_set_detect(mmd_contact_set *set, const mmd_body *bodies)
{
    mmd_contact_manifold *previous = set->manifolds;
    set->manifolds = set->previous;
    set->previous = previous;
    set->previous_count = set->count;
    set->count = set->point_count = 0;
    const mmd_broad_phase *broad_phase = &set->broad_phase;
    mmd_broad_phase_update(&set->broad_phase, bodies, set->shapes);
    size_t next = 0;
    for (size_t i = 0; set->ground && i < set->body_count; i++)
        set->ground_manifolds[i] =
            broad_phase->dynamic[i] ? detect_pair(set, bodies, i, set->body_count, &next) : NONE;
    for (size_t i = 0; i < broad_phase->pair_count; i++) {
        mmd_broad_phase_pair pair = broad_phase->pairs[i];
        bool dynamic = broad_phase->dynamic[pair.a] || broad_phase->dynamic[pair.b];
        set->pair_manifolds[i] = dynamic ? detect_pair(set, bodies, pair.a, pair.b, &next) : NONE;
    }
}

/* The order in which manifolds are solved */

static void add_slot(mmd_contact_set *set, const mmd_islands *islands, size_t a, size_t b,
                     uint32_t manifold)
{
    mmd_islands_slot slot = mmd_islands_slot_of(islands, a, b, manifold);
    set->order[set->order_count] = slot;
    set->order_count += (slot.island > 0) | (manifold != NONE);
}

/* Manifolds without points take part in the sort, as in Bullet, and are then left out. Those with
   the ground come first, as it is the first body of a world of Bullet. */
void mmd_contact_set_sort(mmd_contact_set *set, const mmd_islands *islands)
{
    const mmd_broad_phase *broad_phase = &set->broad_phase;
    set->order_count = 0;
    for (size_t i = 0; set->ground && i < set->body_count; i++)
        add_slot(set, islands, i, set->body_count, set->ground_manifolds[i]);
    for (size_t i = 0; i < broad_phase->manifolds.count; i++) {
        uint32_t index = broad_phase->manifolds.pairs[i];
        mmd_broad_phase_pair pair = broad_phase->pairs[index];
        add_slot(set, islands, pair.a, pair.b, set->pair_manifolds[index]);
    }
    mmd_islands_sort(set->order, set->order_count);
    size_t kept = 0;
    for (size_t i = 0; i < set->order_count; i++) {
        mmd_islands_slot slot = set->order[i];
        set->order[kept] = slot;
        kept += slot.index != NONE;
    }
    set->order_count = kept;
}

/* Constraint rows */

/* Sets a row for the points' relative velocity along an axis. */
static void set_row(const mmd_contact_manifold *manifold, const mmd_contact_manifold_point *point,
                    const mmd_body *bodies, const double axis[3], mmd_constraint_row *row)
{
    double offset[3];
    row->body_a = (uint32_t)manifold->body_a;
    row->body_b = (uint32_t)manifold->body_b;
    mmd_vec3_copy(axis, row->linear);
    mmd_vec3_subtract(point->on_a, bodies[manifold->body_a].state.position, offset);
    mmd_vec3_cross(offset, axis, row->angular_a);
    mmd_vec3_subtract(point->contact.point, bodies[manifold->body_b].state.position, offset);
    mmd_vec3_cross(axis, offset, row->angular_b);
}

/* Velocity of the point on A relative to that on B. */
static void relative_velocity(const mmd_contact_manifold_point *point, const mmd_body *a,
                              const mmd_body *b, double velocity[3])
{
    double offset[3], angular[3];
    mmd_vec3_subtract(a->state.velocity, b->state.velocity, velocity);
    mmd_vec3_subtract(point->on_a, a->state.position, offset);
    mmd_vec3_cross(a->state.angular_velocity, offset, angular);
    mmd_vec3_add_scaled(angular, 1, velocity);
    mmd_vec3_subtract(point->contact.point, b->state.position, offset);
    mmd_vec3_cross(b->state.angular_velocity, offset, angular);
    mmd_vec3_add_scaled(angular, -1, velocity);
}

static void setup_point(const mmd_contact_set *set, const mmd_contact_manifold *manifold,
                        const mmd_contact_manifold_point *point, const mmd_body *bodies,
                        double time_step, mmd_constraint_row *contact, mmd_constraint_row *friction)
{
    const double *normal = point->contact.normal;
    double velocity[3], tangent[3];
    relative_velocity(point, &bodies[manifold->body_a], &bodies[manifold->body_b], velocity);
    double normal_velocity = mmd_vec3_dot(velocity, normal);
    double restitution = set->restitutions[manifold->body_a] * set->restitutions[manifold->body_b];
    double bounce =
        point->lifetime > MAX_BOUNCING_LIFETIME ? 0 : fmax(0, -normal_velocity * restitution);
    set_row(manifold, point, bodies, normal, contact);
    contact->friction = false;
    contact->target_velocity = bounce - point->contact.distance * CONTACT_ERP / time_step;
    contact->lower_impulse = 0;
    contact->upper_impulse = DBL_MAX;
    contact->impulse = point->impulse * WARM_STARTING_FACTOR;

    mmd_vec3_copy(velocity, tangent);
    mmd_vec3_add_scaled(normal, -normal_velocity, tangent);
    if (mmd_vec3_dot(tangent, tangent) > DBL_EPSILON)
        mmd_vec3_normalize(tangent);
    else
        mmd_vec3_perpendicular(normal, tangent);
    double coefficient = mmd_clamp(
        set->frictions[manifold->body_a] * set->frictions[manifold->body_b], 0, MAX_FRICTION);
    set_row(manifold, point, bodies, tangent, friction);
    friction->friction = true;
    friction->target_velocity = 0;
    friction->lower_impulse = -coefficient;
    friction->upper_impulse = coefficient;
    friction->impulse = 0;
}

void mmd_contact_set_rows(const mmd_contact_set *set, const mmd_body *bodies, double time_step,
                          mmd_constraint_row *rows, size_t first)
{
    size_t contact = first, friction = first + set->point_count;
    for (size_t i = 0; i < set->order_count; i++) {
        const mmd_contact_manifold *manifold = &set->manifolds[set->order[i].index];
        for (size_t k = 0; k < manifold->count; k++, contact++, friction++) {
            rows[friction].contact = (uint32_t)contact;
            setup_point(set, manifold, &manifold->points[k], bodies, time_step, &rows[contact],
                        &rows[friction]);
        }
    }
}

void mmd_contact_set_store_impulses(mmd_contact_set *set, const double *const *impulses)
{
    for (size_t i = 0; i < set->order_count; i++) {
        mmd_contact_manifold *manifold = &set->manifolds[set->order[i].index];
        for (size_t k = 0; k < manifold->count; k++, impulses++)
            manifold->points[k].impulse = **impulses <= MAX_STORED_IMPULSE ? **impulses : 0;
    }
}

/* Saved states */

static bool has_valid_bodies(const mmd_contact_manifold *manifold, size_t body_count)
{
    return manifold->body_a < body_count && manifold->body_b <= body_count &&
           manifold->body_a != manifold->body_b && manifold->count <= MMD_COLLIDE_MAX_CONTACTS;
}

static bool is_valid_point(const mmd_contact_manifold_point *point)
{
    const double *numbers = point->local_a;
    bool valid = isfinite(point->impulse) && point->lifetime <= UINT32_MAX;
    for (size_t i = 0; i < offsetof(mmd_contact_manifold_point, impulse) / sizeof *numbers; i++)
        valid &= !isnan(numbers[i]); /* infinity is valid: shapes may be of any size */
    return valid;
}

bool mmd_contact_set_parts(mmd_contact_set *set, mmd_bytes_parts *parts)
{
    bool restores = parts->from.data;
    size_t count = set->count;
    if (!mmd_broad_phase_parts(&set->broad_phase, parts))
        return false;
    mmd_bytes_part(parts, &count, sizeof count);
    if (parts->from.failed || count > set->capacity)
        return false;
    if (restores) {
        set->count = count;
        set->point_count = set->order_count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        mmd_contact_manifold *manifold = &set->manifolds[i];
        mmd_bytes_part(parts, manifold, offsetof(mmd_contact_manifold, points));
        if (parts->from.failed || !has_valid_bodies(manifold, set->body_count))
            return false;
        mmd_bytes_part(parts, manifold->points, manifold->count * sizeof *manifold->points);
        for (size_t k = 0; restores && k < manifold->count; k++)
            if (parts->from.failed || !is_valid_point(&manifold->points[k]))
                return false;
        set->point_count += restores ? manifold->count : 0;
    }
    return true;
}
