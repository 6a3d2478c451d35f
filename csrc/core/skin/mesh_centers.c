/* SPDX-License-Identifier: MIT */
/* Optimized centers of rotation: Le and Hodgins, "Real-time skeletal skinning with optimized
   centers of rotation", ACM Transactions on Graphics 35(4), 2016, equations (1) and (4).

   The center of rotation p* of a vertex with weights w is the mean position of the surface,
   weighted by how similar the weights there are to w:

       s(a, b) = sum over bones j != k of a_j a_k b_j b_k exp(-(a_j b_k - a_k b_j)^2 / sigma^2)
       p*(w)   = integral of s(w, w(x)) x dx / integral of s(w, w(x)) dx

   Both integrals are sums over pairs of bones, so for each pair only the vertices and triangles
   with both bones are compared, and vertices of equal weights are computed once. Triangles over
   which the weights change much are divided into parts; on each part the weights are those of its
   centroid. All in double; positions in model units. docs/methods.md#centers has measurements.

   The sums compare each vertex of a pair with each part. Where all pairs together need more than
   MAX_COMPARISONS, as hostile meshes do and no model of a character, the parts of a pair are first
   merged into cells of similar weights, so that the work is proportional to the mesh. */
#include "core/skin/mesh.h"

#include "core/base/error.h"
#include "core/math/scalar.h"
#include "core/math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The paper's sigma, and how much the weights may change along the edge of a part. */
static const double SIGMA = 0.1, EPSILON = 0.1;

enum {
    MAX_BONES = 12,              /* of a triangle: four per corner */
    MAX_COMPARISONS = 1 << 28,   /* some seconds */
    CELLS = 32,                  /* per unit of weight: a third of sigma */
    WORK_BETWEEN_POLLS = 1 << 20 /* comparisons: some milliseconds */
};

/* A vertex with both bones of a pair. */
typedef struct pair_vertex {
    uint64_t pair; /* smaller bone index << 32 | larger */
    uint32_t vertex;
    float weights[2];
} pair_vertex;

/* A triangle with both bones of a pair. */
typedef struct pair_triangle {
    uint32_t triangle;
    float weights[3][2]; /* corner, bone */
} pair_triangle;

typedef struct bone_pair {
    uint64_t pair;
    size_t first_vertex, vertex_count, distinct_count; /* of vertices with other weights */
    size_t first_triangle, triangle_count, part_count;
} bone_pair;

/* The parts of a pair's triangles, as a structure of arrays. mass: the product of both weights and
   the area; moment: mass times position. */
typedef struct part_list {
    size_t count;
    double *weights[2], *mass, *moment[3];
} part_list;

typedef struct solver {
    const mmd_mesh_vertex *vertices;
    const int32_t *triangles;
    size_t triangle_count, pair_vertex_count, pair_count;
    pair_vertex *pair_vertices; /* sorted by pair, then by weights */
    bone_pair *pairs;
    pair_triangle *pair_triangles;
    uint16_t *subdivisions; /* of each triangle: parts per edge */
    double *integrals;      /* (V,4): moment 3, mass */
    bool merges_parts;
    const mmd_mesh_extras *extras;
    size_t work; /* since the last poll */
    bool interrupted;
} solver;

/* Counts work; false if the caller wants to stop. */
static bool continues(solver *s, size_t work)
{
    s->work += work;
    if (s->work >= WORK_BETWEEN_POLLS && s->extras->interrupted) {
        s->work = 0;
        s->interrupted = s->extras->interrupted(s->extras->interrupted_arg);
    }
    return !s->interrupted;
}

static uint64_t pair_of(int32_t a, int32_t b)
{
    return a < b ? (uint64_t)a << 32 | (uint32_t)b : (uint64_t)b << 32 | (uint32_t)a;
}

static int compare_pair_vertices(const void *a, const void *b)
{
    const pair_vertex *x = a, *y = b;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (x->weights[i] != y->weights[i])
            return x->weights[i] < y->weights[i] ? -1 : 1;
    return 0;
}

