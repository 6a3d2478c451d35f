/* SPDX-License-Identifier: MIT */
/* Uploads a mesh: sorts its vertices into draw ranges of one formula and number of influences, and
   its morph offsets by vertex. */
#include "gl/gl_mesh.h"

#include "gl/gl_program.h"

#include <stdlib.h>
#include <string.h>

typedef struct gpu_vertex {
    mmd_mesh_vertex vertex;
    int32_t morph_range[2]; /* of its offsets in the morph buffer: first and end */
} gpu_vertex;

typedef struct gpu_morph {
    float offset[3];
    int32_t morph;
} gpu_morph;

enum {
    INFLUENCES = 4,
    DRAW_RANGES = MMD_SKIN_KIND_COUNT * INFLUENCES * 2,
    MAX_OFFSETS = 65535 /* of a vertex: llvmpipe ends any loop after so many iterations */
};

/* Three influences count as four, one of them with weight 0. */
static size_t draw_range_index(const mmd_mesh_vertex *vertex, bool morphed)
{
    size_t count = vertex->count > 2 ? 3 : (size_t)vertex->count;
    return ((size_t)vertex->kind * INFLUENCES + count) * 2 + morphed;
}

/* Data for the upload. */
typedef struct sorted_mesh {
    uint32_t *morph_end; /* of each vertex; offsets of vertex v start at morph_end[v - 1] */
    gpu_morph *morphs;
    gpu_vertex *vertices;
} sorted_mesh;

static size_t count_offsets(const mmd_mesh *mesh)
{
    size_t count = 0;
    for (size_t m = 0; m < mesh->vertex_morph_count; m++)
        count += mesh->vertex_morphs[m].offset_count;
    return count;
}

/* Turns the number of offsets of each vertex into the index of its first one. Returns the largest
   number. */
static uint32_t accumulate_counts(uint32_t *counts, size_t vertex_count)
{
    uint32_t sum = 0, max = 0;
    for (size_t v = 0; v < vertex_count; v++) {
        uint32_t count = counts[v];
        max = count > max ? count : max;
        counts[v] = sum;
        sum += count;
    }
    return max;
}

/* Inverts the morphs' lists of vertices: the shader reads the offsets of each vertex. */
static uint32_t sort_morphs(const mmd_mesh *mesh, sorted_mesh *sorted)
{
    uint32_t *end = sorted->morph_end;
    for (size_t m = 0; m < mesh->vertex_morph_count; m++)
        for (size_t i = 0; i < mesh->vertex_morphs[m].offset_count; i++)
            end[mesh->vertex_morphs[m].vertices[i]]++;
    uint32_t max = accumulate_counts(end, mesh->vertex_count);
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_mesh_vertex_morph *morph = &mesh->vertex_morphs[m];
        for (size_t i = 0; i < morph->offset_count; i++) {
            gpu_morph *out = &sorted->morphs[end[morph->vertices[i]]++];
            memcpy(out->offset, morph->offsets + 3 * i, sizeof out->offset);
            out->morph = (int32_t)morph->morph;
        }
    }
    return max;
}

static void sort_vertices(const mmd_mesh *mesh, sorted_mesh *sorted, mmd_gl_mesh *out)
{
    size_t next[DRAW_RANGES] = {0};
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t morph_first = v ? sorted->morph_end[v - 1] : 0;
        next[draw_range_index(&mesh->vertices[v], sorted->morph_end[v] > morph_first)]++;
    }
    size_t first = 0;
    for (size_t i = 0; i < DRAW_RANGES; i++) {
        size_t count = next[i];
        next[i] = first;
        if (count == 0)
            continue;
        int32_t influences = (int32_t)(i / 2 % INFLUENCES);
        out->draw_ranges[out->draw_range_count++] =
            (mmd_gl_draw_range){.kind = (int32_t)(i / 2 / INFLUENCES),
                                .count = influences > 2 ? 4 : influences,
                                .morphed = i % 2,
                                .first = first,
                                .vertex_count = count};
        first += count;
    }
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t morph_first = v ? sorted->morph_end[v - 1] : 0, morph_end = sorted->morph_end[v];
        size_t at = next[draw_range_index(&mesh->vertices[v], morph_end > morph_first)]++;
        sorted->vertices[at] =
            (gpu_vertex){mesh->vertices[v], {(int32_t)morph_first, (int32_t)morph_end}};
        out->ranges[at].target = (uint32_t)v;
    }
}

