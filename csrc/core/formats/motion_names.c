/* SPDX-License-Identifier: MIT */
/* Checks whether the names of a motion fit into a file. */
#include "core/formats/formats.h"

#include "core/base/text.h"
#include "core/model/motion.h"

#include <stdio.h>
#include <string.h>

/* What a name of a VPD cannot contain: a line end, or // before a comment. NULL if it does not. */
static const char *find_syntax(mmd_text name)
{
    static const char *const syntax[] = {"\r", "\n", "//"};
    for (size_t i = 0; name.size && i < sizeof syntax / sizeof *syntax; i++) {
        const char *found = strstr(name.data, syntax[i]);
        if (found)
            return found;
    }
    return NULL;
}

bool mmd_motion_names_encode(const uint16_t *encoding, mmd_text name, size_t capacity,
                             uint8_t *field, mmd_motion_names_fault *fault)
{
    uint32_t missing;
    const char *syntax = capacity == MMD_NAME_ANY_SIZE ? find_syntax(name) : NULL;
    if (field)
        memset(field, 0, capacity);
    size_t size = mmd_text_encode_cp932(encoding, name, field, field ? capacity : 0, &missing);
    if (syntax)
        snprintf(fault->text, sizeof fault->text, "contains %s, where a name in a VPD ends",
                 *syntax == '/' ? "//" : "a line end");
    else if (missing)
        snprintf(fault->text, sizeof fault->text, "contains U+%04X, which cp932 cannot encode",
                 (unsigned)missing);
    else if (size > capacity)
        snprintf(fault->text, sizeof fault->text, "takes %zu bytes, but a VMD stores only %zu",
                 size, capacity);
    else
        return true;
    return false;
}

/* Names of one kind, checked whether they fit; what has no effect is left out. */
typedef struct name_check {
    const uint16_t *encoding;
    size_t capacity;
    mmd_motion_names_report *report;
    void *arg;
} name_check;

/* Whether the item `kind[index]` is kept. */
static bool is_kept(const name_check *names, const char *kind, size_t index, mmd_text name,
                    bool has_no_effect)
{
    char path[48];
    mmd_motion_names_fault fault;
    if (mmd_motion_names_encode(names->encoding, name, names->capacity, NULL, &fault))
        return true;
    snprintf(path, sizeof path, "%s[%zu]", kind, index);
    if (has_no_effect || !names->report)
        return false;
    names->report(names->arg, path, name, &fault);
    return true;
}

/* Whether a track does what a model without it does. */
static bool is_at_rest(mmd_motion_kind kind, const void *track)
{
    const mmd_bone_track *bone = track;
    const mmd_morph_track *morph = track;
    for (size_t k = 0; kind == MMD_MOTION_BONES && k < bone->key_count; k++) {
        const float *t = bone->translations + 3 * k, *q = bone->rotations + 4 * k;
        if (t[0] != 0 || t[1] != 0 || t[2] != 0 || q[0] != 0 || q[1] != 0 || q[2] != 0 ||
            !bone->physics[k])
            return false;
    }
    for (size_t k = 0; kind == MMD_MOTION_MORPHS && k < morph->key_count; k++)
        if (morph->weights[k] != 0)
            return false;
    return true;
}

static bool is_always_on(const mmd_property_track *track, size_t ik)
{
    for (size_t k = 0; k < track->key_count; k++)
        if (!track->ik_enabled[k * track->ik_count + ik])
            return false;
    return true;
}

static bool fit_tracks(mmd_arena *arena, const name_check *names, mmd_motion_kind kind,
                       mmd_motion *tracks)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    size_t count = mmd_motion_track_count(layout, tracks), kept = 0;
    char *list = mmd_arena_alloc(arena, count, layout->size);
    for (size_t i = 0; list && i < count; i++) {
        const void *track = mmd_motion_track(layout, tracks, i);
        if (is_kept(names, layout->name, i, mmd_motion_track_name(track), is_at_rest(kind, track)))
            memcpy(list + kept++ * layout->size, track, layout->size);
    }
    mmd_motion_set_tracks(layout, tracks, list, kept);
    return list != NULL;
}

static bool fit_switches(mmd_arena *arena, const name_check *names, mmd_motion *tracks)
{
    const mmd_property_track from = tracks->properties;
    mmd_property_track *to = &tracks->properties;
    to->ik_count = 0;
    to->ik_names = mmd_arena_alloc(arena, from.ik_count, sizeof *to->ik_names);
    to->ik_enabled = mmd_arena_alloc(arena, from.key_count, from.ik_count);
    size_t *kept = mmd_arena_alloc(arena, from.ik_count, sizeof *kept);
    if (!to->ik_names || !to->ik_enabled || !kept)
        return false;
    for (size_t i = 0; i < from.ik_count; i++)
        if (is_kept(names, "properties.ik_names", i, from.ik_names[i], is_always_on(&from, i)))
            kept[to->ik_count++] = i;
    for (size_t i = 0; i < to->ik_count; i++) {
        to->ik_names[i] = from.ik_names[kept[i]];
        for (size_t k = 0; k < from.key_count; k++)
            to->ik_enabled[k * to->ik_count + i] = from.ik_enabled[k * from.ik_count + kept[i]];
    }
    return true;
}

bool mmd_motion_names_fit(mmd_arena *arena, size_t capacity, mmd_motion_names_report *report,
                          void *arg, mmd_motion *tracks)
{
    const name_check names = {mmd_text_cp932_table(arena), capacity, report, arg};
    return names.encoding && fit_tracks(arena, &names, MMD_MOTION_BONES, tracks) &&
           fit_tracks(arena, &names, MMD_MOTION_MORPHS, tracks) &&
           fit_switches(arena, &names, tracks);
}
