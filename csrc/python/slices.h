/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SLICES_H
#define MMD_PY_SLICES_H

#include "core/base/parallel.h"
#include "python/state.h"

/* How the frames of a call are run: on `threads` threads, of which each is given at most `most`
   before a signal is seen. */
typedef struct mmd_slices {
    size_t frames, most, threads;
} mmd_slices;

/* `threads` is an argument: None, or a number of at least 1. None is one thread, or as many as
   there are cores where each is given enough to be worth its start. A frame takes `of_frame` of
   what a slice may take, `of_slice`, which is about a hundredth of a second. NULL: one thread.
   False with an exception. */
bool mmd_slices_plan(PyObject *threads, size_t frames, size_t of_frame, size_t of_slice,
                     mmd_slices *slices);

/* Runs them without the interpreter lock; no thread is left and nothing of a frame under way while
   Python code runs, as that of a signal does. False with an exception: of a handler, or of the part
   that failed. */
bool mmd_slices_run(mmd_state *state, const mmd_slices *slices, mmd_parallel_part *run, void *call);

#endif
