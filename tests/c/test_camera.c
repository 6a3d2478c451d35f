/* SPDX-License-Identifier: MIT */
#include "mmdskin.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* The camera of a motion, by hand: keys, their curves, cuts, and positions from distance and
 * angles.
 */

enum { KEYS = 3 };

typedef struct sample {
    uint32_t frames[KEYS];
    float distances[KEYS], targets[3 * KEYS], rotations[3 * KEYS], view_angles[KEYS];
    uint8_t interpolation[24 * KEYS], perspective[KEYS];
    mmd_camera_track track;
} sample;

/* Keys at 0, 10 and 11; all curves straight, the camera 10 in front of the origin. */
static void init(sample *s)
{
    memset(s, 0, sizeof *s);
    s->frames[1] = 10;
    s->frames[2] = 11;
    for (int k = 0; k < KEYS; k++) {
        s->distances[k] = -10;
        s->view_angles[k] = 30;
    }
    for (int i = 0; i < 24 * KEYS; i++)
        s->interpolation[i] = i % 4 < 2 ? 20 : 107;
    s->track = (mmd_camera_track){KEYS,         s->frames,        s->distances,   s->targets,
                                  s->rotations, s->interpolation, s->view_angles, s->perspective};
}

static void check_vector(const double found[3], double x, double y, double z)
{
    CHECK_NEAR(found[0], x, 1e-6);
    CHECK_NEAR(found[1], y, 1e-6);
    CHECK_NEAR(found[2], z, 1e-6);
}

static void without_keys_it_is_the_default_camera_of_mmd(void)
{
    mmd_camera camera;
    mmd_camera_at(&(mmd_camera_track){0}, 7, &camera);
    check_vector(camera.position, 0, 10, -45);
    check_vector(camera.target, 0, 10, 0);
    check_vector(camera.up, 0, 1, 0);
    CHECK_NEAR(camera.fov, 30, 0);
}

static void every_value_is_interpolated_by_its_own_curve(void)
{
    sample s;
    mmd_camera camera;
    init(&s);
    s.targets[3] = 8;
    s.targets[5] = 4;
    s.distances[1] = -20;
    s.view_angles[1] = 50;
    mmd_camera_at(&s.track, 5, &camera);
    check_vector(camera.target, 4, 0, 2);
    check_vector(camera.position, 4, 0, 2 - 15);
    CHECK_NEAR(camera.fov, 40, 1e-6);
    /* A step at the end for x: the curve runs along the frames first. */
    memcpy(s.interpolation + 24, (uint8_t[]){127, 0, 127, 0}, 4);
    mmd_camera_at(&s.track, 5, &camera);
    CHECK(camera.target[0] < 1.1);
    CHECK_NEAR(camera.target[2], 2, 1e-6);
}

static void keys_of_neighboring_frames_are_a_cut(void)
{
    sample s;
    mmd_camera camera;
    init(&s);
    s.targets[6] = 100;
    mmd_camera_at(&s.track, 10.75, &camera);
    check_vector(camera.target, 0, 0, 0);
    mmd_camera_at(&s.track, 11, &camera);
    check_vector(camera.target, 100, 0, 0);
}

static void before_the_first_key_and_after_the_last_it_stands(void)
{
    sample s;
    mmd_camera camera;
    init(&s);
    s.frames[0] = 5;
    s.targets[0] = 1;
    s.targets[6] = 3;
    mmd_camera_at(&s.track, -1e300, &camera);
    check_vector(camera.target, 1, 0, 0);
    mmd_camera_at(&s.track, 1e300, &camera);
    check_vector(camera.target, 3, 0, 0);
}

static void angles_move_it_around_the_target(void)
{
    sample s;
    mmd_camera camera;
    init(&s);
    s.rotations[0] = 1.57079633f; /* the view goes up, from below */
    mmd_camera_at(&s.track, 0, &camera);
    check_vector(camera.position, 0, -10, 0);
    check_vector(camera.up, 0, 0, -1);
    init(&s);
    s.rotations[1] = 1.57079633f;
    mmd_camera_at(&s.track, 0, &camera);
    check_vector(camera.position, 10, 0, 0);
    init(&s);
    s.rotations[2] = 1.57079633f;
    mmd_camera_at(&s.track, 0, &camera);
    check_vector(camera.up, 1, 0, 0);
}

static void at_or_behind_its_target_it_looks_a_unit_ahead(void)
{
    static const float distances[] = {0, 5};
    for (int i = 0; i < 2; i++) {
        sample s;
        mmd_camera camera;
        init(&s);
        s.distances[0] = distances[i];
        mmd_camera_at(&s.track, 0, &camera);
        check_vector(camera.position, 0, 0, (double)distances[i]);
        check_vector(camera.target, 0, 0, (double)distances[i] + 1);
    }
}

static void far_away_the_target_is_far_enough_for_floats(void)
{
    sample s;
    mmd_camera camera;
    init(&s);
    s.targets[0] = 409600;
    s.distances[0] = -1;
    mmd_camera_at(&s.track, 0, &camera);
    check_vector(camera.position, 409600, 0, -1);
    check_vector(camera.target, 409600, 0, -1 + 100); /* 1/4096 of the position */
}

void camera_tests(void)
{
    RUN(without_keys_it_is_the_default_camera_of_mmd);
    RUN(every_value_is_interpolated_by_its_own_curve);
    RUN(keys_of_neighboring_frames_are_a_cut);
    RUN(before_the_first_key_and_after_the_last_it_stands);
    RUN(angles_move_it_around_the_target);
    RUN(at_or_behind_its_target_it_looks_a_unit_ahead);
    RUN(far_away_the_target_is_far_enough_for_floats);
}
