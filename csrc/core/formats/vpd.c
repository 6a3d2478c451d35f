/* SPDX-License-Identifier: MIT */
/* Reads VPD, a pose as text: docs/mmd-behavior.md#vpd. Of the syntax only braces can also be the
   second byte of a cp932 character, so only names and unknown blocks need care. */
#include "core/formats/formats.h"

#include "core/formats/track.h"

#include <math.h>
#include <string.h>

static const char extension[] = ".osm";

enum { BONE_NUMBERS = 7 }; /* translation, rotation */

/* The blocks of bones or of morphs, which are a name and numbers. */
typedef struct block_list {
    const char *keyword, *section;
    size_t width;
    long read;
    mmd_string_table names;
    float *numbers; /* (n,width) by index in `names` */
} block_list;

typedef struct vpd {
    mmd_reader *r;
    mmd_motion *motion;
    block_list bones, morphs;
    bool named;
} vpd;

/* 0 at the end of the file. A 0 in the file ends everything but a comment, too. */
static uint8_t peek(const mmd_reader *r, size_t ahead)
{
    return ahead < mmd_bytes_left(&r->in) ? r->in.data[r->in.offset + ahead] : 0;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static bool is_comment(const mmd_reader *r, size_t ahead)
{
    return peek(r, ahead) == '/' && peek(r, ahead + 1) == '/';
}

static bool ends_line(uint8_t c)
{
    return c == '\r' || c == '\n';
}

/* Bytes up to the end of the line or a comment. */
static size_t line_length(const mmd_reader *r)
{
    size_t length = 0, left = mmd_bytes_left(&r->in);
    while (length < left && !ends_line(peek(r, length)) && !is_comment(r, length))
        length++;
    return length;
}

static void skip_line(mmd_reader *r)
{
    while (mmd_bytes_left(&r->in) && !ends_line(peek(r, 0)))
        r->in.offset++;
}

static void skip_blanks(mmd_reader *r)
{
    for (;;) {
        uint8_t c = peek(r, 0);
        if (is_blank(c) || ends_line(c))
            r->in.offset++;
        else if (is_comment(r, 0))
            skip_line(r);
        else
            return;
    }
}

static double scale_by_power_of_10(uint64_t digits, int64_t exponent)
{
    double value = (double)digits, power = 1;
    bool negative = exponent < 0;
    if (digits == 0 || exponent < -400)
        return 0;
    if (exponent > 400)
        return HUGE_VAL;
    /* Powers up to 1e22 are exact. */
    int64_t left = negative ? -exponent : exponent;
    for (; left > 22; left -= 22)
        value = negative ? value / 1e22 : value * 1e22;
    for (; left > 0; left--)
        power *= 10;
    value = negative ? value / power : value * power;
    return value;
}

static int64_t read_exponent(mmd_reader *r)
{
    size_t at = 1;
    bool negative = peek(r, at) == '-';
    at += negative || peek(r, at) == '+';
    if ((peek(r, 0) | 0x20) != 'e' || !is_digit(peek(r, at)))
        return 0;
    int64_t exponent = 0;
    for (; is_digit(peek(r, at)); at++)
        exponent = exponent < 1000000 ? 10 * exponent + peek(r, at) - '0' : exponent;
    r->in.offset += at;
    return negative ? -exponent : exponent;
}

/* NaN and infinity as C libraries write them: "nan", "-inf", "-nan(ind)", "-1.#IND00". */
static bool skip_not_finite(mmd_reader *r)
{
    uint8_t c = peek(r, 0);
    if (c != '#' && (c | 0x20) != 'n' && (c | 0x20) != 'i')
        return false;
    for (; is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c && strchr("#()", c));
         c = peek(r, 0))
        r->in.offset++;
    return true;
}

