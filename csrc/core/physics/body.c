/* SPDX-License-Identifier: MIT */
#include "core/physics/body.h"

#include "core/physics/elementary.h"
#include "core/physics/vector.h"

#define PI 3.14159265358979323846

/* Bullet takes a capsule's inertia from the box around it, and that 0.04 larger on every side. */
#define CAPSULE_INERTIA_MARGIN 0.04

/* Extra damping: below these speeds almost all is lost, below the damping's number a little. */
#define SLOW_SQUARE 0.01
#define SLOW_KEPT 0.005
#define CREEP 0.005

void mmd_rest_rotation(const float angles[3], double rotation[4])
{
    double x[4] = {0}, y[4] = {0}, z[4] = {0};
    mmd_sin_cos((double)angles[0] / 2, &x[0], &x[3]);
    mmd_sin_cos((double)angles[1] / 2, &y[1], &y[3]);
    mmd_sin_cos((double)angles[2] / 2, &z[2], &z[3]);
    mmd_quaternion_multiply(y, x, rotation);
    mmd_quaternion_multiply(rotation, z, rotation);
    mmd_quaternion_normalize(rotation);
}

static void box_inertia(double mass_share, double x, double y, double z, double inertia[3])
{
    inertia[0] = mass_share * (y * y + z * z);
    inertia[1] = mass_share * (x * x + z * z);
    inertia[2] = mass_share * (x * x + y * y);
}

static void shape_inertia(const mmd_rigid_body *source, double inertia[3])
{
    double mass = (double)source->mass;
    double x = (double)source->size[0], y = (double)source->size[1], z = (double)source->size[2];
    if (source->shape == MMD_SPHERE) {
        inertia[0] = inertia[1] = inertia[2] = 0.4 * mass * x * x;
    } else if (source->shape == MMD_BOX) {
        box_inertia(mass / 12, 2 * x, 2 * y, 2 * z, inertia);
    } else {
        double across = 2 * (x + CAPSULE_INERTIA_MARGIN);
        double along = 2 * (x + y / 2 + CAPSULE_INERTIA_MARGIN);
        box_inertia(mass * 0.08333333, across, along, across, inertia);
    }
}

static double clamped_share(float share)
{
    return share < 0 ? 0 : share > 1 ? 1 : (double)share;
}

void mmd_body_init(const mmd_rigid_body *source, double step, mmd_body *body)
{
    *body = (mmd_body){.follows = source->mode == MMD_FOLLOWS_BONE,
                       .linear_damping = clamped_share(source->linear_damping),
                       .angular_damping = clamped_share(source->angular_damping)};
    for (int i = 0; i < 3; i++)
        body->state.position[i] = (double)source->position[i];
    mmd_rest_rotation(source->rotation, body->state.rotation);
    mmd_body_set_period(body, step);
    mmd_body_hold(body, source, body->follows);
}

void mmd_body_hold(mmd_body *body, const mmd_rigid_body *source, bool held)
{
    bool moves = !held && source->mass > 0;
    double inertia[3] = {0};
    if (moves)
        shape_inertia(source, inertia);
    body->inverse_mass = moves ? 1 / (double)source->mass : 0;
    for (int i = 0; i < 3; i++)
        body->inverse_inertia[i] = inertia[i] > 0 ? 1 / inertia[i] : 0;
    mmd_body_placed(body);
}

void mmd_body_set_period(mmd_body *body, double step)
{
    body->velocity_kept = mmd_power(1 - body->linear_damping, step);
    body->spin_kept = mmd_power(1 - body->angular_damping, step);
}

void mmd_body_placed(mmd_body *body)
{
    mmd_unit_matrix(body->state.rotation, body->axes);
    double(*m)[3] = body->axes, *inverse = body->inverse_inertia;
    for (int i = 0; i < 3; i++)
        for (int k = i; k < 3; k++)
            body->inverse_tensor[i][k] = body->inverse_tensor[k][i] =
                m[i][0] * inverse[0] * m[k][0] + m[i][1] * inverse[1] * m[k][1] +
                m[i][2] * inverse[2] * m[k][2];
}

