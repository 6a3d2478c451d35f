/* SPDX-License-Identifier: MIT */
/* Checks render jobs, and computes the camera's view of a frame: its axes, and positions in view
   space. */
#include "core/render/render.h"

#include "core/base/error.h"
#include "core/math/scalar.h"
#include "core/math/vec3.h"

#include <math.h>
#include <stdio.h>

static const double MIN_FOV = 0.001; /* degrees */

/* The default camera: its field of view in degrees, and its margin around the model as a factor. */
static const double DEFAULT_FOV = 30, DEFAULT_MARGIN = 1.05;

/* Sine of the smallest angle between up and the view direction. */
static const double MIN_UP_SINE = 1e-6;

static bool check_coordinates(const mmd_render_job *job, mmd_error *err)
{
    size_t count = job->position_frames * job->vertex_count * 3;
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(job->positions[i]) <= MMD_RENDER_MAX_COORDINATE))
            return mmd_refuse(err, "positions: frame %zu, vertex %zu: %g is beyond the limit %g",
                              i / 3 / job->vertex_count, i / 3 % job->vertex_count,
                              fabs((double)job->positions[i]), (double)MMD_RENDER_MAX_COORDINATE);
    return true;
}

/* Scales the largest component to 1 or -1, so that the square neither overflows nor underflows. */
static void rescale(double v[3])
{
    double max = fmax(fmax(fabs(v[0]), fabs(v[1])), fabs(v[2]));
    for (int i = 0; max > 0 && i < 3; i++)
        v[i] /= max;
}

/* The camera's axes, not normalized: forward and up have lengths near 1; right is zero if these two
   are parallel. */
static void camera_axes(const mmd_camera *camera, double forward[3], double up[3], double right[3])
{
    for (int i = 0; i < 3; i++) {
        forward[i] = camera->target[i] - camera->position[i];
        up[i] = camera->up[i];
    }
    rescale(forward);
    rescale(up);
    mmd_vec3_cross(up, forward, right);
}

static bool check_point(const double point[3], const char *name, size_t frame, mmd_error *err)
{
    for (int i = 0; i < 3; i++) {
        if (!isfinite(point[i]))
            return mmd_refuse(err, "camera: frame %zu: %s[%d] is %s", frame, name, i,
                              mmd_numbers_fault(point[i]));
        if (fabs(point[i]) > (double)MMD_RENDER_MAX_COORDINATE)
            return mmd_refuse(err, "camera: frame %zu: %s[%d] is %g, limit %g", frame, name, i,
                              point[i], (double)MMD_RENDER_MAX_COORDINATE);
    }
    return true;
}

static bool check_camera(const mmd_camera *camera, size_t frame, mmd_error *err)
{
    if (!check_point(camera->position, "position", frame, err) ||
        !check_point(camera->target, "target", frame, err) ||
        !check_point(camera->up, "up", frame, err))
        return false;
    double forward[3], up[3], right[3];
    camera_axes(camera, forward, up, right);
    if (!(mmd_vec3_length(forward) > 0))
        return mmd_refuse(err, "camera: frame %zu: target and position are equal", frame);
    if (!(mmd_vec3_length(right) > MIN_UP_SINE * mmd_vec3_length(up) * mmd_vec3_length(forward)))
        return mmd_refuse(err, "camera: frame %zu: up is zero or parallel to the view direction",
                          frame);
    if (!(camera->fov >= MIN_FOV && camera->fov <= 180 - MIN_FOV))
        return mmd_refuse(err, "camera: frame %zu: fov is %g, expected %g to %g", frame,
                          camera->fov, MIN_FOV, 180 - MIN_FOV);
    return true;
}

static bool check_material(const mmd_material *material, size_t index, mmd_error *err)
{
    const struct {
        const char *name;
        const float *numbers;
        int count;
    } members[] = {{"diffuse", material->diffuse, 4},
                   {"specular", material->specular, 3},
                   {"specular_power", &material->specular_power, 1},
                   {"ambient", material->ambient, 3},
                   {"edge_color", material->edge_color, 4},
                   {"edge_size", &material->edge_size, 1}};
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        for (int i = 0; i < members[m].count; i++)
            if (!isfinite(members[m].numbers[i]))
                return mmd_refuse(err, "materials[%zu].%s is %s", index, members[m].name,
                                  mmd_numbers_fault((double)members[m].numbers[i]));
    return true;
}

