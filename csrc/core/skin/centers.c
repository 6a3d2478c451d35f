/* SPDX-License-Identifier: MIT */
/* The similarity of two weight vectors is a sum over pairs of bones, and so are both integrals of
   the centre. So for each pair only the vertices and triangles that know both bones are met, and
   vertices of equal weights are worked out once. All in double. */
#include "core/skin/centers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The paper's constants: of the similarity, and of how much weights may differ along an edge. */
static const double sigma = 0.1, epsilon = 0.1;

enum { MOST_BONES = 12 }; /* of a triangle: four a corner */

/* A vertex that both bones of a pair act on. */
typedef struct member {
    uint64_t pair; /* the smaller bone in the upper half */
    uint32_t vertex;
    float weights[2];
} member;

/* What both bones of a pair hold of a triangle. */
typedef struct patch {
    uint32_t triangle;
    double weights[3][2]; /* corner, bone */
} patch;

typedef struct pair_range {
    uint64_t pair;
    size_t first, count;         /* members */
    size_t first_patch, patches; /* places among all patches */
} pair_range;

/* Parts of triangles, as the integrals need them. */
typedef struct parts {
    size_t count;
    double *weights[2], *share,
        *moment[3]; /* share: both weights and the area, moment: times place */
} parts;

typedef struct solver {
    const mmd_vertex *vertices;
    const int32_t *triangles;
    size_t triangle_count, member_count, pair_count;
    member *members;
    pair_range *pairs;
    patch *patches;
    uint16_t *cuts; /* of each triangle: in how many parts its sides are cut */
    double *sums;   /* of each vertex: moment 3, share */
} solver;

static uint64_t pair_of(int32_t a, int32_t b)
{
    return a < b ? (uint64_t)a << 32 | (uint32_t)b : (uint64_t)b << 32 | (uint32_t)a;
}

static int by_pair(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->pair != y->pair)
        return x->pair < y->pair ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (x->weights[i] != y->weights[i])
            return x->weights[i] < y->weights[i] ? -1 : 1;
    return 0;
}

static bool find_members(solver *s, size_t vertex_count, mmd_arena *arena)
{
    size_t room = 0;
    for (size_t v = 0; v < vertex_count; v++) {
        size_t count = (size_t)s->vertices[v].count;
        room += count > 1 ? count * (count - 1) / 2 : 0;
    }
    s->members = mmd_arena_alloc(arena, room, sizeof *s->members);
    if (!s->members)
        return false;
    for (size_t v = 0; v < vertex_count; v++) {
        const mmd_vertex *vertex = &s->vertices[v];
        for (int i = 0; i < vertex->count; i++)
            for (int k = i + 1; k < vertex->count; k++) {
                if (!(vertex->weights[i] > 0 && vertex->weights[k] > 0))
                    continue;
                bool swapped = vertex->bones[i] > vertex->bones[k];
                s->members[s->member_count++] =
                    (member){.pair = pair_of(vertex->bones[i], vertex->bones[k]),
                             .vertex = (uint32_t)v,
                             .weights = {vertex->weights[swapped ? k : i],
                                         vertex->weights[swapped ? i : k]}};
            }
    }
    qsort(s->members, s->member_count, sizeof *s->members, by_pair);
    for (size_t i = 0; i < s->member_count; i++)
        s->pair_count += i == 0 || s->members[i].pair != s->members[i - 1].pair;
    s->pairs = mmd_arena_alloc(arena, s->pair_count, sizeof *s->pairs);
    if (!s->pairs)
        return false;
    pair_range *range = s->pairs - 1;
    for (size_t i = 0; i < s->member_count; i++) {
        if (i == 0 || s->members[i].pair != s->members[i - 1].pair)
            *++range = (pair_range){.pair = s->members[i].pair, .first = i};
        range->count++;
    }
    return true;
}

static pair_range *find_pair(const solver *s, uint64_t pair)
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

