/* SPDX-License-Identifier: MIT */
/* Camera keys from the cameras of all frames.

   MMD's view is Rz(z) Rx(x) Ry(y), docs/mmd-behavior.md#camera-light-shadow. Its third row is the
   viewing direction d = (-cos x sin y, sin x, cos x cos y), so

       x = asin(d.y)    y = atan2(-d.x, d.z)    z = atan2(u.r, u.v)

   where u is the camera's up and r = (cos y, 0, sin y), v = (sin x sin y, cos x, -sin x cos y) are
   right and up of the view without roll. */
#include "core/fit/fit.h"

#include "core/base/error.h"
#include "core/math/scalar.h"
#include "core/math/vec3.h"
#include "core/model/motion.h"

static const double VIEW_ANGLE_TOLERANCE = 0.5; /* keys are whole degrees */
static const double MIN_DIRECTION = 1e-9;       /* units: shorter has no direction */
static const double STEEP = 1e-6;               /* of d across the vertical: y is free */

enum { CHANNELS = 6, TARGET = 0, ROTATION = 3, DISTANCE = 6, VIEW_ANGLE = 7, COLUMNS = 8 };

typedef struct camera_fit {
    mmd_fit base;
    mmd_camera_fit_job job;
    mmd_curve_fit_scratch scratch;
    double *columns;
    size_t read; /* frames of the columns */
    mmd_key_fit_keys keys;
    bool fitted;
} camera_fit;

/* The angles of a view, those nearest to the previous frame's: x y z and pi - x, y + pi, z + pi are
   the same view. */
static void find_angles(const double direction[3], const double up[3], const double previous[3],
                        double angles[3])
{
    double d[3] = {direction[0], direction[1], direction[2]};
    bool steep = hypot(d[0], d[2]) < STEEP;
    double x = asin(fmin(fmax(d[1], -1), 1)), y = steep ? previous[1] : atan2(-d[0], d[2]);
    double right[3] = {cos(y), 0, sin(y)};
    double above[3] = {sin(x) * sin(y), cos(x), -sin(x) * cos(y)};
    double z = atan2(mmd_vec3_dot(up, right), mmd_vec3_dot(up, above));
    double first[3] = {mmd_unwrap_angle(x, previous[0]), mmd_unwrap_angle(y, previous[1]),
                       mmd_unwrap_angle(z, previous[2])};
    double second[3] = {mmd_unwrap_angle(MMD_PI - x, previous[0]),
                        mmd_unwrap_angle(y + MMD_PI, previous[1]),
                        mmd_unwrap_angle(z + MMD_PI, previous[2])};
    mmd_vec3_copy(
        mmd_vec3_distance(first, previous) <= mmd_vec3_distance(second, previous) ? first : second,
        angles);
}

/* Tasks of one item. */

/* Reads more frames of the columns: target x, y, z; rotation (F,3); distance; view angle. */
static bool read_more(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    enum { CHUNK = 1 << 16 }; /* frames: about 10 ms */
    static const double none[3] = {0, 0, 0};
    camera_fit *fit = arg;
    const mmd_camera_fit_job *job = &fit->job;
    size_t n = job->frame_count, end = n - fit->read > CHUNK ? fit->read + CHUNK : n;
    double *columns = fit->columns, *rotation = columns + ROTATION * n;
    (void)worker, (void)first, (void)count;
    for (; fit->read < end; fit->read++) {
        size_t f = fit->read;
        const mmd_camera *camera = &job->cameras[f];
        double direction[3], sum = camera->fov;
        for (int i = 0; i < 3; i++)
            sum += camera->position[i] + camera->target[i] + camera->up[i];
        if (!isfinite(sum) || camera->fov < 0)
            return mmd_refuse(err, "camera: frame %zu: %s", f,
                              isfinite(sum) ? "fov is negative" : "a number is not finite");
        mmd_vec3_subtract(camera->target, camera->position, direction);
        double length = mmd_vec3_length(direction);
        if (!(length > MIN_DIRECTION))
            return mmd_refuse(err, "camera: frame %zu: position and target are equal", f);
        mmd_vec3_scale(direction, 1 / length, direction);
        bool begins = f == 0 || (job->cuts && job->cuts[f]);
        find_angles(direction, camera->up, begins ? none : rotation + 3 * (f - 1),
                    rotation + 3 * f);
        for (size_t i = 0; i < 3; i++)
            columns[i * n + f] = camera->target[i];
        columns[DISTANCE * n + f] = -length;
        columns[VIEW_ANGLE * n + f] = camera->fov;
    }
    return true;
}

