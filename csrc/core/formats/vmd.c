/* SPDX-License-Identifier: MIT */
/* Reads VMD, in the order of docs/mmd-behavior.md#vmd, and writes it: all sections, keys track by
   track, so that reading it back gives an equal motion. Malformed files are handled as in
   docs/mmd-behavior.md#robust-reader. */
#include "core/formats/formats.h"

#include "core/base/error.h"
#include "core/formats/track.h"

#include <math.h>
#include <string.h>

/* Sizes in bytes, docs/mmd-behavior.md#vmd. */
enum {
    HEAD = 30,
    MODEL_NAME = 20,
    NAME = MMD_VMD_NAME_SIZE,
    CAMERA = 61,
    PROPERTY = 9, /* without its IK states */
    IK_STATE = 21,
    IK_NAME = 20 /* MMD leaves garbage after the first 15 */
};

/* The third and fourth byte of the interpolation block of a bone key with physics off; zero: on. */
static const uint8_t physics_off[2] = {0x63, 0x0F};

/* Records are a name, if there are tracks of several, the frame, and the columns, apart from bones:
   the translation is followed by what `stored` has. */
static size_t record_size(mmd_motion_kind kind)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    size_t size = (layout->count ? NAME : 0) + sizeof(uint32_t);
    if (kind == MMD_MOTION_BONES)
        return size + 3 * sizeof(float) + MMD_STORED_SIZE;
    for (size_t i = 0; i < layout->column_count; i++)
        size += mmd_motion_row(&layout->columns[i], NULL);
    return size;
}

/* A camera's record from that of its columns, and back: the file has x1 x2 y1 y2 of each curve, and
   whether perspective is off. */
static void exchange_camera(uint8_t record[CAMERA])
{
    for (size_t i = 0; i < 6; i++) {
        uint8_t *curve = record + 32 + 4 * i, second = curve[1];
        curve[1] = curve[2];
        curve[2] = second;
    }
    record[CAMERA - 1] = record[CAMERA - 1] == 0;
}

/* Reading */

/* A property key gets a state for every IK name of the motion, listed in the file or not. MMD lists
   all of them, 21 bytes a state, so this limit only stops hostile files. */
enum { MAX_STATES_PER_BYTE = 64 };

static const char first_version[] = "Vocaloid Motion Data file";

/* Consecutive records of one size. */
typedef struct section {
    const uint8_t *bytes;
    size_t size, count;
} section;

/* Records grouped by name, or all in one group: the keys of group t, of the name names.strings[t],
   are keys[first[t]] to keys[first[t + 1] - 1], in file order. */
typedef struct grouping {
    mmd_string_table names;
    size_t count, *first;
    uint64_t *keys;
} grouping;

static const uint8_t *record_at(const section *s, uint64_t key)
{
    return s->bytes + mmd_track_key_index(key) * s->size;
}

static size_t field_size(const uint8_t *bytes, size_t capacity)
{
    const uint8_t *end = memchr(bytes, 0, capacity);
    return end ? (size_t)(end - bytes) : capacity;
}

/* Sections of later versions of MMD (`optional`) may be missing. Bytes in the place of one that
   cannot be one are trailing garbage and skipped. */
