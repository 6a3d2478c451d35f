/* SPDX-License-Identifier: MIT */
/* Inverse kinematics by cyclic coordinate descent (CCD), as MMD 9.32 solves it: "solver M" of
   docs/mmd-behavior.md#ik-solve, where each rule has its evidence.

   A step rotates one link so that the effector points at the goal as seen from the link. With the
   positions p of the link, e of the effector and g of the goal, in model space:

     a = p - e, b = p - g    what the directions to the effector and to the goal are opposite to
     n = a x b               rotation axis
     t = atan2(|n|, a . b)   rotation angle, radians, up to the step limit of the link
     D = rotation(P^T n, t)  P is the world rotation of the link's parent
     local = D local         then limited, if the link has limits

   An angle t is stored as sin(t/2) and cos(t/2), as in a quaternion. They follow from
   tan(t/2) = y / (|(x, y)| + x) for t = atan2(y, x), so that a step needs no trigonometric function
   unless its link has a fixed axis. */
#include "core/pose/pose_state.h"

#include "core/math/mat3.h"
#include "core/math/scalar.h"

/* At 90 degrees of the middle Euler angle the other two are undetermined (gimbal lock): it is
   clamped to 88 degrees. */
static const double gimbal_sine = 0.9993908011319442; /* sin(88 degrees) */

/* Axes (0 x, 1 y, 2 z) of the Euler angles of a limited link, in the order of the product:
   docs/mmd-behavior.md#ik-euler-order. */
static const int euler_axes[3][3] = {{1, 0, 2}, {2, 1, 0}, {0, 2, 1}};

/* Directions whose squared length is below this are no directions. */
static const double min_square = 1.2e-7;

/* Half of atan2(y, x), given y squared and the length of (x, y). */
static inline mmd_rig_half_angle half_angle_of_square(double y, double y_square, double x,
                                                      double length)
{
    double side = length + fabs(x), square = side * side + y_square;
    if (!(square > 0))
        return (mmd_rig_half_angle){0, 1};
    double scale = 1 / sqrt(square);
    if (x >= 0)
        return (mmd_rig_half_angle){y * scale, side * scale};
    return (mmd_rig_half_angle){copysign(side, y) * scale, fabs(y) * scale};
}

static inline mmd_rig_half_angle half_angle(double y, double x, double length)
{
    return half_angle_of_square(y, y * y, x, length);
}

static double hypotenuse(double x, double y)
{
    return sqrt(x * x + y * y);
}

/* The Euler angles of a rotation about the axes that are not locked; the others are left alone. */
static void to_euler(const double q[4], const mmd_rig_link *link, mmd_rig_half_angle halves[3])
{
    const int *axes = euler_axes[link->euler_order];
    int a = axes[0], b = axes[1], c = axes[2];
    double m[3][3];
    mmd_mat3_from_quat(q, m);
    if (!link->limits[a].locked)
        halves[a] = half_angle(m[b][c], m[c][c], hypotenuse(m[b][c], m[c][c]));
    if (!link->limits[b].locked) {
        double sine = mmd_clamp(-m[a][c], -gimbal_sine, gimbal_sine);
        halves[b] = half_angle(sine, sqrt(1 - sine * sine), 1);
    }
    if (!link->limits[c].locked)
        halves[c] = half_angle(m[a][b], m[a][a], hypotenuse(m[a][b], m[a][a]));
}

static inline void rotation_about_axis(int axis, mmd_rig_half_angle half, double out[4])
{
    mmd_double2_store((mmd_double2){axis == 0 ? half.sine : 0, axis == 1 ? half.sine : 0}, out);
    mmd_double2_store((mmd_double2){axis == 2 ? half.sine : 0, half.cosine}, out + 2);
}

static void from_euler(const mmd_rig_half_angle halves[3], const int axes[3], double q[4])
{
    mmd_quat_identity(q);
    for (int i = 0; i < 3; i++) {
        const mmd_rig_half_angle *half = &halves[axes[i]];
        if (half->sine == 0)
            continue;
        double rotation[4];
        rotation_about_axis(axes[i], *half, rotation);
        mmd_quat_multiply(q, rotation, q);
    }
}

