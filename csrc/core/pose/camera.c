/* SPDX-License-Identifier: MIT */
/* The camera, light and self-shadow of a motion: docs/mmd-behavior.md#camera-light-shadow. */
#include "core/math/scalar.h"
#include "core/pose/sampling.h"

#include <math.h>

/* The least distance of the target, relative to the position: floats resolve the direction. */
static const double MIN_TARGET_DISTANCE = 1.0 / 4096;

/* The values of a key, or between keys. */
typedef struct camera_key {
    double target[3], rotation[3], distance, view_angle;
} camera_key;

static camera_key key_at(const mmd_camera_track *track, size_t at)
{
    camera_key key = {.distance = track->distances[at], .view_angle = track->view_angles[at]};
    for (size_t i = 0; i < 3; i++) {
        key.target[i] = track->targets[3 * at + i];
        key.rotation[i] = track->rotations[3 * at + i];
    }
    return key;
}

/* Moves a value towards that of the later key by a curve of that key. */
static void interpolate(double *from, double to, const uint8_t row[4], double x)
{
    if (to != *from)
        *from += (to - *from) * mmd_sampling_bezier(row, x);
}

/* The key at or before a frame, and how far the frame is to the next one: keys on neighboring
   frames are a cut (docs/mmd-behavior.md#camera-light-shadow). */
static size_t find_key(const uint32_t *frames, size_t count, double frame, double *fraction)
{
    size_t cursor = 0, at = mmd_sampling_key_before(frames, count, frame, &cursor);
    *fraction = mmd_sampling_key_fraction(frames, count, at, frame);
    if (*fraction > 0 && frames[at + 1] - frames[at] <= 1)
        *fraction = 0;
    return at;
}

static camera_key sample(const mmd_camera_track *track, double frame)
{
    double x;
    size_t at = find_key(track->frames, track->key_count, frame, &x);
    camera_key key = key_at(track, at);
    if (x == 0)
        return key;
    camera_key next = key_at(track, at + 1);
    /* Rows: x, y, z, rotation, distance, view angle. */
    const uint8_t *curves = track->interpolation + 24 * (at + 1);
    for (int i = 0; i < 3; i++) {
        interpolate(&key.target[i], next.target[i], curves + 4 * i, x);
        interpolate(&key.rotation[i], next.rotation[i], curves + 12, x);
    }
    interpolate(&key.distance, next.distance, curves + 16, x);
    interpolate(&key.view_angle, next.view_angle, curves + 20, x);
    return key;
}

/* Rows 2 and 3 of the view rotation Rz(z) Rx(x) Ry(y): up and forward. Row 1 is right. */
static void view_axes(const double rotation[3], double up[3], double forward[3])
{
    double sx, cx, sy, cy, sz, cz;
    mmd_portable_sin_cos(rotation[0], &sx, &cx);
    mmd_portable_sin_cos(rotation[1], &sy, &cy);
    mmd_portable_sin_cos(rotation[2], &sz, &cz);
    up[0] = sz * cy + cz * sx * sy;
    up[1] = cz * cx;
    up[2] = sz * sy - cz * sx * cy;
    forward[0] = -cx * sy;
    forward[1] = sx;
    forward[2] = cx * cy;
}

void mmd_camera_at(const mmd_camera_track *track, double frame, mmd_camera *out)
{
    if (!out)
        return;
    static const camera_key unset = {.target = {0, 10, 0}, .distance = -45, .view_angle = 30};
    camera_key key = track && track->key_count ? sample(track, frame) : unset;
    double forward[3];
    view_axes(key.rotation, out->up, forward);
    double farthest = 0;
    for (int i = 0; i < 3; i++) {
        out->position[i] = key.target[i] + key.distance * forward[i];
        farthest = fmax(farthest, fabs(out->position[i]));
    }
    /* A camera at or beyond its target looks away from it: its new target is a unit in front. */
    double min_distance = farthest * MIN_TARGET_DISTANCE,
           distance = fmax(key.distance < 0 ? 0 : 1, min_distance);
    for (int i = 0; i < 3; i++)
        out->target[i] =
            -key.distance > min_distance ? key.target[i] : out->position[i] + distance * forward[i];
    out->fov = key.view_angle;
}

/* The light and the self-shadow */

/* What MMD's panel of the self-shadow shows as 8875 (docs/mmd-behavior.md#vmd). */
static const double DEFAULT_SHADOW_DISTANCE = 0.1 - 8875 * 0.00001;

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
