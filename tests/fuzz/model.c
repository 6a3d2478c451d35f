/* SPDX-License-Identifier: MIT */
/* The input is a PMX or PMD file. */
#include "mmdskin.h"
#include "target.h"

#include <string.h>

enum { MOST_ALLOCATIONS = 150 }; /* what a seed takes */

static void load_with_short_memory(const uint8_t *data, size_t size, chance *c)
{
    mmd_error err = {0};
    memory_runs_short(c, MOST_ALLOCATIONS);
    mmd_model *model = mmd_model_load(data, size, &err);
    check_short_memory(model, &err);
    mmd_model_free(model);
}

static uint8_t *written(const mmd_model *model, size_t *size)
{
    *size = mmd_pmx_size(model);
    uint8_t *bytes = malloc(*size);
    mmd_error err = {0};
    bool ok = bytes && mmd_pmx_write(model, bytes, &err);
    PROMISE(ok == (model->soft_body_count == 0));
    if (ok)
        return bytes;
    PROMISE(err.code == MMD_E_ARGUMENT && err.text[0]);
    free(bytes);
    return NULL;
}

/* What was written loads and is written again alike. */
static void save(const mmd_model *model)
{
    size_t size, size_again;
    uint8_t *bytes = written(model, &size);
    if (!bytes)
        return;
    mmd_model *again = mmd_model_load(bytes, size, NULL);
    PROMISE(again);
    uint8_t *bytes_again = written(again, &size_again);
    PROMISE(size == size_again && memcmp(bytes, bytes_again, size) == 0);
    free(bytes_again);
    mmd_model_free(again);
    free(bytes);
}

/* A model from the members of a loaded one is the same. */
static void make_again(const mmd_model *model)
{
    mmd_model arrays = *model;
    arrays.soft_body_count = 0;
    mmd_model *made = mmd_model_new(&arrays, NULL);
    PROMISE(made);
    size_t size, size_again;
    uint8_t *bytes = written(&arrays, &size), *bytes_again = written(made, &size_again);
    PROMISE(size == size_again && memcmp(bytes, bytes_again, size) == 0);
    free(bytes_again);
    free(bytes);
    mmd_model_free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_error err = {0};
    chance c = chance_of(data, size);
    load_with_short_memory(data, size, &c);
    mmd_model *model = mmd_model_load(data, size, &err);
    if (model) {
        exercise_model(model, &c);
        save(model);
        make_again(model);
    } else {
        check_refusal(&err, size);
    }
    mmd_model_free(model);
    return 0;
}
