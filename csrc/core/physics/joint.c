/* SPDX-License-Identifier: MIT */
#include "core/physics/joint.h"

#include "core/physics/elementary.h"
#include "core/physics/vector.h"

#include <float.h>

/* The nearest float to pi: limits of plus and minus pi are ordinary ones in a file. */
#define FLOAT_PI 3.14159274101257324219

/* Share of a limit's error that one step takes back, and that of a spring's way to a limit. */
#define LIMIT_SHARE 0.5
#define SPRING_SHARE 0.2

static double wrapped(double angle)
{
    angle = fmod(angle, 2 * FLOAT_PI);
    if (angle < -FLOAT_PI)
        return angle + 2 * FLOAT_PI;
    return angle > FLOAT_PI ? angle - 2 * FLOAT_PI : angle;
}

static void frame_init(const double position[3], const double axes[3][3], const mmd_body *body,
                       mmd_joint_frame *frame)
{
    double from[3];
    mmd_subtract3(position, body->state.position, from);
    mmd_untransform3(body->axes, from, frame->position);
    mmd_matrix_unmultiply(body->axes, axes, frame->axes);
}

void mmd_joint_init(const mmd_joint *source, const mmd_body *bodies, mmd_held_joint *joint)
{
    joint->a = (size_t)source->body_a;
    joint->b = (size_t)source->body_b;
    double position[3], rotation[4], axes[3][3];
    for (int i = 0; i < 3; i++)
        position[i] = (double)source->position[i];
    mmd_rest_rotation(source->rotation, rotation);
    mmd_unit_matrix(rotation, axes);
    frame_init(position, axes, &bodies[joint->a], &joint->frame_a);
    frame_init(position, axes, &bodies[joint->b], &joint->frame_b);
    bool sprung = source->kind == MMD_JOINT_SPRING_6DOF;
    for (int i = 0; i < 3; i++) {
        joint->along[i] =
            (mmd_joint_axis){.lower = (double)source->translation_lower[i],
                             .upper = (double)source->translation_upper[i],
                             .spring = sprung ? (double)source->translation_spring[i] : 0};
        joint->about[i] =
            (mmd_joint_axis){.lower = wrapped((double)source->rotation_lower[i]),
                             .upper = wrapped((double)source->rotation_upper[i]),
                             .spring = sprung ? (double)source->rotation_spring[i] : 0};
    }
}

static void frame_stand(const mmd_joint_frame *frame, const mmd_body *body, double position[3])
{
    mmd_transform3(body->axes, frame->position, position);
    mmd_add_scaled3(body->state.position, 1, position);
}

static void frame_place(const mmd_joint_frame *frame, const mmd_body *body, mmd_joint_frame *out)
{
    frame_stand(frame, body, out->position);
    mmd_matrix_multiply(body->axes, frame->axes, out->axes);
}

/* Angles of A's frame as seen from B's, Rx Ry Rz, and the axes about which they change: the one of
   x is that of B, the one of z that of A, and y is across both. */
static void euler_angles(const mmd_joint_frame *a, const mmd_joint_frame *b, double angles[3],
                         double axes[3][3])
{
    double turn[3][3], x[3], z[3];
    mmd_matrix_unmultiply(b->axes, a->axes, turn);
    if (fabs(turn[0][2]) < 1) {
        angles[0] = mmd_atan2(-turn[1][2], turn[2][2]);
        angles[1] = mmd_asin(turn[0][2]);
        angles[2] = mmd_atan2(-turn[0][1], turn[0][0]);
    } else { /* x and z turn about the same axis */
        double sign = turn[0][2] < 0 ? -1 : 1;
        angles[0] = sign * mmd_atan2(turn[1][0], turn[1][1]);
        angles[1] = mmd_asin(sign);
        angles[2] = 0;
    }
    mmd_column3(b->axes, 0, x);
    mmd_column3(a->axes, 2, z);
    mmd_cross3(z, x, axes[1]);
    mmd_cross3(axes[1], z, axes[0]);
    mmd_cross3(x, axes[1], axes[2]);
    for (int i = 0; i < 3; i++)
        mmd_normalize3(axes[i]);
}

