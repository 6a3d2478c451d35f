/* SPDX-License-Identifier: MIT */
/* What a fit has left out or lost, and why. */
#include "python/fit_type.h"

#include "core/formats/formats.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"

/* Appends (name of the bone, reason) to a list; takes the reason over. */
static bool add_note(PyObject *notes, mmd_text name, PyObject *reason)
{
    MMD_PY_OWNED PyObject *text = mmd_py_record_str(name);
    MMD_PY_OWNED PyObject *note = text && reason ? PyTuple_Pack(2, text, reason) : NULL;
    bool added = note && PyList_Append(notes, note) == 0;
    Py_XDECREF(reason);
    return added;
}

/* A number in a printf format. */
static PyObject *format_number(const char *format, double number)
{
    char text[96];
    PyOS_snprintf(text, sizeof text, format, number);
    return PyUnicode_FromString(text);
}

static bool note_bone(const mmd_motion_fit *fit, const mmd_inverse_pose_loss *loss, size_t bone,
                      PyObject *notes)
{
    static const char *const reasons[] = {
        [MMD_MOTION_FIT_SKIP_NO_MESH] = "left out: no vertex and no IK depends on it",
        [MMD_MOTION_FIT_SKIP_PHYSICS] = "left out: a rigid body moves it",
        [MMD_MOTION_FIT_SKIP_DUPLICATE] = "left out: an earlier bone has the same name",
        [MMD_MOTION_FIT_SKIP_ROTATION] = "its rotation is left out: a rigid body turns it",
    };
    mmd_text name = fit->job.rig->model->bones[bone].name;
    uint8_t skipped = fit->skipped[bone];
    if (skipped)
        return add_note(notes, name, PyUnicode_FromString(reasons[skipped]));
    double degrees = (double)loss->off_axis * 57.29577951308232;
    double scale = (double)loss->scale;
    return (degrees < 0.1 ||
            add_note(notes, name,
                     format_number("off its fixed axis by up to %.1f degrees", degrees))) &&
           (scale == 0 ||
            add_note(
                notes, name,
                format_number("scaled, sheared or mirrored by up to %.3f, which is lost", scale)));
}

/* Names that do not fit into a VMD, each once. */
typedef struct name_notes {
    PyObject *notes;
    bool failed;
} name_notes;

static void note_name(void *arg, const char *path, mmd_text name,
                      const mmd_motion_names_fault *fault)
{
    name_notes *found = arg;
    MMD_PY_OWNED PyObject *text = mmd_py_record_str(name);
    MMD_PY_OWNED PyObject *reason =
        PyUnicode_FromFormat("its name %s: MMD does not find it", fault->text);
    MMD_PY_OWNED PyObject *note = text && reason ? PyTuple_Pack(2, text, reason) : NULL;
    int known = note ? PySequence_Contains(found->notes, note) : -1;
    if (known < 0 || (known == 0 && PyList_Append(found->notes, note) < 0))
        found->failed = true;
}

static bool note_names(const mmd_motion_fit *fit, PyObject *notes)
{
    MMD_PY_CLEARED_BY(mmd_arena_free) mmd_arena arena = {0};
    mmd_motion tracks = *fit->motion;
    name_notes found = {notes, false};
    bool done = mmd_motion_names_fit(&arena, MMD_VMD_NAME_SIZE, note_name, &found, &tracks);
    if (!done && !found.failed)
        PyErr_NoMemory();
    return done && !found.failed;
}

PyObject *mmd_py_fit_report(mmd_py_state *state, const mmd_motion_fit *fit,
                            const mmd_inverse_pose_loss *losses)
{
    MMD_PY_OWNED PyObject *notes = PyList_New(0);
    bool done = notes != NULL;
    for (size_t i = 0; done && i < fit->job.rig->bone_count; i++)
        done = note_bone(fit, &losses[i], i, notes);
    PyObject *tuple = done && note_names(fit, notes) ? PyList_AsTuple(notes) : NULL;
    return tuple ? PyObject_CallFunction(state->records[MMD_PY_RECORD_FIT_REPORT], "ndN",
                                         (Py_ssize_t)fit->key_count, fit->max_distance, tuple)
                 : NULL;
}
