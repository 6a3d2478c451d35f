/* SPDX-License-Identifier: MIT */
/* Uploads a mesh: sorts its vertices into ranges of one formula and number of influences, and its
   morph offsets by vertex. */
#include "gl/gl_skin_pass.h"

#include <stdlib.h>
#include <string.h>

/* As the shader reads it. */
typedef union texel {
    float f[4];
    int32_t i[4];
} texel;

enum {
    INFLUENCES = 4,
    FORMULAS = MMD_SKIN_KIND_COUNT * INFLUENCES * 2,
    VERTEX_TEXELS = 7,
    ALIGNED_TEXELS = 256 / sizeof(texel), /* what any driver wants a texture to begin at */
    MAX_OFFSETS = 65535 /* of a vertex: llvmpipe ends any loop after so many iterations */
};

/* Three influences count as four, one of them with weight 0. */
static size_t formula_of(const mmd_mesh_vertex *vertex, bool morphed)
{
    size_t count = vertex->count > 2 ? 3 : (size_t)vertex->count;
    return ((size_t)vertex->kind * INFLUENCES + count) * 2 + morphed;
}

/* Data for the upload. */
typedef struct sorted_mesh {
    uint32_t *morph_end; /* of each vertex; offsets of vertex v start at morph_end[v - 1] */
    texel *morphs, *vertices;
    size_t max_range, texel_count; /* vertices of a range at most; texels of all ranges */
    uint32_t max_offsets;          /* the largest number of offsets of a vertex */
} sorted_mesh;

static size_t count_offsets(const mmd_mesh *mesh)
{
    size_t count = 0;
    for (size_t m = 0; m < mesh->vertex_morph_count; m++)
        count += mesh->vertex_morphs[m]->offset_count;
    return count;
}

/* Inverts the morphs' lists of vertices: the shader reads the offsets of each vertex. */
static void sort_morphs(const mmd_mesh *mesh, sorted_mesh *sorted)
{
    uint32_t *end = sorted->morph_end, sum = 0; /* first counts, then starts */
    for (size_t m = 0; m < mesh->vertex_morph_count; m++)
        for (size_t i = 0; i < mesh->vertex_morphs[m]->offset_count; i++)
            end[mesh->vertex_morphs[m]->indices[i]]++;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t count = end[v];
        sorted->max_offsets = count > sorted->max_offsets ? count : sorted->max_offsets;
        end[v] = sum;
        sum += count;
    }
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_morph *morph = mesh->vertex_morphs[m];
        for (size_t i = 0; i < morph->offset_count; i++) {
            texel *out = &sorted->morphs[end[morph->indices[i]]++];
            memcpy(out->f, morph->values + 3 * i, 3 * sizeof *out->f);
            out->i[3] = (int32_t)(morph - mesh->morphs);
        }
    }
}

static size_t first_offset(const sorted_mesh *sorted, size_t v)
{
    return v ? sorted->morph_end[v - 1] : 0;
}

static size_t formula_at(const mmd_mesh *mesh, const sorted_mesh *sorted, size_t v)
{
    return formula_of(&mesh->vertices[v], sorted->morph_end[v] > first_offset(sorted, v));
}

/* Divides the vertices of each formula into ranges that textures can hold. `first`: the index of
   each formula's first range. */
static bool plan_ranges(const mmd_mesh *mesh, sorted_mesh *sorted, mmd_gl_mesh *out,
                        size_t first[FORMULAS])
{
    size_t counts[FORMULAS] = {0};
    for (size_t v = 0; v < mesh->vertex_count; v++)
        counts[formula_at(mesh, sorted, v)]++;
    for (size_t i = 0; i < FORMULAS; i++) {
        first[i] = out->range_count;
        out->range_count += (counts[i] + sorted->max_range - 1) / sorted->max_range;
    }
    out->ranges = calloc(out->range_count + 1, sizeof *out->ranges);
    for (size_t i = 0; out->ranges && i < FORMULAS; i++)
        for (size_t r = first[i]; counts[i] > 0; r++) {
            int32_t influences = (int32_t)(i / 2 % INFLUENCES);
            size_t count = counts[i] < sorted->max_range ? counts[i] : sorted->max_range;
            out->ranges[r] = (mmd_gl_mesh_range){.kind = (int32_t)(i / 2 / INFLUENCES),
                                                 .count = influences > 2 ? 4 : influences,
                                                 .morphed = i % 2,
                                                 .first_texel = sorted->texel_count,
                                                 .vertex_count = count};
            counts[i] -= count;
            sorted->texel_count +=
                (VERTEX_TEXELS * count + ALIGNED_TEXELS - 1) / ALIGNED_TEXELS * ALIGNED_TEXELS;
        }
    return out->ranges;
}

