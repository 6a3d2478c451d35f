/* SPDX-License-Identifier: MIT */
/* Decodes UTF-16, UTF-8 and cp932 to UTF-8, and encodes cp932. */
#include "core/base/text.h"

#include "core/base/bytes.h"
#include "core/base/cp932.h"

#include <string.h>

enum { REPLACEMENT = 0xFFFD, ESCAPED = 0xDC00 /* plus a byte that is no character */ };

static char *encode_utf8(char *out, uint32_t c)
{
    static const uint8_t leads[] = {0, 0xC0, 0xE0, 0xF0};
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)(leads[more] | c >> 6 * more);
    while (more--)
        *out++ = (char)(0x80 | (c >> 6 * more & 0x3F));
    return out;
}

static uint32_t next_utf16(const uint8_t *bytes, size_t size, size_t *at)
{
    uint32_t c = mmd_bytes_u16_at(bytes + *at);
    *at += 2;
    if (c < 0xD800 || c > 0xDFFF)
        return c;
    if (c > 0xDBFF || *at + 2 > size)
        return REPLACEMENT;
    uint32_t low = mmd_bytes_u16_at(bytes + *at);
    if (low < 0xDC00 || low > 0xDFFF)
        return REPLACEMENT;
    *at += 2;
    return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
}

uint32_t mmd_text_next_utf8(const uint8_t *bytes, size_t size, size_t *at)
{
    uint8_t first = bytes[(*at)++];
    if (first < 0x80)
        return first;
    if (first < 0xC2 || first > 0xF4)
        return REPLACEMENT;
    int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    uint32_t c = first & (0x3Fu >> more);
    uint8_t lower = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t upper = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (; more > 0; more--, lower = 0x80, upper = 0xBF) {
        if (*at >= size || bytes[*at] < lower || bytes[*at] > upper)
            return REPLACEMENT;
        c = c << 6 | (bytes[(*at)++] & 0x3F);
    }
    return c;
}

static bool is_lead(uint8_t byte)
{
    return (byte >= 0x81 && byte <= 0x9F) || (byte >= 0xE0 && byte <= 0xFC);
}

/* ASCII, half-width katakana, and private use characters for unassigned bytes. */
static uint32_t cp932_single(uint8_t byte)
{
    if (byte <= 0x80)
        return byte;
    if (byte == 0xA0 || byte >= 0xFD)
        return byte == 0xA0 ? 0xF8F0 : 0xF8F1 + byte - 0xFDu;
    return 0xFF61 + byte - 0xA1u;
}

static uint32_t cp932_pair(uint8_t lead, uint8_t trail)
{
    if (trail < 0x40 || trail == 0x7F || trail > 0xFC)
        return REPLACEMENT;
    uint32_t column = trail - 0x40u - (trail > 0x7F);
    if (lead >= 0xF0 && lead <= 0xF9)
        return 0xE000 + (lead - 0xF0u) * 188 + column;
    size_t row = lead - 0x81u - (lead >= 0xE0 ? 0x40 : 0) - (lead >= 0xFA ? 10 : 0);
    return mmd_cp932[row][column];
}

/* Of an unassigned pair only the first byte is replaced, as Python does. */
static uint32_t next_cp932(const uint8_t *bytes, size_t size, size_t *at)
{
    uint8_t first = bytes[(*at)++];
    if (!is_lead(first))
        return cp932_single(first);
    uint32_t c = *at < size ? cp932_pair(first, bytes[*at]) : REPLACEMENT;
    *at += c != REPLACEMENT;
    return c;
}

/* The length in UTF-8; also writes it if `out` is not NULL. */
static size_t decode(mmd_text_encoding encoding, const uint8_t *bytes, size_t size, char *out)
{
    size_t length = 0;
    for (size_t at = 0; at < size;) {
        uint8_t first = bytes[at];
        uint32_t c = encoding == MMD_UTF16LE ? next_utf16(bytes, size, &at)
                     : encoding == MMD_UTF8  ? mmd_text_next_utf8(bytes, size, &at)
                                             : next_cp932(bytes, size, &at);
        if (c == 0)
            break;
        if (c == REPLACEMENT && encoding == MMD_CP932_NAMES)
            c = ESCAPED + first;
        char discarded[4], *to = out ? out + length : discarded;
        length += (size_t)(encode_utf8(to, c) - to);
    }
    return length;
}

