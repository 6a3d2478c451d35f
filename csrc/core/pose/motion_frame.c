/* SPDX-License-Identifier: MIT */
/* Samples the tracks of a motion at one frame, for files that hold one pose. */
#include "core/pose/motion_frame.h"

#include "core/base/string_table.h"

/* Which tracks to sample, in which order. */
typedef struct selection {
    size_t count;
    size_t *tracks;
} selection;

/* Names that are `stride` bytes apart. */
typedef struct name_list {
    const mmd_text *first;
    size_t stride, count;
} name_list;

/* Of tracks, bones or morphs. */
#define NAMES_OF(items, count)                                                                     \
    {                                                                                              \
        (items) ? &(items)->name : NULL, sizeof *(items), count                                    \
    }

static mmd_text name_at(const name_list *names, size_t index)
{
    return *(const mmd_text *)(const void *)((const char *)names->first + index * names->stride);
}

/* The tracks of the names that the model has, in its order; all tracks without a model. */
static bool select_tracks(mmd_arena *arena, const name_list *tracks, const name_list *of_model,
                          selection *out)
{
    mmd_string_table table = {0};
    uint32_t index;
    out->tracks = mmd_arena_alloc(arena, tracks->count, sizeof *out->tracks);
    bool *taken = mmd_arena_alloc(arena, tracks->count, sizeof *taken);
    bool done = out->tracks && taken;
    for (size_t i = 0; done && i < tracks->count; i++) {
        mmd_text name = name_at(tracks, i);
        done = mmd_string_table_add(arena, &table, (const uint8_t *)name.data, name.size, &index);
        if (!of_model)
            out->tracks[out->count++] = i;
    }
    for (size_t i = 0; done && of_model && i < of_model->count; i++) {
        mmd_text name = name_at(of_model, i);
        if (mmd_string_table_find(&table, (const uint8_t *)name.data, name.size, &index) &&
            !taken[index]) {
            taken[index] = true;
            out->tracks[out->count++] = index;
        }
    }
    return done;
}

static bool sample_bones(mmd_arena *arena, const mmd_motion *motion, const selection *selected,
                         double frame, mmd_motion *pose)
{
    size_t count = selected->count;
    mmd_bone_track *bones = mmd_arena_alloc(arena, count, sizeof *bones);
    uint32_t *frames = mmd_arena_alloc(arena, 1, sizeof *frames);
    float *values = mmd_arena_alloc(arena, count, 7 * sizeof *values);
    uint8_t *physics = mmd_arena_alloc(arena, count, 1);
    uint8_t *curves = mmd_arena_alloc(arena, 1, 16);
    if (!bones || !frames || !values || !physics || !curves)
        return false;
    for (size_t i = 0; i < count; i++) {
        const mmd_bone_track *track = &motion->bone_tracks[selected->tracks[i]];
        size_t key = 0;
        bones[i] = (mmd_bone_track){.name = track->name,
                                    .key_count = 1,
                                    .frames = frames,
                                    .translations = values + 7 * i,
                                    .rotations = values + 7 * i + 3,
                                    .interpolation = curves,
                                    .physics = physics + i};
        mmd_sampling_bone(track, frame, bones[i].translations, bones[i].rotations);
        physics[i] =
            track->physics[mmd_sampling_key_before(track->frames, track->key_count, frame, &key)];
    }
    pose->bone_tracks = bones;
    pose->bone_track_count = count;
    return true;
}

static bool sample_morphs(mmd_arena *arena, const mmd_motion *motion, const selection *selected,
                          double frame, mmd_motion *pose)
{
    size_t count = selected->count;
    mmd_morph_track *morphs = mmd_arena_alloc(arena, count, sizeof *morphs);
    uint32_t *frames = mmd_arena_alloc(arena, 1, sizeof *frames);
    float *weights = mmd_arena_alloc(arena, count, sizeof *weights);
    if (!morphs || !frames || !weights)
        return false;
    for (size_t i = 0; i < count; i++) {
        const mmd_morph_track *track = &motion->morph_tracks[selected->tracks[i]];
        weights[i] = mmd_sampling_morph(track, frame);
        morphs[i] = (mmd_morph_track){track->name, 1, frames, weights + i};
    }
    pose->morph_tracks = morphs;
    pose->morph_track_count = count;
    return true;
}

bool mmd_motion_frame(mmd_arena *arena, const mmd_motion *motion, const mmd_model *model,
                      double frame, mmd_motion *pose)
{
    const mmd_model none = {0};
    const mmd_model *of = model ? model : &none;
    const name_list bone_tracks = NAMES_OF(motion->bone_tracks, motion->bone_track_count),
                    morph_tracks = NAMES_OF(motion->morph_tracks, motion->morph_track_count),
                    bones = NAMES_OF(of->bones, of->bone_count),
                    morphs = NAMES_OF(of->morphs, of->morph_count);
    selection selected_bones = {0}, selected_morphs = {0};
    *pose = (mmd_motion){.name = model ? model->name : motion->name};
    return select_tracks(arena, &bone_tracks, model ? &bones : NULL, &selected_bones) &&
           select_tracks(arena, &morph_tracks, model ? &morphs : NULL, &selected_morphs) &&
           sample_bones(arena, motion, &selected_bones, frame, pose) &&
           sample_morphs(arena, motion, &selected_morphs, frame, pose);
}
