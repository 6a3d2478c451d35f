/* SPDX-License-Identifier: MIT */
/* Tangents of a mesh that came without: along u of its texture, docs/methods.md#tangents. */
#include "core/base/error.h"
#include "core/skin/mesh.h"

#include <math.h>
#include <string.h>

/* Sums over the triangles of a vertex, each weighted by its angle there. */
typedef struct frame {
    double along_u[3], along_v[3], angle;
} frame;

static const double least = 1e-6; /* of a sum's length, for it to mean something */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static bool make_unit(double v[3])
{
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3 && length > 0; i++)
        v[i] /= length;
    return length > 0;
}

/* The unit directions in which u and v of a triangle's texture grow; false where it has no area. */
static bool texture_axes(const double edges[2][3], const double sides[2][2], double along_u[3],
                         double along_v[3])
{
    double area = sides[0][0] * sides[1][1] - sides[1][0] * sides[0][1];
    double sign = area < 0 ? -1 : 1;
    for (int i = 0; i < 3; i++) {
        along_u[i] = sign * (edges[0][i] * sides[1][1] - edges[1][i] * sides[0][1]);
        along_v[i] = sign * (edges[1][i] * sides[0][0] - edges[0][i] * sides[1][0]);
    }
    return area != 0 && make_unit(along_u) && make_unit(along_v);
}

static double angle_between(const double a[3], const double b[3])
{
    double across[3];
    cross(a, b, across);
    return atan2(sqrt(dot(across, across)), dot(a, b));
}

static void edge(const mmd_mesh *mesh, int32_t from, int32_t to, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (double)mesh->vertices[to].position[i] - (double)mesh->vertices[from].position[i];
}

static bool add_triangle(const mmd_mesh *mesh, const int32_t corners[3], const float *uvs,
                         frame *frames)
{
    double edges[2][3], sides[2][2], along_u[3], along_v[3];
    for (int e = 0; e < 2; e++) {
        edge(mesh, corners[0], corners[e + 1], edges[e]);
        for (int i = 0; i < 2; i++)
            sides[e][i] = (double)uvs[2 * corners[e + 1] + i] - (double)uvs[2 * corners[0] + i];
    }
    if (!texture_axes(edges, sides, along_u, along_v))
        return false;
    for (int c = 0; c < 3; c++) {
        frame *sum = &frames[corners[c]];
        double next[3], last[3];
        edge(mesh, corners[c], corners[(c + 1) % 3], next);
        edge(mesh, corners[c], corners[(c + 2) % 3], last);
        double angle = angle_between(next, last);
        sum->angle += angle;
        for (int i = 0; i < 3; i++) {
            sum->along_u[i] += angle * along_u[i];
            sum->along_v[i] += angle * along_v[i];
        }
    }
    return true;
}

static void remove_part_along(double v[3], const double unit[3])
{
    double part = dot(v, unit);
    for (int i = 0; i < 3; i++)
        v[i] -= part * unit[i];
}

/* Where triangles give none: at right angles to the normal, from the axis that leans least on it.
 */
static void any_tangent(const double normal[3], double tangent[3])
{
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(normal[i]) < fabs(normal[axis]))
            axis = i;
    for (int i = 0; i < 3; i++)
        tangent[i] = i == axis;
    remove_part_along(tangent, normal);
    make_unit(tangent);
}

static void set_tangent(mmd_vertex *vertex, const frame *sum)
{
    double normal[3], tangent[3], across[3];
    for (int i = 0; i < 3; i++) {
        normal[i] = (double)vertex->normal[i];
        tangent[i] = sum->along_u[i];
    }
    remove_part_along(tangent, normal);
    bool found = sqrt(dot(tangent, tangent)) > least * sum->angle && make_unit(tangent);
    if (!found)
        any_tangent(normal, tangent);
    cross(normal, tangent, across);
    for (int i = 0; i < 3; i++)
        vertex->tangent[i] = (float)tangent[i];
    vertex->tangent[3] = found && dot(across, sum->along_v) < 0 ? -1.0f : 1.0f;
}

mmd_mesh *mmd_mesh_with_tangents(const mmd_mesh *base, const mmd_mesh_extras *extras,
                                 mmd_error *err)
{
    mmd_arena temporary = {0};
    frame *frames = mmd_arena_alloc(&temporary, base->vertex_count, sizeof *frames);
    mmd_mesh *mesh = frames ? mmd_mesh_copy(base) : NULL;
    size_t used = 0, triangles = extras->uvs ? extras->triangle_count : 0;
    for (size_t t = 0; mesh && t < triangles; t++)
        used += add_triangle(base, extras->triangles + 3 * t, extras->uvs, frames);
    bool made = mesh && used;
    for (size_t v = 0; made && v < mesh->vertex_count; v++)
        set_tangent(&mesh->vertices[v], &frames[v]);
    mmd_arena_free(&temporary);
    if (made)
        mesh->tangent_width = 4;
    if (made && mmd_mesh_lay_out(mesh))
        return mesh;
    if (mesh && !used)
        mmd_fail(err, MMD_E_ARGUMENT, "tangents: wanted, but the mesh has none%s",
                 extras->uvs ? ", nor a triangle of texture to make them of" : "");
    else
        mmd_fail_memory(err);
    mmd_mesh_free(mesh);
    return NULL;
}