/* Of an angle outside of its limits, the one a full turn away if that is nearer to them. */
static double nearer_angle(double angle, const mmd_joint_axis *axis)
{
    if (axis->lower >= axis->upper)
        return angle;
    double turn = 2 * FLOAT_PI;
    if (angle < axis->lower)
        return wrapped(axis->lower - angle) < fabs(wrapped(axis->upper - angle)) ? angle
                                                                                 : angle + turn;
    if (angle > axis->upper)
        return wrapped(angle - axis->upper) < fabs(wrapped(angle - axis->lower)) ? angle
                                                                                 : angle - turn;
    return angle;
}

/* What a spring's speed is multiplied by so that it does not run past a limit. */
static double speed_share(double place, const mmd_joint_axis *axis, double way)
{
    if (axis->lower > axis->upper)
        return 1;
    if (axis->lower == axis->upper || way == 0)
        return 0;
    double limit = way < 0 ? axis->lower : axis->upper, left = limit - place;
    if (way < 0 ? left > 0 : left < 0)
        return 0;
    return fabs(left) < fabs(way) ? left / way : 1;
}

/* What holds one axis in this step: nothing, the limit that is violated, or the spring. `place` is
   where the axis stands, `pull` the spring's force. */
typedef struct hold {
    bool holds;
    double target; /* speed of `place` */
    double low, high;
} hold;

static hold limit_hold(const mmd_joint_axis *axis, double place, double step)
{
    bool below = place < axis->lower;
    double error = place - (below ? axis->lower : axis->upper);
    bool locked = axis->lower == axis->upper;
    return (hold){.holds = true,
                  .target = -LIMIT_SHARE * error / step,
                  .low = below && !locked ? 0 : -DBL_MAX,
                  .high = below || locked ? DBL_MAX : 0};
}

static hold spring_hold(const mmd_joint_axis *axis, double place, double pull, double step,
                        size_t iterations)
{
    double speed = pull / step / (double)iterations;
    double most = fabs(pull) * step;
    return (hold){.holds = true,
                  .target = speed * speed_share(place, axis, speed * step / SPRING_SHARE),
                  .low = -most,
                  .high = most};
}

static hold axis_hold(const mmd_joint_axis *axis, double place, double pull, double step,
                      size_t iterations)
{
    if (axis->lower <= axis->upper && (place < axis->lower || place > axis->upper))
        return limit_hold(axis, place, step);
    if (axis->spring != 0)
        return spring_hold(axis, place, pull, step, iterations);
    return (hold){0};
}

/* Places are those of B as seen from A, and a row's number is A less B. */
static void linear_row(const mmd_held_joint *joint, const mmd_body *bodies, const double axis[3],
                       const double anchor[3], hold held, mmd_row *row)
{
    double arm[3], arm_a[3], arm_b[3];
    mmd_row_begin(row, joint->a, joint->b, -held.high, -held.low);
    mmd_subtract3(anchor, bodies[joint->a].state.position, arm);
    mmd_cross3(arm, axis, arm_a);
    mmd_subtract3(anchor, bodies[joint->b].state.position, arm);
    mmd_cross3(axis, arm, arm_b);
    mmd_row_aim(row, bodies, axis, arm_a, arm_b, -held.target);
}

static void angular_row(const mmd_held_joint *joint, const mmd_body *bodies, const double axis[3],
                        hold held, mmd_row *row)
{
    static const double nowhere[3] = {0};
    double back[3];
    mmd_row_begin(row, joint->a, joint->b, held.low, held.high);
    mmd_scale3(axis, -1, back);
    mmd_row_aim(row, bodies, nowhere, axis, back, held.target);
}

