/* SPDX-License-Identifier: MIT */
/* Reads VMD, in the order of docs/mmd-behavior.md#vmd. Malformed files are handled as in
   docs/mmd-behavior.md#robust-reader. */
#include "core/formats/formats.h"

#include "core/formats/track.h"

#include <math.h>
#include <string.h>

/* A property key gets a state for every IK name of the motion, listed in the file or not. MMD lists
   all of them, 21 bytes a state, so this limit only stops hostile files. */
enum { MAX_STATES_PER_BYTE = 64 };

static const char signature[] = "Vocaloid Motion Data", first_version[] = " file";

typedef struct vmd {
    mmd_reader r;       /* fills the motion's memory */
    mmd_reader scratch; /* memory freed after each section */
    mmd_motion *motion;
} vmd;

/* Consecutive records of one size. */
typedef struct section {
    const uint8_t *bytes;
    size_t size, count;
} section;

/* Records grouped by name: the keys of names.strings[t] are keys[first[t]] to keys[first[t + 1] -
   1], in file order. */
typedef struct grouping {
    mmd_string_table names;
    size_t *first;
    uint64_t *keys, *scratch;
} grouping;

static mmd_bytes record_at(const section *s, size_t index)
{
    return (mmd_bytes){.data = s->bytes + index * s->size, .size = s->size};
}

static size_t field_size(const uint8_t *bytes, size_t capacity)
{
    const uint8_t *end = memchr(bytes, 0, capacity);
    return end ? (size_t)(end - bytes) : capacity;
}

/* Sections of later versions of MMD (`optional`) may be missing. Bytes in the place of one that
   cannot be one are trailing garbage and skipped. */
static bool read_count(vmd *v, const char *name, size_t min_size, bool optional, size_t *count)
{
    mmd_reader *r = &v->r;
    mmd_reader_begin_section(r, name);
    *count = 0;
    if (optional && mmd_bytes_left(&r->in) < 4) {
        r->in.offset = r->in.size;
        return true;
    }
    size_t start = r->in.offset;
    uint32_t value = mmd_bytes_u32(&r->in);
    if (!mmd_reader_ok(r))
        return false;
    size_t left = mmd_bytes_left(&r->in);
    if (optional && (value > MMD_MAX_RECORDS || left == 0)) {
        r->in.offset = r->in.size;
        return true;
    }
    if (value > MMD_MAX_RECORDS) {
        r->in.offset = start;
        return mmd_reader_fail(r, "%u records, limit %d", (unsigned)value, MMD_MAX_RECORDS);
    }
    if (value > left / min_size) {
        r->record = (long)(left / min_size);
        r->in.offset += left / min_size * min_size;
        return mmd_reader_fail(r, "the file ends at byte %zu, in record %ld of %u", r->in.size,
                               r->record, (unsigned)value);
    }
    *count = value;
    return true;
}

static bool read_section(vmd *v, const char *name, size_t size, bool optional, section *s)
{
    s->size = size;
    if (!read_count(v, name, size, optional, &s->count))
        return false;
    s->bytes = mmd_bytes_take(&v->r.in, s->count * size);
    return true;
}

static bool ok(vmd *v)
{
    v->r.no_memory |= v->scratch.no_memory;
    return mmd_reader_ok(&v->r);
}

static bool allocate_keys(vmd *v, size_t count, uint64_t **keys, uint64_t **scratch)
{
    *keys = mmd_reader_alloc(&v->scratch, count, sizeof **keys);
    *scratch = mmd_reader_alloc(&v->scratch, count, sizeof **scratch);
    return ok(v);
}

