/* SPDX-License-Identifier: MIT */
/* Records read backwards: the tracks that Motion.from_tracks takes. */
#include "python/tracks.h"

#include "core/base/arena.h"
#include "python/record_fields.h"

/* What keeps the memory that the tracks point to, and where an error was. */
struct mmd_taking {
    PyObject *held; /* list */
    mmd_arena arena;
    char place[64]; /* "bones[3]" */
    void *track;
    bool counted; /* the track knows how many keys it has */
};

static void *member(const mmd_field *field, const mmd_taking *taking)
{
    return (char *)taking->track + field->offset;
}

static void field_place(const mmd_field *field, const mmd_taking *taking, char out[96])
{
    PyOS_snprintf(out, 96, "%s%s%s", taking->place, *taking->place ? "." : "", field->name);
}

static bool take_text(PyObject *value, const char *place, mmd_taking *taking, mmd_text *text)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a str, not %R", place,
                     (PyObject *)Py_TYPE(value));
        return false;
    }
    Py_ssize_t size = 0;
    const char *data = PyUnicode_AsUTF8AndSize(value, &size);
    if (!data && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        PyErr_Format(PyExc_ValueError, "%s: half of a surrogate pair", place);
    *text = (mmd_text){data, (size_t)size};
    return data && PyList_Append(taking->held, value) == 0;
}

bool mmd_take_text(const mmd_field *field, PyObject *value, mmd_taking *taking)
{
    char place[96];
    field_place(field, taking, place);
    return take_text(value, place, taking, member(field, taking));
}

/* The first array of a track says how many keys there are. */
bool mmd_take_keys(const mmd_field *field, PyObject *value, mmd_taking *taking)
{
    char place[96];
    mmd_array array = {0};
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t *count = (size_t *)(void *)((char *)taking->track + field->as.keys.count_offset);
    field_place(field, taking, place);
    if (value == Py_None && taking->counted)
        return true;
    if (!mmd_array_from(value, place, field->as.keys.dtype, true, &array))
        return false;
    const size_t shape[] = {taking->counted ? *count : MMD_ANY, columns, depth};
    bool good = mmd_array_check_shape(&array, place, 1 + (columns > 0) + (depth > 0), shape, "n") &&
                PyList_Append(taking->held, array.object) == 0;
    if (good) {
        *count = array.shape[0];
        taking->counted = true;
        *(void **)member(field, taking) = array.data;
    }
    mmd_array_clear(&array);
    return good;
}

bool mmd_take_ik_names(const mmd_field *field, PyObject *value, mmd_taking *taking)
{
    mmd_property_track *track = taking->track;
    char place[96], name_place[128];
    field_place(field, taking, place);
    if (PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a sequence of names, not a str", place);
        return false;
    }
    PyObject *names = mmd_record_sequence(value, place);
    bool good = names != NULL;
    if (good) {
        track->ik_count = (size_t)PyTuple_Size(names);
        track->ik_names = mmd_arena_alloc(&taking->arena, track->ik_count, sizeof *track->ik_names);
        good = track->ik_names || PyErr_NoMemory();
    }
    for (size_t i = 0; good && i < track->ik_count; i++) {
        PyOS_snprintf(name_place, sizeof name_place, "%s[%zu]", place, i);
        good = take_text(PyTuple_GetItem(names, (Py_ssize_t)i), name_place, taking,
                         &track->ik_names[i]);
    }
    Py_XDECREF(names);
    return good;
}

bool mmd_take_ik_enabled(const mmd_field *field, PyObject *value, mmd_taking *taking)
{
    mmd_property_track *track = taking->track;
    char place[96];
    mmd_array array = {0};
    const size_t shape[] = {track->key_count, track->ik_count};
    field_place(field, taking, place);
    bool good = mmd_array_from(value, place, MMD_BOOL, true, &array) &&
                mmd_array_check_shape(&array, place, 2, shape, "") &&
                PyList_Append(taking->held, array.object) == 0;
    if (good)
        track->ik_enabled = array.data;
    mmd_array_clear(&array);
    return good;
}

