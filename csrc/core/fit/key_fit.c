/* SPDX-License-Identifier: MIT */
/* Key reduction, greedy: from each key the farthest frame to which every channel has a curve. A
   shortest path over all segments saves at most one key of 660 and costs twenty times as much.

   Whether curves of integers exist is not monotonic in the length of a segment, but whether curves
   of real numbers exist is. So the search gallops and bisects by real curves, then takes the first
   frame downwards that has curves of integers.

   A tremble as large as the tolerance defeats this: real curves seem to reach far, and every try
   downwards fails. So each frame adds to a credit of work, and every search pays from it. What is
   left when the search downwards ends without a curve pays for a gallop by curves of integers. */
#include "core/fit/fit.h"

#include "core/formats/track.h"

#include <math.h>
#include <string.h>

/* The integer search starts this many frames beyond the farthest segment that real control points
   reach. */
enum { EXTRA_FRAMES = 3 };

/* Work, in units of about a nanosecond. */
enum {
    FIRST_CREDIT = 6000000,  /* before the first key */
    MAX_CREDIT = 40000000,   /* what one key can take */
    GALLOP_CREDIT = 1000000, /* kept for the gallop by integers */
    SLICE = 20000000,        /* of mmd_key_fit_continue() */
    SCALAR_WORK = 4,         /* of a sample of a tube */
    ROTATION_WORK = 40,
};

static const double MIN_CHANGE = 1e-12;    /* below it a channel is constant between two keys */
static const double MIN_HALF_ANGLE = 5e-8; /* float32 quaternions resolve no less */
/* Half of an angle, as quaternions have it: beyond it rounding would choose the direction. */
static const double MAX_HALF_ANGLE = 1.57;

/* Intersects the tube with that of one column: lower, upper = (v_k - v_a -+ tolerance) / change.
   Pays for the samples up to the first that leaves no tube, as rotation_tube() does. */