/* Clamps the angle a to the bound b, or reflects it to 2 b - a, whose half is b - a / 2. */
static void clamp_or_reflect(const mmd_rig_bound *bound, bool reflect, mmd_rig_half_angle *half)
{
    const mmd_rig_half_angle from = *half, *full = &bound->full;
    *half = bound->half;
    if (reflect) {
        half->sine = full->sine * from.cosine - full->cosine * from.sine;
        half->cosine = full->cosine * from.cosine + full->sine * from.sine;
    }
}

/* docs/mmd-behavior.md#ik-limits. Whether the angle was outside its limits. */
static bool limit_angle(const mmd_rig_limit *limit, bool reflect, mmd_rig_half_angle *half)
{
    const mmd_rig_bound *lower = &limit->lower, *upper = &limit->upper;
    bool below = half->sine < lower->half_sine;
    if (below)
        clamp_or_reflect(lower, reflect && half->sine >= lower->reflected_half_sine, half);
    bool above = half->sine > upper->half_sine;
    if (above)
        clamp_or_reflect(upper, reflect && half->sine <= upper->reflected_half_sine, half);
    return below || above;
}

static bool includes_zero(const mmd_rig_limit *limit)
{
    return limit->lower.half_sine <= 0 && limit->upper.half_sine >= 0;
}

/* Limits a rotation by its Euler angles. False if it is unchanged. */
static bool limit_rotation(const mmd_rig_link *link, bool first_half, double local[4])
{
    const int *axes = euler_axes[link->euler_order];
    int u = axes[2], v = axes[0], w = axes[1];
    mmd_rig_half_angle halves[3] = {{0, 1}, {0, 1}, {0, 1}};
    if (local[v] == 0 && local[w] == 0 && includes_zero(&link->limits[v]) &&
        includes_zero(&link->limits[w])) {
        /* A rotation about the innermost axis, as of knees: the other two angles are zero. */
        halves[u] = (mmd_rig_half_angle){local[3] < 0 ? -local[u] : local[u], fabs(local[3])};
        if (!limit_angle(&link->limits[u], first_half, &halves[u]))
            return false;
    } else {
        to_euler(local, link, halves);
        for (int i = 0; i < 3; i++)
            limit_angle(&link->limits[i], first_half, &halves[i]);
    }
    from_euler(halves, axes, local);
    return true;
}

/* Effector and goal as seen from a link: a and b of this file's first comment. */
typedef struct directions {
    mmd_simd_vec3 normal; /* a x b */
    double square;        /* |a x b|^2 */
    double dot, length;   /* a . b and |a| |b| */
} directions;

/* False if the effector or the goal is at the link. */
static inline bool find_directions(const mmd_pose_state *pose, const mmd_rig_solver *solver,
                                   int32_t link, directions *out)
{
    mmd_simd_vec3 position = mmd_simd_vec3_load(pose->bones[link].world_position);
    mmd_simd_vec3 effector = mmd_simd_vec3_load(pose->bones[solver->effector].world_position);
    mmd_simd_vec3 goal = mmd_simd_vec3_load(pose->bones[solver->goal].world_position);
    mmd_simd_vec3 a = mmd_simd_vec3_subtract(position, effector);
    mmd_simd_vec3 b = mmd_simd_vec3_subtract(position, goal);
    double a_square = mmd_simd_vec3_dot(a, a), b_square = mmd_simd_vec3_dot(b, b);
    if (!(a_square >= min_square) || !(b_square >= min_square))
        return false;
    out->normal = mmd_simd_vec3_cross(a, b);
    out->square = mmd_simd_vec3_dot(out->normal, out->normal);
    out->dot = mmd_simd_vec3_dot(a, b);
    out->length = sqrt(a_square * b_square);
    return true;
}

/* The angle between the directions, up to the step limit. */
static mmd_rig_half_angle step_angle(const mmd_rig_link *link, const directions *to)
{
    if (to->dot > link->step_limit_cosine * to->length)
        return half_angle_of_square(sqrt(to->square), to->square, to->dot, to->length);
    return link->half_step_limit;
}

