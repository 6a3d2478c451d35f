/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMD_H
#define MMD_PMD_H

#include "mmdskin.h"

/* Whether the bytes begin like a PMD file. */
bool mmd_pmd_is(const uint8_t *bytes, size_t size);

/* Fills a zeroed model, whose memory model->arena owns on failure, too. */
bool mmd_pmd_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
