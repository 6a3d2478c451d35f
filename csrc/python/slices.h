/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SLICES_H
#define MMD_PY_SLICES_H

#include "python/state.h"

/* Frames from `first` on, without the interpreter lock. */
typedef bool mmd_run_slice(void *call, size_t first, size_t count, mmd_error *err);

/* Runs all frames, `most` at a time (one when it is 0); in between a signal is seen, whose handler
   may raise. False with an exception: of that, or of the slice that failed. */
bool mmd_run_slices(mmd_state *state, mmd_run_slice *run, void *call, size_t frames, size_t most);

#endif