/* A rotation in model space as a quaternion (axis, w) of any length but zero. */
typedef struct step_rotation {
    mmd_simd_vec3 axis;
    double w, axis_square; /* |axis|^2 */
    double scale, factor;  /* 1 / |q| and 2 / |q|^2 */
} step_rotation;

/* The rotation from the effector to the goal, up to the step limit. False if they are in line. */
static inline bool find_free_rotation(const mmd_rig_link *link, const directions *to,
                                      step_rotation *out)
{
    if (!(to->square > 1e-10 * to->length * to->length))
        return false;
    double w = to->length + to->dot;
    if (to->dot > link->step_limit_cosine * to->length) {
        double square = to->square + w * w;
        *out = (step_rotation){to->normal, w, to->square, 1 / sqrt(square), 2 / square};
    } else {
        mmd_rig_half_angle half = link->half_step_limit;
        double scale = half.sine / sqrt(to->square);
        *out = (step_rotation){mmd_simd_vec3_scale(to->normal, scale), half.cosine,
                               half.sine * half.sine, 1, 2};
    }
    return true;
}

/* A step's rotation as a unit quaternion, with its axis in another space. */
static inline void to_quat(const step_rotation *step, mmd_simd_vec3 axis, double out[4])
{
    axis = mmd_simd_vec3_scale(axis, step->scale);
    mmd_double2_store(axis.xy, out);
    mmd_double2_store((mmd_double2){axis.z, step->w * step->scale}, out + 2);
}

/* A vector of model space in the space of the link's parent. */
static inline mmd_simd_vec3 to_parent_space(const mmd_pose_state *pose, int32_t link,
                                            mmd_simd_vec3 v)
{
    int32_t parent = pose->rig->bones[link].parent;
    double inverse[4];
    if (parent < 0)
        return v;
    mmd_quat_conjugate(pose->bones[parent].world_rotation, inverse);
    return mmd_quat_rotate_simd(inverse, v);
}

/* The step about the only axis in use of the link's limits: `rotation` in the space of the link's
   parent, `step` in model space. */
static inline void find_single_axis_rotation(const mmd_pose_state *pose, const mmd_rig_link *link,
                                             const directions *to, double rotation[4],
                                             step_rotation *step)
{
    int32_t parent = pose->rig->bones[link->bone].parent;
    mmd_rig_half_angle half = step_angle(link, to);
    mmd_simd_vec3 axis = {{link->single_axis == 0, link->single_axis == 1}, link->single_axis == 2};
    if (parent >= 0)
        axis = mmd_quat_rotate_simd(pose->bones[parent].world_rotation, axis);
    if (mmd_simd_vec3_dot(axis, to->normal) < 0)
        half.sine = -half.sine;
    rotation_about_axis(link->single_axis, half, rotation);
    *step = (step_rotation){mmd_simd_vec3_scale(axis, half.sine), half.cosine,
                            half.sine * half.sine, 1, 2};
}

/* The step about the link's fixed axis, in the space of its parent. False if effector and goal are
   in line. */
static inline bool find_fixed_axis_rotation(const mmd_pose_state *pose, const mmd_rig_link *link,
                                            const directions *to, double rotation[4])
{
    const double *axis = pose->rig->bones[link->bone].axis;
    mmd_simd_vec3 n = to_parent_space(pose, link->bone, to->normal);
    double sine = sqrt(to->square);
    if (!(sine > 0))
        return false;
    double angle =
        mmd_portable_atan2(sine, to->dot) * mmd_simd_vec3_dot(mmd_simd_vec3_load(axis), n) / sine;
    mmd_quat_from_axis_angle(axis, mmd_clamp(angle, -link->step_limit, link->step_limit), rotation);
    return true;
}

