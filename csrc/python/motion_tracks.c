/* SPDX-License-Identifier: MIT */
/* Motion.from_tracks(). */
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

static bool parse_tracks(mmd_py_record_kind kind, PyObject *tracks, const char *name,
                         mmd_py_record_parser *parser, void **out, size_t *count)
{
    size_t length = mmd_py_record_parser_enter(parser, "%s", name);
    bool ok = mmd_py_record_parse_list(parser, kind, tracks, out, count);
    mmd_py_record_parser_leave(parser, length);
    return ok;
}

static bool parse_single(mmd_py_record_kind kind, PyObject *track, const char *name,
                         mmd_py_record_parser *parser, void *out)
{
    size_t length = mmd_py_record_parser_enter(parser, "%s", name);
    bool ok = track == Py_None || mmd_py_record_parse(parser, kind, track, out);
    mmd_py_record_parser_leave(parser, length);
    return ok;
}

static bool parse_name(PyObject *name, mmd_py_record_parser *parser, mmd_text *out)
{
    size_t length = mmd_py_record_parser_enter(parser, "name");
    bool ok = !name || mmd_py_record_parse_text(parser, name, out);
    mmd_py_record_parser_leave(parser, length);
    return ok;
}

/* The arguments of Motion.from_tracks(). Single tracks may be None; NULL: the default name. */
typedef struct track_arguments {
    PyObject *bones, *morphs, *camera, *light, *shadow, *properties, *name;
} track_arguments;

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

/* NULL with an exception if they are not valid. */
static mmd_motion *build_motion(mmd_py_state *state, const track_arguments *arguments)
{
    MMD_PY_CLEARED_BY(mmd_py_record_parser_free) mmd_py_record_parser parser = {.state = state};
    mmd_motion tracks = {0}, *motion = NULL;
    void *bones = NULL, *morphs = NULL;
    mmd_error err = {0};
    if (parse_name(arguments->name, &parser, &tracks.name) &&
        parse_tracks(MMD_PY_RECORD_BONE_TRACK, arguments->bones, "bones", &parser, &bones,
                     &tracks.bone_track_count) &&
        parse_tracks(MMD_PY_RECORD_MORPH_TRACK, arguments->morphs, "morphs", &parser, &morphs,
                     &tracks.morph_track_count) &&
        parse_single(MMD_PY_RECORD_CAMERA_TRACK, arguments->camera, "camera", &parser,
                     &tracks.camera) &&
        parse_single(MMD_PY_RECORD_LIGHT_TRACK, arguments->light, "light", &parser,
                     &tracks.light) &&
        parse_single(MMD_PY_RECORD_SHADOW_TRACK, arguments->shadow, "shadow", &parser,
                     &tracks.shadow) &&
        parse_single(MMD_PY_RECORD_PROPERTY_TRACK, arguments->properties, "properties", &parser,
                     &tracks.properties)) {
        tracks.bone_tracks = bones;
        tracks.morph_tracks = morphs;
        if (!arguments->name)
            tracks.name = default_name(&tracks);
        Py_BEGIN_ALLOW_THREADS
        motion = mmd_motion_new(&tracks, &err);
        Py_END_ALLOW_THREADS
        if (!motion)
            mmd_py_exceptions_raise(&err);
    }
    return motion;
}

PyObject *mmd_py_motion_from_tracks(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"bones",  "morphs",     "camera", "light",
                            "shadow", "properties", "name",   NULL};
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    MMD_PY_OWNED PyObject *no_tracks = PyTuple_New(0);
    track_arguments tracks = {no_tracks, no_tracks, Py_None, Py_None, Py_None, Py_None, NULL};
    if (!no_tracks ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOOOO:from_tracks", names, &tracks.bones,
                                     &tracks.morphs, &tracks.camera, &tracks.light, &tracks.shadow,
                                     &tracks.properties, &tracks.name))
        return NULL;
    mmd_motion *motion = build_motion(state, &tracks);
    return motion ? mmd_py_motion_new(state, motion, NULL) : NULL;
}
