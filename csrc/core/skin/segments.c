/* SPDX-License-Identifier: MIT */
#include "core/skin/segments.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

static const double short_bone = 1e-4;

static bool own_segment(const mmd_model *model, size_t b, float segment[6])
{
    const mmd_bone *bone = &model->bones[b];
    double square = 0;
    for (int i = 0; i < 3; i++) {
        float head = bone->position[i], tail = head;
        if (!(bone->flags & MMD_BONE_TAIL_IS_BONE))
            tail = head + bone->tail_offset[i];
        else if (bone->tail_bone >= 0)
            tail = model->bones[bone->tail_bone].position[i];
        segment[i] = head;
        segment[3 + i] = tail;
        square += pow((double)tail - head, 2);
    }
    return sqrt(square) > short_bone && isfinite(square);
}

/* Where a bone without a segment looks for one, or -1. */
static int32_t model_of_segment(const mmd_bone *bone)
{
    bool copies = bone->flags & MMD_BONE_APPEND_ROTATION && bone->append_ratio != 0;
    return copies && bone->append_source >= 0 ? bone->append_source : bone->parent;
}

/* Its own; else, where that is too short, the one of the bone whose rotation it copies; else its
   parent's. */
bool mmd_model_segments(const mmd_model *model, float *segments, mmd_error *err)
{
    enum { UNKNOWN, ON_THE_WAY, KNOWN };
    mmd_arena arena = {0};
    uint8_t *state = mmd_arena_alloc(&arena, model->bone_count, sizeof *state);
    int32_t *way = mmd_arena_alloc(&arena, model->bone_count, sizeof *way);
    for (size_t b = 0; state && way && b < model->bone_count; b++) {
        size_t steps = 0;
        int32_t at = (int32_t)b;
        float none[6];
        while (at >= 0 && state[at] == UNKNOWN) {
            if (own_segment(model, (size_t)at, segments + 6 * at)) {
                state[at] = KNOWN;
                break;
            }
            state[at] = ON_THE_WAY;
            way[steps++] = at;
            at = model_of_segment(&model->bones[at]);
        }
        const float *found = at >= 0 && state[at] == KNOWN ? segments + 6 * at : NULL;
        if (found && memcmp(found, found + 3, sizeof *found * 3) == 0)
            found = NULL;
        while (steps) {
            int32_t bone = way[--steps];
            state[bone] = KNOWN;
            memcpy(none, model->bones[bone].position, sizeof *none * 3);
            memcpy(none + 3, model->bones[bone].position, sizeof *none * 3);
            memcpy(segments + 6 * bone, found ? found : none, sizeof none);
        }
    }
    bool done = state && way;
    mmd_arena_free(&arena);
    return done || mmd_fail_memory(err);
}

bool mmd_chains_init(mmd_chains *chains, mmd_arena *arena, const int32_t *parents,
                     size_t bone_count)
{
    mmd_arena temporary = {0};
    chains->bone_count = bone_count;
    chains->entered = mmd_arena_alloc(arena, bone_count, sizeof *chains->entered);
    chains->left = mmd_arena_alloc(arena, bone_count, sizeof *chains->left);
    int32_t *parent = mmd_arena_alloc(&temporary, bone_count, sizeof *parent);
    size_t *walk = mmd_arena_alloc(&temporary, bone_count, sizeof *walk);
    int32_t *first_child = mmd_arena_alloc(&temporary, bone_count, sizeof *first_child);
    int32_t *next_sibling = mmd_arena_alloc(&temporary, bone_count, sizeof *next_sibling);
    bool done = chains->entered && chains->left && parent && walk && first_child && next_sibling;
    for (size_t b = 0; done && b < bone_count; b++) {
        bool inside = parents[b] >= 0 && (size_t)parents[b] < bone_count;
        parent[b] = inside && parents[b] != (int32_t)b ? parents[b] : -1;
        first_child[b] = -1;
    }
    for (size_t b = 0; done && b < bone_count; b++) {
        int32_t at = (int32_t)b;
        while (at >= 0 && walk[at] == 0) {
            walk[at] = b + 1;
            if (parent[at] >= 0 && walk[parent[at]] == b + 1)
                parent[at] = -1;
            at = parent[at];
        }
    }
    for (size_t b = bone_count; done && b-- > 0;) {
        int32_t above = parent[b];
        if (above < 0)
            continue;
        next_sibling[b] = first_child[above];
        first_child[above] = (int32_t)b;
    }
    uint32_t time = 0;
    for (size_t root = 0; done && root < bone_count; root++) {
        if (parent[root] >= 0)
            continue;
        /* Down to the first child, along to the next sibling, back up: without a stack. */
        int32_t at = (int32_t)root;
        chains->entered[at] = time++;
        for (;;) {
            int32_t child = first_child[at];
            if (child >= 0) {
                first_child[at] = next_sibling[child];
                at = child;
                chains->entered[at] = time++;
                continue;
            }
            chains->left[at] = time;
            if (at == (int32_t)root)
                break;
            at = parent[at];
        }
    }
    mmd_arena_free(&temporary);
    return done;
}

int mmd_chains_side(const mmd_chains *chains, int32_t a, int32_t b)
{
    uint32_t in_a = chains->entered[a], in_b = chains->entered[b];
    if (in_a < in_b)
        return in_b < chains->left[a] ? 1 : 0;
    return in_b < in_a && in_a < chains->left[b] ? -1 : 0;
}
