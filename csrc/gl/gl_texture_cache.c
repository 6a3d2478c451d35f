/* SPDX-License-Identifier: MIT */
/* Keeps textures from job to job: their upload and mipmaps take many times as long as the digest of
   their pixels, by which they are found. */
#include "gl/gl_texture_cache.h"

#include "core/base/error.h"

#include <stdint.h>
#include <string.h>

enum {
    KEPT_BYTES = 256 << 20, /* of all textures between jobs */
    MIN_BYTES = 64 << 10    /* what a small one counts, so that there are at most 4096 to search */
};

typedef struct entry {
    struct entry *next;
    uint64_t digest[2];
    size_t width, height;
    mmd_look look;
    GLuint name;
    uint64_t job; /* the last one that used it */
} entry;

struct mmd_gl_texture_cache {
    entry *entries, *unused; /* records in the arena */
    size_t bytes;
    uint64_t job;
};

/* Each step is a permutation of the lane and of the word, so a difference in one word is never
   lost. The first shift lets the last texel's alpha reach the other bits: multiplication carries
   only upward, and the alphas of the next word would undo what stayed in their place. Pixels that
   are not made for it have the same digest with a probability of about 2^-64. */
static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane ^= word;
    lane = (lane ^ lane >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return lane ^ lane >> 29;
}

void mmd_gl_texture_cache_digest(mmd_render_texture *texture)
{
    uint64_t *digest = texture->digest;
    if (digest[0] | digest[1])
        return;
    const uint8_t *bytes = texture->pixels;
    size_t size = 4 * texture->width * texture->height;
    enum { LANES = 8, STEP = LANES * sizeof(uint64_t) };
    uint64_t lanes[LANES] = {1, 2, 3, 4, 5, 6, 7, 8}, words[LANES];
    for (; size >= STEP; size -= STEP, bytes += STEP) {
        memcpy(words, bytes, STEP);
        for (int i = 0; i < LANES; i++)
            lanes[i] = mix(lanes[i], words[i]);
    }
    memset(words, 0, sizeof words);
    if (size)
        memcpy(words, bytes, size);
    digest[1] = 1;
    for (int i = 0; i < LANES; i++) {
        lanes[i] = mix(lanes[i], words[i]);
        digest[0] = mix(digest[0], lanes[i]);
        digest[1] = mix(digest[1], lanes[LANES - 1 - i]);
    }
}

static size_t bytes_of(const entry *texture)
{
    size_t bytes = texture->width * texture->height * 4 * 4 / 3; /* with mipmaps */
    return bytes > MIN_BYTES ? bytes : MIN_BYTES;
}

bool mmd_gl_texture_cache_begin(mmd_gl_context *context, mmd_error *err)
{
    if (!context->textures)
        context->textures = mmd_arena_alloc(&context->arena, 1, sizeof *context->textures);
    if (!context->textures)
        return mmd_fail_memory(err);
    context->textures->job++;
    return true;
}

static entry *find(const struct mmd_gl_texture_cache *cache, const entry *wanted)
{
    for (entry *at = cache->entries; at; at = at->next)
        if (at->digest[0] == wanted->digest[0] && at->digest[1] == wanted->digest[1] &&
            at->width == wanted->width && at->height == wanted->height && at->look == wanted->look)
            return at;
    return NULL;
}

static GLuint make_texture(mmd_look look, const mmd_render_texture *from)
{
    GLuint name;
    mmd_gl1.GenTextures(1, &name);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, name);
    mmd_gl1.TexImage2D(GL_TEXTURE_2D, 0, look == MMD_LOOK_MMD ? GL_RGBA8 : GL_SRGB8_ALPHA8,
                       (GLsizei)from->width, (GLsizei)from->height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                       from->pixels);
    mmd_gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    glGenerateMipmap(GL_TEXTURE_2D);
    return name;
}

GLuint mmd_gl_texture_cache_get(mmd_gl_context *context, mmd_look look, mmd_render_texture *texture,
                                mmd_error *err)
{
    struct mmd_gl_texture_cache *cache = context->textures;
    mmd_gl_texture_cache_digest(texture);
    const entry wanted = {.digest = {texture->digest[0], texture->digest[1]},
                          .width = texture->width,
                          .height = texture->height,
                          .look = look};
    entry *known = find(cache, &wanted);
    if (!known) {
        known = cache->unused;
        if (known)
            cache->unused = known->next;
        else
            known = mmd_arena_alloc(&context->arena, 1, sizeof *known);
        if (!known) {
            mmd_fail_memory(err);
            return 0;
        }
        *known = wanted;
        known->name = make_texture(look, texture);
        known->next = cache->entries;
        cache->entries = known;
        cache->bytes += bytes_of(known);
    }
    known->job = cache->job;
    return known->name;
}

static void free_entry(struct mmd_gl_texture_cache *cache, entry **link)
{
    entry *freed = *link;
    *link = freed->next;
    mmd_gl1.DeleteTextures(1, &freed->name);
    cache->bytes -= bytes_of(freed);
    freed->next = cache->unused;
    cache->unused = freed;
}

static entry **least_recently_used(struct mmd_gl_texture_cache *cache)
{
    entry **oldest = &cache->entries;
    for (entry **link = oldest; *link; link = &(*link)->next)
        if ((*link)->job < (*oldest)->job)
            oldest = link;
    return oldest;
}

void mmd_gl_texture_cache_release(mmd_gl_context *context, bool ok)
{
    struct mmd_gl_texture_cache *cache = context->textures;
    while (cache && cache->entries && (!ok || cache->bytes > KEPT_BYTES))
        free_entry(cache, least_recently_used(cache));
}
