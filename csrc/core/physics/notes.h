/* SPDX-License-Identifier: MIT */
#ifndef MMD_NOTES_H
#define MMD_NOTES_H

#include "core/base/arena.h"

/* What a user should know of a model's physics; a row each in notes.c. */
typedef enum mmd_note_kind {
    MMD_NOTE_KIND,    /* of a joint, that is not solved as such */
    MMD_NOTE_NOTHING, /* is held by a joint */
    MMD_NOTE_MASS,
    MMD_NOTE_FAR,
    MMD_NOTE_LOST,
    MMD_NOTE_HELD,
    MMD_NOTE_STRAIN,
    MMD_NOTE_ANEW,
    MMD_NOTE_COUNT
} mmd_note_kind;

/* The first body or joint of a kind, and how many there are. */
typedef struct mmd_note {
    size_t count, index;
    double frame, amount;
} mmd_note;

typedef struct mmd_notes {
    const mmd_model *model;
    mmd_note notes[MMD_NOTE_COUNT];
    uint8_t *seen; /* of bodies, then joints: bits of kinds, so that each counts once */
} mmd_notes;

/* Notes what can be seen of the model alone. False when memory is short. */
bool mmd_notes_init(mmd_arena *arena, const mmd_model *model, mmd_notes *notes);

void mmd_notes_body(mmd_notes *notes, mmd_note_kind kind, size_t body, double frame);
void mmd_notes_joint(mmd_notes *notes, mmd_note_kind kind, size_t joint, double frame,
                     double amount);

/* The text of the note of this index; false when there are not as many. */
bool mmd_notes_text(const mmd_notes *notes, size_t index, char *text, size_t size);

#endif