static bool group_by_name(vmd *v, const section *s, grouping *g)
{
    uint32_t *tracks = mmd_reader_alloc(&v->scratch, s->count, sizeof *tracks), track = 0;
    if (!tracks || !allocate_keys(v, s->count, &g->keys, &g->scratch))
        return ok(v);
    for (size_t i = 0; i < s->count && !v->scratch.no_memory; i++) {
        const uint8_t *record = s->bytes + i * s->size;
        if (i == 0 || memcmp(record, record - s->size, MMD_VMD_NAME) != 0)
            track =
                mmd_reader_intern(&v->scratch, &g->names, record, field_size(record, MMD_VMD_NAME));
        tracks[i] = track;
    }
    g->first = mmd_reader_alloc(&v->scratch, g->names.count + 2, sizeof *g->first);
    if (!ok(v))
        return false;
    size_t *next = g->first + 1; /* of each track: where its next key goes */
    for (size_t i = 0; i < s->count; i++)
        g->first[tracks[i] + 2]++;
    for (size_t t = 0; t < g->names.count; t++)
        g->first[t + 2] += g->first[t + 1];
    for (size_t i = 0; i < s->count; i++)
        g->keys[next[tracks[i]]++] =
            (uint64_t)mmd_bytes_u32_at(s->bytes + i * s->size + MMD_VMD_NAME) << 32 | i;
    return true;
}

static size_t sort_track(const grouping *g, size_t track, uint64_t **keys)
{
    size_t first = g->first[track];
    *keys = g->keys + first;
    return mmd_track_sort_keys(*keys, g->scratch + first, g->first[track + 1] - first);
}

/* Row c of the block begins with the first parameter of channel c. Row 0 has all channels, too, but
   MMD overwrites two of its bytes with the physics flag. Some writers leave rows 1 to 3 zero: then
   row 0 is used, in which the flag of physics off is no parameter. */
static void read_interpolation(const uint8_t *block, bool physics, uint8_t curves[16])
{
    bool rows = false;
    for (int i = 16; i < 64; i++)
        rows |= block[i] != 0;
    for (int channel = 0; channel < 4; channel++)
        for (int i = 0; i < 4; i++) {
            uint8_t value = block[(rows ? 16 * channel : channel) + 4 * i];
            curves[4 * channel + i] = value > 127 ? 127 : value;
        }
    if (!rows && !physics)
        curves[8] = curves[12] = 0;
}

static void read_rotation(mmd_bytes *in, float rotation[4])
{
    for (int i = 0; i < 4; i++)
        rotation[i] = mmd_bytes_f32(in, HUGE_VALF);
    mmd_track_sanitize_rotation(rotation);
}

void mmd_vmd_decode(const uint8_t stored[MMD_STORED_SIZE], float rotation[4], uint8_t curves[16],
                    uint8_t *physics)
{
    mmd_bytes in = {.data = stored, .size = MMD_STORED_SIZE};
    read_rotation(&in, rotation);
    const uint8_t *block = mmd_bytes_take(&in, 64);
    *physics = memcmp(block + 2, mmd_vmd_physics_off, sizeof mmd_vmd_physics_off) != 0;
    read_interpolation(block, *physics, curves);
}

static void read_bone_key(mmd_bytes in, mmd_bone_track *track, size_t k)
{
    mmd_bytes_take(&in, MMD_VMD_NAME);
    track->frames[k] = mmd_bytes_u32(&in);
    mmd_bytes_f32s(&in, track->translations + 3 * k, 3);
    mmd_vmd_decode(mmd_bytes_take(&in, MMD_STORED_SIZE), track->rotations + 4 * k,
                   track->interpolation + 16 * k, track->physics + k);
}

static const uint8_t *stored_of(const section *s, uint64_t key)
{
    return s->bytes + mmd_track_key_index(key) * s->size + MMD_VMD_BONE - MMD_STORED_SIZE;
}

bool mmd_vmd_is_as_encoded(const mmd_bone_track *track, size_t key, const uint8_t *stored)
{
    uint8_t encoded[MMD_STORED_SIZE];
    mmd_vmd_encode(track->rotations + 4 * key, track->interpolation + 16 * key, track->physics[key],
                   encoded);
    return memcmp(encoded, stored, sizeof encoded) == 0;
}