/* HUGE_VALF for NaN and infinity. Not strtof, which depends on the locale. */
static bool read_number(mmd_reader *r, float *value)
{
    skip_blanks(r);
    size_t start = r->in.offset;
    bool negative = peek(r, 0) == '-', point = false;
    r->in.offset += negative || peek(r, 0) == '+';
    uint64_t digits = 0;
    int64_t exponent = 0;
    size_t count = 0;
    for (uint8_t c = peek(r, 0); is_digit(c) || (c == '.' && !point); c = peek(r, 0)) {
        r->in.offset++;
        if (c == '.') {
            point = true;
            continue;
        }
        count++;
        bool fits = digits < UINT64_MAX / 10 - 1;
        digits = fits ? 10 * digits + c - '0' : digits;
        exponent += point ? -fits : !fits;
    }
    double number = HUGE_VAL;
    if (!skip_not_finite(r)) {
        if (count == 0) {
            r->in.offset = start;
            return mmd_reader_fail(r, "expected a number");
        }
        number = scale_by_power_of_10(digits, exponent + read_exponent(r));
    }
    /* Larger numbers round to infinity. */
    *value = number >= 0x1.FFFFFFp127 ? HUGE_VALF : (float)(negative ? -number : number);
    skip_blanks(r);
    r->in.offset += peek(r, 0) == ',' || peek(r, 0) == ';';
    return true;
}

/* Skips "Bone12{" and the like. */
static bool open_block(mmd_reader *r, const char *kind)
{
    size_t at = strlen(kind);
    if (mmd_bytes_left(&r->in) < at || memcmp(r->in.data + r->in.offset, kind, at) != 0)
        return false;
    while (is_digit(peek(r, at)))
        at++;
    while (is_blank(peek(r, at)))
        at++;
    if (peek(r, at) != '{')
        return false;
    r->in.offset += at + 1;
    return true;
}

static bool close_block(mmd_reader *r)
{
    skip_blanks(r);
    if (peek(r, 0) != '}')
        return mmd_reader_fail(r, "expected } at the end of the block");
    r->in.offset++;
    return true;
}

/* The rest of the line without a comment and the blanks before it. */
static mmd_string read_name(mmd_reader *r)
{
    size_t size = line_length(r);
    mmd_string name = {.bytes = r->in.data + r->in.offset, .size = size};
    if (is_comment(r, size))
        while (name.size && is_blank(name.bytes[name.size - 1]))
            name.size--;
    const uint8_t *end = memchr(name.bytes, 0, name.size);
    if (end)
        name.size = (size_t)(end - name.bytes);
    r->in.offset += size;
    return name;
}

static bool read_block(mmd_reader *r, block_list *list)
{
    float numbers[BONE_NUMBERS];
    r->section = list->section;
    r->record = list->read++;
    mmd_string name = read_name(r);
    for (size_t i = 0; i < list->width; i++)
        if (!read_number(r, &numbers[i]))
            return false;
    if (!close_block(r))
        return false;
    mmd_numbers_limit(numbers, list->width < BONE_NUMBERS ? list->width : 3); /* no rotations */
    uint32_t index = mmd_reader_intern(r, &list->names, name.bytes, name.size);
    memcpy(list->numbers + list->width * index, numbers, list->width * sizeof *numbers);
    return true;
}

/* The first statement that is no number is the file name of the model. The count of bones is not
   used. */
static void read_statement(vpd *v, const uint8_t *bytes, size_t size)
{
    size_t digits = 0;
    while (digits < size && is_digit(bytes[digits]))
        digits++;
    if (v->named || digits == size)
        return;
    v->named = true;
    size_t length = sizeof extension - 1;
    if (size >= length && memcmp(bytes + size - length, extension, length) == 0)
        size -= length;
    v->motion->name = mmd_reader_text(v->r, bytes, size);
}

/* Skips one cp932 character. */
static void skip_character(mmd_reader *r)
{
    uint8_t c = peek(r, 0);
    bool lead = (c >= 0x81 && c <= 0x9F) || (c >= 0xE0 && c <= 0xFC);
    size_t size = lead && peek(r, 1) >= 0x40 ? 2 : 1;
    size_t left = mmd_bytes_left(&r->in);
    r->in.offset += size < left ? size : left;
}

static void skip_block(mmd_reader *r)
{
    while (mmd_bytes_left(&r->in) && peek(r, 0) != '}')
        skip_character(r);
    skip_character(r);
}

