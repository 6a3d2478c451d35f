/* SPDX-License-Identifier: MIT */
/* The segments of bones (docs/methods.md#segments): from head to tail; without a tail, that of the
   bone whose rotation it appends, else of its parent. A bone for which none is found gets a segment
   of zero length. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/model.h"

#include <math.h>

static const double MIN_BONE_LENGTH = 1e-4; /* units */

/* The segment of a bone by its own tail; of zero length, and false, if it has none. */
static bool tail_segment(const mmd_model *model, const mmd_bone *bone, float segment[6])
{
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
    bool found = sqrt(square) > MIN_BONE_LENGTH && isfinite(square);
    if (!found)
        memcpy(segment + 3, segment, 3 * sizeof *segment);
    return found;
}

/* The bone whose segment a bone without a tail inherits, or -1. */
static int32_t segment_source(const mmd_bone *bone)
{
    bool appends = bone->flags & MMD_BONE_APPEND_ROTATION && bone->append_ratio != 0;
    return appends && bone->append_source >= 0 ? bone->append_source : bone->parent;
}

bool mmd_model_segments(const mmd_model *model, float *segments, mmd_error *err)
{
    if (!mmd_error_require(model, "model", err) ||
        (model->bone_count && !mmd_error_require(segments, "segments", err)))
        return false;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    size_t n = model->bone_count, *order = mmd_arena_alloc(&arena, n, sizeof *order);
    int32_t *sources = mmd_arena_alloc(&arena, n, sizeof *sources);
    for (size_t b = 0; sources && b < n; b++) {
        const mmd_bone *bone = &model->bones[b];
        sources[b] = tail_segment(model, bone, segments + 6 * b) ? -1 : segment_source(bone);
    }
    if (!order || !sources || !mmd_model_order(sources, 0, sizeof *sources, n, order))
        return mmd_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        int32_t source = sources[order[i]];
        const float *found = source < 0 ? NULL : segments + 6 * source;
        if (found && memcmp(found, found + 3, 3 * sizeof *found) != 0)
            memcpy(segments + 6 * order[i], found, 6 * sizeof *found);
    }
    return true;
}