static bool read_count(mmd_reader *r, const char *name, size_t min_size, bool optional,
                       size_t *count)
{
    mmd_reader_begin_section(r, name);
    *count = 0;
    size_t start = r->in.offset;
    uint32_t value = mmd_bytes_u32(&r->in);
    size_t left = mmd_bytes_left(&r->in);
    if (optional && (r->in.failed || value > MMD_MAX_RECORDS || left == 0)) {
        r->in.failed = false;
        r->in.offset = r->in.size;
        return true;
    }
    if (!mmd_reader_ok(r))
        return false;
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

static bool read_section(mmd_reader *r, const char *name, size_t size, bool optional, section *s)
{
    s->size = size;
    if (!read_count(r, name, size, optional, &s->count))
        return false;
    s->bytes = mmd_bytes_take(&r->in, s->count * size);
    return true;
}

static bool group_records(mmd_reader *r, const section *s, bool named, grouping *g)
{
    uint32_t *groups = mmd_reader_scratch(r, s->count, sizeof *groups), group = 0;
    g->keys = mmd_reader_scratch(r, s->count, sizeof *g->keys);
    if (!groups || !g->keys)
        return mmd_reader_ok(r);
    for (size_t i = 0; named && i < s->count && !r->no_memory; i++) {
        const uint8_t *record = s->bytes + i * s->size;
        if (i == 0 || memcmp(record, record - s->size, NAME) != 0)
            group = mmd_reader_intern(r, &g->names, record, field_size(record, NAME));
        groups[i] = group;
    }
    g->count = named ? g->names.count : 1;
    g->first = mmd_reader_scratch(r, g->count + 2, sizeof *g->first);
    if (!mmd_reader_ok(r))
        return false;
    size_t *next = g->first + 1; /* of each group: where its next key goes */
    for (size_t i = 0; i < s->count; i++)
        g->first[groups[i] + 2]++;
    for (size_t t = 0; t < g->count; t++)
        g->first[t + 2] += g->first[t + 1];
    for (size_t i = 0; i < s->count; i++) {
        const uint8_t *frame = s->bytes + i * s->size + (named ? NAME : 0);
        g->keys[next[groups[i]]++] = (uint64_t)mmd_bytes_u32_at(frame) << 32 | i;
    }
    return true;
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
        for (int i = 0; i < 4; i++)
            curves[4 * channel + i] = block[(rows ? 16 * channel : channel) + 4 * i];
    for (int i = 0; i < 16; i++)
        curves[i] = curves[i] > 127 ? 127 : curves[i];
    if (!rows && !physics)
        curves[8] = curves[12] = 0;
}

void mmd_vmd_decode(const uint8_t stored[MMD_STORED_SIZE], float rotation[4], uint8_t curves[16],
                    uint8_t *physics)
{
    const uint8_t *block = stored + 4 * sizeof *rotation;
    for (int i = 0; i < 4; i++)
        rotation[i] = mmd_bytes_f32_at(stored + 4 * i, HUGE_VALF);
    mmd_track_sanitize_rotation(rotation);
    *physics = memcmp(block + 2, physics_off, sizeof physics_off) != 0;
    read_interpolation(block, *physics, curves);
}

static void read_key(mmd_motion_kind kind, const uint8_t *at, void *track, size_t k)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    uint8_t camera[CAMERA];
    if (kind == MMD_MOTION_CAMERA) {
        memcpy(camera, at, CAMERA);
        exchange_camera(camera);
        at = camera;
    }
    at += layout->count ? NAME : 0;
    ((uint32_t *)mmd_bytes_pointer_at(track, layout->frames))[k] = mmd_bytes_u32_at(at);
    at += sizeof(uint32_t);
    if (kind == MMD_MOTION_BONES) {
        mmd_bone_track *bone = track;
        mmd_bytes_f32s_at(at, bone->translations + 3 * k, 3);
        mmd_vmd_decode(at + 3 * sizeof(float), bone->rotations + 4 * k,
                       bone->interpolation + 16 * k, bone->physics + k);
        return;
    }
    for (size_t i = 0, row; i < layout->column_count; i++, at += row) {
        const mmd_motion_column *column = &layout->columns[i];
        row = mmd_motion_row(column, track);
        uint8_t *to = (uint8_t *)mmd_bytes_pointer_at(track, column->offset) + k * row;
        float *numbers = (float *)(void *)to;
        if (column->content == MMD_MOTION_DEGREES)
            *numbers = (float)mmd_bytes_u32_at(at);
        else if (column->content == MMD_MOTION_FLOATS)
            mmd_bytes_f32s_at(at, numbers, column->width);
        for (size_t n = 0; column->content == MMD_MOTION_BYTES && n < row; n++)
            to[n] = at[n] > column->max ? column->max : at[n];
    }
}