static bool check_materials(const mmd_render_job *job, mmd_error *err)
{
    size_t left = job->triangle_count;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_material *material = &job->materials[i];
        if (!check_material(material, i, err))
            return false;
        size_t count = mmd_render_triangle_count(material);
        if (count > left)
            return mmd_refuse(
                err, "materials[%zu]: %zu %s, but of the mesh's %zu only %zu are left", i, count,
                mmd_numbers_noun(count, "triangle", "triangles"), job->triangle_count, left);
        left -= count;
    }
    return true;
}

static bool check_scene(const mmd_render_job *job, mmd_error *err)
{
    for (int i = 0; i < 4; i++)
        if (!(job->background[i] >= 0 && job->background[i] <= 1))
            return mmd_refuse(err, "background[%d] is %g, expected 0 to 1", i,
                              (double)job->background[i]);
    for (size_t f = 0; f < job->light_frames; f++) {
        const float *light = job->lights + 3 * f;
        double length = mmd_vec3_length((double[]){light[0], light[1], light[2]});
        if (length > 0 && isfinite(length))
            continue;
        char at[32] = "";
        if (job->light_frames > 1)
            snprintf(at, sizeof at, "frame %zu: ", f);
        return mmd_refuse(err, "light: %s(%g, %g, %g) is not a direction", at, (double)light[0],
                          (double)light[1], (double)light[2]);
    }
    return true;
}

static bool check_effects(const mmd_render_job *job, mmd_error *err)
{
    const mmd_render_effects *effects = &job->effects;
    bool colored = effects->ground_shadow == MMD_GROUND_SHADOW_COLOR;
    const mmd_numbers_array arrays[] = {
        {"light_color", "number", effects->light_colors, effects->light_color_frames, 3, 1},
        {"additional_uvs", "vertex", effects->additional_uvs, effects->additional_uv_frames,
         job->vertex_count, effects->additional_uv_width},
        {"factors", "number", effects->factors, 1, job->material_count * 2 * 3 * 4, 1},
        {"ground_shadow", "number", colored ? effects->ground_color : NULL, 1, 4, 1}};
    return mmd_numbers_check(arrays, sizeof arrays / sizeof *arrays, job->frame_count, err);
}

bool mmd_render_check(const mmd_render_job *job, mmd_error *err)
{
    const mmd_numbers_array uvs = {"uvs", "vertex", job->uvs, job->uv_frames, job->vertex_count, 2};
    if (!mmd_numbers_check_frame_count("skinned", job->position_frames, job->frame_count, err) ||
        (job->cameras &&
         !mmd_numbers_check_frame_count("camera", job->camera_frames, job->frame_count, err)) ||
        !mmd_numbers_check_frame_count("light", job->light_frames, job->frame_count, err))
        return false;
    if (job->edges && !job->has_normals)
        return mmd_refuse(err, "edges: need normals, but skinned has none");
    for (size_t f = 0; job->cameras && f < job->camera_frames; f++)
        if (!check_camera(&job->cameras[f], f, err))
            return false;
    return check_scene(job, err) && check_materials(job, err) &&
           (job->look != MMD_LOOK_MMD || check_effects(job, err)) &&
           mmd_numbers_check(&uvs, 1, job->frame_count, err);
}

bool mmd_render_check_vertices(const mmd_render_job *job, mmd_error *err)
{
    const mmd_numbers_array arrays[] = {
        {"positions", "vertex", job->positions, job->position_frames, job->vertex_count, 3},
        {"normals", "vertex", job->normals, job->position_frames, job->vertex_count, 3}};
    return !job->positions ||
           (mmd_numbers_check(arrays, 2, job->position_frames, err) && check_coordinates(job, err));
}

