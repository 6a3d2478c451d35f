/* SPDX-License-Identifier: MIT */
/* The light and the self-shadow of a motion: docs/mmd-behavior.md#camera-light-shadow. */
#include "core/pose/sampling.h"

/* What MMD's panel of the self-shadow shows as 8875 (docs/mmd-behavior.md#vmd). */
static const double DEFAULT_SHADOW_DISTANCE = 0.1 - 8875 * 0.00001;

/* The key at or before a frame, and how far the frame is to the next one: keys on neighboring
   frames are a cut. */
static size_t find_key(const uint32_t *frames, size_t count, double frame, double *fraction)
{
    size_t cursor = 0, at = mmd_sampling_key_before(frames, count, frame, &cursor);
    *fraction = mmd_sampling_key_fraction(frames, count, at, frame);
    if (*fraction > 0 && frames[at + 1] - frames[at] <= 1)
        *fraction = 0;
    return at;
}

static double mix(double from, double to, double x)
{
    return from + (to - from) * x;
}

void mmd_light_at(const mmd_light_track *track, double frame, mmd_light *out)
{
    if (!out)
        return;
    static const mmd_light unset = {.color = {154 / 255.0, 154 / 255.0, 154 / 255.0},
                                    .direction = {-0.5, -1, 0.5}};
    *out = unset;
    if (!track || !track->key_count)
        return;
    double x;
    size_t at = find_key(track->frames, track->key_count, frame, &x), next = at + (x > 0);
    for (size_t i = 0; i < 3; i++) {
        out->color[i] = mix(track->colors[3 * at + i], track->colors[3 * next + i], x);
        out->direction[i] = mix(track->directions[3 * at + i], track->directions[3 * next + i], x);
    }
}

void mmd_shadow_at(const mmd_shadow_track *track, double frame, mmd_shadow *out)
{
    if (!out)
        return;
    *out = (mmd_shadow){.mode = 0, .distance = DEFAULT_SHADOW_DISTANCE};
    if (!track || !track->key_count)
        return;
    double x;
    size_t at = find_key(track->frames, track->key_count, frame, &x), next = at + (x > 0);
    out->mode = track->modes[at];
    out->distance = mix(track->distances[at], track->distances[next], x);
}
