/* SPDX-License-Identifier: MIT */
/* What a fit has left out or lost, for fit_report.py. */
#include "python/fit_type.h"

#include "core/formats/formats.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

PyObject *mmd_py_fit_report(const mmd_motion_fit *fit, const mmd_inverse_pose_loss *losses)
{
    const mmd_rig *rig = fit->job.rig;
    MMD_PY_CLEARED_BY(mmd_arena_free) mmd_arena arena = {0};
    mmd_motion tracks = *fit->motion;
    MMD_PY_OWNED PyObject *names = mmd_py_motion_name_faults(&arena, MMD_VMD_NAME_SIZE, &tracks);
    MMD_PY_OWNED PyObject *bones = names ? PyTuple_New((Py_ssize_t)rig->bone_count) : NULL;
    for (size_t i = 0; bones && i < rig->bone_count; i++)
        mmd_py_record_tuple_set(&bones, i,
                                Py_BuildValue("(Nidd)",
                                              mmd_py_record_str(rig->model->bones[i].name),
                                              (int)fit->skipped[i], (double)losses[i].off_axis,
                                              (double)losses[i].scale));
    return bones ? mmd_py_object_call("mmdskin.fit_report", "report", "(ndOO)",
                                      (Py_ssize_t)fit->key_count, fit->max_distance, bones, names)
                 : NULL;
}