mmd_render_job mmd_render_slice(const mmd_render_job *job, size_t first, size_t count)
{
    mmd_render_job slice = *job;
    size_t v = job->vertex_count, pixels = first * job->height * job->width;
    slice.frame_count = count;
    mmd_render_effects *effects = &slice.effects;
    size_t normal_frames = job->position_frames, uv_row = v * effects->additional_uv_width;
    MMD_NUMBERS_SLICE(slice.normals, normal_frames, v * 3, first, count);
    MMD_NUMBERS_SLICE(slice.positions, slice.position_frames, v * 3, first, count);
    MMD_NUMBERS_SLICE(slice.uvs, slice.uv_frames, v * 2, first, count);
    MMD_NUMBERS_SLICE(slice.cameras, slice.camera_frames, 1, first, count);
    MMD_NUMBERS_SLICE(slice.lights, slice.light_frames, 3, first, count);
    MMD_NUMBERS_SLICE(effects->light_colors, effects->light_color_frames, 3, first, count);
    MMD_NUMBERS_SLICE(effects->additional_uvs, effects->additional_uv_frames, uv_row, first, count);
    slice.image = job->image ? job->image + 4 * pixels : NULL;
    slice.depth_buffer = job->depth_buffer ? job->depth_buffer + pixels : NULL;
    slice.normal_buffer = job->normal_buffer ? job->normal_buffer + 3 * pixels : NULL;
    slice.triangle_buffer = job->triangle_buffer ? job->triangle_buffer + pixels : NULL;
    return slice;
}

/* In front of the bounding box of the drawn triangles, whose near side fills the image. */
static mmd_camera default_camera(const mmd_render_job *job, size_t frame)
{
    size_t first = job->position_frames > 1 ? 3 * frame * job->vertex_count : 0;
    const float *positions = job->positions + first;
    double min[3] = {0, 0, 0}, max[3] = {0, 0, 0}, center[3], half[3];
    size_t corners = 0;
    for (size_t i = 0; i < job->material_count; i++)
        corners += 3 * mmd_render_triangle_count(&job->materials[i]);
    for (size_t c = 0; c < corners; c++)
        for (size_t i = 0; i < 3; i++) {
            double x = (double)positions[3 * (size_t)job->triangles[c] + i];
            min[i] = c && min[i] < x ? min[i] : x;
            max[i] = c && max[i] > x ? max[i] : x;
        }
    for (int i = 0; i < 3; i++) {
        center[i] = (min[i] + max[i]) / 2;
        half[i] = (max[i] - min[i]) / 2;
    }
    double width = half[0] * (double)job->height / (double)job->width;
    double extent = DEFAULT_MARGIN * (width > half[1] ? width : half[1]);
    double distance =
        half[2] + (extent > 0 ? extent : 1) / tan(DEFAULT_FOV / 2 * MMD_RADIANS_PER_DEGREE);
    return (mmd_camera){.position = {center[0], center[1], center[2] - distance},
                        .target = {center[0], center[1], center[2]},
                        .up = {0, 1, 0},
                        .fov = DEFAULT_FOV};
}

void mmd_render_view_init(const mmd_render_job *job, size_t frame, mmd_render_view *out)
{
    mmd_camera fallback;
    const mmd_camera *camera = &fallback;
    if (job->cameras)
        camera = &job->cameras[job->camera_frames > 1 ? frame : 0];
    else
        fallback = default_camera(job, frame);
    double(*axes)[3] = out->rotation, up[3], lengths[3];
    for (int i = 0; i < 3; i++)
        out->position[i] = camera->position[i];
    camera_axes(camera, axes[2], up, axes[0]);
    mmd_vec3_cross(axes[2], axes[0], axes[1]);
    for (int r = 0; r < 3; r++)
        lengths[r] = mmd_vec3_length(axes[r]);
    for (int i = 0; i < 9; i++)
        axes[i / 3][i % 3] /= lengths[i / 3];
    out->half_extent[1] = tan(camera->fov / 2 * MMD_RADIANS_PER_DEGREE);
    out->half_extent[0] = out->half_extent[1] * (double)job->width / (double)job->height;
    const float *light = job->lights + (job->light_frames > 1 ? 3 * frame : 0);
    double length = mmd_vec3_length((double[]){light[0], light[1], light[2]});
    for (int i = 0; i < 3; i++)
        out->to_light[i] = -(double)light[i] / length;
}

double mmd_render_view_transform(const mmd_render_view *view, const float *positions, size_t count,
                                 float *out)
{
    double farthest = -INFINITY;
    for (size_t v = 0; v < count; v++) {
        double p[3], q[3];
        for (int i = 0; i < 3; i++)
            p[i] = (double)positions[3 * v + (size_t)i] - view->position[i];
        for (int r = 0; r < 3; r++)
            q[r] = mmd_vec3_dot(view->rotation[r], p);
        farthest = q[2] > farthest ? q[2] : farthest;
        for (int r = 0; r < 3; r++)
            out[4 * v + (size_t)r] = (float)q[r];
        out[4 * v + 3] = 1;
    }
    return farthest;
}
