/* SPDX-License-Identifier: MIT */
#include "core/pose/sampling.h"

#include <math.h>

/* Of the way to the target, as a share of the position: rounding to float turns it little then. */
static const double LEAST_REACH = 1.0 / 4096;

/* What a key holds and what lies between keys. */
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

/* Rows of the curves: x, y, z, rotation, distance, view angle, as the later key has them. */
static void approach(double *from, double to, const uint8_t row[4], double x)
{
    if (to != *from)
        *from += (to - *from) * mmd_bezier(row, x);
}

static camera_key sample(const mmd_camera_track *track, double frame)
{
    size_t cursor = 0, at = mmd_key_before(track->frames, track->key_count, frame, &cursor);
    camera_key key = key_at(track, at);
    double x = mmd_key_share(track->frames, track->key_count, at, frame);
    /* Keys on neighbouring frames are a cut: docs/mmd-behaviour.md#camera-light-shadow */
    if (x == 0 || track->frames[at + 1] - track->frames[at] <= 1)
        return key;
    camera_key next = key_at(track, at + 1);
    const uint8_t *curves = track->interpolation + 24 * (at + 1);
    for (int i = 0; i < 3; i++) {
        approach(&key.target[i], next.target[i], curves + 4 * i, x);
        approach(&key.rotation[i], next.rotation[i], curves + 12, x);
    }
    approach(&key.distance, next.distance, curves + 16, x);
    approach(&key.view_angle, next.view_angle, curves + 20, x);
    return key;
}

/* Of the view Rz(z) Rx(x) Ry(y) the rows are the picture's right, its up and the way ahead. */
static void view_rows(const double rotation[3], double up[3], double ahead[3])
{
    double sx = sin(rotation[0]), cx = cos(rotation[0]), sy = sin(rotation[1]),
           cy = cos(rotation[1]), sz = sin(rotation[2]), cz = cos(rotation[2]);
    up[0] = sz * cy + cz * sx * sy;
    up[1] = cz * cx;
    up[2] = sz * sy - cz * sx * cy;
    ahead[0] = -cx * sy;
    ahead[1] = sx;
    ahead[2] = cx * cy;
}

void mmd_camera_at(const mmd_camera_track *track, double frame, mmd_camera *out)
{
    static const camera_key unset = {.target = {0, 10, 0}, .distance = -45, .view_angle = 30};
    camera_key key = track->key_count ? sample(track, frame) : unset;
    double ahead[3];
    view_rows(key.rotation, out->up, ahead);
    double farthest = 0;
    for (int i = 0; i < 3; i++) {
        out->position[i] = key.target[i] + key.distance * ahead[i];
        farthest = fmax(farthest, fabs(out->position[i]));
    }
    /* A camera on its target or beyond it looks away from it: then the target is a unit ahead. */
    double least = farthest * LEAST_REACH, reach = fmax(key.distance < 0 ? 0 : 1, least);
    for (int i = 0; i < 3; i++)
        out->target[i] =
            -key.distance > least ? key.target[i] : out->position[i] + reach * ahead[i];
    out->fov = key.view_angle;
}
