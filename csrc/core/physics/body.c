/* SPDX-License-Identifier: MIT */
/* Rigid body dynamics by semi-implicit Euler, as btRigidBody of Bullet 2.75 does it. One step of
   length h (s), with velocity v (units/s), angular velocity w (rad/s), gravity g (units/s^2) and
   wind u (units/s):

       v' = u + (v + h g - u) (1 - d_linear)^h          integrateVelocities, applyDamping
       w' = w (1 - d_angular)^h
       x' = x + h v'                                    btTransformUtil::integrateTransform
       q' = normalize(quat(w' / |w'|, h |w'|) q)

   Bullet has no wind: its damping is the drag of still air. In air that moves, the same drag acts
   on the velocity relative to the air. h |w| is clamped to pi/2 before the damping and to pi/4 for
   the rotation; additional damping slows slow bodies further. The solver changes v and w between
   the two halves. The inverse inertia tensor about world axes is I^-1 = R diag(1/Ix, 1/Iy, 1/Iz)
   R^T, where R is the matrix of q and I is in mass units^2. */
#include "core/physics/body.h"

#include "core/math/mat3.h"
#include "core/math/quat.h"
#include "core/math/scalar.h"

/* Additional damping (btRigidBody's m_additional*): below the squared speed threshold both
   velocities are scaled down; below the damping coefficient a velocity loses a fixed amount. */
#define ADDITIONAL_DAMPING_THRESHOLD_SQUARED 0.01
#define ADDITIONAL_DAMPING_FACTOR 0.005
#define ADDITIONAL_DAMPING_DECREMENT 0.005

void mmd_body_rest_rotation(const float angles[3], double rotation[4])
{
    double x[4] = {0}, y[4] = {0}, z[4] = {0};
    mmd_portable_sin_cos((double)angles[0] / 2, &x[0], &x[3]);
    mmd_portable_sin_cos((double)angles[1] / 2, &y[1], &y[3]);
    mmd_portable_sin_cos((double)angles[2] / 2, &z[2], &z[3]);
    mmd_quat_multiply(y, x, rotation);
    mmd_quat_multiply(rotation, z, rotation);
    mmd_quat_normalize(rotation);
}

void mmd_body_init(const mmd_rigid_body *source, double time_step, mmd_body *body)
{
    *body = (mmd_body){.kinematic = source->mode == MMD_FOLLOWS_BONE,
                       .linear_damping = mmd_clamp((double)source->linear_damping, 0, 1),
                       .angular_damping = mmd_clamp((double)source->angular_damping, 0, 1)};
    for (int i = 0; i < 3; i++)
        body->state.position[i] = (double)source->position[i];
    mmd_body_rest_rotation(source->rotation, body->state.rotation);
    body->linear_factor = mmd_portable_pow(1 - body->linear_damping, time_step);
    body->angular_factor = mmd_portable_pow(1 - body->angular_damping, time_step);
    mmd_body_set_dynamic(body, source, !body->kinematic);
}

void mmd_body_set_dynamic(mmd_body *body, const mmd_rigid_body *source, bool dynamic)
{
    bool has_mass = dynamic && source->mass > 0;
    double inertia[3] = {0};
    if (has_mass)
        mmd_shape_inertia(source, inertia);
    body->inverse_mass = has_mass ? 1 / (double)source->mass : 0;
    for (int i = 0; i < 3; i++)
        body->inverse_inertia_local[i] = inertia[i] > 0 ? 1 / inertia[i] : 0;
    mmd_body_update_basis(body);
}

/* a . diag(weights) b */
static inline double weighted_dot(const double a[3], const double weights[3], const double b[3])
{
    return a[0] * weights[0] * b[0] + a[1] * weights[1] * b[1] + a[2] * weights[2] * b[2];
}

void mmd_body_update_basis(mmd_body *body)
{
    double(*m)[3] = body->basis, *weights = body->inverse_inertia_local;
    double(*inverse)[3] = body->inverse_inertia_world;
    mmd_mat3_from_unit_quat(body->state.rotation, m);
    inverse[0][0] = weighted_dot(m[0], weights, m[0]);
    inverse[1][1] = weighted_dot(m[1], weights, m[1]);
    inverse[2][2] = weighted_dot(m[2], weights, m[2]);
    inverse[0][1] = inverse[1][0] = weighted_dot(m[0], weights, m[1]);
    inverse[0][2] = inverse[2][0] = weighted_dot(m[0], weights, m[2]);
    inverse[1][2] = inverse[2][1] = weighted_dot(m[1], weights, m[2]);
}

void mmd_body_stop(mmd_body *body)
{
    memset(body->state.velocity, 0, sizeof body->state.velocity);
    memset(body->state.angular_velocity, 0, sizeof body->state.angular_velocity);
}

void mmd_body_apply_impulse(mmd_body *body, const double impulse[3], const double torque[3])
{
    double change[3];
    mmd_vec3_add_scaled(impulse, body->inverse_mass, body->state.velocity);
    mmd_mat3_transform(body->inverse_inertia_world, torque, change);
    mmd_vec3_add_scaled(change, 1, body->state.angular_velocity);
}

void mmd_body_move_kinematic(mmd_body *body, const mmd_body_pose *pose, double time_step)
{
    mmd_body_state *state = &body->state;
    double inverse[4], delta[4];
    mmd_quat_conjugate(state->rotation, inverse);
    mmd_quat_multiply(pose->rotation, inverse, delta);
    double length = mmd_vec3_length(delta), sign = delta[3] < 0 ? -1 : 1;
    double angle = 2 * mmd_portable_atan2(length, sign * delta[3]);
    for (int i = 0; i < 3; i++) {
        state->velocity[i] = mmd_clamp((pose->position[i] - state->position[i]) / time_step,
                                       -MMD_BODY_LIMIT, MMD_BODY_LIMIT);
        state->angular_velocity[i] = length > 0 ? sign * delta[i] / length * angle / time_step : 0;
    }
    state->pose = *pose;
    mmd_body_update_basis(body);
}

