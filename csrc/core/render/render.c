/* SPDX-License-Identifier: MIT */
#include "core/render/render.h"

#include "core/base/error.h"
#include "core/base/numbers.h"

#include <math.h>

static const double RADIANS = 0.017453292519943295;

static const double LEAST_FOV = 0.001;

/* Of the camera that fits: its angle, and the room it leaves around the model. */
static const double FITTING_FOV = 30, FITTING_ROOM = 1.05;

/* Products of three such lengths are still floats. */
static const float MOST_COORDINATE = 1e9f;

/* The sine of the angle between up and the way to the target. */
static const double LEAST_SINE = 1e-6;

static bool check_numbers(const char *name, const float *numbers, size_t frames, size_t vertices,
                          size_t width, mmd_error *err)
{
    size_t count = frames * vertices * width, bad = mmd_first_not_finite(numbers, count);
    return bad == count || mmd_fail(err, MMD_E_ARGUMENT, "%s: frame %zu, vertex %zu is %s", name,
                                    bad / width / vertices, bad / width % vertices,
                                    mmd_not_finite_name((double)numbers[bad]));
}

static bool check_reach(const mmd_render_job *job, mmd_error *err)
{
    size_t count = job->position_frames * job->vertex_count * 3;
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(job->positions[i]) <= MOST_COORDINATE))
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "positions: frame %zu, vertex %zu is %g units away, limit %g",
                            i / 3 / job->vertex_count, i / 3 % job->vertex_count,
                            fabs((double)job->positions[i]), (double)MOST_COORDINATE);
    return true;
}

static double length3(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* So that its square is neither 0 nor infinite. */
static void scale3(double v[3])
{
    double most = fmax(fmax(fabs(v[0]), fabs(v[1])), fabs(v[2]));
    for (int i = 0; most > 0 && i < 3; i++)
        v[i] /= most;
}

/* Ways of lengths near 1: to the target, up, and, as far as these two differ, to the right. */
static void camera_ways(const mmd_camera *camera, double ahead[3], double up[3], double side[3])
{
    for (int i = 0; i < 3; i++) {
        ahead[i] = camera->target[i] - camera->position[i];
        up[i] = camera->up[i];
    }
    scale3(ahead);
    scale3(up);
    cross3(up, ahead, side);
}

static bool check_point(const double point[3], const char *name, size_t frame, mmd_error *err)
{
    for (int i = 0; i < 3; i++) {
        if (!isfinite(point[i]))
            return mmd_fail(err, MMD_E_ARGUMENT, "camera: frame %zu: %s[%d] is %s", frame, name, i,
                            mmd_not_finite_name(point[i]));
        if (fabs(point[i]) > (double)MOST_COORDINATE)
            return mmd_fail(err, MMD_E_ARGUMENT, "camera: frame %zu: %s[%d] is %g, limit %g", frame,
                            name, i, point[i], (double)MOST_COORDINATE);
    }
    return true;
}

static bool check_camera(const mmd_camera *camera, size_t frame, mmd_error *err)
{
    if (!check_point(camera->position, "position", frame, err) ||
        !check_point(camera->target, "target", frame, err) ||
        !check_point(camera->up, "up", frame, err))
        return false;
    double ahead[3], up[3], side[3];
    camera_ways(camera, ahead, up, side);
    if (!(length3(ahead) > 0))
        return mmd_fail(err, MMD_E_ARGUMENT, "camera: frame %zu: the target is the position",
                        frame);
    if (!(length3(side) > LEAST_SINE * length3(up) * length3(ahead)))
        return mmd_fail(err, MMD_E_ARGUMENT,
                        "camera: frame %zu: up is zero or the way to the target", frame);
    if (!(camera->fov >= LEAST_FOV && camera->fov <= 180 - LEAST_FOV))
        return mmd_fail(err, MMD_E_ARGUMENT, "camera: frame %zu: fov is %g, expected %g to %g",
                        frame, camera->fov, LEAST_FOV, 180 - LEAST_FOV);
    return true;
}

static bool check_frames(const char *name, size_t given, size_t wanted, mmd_error *err)
{
    return given == 1 || given == wanted ||
           mmd_fail(err, MMD_E_ARGUMENT, "%s: %zu frames, expected 1 or %zu", name, given, wanted);
}

static bool check_colors(const float *numbers, int count, const char *name, size_t material,
                         mmd_error *err)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return mmd_fail(err, MMD_E_ARGUMENT, "materials[%zu].%s is %s", material, name,
                            mmd_not_finite_name((double)numbers[i]));
    return true;
}

static bool check_materials(const mmd_render_job *job, mmd_error *err)
{
    size_t left = job->triangle_count;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_render_material *material = &job->materials[i];
        if (!check_colors(material->diffuse, 4, "diffuse", i, err) ||
            !check_colors(material->ambient, 3, "ambient", i, err) ||
            !check_colors(material->edge_color, 4, "edge_color", i, err) ||
            !check_colors(&material->edge_size, 1, "edge_size", i, err))
            return false;
        if (material->triangle_count > left)
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "materials[%zu]: %zu triangles, of the mesh's %zu are left %zu", i,
                            material->triangle_count, job->triangle_count, left);
        left -= material->triangle_count;
    }
    return true;
}

static bool check_scene(const mmd_render_job *job, mmd_error *err)
{
    for (int i = 0; i < 4; i++)
        if (!(job->background[i] >= 0 && job->background[i] <= 1))
            return mmd_fail(err, MMD_E_ARGUMENT, "background[%d] is %g, expected 0 to 1", i,
                            (double)job->background[i]);
    double light[] = {job->light[0], job->light[1], job->light[2]};
    if (!(length3(light) > 0) || !isfinite(length3(light)))
        return mmd_fail(err, MMD_E_ARGUMENT, "light: (%g, %g, %g) is no direction", light[0],
                        light[1], light[2]);
    return true;
}