/* Keeps the bytes of the keys unless all are as mmdskin stores them. */
static void keep_stored(vmd *v, const section *s, const uint64_t *keys, mmd_bone_track *track)
{
    size_t k = 0;
    while (k < track->key_count && mmd_vmd_is_as_encoded(track, k, stored_of(s, keys[k])))
        k++;
    if (k == track->key_count)
        return;
    track->stored = mmd_reader_alloc_uninitialized(&v->r, track->key_count, MMD_STORED_SIZE);
    for (k = 0; track->stored && k < track->key_count; k++)
        memcpy(track->stored + MMD_STORED_SIZE * k, stored_of(s, keys[k]), MMD_STORED_SIZE);
}

static bool read_bones(vmd *v)
{
    section s;
    grouping g = {0};
    if (!read_section(v, "bones", MMD_VMD_BONE, false, &s) || !group_by_name(v, &s, &g))
        return false;
    mmd_bone_track *tracks = mmd_reader_alloc(&v->r, g.names.count, sizeof *tracks);
    for (size_t t = 0; tracks && t < g.names.count; t++) {
        uint64_t *keys;
        mmd_track_alloc(&v->r, &mmd_motion_bone_layout, &tracks[t], sort_track(&g, t, &keys));
        tracks[t].name = mmd_reader_text(&v->r, g.names.strings[t].bytes, g.names.strings[t].size);
        if (!ok(v))
            return false;
        for (size_t k = 0; k < tracks[t].key_count; k++)
            read_bone_key(record_at(&s, mmd_track_key_index(keys[k])), &tracks[t], k);
        keep_stored(v, &s, keys, &tracks[t]);
    }
    v->motion->bone_tracks = tracks;
    v->motion->bone_track_count = g.names.count;
    return ok(v);
}

static bool read_morphs(vmd *v)
{
    section s = {.size = MMD_VMD_MORPH};
    grouping g = {0};
    bool missing = mmd_bytes_left(&v->r.in) == 0;
    if (!missing && !read_section(v, "morphs", MMD_VMD_MORPH, false, &s))
        return false;
    if (!group_by_name(v, &s, &g))
        return false;
    mmd_morph_track *tracks = mmd_reader_alloc(&v->r, g.names.count, sizeof *tracks);
    for (size_t t = 0; tracks && t < g.names.count; t++) {
        uint64_t *keys;
        mmd_track_alloc(&v->r, &mmd_motion_morph_layout, &tracks[t], sort_track(&g, t, &keys));
        tracks[t].name = mmd_reader_text(&v->r, g.names.strings[t].bytes, g.names.strings[t].size);
        if (!ok(v))
            return false;
        for (size_t k = 0; k < tracks[t].key_count; k++) {
            mmd_bytes in = record_at(&s, mmd_track_key_index(keys[k]));
            mmd_bytes_take(&in, MMD_VMD_NAME);
            tracks[t].frames[k] = mmd_bytes_u32(&in);
            tracks[t].weights[k] = mmd_bytes_f32(&in, 0);
        }
    }
    v->motion->morph_tracks = tracks;
    v->motion->morph_track_count = g.names.count;
    return ok(v);
}

/* Reads the records of a section that is one track. They begin with their frame. */
static bool read_track(vmd *v, const char *name, size_t size, section *s, uint64_t **keys,
                       size_t *count)
{
    uint64_t *scratch;
    if (!read_section(v, name, size, true, s) || !allocate_keys(v, s->count, keys, &scratch))
        return false;
    for (size_t i = 0; i < s->count; i++)
        (*keys)[i] = (uint64_t)mmd_bytes_u32_at(s->bytes + i * size) << 32 | i;
    *count = mmd_track_sort_keys(*keys, scratch, s->count);
    return true;
}

static void read_camera_key(mmd_bytes in, mmd_camera_track *track, size_t k)
{
    track->frames[k] = mmd_bytes_u32(&in);
    track->distances[k] = mmd_bytes_f32(&in, 0);
    mmd_bytes_f32s(&in, track->targets + 3 * k, 3);
    mmd_bytes_f32s(&in, track->rotations + 3 * k, 3);
    for (size_t i = 0; i < 6; i++) {
        static const size_t column[4] = {0, 2, 1, 3}; /* the file has x1 x2 y1 y2 */
        for (size_t j = 0; j < 4; j++) {
            uint8_t value = mmd_bytes_u8(&in);
            track->interpolation[24 * k + 4 * i + column[j]] = value > 127 ? 127 : value;
        }
    }
    track->view_angles[k] = (float)mmd_bytes_u32(&in);
    track->perspective[k] = mmd_bytes_u8(&in) == 0;
}

