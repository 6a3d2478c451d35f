/* SPDX-License-Identifier: MIT */
/* Prepares a copy of a mesh for one of the three methods against the bulge of dual quaternion
   skinning (docs/methods.md). Once per vertex, from the rest pose, lengths in model units:

   bulge-free (Kim and Han 2014)
       order   the leading bone (largest weight) first
       c, c0   head and tail of its segment
       factor  s: the weights of bones in one chain with the leading bone, divided by
               the weights of all bones but the leading one

   bulge-compensated (Sulema and Rudenko 2020)
       order   the two bones of largest weight first
       c, c0   the unit directions of their segments
       factor  k = side r P(x) (1 - w2/w1) (w0 + w1), where x = w1 / (w0 + w1),
               P(x) = 2.2 x - 9.6 x^2 + 10.4 x^3, r is the distance from the first bone's axis

   centers of rotation (Le and Hodgins 2016)
       c       the center of rotation (mesh_centers.c)

   The segment of a bone goes from its head to its tail. Two bones are in one chain if one is an
   ancestor of the other. */
#include "core/base/error.h"
#include "core/math/vec3.h"
#include "core/model/model.h"
#include "core/skin/mesh.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Checks */

/* Indices, or NULL, of which each item has `width`: at least `least` and below `limit`. */
static bool check_indices(const char *item, const char *name, const int32_t *indices, size_t items,
                          size_t width, int32_t least, size_t limit, mmd_error *err)
{
    for (size_t i = 0; indices && i < items * width; i++)
        if (indices[i] < least || indices[i] >= (int64_t)limit)
            return mmd_refuse(err, "%s %zu: %s %d of %zu", item, i / width, name, (int)indices[i],
                              limit);
    return true;
}

bool mmd_mesh_extras_check(const mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err)
{
    if (!mmd_error_require(mesh, "base", err) || !mmd_error_require(extras, "extras", err))
        return false;
    if (extras->segments && extras->segment_count < mesh->bone_count)
        return mmd_refuse(err, "segments: %zu, expected at least %zu, one per bone",
                          extras->segment_count, mesh->bone_count);
    if (extras->parents && extras->parent_count < mesh->bone_count)
        return mmd_refuse(err, "parents: %zu, expected at least %zu, one per bone",
                          extras->parent_count, mesh->bone_count);
    const mmd_numbers_array arrays[] = {
        {"uvs", "vertex", extras->uvs, 1, mesh->vertex_count, 2},
        {"centers", "vertex", extras->centers, 1, mesh->vertex_count, 3},
        {"segments", "bone", extras->segments, 1, extras->segment_count, 6}};
    return check_indices("triangles: triangle", "vertex", extras->triangles, extras->triangle_count,
                         3, 0, mesh->vertex_count, err) &&
           check_indices("parents: bone", "parent", extras->parents, extras->parent_count, 1, -1,
                         extras->parent_count, err) &&
           mmd_numbers_check(arrays, sizeof arrays / sizeof *arrays, 1, err);
}

/* Chains of bones */

/* Answers in constant time whether a bone is an ancestor of another one: by the entry and exit
   times of a depth-first traversal. */
typedef struct bone_chains {
    uint32_t *entry, *exit; /* of each bone; descendants are entered between the two */
} bone_chains;

static bool has_parent(const int32_t *parents, size_t count, const size_t *rank, size_t bone)
{
    int32_t parent = parents[bone];
    return parent >= 0 && (size_t)parent < count && rank[parent] < rank[bone];
}

/* `parents` may be out of range (no parent) and may form cycles, which are cut where they close.
   False when memory runs out. */
static bool init_chains(bone_chains *chains, mmd_arena *arena, const int32_t *parents,
                        size_t bone_count)
{
    size_t *order, *rank;
    uint32_t time = 0;
    uint32_t *next; /* of each bone: its descendants, then when its next child is entered */
    if (!MMD_ARENA_ARRAY(arena, chains->entry, bone_count) ||
        !MMD_ARENA_ARRAY(arena, chains->exit, bone_count) ||
        !MMD_ARENA_ARRAY(arena, order, bone_count) || !MMD_ARENA_ARRAY(arena, rank, bone_count) ||
        !MMD_ARENA_ARRAY(arena, next, bone_count) ||
        !mmd_model_order(parents, 0, sizeof *parents, bone_count, order))
        return false;
    for (size_t i = 0; i < bone_count; i++)
        rank[order[i]] = i;
    for (size_t i = bone_count; i-- > 0;)
        if (has_parent(parents, bone_count, rank, order[i]))
            next[parents[order[i]]] += next[order[i]] + 1;
    for (size_t i = 0; i < bone_count; i++) {
        size_t b = order[i];
        uint32_t *clock = has_parent(parents, bone_count, rank, b) ? &next[parents[b]] : &time;
        chains->entry[b] = *clock;
        chains->exit[b] = *clock += next[b] + 1;
        next[b] = chains->entry[b] + 1;
    }
    return true;
}

