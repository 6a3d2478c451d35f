/* SPDX-License-Identifier: MIT */
#include "core/skin/mesh_blocks.h"

#include "core/base/names.h"

#include <string.h>

/* A layout under way. */
typedef struct layout {
    const mmd_mesh_blocks_source *source;
    mmd_mesh_blocks *out;
    mmd_arena *arena;    /* of what stays */
    mmd_arena temporary; /* of what is needed on the way only */
    uint32_t *group_of;  /* of each vertex */
    uint32_t *place_of;  /* of each vertex: block * MMD_LANES + lane */
} layout;

/* The members of a vertex, side by side, by which its group is told. */
enum { GROUP_KEY = offsetof(mmd_vertex, count) + sizeof(int32_t) - offsetof(mmd_vertex, bones) };

static void begin_group(mmd_group *group, const mmd_vertex *vertex)
{
    group->kind = vertex->kind;
    group->count = vertex->count;
    memcpy(group->bones, vertex->bones, sizeof group->bones);
    memcpy(group->c, vertex->c, sizeof group->c);
    memcpy(group->c0, vertex->c0, sizeof group->c0);
}

/* Gives every vertex the number of its group (groups in order of first use) and counts them in
   block_count. */
static bool find_groups(layout *l)
{
    const mmd_vertex *vertices = l->source->vertices;
    mmd_names keys = {0};
    for (size_t v = 0; v < l->source->vertex_count; v++) {
        const int32_t *key = vertices[v].bones;
        if (v && memcmp(key, vertices[v - 1].bones, GROUP_KEY) == 0)
            l->group_of[v] = l->group_of[v - 1];
        else if (!mmd_names_add(&l->temporary, &keys, (const uint8_t *)key, GROUP_KEY,
                                &l->group_of[v]))
            return false;
    }
    mmd_group *groups = mmd_arena_alloc(l->arena, keys.count, sizeof *groups);
    if (!groups)
        return false;
    for (size_t v = 0; v < l->source->vertex_count; v++) {
        mmd_group *group = &groups[l->group_of[v]];
        if (group->block_count++ == 0)
            begin_group(group, &vertices[v]);
    }
    l->out->groups = groups;
    l->out->group_count = keys.count;
    return true;
}

/* What the rows of a group's blocks hold, as places of floats in mmd_vertex. */
typedef struct row_places {
    size_t count, place[3 + 3 + 3 + 3 + 6];
} row_places;

static void add_rows(row_places *rows, size_t offset, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows->place[rows->count++] = offset / sizeof(float) + i;
}

static row_places rows_of(const mmd_mesh_blocks_source *source, const mmd_group *group)
{
    row_places rows = {0};
    add_rows(&rows, offsetof(mmd_vertex, position), 3);
    if (source->has_normals)
        add_rows(&rows, offsetof(mmd_vertex, normal), 3);
    if (source->has_tangents)
        add_rows(&rows, offsetof(mmd_vertex, tangent), 3);
    if (group->count > 1)
        add_rows(&rows, offsetof(mmd_vertex, weights), (size_t)group->count - 1);
    if (group->kind == MMD_SKIN_SDEF || group->kind == MMD_SKIN_CENTER)
        add_rows(&rows, offsetof(mmd_vertex, c), 3);
    if (group->kind == MMD_SKIN_SDEF)
        add_rows(&rows, offsetof(mmd_vertex, c0), 3);
    if (group->kind == MMD_SKIN_BULGE_FREE || group->kind == MMD_SKIN_COMPENSATED)
        add_rows(&rows, offsetof(mmd_vertex, factor), 1);
    return rows;
}

/* Turns the groups' vertex counts into block counts and places. */
static bool place_blocks(layout *l)
{
    mmd_mesh_blocks *out = l->out;
    size_t total = 0;
    for (size_t g = 0; g < out->group_count; g++) {
        mmd_group *group = &out->groups[g];
        group->first_block = out->block_count;
        group->block_count = (group->block_count + MMD_LANES - 1) / MMD_LANES;
        group->block_stride = rows_of(l->source, group).count * MMD_LANES;
        out->block_count += group->block_count;
        total += group->block_count * group->block_stride;
    }
    out->blocks = mmd_arena_alloc(l->arena, out->block_count, sizeof *out->blocks);
    float *data = mmd_arena_alloc_unset(l->arena, total, sizeof *data);
    if (!out->blocks || !data)
        return false;
    for (size_t g = 0; g < out->group_count; g++) {
        mmd_group *group = &out->groups[g];
        group->data = data;
        data += group->block_count * group->block_stride;
    }
    return true;
}

