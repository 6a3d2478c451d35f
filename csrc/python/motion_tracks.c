/* SPDX-License-Identifier: MIT */
/* Motion.from_tracks(). */
#include "core/base/arena.h"
#include "python/exceptions.h"
#include "python/field.h"
#include "python/types.h"

/* Owns the memory that the tracks borrow, and knows the path for error messages. */
struct mmd_py_record_track_parser {
    PyObject *references; /* list */
    mmd_arena arena;
    char path[64]; /* "bones[3]" */
    void *track;
    bool has_key_count; /* of `track` */
};

static void *member(const mmd_py_record_field *field, const mmd_py_record_track_parser *parser)
{
    return (char *)parser->track + field->offset;
}

static void field_path(const mmd_py_record_field *field, const mmd_py_record_track_parser *parser,
                       char out[96])
{
    PyOS_snprintf(out, 96, "%s%s%s", parser->path, *parser->path ? "." : "", field->name);
}

/* Whether UTF-8 has a surrogate other than U+DC80 to U+DCFF, the bytes of a file that are no
   characters. */
static bool has_other_surrogate(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++)
        if (bytes[i] == 0xED && bytes[i + 1] >= 0xA0 && (bytes[i + 1] & 0xFE) != 0xB2)
            return true;
    return false;
}

static bool parse_text(PyObject *value, const char *path, mmd_py_record_track_parser *parser,
                       mmd_text *text)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a str, not %R", path,
                     (PyObject *)Py_TYPE(value));
        return false;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    char *data = NULL;
    Py_ssize_t size = 0;
    bool ok = bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0;
    if (ok && has_other_surrogate((const uint8_t *)data, (size_t)size)) {
        PyErr_Format(PyExc_ValueError, "%s: unpaired surrogate", path);
        ok = false;
    }
    *text = (mmd_text){data, (size_t)size};
    ok = ok && PyList_Append(parser->references, bytes) == 0;
    Py_XDECREF(bytes);
    return ok;
}

bool mmd_py_field_set_text(const mmd_py_record_field *field, PyObject *value,
                           mmd_py_record_track_parser *parser)
{
    char path[96];
    field_path(field, parser, path);
    return parse_text(value, path, parser, member(field, parser));
}

/* The first array of a track sets its number of keys. */
bool mmd_py_field_set_keys(const mmd_py_record_field *field, PyObject *value,
                           mmd_py_record_track_parser *parser)
{
    char path[96];
    mmd_py_array array = {0};
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t *count = (size_t *)(void *)((char *)parser->track + field->as.keys.count_offset);
    field_path(field, parser, path);
    if (value == Py_None && parser->has_key_count)
        return true;
    if (!mmd_py_array_from(value, path, field->as.keys.dtype, true, &array))
        return false;
    const size_t shape[] = {parser->has_key_count ? *count : MMD_PY_ANY, columns, depth};
    bool ok = mmd_py_array_check_shape(&array, path, 1 + (columns > 0) + (depth > 0), shape, "n") &&
              PyList_Append(parser->references, array.object) == 0;
    if (ok) {
        *count = array.shape[0];
        parser->has_key_count = true;
        *(void **)member(field, parser) = array.data;
    }
    mmd_py_array_clear(&array);
    return ok;
}

bool mmd_py_field_set_ik_names(const mmd_py_record_field *field, PyObject *value,
                               mmd_py_record_track_parser *parser)
{
    mmd_property_track *track = parser->track;
    char path[96], name_path[128];
    field_path(field, parser, path);
    if (PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a sequence of names, not a str", path);
        return false;
    }
    PyObject *names = mmd_py_record_sequence(value, path);
    bool ok = names != NULL;
    if (ok) {
        track->ik_count = (size_t)PyTuple_Size(names);
        track->ik_names = mmd_arena_alloc(&parser->arena, track->ik_count, sizeof *track->ik_names);
        ok = track->ik_names || PyErr_NoMemory();
    }
    for (size_t i = 0; ok && i < track->ik_count; i++) {
        PyOS_snprintf(name_path, sizeof name_path, "%s[%zu]", path, i);
        ok = parse_text(PyTuple_GetItem(names, (Py_ssize_t)i), name_path, parser,
                        &track->ik_names[i]);
    }
    Py_XDECREF(names);
    return ok;
}

bool mmd_py_field_set_ik_enabled(const mmd_py_record_field *field, PyObject *value,
                                 mmd_py_record_track_parser *parser)
{
    mmd_property_track *track = parser->track;
    char path[96];
    mmd_py_array array = {0};
    const size_t shape[] = {track->key_count, track->ik_count};
    field_path(field, parser, path);
    bool ok = mmd_py_array_from(value, path, MMD_PY_BOOL, true, &array) &&
              mmd_py_array_check_shape(&array, path, 2, shape, "") &&
              PyList_Append(parser->references, array.object) == 0;
    if (ok)
        track->ik_enabled = array.data;
    mmd_py_array_clear(&array);
    return ok;
}

/* The number of fields at the end of a record that are optional. */
static bool count_optional(const mmd_py_record_type *type, size_t *count)
{
    *count = 0;
    if (!type->defaults)
        return true;
    PyObject *defaults = type->defaults();
    if (!defaults)
        return false;
    *count = (size_t)PyTuple_Size(defaults);
    Py_DECREF(defaults);
    return true;
}

