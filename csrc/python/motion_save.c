/* SPDX-License-Identifier: MIT */
/* The bytes of Motion.save() in motion_file.py: VMD, and VPD for one frame. */
#include "core/formats/formats.h"
#include "core/pose/sampling.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

typedef struct save_call {
    mmd_py_state *state;
    PyObject *model; /* or None */
    double frame;    /* negative: the first one */
    int is_vpd, cut_names, omit_names;
    mmd_arena arena;
} save_call;

static void add_fault(void *list, const char *path, mmd_text name,
                      const mmd_motion_names_fault *fault)
{
    MMD_PY_OWNED PyObject *item =
        PyErr_Occurred() ? NULL
                         : Py_BuildValue("(sNs)", path, mmd_py_record_str(name), fault->text);
    if (item)
        PyList_Append(list, item);
}

PyObject *mmd_py_motion_name_faults(mmd_arena *arena, size_t capacity, mmd_motion *tracks)
{
    PyObject *list = PyList_New(0);
    bool done = list && mmd_motion_names_fit(arena, capacity, add_fault, list, tracks);
    if (!done && !PyErr_Occurred())
        PyErr_NoMemory();
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

/* Leaves out what does nothing and has a name that no file holds; false with an exception that
   lists all other such names. */
static bool check_names(save_call *call, mmd_motion *tracks)
{
    size_t capacity = call->is_vpd ? MMD_NAME_ANY_SIZE : MMD_VMD_NAME_SIZE;
    if (call->cut_names)
        return true;
    if (call->omit_names)
        return mmd_motion_names_fit(&call->arena, capacity, NULL, NULL, tracks) || PyErr_NoMemory();
    MMD_PY_OWNED PyObject *faults = mmd_py_motion_name_faults(&call->arena, capacity, tracks);
    MMD_PY_OWNED PyObject *none =
        faults ? mmd_py_object_call("mmdskin.motion_file", "refuse_names", "(O)", faults) : NULL;
    return none != NULL;
}

static PyObject *write_vmd(const save_call *call, const mmd_motion *tracks)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)mmd_vmd_size(tracks));
    if (!bytes)
        return NULL;
    uint8_t *out = (uint8_t *)PyBytes_AsString(bytes);
    mmd_error err = {0};
    bool written;
    Py_BEGIN_ALLOW_THREADS
    written = mmd_vmd_write(tracks, call->cut_names, out, &err);
    Py_END_ALLOW_THREADS
    if (!written) {
        mmd_py_exceptions_raise(&err);
        Py_CLEAR(bytes);
    }
    return bytes;
}

/* The pose of one frame. */
static bool sample_frame(save_call *call, const mmd_motion *motion, mmd_motion *pose)
{
    double frame = call->frame < 0 ? motion->first_frame : call->frame;
    const mmd_rig *rig = call->model == Py_None ? NULL : mmd_py_model_of(call->model)->rig;
    return mmd_sampling_frame(&call->arena, motion, rig, frame, pose) || PyErr_NoMemory();
}

static PyObject *write_vpd(const save_call *call, const mmd_motion *pose)
{
    mmd_error err = {0};
    mmd_motion *copy = mmd_motion_new(pose, &err);
    MMD_PY_OWNED PyObject *motion =
        copy ? mmd_py_motion_new(call->state, copy, NULL) : mmd_py_exceptions_raise(&err);
    return motion ? mmd_py_object_call("mmdskin.pose_file", "contents", "(Oi)", motion,
                                       call->cut_names)
                  : NULL;
}

PyObject *mmd_py_motion_cp932(PyObject *module, PyObject *names)
{
    MMD_PY_CLEARED_BY(mmd_py_record_parser_free)
    mmd_py_record_parser parser = {.state = mmd_py_state_of_module(module)};
    void *texts;
    size_t count;
    if (!mmd_py_record_parse_list(&parser, MMD_PY_RECORD_TEXT, names, &texts, &count))
        return NULL;
    const uint16_t *table = mmd_text_cp932_table(&parser.arena);
    if (!table)
        return PyErr_NoMemory();
    PyObject *all = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; all && i < count; i++) {
        mmd_text name = ((const mmd_text *)texts)[i];
        uint32_t missing;
        size_t size = mmd_text_encode_cp932(table, name, NULL, 0, &missing);
        PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
        if (bytes)
            mmd_text_encode_cp932(table, name, (uint8_t *)PyBytes_AsString(bytes), size, &missing);
        mmd_py_record_tuple_set(&all, i, bytes);
    }
    return all;
}

PyObject *mmd_py_motion_bytes(PyObject *module, PyObject *args)
{
    save_call call = {.state = mmd_py_state_of_module(module)};
    PyObject *motion, *bytes = NULL;
    int part;
    if (!PyArg_ParseTuple(args, "O!ipppdO", call.state->types[MMD_PY_MOTION], &motion, &part,
                          &call.is_vpd, &call.cut_names, &call.omit_names, &call.frame,
                          &call.model))
        return NULL;
    mmd_motion pose,
        tracks = mmd_motion_select(mmd_py_motion_of(motion)->motion, (mmd_motion_part)part);
    if (!call.is_vpd)
        bytes = check_names(&call, &tracks) ? write_vmd(&call, &tracks) : NULL;
    else if (sample_frame(&call, &tracks, &pose) && check_names(&call, &pose))
        bytes = write_vpd(&call, &pose);
    mmd_arena_free(&call.arena);
    return bytes;
}
