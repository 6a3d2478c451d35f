/* SPDX-License-Identifier: MIT */
/* The input is a PMX or PMD file. */
#include "mmdskin.h"
#include "target.h"

enum { MOST_ALLOCATIONS = 150 }; /* what a seed takes */

static void load_with_short_memory(const uint8_t *data, size_t size, chance *c)
{
    mmd_error err = {0};
    memory_runs_short(c, MOST_ALLOCATIONS);
    mmd_model *model = mmd_model_load(data, size, &err);
    check_short_memory(model, &err);
    mmd_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_error err = {0};
    chance c = chance_of(data, size);
    load_with_short_memory(data, size, &c);
    mmd_model *model = mmd_model_load(data, size, &err);
    if (model)
        exercise_model(model, &c);
    else
        check_refusal(&err, size);
    mmd_model_free(model);
    return 0;
}
