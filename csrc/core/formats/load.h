/* SPDX-License-Identifier: MIT */
#ifndef MMD_LOAD_H
#define MMD_LOAD_H

#include "core/data/model.h"
#include "core/data/motion.h"

/* Read from borrowed bytes, told apart by content: PMX or PMD, VMD or VPD. The result is sound, as
   its header says, and freed by mmd_model_free or mmd_motion_free. NULL on failure; err->section
   and err->offset tell the place. */
mmd_model *mmd_model_load(const uint8_t *bytes, size_t size, mmd_error *err);
mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err);

#endif
