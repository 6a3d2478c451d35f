/* SPDX-License-Identifier: MIT */
/* A joint with six degrees of freedom, each free, limited or locked, with optional springs:
   btGeneric6DofConstraint and btGeneric6DofSpringConstraint of Bullet 2.75 (without the later frame
   offset). Per step of length h (s), each degree of freedom with value x (units or rad) gets at
   most one row, whose target velocity u (units/s or rad/s) acts within an impulse range:

       limit violated or locked   u = -ERP (x - limit) / h     ERP = 0.5, pushing inwards only
       spring of stiffness k      u = -k x / (h n) * factor    |impulse| <= |k x| h

   n is the number of solver iterations (internalUpdateSprings), `factor` slows the spring down
   before a limit (getMotorFactor). A limit has a row only while it is violated, and then the spring
   has none: that softness is the look of MMD's joints.

   Angles are Euler angles R = Rx Ry Rz of A's joint axes as seen from B's (matrixToEulerXYZ); they
   change about the axes x of B, z of A, and the cross product of both (calculateAngleInfo). */
#include "core/physics/joint_constraint.h"

#include "core/math/mat3.h"
#include "core/math/scalar.h"

#include <float.h>

/* The float nearest to pi: files write limits of plus and minus pi. */
#define FLOAT_PI 3.14159274101257324219

/* Error reduction parameters: m_ERP of the limit motors and m_restitution of the linear limits, and
   the timeFact of getMotorFactor. */
#define LIMIT_ERP 0.5
#define SPRING_ERP 0.2

static double normalize_angle(double angle)
{
    if (!(fabs(angle) < 2 * FLOAT_PI))
        angle = fmod(angle, 2 * FLOAT_PI);
    if (angle < -FLOAT_PI)
        return angle + 2 * FLOAT_PI;
    return angle > FLOAT_PI ? angle - 2 * FLOAT_PI : angle;
}

static void axes_to_local(const double position[3], const double basis[3][3], const mmd_body *body,
                          mmd_joint_constraint_axes *axes)
{
    double offset[3];
    mmd_vec3_subtract(position, body->state.position, offset);
    mmd_mat3_transform_transposed(body->basis, offset, axes->position);
    mmd_mat3_multiply_transposed(body->basis, basis, axes->basis);
}

void mmd_joint_constraint_init(const mmd_joint *source, const mmd_body *bodies,
                               mmd_joint_constraint *joint)
{
    joint->body_a = (size_t)source->body_a;
    joint->body_b = (size_t)source->body_b;
    double position[3], rotation[4], basis[3][3];
    for (int i = 0; i < 3; i++)
        position[i] = (double)source->position[i];
    mmd_body_rest_rotation(source->rotation, rotation);
    mmd_mat3_from_unit_quat(rotation, basis);
    axes_to_local(position, basis, &bodies[joint->body_a], &joint->axes_a);
    axes_to_local(position, basis, &bodies[joint->body_b], &joint->axes_b);
    bool spring = source->kind == MMD_JOINT_SPRING_6DOF;
    for (int i = 0; i < 3; i++) {
        joint->linear[i] = (mmd_joint_constraint_dof){
            .lower = (double)source->translation_lower[i],
            .upper = (double)source->translation_upper[i],
            .spring_stiffness = spring ? (double)source->translation_spring[i] : 0};
        joint->angular[i] = (mmd_joint_constraint_dof){
            .lower = normalize_angle((double)source->rotation_lower[i]),
            .upper = normalize_angle((double)source->rotation_upper[i]),
            .spring_stiffness = spring ? (double)source->rotation_spring[i] : 0};
    }
}

static void world_position(const mmd_joint_constraint_axes *axes, const mmd_body *body,
                           double position[3])
{
    mmd_mat3_transform(body->basis, axes->position, position);
    mmd_vec3_add_scaled(body->state.position, 1, position);
}

static void axes_to_world(const mmd_joint_constraint_axes *axes, const mmd_body *body,
                          mmd_joint_constraint_axes *out)
{
    world_position(axes, body, out->position);
    mmd_mat3_multiply(body->basis, axes->basis, out->basis);
}

/* The Euler angles between the joint axes of both bodies, in world space, and the axes about which
   they change, of any length. */
