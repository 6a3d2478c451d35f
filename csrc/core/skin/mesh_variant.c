/* SPDX-License-Identifier: MIT */
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/skin/centers.h"
#include "core/skin/mesh.h"
#include "core/skin/segments.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool check_triangles(const mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err)
{
    for (size_t i = 0; extras->triangles && i < 3 * extras->triangle_count; i++) {
        int32_t v = extras->triangles[i];
        if (v < 0 || (size_t)v >= mesh->vertex_count)
            return mmd_fail(err, MMD_E_ARGUMENT, "triangles: triangle %zu: vertex %d of %zu", i / 3,
                            (int)v, mesh->vertex_count);
    }
    return true;
}

static bool check_parents(const mmd_mesh_extras *extras, mmd_error *err)
{
    for (size_t b = 0; extras->parents && b < extras->parent_count; b++) {
        int32_t parent = extras->parents[b];
        if (parent < -1 || parent >= (int64_t)extras->parent_count)
            return mmd_fail(err, MMD_E_ARGUMENT, "parents: bone %zu: parent %d of %zu", b,
                            (int)parent, extras->parent_count);
    }
    return true;
}

/* Rows of `width` numbers in threes. */
static bool check_vectors(const char *name, const char *row, const float *numbers, size_t count,
                          size_t width, mmd_error *err)
{
    size_t bad = numbers ? mmd_first_not_finite(numbers, count * width) : count * width;
    if (!numbers || bad == count * width)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT, "%s: %s %zu, component %zu is %s", name, row, bad / width,
                    bad % 3, mmd_not_finite_name(numbers[bad]));
}

bool mmd_mesh_extras_check(const mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err)
{
    if (extras->segments && extras->segment_count < mesh->bone_count)
        return mmd_fail(err, MMD_E_ARGUMENT, "segments: %zu bones, the mesh names %zu",
                        extras->segment_count, mesh->bone_count);
    if (extras->parents && extras->parent_count < mesh->bone_count)
        return mmd_fail(err, MMD_E_ARGUMENT, "parents: %zu bones, the mesh names %zu",
                        extras->parent_count, mesh->bone_count);
    return check_triangles(mesh, extras, err) && check_parents(extras, err) &&
           check_vectors("centers", "vertex", extras->centers, mesh->vertex_count, 3, err) &&
           check_vectors("segments", "bone", extras->segments, extras->segment_count, 6, err);
}

/* Puts influence `from` at place `to` before it, and the ones between one further. */
static void move_up(mmd_vertex *vertex, int from, int to)
{
    int32_t bone = vertex->bones[from];
    float weight = vertex->weights[from];
    for (int i = from; i > to; i--) {
        vertex->bones[i] = vertex->bones[i - 1];
        vertex->weights[i] = vertex->weights[i - 1];
    }
    vertex->bones[to] = bone;
    vertex->weights[to] = weight;
}

/* The first `ranks` by falling weight (of equal ones the lower bone first), the others by bone, so
   that few groups differ in their order only. */
static void sort_influences(mmd_vertex *vertex, int ranks)
{
    int count = vertex->count;
    for (int rank = 0; rank < ranks && rank < count; rank++) {
        int best = rank;
        for (int i = rank + 1; i < count; i++)
            if (vertex->weights[i] > vertex->weights[best])
                best = i;
        move_up(vertex, best, rank);
    }
    for (int i = count; i < 4; i++)
        vertex->bones[i] = vertex->bones[0];
    vertex->pivot = 0;
}

