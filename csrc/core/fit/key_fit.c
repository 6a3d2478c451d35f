/* SPDX-License-Identifier: MIT */
/* Key reduction, greedy: from each key the farthest frame to which every channel has a curve. A
   shortest path over all segments saves at most one key of 660 and costs twenty times as much.

   Whether curves of integers exist is not monotonic in the length of a segment, but whether curves
   of real numbers exist is. So the search gallops and bisects by real curves, then takes the first
   frame downwards that has curves of integers. */
#include "core/fit/key_fit.h"

#include "core/formats/track.h"

#include <math.h>
#include <string.h>

/* The integer search starts this many frames beyond the farthest segment that real control points
   reach. */
enum { EXTRA_FRAMES = 3 };

static const double MIN_CHANGE = 1e-12;    /* below it a channel is constant between two keys */
static const double MIN_HALF_ANGLE = 5e-8; /* float32 quaternions resolve no less */
/* Half of an angle, as quaternions have it: beyond it rounding would choose the direction. */
static const double MAX_HALF_ANGLE = 1.57;

bool mmd_key_fit_scratch_init(mmd_arena *arena, const mmd_curve_fit_tables *tables,
                              size_t frame_count, mmd_key_fit_scratch *scratch)
{
    size_t most = frame_count < MMD_CURVE_MAX_FRAMES ? frame_count : MMD_CURVE_MAX_FRAMES;
    scratch->lower = mmd_arena_alloc(arena, most + 1, sizeof *scratch->lower);
    scratch->upper = mmd_arena_alloc(arena, most + 1, sizeof *scratch->upper);
    return scratch->lower && scratch->upper &&
           mmd_curve_fit_scratch_init(arena, tables, most, &scratch->curve);
}

/* Intersects the tube with that of one column: lower, upper = (v_k - v_a -+ tolerance) / change. */
static bool narrow_tube(const double *values, size_t stride, size_t n, double from, double to,
                        double tolerance, double *lower, double *upper)
{
    double change = to - from;
    for (size_t k = 1; k < n; k++) {
        double moved = values[k * stride] - from;
        if (fabs(change) < MIN_CHANGE) {
            if (fabs(moved) > tolerance)
                return false;
            continue;
        }
        double a = (moved - tolerance) / change, b = (moved + tolerance) / change;
        lower[k - 1] = fmax(lower[k - 1], fmin(a, b));
        upper[k - 1] = fmin(upper[k - 1], fmax(a, b));
        if (lower[k - 1] > upper[k - 1])
            return false;
    }
    return true;
}

static void open_tube(size_t n, double *lower, double *upper)
{
    for (size_t k = 0; k + 1 < n; k++)
        lower[k] = 0, upper[k] = 1;
}

/* The tube of the slerp from q_a to q_b of half angle theta. With e the unit quaternion across q_a
   towards q_b, a sample has u = q.q_a and w = q.e; it is off the arc by sqrt(1 - u^2 - w^2), and
   along it at atan2(w, u). */
static bool rotation_tube(const double *samples, size_t n, double tolerance, double *lower,
                          double *upper)
{
    const double *a = samples, *b = samples + 4 * n;
    double dot = 0, across[4], square = 0, half_tolerance = fmax(tolerance / 2, MIN_HALF_ANGLE);
    for (int i = 0; i < 4; i++)
        dot += a[i] * b[i];
    double sign = dot < 0 ? -1 : 1;
    dot *= sign;
    for (int i = 0; i < 4; i++) {
        across[i] = sign * b[i] - dot * a[i];
        square += across[i] * across[i];
    }
    double length = sqrt(square), half_angle = atan2(length, dot);
    if (half_angle > MAX_HALF_ANGLE)
        return false;
    bool constant = length <= MIN_CHANGE || half_angle < 1e-9;
    for (size_t k = 1; k < n; k++) {
        const double *q = samples + 4 * k;
        double u = 0, w = 0;
        for (int i = 0; i < 4; i++) {
            u += q[i] * a[i];
            w += q[i] * across[i];
        }
        if (constant) {
            if (acos(fmin(fabs(u), 1)) > half_tolerance)
                return false;
            lower[k - 1] = 0, upper[k - 1] = 1;
            continue;
        }
        w /= length;
        if (u < 0)
            u = -u, w = -w;
        double squared_residual = fmax(1 - u * u - w * w, 0);
        if (squared_residual > half_tolerance * half_tolerance)
            return false;
        double slack = sqrt(half_tolerance * half_tolerance - squared_residual), at = atan2(w, u);
        lower[k - 1] = (at - slack) / half_angle;
        upper[k - 1] = (at + slack) / half_angle;
    }
    return true;
}