mmd_text mmd_text_decode(mmd_arena *arena, mmd_text_encoding encoding, const uint8_t *bytes,
                         size_t size)
{
    if (encoding == MMD_UTF16LE)
        size -= size % 2;
    size_t length = decode(encoding, bytes, size, NULL);
    if (length == 0)
        return (mmd_text){"", 0};
    char *data = mmd_arena_alloc(arena, length + 1, 1);
    if (!data)
        return (mmd_text){0};
    decode(encoding, bytes, size, data);
    return (mmd_text){data, length};
}

bool mmd_text_is_valid(mmd_text text)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    if (!bytes && text.size)
        return false;
    for (size_t at = 0; at < text.size;) {
        size_t from = at;
        uint32_t c = mmd_text_next_utf8(bytes, text.size, &at);
        bool is_replacement = at - from == 3 && bytes[from] == 0xEF; /* no replaced prefix is */
        if (c == 0 || (c == REPLACEMENT && !is_replacement))
            return false;
    }
    return true;
}

bool mmd_text_equal(mmd_text a, mmd_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int mmd_text_fit(mmd_text text, int limit)
{
    if (text.size <= (size_t)limit)
        return (int)text.size;
    while (limit > 0 && ((uint8_t)text.data[limit] & 0xC0) == 0x80) /* inside a character */
        limit--;
    return limit;
}

static void add_code(uint16_t *table, uint32_t c, unsigned code)
{
    if (c != REPLACEMENT && table[c] == 0)
        table[c] = (uint16_t)code;
}

/* The first code of a character is kept. As in Windows, IBM's extensions (FA to FC) come after all
   others and NEC's selection of them (ED and EE) comes last. */
static void add_pairs(uint16_t *table, unsigned first, unsigned last)
{
    for (unsigned lead = first; lead <= last; lead++)
        for (unsigned trail = 0x40; trail <= 0xFC; trail++)
            add_code(table, cp932_pair((uint8_t)lead, (uint8_t)trail), lead << 8 | trail);
}

const uint16_t *mmd_text_cp932_table(mmd_arena *arena)
{
    uint16_t *table = mmd_arena_alloc(arena, 0x10000, sizeof *table);
    if (!table)
        return NULL;
    for (unsigned byte = 0; byte <= 0xFF; byte++)
        if (!is_lead((uint8_t)byte))
            add_code(table, cp932_single((uint8_t)byte), byte);
    add_pairs(table, 0x81, 0x9F);
    add_pairs(table, 0xE0, 0xEC);
    add_pairs(table, 0xEF, 0xFC);
    add_pairs(table, 0xED, 0xEE);
    return table;
}

/* The byte that U+DC80 to U+DCFF stand for; 0 if another character comes next. */
static uint8_t next_escaped(const uint8_t *bytes, size_t size, size_t *at)
{
    if (size - *at < 3 || bytes[*at] != 0xED || (bytes[*at + 1] != 0xB2 && bytes[*at + 1] != 0xB3))
        return 0;
    *at += 3;
    return (uint8_t)(bytes[*at - 2] << 6 | (bytes[*at - 1] & 0x3F));
}

/* Whether an escaped byte would be read as a character, alone or with the code after it. */
static bool forms_character(uint8_t escaped, unsigned after)
{
    unsigned next = after > 0xFF ? after >> 8 : after;
    return !is_lead(escaped) || cp932_pair(escaped, (uint8_t)next) != REPLACEMENT;
}

size_t mmd_text_encode_cp932(const uint16_t *table, mmd_text text, uint8_t *out, size_t capacity,
                             uint32_t *missing)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    size_t size = 0;
    uint8_t last_escaped = 0;
    *missing = 0;
    for (size_t at = 0; at < text.size || last_escaped;) {
        bool at_end = at == text.size;
        uint8_t escaped = next_escaped(bytes, text.size, &at);
        unsigned code = escaped;
        uint32_t c = 0;
        if (!escaped && !at_end) {
            c = mmd_text_next_utf8(bytes, text.size, &at);
            code = c < 0x10000 ? table[c] : 0;
        }
        if (last_escaped && forms_character(last_escaped, code)) {
            *missing = *missing ? *missing : (uint32_t)(ESCAPED + last_escaped);
            if (size <= capacity)
                out[size - 1] = '?';
        }
        last_escaped = escaped;
        if (!code && !at_end)
            *missing = *missing ? *missing : c, code = '?';
        if (code > 0xFF && size++ < capacity)
            out[size - 1] = (uint8_t)(code >> 8);
        if (code && size++ < capacity)
            out[size - 1] = (uint8_t)code;
    }
    return size;
}
