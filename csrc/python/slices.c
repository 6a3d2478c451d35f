/* SPDX-License-Identifier: MIT */
#include "python/slices.h"

bool mmd_run_slices(mmd_state *state, mmd_run_slice *run, void *call, size_t frames, size_t most)
{
    size_t step = most ? most : 1;
    for (size_t first = 0; first < frames; first += step) {
        size_t count = frames - first < step ? frames - first : step;
        mmd_error err = {0};
        bool done;
        Py_BEGIN_ALLOW_THREADS
        done = run(call, first, count, &err);
        Py_END_ALLOW_THREADS
        if (!done)
            mmd_raise(state, &err);
        if (!done || PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}