static void euler_angles(const mmd_joint_constraint_axes *a, const mmd_joint_constraint_axes *b,
                         double angles[3], double rotation_axes[3][3])
{
    double relative[3][3], x[3], z[3];
    mmd_mat3_multiply_transposed(b->basis, a->basis, relative);
    if (fabs(relative[0][2]) < 1) {
        angles[0] = mmd_portable_atan2(-relative[1][2], relative[2][2]);
        angles[1] = mmd_portable_asin(relative[0][2]);
        angles[2] = mmd_portable_atan2(-relative[0][1], relative[0][0]);
    } else { /* gimbal lock: x and z rotate about the same axis */
        double sign = relative[0][2] < 0 ? -1 : 1;
        angles[0] = sign * mmd_portable_atan2(relative[1][0], relative[1][1]);
        angles[1] = mmd_portable_asin(sign);
        angles[2] = 0;
    }
    mmd_mat3_column(b->basis, 0, x);
    mmd_mat3_column(a->basis, 2, z);
    mmd_vec3_cross(z, x, rotation_axes[1]);
    mmd_vec3_cross(rotation_axes[1], z, rotation_axes[0]);
    mmd_vec3_cross(x, rotation_axes[1], rotation_axes[2]);
}

/* For an angle outside its limits, the equivalent angle that is nearer to them
   (btAdjustAngleToLimits). */
static double adjust_to_limits(double angle, const mmd_joint_constraint_dof *dof)
{
    if (dof->lower >= dof->upper)
        return angle;
    double turn = 2 * FLOAT_PI;
    if (angle < dof->lower)
        return normalize_angle(dof->lower - angle) < fabs(normalize_angle(dof->upper - angle))
                   ? angle
                   : angle + turn;
    if (angle > dof->upper)
        return normalize_angle(angle - dof->upper) < fabs(normalize_angle(angle - dof->lower))
                   ? angle
                   : angle - turn;
    return angle;
}

/* Scales a spring's velocity so that it does not overshoot a limit (getMotorFactor). `delta` is how
   far the spring would move `value`. */
static double motor_factor(double value, const mmd_joint_constraint_dof *dof, double delta)
{
    if (dof->lower > dof->upper)
        return 1;
    if (dof->lower == dof->upper || delta == 0)
        return 0;
    double limit = delta < 0 ? dof->lower : dof->upper, remaining = limit - value;
    if (delta < 0 ? remaining > 0 : remaining < 0)
        return 0;
    return fabs(remaining) < fabs(delta) ? remaining / delta : 1;
}

/* Sets the part of a row that acts on one degree of freedom in this step: its violated limit, or
   its spring. False if nothing acts. */
static bool set_motor(const mmd_joint_constraint_dof *dof, double value, double spring_force,
                      double time_step, int iterations, mmd_constraint_row *row)
{
    bool locked = dof->lower == dof->upper, below = value < dof->lower;
    if (dof->lower <= dof->upper && (below || value > dof->upper)) {
        row->target_velocity = -LIMIT_ERP * (value - (below ? dof->lower : dof->upper)) / time_step;
        row->lower_impulse = below && !locked ? 0 : -DBL_MAX;
        row->upper_impulse = below || locked ? DBL_MAX : 0;
        return true;
    }
    if (dof->spring_stiffness == 0)
        return false;
    double velocity = spring_force / time_step / iterations;
    row->target_velocity = velocity * motor_factor(value, dof, velocity * time_step / SPRING_ERP);
    row->upper_impulse = fabs(spring_force) * time_step;
    row->lower_impulse = -row->upper_impulse;
    return true;
}

static void init_row(const mmd_joint_constraint *joint, mmd_constraint_row *row)
{
    row->body_a = (uint32_t)joint->body_a;
    row->body_b = (uint32_t)joint->body_b;
    row->friction = false;
    row->impulse = 0;
}

/* The vector and the length by which values exceed their limits. */
static double excess_of(const mmd_joint_constraint_dof dofs[3], const double values[3],
                        double excess[3])
{
    for (int i = 0; i < 3; i++) {
        double clamped = fmin(fmax(values[i], dofs[i].lower), dofs[i].upper);
        excess[i] = dofs[i].lower <= dofs[i].upper ? values[i] - clamped : 0;
    }
    return mmd_vec3_length(excess);
}

static double linear_excess(const mmd_joint_constraint *joint, const mmd_body *bodies,
                            double basis_a[3][3], double excess[3])
{
    double a[3], b[3], offset[3], values[3];
    world_position(&joint->axes_a, &bodies[joint->body_a], a);
    world_position(&joint->axes_b, &bodies[joint->body_b], b);
    mmd_vec3_subtract(b, a, offset);
    mmd_mat3_multiply(bodies[joint->body_a].basis, joint->axes_a.basis, basis_a);
    mmd_mat3_transform_transposed(basis_a, offset, values);
    return excess_of(joint->linear, values, excess);
}