/* Of the weights that are not the leading bone's, the share of bones in one chain with it. */
static float chain_share(const mmd_vertex *vertex, const mmd_chains *chains)
{
    double joined = 0, total = 0;
    for (int i = 1; i < vertex->count; i++) {
        total += vertex->weights[i];
        if (mmd_chains_side(chains, vertex->bones[0], vertex->bones[i]) != 0)
            joined += vertex->weights[i];
    }
    return total != 0 ? (float)fmax(0, fmin(1, joined / total)) : 0;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The unit direction of a segment; false when it has none. */
static bool direction(const float *segment, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (double)segment[3 + i] - segment[i];
    double length = sqrt(dot(out, out));
    for (int i = 0; i < 3; i++)
        out[i] /= length;
    return length * length >= FLT_MIN;
}

/* `ranked` has its leading bone first, as vertices are that this corrects; the others stay in their
   order, and in groups with more. */
static void set_bulge_free(mmd_vertex *vertex, mmd_vertex ranked, const mmd_mesh_extras *extras,
                           const mmd_chains *chains)
{
    const float *segment = extras->segments + 6 * ranked.bones[0];
    double along[3];
    ranked.factor = chain_share(&ranked, chains);
    if (ranked.factor == 0 || !direction(segment, along))
        return;
    *vertex = ranked;
    vertex->kind = MMD_SKIN_BULGE_FREE;
    memcpy(vertex->c, segment, sizeof vertex->c);
    memcpy(vertex->c0, segment + 3, sizeof vertex->c0);
}

/* `ranked` has its two leading bones first. What moves a vertex outward is the same for both orders
   of the two, so that a vertex of two bones stays in its order, and in one group with more. */
static void set_compensated(mmd_vertex *vertex, mmd_vertex ranked, const mmd_mesh_extras *extras,
                            const mmd_chains *chains)
{
    const float *first = extras->segments + 6 * ranked.bones[0];
    const float *second = extras->segments + 6 * ranked.bones[1];
    double u0[3], u1[3], away[3], square = 0;
    double w0 = ranked.weights[0], w1 = ranked.weights[1];
    double w2 = fmax(ranked.weights[2], ranked.weights[3]);
    int side = mmd_chains_side(chains, ranked.bones[0], ranked.bones[1]);
    if (ranked.count < 2 || side == 0 || !(w1 > 0) || !direction(first, u0) ||
        !direction(second, u1))
        return;
    for (int i = 0; i < 3; i++)
        away[i] = (double)ranked.position[i] - first[i];
    for (int i = 0; i < 3; i++) {
        int next = (i + 1) % 3, last = (i + 2) % 3;
        square += pow(away[next] * u0[last] - away[last] * u0[next], 2);
    }
    double x = w1 / (w0 + w1), profile = x * (2.2 + x * (-9.6 + x * 10.4));
    bool swapped = ranked.count == 2 && ranked.bones[0] != vertex->bones[0];
    if (ranked.count > 2)
        *vertex = ranked;
    vertex->kind = MMD_SKIN_COMPENSATED;
    vertex->factor = (float)(side * sqrt(square) * profile * (1 - w2 / w1) * (w0 + w1));
    for (int i = 0; i < 3; i++) {
        vertex->c[i] = (float)(swapped ? u1 : u0)[i];
        vertex->c0[i] = (float)(swapped ? u0 : u1)[i];
    }
}

static bool set_segments(mmd_mesh *mesh, mmd_method method, const mmd_mesh_extras *extras)
{
    mmd_arena temporary = {0};
    mmd_chains chains;
    bool known = mmd_chains_init(&chains, &temporary, extras->parents, extras->parent_count);
    for (size_t v = 0; known && v < mesh->vertex_count; v++) {
        mmd_vertex *vertex = &mesh->vertices[v];
        mmd_vertex ranked = *vertex;
        sort_influences(&ranked, method == MMD_METHOD_BULGE_FREE ? 1 : 2);
        vertex->kind = ranked.kind = vertex->count ? MMD_SKIN_QDEF : MMD_SKIN_LINEAR;
        if (vertex->count && method == MMD_METHOD_BULGE_FREE)
            set_bulge_free(vertex, ranked, extras, &chains);
        else if (vertex->count)
            set_compensated(vertex, ranked, extras, &chains);
    }
    mmd_arena_free(&temporary);
    return known;
}

static bool set_centers(mmd_mesh *mesh, const mmd_mesh_extras *extras)
{
    float *centers = mmd_arena_alloc(&mesh->arena, 3 * mesh->vertex_count, sizeof *centers);
    if (!centers)
        return false;
    if (extras->centers && mesh->vertex_count)
        memcpy(centers, extras->centers, 3 * mesh->vertex_count * sizeof *centers);
    else if (!mmd_centers(mesh->vertices, mesh->vertex_count, extras->triangles,
                          extras->triangle_count, centers))
        return false;
    mesh->centers = centers;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        mmd_vertex *vertex = &mesh->vertices[v];
        vertex->kind = vertex->count > 1 ? MMD_SKIN_CENTER : MMD_SKIN_LINEAR;
        sort_influences(vertex, vertex->count > 2 ? 1 : 0); /* of two, none is the pivot */
        memcpy(vertex->c, centers + 3 * v, sizeof vertex->c);
    }
    return true;
}

static bool check_needs(mmd_method method, const mmd_mesh_extras *extras, mmd_error *err)
{
    if (method == MMD_METHOD_CENTERS_OF_ROTATION)
        return extras->triangles || extras->centers ||
               mmd_fail(err, MMD_E_ARGUMENT,
                        "method: \"centers_of_rotation\" needs triangles or centers, "
                        "the mesh has neither");
    if (extras->segments && extras->parents)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT,
                    "method: \"%s\" needs segments and parents, the mesh has %s",
                    method == MMD_METHOD_BULGE_FREE ? "bulge_free" : "bulge_compensated",
                    extras->segments  ? "no parents"
                    : extras->parents ? "no segments"
                                      : "neither");
}

mmd_mesh *mmd_mesh_variant(const mmd_mesh *base, mmd_method method, const mmd_mesh_extras *extras,
                           mmd_error *err)
{
    if (!mmd_mesh_extras_check(base, extras, err) || !check_needs(method, extras, err))
        return NULL;
    mmd_mesh *mesh = mmd_mesh_copy(base);
    if (mesh)
        mesh->method = method;
    bool made =
        mesh && (method == MMD_METHOD_CENTERS_OF_ROTATION ? set_centers(mesh, extras)
                                                          : set_segments(mesh, method, extras));
    if (made && mmd_mesh_lay_out(mesh))
        return mesh;
    mmd_mesh_free(mesh);
    mmd_fail_memory(err);
    return NULL;
}