/* The bones of a triangle's corners, and each corner's weight of each. */
static int triangle_weights(const solver *s, size_t triangle, int32_t bones[MOST_BONES],
                            double weights[3][MOST_BONES])
{
    int count = 0;
    memset(weights, 0, 3 * sizeof *weights);
    for (int corner = 0; corner < 3; corner++) {
        const mmd_vertex *vertex = &s->vertices[s->triangles[3 * triangle + (size_t)corner]];
        for (int i = 0; i < vertex->count; i++) {
            if (!(vertex->weights[i] > 0))
                continue;
            int at = 0;
            while (at < count && bones[at] != vertex->bones[i])
                at++;
            if (at == count)
                bones[count++] = vertex->bones[i];
            /* Beside negative weights others are above 1; the division must stay bounded. */
            weights[corner][at] = fmin(vertex->weights[i], 1);
        }
    }
    return count;
}

static uint16_t cuts_of(int count, double weights[3][MOST_BONES])
{
    double largest = 0;
    for (int corner = 0; corner < 3; corner++) {
        double square = 0;
        for (int i = 0; i < count; i++)
            square += pow(weights[corner][i] - weights[(corner + 1) % 3][i], 2);
        largest = fmax(largest, sqrt(square));
    }
    return (uint16_t)fmax(1, ceil(largest / epsilon));
}

/* Visits every pair of bones that a triangle and some vertex know. Counts the pair's patches, or,
   once there is room for them, writes them. */
static void visit_triangle(solver *s, size_t triangle)
{
    int32_t bones[MOST_BONES];
    double weights[3][MOST_BONES];
    int count = triangle_weights(s, triangle, bones, weights);
    s->cuts[triangle] = cuts_of(count, weights);
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++) {
            pair_range *range = find_pair(s, pair_of(bones[i], bones[k]));
            if (!range)
                continue;
            size_t at = range->first_patch + range->patches++;
            if (!s->patches)
                continue;
            int smaller = bones[i] < bones[k] ? i : k, larger = i + k - smaller;
            s->patches[at].triangle = (uint32_t)triangle;
            for (int corner = 0; corner < 3; corner++) {
                s->patches[at].weights[corner][0] = weights[corner][smaller];
                s->patches[at].weights[corner][1] = weights[corner][larger];
            }
        }
}

static bool find_patches(solver *s, mmd_arena *arena)
{
    s->cuts = mmd_arena_alloc(arena, s->triangle_count, sizeof *s->cuts);
    if (!s->cuts)
        return false;
    for (size_t t = 0; t < s->triangle_count; t++)
        visit_triangle(s, t);
    size_t total = 0;
    for (size_t p = 0; p < s->pair_count; p++) {
        s->pairs[p].first_patch = total;
        total += s->pairs[p].patches;
        s->pairs[p].patches = 0;
    }
    s->patches = mmd_arena_alloc(arena, total, sizeof *s->patches);
    if (!s->patches)
        return false;
    for (size_t t = 0; t < s->triangle_count; t++)
        visit_triangle(s, t);
    return true;
}

static double area_of(const float *a, const float *b, const float *c)
{
    double u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = (double)b[i] - a[i];
        v[i] = (double)c[i] - a[i];
    }
    double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2],
           z = u[0] * v[1] - u[1] * v[0];
    return sqrt(x * x + y * y + z * z);
}

static void add_part(const solver *s, const patch *piece, double area, double u, double v,
                     parts *out)
{
    const double bary[3] = {u, v, 1 - u - v};
    const int32_t *corners = s->triangles + 3 * (size_t)piece->triangle;
    double weights[2] = {0}, place[3] = {0};
    for (int corner = 0; corner < 3; corner++) {
        for (int i = 0; i < 2; i++)
            weights[i] += bary[corner] * piece->weights[corner][i];
        for (int i = 0; i < 3; i++)
            place[i] += bary[corner] * s->vertices[corners[corner]].position[i];
    }
    size_t at = out->count++;
    double share = weights[0] * weights[1] * area;
    out->weights[0][at] = weights[0];
    out->weights[1][at] = weights[1];
    out->share[at] = share;
    for (int i = 0; i < 3; i++)
        out->moment[i][at] = share * place[i];
}