static bool find_pair_vertices(solver *s, size_t vertex_count, mmd_arena *arena)
{
    size_t capacity = 0;
    for (size_t v = 0; v < vertex_count; v++) {
        size_t count = (size_t)s->vertices[v].count;
        capacity += count > 1 ? count * (count - 1) / 2 : 0;
    }
    if (!MMD_ARENA_ARRAY(arena, s->pair_vertices, capacity))
        return false;
    for (size_t v = 0; v < vertex_count; v++) {
        const mmd_mesh_vertex *vertex = &s->vertices[v];
        for (int i = 0; i < vertex->count; i++)
            for (int k = i + 1; k < vertex->count; k++) {
                if (!(vertex->weights[i] > 0 && vertex->weights[k] > 0))
                    continue;
                bool swapped = vertex->bones[i] > vertex->bones[k];
                s->pair_vertices[s->pair_vertex_count++] =
                    (pair_vertex){.pair = pair_of(vertex->bones[i], vertex->bones[k]),
                                  .vertex = (uint32_t)v,
                                  .weights = {vertex->weights[swapped ? k : i],
                                              vertex->weights[swapped ? i : k]}};
            }
    }
    qsort(s->pair_vertices, s->pair_vertex_count, sizeof *s->pair_vertices, compare_pair_vertices);
    for (size_t i = 0; i < s->pair_vertex_count; i++)
        s->pair_count += i == 0 || s->pair_vertices[i].pair != s->pair_vertices[i - 1].pair;
    if (!MMD_ARENA_ARRAY(arena, s->pairs, s->pair_count))
        return false;
    size_t pairs = 0;
    for (size_t i = 0; i < s->pair_vertex_count; i++) {
        const pair_vertex *vertex = &s->pair_vertices[i], *before = i ? vertex - 1 : NULL;
        if (!before || vertex->pair != before->pair)
            s->pairs[pairs++] = (bone_pair){.pair = vertex->pair, .first_vertex = i};
        bone_pair *pair = &s->pairs[pairs - 1];
        pair->distinct_count += pair->vertex_count++ == 0 ||
                                memcmp(vertex->weights, before->weights, sizeof vertex->weights);
    }
    return true;
}

static bone_pair *find_pair(const solver *s, uint64_t pair)
{
    size_t low = 0, high = s->pair_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->pairs[middle].pair < pair)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->pair_count && s->pairs[low].pair == pair ? &s->pairs[low] : NULL;
}

/* The bones of a triangle, and their weights at each corner. */
static int triangle_weights(const solver *s, size_t triangle, int32_t bones[MAX_BONES],
                            double weights[3][MAX_BONES])
{
    int count = 0;
    memset(weights, 0, 3 * sizeof *weights);
    for (int corner = 0; corner < 3; corner++) {
        const mmd_mesh_vertex *vertex = &s->vertices[s->triangles[3 * triangle + (size_t)corner]];
        for (int i = 0; i < vertex->count; i++) {
            if (!(vertex->weights[i] > 0))
                continue;
            int at = 0;
            while (at < count && bones[at] != vertex->bones[i])
                at++;
            if (at == count)
                bones[count++] = vertex->bones[i];
            /* Negative weights make others exceed 1, which would divide without bound. */
            weights[corner][at] = fmin(vertex->weights[i], 1);
        }
    }
    return count;
}

/* Parts per edge, so that weights change by at most EPSILON along the edge of a part. */
static uint16_t subdivisions_of(int count, double weights[3][MAX_BONES])
{
    double largest = 0;
    for (int corner = 0; corner < 3; corner++) {
        double square = 0;
        for (int i = 0; i < count; i++)
            square += pow(weights[corner][i] - weights[(corner + 1) % 3][i], 2);
        largest = fmax(largest, sqrt(square));
    }
    return (uint16_t)fmax(1, ceil(largest / EPSILON));
}

/* Adds the triangle to every pair of its bones that some vertex has: counts it, or, when
   pair_triangles is allocated, writes it. */
static void visit_triangle(solver *s, size_t triangle)
{
    int32_t bones[MAX_BONES];
    double weights[3][MAX_BONES];
    int count = triangle_weights(s, triangle, bones, weights);
    s->subdivisions[triangle] = subdivisions_of(count, weights);
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++) {
            bone_pair *pair = find_pair(s, pair_of(bones[i], bones[k]));
            if (!pair)
                continue;
            size_t at = pair->first_triangle + pair->triangle_count++;
            if (!s->pair_triangles)
                continue;
            pair->part_count += (size_t)s->subdivisions[triangle] * s->subdivisions[triangle];
            int smaller = bones[i] < bones[k] ? i : k, larger = i + k - smaller;
            s->pair_triangles[at].triangle = (uint32_t)triangle;
            for (int corner = 0; corner < 3; corner++) {
                s->pair_triangles[at].weights[corner][0] = (float)weights[corner][smaller];
                s->pair_triangles[at].weights[corner][1] = (float)weights[corner][larger];
            }
        }
}

