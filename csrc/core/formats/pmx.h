/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMX_H
#define MMD_PMX_H

#include "mmdskin.h"

/* Whether the bytes begin like a PMX file of any version. */
bool mmd_pmx_is(const uint8_t *bytes, size_t size);

/* Fills a zeroed model, whose memory model->arena owns on failure, too. */
bool mmd_pmx_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