/* A triangle whose sides are cut in n has n * n equal parts; weights are linear on it. */
static void add_parts(const solver *s, const patch *piece, parts *out)
{
    const int32_t *corners = s->triangles + 3 * (size_t)piece->triangle;
    int n = s->cuts[piece->triangle];
    double area = area_of(s->vertices[corners[0]].position, s->vertices[corners[1]].position,
                          s->vertices[corners[2]].position) /
                  ((double)n * n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n - i; k++) {
            add_part(s, piece, area, (i + 1.0 / 3) / n, (k + 1.0 / 3) / n, out);
            if (i + k < n - 1)
                add_part(s, piece, area, (i + 2.0 / 3) / n, (k + 2.0 / 3) / n, out);
        }
}

static bool pair_parts(const solver *s, const pair_range *range, mmd_arena *arena, parts *out)
{
    size_t count = 0;
    for (size_t i = 0; i < range->patches; i++) {
        size_t n = s->cuts[s->patches[range->first_patch + i].triangle];
        count += n * n;
    }
    double *numbers = mmd_arena_alloc(arena, 6 * count, sizeof *numbers);
    if (!numbers)
        return false;
    *out = (parts){.weights = {numbers, numbers + count},
                   .share = numbers + 2 * count,
                   .moment = {numbers + 3 * count, numbers + 4 * count, numbers + 5 * count}};
    for (size_t i = 0; i < range->patches; i++)
        add_parts(s, &s->patches[range->first_patch + i], out);
    return true;
}

/* The integrals for a vertex of these weights: moment 3, share. */
static void integrate(const parts *p, const float weights[2], double sums[4])
{
    memset(sums, 0, 4 * sizeof *sums);
    for (size_t i = 0; i < p->count; i++) {
        double across = weights[0] * p->weights[1][i] - weights[1] * p->weights[0][i];
        double like = exp(-across * across / (sigma * sigma));
        for (int k = 0; k < 3; k++)
            sums[k] += like * p->moment[k][i];
        sums[3] += like * p->share[i];
    }
    for (int k = 0; k < 4; k++)
        sums[k] *= 2.0 * weights[0] * weights[1];
}

static bool add_pair(solver *s, const pair_range *range)
{
    mmd_arena arena = {0};
    parts all;
    if (!pair_parts(s, range, &arena, &all)) {
        mmd_arena_free(&arena);
        return false;
    }
    double sums[4] = {0};
    const member *last = NULL;
    for (size_t i = 0; i < range->count; i++) {
        const member *m = &s->members[range->first + i];
        if (!last || memcmp(last->weights, m->weights, sizeof m->weights) != 0)
            integrate(&all, m->weights, sums);
        last = m;
        for (int k = 0; k < 4; k++)
            s->sums[4 * (size_t)m->vertex + (size_t)k] += sums[k];
    }
    mmd_arena_free(&arena);
    return true;
}

bool mmd_centers(const mmd_vertex *vertices, size_t vertex_count, const int32_t *triangles,
                 size_t triangle_count, float *centers)
{
    mmd_arena arena = {0};
    solver s = {.vertices = vertices, .triangles = triangles, .triangle_count = triangle_count};
    s.sums = mmd_arena_alloc(&arena, 4 * vertex_count, sizeof *s.sums);
    bool done = s.sums && find_members(&s, vertex_count, &arena) && find_patches(&s, &arena);
    for (size_t p = 0; done && p < s.pair_count; p++)
        done = add_pair(&s, &s.pairs[p]);
    for (size_t v = 0; done && v < vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            double share = s.sums[4 * v + 3];
            centers[3 * v + (size_t)i] =
                share > 0 ? (float)(s.sums[4 * v + (size_t)i] / share) : vertices[v].position[i];
        }
    mmd_arena_free(&arena);
    return done;
}
