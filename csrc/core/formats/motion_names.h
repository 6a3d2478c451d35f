/* SPDX-License-Identifier: MIT */
#ifndef MMD_MOTION_NAMES_H
#define MMD_MOTION_NAMES_H

#include "core/base/arena.h"

/* Names as files of motions hold them: in cp932, and in a VMD 15 bytes. MMD ignores the keys of a
   bone, morph or IK switch whose name does not fit. */

#define MMD_VMD_NAME_SIZE 15       /* bytes of a name in a VMD */
#define MMD_NAME_ANY_SIZE SIZE_MAX /* in a VPD */

/* Why a name does not fit: "takes 16 bytes, but a VMD stores only 15". */
typedef struct mmd_motion_names_fault {
    char text[96];
} mmd_motion_names_fault;

/* What a name of a VPD cannot contain: a line end, or // before a comment. NULL if it does not. */
const char *mmd_motion_names_find_syntax(mmd_text name);

/* Whether a name fits into `capacity` bytes; fills the fault if not. */
bool mmd_motion_names_fits(const uint16_t *encoding, mmd_text name, size_t capacity,
                           mmd_motion_names_fault *fault);

/* That, and fills the field with the name, padded with zeros, or with what fits. */
bool mmd_motion_names_encode(const uint16_t *encoding, mmd_text name, size_t capacity,
                             uint8_t *field, mmd_motion_names_fault *fault);

/* Called for a name that does not fit; path: "bones[3]". */
typedef void mmd_motion_names_report(void *arg, const char *path, mmd_text name,
                                     const mmd_motion_names_fault *fault);

/* Removes from `tracks`, whose arrays are not changed, what has a name that does not fit and does
   nothing: bones and morphs at rest, switches of IK that is always on. Reports all other names that
   do not fit; without a function that reports, removes what has them. False when memory is short.
 */
bool mmd_motion_names_fit(mmd_arena *arena, size_t capacity, mmd_motion_names_report *report,
                          void *arg, mmd_motion *tracks);

#endif
