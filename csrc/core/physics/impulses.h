/* SPDX-License-Identifier: MIT */
#ifndef MMD_IMPULSES_H
#define MMD_IMPULSES_H

#include "core/physics/body.h"

/* What impulse morphs do to bodies right before a step, docs/mmd-behaviour.md#impulse-morphs:
   `weights` (M,) after groups and flips; `share` of a sixtieth of a second that the step takes. */
void mmd_impulses_apply(const mmd_model *model, const float *weights, double share,
                        mmd_body *bodies);

#endif
