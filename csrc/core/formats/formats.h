/* SPDX-License-Identifier: MIT */
#ifndef MMD_FORMATS_H
#define MMD_FORMATS_H

#include "core/base/arena.h"
#include "core/base/text.h"
#include "core/formats/reader.h"
#include "mmdskin.h"

/* The readers and writers of each format, which the core has in mmdskin.h for any of them. */

/* Names as files of motions hold them: in cp932, and in a VMD 15 bytes. MMD ignores the keys of a
   bone, morph or IK switch whose name does not fit. */

#define MMD_VMD_NAME_SIZE 15       /* bytes of a name in a VMD */
#define MMD_NAME_ANY_SIZE SIZE_MAX /* in a VPD */

/* Why a name does not fit: "takes 16 bytes, but a VMD stores only 15". */
typedef struct mmd_motion_names_fault {
    char text[96];
} mmd_motion_names_fault;

/* Whether a name fits into `capacity` bytes; fills the fault if not, and `field`, unless it is
   NULL, with the name, padded with zeros, or with what fits. */
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

/* mmd_motion_load() with names in another encoding than cp932; the decoder may be NULL. */
mmd_motion *mmd_motion_load_with(const uint8_t *bytes, size_t size, const mmd_text_decoder *names,
                                 mmd_error *err);

/* Readers, of all formats that load.c detects. They fill a zeroed model or motion, whose arena owns
   its memory on failure, too. */
bool mmd_pmx_read(mmd_reader *r, mmd_model *model);
bool mmd_pmd_read(mmd_reader *r, mmd_model *model);
bool mmd_vmd_read(mmd_reader *r, mmd_motion *motion);

/* A pose, as a motion with keys at frame 0. It is in cp932, or in UTF-8 if it begins with the mark
   of that. mmdskin/pose_file.py writes it. */
bool mmd_vpd_read(mmd_reader *r, mmd_motion *motion);

/* The fields of a zeroed record from offset `first` on. */
void mmd_pmx_read_fields(mmd_reader *r, mmd_model_record_kind kind, size_t first, void *record);

/* What a key's `stored` bytes mean, and how mmdskin stores a key. */
void mmd_vmd_decode(const uint8_t stored[MMD_STORED_SIZE], float rotation[4], uint8_t curves[16],
                    uint8_t *physics);
void mmd_vmd_encode(const mmd_bone_track *track, size_t key, uint8_t stored[MMD_STORED_SIZE]);

#endif
