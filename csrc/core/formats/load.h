/* SPDX-License-Identifier: MIT */
#ifndef MMD_LOAD_H
#define MMD_LOAD_H

#include "core/base/text.h"

/* mmd_motion_load() with names in another encoding than cp932; the decoder may be NULL. */
mmd_motion *mmd_motion_load_with(const uint8_t *bytes, size_t size, const mmd_text_decoder *names,
                                 mmd_error *err);

#endif