/* How many values at its end a record may lack. */
static bool count_optional(const mmd_record_type *type, size_t *count)
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

static bool take_record(mmd_record kind, PyObject *record, mmd_taking *taking, void *track)
{
    const mmd_record_type *type = &mmd_record_types[kind];
    size_t optional;
    if (!count_optional(type, &optional))
        return false;
    PyObject *values = PySequence_Tuple(record);
    if (!values && !PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    size_t given = values ? (size_t)PyTuple_Size(values) : 0;
    bool good = values && given <= type->field_count && given + optional >= type->field_count;
    if (!good)
        PyErr_Format(PyExc_TypeError, "%s: expected a %s, not %R", taking->place, type->name,
                     (PyObject *)Py_TYPE(record));
    taking->track = track;
    taking->counted = false;
    for (size_t i = 0; good && i < given; i++)
        good =
            type->fields[i].take(&type->fields[i], PyTuple_GetItem(values, (Py_ssize_t)i), taking);
    Py_XDECREF(values);
    return good;
}

static bool take_records(mmd_record kind, PyObject *records, const char *name, mmd_taking *taking,
                         void **tracks, size_t *count)
{
    PyObject *all = mmd_record_sequence(records, name);
    if (!all)
        return false;
    size_t size = mmd_record_types[kind].size;
    *count = (size_t)PyTuple_Size(all);
    *tracks = mmd_arena_alloc(&taking->arena, *count, size);
    bool good = *tracks || PyErr_NoMemory();
    for (size_t i = 0; good && i < *count; i++) {
        PyOS_snprintf(taking->place, sizeof taking->place, "%s[%zu]", name, i);
        good = take_record(kind, PyTuple_GetItem(all, (Py_ssize_t)i), taking,
                           (char *)*tracks + i * size);
    }
    Py_DECREF(all);
    return good;
}

static bool take_single(mmd_record kind, PyObject *record, const char *name, mmd_taking *taking,
                        void *track)
{
    PyOS_snprintf(taking->place, sizeof taking->place, "%s", name);
    return record == Py_None || take_record(kind, record, taking, track);
}

mmd_motion *mmd_motion_of_tracks(mmd_state *state, const mmd_given_tracks *given)
{
    mmd_taking taking = {.held = PyList_New(0)};
    mmd_motion tracks = {0}, *motion = NULL;
    void *bones = NULL, *morphs = NULL;
    mmd_error err = {0};
    if (taking.held && take_text(given->name, "name", &taking, &tracks.name) &&
        take_records(MMD_RECORD_BONE_TRACK, given->bones, "bones", &taking, &bones,
                     &tracks.bone_track_count) &&
        take_records(MMD_RECORD_MORPH_TRACK, given->morphs, "morphs", &taking, &morphs,
                     &tracks.morph_track_count) &&
        take_single(MMD_RECORD_CAMERA_TRACK, given->camera, "camera", &taking, &tracks.camera) &&
        take_single(MMD_RECORD_LIGHT_TRACK, given->light, "light", &taking, &tracks.light) &&
        take_single(MMD_RECORD_SHADOW_TRACK, given->shadow, "shadow", &taking, &tracks.shadow) &&
        take_single(MMD_RECORD_PROPERTY_TRACK, given->properties, "properties", &taking,
                    &tracks.properties)) {
        tracks.bone_tracks = bones;
        tracks.morph_tracks = morphs;
        Py_BEGIN_ALLOW_THREADS
        motion = mmd_motion_new(&tracks, &err);
        Py_END_ALLOW_THREADS
        if (!motion)
            mmd_raise(state, &err);
    }
    mmd_arena_free(&taking.arena);
    Py_XDECREF(taking.held);
    return motion;
}
