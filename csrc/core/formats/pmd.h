/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMD_H
#define MMD_PMD_H

#include "mmdskin.h"

/* True when the bytes start as a PMD file does. */
bool mmd_pmd_is(const uint8_t *bytes, size_t size);

/* Fills a zeroed model; on failure what was filled is still owned by model->arena. */
bool mmd_pmd_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
