/* SPDX-License-Identifier: MIT */
#ifndef MMD_SEATS_H
#define MMD_SEATS_H

#include "core/physics/body.h"
#include "core/pose/place.h"

/* Where a body stands, position and rotation x y z w. */
typedef struct mmd_stand {
    double position[3], rotation[4];
} mmd_stand;

/* What is a share of the way back from the last stand to the one before it: straight, and by the
   shorter turn. */
void mmd_stand_between(const mmd_stand *last, const mmd_stand *before, double share,
                       mmd_stand *stand);

/* A body in the axes of its bone, whose rest axes are those of the model. */
typedef struct mmd_seat {
    int32_t bone;     /* -1: none; bodies of no bone that move begin under the first one */
    bool turns;       /* of the bone it only sets the rotation */
    double offset[3]; /* from the bone */
    double turn[4];
} mmd_seat;

/* Which bodies hang on which bones, and which move them. */
typedef struct mmd_seats {
    size_t body_count;
    mmd_seat *seats;             /* of each body */
    int32_t *drivers;            /* (B,) the body that moves a bone, -1: none */
    bool *moved;                 /* (B,) while bones are driven */
    size_t first_after;          /* in the rig's order: bones from here on come after physics */
    bool on_after, drives_after; /* a body hangs on, or moves, one of those */
} mmd_seats;

/* `bodies` are those of the rig's model, at rest. False when memory is short. */
bool mmd_seats_init(mmd_arena *arena, const mmd_rig *rig, const mmd_body *bodies, mmd_seats *seats);

/* Where a bone that stands as in the frame carries the body; false where that is out of reach, or
   there is no bone. */
bool mmd_seat_stand(const mmd_seat *seat, const mmd_frame *frame, mmd_stand *stand);

/* Brings bones to where bodies stand, as amounts of their own that come to just that, and all below
   them along; those of `order` from `first` on to `end`, parents first. A body in `held` moves
   nothing. */
void mmd_seats_drive(mmd_seats *seats, const mmd_stand *stands, const bool *held, mmd_frame *frame,
                     size_t first, size_t end);

#endif