/* Merges ranges of one vertex each, in place and within draw ranges. */
static void merge_ranges(mmd_gl_mesh *mesh)
{
    size_t count = 0;
    for (size_t b = 0; b < mesh->draw_range_count; b++) {
        mmd_gl_draw_range *range = &mesh->draw_ranges[b];
        range->first_range = count;
        for (size_t v = range->first; v < range->first + range->vertex_count; v++) {
            uint32_t target = mesh->ranges[v].target;
            mmd_gl_vertex_range *last =
                count > range->first_range ? &mesh->ranges[count - 1] : NULL;
            if (last && last->target + last->length == target)
                last->length++;
            else
                mesh->ranges[count++] = (mmd_gl_vertex_range){target, 1};
        }
        range->range_count = count - range->first_range;
    }
}

static void upload(const mmd_mesh *mesh, const sorted_mesh *sorted, size_t offsets,
                   mmd_gl_mesh *out)
{
    glGenVertexArrays(1, &out->vertex_array);
    glBindVertexArray(out->vertex_array);
    glGenBuffers(1, &out->vertices);
    glBindBuffer(GL_ARRAY_BUFFER, out->vertices);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(mesh->vertex_count * sizeof(gpu_vertex)),
                 sorted->vertices, GL_STATIC_DRAW);

#define ATTRIBUTE(name, components, integer, member)                                               \
    {components, integer, offsetof(gpu_vertex, member)},
    static const struct {
        GLint components;
        bool integer;
        size_t offset;
    } attributes[] = {MMD_GL_SKIN_ATTRIBUTES(ATTRIBUTE)};
#undef ATTRIBUTE
    for (GLuint i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        glEnableVertexAttribArray(i);
        const void *offset = (const void *)(uintptr_t)attributes[i].offset;
        if (attributes[i].integer)
            glVertexAttribIPointer(i, attributes[i].components, GL_INT, sizeof(gpu_vertex), offset);
        else
            glVertexAttribPointer(i, attributes[i].components, GL_FLOAT, GL_FALSE,
                                  sizeof(gpu_vertex), offset);
    }

    glGenBuffers(1, &out->morph_buffer);
    glBindBuffer(GL_TEXTURE_BUFFER, out->morph_buffer);
    glBufferData(GL_TEXTURE_BUFFER, (GLsizeiptr)((offsets ? offsets : 1) * sizeof(gpu_morph)),
                 offsets ? sorted->morphs : NULL, GL_STATIC_DRAW);
    mmd_gl1.GenTextures(1, &out->morph_texture);
    mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, out->morph_texture);
    glTexBuffer(GL_TEXTURE_BUFFER, GL_RGBA32I, out->morph_buffer);
}

static void free_mesh(mmd_gl_object *object, mmd_gl_context *context)
{
    mmd_gl_mesh *mesh = (mmd_gl_mesh *)object;
    if (context) {
        glDeleteVertexArrays(1, &mesh->vertex_array);
        mmd_gl1.DeleteTextures(1, &mesh->morph_texture);
        glDeleteBuffers(1, &mesh->vertices);
        glDeleteBuffers(1, &mesh->morph_buffer);
    }
    free(mesh->draw_ranges);
    free(mesh->ranges);
    free(mesh);
}

static void release(void *data)
{
    mmd_gl_mesh *mesh = data;
    mmd_gl_object_discard(&mesh->object);
}

static bool check_offsets(const mmd_gl_mesh *mesh, mmd_error *err)
{
    return mesh->max_offsets <= MAX_OFFSETS ||
           mmd_fail(err, MMD_E_BACKEND, "OpenGL: a vertex has %u morph offsets, limit %d",
                    (unsigned)mesh->max_offsets, MAX_OFFSETS);
}

static bool make(const mmd_mesh *mesh, mmd_gl_mesh *out, mmd_error *err)
{
    size_t n = mesh->vertex_count, offsets = count_offsets(mesh);
    GLint limit = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &limit);
    if (offsets > (size_t)limit)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %zu morph offsets, the device supports %d",
                        offsets, limit);

    sorted_mesh sorted = {.morph_end = calloc(n ? n : 1, sizeof *sorted.morph_end),
                          .morphs = calloc(offsets ? offsets : 1, sizeof *sorted.morphs),
                          .vertices = calloc(n ? n : 1, sizeof *sorted.vertices)};
    out->draw_ranges = calloc(DRAW_RANGES, sizeof *out->draw_ranges);
    out->ranges = calloc(n ? n : 1, sizeof *out->ranges);
    bool ok =
        sorted.morph_end && sorted.morphs && sorted.vertices && out->draw_ranges && out->ranges;
    if (ok) {
        out->max_offsets = sort_morphs(mesh, &sorted);
        sort_vertices(mesh, &sorted, out);
        merge_ranges(out);
        upload(mesh, &sorted, offsets, out);
        ok = mmd_gl_check("upload of the mesh", err) && check_offsets(out, err);
    } else {
        mmd_fail_memory(err);
    }
    free(sorted.morph_end);
    free(sorted.morphs);
    free(sorted.vertices);
    return ok;
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
    *mesh->device = (mmd_mesh_device_slot){.data = made, .release = release};
    return made;
}
