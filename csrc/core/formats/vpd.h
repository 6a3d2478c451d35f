/* SPDX-License-Identifier: MIT */
#ifndef MMD_VPD_H
#define MMD_VPD_H

#include "mmdskin.h"

bool mmd_vpd_is(const uint8_t *bytes, size_t size);
bool mmd_vpd_read(mmd_motion *motion, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
