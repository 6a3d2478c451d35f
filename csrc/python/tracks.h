/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_TRACKS_H
#define MMD_PY_TRACKS_H

#include "python/state.h"

/* What Motion.from_tracks is called with. The single tracks may be None. */
typedef struct mmd_given_tracks {
    PyObject *bones, *morphs, *camera, *light, *shadow, *properties, *name;
} mmd_given_tracks;

/* NULL with an exception when they are not sound. */
mmd_motion *mmd_motion_of_tracks(mmd_state *state, const mmd_given_tracks *given);

#endif
