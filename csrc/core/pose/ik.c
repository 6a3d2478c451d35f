/* SPDX-License-Identifier: MIT */
/* Solver M: what MMD 9.32 was seen to do; docs/mmd-behaviour.md#ik-solve and around it. */
#include "core/pose/ik.h"

static const double gimbal_limit = 1.535889; /* 88 degrees */

/* Axes (0 x, 1 y, 2 z) of the three rotations that make up a limited one, outermost first. */
static const int euler_orders[3][3] = {{1, 0, 2}, {2, 1, 0}, {0, 2, 1}};

static double clamp(double value, double least, double most)
{
    double above = value > least ? value : least;
    return above < most ? above : most;
}

static void split(const double q[4], const int order[3], double angles[3])
{
    int a = order[0], b = order[1], c = order[2];
    double m[3][3];
    mmd_quaternion_matrix(q, m);
    angles[a] = atan2(m[b][c], m[c][c]);
    angles[b] = clamp(asin(clamp(-m[a][c], -1, 1)), -gimbal_limit, gimbal_limit);
    angles[c] = atan2(m[a][b], m[a][a]);
}

static void join(const double angles[3], const int order[3], double q[4])
{
    mmd_quaternion_identity(q);
    for (int i = 0; i < 3; i++) {
        double axis[3] = {0}, turn[4];
        axis[order[i]] = 1;
        mmd_quaternion_about(axis, angles[order[i]], turn);
        mmd_quaternion_multiply(q, turn, q);
    }
}

/* Beyond a limit the angle comes back reflected as long as `reflect` holds and there is room. */
static double limit(double angle, double lower, double upper, bool reflect)
{
    if (angle < lower) {
        double reflected = 2 * lower - angle;
        angle = reflect && reflected <= upper ? reflected : lower;
    }
    if (angle > upper) {
        double reflected = 2 * upper - angle;
        angle = reflect && reflected >= lower ? reflected : upper;
    }
    return angle;
}

static inline void refresh(mmd_frame *frame, const int32_t *bones, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mmd_evaluate_bone(frame, bones[i]);
}

/* After a step of a link. Its own position depends on bones before it only, so that it is current
   once the link was placed in this solve; and nothing reads the rotation of an effector that is the
   last. */
static inline void follow(mmd_frame *frame, const mmd_rig_solver *solver, const mmd_rig_link *link,
                          bool placed)
{
    size_t first = link->first_follower, last = solver->inner_followers - 1;
    if (!solver->plain) {
        refresh(frame, solver->inner_follower + first, last + 1 - first);
        return;
    }
    if (!placed)
        mmd_move_bone(frame, link->bone);
    mmd_turn_bone(frame, link->bone);
    for (size_t i = first + 1; i < last; i++)
        mmd_place_bone(frame, solver->inner_follower[i]);
    mmd_move_bone(frame, solver->effector);
}

/* From the link to a point, as a direction. False when they coincide. */
static inline bool direction(const mmd_frame *frame, int32_t link, int32_t point, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = frame->bones[link].world_position[i] - frame->bones[point].world_position[i];
    double square = mmd_dot3(out, out);
    if (!(square >= 1.2e-7))
        return false;
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 3; i++)
        out[i] *= scale;
    return true;
}

/* Half of an angle of 0 to pi, from its sine and cosine. */
static void halve(double sine, double cosine, double *half_sine, double *half_cosine)
{
    if (cosine >= 0) {
        *half_cosine = sqrt((1 + cosine) / 2);
        *half_sine = sine / (2 * *half_cosine);
    } else {
        *half_sine = sqrt((1 - cosine) / 2);
        *half_cosine = sine / (2 * *half_sine);
    }
}

/* The turn that brings the effector's direction toward the goal's, in the frame of the link's
   parent. False: leave the link alone. */
