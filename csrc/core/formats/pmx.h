/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMX_H
#define MMD_PMX_H

#include "mmdskin.h"

/* True when the bytes start as a PMX file of any version does. */
bool mmd_pmx_is(const uint8_t *bytes, size_t size);

/* Fills a zeroed model; on failure what was filled is still owned by model->arena. */
bool mmd_pmx_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
