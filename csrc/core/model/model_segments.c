/* SPDX-License-Identifier: MIT */
/* The segments of bones (docs/methods.md#segments): from head to tail; without a tail, that of the
   bone whose rotation it appends, else of its parent. A bone for which none is found gets a segment
   of zero length. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "mmdskin.h"

#include <math.h>
#include <string.h>

static const double MIN_BONE_LENGTH = 1e-4; /* units */

static bool tail_segment(const mmd_model *model, size_t b, float segment[6])
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
    return sqrt(square) > MIN_BONE_LENGTH && isfinite(square);
}

/* The bone whose segment a bone without a tail inherits, or -1. */
static int32_t segment_source(const mmd_bone *bone)
{
    bool appends = bone->flags & MMD_BONE_APPEND_ROTATION && bone->append_ratio != 0;
    return appends && bone->append_source >= 0 ? bone->append_source : bone->parent;
}

bool mmd_model_segments(const mmd_model *model, float *segments, mmd_error *err)
{
    enum { UNVISITED, ON_PATH, DONE };
    if (!mmd_error_require(model, "model", err) ||
        (model->bone_count && !mmd_error_require(segments, "segments", err)))
        return false;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    uint8_t *state = mmd_arena_alloc(&arena, model->bone_count, sizeof *state);
    int32_t *path = mmd_arena_alloc(&arena, model->bone_count, sizeof *path);
    for (size_t b = 0; state && path && b < model->bone_count; b++) {
        size_t length = 0;
        int32_t at = (int32_t)b;
        float none[6];
        while (at >= 0 && state[at] == UNVISITED) {
            if (tail_segment(model, (size_t)at, segments + 6 * at)) {
                state[at] = DONE;
                break;
            }
            state[at] = ON_PATH;
            path[length++] = at;
            at = segment_source(&model->bones[at]);
        }
        const float *found = at >= 0 && state[at] == DONE ? segments + 6 * at : NULL;
        if (found && memcmp(found, found + 3, sizeof *found * 3) == 0)
            found = NULL;
        while (length) {
            int32_t bone = path[--length];
            state[bone] = DONE;
            memcpy(none, model->bones[bone].position, sizeof *none * 3);
            memcpy(none + 3, model->bones[bone].position, sizeof *none * 3);
            memcpy(segments + 6 * bone, found ? found : none, sizeof none);
        }
    }
    return (state && path) || mmd_fail_memory(err);
}
