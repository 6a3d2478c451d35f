/* SPDX-License-Identifier: MIT */
/* The input is a script of a picture's arguments: what the check accepts can be seen by its
   cameras, with finite views and positions. */
#include "core/render/render.h"
#include "script.h"
#include "target.h"

#include <math.h>
#include <string.h>

enum { VERTICES = 12, TRIANGLES = 6, FRAMES = 3, MATERIALS = 3 };
enum { SMALL = 1, NORMALS = 2, UVS = 4, ONE_POSITION = 8, ONE_UV = 16, CAMERAS = 32 };
enum { ONE_CAMERA = 64, EDGES = 128 };

static float positions[FRAMES * 3 * VERTICES], normals[FRAMES * 3 * VERTICES],
    uvs[FRAMES * 2 * VERTICES], lights[FRAMES * 3];
static int32_t triangles[3 * TRIANGLES];
static mmd_camera cameras[FRAMES];
static mmd_material materials[MATERIALS];

static void take_numbers(script *s, float *out, size_t count)
{
    while (count--)
        *out++ = take_number(s);
}

static void take_camera(script *s, mmd_camera *camera, double scale)
{
    for (int i = 0; i < 3; i++) {
        camera->position[i] = (double)take_number(s) * scale;
        camera->target[i] = (double)take_number(s) * scale;
        camera->up[i] = (double)take_number(s) * scale;
    }
    camera->fov = (double)take_number(s) * scale;
}

static void take_material(script *s, mmd_material *material)
{
    take_numbers(s, material->diffuse, 4);
    take_numbers(s, material->specular, 3);
    take_numbers(s, material->ambient, 3);
    take_numbers(s, material->edge_color, 4);
    material->specular_power = take_number(s);
    material->edge_size = take_number(s);
    material->flags = take(s);
    material->sphere_mode = take(s) % 4;
    material->texture = material->sphere_texture = -1;
    material->toon = (int32_t)(take(s) % 12) - 1;
    material->index_count = 3 * (take(s) % 4);
}

static mmd_render_job take_job(script *s)
{
    uint8_t have = take(s);
    size_t v = take(s) % (VERTICES + 1), f = 1 + take(s) % FRAMES;
    mmd_render_job job = {.frame_count = f,
                          .vertex_count = v,
                          .triangle_count = v ? take(s) % (TRIANGLES + 1) : 0,
                          .triangles = triangles,
                          .positions = positions,
                          .normals = have & NORMALS ? normals : NULL,
                          .has_normals = have & NORMALS,
                          .uvs = have & UVS ? uvs : NULL,
                          .position_frames = have & ONE_POSITION ? 1 : f,
                          .uv_frames = have & ONE_UV ? 1 : f,
                          .material_count = take(s) % (MATERIALS + 1),
                          .materials = materials,
                          .cameras = have & CAMERAS ? cameras : NULL,
                          .camera_frames = have & ONE_CAMERA ? 1 : f,
                          .look = take(s) % 2 ? MMD_LOOK_MMD : MMD_LOOK_LAMBERT,
                          .lights = lights,
                          .light_frames = have & ONE_CAMERA ? f : 1,
                          .edges = have & EDGES,
                          .width = 8,
                          .height = 4,
                          .samples = 1};
    take_numbers(s, positions, f * 3 * v);
    take_numbers(s, normals, f * 3 * v);
    take_numbers(s, uvs, f * 2 * v);
    take_numbers(s, lights, f * 3);
    take_numbers(s, job.background, 4);
    for (size_t i = 0; i < 3 * job.triangle_count; i++)
        triangles[i] = (int32_t)(take(s) % v);
    for (size_t i = 0; i < FRAMES; i++)
        take_camera(s, &cameras[i], have & SMALL ? 1e-3 : 1);
    for (size_t i = 0; i < MATERIALS; i++)
        take_material(s, &materials[i]);
    return job;
}

static bool all_finite(const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}

static void check_view(const mmd_render_job *job, size_t frame)
{
    mmd_render_view view;
    float seen[4 * VERTICES];
    mmd_render_view_init(job, frame, &view);
    PROMISE(all_finite(view.position, 3) && all_finite(&view.rotation[0][0], 9));
    PROMISE(all_finite(view.half_extent, 2) && view.half_extent[0] > 0);
    PROMISE(all_finite(view.to_light, 3));
    size_t of = job->position_frames > 1 ? frame : 0;
    mmd_render_view_transform(&view, positions + of * 3 * job->vertex_count, job->vertex_count,
                              seen);
    for (size_t i = 0; i < 4 * job->vertex_count; i++)
        PROMISE(isfinite(seen[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script s = {data, size, 0};
    mmd_render_job job = take_job(&s);
    static const float white[3] = {1, 1, 1};
    job.effects.light_colors = white;
    job.effects.light_color_frames = 1;
    mmd_error err = {0};
    bool accepted = mmd_render_check(&job, &err) && mmd_render_check_vertices(&job, &err);
    PROMISE(accepted || err.text[0]);
    for (size_t i = 0; accepted && i < job.frame_count; i++)
        check_view(&job, i);
    return 0;
}
