/* SPDX-License-Identifier: MIT */
/* The input is a PMX or PMD file. */
#include "mmdskin.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmd_error err = {0};
    chance c = chance_of(data, size);
    mmd_model *model = mmd_model_load(data, size, &err);
    if (model)
        exercise_model(model, &c);
    else
        check_refusal(&err, size);
    mmd_model_free(model);
    return 0;
}