/* 1: a is an ancestor of b, -1: a descendant, 0: neither. */
static int chain_side(const bone_chains *chains, int32_t a, int32_t b)
{
    uint32_t entry_a = chains->entry[a], entry_b = chains->entry[b];
    if (entry_a < entry_b)
        return entry_b < chains->exit[a] ? 1 : 0;
    return entry_b < entry_a && entry_a < chains->exit[b] ? -1 : 0;
}

/* The methods */

/* Moves influence `from` to `to`, and those in between one slot back. */
static void move_influence(mmd_mesh_vertex *vertex, int from, int to)
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

/* Sorts the first `ranks` influences by falling weight (of equal weights the lower bone first); the
   others stay in order of bones, which needs fewer block groups. */
static void sort_influences(mmd_mesh_vertex *vertex, int ranks)
{
    int count = vertex->count;
    for (int rank = 0; rank < ranks && rank < count; rank++) {
        int best = rank;
        for (int i = rank + 1; i < count; i++)
            if (vertex->weights[i] > vertex->weights[best])
                best = i;
        move_influence(vertex, best, rank);
    }
    for (int i = count; i < 4; i++)
        vertex->bones[i] = vertex->bones[0];
    vertex->pivot = 0;
}

/* s of bulge-free. */
static float chain_ratio(const mmd_mesh_vertex *vertex, const bone_chains *chains)
{
    double in_chain = 0, total = 0;
    for (int i = 1; i < vertex->count; i++) {
        total += vertex->weights[i];
        if (chain_side(chains, vertex->bones[0], vertex->bones[i]) != 0)
            in_chain += vertex->weights[i];
    }
    return total != 0 ? (float)fmax(0, fmin(1, in_chain / total)) : 0;
}

/* The unit direction of a segment; false if it has no length. */
static bool segment_direction(const float *segment, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (double)segment[3 + i] - segment[i];
    double length = mmd_vec3_length(out);
    for (int i = 0; i < 3; i++)
        out[i] /= length;
    return length * length >= FLT_MIN;
}

/* `sorted` has its leading bone first. Vertices without a correction keep their order, which
   needs fewer block groups. */
static void set_bulge_free(mmd_mesh_vertex *vertex, mmd_mesh_vertex sorted,
                           const mmd_mesh_extras *extras, const bone_chains *chains)
{
    const float *segment = extras->segments + 6 * (size_t)sorted.bones[0];
    double direction[3];
    sorted.factor = chain_ratio(&sorted, chains);
    if (sorted.factor == 0 || !segment_direction(segment, direction))
        return;
    *vertex = sorted;
    vertex->kind = MMD_SKIN_BULGE_FREE;
    memcpy(vertex->c, segment, sizeof vertex->c);
    memcpy(vertex->c0, segment + 3, sizeof vertex->c0);
}

/* `sorted` has its two leading bones first. The offset direction is the same for both orders of two
   bones, so vertices of two bones keep their order and share one block group. */
static void set_compensated(mmd_mesh_vertex *vertex, mmd_mesh_vertex sorted,
                            const mmd_mesh_extras *extras, const bone_chains *chains)
{
    const float *first = extras->segments + 6 * (size_t)sorted.bones[0];
    const float *second = extras->segments + 6 * (size_t)sorted.bones[1];
    double u0[3], u1[3], from_head[3], moment[3];
    double w0 = sorted.weights[0], w1 = sorted.weights[1];
    double w2 = fmax(sorted.weights[2], sorted.weights[3]);
    int side = chain_side(chains, sorted.bones[0], sorted.bones[1]);
    if (sorted.count < 2 || side == 0 || !(w1 > 0) || !segment_direction(first, u0) ||
        !segment_direction(second, u1))
        return;
    for (int i = 0; i < 3; i++)
        from_head[i] = (double)sorted.position[i] - first[i];
    mmd_vec3_cross(from_head, u0, moment);
    double r = mmd_vec3_length(moment);
    double x = w1 / (w0 + w1), profile = x * (2.2 + x * (-9.6 + x * 10.4));
    bool swapped = sorted.count == 2 && sorted.bones[0] != vertex->bones[0];
    if (sorted.count > 2)
        *vertex = sorted;
    vertex->kind = MMD_SKIN_COMPENSATED;
    vertex->factor = (float)(side * r * profile * (1 - w2 / w1) * (w0 + w1));
    for (int i = 0; i < 3; i++) {
        vertex->c[i] = (float)(swapped ? u1 : u0)[i];
        vertex->c0[i] = (float)(swapped ? u0 : u1)[i];
    }
}

