/* SPDX-License-Identifier: MIT */
/* One step of the world, in the order of btDiscreteDynamicsWorld::internalSingleStepSimulation of
   Bullet 2.75, with a step length h (s):

   1. Kinematic bodies move to their transforms; that gives them velocities.
   2. Gravity and damping, in the wind, change the velocities of dynamic bodies (body.c).
   3. Collision detection updates the contacts (contact_set.c).
   4. The solver: rows are set up for joints, in the order of islands.c, for contacts and for
      friction. Each of n solver iterations visits all of them, in this order
      (constraint_solver.h). Then the delta velocities are added to the velocities.
   5. Velocities change the poses (body.c).

   There is no sleeping and no split impulse. */
#include "core/physics/world.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/math/quat.h"
#include "core/physics/constraint_solver.h"
#include "core/physics/contact_set.h"
#include "core/physics/joint_constraint.h"

struct mmd_world {
    mmd_arena arena;
    size_t body_count, kinematic_count, joint_count, desc_joint_count;
    mmd_body *bodies;              /* the ground is after the last one */
    mmd_joint_constraint *joints;  /* those of the desc that connect two bodies */
    mmd_islands islands;           /* of this step */
    mmd_islands_slot *joint_order; /* of this step, unless the desc has one */
    mmd_constraint_row *rows;      /* of joints, contacts, friction */
    mmd_constraint_solver solver;
    mmd_world_settings settings;
    double time_step;
    bool contacts, fixed_order;
    mmd_contact_set contact_set;
};

static bool check_joint_order(const mmd_world_desc *desc, bool *seen, mmd_error *err)
{
    for (size_t i = 0; i < desc->joint_order_count; i++) {
        int32_t joint = desc->joint_order[i];
        if (joint < 0 || (size_t)joint >= desc->joint_count)
            return mmd_refuse(err, "joint_order[%zu]: joint %d of %zu", i, (int)joint,
                              desc->joint_count);
        if (seen[joint])
            return mmd_refuse(err, "joint_order[%zu]: joint %d is listed twice", i, (int)joint);
        seen[joint] = true;
    }
    return true;
}

/* The child is B, as in most files, unless B has infinite mass or is already a child. */
static void choose_children(mmd_world *world, bool *is_child)
{
    for (size_t i = 0; i < world->joint_count; i++) {
        mmd_joint_constraint *joint = &world->joints[i];
        const size_t candidates[] = {joint->body_b, joint->body_a};
        joint->child = MMD_JOINT_CONSTRAINT_NO_CHILD;
        for (int k = 0; k < 2 && joint->child == MMD_JOINT_CONSTRAINT_NO_CHILD; k++)
            if (!is_child[candidates[k]] && world->bodies[candidates[k]].inverse_mass > 0)
                is_child[joint->child = candidates[k]] = true;
    }
}

static bool init_joints(const mmd_world_desc *desc, mmd_world *world, mmd_error *err)
{
    size_t count = desc->joint_order ? desc->joint_order_count : desc->joint_count;
    bool *seen = mmd_arena_alloc(&world->arena, desc->joint_count, sizeof *seen);
    bool *is_child = mmd_arena_alloc(&world->arena, desc->body_count, sizeof *is_child);
    if (!seen || !is_child)
        return mmd_fail_memory(err);
    if (desc->joint_order && !check_joint_order(desc, seen, err))
        return false;
    if (!MMD_ARENA_ARRAY(&world->arena, world->joints, count))
        return mmd_fail_memory(err);
    world->desc_joint_count = desc->joint_count;
    world->fixed_order = desc->joint_order != NULL;
    for (size_t i = 0; i < count; i++) {
        size_t index = desc->joint_order ? (size_t)desc->joint_order[i] : i;
        mmd_joint_constraint *joint = &world->joints[world->joint_count];
        const mmd_joint *from = &desc->joints[index];
        if (from->body_a < 0 || from->body_b < 0 || from->body_a == from->body_b)
            continue;
        mmd_joint_constraint_init(from, world->bodies, joint);
        joint->index = index;
        world->joint_count++;
    }
    choose_children(world, is_child);
    world->joint_order = mmd_arena_alloc(&world->arena, count, sizeof *world->joint_order);
    for (size_t i = 0; world->joint_order && i < world->joint_count; i++)
        world->joint_order[i].index = (uint32_t)i;
    return (world->joint_order &&
            mmd_islands_init(&world->arena, world->body_count, &world->islands)) ||
           mmd_fail_memory(err);
}