void mmd_body_rest(mmd_body *body)
{
    memset(body->state.velocity, 0, sizeof body->state.velocity);
    memset(body->state.spin, 0, sizeof body->state.spin);
}

static double clamped_speed(double speed)
{
    return fmax(-MMD_FARTHEST, fmin(speed, MMD_FARTHEST));
}

void mmd_body_follow(mmd_body *body, const double position[3], const double rotation[4],
                     double step)
{
    mmd_body_state *state = &body->state;
    double back[4] = {-state->rotation[0], -state->rotation[1], -state->rotation[2],
                      state->rotation[3]};
    double turn[4];
    mmd_quaternion_multiply(rotation, back, turn);
    double length = mmd_length3(turn), sign = turn[3] < 0 ? -1 : 1;
    double angle = 2 * mmd_atan2(length, sign * turn[3]);
    for (int i = 0; i < 3; i++) {
        state->velocity[i] = clamped_speed((position[i] - state->position[i]) / step);
        state->spin[i] = length > 0 ? sign * turn[i] / length * angle / step : 0;
    }
    mmd_copy3(position, state->position);
    memcpy(state->rotation, rotation, sizeof state->rotation);
    mmd_body_placed(body);
}

/* Takes CREEP from the length of v, which is below `limit`. */
static void creep_less(double v[3], double limit)
{
    double speed = mmd_length3(v);
    if (speed < limit)
        mmd_scale3(v, speed > CREEP ? (speed - CREEP) / speed : 0, v);
}

void mmd_body_accelerate(mmd_body *body, const double gravity[3], double step, bool extra)
{
    double *velocity = body->state.velocity, *spin = body->state.spin;
    if (body->inverse_mass == 0)
        return;
    mmd_add_scaled3(gravity, step, velocity);
    double turn = mmd_length3(spin) * step;
    if (turn > PI / 2)
        mmd_scale3(spin, PI / 2 / turn, spin);
    mmd_scale3(velocity, body->velocity_kept, velocity);
    mmd_scale3(spin, body->spin_kept, spin);
    if (!extra)
        return;
    if (mmd_dot3(spin, spin) < SLOW_SQUARE && mmd_dot3(velocity, velocity) < SLOW_SQUARE) {
        mmd_scale3(velocity, SLOW_KEPT, velocity);
        mmd_scale3(spin, SLOW_KEPT, spin);
    }
    creep_less(velocity, body->linear_damping);
    creep_less(spin, body->angular_damping);
}

static bool within_reach(const double numbers[3])
{
    return fabs(numbers[0]) <= MMD_FARTHEST && fabs(numbers[1]) <= MMD_FARTHEST &&
           fabs(numbers[2]) <= MMD_FARTHEST; /* and no NaN */
}

void mmd_body_advance(mmd_body *body, double step)
{
    mmd_body_state *state = &body->state;
    if (body->inverse_mass == 0)
        return;
    mmd_body_state before = *state;
    mmd_add_scaled3(state->velocity, step, state->position);
    if (!within_reach(state->position) || !within_reach(state->velocity) ||
        !within_reach(state->spin)) {
        *state = before;
        mmd_body_rest(body);
        body->lost = true;
        return;
    }
    /* Turned by spin x step; Bullet ends the half angle at an eighth of pi but not the axis, which
       is why the quaternion needs its length back. */
    double speed = mmd_length3(state->spin);
    if (speed * step > PI / 4)
        speed = PI / 4 / step;
    double half = speed * step / 2, sine, turn[4], share;
    mmd_sin_cos(half, &sine, &turn[3]);
    share = speed < 0.001 ? step / 2 - step * step * step * 0.020833333333 * speed * speed
                          : sine / speed;
    mmd_scale3(state->spin, share, turn);
    mmd_quaternion_multiply(turn, state->rotation, state->rotation);
    mmd_quaternion_normalize(state->rotation);
    mmd_body_placed(body);
}