static const uint8_t *stored_of(const section *s, uint64_t key)
{
    return record_at(s, key) + s->size - MMD_STORED_SIZE;
}

static bool is_as_encoded(const mmd_bone_track *track, size_t key, const uint8_t *stored)
{
    uint8_t encoded[MMD_STORED_SIZE];
    mmd_vmd_encode(track, key, encoded);
    return memcmp(encoded, stored, sizeof encoded) == 0;
}

/* Keeps the bytes of the keys unless all are as mmdskin stores them. */
static void keep_stored(mmd_reader *r, const section *s, const uint64_t *keys,
                        mmd_bone_track *track)
{
    size_t k = 0;
    while (k < track->key_count && is_as_encoded(track, k, stored_of(s, keys[k])))
        k++;
    if (k == track->key_count)
        return;
    track->stored = mmd_reader_alloc_uninitialized(r, track->key_count, MMD_STORED_SIZE);
    for (k = 0; track->stored && k < track->key_count; k++)
        memcpy(track->stored + MMD_STORED_SIZE * k, stored_of(s, keys[k]), MMD_STORED_SIZE);
}

/* Files may end before the morphs. */
static bool read_tracks(mmd_reader *r, mmd_motion_kind kind, mmd_motion *motion)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    section s = {.size = record_size(kind)};
    grouping g = {0};
    bool named = layout->count, missing = kind == MMD_MOTION_MORPHS && !mmd_bytes_left(&r->in);
    if ((!missing && !read_section(r, layout->name, s.size, !named, &s)) ||
        !group_records(r, &s, named, &g))
        return false;
    char *tracks =
        named ? mmd_reader_alloc(r, g.count, layout->size) : mmd_motion_track(layout, motion, 0);
    for (size_t t = 0; tracks && t < g.count; t++) {
        uint64_t *keys = g.keys + g.first[t];
        size_t count = mmd_track_sort_keys(r, keys, g.first[t + 1] - g.first[t]);
        void *track = tracks + t * layout->size;
        mmd_track_alloc(r, layout, track, count);
        if (named)
            *(mmd_text *)track = mmd_reader_string(r, &g.names, t);
        if (!mmd_reader_ok(r))
            return false;
        for (size_t k = 0; k < count; k++)
            read_key(kind, record_at(&s, keys[k]), track, k);
        if (kind == MMD_MOTION_BONES)
            keep_stored(r, &s, keys, track);
    }
    if (named)
        mmd_motion_set_tracks(layout, motion, tracks, g.count);
    return mmd_reader_ok(r);
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
        if (!mmd_reader_check_count(r, "IK states", states, IK_STATE, MMD_MAX_RECORDS,
                                    &p->state_count))
            return false;
        p->states = mmd_bytes_take(&r->in, p->state_count * IK_STATE);
    }
    return true;
}

static bool properties_fit(const mmd_reader *r, size_t extra, property *properties, size_t count)
{
    mmd_reader attempt = *r;
    attempt.err = NULL;
    return read_properties(&attempt, extra, properties, count) && mmd_bytes_left(&attempt.in) == 0;
}

static void fill_properties(mmd_reader *r, mmd_motion *motion, const property *properties,
                            const uint64_t *keys, mmd_string_table *names)
{
    mmd_property_track *track = &motion->properties;
    for (size_t i = 0; i < names->count; i++)
        track->ik_names[i] = mmd_reader_string(r, names, i);
    memset(track->ik_enabled, 1, track->key_count * track->ik_count);
    for (size_t k = 0; k < track->key_count; k++) {
        const property *p = &properties[mmd_track_key_index(keys[k])];
        track->frames[k] = p->frame;
        track->visible[k] = p->visible;
        for (size_t i = 0; i < p->state_count; i++) {
            const uint8_t *state = p->states + i * IK_STATE;
            uint32_t ik = mmd_reader_intern(r, names, state, field_size(state, NAME));
            track->ik_enabled[k * track->ik_count + ik] = state[IK_NAME] != 0;
        }
    }
}