/* The tube of a channel from frame a on over n frames. False when no curve can be in it. */
static bool channel_tube(const mmd_key_fit_channel *channel, size_t a, size_t n, double *lower,
                         double *upper)
{
    size_t columns = channel->columns;
    const double *samples = channel->values + a * columns;
    if (channel->kind == MMD_CHANNEL_ROTATION)
        return rotation_tube(samples, n, channel->tolerance, lower, upper);
    open_tube(n, lower, upper);
    for (size_t i = 0; i < columns; i++) {
        double from = samples[i], to = samples[n * columns + i];
        if (channel->kind == MMD_CHANNEL_INTEGER)
            from = rint(from), to = rint(to);
        if (!narrow_tube(samples + i, columns, n, from, to, channel->tolerance, lower, upper))
            return false;
    }
    return true;
}

/* Whether real-valued curves fit all tubes between two frames, up to grid_violation. */
static bool segment_exists(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch, size_t a, size_t b)
{
    for (size_t c = 0; c < fit->channel_count; c++)
        if (!channel_tube(&fit->channels[c], a, b - a, scratch->lower, scratch->upper) ||
            !mmd_curve_fit_exists(&scratch->curve, b - a, scratch->lower, scratch->upper))
            return false;
    return true;
}

static bool fit_segment(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch, size_t a, size_t b,
                        uint8_t *curves)
{
    for (size_t c = 0; c < fit->channel_count; c++)
        if (!channel_tube(&fit->channels[c], a, b - a, scratch->lower, scratch->upper) ||
            !mmd_curve_fit(&scratch->curve, b - a, scratch->lower, scratch->upper, curves + 4 * c))
            return false;
    return true;
}

static bool segment_still_fits(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch,
                               const mmd_key_fit_segment *segment)
{
    size_t a = segment->first, n = segment->last - segment->first;
    for (size_t c = 0; c < fit->channel_count; c++)
        if (!channel_tube(&fit->channels[c], a, n, scratch->lower, scratch->upper) ||
            !mmd_curve_fit_is_within(segment->curves + 4 * c, n, scratch->lower, scratch->upper))
            return false;
    return true;
}

/* The farthest frame in (a, last] that real curves reach, about. */
static size_t farthest(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch, size_t a, size_t last)
{
    size_t reached = a + 1, unreached = last + 1;
    for (size_t step = 1; reached < last && unreached > last; step *= 2) {
        size_t b = reached + step < last ? reached + step : last;
        if (segment_exists(fit, scratch, a, b))
            reached = b;
        else
            unreached = b;
    }
    while (unreached - reached > 1) {
        size_t b = reached + (unreached - reached) / 2;
        if (segment_exists(fit, scratch, a, b))
            reached = b;
        else
            unreached = b;
    }
    return reached;
}

/* The last frame that a segment from a may end at: before the next cut. */
static size_t last_before_cut(const mmd_key_fit *fit, size_t a)
{
    size_t last = a + MMD_CURVE_MAX_FRAMES - 1;
    if (last > fit->frame_count - 1)
        last = fit->frame_count - 1;
    for (size_t i = a + 1; fit->cuts && i <= last; i++)
        if (fit->cuts[i])
            return i - 1;
    return last;
}

/* The end of the segment from a, at most `limit`, whose curves are written. */
static size_t next_key(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch, size_t a, size_t limit,
                       uint8_t *curves)
{
    size_t last = last_before_cut(fit, a);
    last = last < limit ? last : limit;
    if (last <= a) { /* a cut: any curve will do between neighboring frames */
        for (size_t c = 0; c < fit->channel_count; c++)
            memcpy(curves + 4 * c, mmd_track_linear_curves, 4);
        return a + 1;
    }
    size_t top = farthest(fit, scratch, a, last) + EXTRA_FRAMES;
    top = top < last ? top : last;
    /* The farther below, the longer the steps: n frames take about 8 ln n tries. */
    for (size_t b = top, step = 1; b > a + 1; b = b > a + 1 + step ? b - step : a + 1) {
        step = 1 + (top - b) / 8;
        if (!fit_segment(fit, scratch, a, b, curves))
            continue;
        /* Leave no single frame before a cut or the end. */
        uint8_t shorter[4 * MMD_TRACK_CHANNELS];
        if (fit->avoid_neighbors && b + 1 == last && b > a + 2 &&
            fit_segment(fit, scratch, a, b - 1, shorter)) {
            memcpy(curves, shorter, 4 * fit->channel_count);
            b--;
        }
        return b;
    }
    for (size_t c = 0; c < fit->channel_count; c++)
        memcpy(curves + 4 * c, mmd_track_linear_curves, 4);
    return a + 1;
}

/* The least and largest value of each column, of the frames that have been added. */
typedef struct value_range {
    double least[MMD_TRACK_CHANNELS][MMD_CHANNEL_COLUMNS];
    double most[MMD_TRACK_CHANNELS][MMD_CHANNEL_COLUMNS];
} value_range;

