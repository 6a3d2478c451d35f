/* SPDX-License-Identifier: MIT */
/* What a fit has left out or lost, for fit_report.py. */
#include "python/fit_type.h"

#include "core/formats/formats.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

/* Of names that do not fit into a VMD: (name, why). */
typedef struct name_faults {
    PyObject *list;
    bool failed;
} name_faults;

static void add_fault(void *arg, const char *path, mmd_text name,
                      const mmd_motion_names_fault *fault)
{
    name_faults *found = arg;
    MMD_PY_OWNED PyObject *item = Py_BuildValue("(Ns)", mmd_py_record_str(name), fault->text);
    found->failed |= !item || PyList_Append(found->list, item) < 0;
}

static PyObject *faults_of(const mmd_motion *motion)
{
    MMD_PY_CLEARED_BY(mmd_arena_free) mmd_arena arena = {0};
    mmd_motion tracks = *motion;
    name_faults found = {PyList_New(0), false};
    bool done =
        found.list && mmd_motion_names_fit(&arena, MMD_VMD_NAME_SIZE, add_fault, &found, &tracks);
    if (!done && !PyErr_Occurred())
        PyErr_NoMemory();
    if (!done || found.failed)
        Py_CLEAR(found.list);
    return found.list;
}

PyObject *mmd_py_fit_report(const mmd_motion_fit *fit, const mmd_inverse_pose_loss *losses)
{
    const mmd_rig *rig = fit->job.rig;
    MMD_PY_OWNED PyObject *names = faults_of(fit->motion);
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