double mmd_joint_constraint_stretch(const mmd_joint_constraint *joint, const mmd_body *bodies)
{
    double basis_a[3][3], excess[3];
    return linear_excess(joint, bodies, basis_a, excess);
}

double mmd_joint_constraint_limit_stretch(const mmd_joint_constraint *joint, double max_stretch,
                                          mmd_body *bodies, bool *limited)
{
    double basis_a[3][3], excess[3], excess_world[3];
    double stretch = linear_excess(joint, bodies, basis_a, excess);
    if (joint->child == MMD_JOINT_CONSTRAINT_NO_CHILD || !(stretch > max_stretch))
        return stretch;
    mmd_body *child = &bodies[joint->child];
    if (child->inverse_mass == 0)
        return stretch;
    double position[3], sign = joint->child == joint->body_b ? -1 : 1;
    mmd_vec3_copy(child->state.position, position);
    mmd_mat3_transform(basis_a, excess, excess_world);
    mmd_vec3_add_scaled(excess_world, sign * (stretch - max_stretch) / stretch, position);
    *limited = mmd_body_is_in_range(position);
    if (*limited)
        mmd_vec3_copy(position, child->state.position);
    return stretch;
}

double mmd_joint_constraint_bend(const mmd_joint_constraint *joint, const mmd_body *bodies)
{
    mmd_joint_constraint_axes a, b;
    double angles[3], rotation_axes[3][3], excess[3];
    axes_to_world(&joint->axes_a, &bodies[joint->body_a], &a);
    axes_to_world(&joint->axes_b, &bodies[joint->body_b], &b);
    euler_angles(&a, &b, angles, rotation_axes);
    for (int i = 0; i < 3; i++)
        angles[i] = adjust_to_limits(angles[i], &joint->angular[i]);
    return excess_of(joint->angular, angles, excess);
}

size_t mmd_joint_constraint_rows(const mmd_joint_constraint *joint, const mmd_body *bodies,
                                 double time_step, int iterations, mmd_constraint_row *rows)
{
    mmd_joint_constraint_axes a, b;
    axes_to_world(&joint->axes_a, &bodies[joint->body_a], &a);
    axes_to_world(&joint->axes_b, &bodies[joint->body_b], &b);
    double offset[3], offset_a[3], offset_b[3], translations[3], angles[3], rotation_axes[3][3];
    mmd_vec3_subtract(b.position, a.position, offset);
    mmd_vec3_subtract(b.position, bodies[joint->body_a].state.position, offset_a);
    mmd_vec3_subtract(b.position, bodies[joint->body_b].state.position, offset_b);
    mmd_mat3_transform_transposed(a.basis, offset, translations);
    euler_angles(&a, &b, angles, rotation_axes);

    /* The velocity of a row is that of A relative to B. Translations are those of B relative to A,
       hence their axes are reversed. */
    mmd_constraint_row *row = rows;
    for (int i = 0; i < 3; i++) {
        const mmd_joint_constraint_dof *dof = &joint->linear[i];
        double force = -translations[i] * dof->spring_stiffness;
        if (!set_motor(dof, translations[i], force, time_step, iterations, row))
            continue;
        double axis[3];
        mmd_mat3_column(a.basis, i, axis);
        mmd_vec3_scale(axis, -1, row->linear);
        mmd_vec3_cross(axis, offset_a, row->angular_a);
        mmd_vec3_cross(offset_b, axis, row->angular_b);
        init_row(joint, row++);
    }
    for (int i = 0; i < 3; i++) {
        const mmd_joint_constraint_dof *dof = &joint->angular[i];
        double torque = -angles[i] * dof->spring_stiffness;
        double angle = adjust_to_limits(angles[i], dof);
        if (!set_motor(dof, angle, torque, time_step, iterations, row))
            continue;
        mmd_vec3_normalize(rotation_axes[i]);
        memset(row->linear, 0, sizeof row->linear);
        mmd_vec3_copy(rotation_axes[i], row->angular_a);
        mmd_vec3_scale(rotation_axes[i], -1, row->angular_b);
        init_row(joint, row++);
    }
    return (size_t)(row - rows);
}