/* Anything but a bone or a morph: a statement, another block, unknown text. */
static void skip_other(vpd *v)
{
    mmd_reader *r = v->r;
    size_t start = r->in.offset;
    while (mmd_bytes_left(&r->in) && !ends_line(peek(r, 0)) && !is_comment(r, 0)) {
        uint8_t c = peek(r, 0);
        if (c == ';')
            read_statement(v, r->in.data + start, r->in.offset - start);
        if (c == '{')
            skip_block(r);
        else
            skip_character(r);
        if (c == ';' || c == '{')
            return;
    }
}

/* The numbers of all blocks of a list, in memory of the motion. */
static float *keep_numbers(mmd_reader *r, const block_list *list)
{
    size_t count = list->names.count * list->width;
    float *numbers = mmd_reader_alloc(r, count, sizeof *numbers);
    if (numbers && count)
        memcpy(numbers, list->numbers, count * sizeof *numbers);
    return numbers;
}

/* All keys are at frame 0, so that tracks share what is the same. */
static bool fill_motion(vpd *v)
{
    mmd_reader *r = v->r;
    mmd_motion *motion = v->motion;
    size_t bones = motion->bone_track_count = v->bones.names.count;
    size_t morphs = motion->morph_track_count = v->morphs.names.count;
    uint32_t *frame = mmd_reader_alloc(r, 1, sizeof *frame);
    uint8_t *curves = mmd_reader_alloc(r, 16, 1), *physics = mmd_reader_alloc(r, 1, 1);
    float *pose = keep_numbers(r, &v->bones), *weights = keep_numbers(r, &v->morphs);
    motion->bone_tracks = mmd_reader_alloc(r, bones, sizeof *motion->bone_tracks);
    motion->morph_tracks = mmd_reader_alloc(r, morphs, sizeof *motion->morph_tracks);
    for (size_t kind = MMD_MOTION_CAMERA; kind < MMD_MOTION_PROPERTIES; kind++)
        mmd_track_alloc(r, &mmd_motion_layouts[kind],
                        mmd_motion_track(&mmd_motion_layouts[kind], motion, 0), 0);
    mmd_track_alloc_property(r, &motion->properties, 0, 0);
    if (!mmd_reader_ok(r))
        return false;
    memcpy(curves, mmd_motion_linear_curves, 16);
    *physics = 1;
    for (size_t i = 0; i < bones; i++, pose += BONE_NUMBERS) {
        mmd_text name = mmd_reader_string(r, &v->bones.names, i);
        mmd_track_sanitize_rotation(pose + 3);
        motion->bone_tracks[i] =
            (mmd_bone_track){name, 1, frame, pose, pose + 3, curves, physics, NULL};
    }
    for (size_t i = 0; i < morphs; i++)
        motion->morph_tracks[i] =
            (mmd_morph_track){mmd_reader_string(r, &v->morphs.names, i), 1, frame, weights + i};
    return mmd_reader_ok(r);
}

static bool read_text(vpd *v)
{
    mmd_reader *r = v->r;
    size_t braces = 0;
    for (size_t i = 0; i < r->in.size; i++)
        braces += r->in.data[i] == '{';
    v->bones.numbers = mmd_reader_scratch(r, braces, BONE_NUMBERS * sizeof *v->bones.numbers);
    v->morphs.numbers = mmd_reader_scratch(r, braces, sizeof *v->morphs.numbers);
    v->motion->name = (mmd_text){"", 0};
    skip_line(r);
    for (bool read = true; read;) {
        if (!mmd_reader_ok(r))
            return false;
        mmd_reader_begin_section(r, "header");
        skip_blanks(r);
        if (mmd_bytes_left(&r->in) == 0)
            return fill_motion(v);
        if (open_block(r, v->bones.keyword))
            read = read_block(r, &v->bones);
        else if (open_block(r, v->morphs.keyword))
            read = read_block(r, &v->morphs);
        else
            skip_other(v);
    }
    return false;
}

bool mmd_vpd_read(mmd_reader *r, mmd_motion *motion)
{
    if (*r->in.data == 0xEF) /* of the mark */
        r->encoding = MMD_UTF8;
    return read_text(&(vpd){.r = r,
                            .motion = motion,
                            .bones = {"Bone", "bones", .width = BONE_NUMBERS},
                            .morphs = {"Morph", "morphs", .width = 1}});
}