static bool set_segments(mmd_mesh *mesh, mmd_method method, const mmd_mesh_extras *extras,
                         mmd_error *err)
{
    MMD_ARENA_LOCAL mmd_arena scratch = {0};
    bone_chains chains;
    bool done = init_chains(&chains, &scratch, extras->parents, extras->parent_count);
    for (size_t v = 0; done && v < mesh->vertex_count; v++) {
        mmd_mesh_vertex *vertex = &mesh->vertices[v];
        mmd_mesh_vertex sorted = *vertex;
        sort_influences(&sorted, method == MMD_METHOD_BULGE_FREE ? 1 : 2);
        vertex->kind = sorted.kind = vertex->count ? MMD_SKIN_QDEF : MMD_SKIN_LINEAR;
        if (vertex->count && method == MMD_METHOD_BULGE_FREE)
            set_bulge_free(vertex, sorted, extras, &chains);
        else if (vertex->count)
            set_compensated(vertex, sorted, extras, &chains);
    }
    return done || mmd_fail_memory(err);
}

static bool set_centers(mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err)
{
    float *centers = mmd_arena_alloc(&mesh->arena, 3 * mesh->vertex_count, sizeof *centers);
    if (!centers)
        return mmd_fail_memory(err);
    if (extras->centers && mesh->vertex_count)
        memcpy(centers, extras->centers, 3 * mesh->vertex_count * sizeof *centers);
    else if (!extras->centers &&
             !mmd_mesh_find_centers(mesh->vertices, mesh->vertex_count, extras, centers, err))
        return false;
    mesh->centers = centers;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        mmd_mesh_vertex *vertex = &mesh->vertices[v];
        vertex->kind = vertex->count > 1 ? MMD_SKIN_CENTER : MMD_SKIN_LINEAR;
        sort_influences(vertex, vertex->count > 2 ? 1 : 0); /* two quaternions need no pivot */
        memcpy(vertex->c, centers + 3 * v, sizeof vertex->c);
    }
    return true;
}

static bool check_requirements(mmd_method method, const mmd_mesh_extras *extras, mmd_error *err)
{
    if (method < MMD_METHOD_BULGE_FREE || method > MMD_METHOD_CENTERS_OF_ROTATION)
        return mmd_refuse(err, "method: %d needs no variant of the mesh, or is none", (int)method);
    if (method == MMD_METHOD_CENTERS_OF_ROTATION)
        return extras->triangles || extras->centers ||
               mmd_refuse(err, "method: \"centers_of_rotation\" needs triangles or centers, "
                               "the mesh has neither");
    if (extras->segments && extras->parents)
        return true;
    return mmd_refuse(err, "method: \"%s\" needs segments and parents, the mesh has %s",
                      method == MMD_METHOD_BULGE_FREE ? "bulge_free" : "bulge_compensated",
                      extras->segments  ? "no parents"
                      : extras->parents ? "no segments"
                                        : "neither");
}

mmd_mesh *mmd_mesh_variant(const mmd_mesh *base, mmd_method method, const mmd_mesh_extras *extras,
                           mmd_error *err)
{
    if (!mmd_mesh_extras_check(base, extras, err) || !check_requirements(method, extras, err))
        return NULL;
    mmd_mesh *mesh = mmd_mesh_copy(base, err);
    if (!mesh)
        return NULL;
    mesh->method = method;
    bool set = method == MMD_METHOD_CENTERS_OF_ROTATION ? set_centers(mesh, extras, err)
                                                        : set_segments(mesh, method, extras, err);
    return mmd_arena_keep_owner(mesh, set && mmd_mesh_build_blocks(mesh, err));
}
