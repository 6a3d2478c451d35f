/* SPDX-License-Identifier: MIT */
/* Comparison of motions. */
#include "core/base/text.h"
#include "core/model/motion.h"

#include <string.h>

/* Arrays of as many bytes; either may be NULL, which stands for a default. */
static bool same(const void *a, const void *b, size_t size)
{
    return a == b || (a && b && memcmp(a, b, size) == 0);
}

#define SAME_KEYS(member, columns)                                                                 \
    same(a->member, b->member, a->key_count *(columns) * sizeof *a->member)

static bool same_texts(const mmd_text *a, const mmd_text *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!mmd_text_equal(a[i], b[i]))
            return false;
    return true;
}

static bool same_bones(const mmd_bone_track *a, const mmd_bone_track *b)
{
    return mmd_text_equal(a->name, b->name) && a->key_count == b->key_count &&
           SAME_KEYS(frames, 1) && SAME_KEYS(translations, 3) && SAME_KEYS(rotations, 4) &&
           SAME_KEYS(interpolation, 16) && SAME_KEYS(physics, 1) &&
           SAME_KEYS(stored, MMD_STORED_SIZE);
}

static bool same_morphs(const mmd_morph_track *a, const mmd_morph_track *b)
{
    return mmd_text_equal(a->name, b->name) && a->key_count == b->key_count &&
           SAME_KEYS(frames, 1) && SAME_KEYS(weights, 1);
}

static bool same_camera(const mmd_camera_track *a, const mmd_camera_track *b)
{
    return a->key_count == b->key_count && SAME_KEYS(frames, 1) && SAME_KEYS(distances, 1) &&
           SAME_KEYS(targets, 3) && SAME_KEYS(rotations, 3) && SAME_KEYS(interpolation, 24) &&
           SAME_KEYS(view_angles, 1) && SAME_KEYS(perspective, 1);
}

static bool same_light(const mmd_light_track *a, const mmd_light_track *b)
{
    return a->key_count == b->key_count && SAME_KEYS(frames, 1) && SAME_KEYS(colors, 3) &&
           SAME_KEYS(directions, 3);
}

static bool same_shadow(const mmd_shadow_track *a, const mmd_shadow_track *b)
{
    return a->key_count == b->key_count && SAME_KEYS(frames, 1) && SAME_KEYS(modes, 1) &&
           SAME_KEYS(distances, 1);
}

static bool same_properties(const mmd_property_track *a, const mmd_property_track *b)
{
    return a->key_count == b->key_count && a->ik_count == b->ik_count && SAME_KEYS(frames, 1) &&
           SAME_KEYS(visible, 1) && same_texts(a->ik_names, b->ik_names, a->ik_count) &&
           SAME_KEYS(ik_enabled, a->ik_count);
}

bool mmd_motion_equal(const mmd_motion *a, const mmd_motion *b)
{
    if (!mmd_text_equal(a->name, b->name) || a->bone_track_count != b->bone_track_count ||
        a->morph_track_count != b->morph_track_count || !same_camera(&a->camera, &b->camera) ||
        !same_light(&a->light, &b->light) || !same_shadow(&a->shadow, &b->shadow) ||
        !same_properties(&a->properties, &b->properties))
        return false;
    for (size_t i = 0; i < a->bone_track_count; i++)
        if (!same_bones(&a->bone_tracks[i], &b->bone_tracks[i]))
            return false;
    for (size_t i = 0; i < a->morph_track_count; i++)
        if (!same_morphs(&a->morph_tracks[i], &b->morph_tracks[i]))
            return false;
    return true;
}