static bool read_camera(vmd *v)
{
    section s;
    uint64_t *keys;
    size_t count;
    if (!read_track(v, "camera", MMD_VMD_CAMERA, &s, &keys, &count))
        return false;
    mmd_track_alloc(&v->r, &mmd_motion_camera_layout, &v->motion->camera, count);
    for (size_t k = 0; k < count && !v->r.no_memory; k++)
        read_camera_key(record_at(&s, mmd_track_key_index(keys[k])), &v->motion->camera, k);
    return ok(v);
}

static bool read_light(vmd *v)
{
    mmd_light_track *track = &v->motion->light;
    section s;
    uint64_t *keys;
    size_t count;
    if (!read_track(v, "light", MMD_VMD_LIGHT, &s, &keys, &count))
        return false;
    mmd_track_alloc(&v->r, &mmd_motion_light_layout, track, count);
    for (size_t k = 0; k < count && !v->r.no_memory; k++) {
        mmd_bytes in = record_at(&s, mmd_track_key_index(keys[k]));
        track->frames[k] = mmd_bytes_u32(&in);
        mmd_bytes_f32s(&in, track->colors + 3 * k, 3);
        mmd_bytes_f32s(&in, track->directions + 3 * k, 3);
    }
    return ok(v);
}

static bool read_shadow(vmd *v)
{
    mmd_shadow_track *track = &v->motion->shadow;
    section s;
    uint64_t *keys;
    size_t count;
    if (!read_track(v, "shadow", MMD_VMD_SHADOW, &s, &keys, &count))
        return false;
    mmd_track_alloc(&v->r, &mmd_motion_shadow_layout, track, count);
    for (size_t k = 0; k < count && !v->r.no_memory; k++) {
        mmd_bytes in = record_at(&s, mmd_track_key_index(keys[k]));
        track->frames[k] = mmd_bytes_u32(&in);
        uint8_t mode = mmd_bytes_u8(&in);
        track->modes[k] = mode > 2 ? 2 : mode;
        track->distances[k] = mmd_bytes_f32(&in, 0);
    }
    return ok(v);
}

/* A record of the property section; its IK states are still in the file. */
typedef struct property {
    uint32_t frame;
    bool visible;
    size_t state_count;
    const uint8_t *states;
} property;

static bool read_properties(mmd_reader *r, size_t extra, property *properties, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        property *p = &properties[i];
        r->record = (long)i;
        p->frame = mmd_bytes_u32(&r->in);
        p->visible = mmd_bytes_u8(&r->in) != 0;
        mmd_bytes_take(&r->in, extra);
        uint32_t states = mmd_bytes_u32(&r->in);
        if (!mmd_reader_check_count(r, "IK states", states, MMD_VMD_IK_STATE, MMD_MAX_RECORDS,
                                    &p->state_count))
            return false;
        p->states = mmd_bytes_take(&r->in, p->state_count * MMD_VMD_IK_STATE);
    }
    return true;
}

static bool properties_fit(const mmd_reader *r, size_t extra, property *properties, size_t count)
{
    mmd_reader attempt = *r;
    attempt.err = NULL;
    return read_properties(&attempt, extra, properties, count) && mmd_bytes_left(&attempt.in) == 0;
}

