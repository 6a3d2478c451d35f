/* SPDX-License-Identifier: MIT */
#include "core/physics/world.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/physics/contacts.h"
#include "core/physics/joint_order.h"
#include "core/physics/vector.h"
#include "core/physics/world_check.h"

struct mmd_world {
    mmd_arena arena;
    size_t body_count, follower_count, joint_count, given_joints;
    mmd_body *bodies;       /* the ground is behind the last one */
    mmd_held_joint *joints; /* those between two bodies, in the file's or the given order */
    mmd_joint_order order;  /* in which they are solved, of this step unless it was given */
    mmd_row *rows;          /* room for all rows of the joints */
    uint32_t *row_order, *levels, *starts; /* see mmd_rows_interleave */
    mmd_change *changes;                   /* of bodies and the ground */
    double gravity[3], step;
    size_t iterations;
    bool damping_extra, contacts, order_given;
    mmd_touch touch;
};

static bool check_order(const mmd_world_desc *desc, bool *seen, mmd_error *err)
{
    for (size_t i = 0; i < desc->joint_order_count; i++) {
        int32_t joint = desc->joint_order[i];
        if (joint < 0 || (size_t)joint >= desc->joint_count)
            return mmd_fail(err, MMD_E_ARGUMENT, "joint_order[%zu]: joint %d of %zu", i, (int)joint,
                            desc->joint_count);
        if (seen[joint])
            return mmd_fail(err, MMD_E_ARGUMENT, "joint_order[%zu]: joint %d is there twice", i,
                            (int)joint);
        seen[joint] = true;
    }
    return true;
}

static bool has_two_ends(const mmd_joint *joint)
{
    return joint->body_a >= 0 && joint->body_b >= 0 && joint->body_a != joint->body_b;
}

/* On B, which the file's authors hang on A, where it moves and hangs on nothing yet. */
static void hang_bodies(mmd_world *world, bool *hanging)
{
    for (size_t i = 0; i < world->joint_count; i++) {
        mmd_held_joint *joint = &world->joints[i];
        bool a = !hanging[joint->a] && world->bodies[joint->a].inverse_mass > 0;
        bool b = !hanging[joint->b] && world->bodies[joint->b].inverse_mass > 0;
        joint->hangs = b ? MMD_HANGS_B : a ? MMD_HANGS_A : MMD_HANGS_NONE;
        if (joint->hangs != MMD_HANGS_NONE)
            hanging[b ? joint->b : joint->a] = true;
    }
}

static bool take_joints(const mmd_world_desc *desc, mmd_world *world, mmd_error *err)
{
    size_t count = desc->joint_order ? desc->joint_order_count : desc->joint_count;
    bool *seen = mmd_arena_alloc(&world->arena, desc->joint_count, sizeof *seen);
    bool *hanging = mmd_arena_alloc(&world->arena, desc->body_count, sizeof *hanging);
    if (!seen || !hanging)
        return mmd_fail_memory(err);
    if (desc->joint_order && !check_order(desc, seen, err))
        return false;
    world->joints = mmd_arena_alloc(&world->arena, count, sizeof *world->joints);
    if (!world->joints)
        return mmd_fail_memory(err);
    world->given_joints = desc->joint_count;
    world->order_given = desc->joint_order != NULL;
    for (size_t i = 0; i < count; i++) {
        size_t number = desc->joint_order ? (size_t)desc->joint_order[i] : i;
        mmd_held_joint *joint = &world->joints[world->joint_count];
        if (!has_two_ends(&desc->joints[number]))
            continue;
        mmd_joint_init(&desc->joints[number], world->bodies, joint);
        joint->number = number;
        world->joint_count++;
    }
    hang_bodies(world, hanging);
    return mmd_joint_order_init(&world->arena, world->body_count, world->joint_count,
                                &world->order) ||
           mmd_fail_memory(err);
}

