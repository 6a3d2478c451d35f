/* SPDX-License-Identifier: MIT */
/* Solver M: what MMD 9.32 was seen to do; docs/mmd-behaviour.md#ik-solve and around it. */
#include "core/pose/ik.h"

static const double gimbal_sine = 0.9993908011319442; /* of 88 degrees */

/* Axes (0 x, 1 y, 2 z) of the three rotations that make up a limited one, outermost first. */
static const int euler_orders[3][3] = {{1, 0, 2}, {2, 1, 0}, {0, 2, 1}};

/* Half of atan2(y, x) of a y that is squared already; `length` is that of (x, y). */
static inline mmd_half_angle half_angle_of_square(double y, double y_square, double x,
                                                  double length)
{
    double side = length + fabs(x), square = side * side + y_square;
    if (!(square > 0))
        return (mmd_half_angle){0, 1};
    double scale = 1 / sqrt(square);
    if (x >= 0)
        return (mmd_half_angle){y * scale, side * scale};
    return (mmd_half_angle){copysign(side, y) * scale, fabs(y) * scale};
}

static inline mmd_half_angle half_angle(double y, double x, double length)
{
    return half_angle_of_square(y, y * y, x, length);
}

static double clamp(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

static double hypotenuse(double x, double y)
{
    return sqrt(x * x + y * y);
}

/* The angle about each axis that is not locked; the others are zero. */
static void split(const double q[4], const mmd_rig_link *link, mmd_half_angle halves[3])
{
    const int *order = euler_orders[link->order];
    int a = order[0], b = order[1], c = order[2];
    double m[3][3];
    mmd_quaternion_matrix(q, m);
    if (!link->limits[a].locked)
        halves[a] = half_angle(m[b][c], m[c][c], hypotenuse(m[b][c], m[c][c]));
    if (!link->limits[b].locked) {
        double sine = clamp(-m[a][c], gimbal_sine);
        halves[b] = half_angle(sine, sqrt(1 - sine * sine), 1);
    }
    if (!link->limits[c].locked)
        halves[c] = half_angle(m[a][b], m[a][a], hypotenuse(m[a][b], m[a][a]));
}

static inline void turn_about(int axis, mmd_half_angle half, double out[4])
{
    mmd_double2_store((mmd_double2){axis == 0 ? half.sine : 0, axis == 1 ? half.sine : 0}, out);
    mmd_double2_store((mmd_double2){axis == 2 ? half.sine : 0, half.cosine}, out + 2);
}

static void join(const mmd_half_angle halves[3], const int order[3], double q[4])
{
    mmd_quaternion_identity(q);
    for (int i = 0; i < 3; i++) {
        const mmd_half_angle *half = &halves[order[i]];
        if (half->sine == 0)
            continue;
        double turn[4];
        turn_about(order[i], *half, turn);
        mmd_quaternion_multiply(q, turn, q);
    }
}

static void bring_back(const mmd_rig_bound *bound, bool mirror, mmd_half_angle *half)
{
    const mmd_half_angle from = *half, *twice = &bound->twice;
    *half = bound->angle;
    if (mirror) {
        half->sine = twice->sine * from.cosine - twice->cosine * from.sine;
        half->cosine = twice->cosine * from.cosine + twice->sine * from.sine;
    }
}

/* Beyond a limit the angle comes back reflected as long as `reflect` holds and there is room. */
static bool limit(const mmd_rig_limit *limits, bool reflect, mmd_half_angle *half)
{
    const mmd_rig_bound *lower = &limits->lower, *upper = &limits->upper;
    bool below = half->sine < lower->sine;
    if (below)
        bring_back(lower, reflect && half->sine >= lower->room, half);
    bool above = half->sine > upper->sine;
    if (above)
        bring_back(upper, reflect && half->sine <= upper->room, half);
    return below || above;
}

static bool holds_zero(const mmd_rig_limit *limits)
{
    return limits->lower.sine <= 0 && limits->upper.sine >= 0;
}

/* docs/mmd-behaviour.md#ik-euler-order and
   docs/mmd-behaviour.md#ik-limits. */
static bool limit_rotation(const mmd_rig_link *link, bool first_half, double own[4])
{
    const int *order = euler_orders[link->order];
    int u = order[2], v = order[0], w = order[1];
    mmd_half_angle halves[3] = {{0, 1}, {0, 1}, {0, 1}};
    if (own[v] == 0 && own[w] == 0 && holds_zero(&link->limits[v]) &&
        holds_zero(&link->limits[w])) {
        /* About the inmost axis alone, as knees turn: the other two angles are zero. */
        halves[u] = (mmd_half_angle){own[3] < 0 ? -own[u] : own[u], fabs(own[3])};
        if (!limit(&link->limits[u], first_half, &halves[u]))
            return false;
    } else {
        split(own, link, halves);
        for (int i = 0; i < 3; i++)
            limit(&link->limits[i], first_half, &halves[i]);
    }
    join(halves, order, own);
    return true;
}

/* Where effector and goal are, as a link sees them. */
typedef struct sight {
    mmd_vector normal;  /* the cross product of both ways */
    double square;      /* its length squared */
    double dot, length; /* their dot product, the product of their lengths */
} sight;

/* False when one of them coincides with the link. */
static inline bool take_aim(const mmd_frame *frame, const mmd_rig_solver *solver, int32_t link,
                            sight *out)
{
    mmd_vector at = mmd_vector_load(frame->bones[link].world_position);
    mmd_vector effector = mmd_vector_load(frame->bones[solver->effector].world_position);
    mmd_vector goal = mmd_vector_load(frame->bones[solver->goal].world_position);
    mmd_vector e = mmd_vector_subtract(at, effector), g = mmd_vector_subtract(at, goal);
    double e_square = mmd_vector_dot(e, e), g_square = mmd_vector_dot(g, g);
    if (!(e_square >= 1.2e-7) || !(g_square >= 1.2e-7))
        return false;
    out->normal = mmd_vector_cross(e, g);
    out->square = mmd_vector_dot(out->normal, out->normal);
    out->dot = mmd_vector_dot(e, g);
    out->length = sqrt(e_square * g_square);
    return true;
}

/* The step about a given axis, on whose positive side the normal is or not. */
static mmd_half_angle half_step(const mmd_rig_link *link, const sight *aim)
{
    if (aim->dot > link->least_cosine * aim->length)
        return half_angle_of_square(sqrt(aim->square), aim->square, aim->dot, aim->length);
    return link->largest;
}

/* A turn in model space: the quaternion (axis, along) of any length, where `square` is that of the
   axis' length, `scale` brings it to length 1, and `factor` is two of that squared. */
typedef struct swing {
    mmd_vector axis;
    double along, square, scale, factor;
} swing;

/* The turn that brings the effector's direction toward the goal's. False: leave the link alone. */
static inline bool swing_freely(const mmd_rig_link *link, const sight *aim, swing *out)
{
    if (!(aim->square > 1e-10 * aim->length * aim->length))
        return false;
    double along = aim->length + aim->dot;
    if (aim->dot > link->least_cosine * aim->length) {
        double square = aim->square + along * along;
        *out = (swing){aim->normal, along, aim->square, 1 / sqrt(square), 2 / square};
    } else {
        mmd_half_angle most = link->largest;
        double scale = most.sine / sqrt(aim->square);
        *out =
            (swing){mmd_vector_scale(aim->normal, scale), most.cosine, most.sine * most.sine, 1, 2};
    }
    return true;
}

/* The turn as a unit quaternion, about the same axis as others see it. */
static inline void turn_by(const swing *by, mmd_vector axis, double turn[4])
{
    axis = mmd_vector_scale(axis, by->scale);
    mmd_double2_store(axis.xy, turn);
    mmd_double2_store((mmd_double2){axis.z, by->along * by->scale}, turn + 2);
}

/* As the link's parent sees it. */
static inline mmd_vector of_parent(const mmd_frame *frame, int32_t link, mmd_vector v)
{
    int32_t parent = frame->rig->bones[link].parent;
    double inverse[4];
    if (parent < 0)
        return v;
    mmd_quaternion_conjugate(frame->bones[parent].world_rotation, inverse);
    return mmd_vector_rotate(inverse, v);
}

/* About the one axis of the link's limits: a turn in the frame of its parent, and `by` is the same
   in model space. */
static inline void turn_about_single(const mmd_frame *frame, const mmd_rig_link *link,
                                     const sight *aim, double turn[4], swing *by)
{
    int32_t parent = frame->rig->bones[link->bone].parent;
    mmd_half_angle half = half_step(link, aim);
    mmd_vector axis = {{link->single_axis == 0, link->single_axis == 1}, link->single_axis == 2};
    if (parent >= 0)
        axis = mmd_vector_rotate(frame->bones[parent].world_rotation, axis);
    if (mmd_vector_dot(axis, aim->normal) < 0)
        half.sine = -half.sine;
    turn_about(link->single_axis, half, turn);
    *by = (swing){mmd_vector_scale(axis, half.sine), half.cosine, half.sine * half.sine, 1, 2};
}

/* About the link's fixed axis. False: leave the link alone. */
static inline bool turn_about_fixed(const mmd_frame *frame, const mmd_rig_link *link,
                                    const sight *aim, double turn[4])
{
    const double *axis = frame->rig->bones[link->bone].axis;
    mmd_vector n = of_parent(frame, link->bone, aim->normal);
    double sine = sqrt(aim->square);
    if (!(sine > 0))
        return false;
    double angle = atan2(sine, aim->dot) * mmd_vector_dot(mmd_vector_load(axis), n) / sine;
    mmd_quaternion_about(axis, clamp(angle, link->most), turn);
    return true;
}

/* False when limits have made it another turn. */
static bool turn_link(mmd_frame *frame, const mmd_rig_link *link, const double turn[4],
                      bool first_half, bool first)
{
    mmd_posed_bone *posed = &frame->bones[link->bone];
    double *own = posed->own_rotation;
    bool remembers = frame->rig->bones[link->bone].fed;
    if (remembers && first)
        mmd_quaternion_multiply(posed->memory, own, own);
    mmd_quaternion_multiply(turn, own, own);
    /* One Newton step to length 1, which a product of unit quaternions misses by rounding only. */
    mmd_double2 xy = mmd_double2_load(own), zw = mmd_double2_load(own + 2);
    mmd_double2 squares = xy * xy, others = zw * zw;
    double excess = 0.5 * (squares[0] + squares[1] + others[0] + others[1] - 1);
    mmd_double2_store(xy - excess * xy, own);
    mmd_double2_store(zw - excess * zw, own + 2);
    bool changed = link->limited && limit_rotation(link, first_half, own);
    if (remembers)
        memcpy(posed->memory, own, sizeof posed->memory);
    return !changed;
}

/* A solve under way. What a step waits for is where the last one has brought the effector. So a
   chain swings as a whole about a link that turns freely: places and rotations in model space, from
   which the link's own rotation is taken when it is asked for. */
typedef struct solve {
    mmd_frame *frame;
    const mmd_rig_solver *solver;
    bool turned[MMD_MAX_LINKS]; /* links */
    bool swung[MMD_MAX_LINKS];  /* since their own rotation was taken */
} solve;

static inline void refresh(mmd_frame *frame, const int32_t *bones, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mmd_evaluate_bone(frame, bones[i]);
}

/* From the follower `first` on, which has turned where it was. Nothing reads the effector's
   rotation. */
static void place_chain(solve *s, size_t first)
{
    const int32_t *bones = s->solver->inner_follower;
    mmd_turn_bone(s->frame, bones[first]);
    for (size_t i = first + 1; i + 1 < s->solver->inner_followers; i++)
        mmd_place_bone(s->frame, bones[i]);
    mmd_move_bone(s->frame, s->solver->effector);
}

/* The columns of along [axis] + [axis][axis], where [axis] v is axis x v. */
static inline void swing_columns(const swing *by, mmd_vector columns[3])
{
    double x = by->axis.xy[0], y = by->axis.xy[1], z = by->axis.z;
    double along_x = by->along * x, along_y = by->along * y, along_z = by->along * z;
    columns[0] = (mmd_vector){{x * x - by->square, x * y + along_z}, x * z - along_y};
    columns[1] = (mmd_vector){{x * y - along_z, y * y - by->square}, y * z + along_x};
    columns[2] = (mmd_vector){{x * z + along_y, y * z - along_x}, z * z - by->square};
}

/* The followers from `first` on turn, and those behind it go with it:
   v + factor (along [axis] + [axis][axis]) v. */
static inline void swing_chain(solve *s, size_t first, const swing *by)
{
    mmd_posed_bone *bones = s->frame->bones;
    const int32_t *followers = s->solver->inner_follower;
    mmd_posed_bone *posed = &bones[followers[first]];
    mmd_vector centre = mmd_vector_load(posed->world_position), columns[3];
    double turn[4];
    swing_columns(by, columns);
    turn_by(by, by->axis, turn);
    for (size_t i = first + 1; i < s->solver->inner_followers; i++) {
        mmd_posed_bone *next = &bones[followers[i]];
        mmd_vector from = mmd_vector_load(next->world_position);
        mmd_vector v = mmd_vector_subtract(from, centre);
        mmd_vector way = mmd_vector_add(mmd_vector_add(mmd_vector_scale(columns[0], v.xy[0]),
                                                       mmd_vector_scale(columns[1], v.xy[1])),
                                        mmd_vector_scale(columns[2], v.z));
        mmd_vector_store(mmd_vector_add(from, mmd_vector_scale(way, by->factor)),
                         next->world_position);
        mmd_quaternion_multiply(turn, posed->world_rotation, posed->world_rotation);
        posed = next;
    }
}

/* Takes the own rotations of links that have swung, from the follower `first` on. */
static void settle(solve *s, size_t first)
{
    for (size_t k = 0; k < s->solver->link_count; k++) {
        const mmd_rig_link *link = &s->solver->links[k];
        mmd_posed_bone *posed = &s->frame->bones[link->bone];
        int32_t parent = s->frame->rig->bones[link->bone].parent;
        double inverse[4] = {0, 0, 0, 1};
        if (!s->swung[k] || link->first_follower < first)
            continue;
        s->swung[k] = false;
        if (parent >= 0)
            mmd_quaternion_conjugate(s->frame->bones[parent].world_rotation, inverse);
        mmd_quaternion_multiply(inverse, posed->world_rotation, posed->own_rotation);
        mmd_quaternion_normalize(posed->own_rotation);
        memcpy(posed->memory, posed->own_rotation, sizeof posed->memory);
    }
}

/* Places what hangs on the k-th link, which has turned. */
static void follow(solve *s, size_t k)
{
    const mmd_rig_solver *solver = s->solver;
    const mmd_rig_link *link = &solver->links[k];
    size_t first = link->first_follower;
    if (!solver->chain) {
        refresh(s->frame, solver->inner_follower + first, solver->inner_followers - first);
        return;
    }
    /* Its own place depends on bones before it only: it is current once it was turned. */
    if (!s->turned[k])
        mmd_move_bone(s->frame, link->bone);
    place_chain(s, first);
}

/* Turns one link. False when the whole solve is to end. */
static bool solve_link(solve *s, size_t k, bool first_half)
{
    const mmd_rig_solver *solver = s->solver;
    const mmd_rig_link *link = &solver->links[k];
    mmd_frame *frame = s->frame;
    bool single = link->limited && link->single_axis >= 0 && first_half;
    bool fixed = !single && frame->rig->bones[link->bone].has_axis;
    bool swings = solver->chain && s->turned[k];
    swing by = {.factor = 0};
    double turn[4];
    sight aim;
    if (link->bone == solver->effector || !take_aim(frame, solver, link->bone, &aim))
        return true;
    /* The end of docs/mmd-behaviour.md#ik-solve: directions 1e-7 apart, squared. */
    if (2 * (aim.length - aim.dot) < 1e-7 * aim.length)
        return false;
    if (!single && !fixed && !swing_freely(link, &aim, &by))
        return true;
    if (!single && !fixed && swings && !link->limited) {
        swing_chain(s, link->first_follower, &by);
        s->swung[k] = true;
        return true;
    }
    settle(s, link->first_follower);
    if (single)
        turn_about_single(frame, link, &aim, turn, &by);
    else if (!fixed)
        turn_by(&by, of_parent(frame, link->bone, by.axis), turn);
    else if (!turn_about_fixed(frame, link, &aim, turn))
        return true;
    bool kept = turn_link(frame, link, turn, first_half, !s->turned[k]);
    if (single && swings && kept)
        swing_chain(s, link->first_follower, &by);
    else
        follow(s, k);
    s->turned[k] = true;
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
    solve s = {.frame = frame, .solver = solver};
    bool going = true;
    for (int32_t i = 0; going && i < solver->iterations; i++)
        for (size_t k = 0; going && k < solver->link_count; k++)
            going = solve_link(&s, k, i < solver->iterations / 2);
    settle(&s, 0);
    refresh(frame, solver->follower, solver->followers);
}
