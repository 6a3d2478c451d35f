/* SPDX-License-Identifier: MIT */
#ifndef MMD_PMX_H
#define MMD_PMX_H

#include "core/formats/reader.h"

/* Whether the bytes begin like a PMX file of any version. */
bool mmd_pmx_is(const uint8_t *bytes, size_t size);

/* Fills a zeroed model, whose memory model->arena owns on failure, too. */
bool mmd_pmx_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err);

/* Whether mmd_pmx_write() would write these bytes. */
bool mmd_pmx_is_written_as(const mmd_model *model, const uint8_t *bytes, size_t size);

/* The fields of a zeroed record from offset `first` on, with indices of these sizes. */
void mmd_pmx_read_fields(mmd_reader *r, const uint8_t *sizes, mmd_model_record_kind kind,
                         size_t first, void *record);

#endif
