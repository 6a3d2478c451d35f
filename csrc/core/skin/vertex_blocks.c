/* SPDX-License-Identifier: MIT */
/* Groups the vertices of a mesh by formula and bones, and transposes each group into blocks of a
   structure of arrays; morphs the positions of these blocks. */
#include "core/skin/mesh.h"

#include "core/base/string_table.h"

#include <string.h>

typedef struct builder {
    const mmd_mesh *mesh;
    mmd_vertex_blocks *out;
    mmd_arena *arena; /* of the result */
    mmd_arena *scratch;
    uint32_t *group_of; /* (V,) */
    uint32_t *lane_of;  /* (V,) block * MMD_LANES + lane */
} builder;

/* Vertices belong to one group when these members, which are adjacent, are equal: bones, kind and
   count. */
enum {
    GROUP_KEY =
        offsetof(mmd_mesh_vertex, count) + sizeof(int32_t) - offsetof(mmd_mesh_vertex, bones)
};

static void init_group(mmd_vertex_block_group *group, const mmd_mesh_vertex *vertex)
{
    group->kind = vertex->kind;
    group->count = vertex->count;
    memcpy(group->bones, vertex->bones, sizeof group->bones);
    memcpy(group->c, vertex->c, sizeof group->c);
    memcpy(group->c0, vertex->c0, sizeof group->c0);
}

/* Assigns every vertex to a group, in order of first use, and counts the group's vertices in
   block_count. */
static bool find_groups(builder *b)
{
    const mmd_mesh_vertex *vertices = b->mesh->vertices;
    mmd_string_table keys = {0};
    for (size_t v = 0; v < b->mesh->vertex_count; v++) {
        const int32_t *key = vertices[v].bones;
        if (v && memcmp(key, vertices[v - 1].bones, GROUP_KEY) == 0)
            b->group_of[v] = b->group_of[v - 1];
        else if (!mmd_string_table_add(b->scratch, &keys, (const uint8_t *)key, GROUP_KEY,
                                       &b->group_of[v]))
            return false;
    }
    mmd_vertex_block_group *groups = mmd_arena_alloc(b->arena, keys.count, sizeof *groups);
    if (!groups)
        return false;
    for (size_t v = 0; v < b->mesh->vertex_count; v++) {
        mmd_vertex_block_group *group = &groups[b->group_of[v]];
        if (group->block_count++ == 0)
            init_group(group, &vertices[v]);
    }
    b->out->groups = groups;
    b->out->group_count = keys.count;
    return true;
}

/* The rows of a group's blocks, as indices of floats in mmd_mesh_vertex. */
typedef struct row_layout {
    size_t count, member[3 + 3 + 3 + 3 + 6];
} row_layout;

static void add_rows(row_layout *rows, size_t offset, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows->member[rows->count++] = offset / sizeof(float) + i;
}

static row_layout layout_of(const mmd_mesh *mesh, const mmd_vertex_block_group *group)
{
    row_layout rows = {0};
    add_rows(&rows, offsetof(mmd_mesh_vertex, position), 3);
    if (mesh->has_normals)
        add_rows(&rows, offsetof(mmd_mesh_vertex, normal), 3);
    if (mesh->tangent_width)
        add_rows(&rows, offsetof(mmd_mesh_vertex, tangent), 3);
    if (group->count > 1)
        add_rows(&rows, offsetof(mmd_mesh_vertex, weights), (size_t)group->count - 1);
    if (group->kind == MMD_SKIN_SDEF || group->kind == MMD_SKIN_CENTER)
        add_rows(&rows, offsetof(mmd_mesh_vertex, c), 3);
    if (group->kind == MMD_SKIN_SDEF)
        add_rows(&rows, offsetof(mmd_mesh_vertex, c0), 3);
    if (group->kind == MMD_SKIN_BULGE_FREE || group->kind == MMD_SKIN_COMPENSATED)
        add_rows(&rows, offsetof(mmd_mesh_vertex, factor), 1);
    return rows;
}

/* Turns the groups' vertex counts into block counts, and allocates the blocks. */
static bool alloc_blocks(builder *b)
{
    mmd_vertex_blocks *out = b->out;
    size_t total = 0;
    for (size_t g = 0; g < out->group_count; g++) {
        mmd_vertex_block_group *group = &out->groups[g];
        group->first_block = out->block_count;
        group->block_count = (group->block_count + MMD_LANES - 1) / MMD_LANES;
        group->block_stride = layout_of(b->mesh, group).count * MMD_LANES;
        out->block_count += group->block_count;
        total += group->block_count * group->block_stride;
    }
    out->blocks = mmd_arena_alloc(b->arena, out->block_count, sizeof *out->blocks);
    float *data = mmd_arena_alloc_uninitialized(b->arena, total, sizeof *data);
    if (!out->blocks || !data)
        return false;
    for (size_t g = 0; g < out->group_count; g++) {
        mmd_vertex_block_group *group = &out->groups[g];
        group->data = data;
        data += group->block_count * group->block_stride;
    }
    return true;
}