static bool step(const mmd_frame *frame, const mmd_rig_link *link, const double e[3],
                 const double g[3], bool first_half, double turn[4])
{
    const mmd_rig_bone *bone = &frame->rig->bones[link->bone];
    double n[3];
    mmd_cross3(e, g, n);
    if (bone->parent >= 0) {
        const double *q = frame->bones[bone->parent].world_rotation;
        const double inverse[4] = {-q[0], -q[1], -q[2], q[3]};
        mmd_quaternion_rotate(inverse, n, n);
    }
    double sine = sqrt(mmd_dot3(n, n)), cosine = clamp(mmd_dot3(e, g), -1, 1);
    bool single = link->limited && link->single_axis >= 0 && first_half;
    if (bone->has_axis && !single) {
        if (!(sine > 0))
            return false;
        double angle = atan2(sine, cosine) * mmd_dot3(bone->axis, n) / sine;
        mmd_quaternion_about(bone->axis, clamp(angle, -link->most, link->most), turn);
        return true;
    }
    double half_sine = link->half_sine, half_cosine = link->half_cosine;
    if (cosine > link->least_cosine)
        halve(sine, cosine, &half_sine, &half_cosine);
    if (single) {
        mmd_quaternion_identity(turn);
        turn[link->single_axis] = n[link->single_axis] < 0 ? -half_sine : half_sine;
        turn[3] = half_cosine;
        return true;
    }
    if (!(sine * sine > 1e-10))
        return false;
    for (int i = 0; i < 3; i++)
        turn[i] = n[i] * (half_sine / sine);
    turn[3] = half_cosine;
    return true;
}

/* docs/mmd-behaviour.md#ik-euler-order and
   docs/mmd-behaviour.md#ik-limits. */
static void limit_rotation(const mmd_rig_link *link, bool first_half, double own[4])
{
    const int *order = euler_orders[link->order];
    int u = order[2], v = order[0], w = order[1];
    double angles[3] = {0};
    if (own[v] == 0 && own[w] == 0 && link->lower[v] <= 0 && link->upper[v] >= 0 &&
        link->lower[w] <= 0 && link->upper[w] >= 0) {
        /* About the inmost axis alone, as knees turn: the other two angles are zero. */
        double angle = 2 * atan2(own[3] < 0 ? -own[u] : own[u], fabs(own[3]));
        angles[u] = limit(angle, link->lower[u], link->upper[u], first_half);
        if (angles[u] == angle)
            return;
        double axis[3] = {0};
        axis[u] = 1;
        mmd_quaternion_about(axis, angles[u], own);
        return;
    }
    split(own, order, angles);
    for (int i = 0; i < 3; i++)
        angles[i] = limit(angles[i], link->lower[i], link->upper[i], first_half);
    join(angles, order, own);
}

static void turn_link(mmd_frame *frame, const mmd_rig_link *link, const double turn[4],
                      bool first_half, bool first)
{
    mmd_posed_bone *posed = &frame->bones[link->bone];
    double *own = posed->own_rotation;
    bool remembers = frame->rig->bones[link->bone].fed;
    if (remembers && first)
        mmd_quaternion_multiply(posed->memory, own, own);
    mmd_quaternion_multiply(turn, own, own);
    /* One Newton step to length 1, which a product of unit quaternions misses by rounding only. */
    double excess =
        0.5 * (own[0] * own[0] + own[1] * own[1] + own[2] * own[2] + own[3] * own[3] - 1);
    for (int i = 0; i < 4; i++)
        own[i] -= excess * own[i];
    if (link->limited)
        limit_rotation(link, first_half, own);
    if (remembers)
        memcpy(posed->memory, own, sizeof posed->memory);
}

/* Turns one link. False when the whole solve is to end. */
static bool solve_link(mmd_frame *frame, const mmd_rig_solver *solver, size_t k, bool first_half,
                       bool *turned)
{
    const mmd_rig_link *link = &solver->links[k];
    double e[3], g[3], turn[4], chord = 0;
    if (link->bone == solver->effector || !direction(frame, link->bone, solver->effector, e) ||
        !direction(frame, link->bone, solver->goal, g))
        return true;
    for (int i = 0; i < 3; i++)
        chord += (e[i] - g[i]) * (e[i] - g[i]);
    if (chord < 1e-7)
        return false;
    if (step(frame, link, e, g, first_half, turn)) {
        turn_link(frame, link, turn, first_half, !*turned);
        follow(frame, solver, link, *turned);
        *turned = true;
    }
    return true;
}

void mmd_ik_solve(mmd_frame *frame, const mmd_rig_solver *solver)
{
    if (solver->iterations == 0)
        return;
    frame->bones[solver->effector].dropped = true;
    mmd_quaternion_identity(frame->bones[solver->effector].append_rotation);
    /* The first step measures the effector where it was left: it is not placed again before,
       docs/mmd-behaviour.md#ik-stale-effector. */
    bool turned[MMD_MAX_LINKS] = {false}, going = true;
    for (int32_t i = 0; going && i < solver->iterations; i++)
        for (size_t k = 0; going && k < solver->link_count; k++)
            going = solve_link(frame, solver, k, i < solver->iterations / 2, &turned[k]);
    refresh(frame, solver->follower, solver->followers);
}