static bool world_init(const mmd_world_desc *desc, mmd_world *world, mmd_error *err)
{
    const mmd_world_settings *settings = &desc->settings;
    world->body_count = desc->body_count;
    world->step = 1 / settings->hz;
    world->iterations = (size_t)settings->iterations;
    world->damping_extra = settings->damping_extra;
    mmd_copy3(settings->gravity, world->gravity);
    world->contacts = desc->contacts;
    world->bodies = mmd_arena_alloc(&world->arena, desc->body_count + 1, sizeof *world->bodies);
    world->changes = mmd_arena_alloc(&world->arena, desc->body_count + 1, sizeof *world->changes);
    if (!world->bodies || !world->changes)
        return mmd_fail_memory(err);
    for (size_t i = 0; i < desc->body_count; i++) {
        mmd_body_init(&desc->bodies[i], world->step, &world->bodies[i]);
        world->follower_count += world->bodies[i].follows;
    }
    const mmd_rigid_body ground = {.position = {0, (float)settings->ground_height, 0}};
    mmd_body_init(&ground, world->step, &world->bodies[desc->body_count]);
    if (!take_joints(desc, world, err))
        return false;
    mmd_touch_desc touch = {.body_count = desc->body_count,
                            .sources = desc->bodies,
                            .bodies = world->bodies,
                            .joint_count = desc->joint_count,
                            .apart = settings->joined_collide ? NULL : desc->joints,
                            .ground = settings->ground,
                            .ground_height = settings->ground_height};
    if (desc->contacts && !mmd_touch_init(&world->arena, &touch, &world->touch))
        return mmd_fail_memory(err);
    size_t rows = MMD_JOINT_ROWS * world->joint_count;
    world->rows = mmd_arena_alloc(&world->arena, rows, sizeof *world->rows);
    world->row_order = mmd_arena_alloc(&world->arena, rows, sizeof *world->row_order);
    world->levels = mmd_arena_alloc(&world->arena, world->body_count, sizeof *world->levels);
    world->starts = mmd_arena_alloc(&world->arena, rows + 2, sizeof *world->starts);
    return (world->rows && world->row_order && world->levels && world->starts) ||
           mmd_fail_memory(err);
}

mmd_world *mmd_world_new(const mmd_world_desc *desc, mmd_error *err)
{
    if (!mmd_world_check(desc, err))
        return NULL;
    mmd_world *world = mmd_owner_new(sizeof *world);
    if (!world) {
        mmd_fail_memory(err);
        return NULL;
    }
    if (world_init(desc, world, err))
        return world;
    mmd_world_free(world);
    return NULL;
}

void mmd_world_free(mmd_world *world)
{
    mmd_owner_free(world);
}

size_t mmd_world_body_count(const mmd_world *world)
{
    return world->body_count;
}

size_t mmd_world_follower_count(const mmd_world *world)
{
    return world->follower_count;
}

/* State from outside */

enum { PLACE = 7, STATE = 13, POINT = 10 };

/* Rows of position, rotation x y z w and what follows. */
static bool check_places(const char *name, const double *numbers, size_t rows, size_t columns,
                         mmd_error *err)
{
    for (size_t i = 0; i < rows; i++) {
        const double *row = numbers + i * columns;
        for (size_t k = 0; k < columns; k++)
            if (!(fabs(row[k]) <= MMD_FARTHEST))
                return mmd_fail(err, MMD_E_ARGUMENT, "%s[%zu, %zu]: %g, expected at most 1e6", name,
                                i, k, row[k]);
        if (mmd_dot3(row + 3, row + 3) + row[6] * row[6] < 1e-12)
            return mmd_fail(err, MMD_E_ARGUMENT, "%s[%zu]: a quaternion of length 0", name, i);
    }
    return true;
}

void mmd_world_state(const mmd_world *world, double *state)
{
    for (size_t i = 0; i < world->body_count; i++)
        memcpy(state + i * STATE, &world->bodies[i].state, STATE * sizeof *state);
}

bool mmd_world_set_state(mmd_world *world, const double *state, mmd_error *err)
{
    if (!check_places("state", state, world->body_count, STATE, err))
        return false;
    for (size_t i = 0; i < world->body_count; i++) {
        mmd_body *body = &world->bodies[i];
        memcpy(&body->state, state + i * STATE, STATE * sizeof *state);
        mmd_quaternion_normalize(body->state.rotation);
        mmd_body_placed(body);
    }
    mmd_touch_forget(&world->touch);
    return true;
}