static bool init_world(const mmd_world_desc *desc, mmd_world *world, mmd_error *err)
{
    world->body_count = desc->body_count;
    world->settings = desc->settings;
    world->time_step = 1 / desc->settings.hz;
    world->contacts = desc->contacts;
    if (!MMD_ARENA_ARRAY(&world->arena, world->bodies, desc->body_count + 1))
        return mmd_fail_memory(err);
    for (size_t i = 0; i < desc->body_count; i++) {
        mmd_body_init(&desc->bodies[i], world->time_step, &world->bodies[i]);
        world->kinematic_count += world->bodies[i].kinematic;
    }
    const mmd_rigid_body ground = {.position = {0, (float)desc->settings.ground_height, 0}};
    mmd_body_init(&ground, world->time_step, &world->bodies[desc->body_count]);
    if (!init_joints(desc, world, err))
        return false;
    if (desc->contacts &&
        !mmd_contact_set_init(&world->arena, desc, world->bodies, &world->contact_set))
        return mmd_fail_memory(err);
    size_t rows = MMD_JOINT_CONSTRAINT_ROWS * world->joint_count +
                  2 * MMD_COLLIDE_MAX_CONTACTS * world->contact_set.capacity;
    world->rows = mmd_arena_alloc(&world->arena, rows, sizeof *world->rows);
    return (world->rows &&
            mmd_constraint_solver_init(&world->arena, world->body_count, rows, &world->solver)) ||
           mmd_fail_memory(err);
}

mmd_world *mmd_world_new(const mmd_world_desc *desc, mmd_error *err)
{
    if (!mmd_error_require(desc, "desc", err) || !mmd_world_check(desc, err))
        return NULL;
    mmd_world *world = mmd_arena_new_owner(sizeof *world, err);
    return world ? mmd_arena_keep_owner(world, init_world(desc, world, err)) : NULL;
}

void mmd_world_free(mmd_world *world)
{
    mmd_arena_free_owner(world);
}

size_t mmd_world_body_count(const mmd_world *world)
{
    return world ? world->body_count : 0;
}

size_t mmd_world_kinematic_count(const mmd_world *world)
{
    return world ? world->kinematic_count : 0;
}

/* State */

enum { TRANSFORM_SIZE = 7, STATE_SIZE = 13, CONTACT_POINT_SIZE = 10 };

/* Rows begin with position and rotation x y z w. */
static bool check_rows(const char *name, const double *numbers, size_t rows, size_t columns,
                       mmd_error *err)
{
    for (size_t i = 0; i < rows; i++) {
        const double *row = numbers + i * columns;
        for (size_t k = 0; k < columns; k++)
            if (!(fabs(row[k]) <= MMD_BODY_LIMIT))
                return mmd_refuse(err, "%s[%zu, %zu]: %g, expected at most 1e6", name, i, k,
                                  row[k]);
        if (mmd_vec3_dot(row + 3, row + 3) + row[6] * row[6] < 1e-12)
            return mmd_refuse(err, "%s[%zu]: quaternion of zero length", name, i);
    }
    return true;
}

void mmd_world_state(const mmd_world *world, double *state)
{
    for (size_t i = 0; state && i < mmd_world_body_count(world); i++)
        memcpy(state + i * STATE_SIZE, &world->bodies[i].state, STATE_SIZE * sizeof *state);
}

bool mmd_world_set_state(mmd_world *world, const double *state, mmd_error *err)
{
    if (!mmd_error_require(world, "world", err) ||
        (world->body_count && !mmd_error_require(state, "state", err)) ||
        !check_rows("state", state, world->body_count, STATE_SIZE, err))
        return false;
    for (size_t i = 0; i < world->body_count; i++) {
        mmd_body *body = &world->bodies[i];
        memcpy(&body->state, state + i * STATE_SIZE, STATE_SIZE * sizeof *state);
        mmd_quat_normalize(body->state.rotation);
        mmd_body_update_basis(body);
    }
    mmd_contact_set_clear(&world->contact_set);
    return true;
}

bool mmd_world_apply_impulse(mmd_world *world, size_t body, const double impulse[3],
                             const double torque[3], mmd_error *err)
{
    if (!mmd_error_require(world, "world", err) || !mmd_error_require(impulse, "impulse", err) ||
        !mmd_error_require(torque, "torque", err))
        return false;
    if (body >= world->body_count)
        return mmd_refuse(err, "body: %zu of %zu", body, world->body_count);
    mmd_body pushed = world->bodies[body];
    mmd_body_apply_impulse(&pushed, impulse, torque);
    for (int i = 0; i < 3; i++) {
        double velocity = pushed.state.velocity[i], angular = pushed.state.angular_velocity[i];
        if (!isfinite(impulse[i]) || !isfinite(torque[i]) || !(fabs(velocity) <= MMD_BODY_LIMIT) ||
            !(fabs(angular) <= MMD_BODY_LIMIT))
            return mmd_refuse(err,
                              "impulse on body %zu: velocity %g, %g rad/s, expected at most 1e6",
                              body, velocity, angular);
    }
    world->bodies[body] = pushed;
    return true;
}

