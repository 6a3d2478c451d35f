/* SPDX-License-Identifier: MIT */
#ifndef TARGET_H
#define TARGET_H

#include "core/pose/rig.h"
#include "core/skin/mesh.h"

#include <stdio.h>
#include <stdlib.h>

/* What the fuzz targets share. A target is a file with LLVMFuzzerTestOneInput(); `make check` runs
   each for FUZZ_SECONDS, tests/check/fuzz.sh tells how. `build/fuzz/model file` repeats one input.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Numbers that look random and follow from the input, so that every run of it is the same. */
typedef struct chance {
    uint64_t state;
} chance;

chance chance_of(const uint8_t *data, size_t size);
size_t chance_below(chance *c, size_t end);

/* What fails to load says where and why. */
void check_refusal(const mmd_error *err, size_t size);

/* Between the two one allocation of the next `most` fails: what is loaded there is refused for it,
   or for what is wrong before it. */
void memory_runs_short(chance *c, size_t most);
void check_short_memory(bool loaded, const mmd_error *err);

/* Checks a loaded model, and poses, morphs and skins it, by every kernel. */
void exercise_model(const mmd_model *model, chance *c);

/* Checks a loaded motion, and poses a rig by it; the poses are skinned when there is a mesh. */
void exercise_motion(const mmd_rig *rig, const mmd_mesh *mesh, const mmd_motion *motion, chance *c);

#endif