static bool narrow_tube(const double *values, size_t stride, size_t n, double from, double to,
                        double tolerance, double *lower, double *upper, int64_t *credit)
{
    double change = to - from;
    for (size_t k = 1; k < n; k++) {
        *credit -= SCALAR_WORK;
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
                          double *upper, int64_t *credit)
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
        *credit -= ROTATION_WORK;
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

/* Computes the tube of a channel from frame a on over n frames. False when no curve can be in it.
 */
static bool channel_tube(const mmd_key_fit_channel *channel, mmd_curve_fit_scratch *scratch,
                         size_t a, size_t n)
{
    size_t columns = channel->columns;
    const double *samples = channel->values + a * columns;
    double *lower = scratch->lower, *upper = scratch->upper;
    int64_t *credit = &scratch->credit;
    if (channel->kind == MMD_CHANNEL_ROTATION)
        return rotation_tube(samples, n, channel->tolerance, lower, upper, credit);
    open_tube(n, lower, upper);
    for (size_t i = 0; i < columns; i++) {
        double from = samples[i], to = samples[n * columns + i];
        if (channel->kind == MMD_CHANNEL_INTEGER)
            from = rint(from), to = rint(to);
        if (!narrow_tube(samples + i, columns, n, from, to, channel->tolerance, lower, upper,
                         credit))
            return false;
    }
    return true;
}

/* Finds curves of integers between two frames; where there are none, leaves `curves` as they are.
   NULL: only whether real-valued curves fit all tubes, up to grid_violation. */
static bool fit_segment(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch, size_t a, size_t b,
                        uint8_t *curves)
{
    uint8_t found[4 * MMD_TRACK_CHANNELS];
    for (size_t c = 0; c < fit->channel_count; c++)
        if (!channel_tube(&fit->channels[c], scratch, a, b - a) ||
            !(curves ? mmd_curve_fit(scratch, b - a, found + 4 * c)
                     : mmd_curve_fit_exists(scratch, b - a)))
            return false;
    if (curves)
        memcpy(curves, found, 4 * fit->channel_count);
    return true;
}

static bool segment_still_fits(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch,
                               const mmd_key_fit_segment *segment)
{
    size_t a = segment->first, n = segment->last - segment->first;
    for (size_t c = 0; c < fit->channel_count; c++)
        if (!channel_tube(&fit->channels[c], scratch, a, n) ||
            !mmd_curve_fit_is_within(scratch, n, segment->curves + 4 * c))
            return false;
    return true;
}

/* The farthest frame in (a, last] that curves reach, about, while there is credit: real curves, or,
   where `curves` is not NULL, those of integers, which it writes. */
static size_t farthest(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch, size_t a,
                       size_t last, uint8_t *curves)
{
    size_t reached = a + 1, unreached = last + 1;
    for (size_t step = 1; unreached - reached > 1 && scratch->credit >= 0; step *= 2) {
        size_t b = reached + step;
        if (unreached <= last) /* bisect */
            b = reached + (unreached - reached) / 2;
        else if (b > last)
            b = last;
        if (fit_segment(fit, scratch, a, b, curves))
            reached = b;
        else
            unreached = b;
    }
    return reached;
}

/* The end of a segment in (a + 1, last] whose curves of integers are written, or a + 1. The farther
   below the end of real curves, the longer the steps: n frames take about 8 ln n tries. */
static size_t search_downwards(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch, size_t a,
                               size_t last, uint8_t *curves)
{
    size_t top = farthest(fit, scratch, a, last, NULL) + EXTRA_FRAMES;
    top = top < last ? top : last;
    for (size_t b = top, step; b > a + 1 && scratch->credit >= 0;
         b = b > a + 1 + step ? b - step : a + 1) {
        step = 1 + (top - b) / 8;
        if (fit_segment(fit, scratch, a, b, curves))
            return b;
    }
    return a + 1;
}

/* The last frame that a segment from a may end at: before the next cut. */
static size_t last_before_cut(const mmd_key_fit *fit, mmd_key_fit_keys *keys, size_t a)
{
    size_t last = a + MMD_CURVE_MAX_FRAMES - 1;
    if (keys->next_cut <= a)
        keys->next_cut = a + 1;
    while (fit->cuts && keys->next_cut < fit->frame_count && !fit->cuts[keys->next_cut])
        keys->next_cut++;
    size_t end = fit->cuts ? keys->next_cut : fit->frame_count;
    return last < end - 1 ? last : end - 1;
}

/* The end of the segment from a, at most `last`, whose curves are written. */
static size_t next_key(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch, size_t a,
                       size_t last, uint8_t *curves)
{
    size_t b = a + 1;
    /* Any curve will do between neighboring frames, as those of a cut. */
    for (size_t c = 0; c < fit->channel_count; c++)
        memcpy(curves + 4 * c, mmd_motion_linear_curves, 4);
    if (last <= a + 1)
        return b;
    scratch->credit -= GALLOP_CREDIT;
    if (scratch->credit >= 0)
        b = search_downwards(fit, scratch, a, last, curves);
    scratch->credit += GALLOP_CREDIT;
    if (b == a + 1)
        b = farthest(fit, scratch, a, last, curves);
    /* Leave no single frame before a cut or the end. */
    if (fit->avoid_neighbors && b + 1 == last && b > a + 2 &&
        fit_segment(fit, scratch, a, b - 1, curves))
        b--;
    return b;
}

/* How many keys one column of a channel needs: without the last ones that repeat the one before. */
static size_t needed_keys(const mmd_key_fit_channel *channel, size_t column, size_t frame_count,
                          const uint32_t *frames, size_t count)
{
    const double *values = channel->values + column;
    double limit = channel->tolerance / (channel->kind == MMD_CHANNEL_ROTATION ? 4 : 1);
    double least = INFINITY, most = -INFINITY; /* of the frames from i on */
    for (size_t i = frame_count; count > 1; count--) {
        for (; i > frames[count - 2]; i--) {
            least = fmin(least, values[(i - 1) * channel->columns]);
            most = fmax(most, values[(i - 1) * channel->columns]);
        }
        double key = values[i * channel->columns];
        if (channel->kind == MMD_CHANNEL_INTEGER)
            key = rint(key);
        if (most - key > limit || key - least > limit)
            break;
    }
    return count;
}

/* Adds the next key, and returns its frame. */
static size_t add_key(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch,
                      mmd_key_fit_keys *keys)
{
    size_t row = 4 * fit->channel_count, a = keys->frames[keys->count - 1];
    size_t last = last_before_cut(fit, keys, a);
    uint8_t *to = keys->curves + row * keys->count;
    while (keys->earlier < fit->earlier_count && fit->earlier[keys->earlier].first < a)
        keys->earlier++;
    const mmd_key_fit_segment *kept = fit->earlier + keys->earlier;
    size_t next = keys->earlier, b;
    while (next < fit->earlier_count && fit->earlier[next].first == a)
        next++;
    if (next > keys->earlier && kept->last <= last && segment_still_fits(fit, scratch, kept)) {
        memcpy(to, kept->curves, row);
        b = kept->last;
    } else {
        /* New segments end where an earlier one begins, so that an edit does not spread. */
        if (next < fit->earlier_count && fit->earlier[next].first < last)
            last = fit->earlier[next].first;
        b = next_key(fit, scratch, a, last, to);
    }
    keys->frames[keys->count++] = (uint32_t)b;
    return b;
}

bool mmd_key_fit_continue(const mmd_key_fit *fit, mmd_curve_fit_scratch *scratch,
                          mmd_key_fit_keys *keys)
{
    int64_t *credit = &scratch->credit, work = 0;
    if (keys->count == 0) {
        keys->frames[keys->count++] = 0;
        keys->credit = FIRST_CREDIT;
        for (size_t c = 0; c < fit->channel_count; c++)
            memcpy(keys->curves + 4 * c, mmd_motion_linear_curves, 4);
    }
    *credit = keys->credit;
    scratch->last_chunk = keys->last_chunk;
    size_t a = keys->frames[keys->count - 1];
    while (a + 1 < fit->frame_count && work < SLICE) {
        int64_t before = *credit;
        size_t b = add_key(fit, scratch, keys);
        work += before - *credit;
        *credit += (int64_t)(b - a) * keys->frame_credit;
        *credit = *credit < MAX_CREDIT ? *credit : MAX_CREDIT;
        a = b;
    }
    keys->credit = *credit;
    keys->last_chunk = scratch->last_chunk;
    if (a + 1 < fit->frame_count)
        return false;
    size_t needed = 1;
    for (size_t c = 0; c < fit->channel_count; c++)
        for (size_t i = 0; i < fit->channels[c].columns; i++) {
            size_t of_column =
                needed_keys(&fit->channels[c], i, fit->frame_count, keys->frames, keys->count);
            needed = of_column > needed ? of_column : needed;
        }
    keys->count = needed;
    return true;
}

enum { PATIENCE = 100 };

/* The farthest frame whose line from frame a passes all frames before within tolerance. */
static size_t farthest_line(const double *values, size_t frame_count, size_t a, double tolerance)
{
    double least = -INFINITY, most = INFINITY; /* slopes that pass the frames so far */
    size_t reached = a + 1;
    /* Lines that no frame has reached for long are given up, so that the work is in proportion to
       the frames. */
    for (size_t b = a + 1; b < frame_count && b - reached <= PATIENCE + 4 * (reached - a); b++) {
        double n = (double)(b - a), moved = values[b] - values[a];
        if (moved / n >= least && moved / n <= most)
            reached = b;
        least = fmax(least, (moved - tolerance) / n);
        most = fmin(most, (moved + tolerance) / n);
        if (least > most)
            break;
    }
    return reached;
}

size_t mmd_key_fit_lines(const double *values, size_t frame_count, double tolerance,
                         uint32_t *frames)
{
    const mmd_key_fit_channel channel = {MMD_CHANNEL_SCALARS, 1, values, tolerance};
    size_t count = 1;
    frames[0] = 0;
    for (size_t a = 0; a + 1 < frame_count; count++)
        frames[count] = (uint32_t)(a = farthest_line(values, frame_count, a, tolerance));
    return needed_keys(&channel, 0, frame_count, frames, count);
}