static void fill_properties(vmd *v, const property *properties, const uint64_t *keys,
                            mmd_string_table *names)
{
    mmd_property_track *track = &v->motion->properties;
    for (size_t i = 0; i < names->count; i++)
        track->ik_names[i] =
            mmd_reader_text(&v->r, names->strings[i].bytes, names->strings[i].size);
    memset(track->ik_enabled, 1, track->key_count * track->ik_count);
    for (size_t k = 0; k < track->key_count; k++) {
        const property *p = &properties[mmd_track_key_index(keys[k])];
        track->frames[k] = p->frame;
        track->visible[k] = p->visible;
        for (size_t i = 0; i < p->state_count; i++) {
            const uint8_t *state = p->states + i * MMD_VMD_IK_STATE;
            uint32_t ik =
                mmd_reader_intern(&v->scratch, names, state, field_size(state, MMD_VMD_NAME));
            track->ik_enabled[k * track->ik_count + ik] = state[MMD_VMD_IK_NAME] != 0;
        }
    }
}

static bool read_property_section(vmd *v)
{
    mmd_string_table names = {0};
    uint64_t *keys, *scratch;
    size_t count;
    if (!read_count(v, "properties", MMD_VMD_PROPERTY, true, &count))
        return false;
    size_t start = v->r.in.offset;
    property *properties = mmd_reader_alloc(&v->scratch, count, sizeof *properties);
    if (!properties || !allocate_keys(v, count, &keys, &scratch))
        return ok(v);
    /* Some writers add a byte after the visibility, which only the size of the file reveals. */
    size_t extra =
        !properties_fit(&v->r, 0, properties, count) && properties_fit(&v->r, 1, properties, count);
    if (!read_properties(&v->r, extra, properties, count))
        return false;
    v->r.record = MMD_NO_RECORD;
    for (size_t i = 0; i < count; i++) {
        keys[i] = (uint64_t)properties[i].frame << 32 | i;
        for (size_t k = 0; k < properties[i].state_count; k++) {
            const uint8_t *state = properties[i].states + k * MMD_VMD_IK_STATE;
            mmd_reader_intern(&v->scratch, &names, state, field_size(state, MMD_VMD_NAME));
        }
        if (!ok(v))
            return false;
    }
    count = mmd_track_sort_keys(keys, scratch, count);
    size_t limit = MAX_STATES_PER_BYTE * (v->r.in.offset - start);
    if (names.count && count > limit / names.count)
        return mmd_reader_fail(&v->r, "%zu keys of %zu IK names, limit %zu states", count,
                               names.count, limit);
    mmd_track_alloc_property(&v->r, &v->motion->properties, count, names.count);
    if (!ok(v))
        return false;
    fill_properties(v, properties, keys, &names);
    return ok(v);
}

static bool read_header(vmd *v)
{
    mmd_reader *r = &v->r;
    const uint8_t *header = mmd_bytes_take(&r->in, MMD_VMD_HEAD);
    if (!header)
        return mmd_reader_ok(r);
    bool first =
        memcmp(header + sizeof signature - 1, first_version, sizeof first_version - 1) == 0;
    size_t size = first ? 10 : MMD_VMD_MODEL_NAME;
    const uint8_t *name = mmd_bytes_take(&r->in, size);
    if (!name)
        return mmd_reader_ok(r);
    v->motion->name = mmd_reader_text(r, name, field_size(name, size));
    return mmd_reader_ok(r);
}

bool mmd_vmd_is(const uint8_t *bytes, size_t size)
{
    return size >= sizeof signature - 1 && memcmp(bytes, signature, sizeof signature - 1) == 0;
}

bool mmd_vmd_read(mmd_motion *motion, const uint8_t *bytes, size_t size,
                  const mmd_text_decoder *names, mmd_error *err)
{
    static bool (*const sections[])(vmd *) = {
        read_header, read_bones,  read_morphs,           read_camera,
        read_light,  read_shadow, read_property_section,
    };
    mmd_arena arena = {0};
    vmd v = {.motion = motion, .scratch.arena = &arena};
    v.r = mmd_reader_begin(bytes, size, &motion->arena, err);
    v.r.encoding = MMD_CP932_NAMES;
    v.r.decoder = names;
    bool read = true;
    for (size_t i = 0; i < sizeof sections / sizeof *sections && read; i++) {
        read = sections[i](&v);
        mmd_arena_free(&arena);
    }
    return read;
}
