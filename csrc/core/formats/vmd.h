/* SPDX-License-Identifier: MIT */
#ifndef MMD_VMD_H
#define MMD_VMD_H

#include "core/base/text.h"
#include "core/formats/motion_names.h"

/* Sizes in bytes, docs/mmd-behavior.md#vmd. Of a section: one record. */
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
    MMD_VMD_NAME = MMD_VMD_NAME_SIZE,
    MMD_VMD_IK_NAME = 20, /* MMD leaves garbage after the first 15 */
};

/* The third and fourth byte of the interpolation block of a bone key with physics off; zero: on. */
static const uint8_t mmd_vmd_physics_off[2] = {0x63, 0x0F};

/* What a key's `stored` bytes mean, and how mmdskin stores it. */
void mmd_vmd_decode(const uint8_t stored[MMD_STORED_SIZE], float rotation[4], uint8_t curves[16],
                    uint8_t *physics);
void mmd_vmd_encode(const float rotation[4], const uint8_t curves[16], bool physics,
                    uint8_t stored[MMD_STORED_SIZE]);
bool mmd_vmd_is_as_encoded(const mmd_bone_track *track, size_t key, const uint8_t *stored);

bool mmd_vmd_is(const uint8_t *bytes, size_t size);
bool mmd_vmd_read(mmd_motion *motion, const uint8_t *bytes, size_t size,
                  const mmd_text_decoder *names, mmd_error *err);

#endif
