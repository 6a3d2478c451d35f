/* SPDX-License-Identifier: MIT */
/* What the examples share: they load files, and end with a message where something fails. */
#ifndef FILES_H
#define FILES_H

#include <mmdskin.h>

#include <stdio.h>
#include <stdlib.h>

/* An error says what is wrong, and in a file also where. */
static inline void fail(const char *what, const mmd_error *err)
{
    if (err->code == MMD_E_FORMAT)
        fprintf(stderr, "%s: byte %zu, %s: %s\n", what, err->offset, err->section, err->text);
    else
        fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static inline float *allocate(size_t count)
{
    float *numbers = (float *)calloc(count + 1, sizeof *numbers);
    if (!numbers) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return numbers;
}

/* The library takes bytes and opens no files itself, so that they may come from anywhere. */
static inline uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t capacity = 0, got = 1;
    for (*size = 0; file && got; *size += got) {
        if (*size == capacity) {
            capacity = 2 * capacity + 65536;
            bytes = (uint8_t *)realloc(bytes, capacity);
            if (!bytes)
                break;
        }
        got = fread(bytes + *size, 1, capacity - *size, file);
    }
    if (!bytes || ferror(file)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

static inline mmd_model *load_model(const char *path)
{
    mmd_error err;
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    mmd_model *model = mmd_model_load(bytes, size, &err);
    if (!model)
        fail(path, &err);
    free(bytes);
    return model;
}

static inline mmd_motion *load_motion(const char *path)
{
    mmd_error err;
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    mmd_motion *motion = mmd_motion_load(bytes, size, &err);
    if (!motion)
        fail(path, &err);
    free(bytes);
    return motion;
}

#endif