static void fill_block(const layout *l, const row_places *rows, mmd_block *block, float *row)
{
    const float *numbers[MMD_LANES];
    block->morph_slot = -1;
    for (size_t lane = block->lanes; lane < MMD_LANES; lane++)
        block->vertex[lane] = block->vertex[block->lanes - 1];
    for (size_t lane = 0; lane < MMD_LANES; lane++)
        numbers[lane] = (const float *)&l->source->vertices[block->vertex[lane]];
    for (size_t i = 0; i < rows->count; i++, row += MMD_LANES)
        for (size_t lane = 0; lane < MMD_LANES; lane++)
            row[lane] = numbers[lane][rows->place[i]];
    /* Vertices of a group ascend, so that the ends tell; lanes that repeat one do not count. */
    const uint32_t *vertex = block->vertex;
    block->runs = (block->lanes >= 4 && vertex[3] - vertex[0] == 3 ? MMD_RUN_FIRST_FOUR : 0u) |
                  (block->lanes == 8 && vertex[7] - vertex[4] == 3 ? MMD_RUN_LAST_FOUR : 0u) |
                  (block->lanes == 8 && vertex[7] - vertex[0] == 7 ? MMD_RUN_ALL : 0u);
}

static bool fill_blocks(layout *l)
{
    const mmd_mesh_blocks *out = l->out;
    uint32_t *next = mmd_arena_alloc(&l->temporary, out->group_count, sizeof *next);
    if (!next)
        return false;
    for (size_t g = 0; g < out->group_count; g++)
        next[g] = (uint32_t)out->groups[g].first_block * MMD_LANES;
    for (size_t v = 0; v < l->source->vertex_count; v++) {
        uint32_t place = next[l->group_of[v]]++;
        mmd_block *block = &out->blocks[place / MMD_LANES];
        block->vertex[block->lanes++] = (uint32_t)v;
        l->place_of[v] = place;
    }
    for (size_t g = 0; g < out->group_count; g++) {
        const mmd_group *group = &out->groups[g];
        const row_places rows = rows_of(l->source, group);
        float *data = (float *)group->data; /* our own memory, const only for its readers */
        for (size_t b = 0; b < group->block_count; b++)
            fill_block(l, &rows, &out->blocks[group->first_block + b],
                       data + b * group->block_stride);
    }
    return true;
}

/* Gives a slot to every block that the morph reaches. */
static uint32_t *place_morph(const layout *l, const mmd_vertex_morph *morph)
{
    uint32_t *lanes = mmd_arena_alloc_unset(l->arena, morph->offset_count, sizeof *lanes);
    for (size_t i = 0; lanes && i < morph->offset_count; i++) {
        uint32_t place = l->place_of[morph->vertices[i]];
        mmd_block *block = &l->out->blocks[place / MMD_LANES];
        if (block->morph_slot < 0)
            block->morph_slot = (int32_t)l->out->morphed_count++;
        lanes[i] = (uint32_t)block->morph_slot * 3 * MMD_LANES + place % MMD_LANES;
    }
    return lanes;
}

static bool place_morphs(layout *l)
{
    mmd_mesh_blocks *out = l->out;
    size_t count = l->source->morph_count;
    out->morph_lanes = mmd_arena_alloc(l->arena, count, sizeof *out->morph_lanes);
    if (!out->morph_lanes)
        return false;
    for (size_t m = 0; m < count; m++)
        if (!(out->morph_lanes[m] = place_morph(l, &l->source->morphs[m])))
            return false;
    out->morphed = mmd_arena_alloc(l->arena, out->morphed_count, sizeof *out->morphed);
    if (!out->morphed)
        return false;
    for (size_t g = 0; g < out->group_count; g++) {
        const mmd_group *group = &out->groups[g];
        for (size_t b = 0; b < group->block_count; b++) {
            int32_t slot = out->blocks[group->first_block + b].morph_slot;
            if (slot >= 0)
                out->morphed[slot] = group->data + b * group->block_stride;
        }
    }
    return true;
}

bool mmd_mesh_blocks_build(const mmd_mesh_blocks_source *source, mmd_arena *arena,
                           mmd_mesh_blocks *out)
{
    layout l = {.source = source, .out = out, .arena = arena};
    size_t n = source->vertex_count;
    *out = (mmd_mesh_blocks){0};
    l.group_of = mmd_arena_alloc_unset(&l.temporary, n, sizeof *l.group_of);
    l.place_of = mmd_arena_alloc_unset(&l.temporary, n, sizeof *l.place_of);
    bool built = l.group_of && l.place_of && find_groups(&l) && place_blocks(&l) &&
                 fill_blocks(&l) && place_morphs(&l);
    mmd_arena_free(&l.temporary);
    return built;
}
