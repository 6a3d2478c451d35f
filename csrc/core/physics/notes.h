/* SPDX-License-Identifier: MIT */
#ifndef MMD_NOTES_H
#define MMD_NOTES_H

#include "mmdskin.h"

/* What a user should know about a model's physics. Each kind is reported once, with the first body
   or joint (dropped pairs: the first frame) and the number of others; the order is that of
   Simulation.notes. */
typedef enum mmd_notes_kind {
    MMD_NOTES_JOINT_KIND,      /* a joint of PMX 2.1, solved by its limits alone */
    MMD_NOTES_NOT_CONNECTED,   /* a joint that does not connect two bodies */
    MMD_NOTES_NO_MASS,         /* a dynamic body without mass */
    MMD_NOTES_OUT_OF_RANGE,    /* a bone would move its body beyond MMD_BODY_LIMIT */
    MMD_NOTES_DIVERGED,        /* a body exceeded MMD_BODY_LIMIT or became NaN */
    MMD_NOTES_STRETCH_LIMITED, /* the joint stretch limit moved a body back */
    MMD_NOTES_STRETCHED,       /* a joint was far beyond its limits */
    MMD_NOTES_TELEPORTED,      /* all bodies restarted after a sudden move */
    MMD_NOTES_DROPPED_PAIRS,   /* more neighbors than a world has room for */
    MMD_NOTES_COUNT
} mmd_notes_kind;

/* The first body or joint of a kind, and how many there are. */
typedef struct mmd_notes_entry {
    size_t count, index;
    double frame, distance;
} mmd_notes_entry;

typedef struct mmd_notes {
    const mmd_model *model;
    mmd_notes_entry *notes; /* of each kind */
    uint16_t *noted;        /* of bodies, then joints: bits of kinds, so that each counts once */
} mmd_notes;

/* Notes what the model alone shows, in zeroed memory for as many bytes as this returns; NULL only
   counts. */
size_t mmd_notes_init(void *memory, const mmd_model *model, mmd_notes *notes);

/* Whether its numbers, which may come from outside, name bodies and joints of the model. */
bool mmd_notes_are_valid(const mmd_notes *notes);

void mmd_notes_add_body(mmd_notes *notes, mmd_notes_kind kind, size_t body, double frame);
void mmd_notes_add_joint(mmd_notes *notes, mmd_notes_kind kind, size_t joint, double frame,
                         double distance);
/* Nothing if there are none. */
void mmd_notes_add_dropped_pairs(mmd_notes *notes, size_t pairs, double frame);

size_t mmd_notes_count(const mmd_notes *notes);

/* The text of the note at an index below the count; before a body or joint, `owner`. */
void mmd_notes_text(const mmd_notes *notes, size_t index, const char *owner, char *text,
                    size_t size);

#endif