static bool read_property_section(mmd_reader *r, mmd_motion *motion)
{
    mmd_string_table names = {0};
    size_t count;
    if (!read_count(r, "properties", PROPERTY, true, &count))
        return false;
    size_t start = r->in.offset;
    property *properties = mmd_reader_scratch(r, count, sizeof *properties);
    uint64_t *keys = mmd_reader_scratch(r, count, sizeof *keys);
    if (!properties || !keys)
        return mmd_reader_ok(r);
    /* Some writers add a byte after the visibility, which only the size of the file reveals. */
    size_t extra =
        !properties_fit(r, 0, properties, count) && properties_fit(r, 1, properties, count);
    if (!read_properties(r, extra, properties, count))
        return false;
    r->record = MMD_NO_RECORD;
    for (size_t i = 0; i < count; i++) {
        keys[i] = (uint64_t)properties[i].frame << 32 | i;
        for (size_t k = 0; k < properties[i].state_count; k++) {
            const uint8_t *state = properties[i].states + k * IK_STATE;
            mmd_reader_intern(r, &names, state, field_size(state, NAME));
        }
        if (!mmd_reader_ok(r))
            return false;
    }
    count = mmd_track_sort_keys(r, keys, count);
    size_t limit = MAX_STATES_PER_BYTE * (r->in.offset - start);
    if (names.count && count > limit / names.count)
        return mmd_reader_fail(r, "%zu keys of %zu IK names, limit %zu states", count, names.count,
                               limit);
    mmd_track_alloc_property(r, &motion->properties, count, names.count);
    if (!mmd_reader_ok(r))
        return false;
    fill_properties(r, motion, properties, keys, &names);
    return mmd_reader_ok(r);
}

static bool read_header(mmd_reader *r, mmd_motion *motion)
{
    const uint8_t *header = mmd_bytes_take(&r->in, HEAD);
    if (!header)
        return mmd_reader_ok(r);
    bool first = memcmp(header, first_version, sizeof first_version - 1) == 0;
    size_t size = first ? 10 : MODEL_NAME;
    const uint8_t *name = mmd_bytes_take(&r->in, size);
    if (!name)
        return mmd_reader_ok(r);
    motion->name = mmd_reader_text(r, name, field_size(name, size));
    return mmd_reader_ok(r);
}

bool mmd_vmd_read(mmd_reader *r, mmd_motion *motion)
{
    bool read = read_header(r, motion);
    for (size_t kind = 0; read && kind < MMD_MOTION_PROPERTIES; kind++) {
        read = read_tracks(r, (mmd_motion_kind)kind, motion);
        mmd_arena_free(&r->scratch);
    }
    return read && read_property_section(r, motion);
}

/* Writing */

typedef struct writer {
    uint8_t *at;
    mmd_arena arena;          /* freed after writing */
    const uint16_t *encoding; /* cp932 */
    bool cut_names;
    mmd_error *err;
} writer;

static void write_bytes(writer *w, const void *bytes, size_t size)
{
    memcpy(w->at, bytes, size);
    w->at += size;
}

/* The fields of names that are `stride` bytes apart. NULL if two of them are equal, possibly
   because they were cut, or on any other failure. */