/* Rotates a link in the space of its parent. False if its limits changed the result. */
static bool rotate_link(mmd_pose_state *pose, const mmd_rig_link *link, const double rotation[4],
                        bool first_half, bool first)
{
    mmd_pose_bone *state = &pose->bones[link->bone];
    double *local = state->local_rotation;
    bool has_memory = pose->rig->bones[link->bone].link_driven;
    if (has_memory && first)
        mmd_quat_multiply(state->ik_memory, local, local);
    mmd_quat_multiply(rotation, local, local);
    /* Normalize by one Newton step: a product of unit quaternions is off by rounding only. */
    mmd_double2 xy = mmd_double2_load(local), zw = mmd_double2_load(local + 2);
    mmd_double2 xy_square = xy * xy, zw_square = zw * zw;
    double excess = 0.5 * (xy_square[0] + xy_square[1] + zw_square[0] + zw_square[1] - 1);
    mmd_double2_store(xy - excess * xy, local);
    mmd_double2_store(zw - excess * zw, local + 2);
    bool limited = link->limited && limit_rotation(link, first_half, local);
    if (has_memory)
        memcpy(state->ik_memory, local, sizeof state->ik_memory);
    return !limited;
}

/* A solve in progress. The next step needs the effector's position only. So if the inner bones are
   a chain, a step about a link without limits rotates the rest of the chain rigidly in model space;
   the link's local rotation is computed from its world rotation later, when it is needed. */
typedef struct solve {
    mmd_pose_state *pose;
    const mmd_rig_solver *solver;
    bool rotated[MMD_MAX_LINKS];     /* links that had a step */
    bool local_stale[MMD_MAX_LINKS]; /* links whose local rotation is not up to date */
} solve;

static inline void evaluate_bones(mmd_pose_state *pose, const int32_t *bones, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mmd_pose_state_evaluate(pose, bones[i]);
}

/* Updates a chain from the inner bone `first` on, whose local rotation has changed. The effector's
   rotation is not needed before the solve ends. */
static void update_chain(solve *s, size_t first)
{
    const int32_t *bones = s->solver->inner;
    mmd_pose_state_update_rotation(s->pose, bones[first]);
    for (size_t i = first + 1; i + 1 < s->solver->inner_count; i++)
        mmd_pose_state_update(s->pose, bones[i]);
    mmd_pose_state_update_position(s->pose, s->solver->effector);
}

/* The columns of w [u] + [u][u], where u is the axis and [u] v = u x v. */
static inline void rotation_columns(const step_rotation *step, mmd_simd_vec3 columns[3])
{
    double x = step->axis.xy[0], y = step->axis.xy[1], z = step->axis.z;
    double wx = step->w * x, wy = step->w * y, wz = step->w * z;
    columns[0] = (mmd_simd_vec3){{x * x - step->axis_square, x * y + wz}, x * z - wy};
    columns[1] = (mmd_simd_vec3){{x * y - wz, y * y - step->axis_square}, y * z + wx};
    columns[2] = (mmd_simd_vec3){{x * z + wy, y * z - wx}, z * z - step->axis_square};
}

/* Rotates a chain rigidly about its inner bone `first`: a vector v from that bone becomes
   v + 2 / |q|^2 (w [u] + [u][u]) v. */
static inline void rotate_chain(solve *s, size_t first, const step_rotation *step)
{
    mmd_pose_bone *bones = s->pose->bones;
    const int32_t *inner = s->solver->inner;
    mmd_pose_bone *state = &bones[inner[first]];
    mmd_simd_vec3 center = mmd_simd_vec3_load(state->world_position), columns[3];
    double rotation[4];
    rotation_columns(step, columns);
    to_quat(step, step->axis, rotation);
    for (size_t i = first + 1; i < s->solver->inner_count; i++) {
        mmd_pose_bone *next = &bones[inner[i]];
        mmd_simd_vec3 position = mmd_simd_vec3_load(next->world_position);
        mmd_simd_vec3 v = mmd_simd_vec3_subtract(position, center);
        mmd_simd_vec3 change =
            mmd_simd_vec3_add(mmd_simd_vec3_add(mmd_simd_vec3_scale(columns[0], v.xy[0]),
                                                mmd_simd_vec3_scale(columns[1], v.xy[1])),
                              mmd_simd_vec3_scale(columns[2], v.z));
        mmd_simd_vec3_store(mmd_simd_vec3_add(position, mmd_simd_vec3_scale(change, step->factor)),
                            next->world_position);
        mmd_quat_multiply(rotation, state->world_rotation, state->world_rotation);
        state = next;
    }
}

