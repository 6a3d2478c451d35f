/* SPDX-License-Identifier: MIT */
/* The input is four bytes of a length, a model of that length and a motion, which moves the model.
   The mutator changes one of the two at a time and keeps the length true. */
#include "mmdskin.h"
#include "target.h"

#include <string.h>

enum { HEAD = 4 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static size_t model_size(const uint8_t *data, size_t size)
{
    uint32_t length;
    memcpy(&length, data, HEAD);
    return length > size - HEAD ? size - HEAD : length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    if (size < HEAD || size >= max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    size_t model = model_size(data, size), motion = size - HEAD - model;
    uint8_t *behind = data + HEAD + model;
    if (seed % 2) {
        uint8_t *copy = malloc(motion + 1);
        PROMISE(copy);
        memcpy(copy, behind, motion);
        model = LLVMFuzzerMutate(data + HEAD, model, max_size - HEAD - motion);
        memcpy(data + HEAD + model, copy, motion);
        free(copy);
    } else {
        motion = LLVMFuzzerMutate(behind, motion, max_size - HEAD - model);
    }
    uint32_t length = (uint32_t)model;
    memcpy(data, &length, HEAD);
    return HEAD + model + motion;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    chance c = chance_of(data, size);
    size_t length = model_size(data, size);
    mmd_model *model = mmd_model_load(data + HEAD, length, NULL);
    mmd_motion *motion = mmd_motion_load(data + HEAD + length, size - HEAD - length, NULL);
    if (model && motion) {
        mmd_rig *rig = mmd_rig_new(model, NULL);
        mmd_mesh *mesh = mmd_mesh_of_model(model, NULL);
        PROMISE(rig && mesh);
        exercise_motion(rig, mesh, motion, &c);
        mmd_mesh_free(mesh);
        mmd_rig_free(rig);
    }
    mmd_model_free(model);
    mmd_motion_free(motion);
    return 0;
}
