/* SPDX-License-Identifier: MIT */
/* An input read as a script: bytes become choices and numbers, zeros follow the last one. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stddef.h>
#include <stdint.h>

typedef struct script {
    const uint8_t *data;
    size_t size, at;
} script;

static inline uint8_t take(script *s)
{
    return s->at < s->size ? s->data[s->at++] : 0;
}

/* One byte in sixteen is a number that is hard on arithmetic. */
static inline float take_number(script *s)
{
    static const float hard[] = {0,           1,      -1,      0.5f,     1e-7f,      1e-30f,
                                 1e10f,       -1e10f, 3.4e38f, -3.4e38f, 3.1415927f, 1.5707964f,
                                 -1.5707964f, 100,    -0.01f,  1e-45f};
    uint8_t byte = take(s);
    return byte < 16 ? hard[byte] : (float)(byte - 136) / 16;
}

/* Few, as most promises need few and a scene of many takes long; now and then up to `most`. */
static inline size_t take_count(script *s, size_t few, size_t most)
{
    uint8_t byte = take(s);
    return byte < 220 ? byte % (few + 1) : byte % (most + 1);
}

#endif
