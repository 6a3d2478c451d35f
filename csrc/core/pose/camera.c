/* SPDX-License-Identifier: MIT */
/* The camera of a motion: docs/mmd-behavior.md#camera-light-shadow. */
#include "core/math/portable_math.h"
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

static camera_key sample(const mmd_camera_track *track, double frame)
{
    size_t cursor = 0,
           at = mmd_sampling_key_before(track->frames, track->key_count, frame, &cursor);
    camera_key key = key_at(track, at);
    double x = mmd_sampling_key_fraction(track->frames, track->key_count, at, frame);
    /* Keys on neighboring frames are a cut: docs/mmd-behavior.md#camera-light-shadow */
    if (x == 0 || track->frames[at + 1] - track->frames[at] <= 1)
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