static void fill_block(const mmd_mesh *mesh, const row_layout *rows, mmd_vertex_block *block,
                       float *row)
{
    const float *members[MMD_LANES];
    block->morph_slot = -1;
    for (size_t lane = block->lane_count; lane < MMD_LANES; lane++)
        block->vertex[lane] = block->vertex[block->lane_count - 1];
    for (size_t lane = 0; lane < MMD_LANES; lane++)
        members[lane] = (const float *)&mesh->vertices[block->vertex[lane]];
    for (size_t i = 0; i < rows->count; i++, row += MMD_LANES)
        for (size_t lane = 0; lane < MMD_LANES; lane++)
            row[lane] = members[lane][rows->member[i]];
    /* Vertices of a group ascend, so comparing the ends is enough; unused lanes do not count. */
    const uint32_t *vertex = block->vertex;
    uint32_t lanes = block->lane_count;
    block->contiguous =
        (lanes >= 4 && vertex[3] - vertex[0] == 3 ? MMD_CONTIGUOUS_FIRST_FOUR : 0u) |
        (lanes == 8 && vertex[7] - vertex[4] == 3 ? MMD_CONTIGUOUS_LAST_FOUR : 0u) |
        (lanes == 8 && vertex[7] - vertex[0] == 7 ? MMD_CONTIGUOUS_ALL : 0u);
}

static bool fill_blocks(builder *b)
{
    const mmd_vertex_blocks *out = b->out;
    uint32_t *next = mmd_arena_alloc(b->scratch, out->group_count, sizeof *next);
    if (!next)
        return false;
    for (size_t g = 0; g < out->group_count; g++)
        next[g] = (uint32_t)out->groups[g].first_block * MMD_LANES;
    for (size_t v = 0; v < b->mesh->vertex_count; v++) {
        uint32_t lane = next[b->group_of[v]]++;
        mmd_vertex_block *block = &out->blocks[lane / MMD_LANES];
        block->vertex[block->lane_count++] = (uint32_t)v;
        b->lane_of[v] = lane;
    }
    for (size_t g = 0; g < out->group_count; g++) {
        const mmd_vertex_block_group *group = &out->groups[g];
        const row_layout rows = layout_of(b->mesh, group);
        float *data = (float *)group->data; /* allocated above; const for the kernels */
        for (size_t i = 0; i < group->block_count; i++)
            fill_block(b->mesh, &rows, &out->blocks[group->first_block + i],
                       data + i * group->block_stride);
    }
    return true;
}

/* Assigns a slot to every block that the morph moves, and finds the lane of each offset. */
static uint32_t *find_morph_lanes(const builder *b, const mmd_morph *morph)
{
    uint32_t *lanes = mmd_arena_alloc_uninitialized(b->arena, morph->offset_count, sizeof *lanes);
    for (size_t i = 0; lanes && i < morph->offset_count; i++) {
        uint32_t lane = b->lane_of[morph->indices[i]];
        mmd_vertex_block *block = &b->out->blocks[lane / MMD_LANES];
        if (block->morph_slot < 0)
            block->morph_slot = (int32_t)b->out->morphed_count++;
        lanes[i] = (uint32_t)block->morph_slot * 3 * MMD_LANES + lane % MMD_LANES;
    }
    return lanes;
}

static bool fill_morphs(builder *b)
{
    mmd_vertex_blocks *out = b->out;
    size_t count = b->mesh->vertex_morph_count;
    if (!MMD_ARENA_ARRAY(b->arena, out->morph_lanes, count))
        return false;
    for (size_t m = 0; m < count; m++)
        if (!(out->morph_lanes[m] = find_morph_lanes(b, b->mesh->vertex_morphs[m])))
            return false;
    if (!MMD_ARENA_ARRAY(b->arena, out->morphed, out->morphed_count))
        return false;
    for (size_t g = 0; g < out->group_count; g++) {
        const mmd_vertex_block_group *group = &out->groups[g];
        for (size_t i = 0; i < group->block_count; i++) {
            int32_t slot = out->blocks[group->first_block + i].morph_slot;
            if (slot >= 0)
                out->morphed[slot] = group->data + i * group->block_stride;
        }
    }
    return true;
}

bool mmd_vertex_blocks_build(const mmd_mesh *mesh, mmd_arena *arena, mmd_vertex_blocks *out)
{
    MMD_ARENA_LOCAL mmd_arena scratch = {0};
    builder b = {.mesh = mesh, .out = out, .arena = arena, .scratch = &scratch};
    *out = (mmd_vertex_blocks){0};
    b.group_of = mmd_arena_alloc_uninitialized(&scratch, mesh->vertex_count, sizeof *b.group_of);
    b.lane_of = mmd_arena_alloc_uninitialized(&scratch, mesh->vertex_count, sizeof *b.lane_of);
    return b.group_of && b.lane_of && find_groups(&b) && alloc_blocks(&b) && fill_blocks(&b) &&
           fill_morphs(&b);
}

void mmd_vertex_blocks_morph(const mmd_mesh *mesh, const float *weights, float *positions)
{
    for (size_t slot = 0; slot < mesh->blocks.morphed_count; slot++)
        memcpy(positions + slot * 3 * MMD_LANES, mesh->blocks.morphed[slot],
               3 * MMD_LANES * sizeof(float));
    for (size_t m = 0; m < mesh->vertex_morph_count; m++) {
        const mmd_morph *morph = mesh->vertex_morphs[m];
        float weight = weights[morph - mesh->morphs];
        if (weight == 0)
            continue;
        const uint32_t *lanes = mesh->blocks.morph_lanes[m];
        for (size_t i = 0; i < morph->offset_count; i++) {
            float *x = positions + lanes[i];
            x[0] += weight * morph->values[3 * i];
            x[MMD_LANES] += weight * morph->values[3 * i + 1];
            x[2 * MMD_LANES] += weight * morph->values[3 * i + 2];
        }
    }
}
