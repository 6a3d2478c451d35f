/* SPDX-License-Identifier: MIT */
#ifndef MMD_VMD_H
#define MMD_VMD_H

#include "mmdskin.h"

bool mmd_vmd_is(const uint8_t *bytes, size_t size);
bool mmd_vmd_read(mmd_motion *motion, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