static bool find_pair_triangles(solver *s, mmd_arena *arena)
{
    if (!MMD_ARENA_ARRAY(arena, s->subdivisions, s->triangle_count))
        return false;
    for (size_t t = 0; t < s->triangle_count && continues(s, MAX_BONES * MAX_BONES); t++)
        visit_triangle(s, t);
    size_t total = 0;
    for (size_t p = 0; p < s->pair_count; p++) {
        s->pairs[p].first_triangle = total;
        total += s->pairs[p].triangle_count;
        s->pairs[p].triangle_count = 0;
    }
    if (!MMD_ARENA_ARRAY(arena, s->pair_triangles, total))
        return false;
    for (size_t t = 0; t < s->triangle_count && continues(s, MAX_BONES * MAX_BONES); t++)
        visit_triangle(s, t);
    double comparisons = 0;
    for (size_t p = 0; p < s->pair_count; p++)
        comparisons += (double)s->pairs[p].distinct_count * (double)s->pairs[p].part_count;
    s->merges_parts = comparisons > MAX_COMPARISONS;
    return !s->interrupted;
}

/* Twice the area, which cancels out of the quotient. */
static double double_area(const float *a, const float *b, const float *c)
{
    double u[3], v[3], cross[3];
    for (int i = 0; i < 3; i++) {
        u[i] = (double)b[i] - a[i];
        v[i] = (double)c[i] - a[i];
    }
    mmd_vec3_cross(u, v, cross);
    return mmd_vec3_length(cross);
}

/* Weights, mass and moment of one part. */
typedef struct part {
    double weights[2], mass, moment[3];
} part;

/* u, v: barycentric coordinates of the part's centroid, on which the weights depend linearly. */
static part make_part(const solver *s, const pair_triangle *triangle, double area, double u,
                      double v)
{
    const double barycentric[3] = {u, v, 1 - u - v};
    const int32_t *corners = s->triangles + 3 * (size_t)triangle->triangle;
    double centroid[3] = {0};
    part made = {.mass = 0};
    for (int corner = 0; corner < 3; corner++) {
        for (int i = 0; i < 2; i++)
            made.weights[i] += barycentric[corner] * (double)triangle->weights[corner][i];
        for (int i = 0; i < 3; i++)
            centroid[i] += barycentric[corner] * s->vertices[corners[corner]].position[i];
    }
    made.mass = made.weights[0] * made.weights[1] * area;
    for (int i = 0; i < 3; i++)
        made.moment[i] = made.mass * centroid[i];
    return made;
}

static void list_part(const part *made, double factor, part_list *out)
{
    size_t at = out->count++;
    for (int i = 0; i < 2; i++)
        out->weights[i][at] = made->weights[i] * factor;
    out->mass[at] = made->mass;
    for (int i = 0; i < 3; i++)
        out->moment[i][at] = made->moment[i];
}

/* Adds a part to the cell of its weights, which sums mass x weights. */
static void merge_part(const part *made, part *cells)
{
    size_t index[2];
    for (int i = 0; i < 2; i++)
        index[i] = (size_t)(mmd_clamp(made->weights[i], 0, 1) * (CELLS - 1) + 0.5);
    part *cell = &cells[index[0] * CELLS + index[1]];
    for (int i = 0; i < 2; i++)
        cell->weights[i] += made->mass * made->weights[i];
    cell->mass += made->mass;
    for (int i = 0; i < 3; i++)
        cell->moment[i] += made->moment[i];
}

/* Lists the parts of a triangle, or merges them into cells unless these are NULL. n parts per edge
   divide it into n * n equal triangles, upright and inverted. */