bool mmd_render_check(const mmd_render_job *job, mmd_error *err)
{
    size_t v = job->vertex_count;
    if (!check_frames("skinned", job->position_frames, job->frame_count, err) ||
        (job->uvs && !check_frames("uvs", job->uv_frames, job->frame_count, err)) ||
        (job->cameras && !check_frames("camera", job->camera_frames, job->frame_count, err)))
        return false;
    if (job->edges && !job->normals)
        return mmd_fail(err, MMD_E_ARGUMENT, "edges: they need normals, which skinned has not");
    for (size_t f = 0; job->cameras && f < job->camera_frames; f++)
        if (!check_camera(&job->cameras[f], f, err))
            return false;
    return check_scene(job, err) && check_materials(job, err) &&
           check_numbers("positions", job->positions, job->position_frames, v, 3, err) &&
           check_reach(job, err) &&
           (!job->normals ||
            check_numbers("normals", job->normals, job->position_frames, v, 3, err)) &&
           (!job->uvs || check_numbers("uvs", job->uvs, job->uv_frames, v, 2, err));
}

mmd_render_job mmd_render_slice(const mmd_render_job *job, size_t first, size_t count)
{
    mmd_render_job slice = *job;
    size_t v = job->vertex_count, pixels = first * job->height * job->width;
    slice.frame_count = count;
    if (job->position_frames > 1) {
        slice.position_frames = count;
        slice.positions += first * v * 3;
        slice.normals = job->normals ? job->normals + first * v * 3 : NULL;
    }
    if (job->uv_frames > 1) {
        slice.uv_frames = count;
        slice.uvs += first * v * 2;
    }
    if (job->camera_frames > 1) {
        slice.camera_frames = count;
        slice.cameras += first;
    }
    slice.image = job->image ? job->image + 4 * pixels : NULL;
    slice.depths = job->depths ? job->depths + pixels : NULL;
    slice.normals_seen = job->normals_seen ? job->normals_seen + 3 * pixels : NULL;
    slice.triangles_seen = job->triangles_seen ? job->triangles_seen + pixels : NULL;
    return slice;
}

static const float *frame_positions(const mmd_render_job *job, size_t frame)
{
    return job->positions + (job->position_frames > 1 ? 3 * frame * job->vertex_count : 0);
}

/* In front of the box around all that is drawn, the near side of which fills the picture. */
static mmd_camera fitting_camera(const mmd_render_job *job, size_t frame)
{
    const float *positions = frame_positions(job, frame);
    double low[3] = {0, 0, 0}, high[3] = {0, 0, 0}, middle[3], half[3];
    size_t corners = 0;
    for (size_t i = 0; i < job->material_count; i++)
        corners += 3 * job->materials[i].triangle_count;
    for (size_t c = 0; c < corners; c++)
        for (size_t i = 0; i < 3; i++) {
            double x = (double)positions[3 * (size_t)job->triangles[c] + i];
            low[i] = c && low[i] < x ? low[i] : x;
            high[i] = c && high[i] > x ? high[i] : x;
        }
    for (int i = 0; i < 3; i++) {
        middle[i] = (low[i] + high[i]) / 2;
        half[i] = (high[i] - low[i]) / 2;
    }
    double wide = half[0] * (double)job->height / (double)job->width;
    double most = FITTING_ROOM * (wide > half[1] ? wide : half[1]);
    double away = half[2] + (most > 0 ? most : 1) / tan(FITTING_FOV / 2 * RADIANS);
    return (mmd_camera){.position = {middle[0], middle[1], middle[2] - away},
                        .target = {middle[0], middle[1], middle[2]},
                        .up = {0, 1, 0},
                        .fov = FITTING_FOV};
}

void mmd_render_view(const mmd_render_job *job, size_t frame, mmd_view *out)
{
    mmd_camera fitting;
    const mmd_camera *camera = &fitting;
    if (job->cameras)
        camera = &job->cameras[job->camera_frames > 1 ? frame : 0];
    else
        fitting = fitting_camera(job, frame);
    double(*rows)[3] = out->rows, up[3], lengths[3];
    for (int i = 0; i < 3; i++)
        out->position[i] = camera->position[i];
    camera_ways(camera, rows[2], up, rows[0]);
    cross3(rows[2], rows[0], rows[1]);
    for (int r = 0; r < 3; r++)
        lengths[r] = length3(rows[r]);
    for (int i = 0; i < 9; i++)
        rows[i / 3][i % 3] /= lengths[i / 3];
    out->reach[1] = tan(camera->fov / 2 * RADIANS);
    out->reach[0] = out->reach[1] * (double)job->width / (double)job->height;
}

void mmd_view_positions(const mmd_view *view, const float *positions, size_t count, float *seen,
                        double ahead[2])
{
    ahead[0] = INFINITY;
    ahead[1] = -INFINITY;
    for (size_t v = 0; v < count; v++) {
        double p[3], q[3];
        for (int i = 0; i < 3; i++)
            p[i] = (double)positions[3 * v + (size_t)i] - view->position[i];
        for (int r = 0; r < 3; r++)
            q[r] = view->rows[r][0] * p[0] + view->rows[r][1] * p[1] + view->rows[r][2] * p[2];
        ahead[0] = q[2] < ahead[0] ? q[2] : ahead[0];
        ahead[1] = q[2] > ahead[1] ? q[2] : ahead[1];
        for (int r = 0; r < 3; r++)
            seen[4 * v + (size_t)r] = (float)q[r];
        seen[4 * v + 3] = 1;
    }
}
