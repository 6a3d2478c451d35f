/* SPDX-License-Identifier: MIT */
#ifndef MMD_VMD_H
#define MMD_VMD_H

#include "mmdskin.h"

/* Bytes of the parts of a VMD, docs/mmd-behaviour.md#vmd: of each section one record. */
enum {
    MMD_VMD_HEAD = 30,
    MMD_VMD_MODEL_NAME = 20,
    MMD_VMD_BONE = 111,
    MMD_VMD_MORPH = 23,
    MMD_VMD_CAMERA = 61,
    MMD_VMD_LIGHT = 28,
    MMD_VMD_SHADOW = 9,
    MMD_VMD_PROPERTY = 9, /* without its IK states */
    MMD_VMD_IK_STATE = 21,
    MMD_VMD_NAME = 15,
    MMD_VMD_IK_NAME = 20, /* MMD leaves anything behind the first 15 */
};

/* The third and fourth byte of a bone key's curves where physics is off; zeros: on. */
static const uint8_t mmd_vmd_physics_off[2] = {0x63, 0x0F};

bool mmd_vmd_is(const uint8_t *bytes, size_t size);
bool mmd_vmd_read(mmd_motion *motion, const uint8_t *bytes, size_t size, mmd_error *err);

#endif