static void add_to_range(const mmd_key_fit *fit, size_t first, size_t end, value_range *range)
{
    for (size_t c = 0; c < fit->channel_count; c++)
        for (size_t i = first; i < end; i++)
            for (size_t k = 0; k < fit->channels[c].columns; k++) {
                double value = fit->channels[c].values[i * fit->channels[c].columns + k];
                range->least[c][k] = fmin(range->least[c][k], value);
                range->most[c][k] = fmax(range->most[c][k], value);
            }
}

/* Whether all values of the range are within tolerance of those of frame a. */
static bool is_constant_from(const mmd_key_fit *fit, size_t a, const value_range *range)
{
    for (size_t c = 0; c < fit->channel_count; c++) {
        const mmd_key_fit_channel *channel = &fit->channels[c];
        double limit = channel->tolerance / (channel->kind == MMD_CHANNEL_ROTATION ? 4 : 1);
        for (size_t k = 0; k < channel->columns; k++) {
            double key = channel->values[a * channel->columns + k];
            if (channel->kind == MMD_CHANNEL_INTEGER)
                key = rint(key);
            if (range->most[c][k] - key > limit || key - range->least[c][k] > limit)
                return false;
        }
    }
    return true;
}

/* How many of the keys remain without the last ones that repeat the key before. */
static size_t without_repeated_keys(const mmd_key_fit *fit, const uint32_t *frames, size_t count)
{
    value_range range;
    size_t end = fit->frame_count;
    for (size_t c = 0; c < MMD_TRACK_CHANNELS; c++)
        for (size_t k = 0; k < MMD_CHANNEL_COLUMNS; k++)
            range.least[c][k] = INFINITY, range.most[c][k] = -INFINITY;
    for (; count > 1; count--) {
        size_t a = frames[count - 2];
        add_to_range(fit, a, end, &range);
        if (!is_constant_from(fit, a, &range))
            break;
        end = a;
    }
    return count;
}

size_t mmd_key_fit_run(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch, uint32_t *frames,
                       uint8_t *curves)
{
    size_t count = 1, row = 4 * fit->channel_count, earlier = 0;
    frames[0] = 0;
    for (size_t c = 0; c < fit->channel_count; c++)
        memcpy(curves + 4 * c, mmd_track_linear_curves, 4);
    for (size_t a = 0; a + 1 < fit->frame_count; count++) {
        uint8_t *to = curves + row * count;
        while (earlier < fit->earlier_count && fit->earlier[earlier].first < a)
            earlier++;
        /* New segments end where an earlier one begins, so that an edit does not spread. */
        size_t next = earlier;
        while (next < fit->earlier_count && fit->earlier[next].first == a)
            next++;
        size_t limit = next < fit->earlier_count ? fit->earlier[next].first : fit->frame_count - 1;
        const mmd_key_fit_segment *kept = fit->earlier + earlier;
        if (earlier < fit->earlier_count && kept->first == a &&
            kept->last <= last_before_cut(fit, a) && segment_still_fits(fit, scratch, kept)) {
            memcpy(to, kept->curves, row);
            a = kept->last;
        } else {
            a = next_key(fit, scratch, a, limit, to);
        }
        frames[count] = (uint32_t)a;
    }
    return without_repeated_keys(fit, frames, count);
}

/* Narrows the slopes of lines from frame a that pass frame b within tolerance; whether the line to
   b itself is among those that have passed all frames before. */
static bool line_reaches(const double *values, size_t columns, size_t a, size_t b, double tolerance,
                         double *least, double *most)
{
    double n = (double)(b - a);
    bool within = true, possible = true;
    for (size_t i = 0; i < columns; i++) {
        double moved = values[b * columns + i] - values[a * columns + i], slope = moved / n;
        within = within && slope >= least[i] && slope <= most[i];
        least[i] = fmax(least[i], (moved - tolerance) / n);
        most[i] = fmin(most[i], (moved + tolerance) / n);
        possible = possible && least[i] <= most[i];
    }
    if (!possible)
        least[0] = INFINITY; /* ends the search */
    return within;
}

size_t mmd_key_fit_lines(const double *values, size_t frame_count, size_t columns, double tolerance,
                         uint32_t *frames)
{
    size_t count = 1;
    frames[0] = 0;
    for (size_t a = 0; a + 1 < frame_count;) {
        double least[MMD_TRACK_CHANNELS], most[MMD_TRACK_CHANNELS];
        size_t reached = a + 1;
        for (size_t i = 0; i < columns; i++)
            least[i] = -INFINITY, most[i] = INFINITY;
        for (size_t b = a + 1; b < frame_count && least[0] < INFINITY; b++)
            if (line_reaches(values, columns, a, b, tolerance, least, most))
                reached = b;
        a = reached;
        frames[count++] = (uint32_t)a;
    }
    while (count > 1) {
        const double *at = values + frames[count - 2] * columns;
        for (size_t i = frames[count - 2] * columns; i < frame_count * columns; i++)
            if (fabs(values[i] - at[i % columns]) > tolerance)
                return count;
        count--;
    }
    return count;
}