static const uint8_t *encode_names(writer *w, const char *kind, const mmd_text *first,
                                   size_t stride, size_t count)
{
    mmd_string_table table = {0};
    uint8_t *fields = mmd_arena_alloc(&w->arena, count, NAME);
    bool ok = fields || mmd_fail_memory(w->err);
    for (size_t i = 0; ok && i < count; i++) {
        mmd_motion_names_fault fault;
        uint32_t index;
        uint8_t *field = fields + i * NAME;
        const mmd_text *name = (const mmd_text *)(const void *)((const char *)first + i * stride);
        int shown = mmd_text_fit(*name, 120);
        if (!mmd_motion_names_encode(w->encoding, *name, NAME, field, &fault) && !w->cut_names)
            ok = mmd_refuse(w->err, "%s[%zu]: \"%.*s\" %s", kind, i, shown, name->data, fault.text);
        else if (!mmd_string_table_add(&w->arena, &table, field, NAME, &index))
            ok = mmd_fail_memory(w->err);
        else if (index != i)
            ok = mmd_refuse(w->err,
                            "%s[%zu]: \"%.*s\" and the name of %s[%u] have the same first %d bytes",
                            kind, i, shown, name->data, kind, (unsigned)index, NAME);
    }
    return ok ? fields : NULL;
}

/* Readers accept no more than this. */
static bool write_count(writer *w, const char *what, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_refuse(w->err, "%s: %zu keys, limit %d", what, count, MMD_MAX_RECORDS);
    w->at = mmd_bytes_put(w->at, (uint32_t)count, 4);
    return true;
}

static void write_header(writer *w, const mmd_motion *motion)
{
    uint8_t header[HEAD] = "Vocaloid Motion Data 0002";
    mmd_motion_names_fault ignored;
    write_bytes(w, header, sizeof header);
    /* By the name MMD only asks whether a motion of another model shall be loaded. */
    mmd_motion_names_encode(w->encoding, motion->name, MODEL_NAME, w->at, &ignored);
    w->at += MODEL_NAME;
}

/* The interpolation is four rows of the same sixteen numbers, each shifted by one more, padded with
   zeros: channel c begins row c. Two numbers of row 0 are replaced by the physics flag. */
void mmd_vmd_encode(const mmd_bone_track *track, size_t key, uint8_t stored[MMD_STORED_SIZE])
{
    uint8_t *block = mmd_bytes_put_f32s(stored, track->rotations + 4 * key, 4);
    const uint8_t *curves = track->interpolation + 16 * key;
    for (int row = 0; row < 4; row++)
        for (int i = row; i < 16 + row; i++)
            block[15 * row + i] = i < 16 ? curves[4 * (i % 4) + i / 4] : 0;
    for (int i = 0; i < 2; i++)
        block[2 + i] = track->physics[key] ? 0 : physics_off[i];
}

static size_t count_keys(mmd_motion_kind kind, const mmd_motion *motion)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    size_t count = 0;
    for (size_t t = 0; t < mmd_motion_track_count(layout, motion); t++)
        count += mmd_motion_key_count(layout, mmd_motion_track(layout, motion, t));
    return count;
}

/* Whole degrees. UINT32_MAX is no float: a reader makes it 2^32. */
static bool write_degrees(writer *w, double degrees, size_t key)
{
    static const double limit = 4294967296.0;
    if (!(degrees >= 0 && degrees <= limit && degrees == floor(degrees)))
        return mmd_refuse(w->err, "camera: key %zu: view angle %g, but a VMD stores whole degrees",
                          key, degrees);
    w->at = mmd_bytes_put(w->at, degrees == limit ? UINT32_MAX : (uint32_t)degrees, 4);
    return true;
}

static bool write_key(writer *w, mmd_motion_kind kind, const void *track, size_t k)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    uint8_t *record = w->at;
    w->at =
        mmd_bytes_put(w->at, ((const uint32_t *)mmd_bytes_pointer_at(track, layout->frames))[k], 4);
    if (kind == MMD_MOTION_BONES) {
        const mmd_bone_track *bone = track;
        w->at = mmd_bytes_put_f32s(w->at, bone->translations + 3 * k, 3);
        if (bone->stored)
            memcpy(w->at, bone->stored + MMD_STORED_SIZE * k, MMD_STORED_SIZE);
        else
            mmd_vmd_encode(bone, k, w->at);
        w->at += MMD_STORED_SIZE;
        return true;
    }
    for (size_t i = 0; i < layout->column_count; i++) {
        const mmd_motion_column *column = &layout->columns[i];
        const uint8_t *from = mmd_bytes_pointer_at(track, column->offset);
        from += k * mmd_motion_row(column, track);
        const float *numbers = (const float *)(const void *)from;
        if (column->content == MMD_MOTION_BYTES)
            write_bytes(w, from, column->width);
        else if (column->content == MMD_MOTION_FLOATS)
            w->at = mmd_bytes_put_f32s(w->at, numbers, column->width);
        else if (!write_degrees(w, (double)*numbers, k))
            return false;
    }
    if (kind == MMD_MOTION_CAMERA)
        exchange_camera(record);
    return true;
}

