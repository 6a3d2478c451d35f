/* SPDX-License-Identifier: MIT */
#ifndef MMD_VPD_H
#define MMD_VPD_H

#include "core/base/text.h"

/* Reads and writes VPD: a pose, as a motion with keys at frame 0. It is in cp932, or in UTF-8 if it
   begins with the mark of that. */

bool mmd_vpd_is(const uint8_t *bytes, size_t size);
bool mmd_vpd_read(mmd_motion *motion, const uint8_t *bytes, size_t size,
                  const mmd_text_decoder *names, mmd_error *err);

/* Writes the first key of every bone and morph, as MMD does, into `arena`: CR LF, cp932, six
   decimals, of which those are taken that are read back as the same rotation. cut_names: "?" for
   characters that cp932 lacks. NULL with MMD_E_ARGUMENT for other such names, or MMD_E_MEMORY. */
const uint8_t *mmd_vpd_write(mmd_arena *arena, const mmd_motion *pose, bool cut_names, size_t *size,
                             mmd_error *err);

#endif