static bool parse_record(mmd_py_record_kind kind, PyObject *record,
                         mmd_py_record_track_parser *parser, void *track)
{
    const mmd_py_record_type *type = &mmd_py_record_types[kind];
    size_t optional;
    if (!count_optional(type, &optional))
        return false;
    PyObject *values = PySequence_Tuple(record);
    if (!values && !PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    size_t count = values ? (size_t)PyTuple_Size(values) : 0;
    bool ok = values && count <= type->field_count && count + optional >= type->field_count;
    if (!ok)
        PyErr_Format(PyExc_TypeError, "%s: expected a %s, not %R", parser->path, type->name,
                     (PyObject *)Py_TYPE(record));
    parser->track = track;
    parser->has_key_count = false;
    for (size_t i = 0; ok && i < count; i++)
        ok = type->fields[i].set(&type->fields[i], PyTuple_GetItem(values, (Py_ssize_t)i), parser);
    Py_XDECREF(values);
    return ok;
}

static bool parse_records(mmd_py_record_kind kind, PyObject *records, const char *name,
                          mmd_py_record_track_parser *parser, void **tracks, size_t *count)
{
    PyObject *all = mmd_py_record_sequence(records, name);
    if (!all)
        return false;
    size_t size = mmd_py_record_types[kind].size;
    *count = (size_t)PyTuple_Size(all);
    *tracks = mmd_arena_alloc(&parser->arena, *count, size);
    bool ok = *tracks || PyErr_NoMemory();
    for (size_t i = 0; ok && i < *count; i++) {
        PyOS_snprintf(parser->path, sizeof parser->path, "%s[%zu]", name, i);
        ok = parse_record(kind, PyTuple_GetItem(all, (Py_ssize_t)i), parser,
                          (char *)*tracks + i * size);
    }
    Py_DECREF(all);
    return ok;
}

static bool parse_single(mmd_py_record_kind kind, PyObject *record, const char *name,
                         mmd_py_record_track_parser *parser, void *track)
{
    PyOS_snprintf(parser->path, sizeof parser->path, "%s", name);
    return record == Py_None || parse_record(kind, record, parser, track);
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
    mmd_py_record_track_parser parser = {.references = PyList_New(0)};
    mmd_motion tracks = {0}, *motion = NULL;
    void *bones = NULL, *morphs = NULL;
    mmd_error err = {0};
    if (parser.references &&
        (!arguments->name || parse_text(arguments->name, "name", &parser, &tracks.name)) &&
        parse_records(MMD_PY_RECORD_BONE_TRACK, arguments->bones, "bones", &parser, &bones,
                      &tracks.bone_track_count) &&
        parse_records(MMD_PY_RECORD_MORPH_TRACK, arguments->morphs, "morphs", &parser, &morphs,
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
            mmd_py_exceptions_raise(state, &err);
    }
    mmd_arena_free(&parser.arena);
    Py_XDECREF(parser.references);
    return motion;
}

PyObject *mmd_py_motion_from_tracks(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"bones",  "morphs",     "camera", "light",
                            "shadow", "properties", "name",   NULL};
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *no_tracks = PyTuple_New(0), *result = NULL;
    track_arguments tracks = {no_tracks, no_tracks, Py_None, Py_None, Py_None, Py_None, NULL};
    if (no_tracks &&
        PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOOOO:from_tracks", names, &tracks.bones,
                                    &tracks.morphs, &tracks.camera, &tracks.light, &tracks.shadow,
                                    &tracks.properties, &tracks.name)) {
        mmd_motion *motion = build_motion(state, &tracks);
        result = motion ? mmd_py_motion_new(state, motion, NULL) : NULL;
    }
    Py_XDECREF(no_tracks);
    return result;
}

const char mmd_py_motion_from_tracks_doc[] =
    "from_tracks($type, bones=(), morphs=(), camera=None, light=None, shadow=None,\n"
    "            properties=None, name=...)\n--\n\n"
    "Creates a Motion from tracks: new ones, or the members of another Motion, edited or not.\n\n"
    "bones: sequence of BoneTrack; morphs: sequence of MorphTrack. Tracks without keys are\n"
    "    dropped.\n"
    "camera, light, shadow, properties: a CameraTrack, LightTrack, ShadowTrack, PropertyTrack,\n"
    "    or None.\n"
    "name: name of the model that the motion is for. By default \"\", or for a camera, light and\n"
    "    shadow alone the name by which MMD knows their files.\n"
    "Names may hold surrogates U+DC80 to U+DCFF: load_motion() gives them for bytes that are no\n"
    "characters, and save() writes these bytes again.\n\n"
    "Arrays are copied. Keys may be in any order; of equal frames the last is kept, as in a\n"
    "file. Rotations of bones may have any length but zero. None stands for a default:\n"
    "translations zero, rotations identity, interpolation linear, physics, perspective and\n"
    "visible True. `physics` and `stored` of a bone track may be omitted.\n\n"
    "Raises ValueError for numbers that are not finite, frames outside uint32, interpolation\n"
    "outside 0 to 127, shadow modes outside 0 to 2 and two tracks of the same name, TypeError\n"
    "for anything that is not a track. The message names the track and the key.";
