/* SPDX-License-Identifier: MIT */
/* Textures with mipmaps, which a context keeps for later jobs. They are found by their pixels, so
   that an array that has changed is another texture: upload and mipmaps take many times as long as
   the digest of the pixels. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include <stdint.h>
#include <string.h>

enum {
    KEPT_TEXTURE_BYTES = 256 << 20, /* of all textures between jobs */
    MIN_BYTES = 64 << 10 /* what a small one counts, so that there are at most 4096 to search */
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

/* Computes the digest of a texture, unless it has one. */
static void digest(mmd_render_texture *texture)
{
    uint64_t *out = texture->digest;
    if (out[0] | out[1])
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
    out[1] = 1;
    for (int i = 0; i < LANES; i++) {
        lanes[i] = mix(lanes[i], words[i]);
        out[0] = mix(out[0], lanes[i]);
        out[1] = mix(out[1], lanes[LANES - 1 - i]);
    }
}

static size_t bytes_of(const entry *texture)
{
    size_t bytes = texture->width * texture->height * 4 * 4 / 3; /* with mipmaps */
    return bytes > MIN_BYTES ? bytes : MIN_BYTES;
}

static entry *find_entry(const struct mmd_gl_texture_cache *cache, const entry *wanted)
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

/* A texture with these pixels, as linear colors or, for the look of MMD, as numbers. May bind
   another one to the active unit. 0 without memory. */
static GLuint find_texture(const mmd_gl_renderer *r, mmd_render_texture *image, mmd_error *err)
{
    struct mmd_gl_texture_cache *cache = r->context->textures;
    digest(image);
    const entry wanted = {.digest = {image->digest[0], image->digest[1]},
                          .width = image->width,
                          .height = image->height,
                          .look = r->job->look};
    entry *known = find_entry(cache, &wanted);
    if (!known) {
        known = cache->unused;
        if (known)
            cache->unused = known->next;
        else if (!MMD_ARENA_ARRAY(&r->context->arena, known, 1)) {
            mmd_fail_memory(err);
            return 0;
        }
        *known = wanted;
        known->name = make_texture(r->job->look, image);
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

static bool check_texture(const mmd_render_texture *image, mmd_error *err)
{
    GLint max = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_SIZE, &max);
    return (image->width <= (size_t)max && image->height <= (size_t)max) ||
           mmd_refuse(err, "textures: one has %zu x %zu pixels, the device supports %d x %d",
                      image->width, image->height, (int)max, (int)max);
}

static bool find_digests(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker, (void)err;
    mmd_render_texture *textures = arg;
    for (size_t i = first; i < first + count; i++)
        digest(&textures[i]);
    return true;
}

/* Those of the job. */
static bool find_images(mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_render_job *job = r->job;
    size_t bytes = 0;
    bool found = true;
    for (size_t i = 0; found && i < job->texture_count; i++) {
        found = check_texture(&job->textures[i], err);
        bytes += 4 * job->textures[i].width * job->textures[i].height;
    }
    found = found && mmd_gl_caller_share(r->caller, job->texture_count, bytes, find_digests,
                                         job->textures, err);
    for (size_t i = 0; found && i < job->texture_count; i++) {
        if (mmd_gl_is_interrupted(r->context, err))
            return false;
        r->textures[i] = find_texture(r, &job->textures[i], err);
        found = r->textures[i] != 0;
    }
    return found;
}

bool mmd_gl_render_textures_init(mmd_gl_renderer *r, mmd_error *err)
{
    static const uint8_t white[] = {255, 255, 255, 255};
    if (!MMD_GL_CONTEXT_KEEP(r->context, textures, err))
        return false;
    r->context->textures->job++; /* textures that are found from now on are kept */
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    mmd_render_texture image = {1, 1, white, {0}};
    r->white_texture = find_texture(r, &image, err);
    return r->white_texture && find_images(r, err) && mmd_gl_check("textures", err);
}

void mmd_gl_render_textures_release(mmd_gl_renderer *r, bool ok)
{
    struct mmd_gl_texture_cache *cache = r->context->textures;
    while (cache && cache->entries && (!ok || cache->bytes > KEPT_TEXTURE_BYTES))
        free_entry(cache, least_recently_used(cache));
}