/* Computes the stale local rotations of links from the inner bone `first` on. */
static void update_local_rotations(solve *s, size_t first)
{
    for (size_t k = 0; k < s->solver->link_count; k++) {
        const mmd_rig_link *link = &s->solver->links[k];
        mmd_pose_bone *state = &s->pose->bones[link->bone];
        int32_t parent = s->pose->rig->bones[link->bone].parent;
        double inverse[4] = {0, 0, 0, 1};
        if (!s->local_stale[k] || link->first_inner < first)
            continue;
        s->local_stale[k] = false;
        if (parent >= 0)
            mmd_quat_conjugate(s->pose->bones[parent].world_rotation, inverse);
        mmd_quat_multiply(inverse, state->world_rotation, state->local_rotation);
        mmd_quat_normalize(state->local_rotation);
        memcpy(state->ik_memory, state->local_rotation, sizeof state->ik_memory);
    }
}

/* Updates the inner bones that depend on the k-th link, whose local rotation has changed. */
static void update_dependents(solve *s, size_t k)
{
    const mmd_rig_solver *solver = s->solver;
    const mmd_rig_link *link = &solver->links[k];
    size_t first = link->first_inner;
    if (!solver->chain) {
        evaluate_bones(s->pose, solver->inner + first, solver->inner_count - first);
        return;
    }
    /* The link's position depends on earlier bones only: it is up to date after its first step. */
    if (!s->rotated[k])
        mmd_pose_state_update_position(s->pose, link->bone);
    update_chain(s, first);
}

/* One step. False if the solve ends. */
static bool solve_link(solve *s, size_t k, bool first_half)
{
    const mmd_rig_solver *solver = s->solver;
    const mmd_rig_link *link = &solver->links[k];
    mmd_pose_state *pose = s->pose;
    bool single = link->limited && link->single_axis >= 0 && first_half;
    bool fixed = !single && pose->rig->bones[link->bone].has_fixed_axis;
    bool rigid = solver->chain && s->rotated[k];
    step_rotation step = {.factor = 0};
    double rotation[4];
    directions to;
    if (link->bone == solver->effector || !find_directions(pose, solver, link->bone, &to))
        return true;
    /* |a/|a| - b/|b||^2 < 1e-7 ends the solve: docs/mmd-behavior.md#ik-solve. */
    if (2 * (to.length - to.dot) < 1e-7 * to.length)
        return false;
    if (!single && !fixed && !find_free_rotation(link, &to, &step))
        return true;
    if (!single && !fixed && rigid && !link->limited) {
        rotate_chain(s, link->first_inner, &step);
        s->local_stale[k] = true;
        return true;
    }
    update_local_rotations(s, link->first_inner);
    if (single)
        find_single_axis_rotation(pose, link, &to, rotation, &step);
    else if (!fixed)
        to_quat(&step, to_parent_space(pose, link->bone, step.axis), rotation);
    else if (!find_fixed_axis_rotation(pose, link, &to, rotation))
        return true;
    bool unlimited = rotate_link(pose, link, rotation, first_half, !s->rotated[k]);
    if (single && rigid && unlimited)
        rotate_chain(s, link->first_inner, &step);
    else
        update_dependents(s, k);
    s->rotated[k] = true;
    return true;
}

void mmd_ik_solve(mmd_pose_state *pose, const mmd_rig_solver *solver)
{
    if (solver->iterations == 0)
        return;
    pose->bones[solver->effector].append_dropped = true;
    mmd_quat_identity(pose->bones[solver->effector].append_rotation);
    /* The effector is not updated before the first step, which uses its last position:
       docs/mmd-behavior.md#ik-stale-effector. */
    solve s = {.pose = pose, .solver = solver};
    bool running = true;
    for (int32_t i = 0; running && i < solver->iterations; i++)
        for (size_t k = 0; running && k < solver->link_count; k++)
            running = solve_link(&s, k, i < solver->iterations / 2);
    update_local_rotations(&s, 0);
    evaluate_bones(pose, solver->refresh, solver->refresh_count);
}