static void store_vertex(const mmd_mesh *mesh, const sorted_mesh *sorted, size_t v, texel *out,
                         size_t stride)
{
    const mmd_mesh_vertex *in = &mesh->vertices[v];
    int32_t first = (int32_t)first_offset(sorted, v);
    int32_t offsets = (int32_t)sorted->morph_end[v] - first;
    const struct {
        const void *data;
        size_t width;
        int32_t last; /* where the data are three numbers */
    } texels[VERTEX_TEXELS] = {{in->position, 3, (int32_t)v},
                               {in->normal, 3, in->pivot | offsets << 2},
                               {in->tangent, 4, 0},
                               {in->weights, 4, 0},
                               {in->bones, 4, 0},
                               {in->c, 3, ((texel){.f = {in->factor}}).i[0]},
                               {in->c0, 3, first}};
    for (size_t i = 0; i < VERTEX_TEXELS; i++, out += stride) {
        out->i[3] = texels[i].last;
        memcpy(out, texels[i].data, texels[i].width * sizeof *out->f);
    }
}

static void sort_vertices(const mmd_mesh *mesh, const sorted_mesh *sorted, const mmd_gl_mesh *out,
                          const size_t first[FORMULAS])
{
    size_t next[FORMULAS] = {0};
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        size_t formula = formula_at(mesh, sorted, v), at = next[formula]++;
        const mmd_gl_mesh_range *range = &out->ranges[first[formula] + at / sorted->max_range];
        store_vertex(mesh, sorted, v,
                     sorted->vertices + range->first_texel + at % sorted->max_range,
                     range->vertex_count);
    }
}

static void upload(const sorted_mesh *sorted, size_t offsets, mmd_gl_mesh *out)
{
    const size_t size = sizeof(texel);
    out->vertices = mmd_gl_buffer_fill(GL_TEXTURE_BUFFER, 0, sorted->texel_count * size,
                                       sorted->vertices, GL_STATIC_DRAW);
    for (size_t i = 0; i < out->range_count; i++) {
        mmd_gl_mesh_range *range = &out->ranges[i];
        range->texture = mmd_gl_buffer_texture(MMD_GL_VERTICES_UNIT, GL_RGBA32I, out->vertices,
                                               range->first_texel * size,
                                               VERTEX_TEXELS * range->vertex_count * size);
    }
    out->morph_buffer =
        mmd_gl_buffer_fill(GL_TEXTURE_BUFFER, 0, offsets * size, sorted->morphs, GL_STATIC_DRAW);
    out->morph_texture =
        mmd_gl_buffer_texture(MMD_GL_VERTICES_UNIT, GL_RGBA32I, out->morph_buffer, 0, 0);
}

static void free_mesh(mmd_gl_object *object, mmd_gl_context *context)
{
    mmd_gl_mesh *mesh = (mmd_gl_mesh *)object;
    if (context) {
        for (size_t i = 0; mesh->ranges && i < mesh->range_count; i++)
            mmd_gl1.DeleteTextures(1, &mesh->ranges[i].texture);
        mmd_gl1.DeleteTextures(1, &mesh->morph_texture);
        glDeleteBuffers(1, &mesh->vertices);
        glDeleteBuffers(1, &mesh->morph_buffer);
    }
    free(mesh->ranges);
    free(mesh);
}

static bool make(const mmd_mesh *mesh, mmd_gl_mesh *out, mmd_error *err)
{
    const size_t groups = (size_t)MMD_GL_MAX_GROUPS * MMD_GL_GROUP_SIZE;
    size_t offsets = count_offsets(mesh), first[FORMULAS];
    GLint limit = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &limit);
    if (offsets > (size_t)limit)
        return mmd_gl_fail(err, "%zu morph offsets, the device supports %d", offsets, limit);
    size_t texture = (size_t)limit / VERTEX_TEXELS, most = texture < groups ? texture : groups;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    sorted_mesh sorted = {.max_range = most ? most : 1};
    if (!MMD_ARENA_ARRAY(&arena, sorted.morph_end, mesh->vertex_count) ||
        !MMD_ARENA_ARRAY(&arena, sorted.morphs, offsets))
        return mmd_fail_memory(err);
    sort_morphs(mesh, &sorted);
    if (sorted.max_offsets > MAX_OFFSETS)
        return mmd_gl_fail(err, "a vertex has %u morph offsets, limit %d",
                           (unsigned)sorted.max_offsets, MAX_OFFSETS);
    if (!plan_ranges(mesh, &sorted, out, first) ||
        !MMD_ARENA_ARRAY(&arena, sorted.vertices, sorted.texel_count))
        return mmd_fail_memory(err);
    sort_vertices(mesh, &sorted, out, first);
    upload(&sorted, offsets, out);
    return mmd_gl_check("upload of the mesh", err);
}

mmd_gl_mesh *mmd_gl_mesh_get(mmd_gl_context *context, const mmd_mesh *mesh, mmd_error *err)
{
    mmd_gl_mesh *known = mesh->device->data;
    if (known && known->object.generation == context->generation)
        return known;
    if (known)
        free_mesh(&known->object, NULL);
    *mesh->device = (mmd_mesh_device_slot){0};

    mmd_gl_mesh *made = calloc(1, sizeof *made);
    if (!made) {
        mmd_fail_memory(err);
        return NULL;
    }
    made->object = (mmd_gl_object){.generation = context->generation, .free = free_mesh};
    if (!make(mesh, made, err)) {
        free_mesh(&made->object, context);
        return NULL;
    }
    *mesh->device = (mmd_mesh_device_slot){.data = made, .release = mmd_gl_object_discard};
    return made;
}
