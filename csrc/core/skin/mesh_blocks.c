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
    size_t *place_of;    /* of each vertex: block * MMD_LANES + lane */
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
    for (size_t v = 0; v < l->source->vertex_count; v++)
        if (!mmd_names_add(&l->temporary, &keys, (const uint8_t *)vertices[v].bones, GROUP_KEY,
                           &l->group_of[v]))
            return false;
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

/* Rows that only vertices of this kind have. */
static size_t kind_rows(int32_t kind)
{
    switch (kind) {
    case MMD_SKIN_SDEF:
        return 6;
    case MMD_SKIN_CENTER:
        return 3;
    case MMD_SKIN_BULGE_FREE:
    case MMD_SKIN_COMPENSATED:
        return 1;
    default:
        return 0;
    }
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
        size_t rows = 3 + (l->source->has_normals ? 3u : 0) + (l->source->has_tangents ? 3u : 0) +
                      (group->count > 1 ? (size_t)group->count - 1 : 0) + kind_rows(group->kind);
        group->block_stride = rows * MMD_LANES;
        out->block_count += group->block_count;
        total += group->block_count * group->block_stride;
    }
    out->blocks = mmd_arena_alloc(l->arena, out->block_count, sizeof *out->blocks);
    float *data = mmd_arena_alloc(l->arena, total, sizeof *data);
    if (!out->blocks || !data)
        return false;
    for (size_t g = 0; g < out->group_count; g++) {
        mmd_group *group = &out->groups[g];
        group->data = data;
        data += group->block_count * group->block_stride;
    }
    return true;
}

static float *put_rows(float *row, size_t lane, const float *numbers, int count)
{
    for (int i = 0; i < count; i++, row += MMD_LANES)
        row[lane] = numbers[i];
    return row;
}

static void fill_lane(const layout *l, const mmd_group *group, size_t block, size_t lane,
                      const mmd_vertex *vertex)
{
    /* Our own memory, const only for its readers. */
    float *row = (float *)group->data + (block - group->first_block) * group->block_stride;
    row = put_rows(row, lane, vertex->position, 3);
    if (l->source->has_normals)
        row = put_rows(row, lane, vertex->normal, 3);
    if (l->source->has_tangents)
        row = put_rows(row, lane, vertex->tangent, 3);
    row = put_rows(row, lane, vertex->weights, group->count - 1);
    if (group->kind == MMD_SKIN_SDEF || group->kind == MMD_SKIN_CENTER)
        row = put_rows(row, lane, vertex->c, 3);
    if (group->kind == MMD_SKIN_SDEF)
        put_rows(row, lane, vertex->c0, 3);
    if (group->kind == MMD_SKIN_BULGE_FREE || group->kind == MMD_SKIN_COMPENSATED)
        put_rows(row, lane, &vertex->factor, 1);
}

static void fill_block(const layout *l, const mmd_group *group, size_t index)
{
    mmd_block *block = &l->out->blocks[index];
    block->morph_slot = -1;
    for (size_t lane = block->lanes; lane < MMD_LANES; lane++)
        block->vertex[lane] = block->vertex[block->lanes - 1];
    for (size_t lane = 0; lane < MMD_LANES; lane++)
        fill_lane(l, group, index, lane, &l->source->vertices[block->vertex[lane]]);
    /* Vertices of a group ascend, so that the ends tell; lanes that repeat one do not count. */
    const uint32_t *vertex = block->vertex;
    block->runs = (block->lanes >= 4 && vertex[3] - vertex[0] == 3 ? MMD_RUN_FIRST_FOUR : 0u) |
                  (block->lanes == 8 && vertex[7] - vertex[4] == 3 ? MMD_RUN_LAST_FOUR : 0u) |
                  (block->lanes == 8 && vertex[7] - vertex[0] == 7 ? MMD_RUN_ALL : 0u);
}

static bool fill_blocks(layout *l)
{
    const mmd_mesh_blocks *out = l->out;
    size_t *next = mmd_arena_alloc(&l->temporary, out->group_count, sizeof *next);
    if (!next)
        return false;
    for (size_t g = 0; g < out->group_count; g++)
        next[g] = out->groups[g].first_block * MMD_LANES;
    for (size_t v = 0; v < l->source->vertex_count; v++) {
        size_t place = next[l->group_of[v]]++;
        mmd_block *block = &out->blocks[place / MMD_LANES];
        block->vertex[block->lanes++] = (uint32_t)v;
        l->place_of[v] = place;
    }
    for (size_t g = 0; g < out->group_count; g++) {
        const mmd_group *group = &out->groups[g];
        for (size_t b = 0; b < group->block_count; b++)
            fill_block(l, group, group->first_block + b);
    }
    return true;
}

/* Gives a slot to every block that the morph reaches. */
static uint32_t *place_morph(const layout *l, const mmd_vertex_morph *morph)
{
    uint32_t *lanes = mmd_arena_alloc(l->arena, morph->offset_count, sizeof *lanes);
    for (size_t i = 0; lanes && i < morph->offset_count; i++) {
        size_t place = l->place_of[morph->vertices[i]];
        mmd_block *block = &l->out->blocks[place / MMD_LANES];
        if (block->morph_slot < 0)
            block->morph_slot = (int32_t)l->out->morphed_count++;
        lanes[i] = (uint32_t)block->morph_slot * 3 * MMD_LANES + (uint32_t)(place % MMD_LANES);
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
    l.group_of = mmd_arena_alloc(&l.temporary, n, sizeof *l.group_of);
    l.place_of = mmd_arena_alloc(&l.temporary, n, sizeof *l.place_of);
    bool built = l.group_of && l.place_of && find_groups(&l) && place_blocks(&l) &&
                 fill_blocks(&l) && place_morphs(&l);
    mmd_arena_free(&l.temporary);
    return built;
}