static void add_parts(const solver *s, const pair_triangle *triangle, part *cells, part_list *out)
{
    const int32_t *corners = s->triangles + 3 * (size_t)triangle->triangle;
    int n = s->subdivisions[triangle->triangle];
    double area = double_area(s->vertices[corners[0]].position, s->vertices[corners[1]].position,
                              s->vertices[corners[2]].position) /
                  ((double)n * n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n - i; k++)
            for (int inverted = 0; inverted <= (i + k < n - 1); inverted++) {
                double third = inverted ? 2.0 / 3 : 1.0 / 3;
                part made = make_part(s, triangle, area, (i + third) / n, (k + third) / n);
                if (cells)
                    merge_part(&made, cells);
                else
                    list_part(&made, 1, out);
            }
}

static bool list_parts(solver *s, const bone_pair *pair, mmd_arena *arena, part_list *out)
{
    const pair_triangle *triangles = s->pair_triangles + pair->first_triangle;
    bool merges = s->merges_parts && pair->part_count > CELLS * CELLS;
    size_t capacity = merges ? CELLS * CELLS : pair->part_count;
    part *cells = merges ? mmd_arena_alloc(arena, capacity, sizeof *cells) : NULL;
    double *rows = mmd_arena_alloc(arena, 6 * capacity, sizeof *rows);
    if (!rows || (merges && !cells))
        return false;
    *out = (part_list){.weights = {rows, rows + capacity},
                       .mass = rows + 2 * capacity,
                       .moment = {rows + 3 * capacity, rows + 4 * capacity, rows + 5 * capacity}};
    for (size_t i = 0; i < pair->triangle_count; i++) {
        size_t n = s->subdivisions[triangles[i].triangle];
        if (!continues(s, n * n))
            return false;
        add_parts(s, &triangles[i], cells, out);
    }
    for (size_t i = 0; merges && i < capacity; i++)
        if (cells[i].mass > 0)
            list_part(&cells[i], 1 / cells[i].mass, out);
    return true;
}

/* One pair's terms of both integrals for a vertex with these weights: moment 3, mass. */
static void integrate(const part_list *parts, const float weights[2], double out[4])
{
    memset(out, 0, 4 * sizeof *out);
    for (size_t i = 0; i < parts->count; i++) {
        double difference = weights[0] * parts->weights[1][i] - weights[1] * parts->weights[0][i];
        double similarity = exp(-difference * difference / (SIGMA * SIGMA));
        for (int k = 0; k < 3; k++)
            out[k] += similarity * parts->moment[k][i];
        out[3] += similarity * parts->mass[i];
    }
    for (int k = 0; k < 4; k++)
        out[k] *= 2.0 * weights[0] * weights[1];
}

static bool add_pair(solver *s, const bone_pair *pair)
{
    MMD_ARENA_LOCAL mmd_arena scratch = {0};
    part_list parts;
    if (!list_parts(s, pair, &scratch, &parts))
        return false;
    double terms[4] = {0};
    const pair_vertex *previous = NULL;
    for (size_t i = 0; i < pair->vertex_count; i++) {
        const pair_vertex *vertex = &s->pair_vertices[pair->first_vertex + i];
        if (!previous || memcmp(previous->weights, vertex->weights, sizeof vertex->weights) != 0) {
            if (!continues(s, parts.count))
                break;
            integrate(&parts, vertex->weights, terms);
        }
        previous = vertex;
        for (int k = 0; k < 4; k++)
            s->integrals[4 * (size_t)vertex->vertex + (size_t)k] += terms[k];
    }
    return !s->interrupted;
}

bool mmd_mesh_find_centers(const mmd_mesh_vertex *vertices, size_t vertex_count,
                           const mmd_mesh_extras *extras, float *centers, mmd_error *err)
{
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    solver s = {.vertices = vertices,
                .triangles = extras->triangles,
                .triangle_count = extras->triangle_count,
                .extras = extras};
    s.integrals = mmd_arena_alloc(&arena, 4 * vertex_count, sizeof *s.integrals);
    bool done = s.integrals && find_pair_vertices(&s, vertex_count, &arena) &&
                find_pair_triangles(&s, &arena);
    for (size_t p = 0; done && p < s.pair_count; p++)
        done = add_pair(&s, &s.pairs[p]);
    for (size_t v = 0; done && v < vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            const double *integral = s.integrals + 4 * v;
            centers[3 * v + i] =
                integral[3] > 0 ? (float)(integral[i] / integral[3]) : vertices[v].position[i];
        }
    if (s.interrupted)
        return mmd_fail(err, MMD_E_INTERRUPTED, "interrupted");
    return done || mmd_fail_memory(err);
}
