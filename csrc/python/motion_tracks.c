/* SPDX-License-Identifier: MIT */
/* Motion.from_tracks(). */
#include "core/model/motion.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

/* That of a camera's motion, by which MMD knows it; other motions have none. */
static mmd_text default_name(const mmd_motion *tracks)
{
    bool has_model =
        tracks->bone_track_count || tracks->morph_track_count || tracks->properties.key_count;
    bool has_camera =
        tracks->camera.key_count || tracks->light.key_count || tracks->shadow.key_count;
    return has_camera && !has_model ? (mmd_text){MMD_CAMERA_NAME, sizeof MMD_CAMERA_NAME - 1}
                                    : (mmd_text){"", 0};
}

enum { NAME = MMD_MOTION_KINDS, ARGUMENTS };

/* Tracks of one kind, or the only one, which may be None. */
static bool parse_tracks(mmd_motion_kind kind, PyObject *value, mmd_py_record_parser *parser,
                         mmd_motion *tracks)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    mmd_py_record_kind record = (mmd_py_record_kind)(MMD_PY_RECORD_BONE_TRACK + kind);
    void *list;
    size_t count, length = mmd_py_record_parser_enter(parser, "%s", layout->name);
    bool ok = layout->count
                  ? mmd_py_record_parse_list(parser, record, value, &list, &count)
                  : value == Py_None || mmd_py_record_parse(parser, record, value,
                                                            mmd_motion_track(layout, tracks, 0));
    mmd_py_record_parser_leave(parser, length);
    if (ok && layout->count)
        mmd_motion_set_tracks(layout, tracks, list, count);
    return ok;
}

static bool parse_name(PyObject *name, mmd_py_record_parser *parser, mmd_text *out)
{
    size_t length = mmd_py_record_parser_enter(parser, "name");
    bool ok = mmd_py_record_parse_text(parser, name, out);
    mmd_py_record_parser_leave(parser, length);
    return ok;
}

/* NULL with an exception if they are not valid. */
static mmd_motion *build_motion(mmd_py_state *state, PyObject *const values[ARGUMENTS])
{
    MMD_PY_CLEARED_BY(mmd_py_record_parser_free) mmd_py_record_parser parser = {.state = state};
    mmd_motion tracks = {0}, *motion;
    mmd_error err = {0};
    if (values[NAME] && !parse_name(values[NAME], &parser, &tracks.name))
        return NULL;
    for (size_t kind = 0; kind < MMD_MOTION_KINDS; kind++)
        if (!parse_tracks((mmd_motion_kind)kind, values[kind], &parser, &tracks))
            return NULL;
    if (!values[NAME])
        tracks.name = default_name(&tracks);
    Py_BEGIN_ALLOW_THREADS
    motion = mmd_motion_new(&tracks, &err);
    Py_END_ALLOW_THREADS
    if (!motion)
        mmd_py_exceptions_raise(&err);
    return motion;
}

PyObject *mmd_py_motion_from_tracks(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"bones",  "morphs",     "camera", "light",
                            "shadow", "properties", "name",   NULL};
    MMD_PY_OWNED PyObject *no_tracks = PyTuple_New(0);
    PyObject *v[ARGUMENTS] = {no_tracks, no_tracks, Py_None, Py_None, Py_None, Py_None, NULL};
    if (!no_tracks ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOOOO:from_tracks", names, &v[0], &v[1],
                                     &v[2], &v[3], &v[4], &v[5], &v[NAME]))
        return NULL;
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    mmd_motion *motion = build_motion(state, v);
    return motion ? mmd_py_motion_new(state, motion, NULL) : NULL;
}