static bool write_tracks(writer *w, mmd_motion_kind kind, const mmd_motion *motion)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    size_t count = mmd_motion_track_count(layout, motion), named = layout->count ? count : 0;
    const mmd_text *first = named ? mmd_motion_track(layout, motion, 0) : NULL;
    const uint8_t *names = encode_names(w, layout->name, first, layout->size, named);
    bool ok = names && write_count(w, layout->name, count_keys(kind, motion));
    for (size_t t = 0; ok && t < count; t++) {
        const void *track = mmd_motion_track(layout, motion, t);
        for (size_t k = 0; ok && k < mmd_motion_key_count(layout, track); k++) {
            write_bytes(w, names + t * NAME, named ? NAME : 0);
            ok = write_key(w, kind, track, k);
        }
    }
    return ok;
}

static bool write_properties(writer *w, const mmd_motion *motion)
{
    const mmd_property_track *track = &motion->properties;
    const uint8_t *names = encode_names(w, "properties.ik_names", track->ik_names,
                                        sizeof *track->ik_names, track->ik_count);
    if (!names || !write_count(w, "properties", track->key_count))
        return false;
    if (track->ik_count && track->key_count > MMD_MAX_RECORDS / track->ik_count)
        return mmd_refuse(w->err, "properties: %zu keys of %zu IK names, limit %d states",
                          track->key_count, track->ik_count, MMD_MAX_RECORDS);
    for (size_t k = 0; k < track->key_count; k++) {
        w->at = mmd_bytes_put(w->at, track->frames[k], 4);
        *w->at++ = track->visible[k];
        w->at = mmd_bytes_put(w->at, (uint32_t)track->ik_count, 4);
        for (size_t i = 0; i < track->ik_count; i++) {
            static const uint8_t unused[IK_NAME - NAME];
            write_bytes(w, names + i * NAME, NAME);
            write_bytes(w, unused, sizeof unused);
            *w->at++ = track->ik_enabled[k * track->ik_count + i];
        }
    }
    return true;
}

size_t mmd_vmd_size(const mmd_motion *motion)
{
    if (!motion)
        return 0;
    size_t size = HEAD + MODEL_NAME + MMD_MOTION_KINDS * sizeof(uint32_t);
    for (size_t kind = 0; kind < MMD_MOTION_PROPERTIES; kind++)
        size += count_keys((mmd_motion_kind)kind, motion) * record_size((mmd_motion_kind)kind);
    return size +
           motion->properties.key_count * (PROPERTY + motion->properties.ik_count * IK_STATE);
}

bool mmd_vmd_write(const mmd_motion *motion, bool cut_names, uint8_t *bytes, mmd_error *err)
{
    if (!mmd_error_require(motion, "motion", err) || !mmd_error_require(bytes, "bytes", err))
        return false;
    writer w = {.at = bytes, .cut_names = cut_names, .err = err};
    w.encoding = mmd_text_cp932_table(&w.arena);
    bool written = w.encoding || mmd_fail_memory(err);
    if (written)
        write_header(&w, motion);
    for (size_t kind = 0; written && kind < MMD_MOTION_PROPERTIES; kind++)
        written = write_tracks(&w, (mmd_motion_kind)kind, motion);
    written = written && write_properties(&w, motion);
    mmd_arena_free(&w.arena);
    return written;
}