size_t mmd_world_contact_points(const mmd_world *world, double *points)
{
    if (!world)
        return 0;
    const mmd_contact_set *set = &world->contact_set;
    for (size_t i = 0; points && i < set->count; i++) {
        const mmd_contact_manifold *manifold = &set->manifolds[i];
        for (size_t k = 0; k < manifold->count; k++, points += CONTACT_POINT_SIZE) {
            const mmd_contact_manifold_point *point = &manifold->points[k];
            points[0] = (double)manifold->body_a;
            points[1] = manifold->body_b == world->body_count ? -1 : (double)manifold->body_b;
            mmd_vec3_copy(point->contact.point, points + 2);
            mmd_vec3_copy(point->contact.normal, points + 5);
            points[8] = point->contact.distance;
            points[9] = point->impulse;
        }
    }
    return set->point_count;
}

/* Whether a joint is solved: at least one of its bodies is dynamic. */
static bool is_solved(const mmd_world *world, const mmd_joint_constraint *joint)
{
    return world->bodies[joint->body_a].inverse_mass > 0 ||
           world->bodies[joint->body_b].inverse_mass > 0;
}

size_t mmd_world_joint_count(const mmd_world *world)
{
    return world ? world->desc_joint_count : 0;
}

void mmd_world_strain(const mmd_world *world, double *strain)
{
    if (!world || !strain)
        return;
    if (world->desc_joint_count)
        memset(strain, 0, 2 * world->desc_joint_count * sizeof *strain);
    for (size_t i = 0; i < world->joint_count; i++) {
        const mmd_joint_constraint *joint = &world->joints[i];
        if (!is_solved(world, joint))
            continue;
        strain[2 * joint->index] = mmd_joint_constraint_stretch(joint, world->bodies);
        strain[2 * joint->index + 1] = mmd_joint_constraint_bend(joint, world->bodies);
    }
}

double mmd_world_max_stretch(const mmd_world *world, size_t *joint)
{
    double max_stretch = 0;
    *joint = 0;
    for (size_t i = 0; i < world->joint_count; i++) {
        if (!is_solved(world, &world->joints[i]))
            continue;
        double stretch = mmd_joint_constraint_stretch(&world->joints[i], world->bodies);
        if (stretch > max_stretch) {
            max_stretch = stretch;
            *joint = world->joints[i].index;
        }
    }
    return max_stretch;
}

bool mmd_world_limit_stretch(mmd_world *world, double max_stretch, double *largest, size_t *joint)
{
    bool any = false;
    *largest = 0;
    for (size_t i = 0; i < world->joint_count; i++) {
        bool limited = false;
        double stretch = mmd_joint_constraint_limit_stretch(&world->joints[i], max_stretch,
                                                            world->bodies, &limited);
        *largest = fmax(*largest, stretch);
        if (limited && !any)
            *joint = world->joints[i].index;
        any = any || limited;
    }
    return any;
}

size_t mmd_world_dropped_pairs(const mmd_world *world)
{
    return world->contact_set.broad_phase.dropped_count;
}

mmd_body *mmd_world_bodies(mmd_world *world)
{
    return world->bodies;
}

void mmd_world_set_gravity(mmd_world *world, const double gravity[3])
{
    mmd_vec3_copy(gravity, world->settings.gravity);
}

void mmd_world_clear_contacts(mmd_world *world, size_t first, size_t end)
{
    if (first == 0 && end == world->body_count)
        mmd_contact_set_clear(&world->contact_set);
    else
        mmd_contact_set_clear_bodies(&world->contact_set, first, end);
}

/* The bytes begin with this. */
static const uint64_t saved_layout = 0x100000000u * sizeof(mmd_body_state) + 2;

static bool is_valid_state(const mmd_body_state *state)
{
    return mmd_body_pose_is_valid(&state->pose) && mmd_body_is_in_range(state->velocity) &&
           mmd_body_is_in_range(state->angular_velocity);
}

/* Saves or restores the states of the bodies and the contacts. As mmd_broad_phase_parts(). */
static bool world_parts(mmd_world *world, mmd_bytes_parts *parts)
{
    uint64_t layout = saved_layout;
    mmd_bytes_part(parts, &layout, sizeof layout);
    if (layout != saved_layout)
        return false;
    for (size_t i = 0; i < world->body_count; i++) {
        mmd_body *body = &world->bodies[i];
        mmd_bytes_part(parts, &body->state, sizeof body->state);
        if (!parts->from.data)
            continue;
        if (parts->from.failed || !is_valid_state(&body->state))
            return false;
        mmd_body_update_basis(body);
    }
    return mmd_contact_set_parts(&world->contact_set, parts) &&
           (!parts->from.data || mmd_bytes_left(&parts->from) == 0);
}