size_t mmd_world_points(const mmd_world *world, double *points)
{
    const mmd_touch *touch = &world->touch;
    for (size_t i = 0; points && i < touch->count; i++) {
        const mmd_manifold *manifold = &touch->manifolds[i];
        for (size_t k = 0; k < manifold->count; k++, points += POINT) {
            const mmd_manifold_point *point = &manifold->points[k];
            points[0] = (double)manifold->a;
            points[1] = manifold->b == world->body_count ? -1 : (double)manifold->b;
            mmd_copy3(point->contact.point, points + 2);
            mmd_copy3(point->contact.normal, points + 5);
            points[8] = point->contact.distance;
            points[9] = point->impulse;
        }
    }
    return touch->point_count;
}

/* Whether a joint is solved: one of its bodies can move. */
static bool moves(const mmd_world *world, const mmd_held_joint *joint)
{
    return world->bodies[joint->a].inverse_mass > 0 || world->bodies[joint->b].inverse_mass > 0;
}

void mmd_world_strain(const mmd_world *world, double *strain)
{
    if (world->given_joints)
        memset(strain, 0, 2 * world->given_joints * sizeof *strain);
    for (size_t i = 0; i < world->joint_count; i++) {
        const mmd_held_joint *joint = &world->joints[i];
        if (!moves(world, joint))
            continue;
        strain[2 * joint->number] = mmd_joint_stretch(joint, world->bodies);
        strain[2 * joint->number + 1] = mmd_joint_twist(joint, world->bodies);
    }
}

double mmd_world_stretch(const mmd_world *world, size_t *joint)
{
    double most = 0;
    *joint = 0;
    for (size_t i = 0; i < world->joint_count; i++) {
        if (!moves(world, &world->joints[i]))
            continue;
        double stretch = mmd_joint_stretch(&world->joints[i], world->bodies);
        if (stretch > most) {
            most = stretch;
            *joint = world->joints[i].number;
        }
    }
    return most;
}

bool mmd_world_leash(mmd_world *world, double most, size_t *joint)
{
    bool any = false;
    for (size_t i = 0; i < world->joint_count; i++)
        if (mmd_joint_leash(&world->joints[i], most, world->bodies) && !any) {
            any = true;
            *joint = world->joints[i].number;
        }
    return any;
}

mmd_body *mmd_world_bodies(mmd_world *world)
{
    return world->bodies;
}

void mmd_world_forget(mmd_world *world)
{
    mmd_touch_forget(&world->touch);
}

void mmd_world_set_period(mmd_world *world, double seconds)
{
    for (size_t i = 0; world->step != seconds && i < world->body_count; i++)
        mmd_body_set_period(&world->bodies[i], seconds);
    world->step = seconds;
}

size_t mmd_world_save(const mmd_world *world, void *bytes)
{
    const mmd_touch *touch = &world->touch;
    size_t states = world->body_count * sizeof(mmd_body_state), count = touch->count;
    char *out = bytes;
    if (!out)
        return states + sizeof count + count * sizeof *touch->manifolds;
    for (size_t i = 0; i < world->body_count; i++, out += sizeof(mmd_body_state))
        memcpy(out, &world->bodies[i].state, sizeof(mmd_body_state));
    memcpy(out, &count, sizeof count);
    out += sizeof count;
    if (count)
        memcpy(out, touch->manifolds, count * sizeof *touch->manifolds);
    return states + sizeof count + count * sizeof *touch->manifolds;
}

void mmd_world_restore(mmd_world *world, const void *bytes)
{
    mmd_touch *touch = &world->touch;
    const char *in = bytes;
    for (size_t i = 0; i < world->body_count; i++, in += sizeof(mmd_body_state)) {
        memcpy(&world->bodies[i].state, in, sizeof(mmd_body_state));
        mmd_body_placed(&world->bodies[i]);
    }
    mmd_touch_forget(touch);
    memcpy(&touch->count, in, sizeof touch->count);
    if (touch->count)
        memcpy(touch->manifolds, in + sizeof touch->count, touch->count * sizeof *touch->manifolds);
    for (size_t i = 0; i < touch->count; i++)
        touch->point_count += touch->manifolds[i].count;
}

