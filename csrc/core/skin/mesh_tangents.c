/* SPDX-License-Identifier: MIT */
/* Tangents from texture coordinates (docs/methods.md#tangents): per triangle, t and b are the unit
   directions in which u and v grow; per vertex, the sums of t and b weighted by the triangle's
   angle at the vertex; the tangent is the sum of t made orthogonal to the normal n, and its
   handedness w the sign of dot(n x t, b). All in double. */
#include "core/base/error.h"
#include "core/math/vec3.h"
#include "core/skin/mesh.h"

#include <math.h>
#include <string.h>

/* Of one vertex over its triangles, weighted by their angles. */
typedef struct tangent_sum {
    double tangent[3], bitangent[3], angle;
} tangent_sum;

/* Relative to the sum of the angles: below this length a sum of unit vectors has no direction. */
static const double MIN_SUM_LENGTH = 1e-6;

/* Unit tangent and bitangent of a triangle; false if its texture has no area. */
static bool triangle_tangents(const double edges[2][3], const double uv_edges[2][2],
                              double tangent[3], double bitangent[3])
{
    double area = uv_edges[0][0] * uv_edges[1][1] - uv_edges[1][0] * uv_edges[0][1];
    double sign = area < 0 ? -1 : 1;
    for (int i = 0; i < 3; i++) {
        tangent[i] = sign * (edges[0][i] * uv_edges[1][1] - edges[1][i] * uv_edges[0][1]);
        bitangent[i] = sign * (edges[1][i] * uv_edges[0][0] - edges[0][i] * uv_edges[1][0]);
    }
    return area != 0 && mmd_vec3_normalize(tangent) && mmd_vec3_normalize(bitangent);
}

static double angle_between(const double a[3], const double b[3])
{
    double cross[3];
    mmd_vec3_cross(a, b, cross);
    return atan2(mmd_vec3_length(cross), mmd_vec3_dot(a, b));
}

static void edge(const mmd_mesh *mesh, int32_t from, int32_t to, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (double)mesh->vertices[to].position[i] - (double)mesh->vertices[from].position[i];
}

static bool add_triangle(const mmd_mesh *mesh, const int32_t corners[3], const float *uvs,
                         tangent_sum *sums)
{
    double edges[2][3], uv_edges[2][2], tangent[3], bitangent[3];
    for (int e = 0; e < 2; e++) {
        edge(mesh, corners[0], corners[e + 1], edges[e]);
        for (int i = 0; i < 2; i++)
            uv_edges[e][i] = (double)uvs[2 * corners[e + 1] + i] - (double)uvs[2 * corners[0] + i];
    }
    if (!triangle_tangents(edges, uv_edges, tangent, bitangent))
        return false;
    for (int c = 0; c < 3; c++) {
        tangent_sum *sum = &sums[corners[c]];
        double next[3], previous[3];
        edge(mesh, corners[c], corners[(c + 1) % 3], next);
        edge(mesh, corners[c], corners[(c + 2) % 3], previous);
        double angle = angle_between(next, previous);
        sum->angle += angle;
        mmd_vec3_add_scaled(tangent, angle, sum->tangent);
        mmd_vec3_add_scaled(bitangent, angle, sum->bitangent);
    }
    return true;
}

static void make_orthogonal(double v[3], const double unit[3])
{
    mmd_vec3_add_scaled(unit, -mmd_vec3_dot(v, unit), v);
}

/* For a vertex without a tangent: the coordinate axis that is farthest from the normal. */
static void default_tangent(const double normal[3], double tangent[3])
{
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(normal[i]) < fabs(normal[axis]))
            axis = i;
    for (int i = 0; i < 3; i++)
        tangent[i] = i == axis;
    make_orthogonal(tangent, normal);
    mmd_vec3_normalize(tangent);
}

static void set_tangent(mmd_mesh_vertex *vertex, const tangent_sum *sum)
{
    double normal[3], tangent[3], cross[3];
    for (int i = 0; i < 3; i++) {
        normal[i] = (double)vertex->normal[i];
        tangent[i] = sum->tangent[i];
    }
    make_orthogonal(tangent, normal);
    bool found =
        mmd_vec3_length(tangent) > MIN_SUM_LENGTH * sum->angle && mmd_vec3_normalize(tangent);
    if (!found)
        default_tangent(normal, tangent);
    mmd_vec3_cross(normal, tangent, cross);
    for (int i = 0; i < 3; i++)
        vertex->tangent[i] = (float)tangent[i];
    vertex->tangent[3] = found && mmd_vec3_dot(cross, sum->bitangent) < 0 ? -1.0f : 1.0f;
}

mmd_mesh *mmd_mesh_with_tangents(const mmd_mesh *base, const mmd_mesh_extras *extras,
                                 mmd_error *err)
{
    if (!mmd_mesh_extras_check(base, extras, err))
        return NULL;
    if (extras->uvs && extras->triangles && !base->has_normals) {
        mmd_refuse(err, "tangents: need normals, the mesh has none");
        return NULL;
    }
    mmd_mesh *mesh = mmd_mesh_copy(base, err);
    if (!mesh)
        return NULL;
    mmd_arena scratch = {0};
    tangent_sum *sums = mmd_arena_alloc(&scratch, base->vertex_count, sizeof *sums);
    bool has_corners = extras->uvs && extras->triangles;
    size_t used = 0, triangles = sums && has_corners ? extras->triangle_count : 0;
    for (size_t t = 0; t < triangles; t++)
        used += add_triangle(base, extras->triangles + 3 * t, extras->uvs, sums);
    for (size_t v = 0; used && v < mesh->vertex_count; v++)
        set_tangent(&mesh->vertices[v], &sums[v]);
    if (!sums)
        mmd_fail_memory(err);
    else if (!used)
        mmd_refuse(err, "tangents: the mesh has none%s",
                   extras->uvs ? ", and no triangle with texture area to make them from" : "");
    mmd_arena_free(&scratch);
    mesh->tangent_width = 4;
    return mmd_arena_keep_owner(mesh, used && mmd_mesh_build_blocks(mesh, err));
}