size_t mmd_world_save(const mmd_world *world, void *bytes)
{
    mmd_bytes_parts parts = {.to = bytes};
    if (world)
        world_parts((mmd_world *)world, &parts); /* which saving does not change */
    return parts.size;
}

bool mmd_world_load(mmd_world *world, const void *bytes, size_t size, mmd_error *err)
{
    if (!mmd_error_require(world, "world", err) || !mmd_error_require(bytes, "bytes", err))
        return false;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    mmd_bytes_parts parts = {.from = {.data = bytes, .size = size}};
    mmd_bytes_parts before = {.from = {.size = mmd_world_save(world, NULL)}};
    void *backup = mmd_arena_alloc_uninitialized(&arena, before.from.size, 1);
    if (!backup)
        return mmd_fail_memory(err);
    mmd_world_save(world, backup);
    before.from.data = backup;
    if (world_parts(world, &parts))
        return true;
    world_parts(world, &before);
    return mmd_refuse(err, "state: not valid for this world");
}

void mmd_world_restore(mmd_world *world, const void *bytes, size_t size)
{
    world_parts(world, &(mmd_bytes_parts){.from = {.data = bytes, .size = size}});
}

/* A step */

static void move_kinematic_bodies(mmd_world *world, const double *transforms)
{
    for (size_t i = 0; i < world->body_count; i++) {
        mmd_body *body = &world->bodies[i];
        if (!body->kinematic)
            continue;
        if (!transforms) {
            mmd_body_stop(body);
            continue;
        }
        mmd_body_pose pose;
        memcpy(&pose, transforms, sizeof pose);
        mmd_quat_normalize(pose.rotation);
        mmd_body_move_kinematic(body, &pose, world->time_step);
        transforms += TRANSFORM_SIZE;
    }
}

/* Bullet's order of joints and contacts. */
static void sort_by_island(mmd_world *world)
{
    mmd_islands_update(&world->islands, world->bodies, world->joints, world->joint_count,
                       world->contacts ? &world->contact_set.broad_phase : NULL);
    for (size_t i = 0; !world->fixed_order && i < world->joint_count; i++)
        world->joint_order[i] = mmd_islands_slot_of(&world->islands, world->joints[i].body_a,
                                                    world->joints[i].body_b, (uint32_t)i);
    if (!world->fixed_order)
        mmd_islands_sort(world->joint_order, world->joint_count);
    mmd_contact_set_sort(&world->contact_set, &world->islands);
}

/* Returns the number of rows. */
static size_t setup_joint_rows(mmd_world *world)
{
    size_t count = 0;
    for (size_t i = 0; i < world->joint_count; i++) {
        const mmd_joint_constraint *joint = &world->joints[world->joint_order[i].index];
        if (is_solved(world, joint))
            count += mmd_joint_constraint_rows(joint, world->bodies, world->time_step,
                                               world->settings.iterations, &world->rows[count]);
    }
    return count;
}

static void solve(mmd_world *world)
{
    mmd_constraint_solver *solver = &world->solver;
    mmd_contact_set *contact_set = &world->contact_set;
    sort_by_island(world);
    size_t first = setup_joint_rows(world), points = contact_set->point_count;
    mmd_contact_set_rows(contact_set, world->bodies, world->time_step, world->rows, first);
    mmd_constraint_solver_begin(solver, world->rows, first + 2 * points, world->bodies);
    for (int iteration = 0; iteration < world->settings.iterations; iteration++)
        mmd_constraint_solver_iterate(solver);
    mmd_constraint_solver_end(solver, world->bodies);
    mmd_contact_set_store_impulses(contact_set, solver->impulses + first);
}

void mmd_world_advance(mmd_world *world)
{
    const mmd_world_settings *settings = &world->settings;
    const double *wind = settings->wind;
    bool blows = wind[0] != 0 || wind[1] != 0 || wind[2] != 0;
    for (size_t i = 0; i < world->body_count; i++)
        mmd_body_integrate_velocity(&world->bodies[i], settings->gravity, blows ? wind : NULL,
                                    world->time_step, settings->additional_damping);
    if (world->contacts)
        mmd_contact_set_detect(&world->contact_set, world->bodies);
    solve(world);
    for (size_t i = 0; i < world->body_count; i++)
        mmd_body_integrate_pose(&world->bodies[i], world->time_step);
}

bool mmd_world_step(mmd_world *world, const double *kinematic_transforms, mmd_error *err)
{
    if (!mmd_error_require(world, "world", err) ||
        (kinematic_transforms && !check_rows("transforms", kinematic_transforms,
                                             world->kinematic_count, TRANSFORM_SIZE, err)))
        return false;
    move_kinematic_bodies(world, kinematic_transforms);
    mmd_world_advance(world);
    return true;
}