/* Shortens v, if below `threshold`, by ADDITIONAL_DAMPING_DECREMENT. */
static void damp_slow(double v[3], double threshold)
{
    const double decrement = ADDITIONAL_DAMPING_DECREMENT, speed = mmd_vec3_length(v);
    if (speed < threshold)
        mmd_vec3_scale(v, speed > decrement ? (speed - decrement) / speed : 0, v);
}

static void damp(mmd_body *body, bool additional_damping)
{
    double *velocity = body->state.velocity, *angular_velocity = body->state.angular_velocity;
    mmd_vec3_scale(velocity, body->linear_factor, velocity);
    mmd_vec3_scale(angular_velocity, body->angular_factor, angular_velocity);
    if (!additional_damping)
        return;
    if (mmd_vec3_dot(angular_velocity, angular_velocity) < ADDITIONAL_DAMPING_THRESHOLD_SQUARED &&
        mmd_vec3_dot(velocity, velocity) < ADDITIONAL_DAMPING_THRESHOLD_SQUARED) {
        mmd_vec3_scale(velocity, ADDITIONAL_DAMPING_FACTOR, velocity);
        mmd_vec3_scale(angular_velocity, ADDITIONAL_DAMPING_FACTOR, angular_velocity);
    }
    damp_slow(velocity, body->linear_damping);
    damp_slow(angular_velocity, body->angular_damping);
}

void mmd_body_integrate_velocity(mmd_body *body, const double gravity[3], const double *wind,
                                 double time_step, bool additional_damping)
{
    double *velocity = body->state.velocity, *angular_velocity = body->state.angular_velocity;
    if (body->inverse_mass == 0)
        return;
    mmd_vec3_add_scaled(gravity, time_step, velocity);
    double angle = mmd_vec3_length(angular_velocity) * time_step;
    if (angle > MMD_PI / 2)
        mmd_vec3_scale(angular_velocity, MMD_PI / 2 / angle, angular_velocity);
    if (wind)
        mmd_vec3_add_scaled(wind, -1, velocity);
    damp(body, additional_damping);
    if (wind)
        mmd_vec3_add_scaled(wind, 1, velocity);
}

bool mmd_body_is_in_range(const double v[3])
{
    return fabs(v[0]) <= MMD_BODY_LIMIT && fabs(v[1]) <= MMD_BODY_LIMIT &&
           fabs(v[2]) <= MMD_BODY_LIMIT;
}

/* Bullet limits the angle to pi/4 but scales the axis by the unlimited velocity, so that the
   quaternion has to be normalized. Slow rotations use the Taylor series of sin(x) / x. */
static void rotate(const double angular_velocity[3], double time_step, double rotation[4])
{
    double speed = mmd_vec3_length(angular_velocity);
    if (speed * time_step > MMD_PI / 4)
        speed = MMD_PI / 4 / time_step;
    double half_angle = speed * time_step / 2, sine, delta[4], scale;
    mmd_portable_sin_cos(half_angle, &sine, &delta[3]);
    scale = speed < 0.001
                ? time_step / 2 - time_step * time_step * time_step * 0.020833333333 * speed * speed
                : sine / speed;
    mmd_vec3_scale(angular_velocity, scale, delta);
    mmd_quat_multiply(delta, rotation, rotation);
    mmd_quat_normalize(rotation);
}

void mmd_body_integrate_pose(mmd_body *body, double time_step)
{
    mmd_body_state *state = &body->state;
    if (body->inverse_mass == 0)
        return;
    mmd_body_state before = *state;
    mmd_vec3_add_scaled(state->velocity, time_step, state->position);
    if (!mmd_body_is_in_range(state->position) || !mmd_body_is_in_range(state->velocity) ||
        !mmd_body_is_in_range(state->angular_velocity)) {
        *state = before;
        mmd_body_stop(body);
        body->diverged = true;
        return;
    }
    rotate(state->angular_velocity, time_step, state->rotation);
    mmd_body_update_basis(body);
}

bool mmd_body_pose_is_valid(const mmd_body_pose *pose)
{
    const double *q = pose->rotation;
    return mmd_body_is_in_range(pose->position) &&
           fabs(mmd_vec3_dot(q, q) + q[3] * q[3] - 1) < 1e-6;
}

void mmd_body_pose_interpolate(const mmd_body_pose *current, const mmd_body_pose *previous,
                               double fraction, mmd_body_pose *pose)
{
    *pose = *current;
    if (fraction == 0)
        return;
    double dot = mmd_vec3_dot(current->rotation, previous->rotation) +
                 current->rotation[3] * previous->rotation[3];
    double sign = dot < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++)
        pose->position[k] += fraction * (previous->position[k] - current->position[k]);
    for (int k = 0; k < 4; k++)
        pose->rotation[k] += fraction * (sign * previous->rotation[k] - current->rotation[k]);
    mmd_quat_normalize(pose->rotation);
}

void mmd_body_pose_extrapolate(const mmd_body_state *state, double seconds, mmd_body_pose *pose)
{
    mmd_vec3_add_scaled(state->velocity, seconds, pose->position);
    rotate(state->angular_velocity, seconds, pose->rotation);
}
