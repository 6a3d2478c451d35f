/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_FIT_REPORT_H
#define MMD_PY_FIT_REPORT_H

#include "core/fit/fit.h"
#include "python/types.h"

/* The FitReport of a fit whose motion has been built and compared; losses: (B,). */
PyObject *mmd_py_fit_report(mmd_py_state *state, const mmd_motion_fit *fit,
                            const mmd_inverse_pose_loss *losses);

#endif