static bool find_keys(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    camera_fit *fit = arg;
    const mmd_camera_fit_job *job = &fit->job;
    size_t n = job->frame_count;
    double units = job->tolerance, angle = job->angle_tolerance;
    const double *columns = fit->columns;
    (void)worker, (void)first, (void)count, (void)err;
    const mmd_key_fit_channel channels[CHANNELS] = {
        {MMD_CHANNEL_SCALARS, 1, columns, units},
        {MMD_CHANNEL_SCALARS, 1, columns + n, units},
        {MMD_CHANNEL_SCALARS, 1, columns + 2 * n, units},
        {MMD_CHANNEL_SCALARS, 3, columns + ROTATION * n, angle},
        {MMD_CHANNEL_SCALARS, 1, columns + DISTANCE * n, units},
        {MMD_CHANNEL_INTEGER, 1, columns + VIEW_ANGLE * n, VIEW_ANGLE_TOLERANCE},
    };
    const mmd_key_fit keys = {.frame_count = n,
                              .channel_count = CHANNELS,
                              .channels = channels,
                              .cuts = job->cuts,
                              .avoid_neighbors = true};
    fit->fitted = mmd_key_fit_continue(&keys, &fit->scratch, &fit->keys);
    return true;
}

static bool build(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    camera_fit *fit = arg;
    mmd_motion tracks = {.name = {MMD_CAMERA_NAME, sizeof MMD_CAMERA_NAME - 1}};
    mmd_camera_track *track = &tracks.camera;
    size_t n = fit->job.frame_count;
    (void)worker, (void)first, (void)count;
    if (!mmd_motion_alloc(&fit->base.arena, &mmd_motion_layouts[MMD_MOTION_CAMERA], track,
                          fit->keys.count))
        return mmd_fail_memory(err);
    track->interpolation = fit->keys.curves;
    for (size_t k = 0; k < track->key_count; k++) {
        const double *at = fit->columns + fit->keys.frames[k];
        track->frames[k] = fit->job.first_frame + fit->keys.frames[k];
        track->distances[k] = (float)at[DISTANCE * n];
        track->view_angles[k] = (float)rint(at[VIEW_ANGLE * n]);
        track->perspective[k] = 1;
        for (size_t i = 0; i < 3; i++) {
            track->targets[3 * k + i] = (float)at[i * n];
            track->rotations[3 * k + i] =
                (float)fit->columns[ROTATION * n + 3 * fit->keys.frames[k] + i];
        }
    }
    fit->base.motion = mmd_motion_new(&tracks, err);
    return fit->base.motion != NULL;
}

static mmd_thread_part next_part(mmd_fit *base)
{
    const camera_fit *fit = (const camera_fit *)base;
    mmd_thread_pool_task *task = fit->read < fit->job.frame_count ? read_more
                                 : !fit->fitted                   ? find_keys
                                 : !base->motion                  ? build
                                                                  : NULL;
    return (mmd_thread_part){task, base, task != NULL, 1, 1};
}

static double share(const mmd_fit *base, double of_part)
{
    const camera_fit *fit = (const camera_fit *)base;
    const mmd_key_fit_keys *keys = &fit->keys;
    (void)of_part;
    return keys->count ? (double)keys->frames[keys->count - 1] / (double)fit->job.frame_count : 0;
}

mmd_fit *mmd_camera_fit_new(const mmd_camera_fit_job *job, mmd_error *err)
{
    size_t n = job->frame_count;
    camera_fit *fit = mmd_arena_new_owner(sizeof *fit, err);
    if (!fit)
        return NULL;
    mmd_arena *arena = &fit->base.arena;
    fit->base = (mmd_fit){.arena = *arena, .next = next_part, .share = share};
    fit->job = *job;
    fit->keys.frame_credit = MMD_KEY_FIT_FRAME_CREDIT;
    const mmd_curve_grid_tables *tables = mmd_curve_grid_tables_new(arena);
    fit->columns = mmd_arena_alloc(arena, n, COLUMNS * sizeof *fit->columns);
    fit->keys.curves = mmd_arena_alloc(arena, n, 4 * CHANNELS);
    bool made = tables && fit->columns && fit->keys.curves &&
                MMD_ARENA_ARRAY(arena, fit->keys.frames, n) &&
                mmd_curve_fit_scratch_init(arena, tables, n, &fit->scratch);
    fit->scratch.grid_violation = MMD_CURVE_STEEP_GRID_VIOLATION;
    return mmd_arena_keep_owner(fit, made || mmd_fail_memory(err));
}