/* How far places are beyond limits. */
static double excess(const mmd_joint_axis axes[3], const double places[3], double beyond[3])
{
    for (int i = 0; i < 3; i++) {
        double within = fmin(fmax(places[i], axes[i].lower), axes[i].upper);
        beyond[i] = axes[i].lower <= axes[i].upper ? places[i] - within : 0;
    }
    return mmd_length3(beyond);
}

static double stretch(const mmd_held_joint *joint, const mmd_body *bodies, double axes[3][3],
                      double beyond[3])
{
    double a[3], b[3], apart[3], places[3];
    frame_stand(&joint->frame_a, &bodies[joint->a], a);
    frame_stand(&joint->frame_b, &bodies[joint->b], b);
    mmd_subtract3(b, a, apart);
    mmd_matrix_multiply(bodies[joint->a].axes, joint->frame_a.axes, axes);
    mmd_untransform3(axes, apart, places);
    return excess(joint->along, places, beyond);
}

double mmd_joint_stretch(const mmd_held_joint *joint, const mmd_body *bodies)
{
    double axes[3][3], beyond[3];
    return stretch(joint, bodies, axes, beyond);
}

bool mmd_joint_leash(const mmd_held_joint *joint, double most, mmd_body *bodies)
{
    double axes[3][3], beyond[3], way[3];
    if (joint->hangs == MMD_HANGS_NONE)
        return false;
    bool hangs_b = joint->hangs == MMD_HANGS_B;
    mmd_body *body = &bodies[hangs_b ? joint->b : joint->a];
    double length = stretch(joint, bodies, axes, beyond);
    if (!(length > most) || body->inverse_mass == 0)
        return false;
    double held[3];
    mmd_copy3(body->state.position, held);
    mmd_transform3(axes, beyond, way);
    mmd_add_scaled3(way, (hangs_b ? -1 : 1) * (length - most) / length, held);
    for (int i = 0; i < 3; i++)
        if (!(fabs(held[i]) <= MMD_FARTHEST))
            return false;
    mmd_copy3(held, body->state.position);
    return true;
}

double mmd_joint_twist(const mmd_held_joint *joint, const mmd_body *bodies)
{
    mmd_joint_frame a, b;
    double angles[3], axes[3][3], beyond[3];
    frame_place(&joint->frame_a, &bodies[joint->a], &a);
    frame_place(&joint->frame_b, &bodies[joint->b], &b);
    euler_angles(&a, &b, angles, axes);
    for (int i = 0; i < 3; i++)
        angles[i] = nearer_angle(angles[i], &joint->about[i]);
    return excess(joint->about, angles, beyond);
}

size_t mmd_joint_rows(const mmd_held_joint *joint, const mmd_body *bodies, double step,
                      size_t iterations, mmd_row *rows)
{
    mmd_joint_frame a, b;
    frame_place(&joint->frame_a, &bodies[joint->a], &a);
    frame_place(&joint->frame_b, &bodies[joint->b], &b);
    double apart[3], places[3], angles[3], axes[3][3];
    mmd_subtract3(b.position, a.position, apart);
    mmd_untransform3(a.axes, apart, places);
    euler_angles(&a, &b, angles, axes);

    size_t count = 0;
    for (int i = 0; i < 3; i++) {
        const mmd_joint_axis *along = &joint->along[i];
        double pull = -places[i] * along->spring;
        hold held = axis_hold(along, places[i], pull, step, iterations);
        double axis[3];
        mmd_column3(a.axes, i, axis);
        if (held.holds)
            linear_row(joint, bodies, axis, b.position, held, &rows[count++]);
    }
    for (int i = 0; i < 3; i++) {
        const mmd_joint_axis *about = &joint->about[i];
        double pull = -angles[i] * about->spring;
        double angle = nearer_angle(angles[i], about);
        hold held = axis_hold(about, angle, pull, step, iterations);
        if (held.holds)
            angular_row(joint, bodies, axes[i], held, &rows[count++]);
    }
    return count;
}