static bool fits_state(const mmd_body_state *state)
{
    const double *q = state->rotation;
    bool fits = fabs(mmd_dot3(q, q) + q[3] * q[3] - 1) < 1e-6;
    for (int i = 0; i < 3; i++)
        fits = fits && fabs(state->position[i]) <= MMD_FARTHEST &&
               fabs(state->velocity[i]) <= MMD_FARTHEST && fabs(state->spin[i]) <= MMD_FARTHEST;
    return fits;
}

bool mmd_world_fits(const mmd_world *world, const void *bytes, size_t size)
{
    const char *in = bytes;
    size_t states = world->body_count * sizeof(mmd_body_state), count;
    if (size < states + sizeof count)
        return false;
    for (size_t i = 0; i < world->body_count; i++, in += sizeof(mmd_body_state)) {
        mmd_body_state state;
        memcpy(&state, in, sizeof state);
        if (!fits_state(&state))
            return false;
    }
    memcpy(&count, in, sizeof count);
    in += sizeof count;
    if (count > world->touch.room || size != states + sizeof count + count * sizeof(mmd_manifold))
        return false;
    for (size_t i = 0; i < count; i++, in += sizeof(mmd_manifold)) {
        mmd_manifold manifold;
        memcpy(&manifold, in, sizeof manifold);
        if (!mmd_manifold_fits(&manifold, world->body_count))
            return false;
    }
    return true;
}

/* A step */

static void follow(mmd_world *world, const double *places)
{
    for (size_t i = 0; i < world->body_count; i++) {
        mmd_body *body = &world->bodies[i];
        if (!body->follows)
            continue;
        if (!places) {
            mmd_body_rest(body);
            continue;
        }
        double rotation[4];
        memcpy(rotation, places + 3, sizeof rotation);
        mmd_quaternion_normalize(rotation);
        mmd_body_follow(body, places, rotation, world->step);
        places += PLACE;
    }
}

static void solve(mmd_world *world)
{
    size_t count = 0;
    if (!world->order_given)
        mmd_joint_order_find(&world->order, world->joints, world->bodies,
                             world->contacts ? &world->touch.pairs : NULL);
    for (size_t i = 0; i < world->joint_count; i++) {
        const mmd_held_joint *joint = &world->joints[world->order.slots[i].joint];
        if (moves(world, joint))
            count += mmd_joint_rows(joint, world->bodies, world->step, world->iterations,
                                    &world->rows[count]);
    }
    mmd_rows_interleave(world->rows, count, world->bodies, world->body_count, world->levels,
                        world->starts, world->row_order);
    for (size_t i = 0; i <= world->body_count; i++)
        world->changes[i] = (mmd_change){.inverse_mass = world->bodies[i].inverse_mass};
    mmd_touch_rows(&world->touch, world->bodies, world->step, world->changes);
    for (size_t sweep = 0; sweep < world->iterations; sweep++) {
        for (size_t i = 0; i < count; i++)
            mmd_row_solve(&world->rows[world->row_order[i]], world->changes);
        mmd_touch_solve(&world->touch, world->changes);
    }
    mmd_touch_keep(&world->touch);
    for (size_t i = 0; i < world->body_count; i++) {
        if (world->bodies[i].inverse_mass == 0) /* its change may be 0 x infinite */
            continue;
        for (int k = 0; k < 3; k++) {
            world->bodies[i].state.velocity[k] += world->changes[i].motion[k][0];
            world->bodies[i].state.spin[k] += world->changes[i].motion[k][1];
        }
    }
}

void mmd_world_advance(mmd_world *world)
{
    for (size_t i = 0; i < world->body_count; i++)
        mmd_body_accelerate(&world->bodies[i], world->gravity, world->step, world->damping_extra);
    if (world->contacts)
        mmd_touch_find(&world->touch, world->bodies);
    solve(world);
    for (size_t i = 0; i < world->body_count; i++)
        mmd_body_advance(&world->bodies[i], world->step);
}

bool mmd_world_step(mmd_world *world, const double *places, mmd_error *err)
{
    if (places && !check_places("places", places, world->follower_count, PLACE, err))
        return false;
    follow(world, places);
    mmd_world_advance(world);
    return true;
}
