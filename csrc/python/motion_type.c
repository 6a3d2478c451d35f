/* SPDX-License-Identifier: MIT */
#include "core/pose/binding.h"
#include "python/pose_arguments.h"
#include "python/records.h"
#include "python/tracks.h"

enum { BONES, MORPHS, SECTIONS };

/* `owner` is a capsule that frees the C motion: the base of every view (see model_type.c). */
typedef struct motion_object {
    PyObject_HEAD
    PyObject *owner;
    PyObject *bytes;              /* the file, for pickling; NULL: made of tracks */
    PyObject *sections[SECTIONS]; /* tuples of records, made when first asked for */
    const mmd_motion *motion;
    mmd_ring posers;
} motion_object;

static const char OWNER[] = "mmdskin.motion";

static void free_owner(PyObject *owner)
{
    mmd_motion_free(PyCapsule_GetPointer(owner, OWNER));
}

const mmd_motion *mmd_motion_data(PyObject *motion)
{
    return ((motion_object *)motion)->motion;
}

mmd_ring *mmd_motion_posers(PyObject *motion)
{
    return &((motion_object *)motion)->posers;
}

const char mmd_load_motion_doc[] =
    "load_motion($module, source, /)\n--\n\n"
    "Reads a VMD motion or a VPD pose (a motion of one frame, 0), told apart by content.\n\n"
    "source: a path (str or os.PathLike) or the file's contents (bytes-like).\n"
    "Keys are sorted; of equal frames the last in the file stays. Rotations are normalised.\n\n"
    "Raises FormatError for contents that cannot be read, OSError for a file that cannot be\n"
    "opened, TypeError for any other source.";

/* Takes the motion over, also when it fails. */
static PyObject *wrap(mmd_state *state, mmd_motion *motion, PyObject *bytes)
{
    PyObject *owner = PyCapsule_New(motion, OWNER, free_owner);
    motion_object *self = owner ? (motion_object *)mmd_object_new(state->motion_type) : NULL;
    if (!self) {
        if (!owner)
            mmd_motion_free(motion);
        Py_XDECREF(owner);
        return NULL;
    }
    self->owner = owner;
    self->bytes = Py_XNewRef(bytes);
    self->motion = motion;
    mmd_ring_init(&self->posers);
    return (PyObject *)self;
}

static PyObject *load(mmd_state *state, PyObject *bytes)
{
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return NULL;
    mmd_error err = {0};
    mmd_motion *motion;
    Py_BEGIN_ALLOW_THREADS
    motion = mmd_motion_load((const uint8_t *)data, (size_t)size, &err);
    Py_END_ALLOW_THREADS
    return motion ? wrap(state, motion, bytes) : mmd_raise(state, &err);
}

PyObject *mmd_py_load_motion(PyObject *module, PyObject *source)
{
    PyObject *bytes = mmd_read_source(source);
    if (!bytes)
        return NULL;
    PyObject *motion = load(mmd_state_of_module(module), bytes);
    Py_DECREF(bytes);
    return motion;
}

static PyObject *from_tracks(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"bones",  "morphs",     "camera", "light",
                            "shadow", "properties", "name",   NULL};
    mmd_state *state = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *none = PyTuple_New(0), *nameless = PyUnicode_FromString(""), *made = NULL;
    mmd_given_tracks given = {none, none, Py_None, Py_None, Py_None, Py_None, nameless};
    if (none && nameless &&
        PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOOOO:from_tracks", names, &given.bones,
                                    &given.morphs, &given.camera, &given.light, &given.shadow,
                                    &given.properties, &given.name)) {
        mmd_motion *motion = mmd_motion_of_tracks(state, &given);
        made = motion ? wrap(state, motion, NULL) : NULL;
    }
    Py_XDECREF(none);
    Py_XDECREF(nameless);
    return made;
}

static const char from_tracks_doc[] =
    "from_tracks($type, bones=(), morphs=(), camera=None, light=None, shadow=None,\n"
    "            properties=None, name=\"\")\n--\n\n"
    "A Motion of arrays: what the members of these names give, edited or made anew.\n\n"
    "bones: sequence of BoneTrack, morphs: of MorphTrack; a track without keys is left out.\n"
    "camera, light, shadow, properties: a CameraTrack, LightTrack, ShadowTrack, PropertyTrack, or\n"
    "    None.\n"
    "name: of the model that the motion is for.\n"
    "Keys may come in any order; of equal frames the last stays, as in a file. Rotations of bones\n"
    "may have any length but zero. None as translations, rotations, interpolation or physics of a\n"
    "bone is zero, no turn, straight lines, on, and physics may be left out; the camera's\n"
    "interpolation and perspective and the properties' visible may be None, too. Arrays are\n"
    "copied.\n\n"
    "Raises ValueError for numbers that are not finite, frames outside of uint32, curves outside "
    "of\n"
    "0 to 127, modes outside of 0 to 2 and two tracks of one name, TypeError for what is no "
    "track;\n"
    "the text names track and key.";

static PyObject *save(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "truncate", NULL};
    PyObject *path;
    int truncate = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$p:save", names, &path, &truncate))
        return NULL;
    const mmd_motion *motion = ((motion_object *)self)->motion;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)mmd_vmd_size(motion));
    if (!bytes)
        return NULL;
    uint8_t *out = (uint8_t *)PyBytes_AsString(bytes);
    mmd_error err = {0};
    bool written;
    Py_BEGIN_ALLOW_THREADS
    written = mmd_vmd_write(motion, truncate, out, &err);
    Py_END_ALLOW_THREADS
    if (!written)
        mmd_raise(mmd_state_of(self), &err);
    written = written && mmd_write_target(path, bytes);
    Py_DECREF(bytes);
    return written ? Py_NewRef(Py_None) : NULL;
}

static const char save_doc[] =
    "save($self, path, *, truncate=False)\n--\n\n"
    "Writes a VMD, which is read back with equal tracks.\n\n"
    "path: a path (str or os.PathLike), or a binary file open for writing.\n"
    "truncate: cuts names of more than 15 bytes in cp932 (the motion's own: 20) to the characters\n"
    "    that fit. MMD moves nothing by a name that is cut.\n\n"
    "Raises ValueError, before anything is written, for names that are too long, names that cut "
    "are\n"
    "equal, characters that cp932 lacks, and view angles that are no whole degrees; OSError for a\n"
    "file that cannot be written.";

static int motion_traverse(PyObject *self, visitproc visit, void *arg)
{
    const motion_object *motion = (const motion_object *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < SECTIONS; i++)
        Py_VISIT(motion->sections[i]);
    return 0;
}

static void motion_dealloc(PyObject *self)
{
    motion_object *motion = (motion_object *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < SECTIONS; i++)
        Py_CLEAR(motion->sections[i]);
    mmd_posers_free_of_motion(&motion->posers);
    Py_CLEAR(motion->bytes);
    Py_CLEAR(motion->owner);
    mmd_object_free(self);
}

static PyObject *motion_repr(PyObject *self)
{
    const mmd_motion *motion = ((motion_object *)self)->motion;
    PyObject *name = mmd_text_object(motion->name);
    PyObject *text = name ? PyUnicode_FromFormat(
                                "<mmdskin.Motion %R: frames %u to %u, %zu bones, %zu morphs>", name,
                                (unsigned)motion->first_frame, (unsigned)motion->last_frame,
                                motion->bone_track_count, motion->morph_track_count)
                          : NULL;
    Py_XDECREF(name);
    return text;
}

static PyObject *motion_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    static const char *const members[] = {"bones",  "morphs",     "camera", "light",
                                          "shadow", "properties", "name",   NULL};
    PyObject *bytes = ((motion_object *)self)->bytes;
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    if (bytes) {
        PyObject *function = module ? PyObject_GetAttrString(module, "load_motion") : NULL;
        return function ? Py_BuildValue("N(O)", function, bytes) : NULL;
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && members[i]; i++) {
        PyObject *member = PyObject_GetAttrString(self, members[i]);
        if (!member || PyList_Append(list, member) < 0)
            Py_CLEAR(list);
        Py_XDECREF(member);
    }
    PyObject *arguments = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    PyObject *function = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "from_tracks");
    if (function && arguments)
        return Py_BuildValue("NN", function, arguments);
    Py_XDECREF(function);
    Py_XDECREF(arguments);
    return NULL;
}

static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return mmd_text_object(((motion_object *)self)->motion->name);
}

static PyObject *get_frame_range(PyObject *self, void *unused)
{
    (void)unused;
    const mmd_motion *motion = ((motion_object *)self)->motion;
    return Py_BuildValue("(II)", (unsigned)motion->first_frame, (unsigned)motion->last_frame);
}

static const mmd_section sections[SECTIONS] = {
    [BONES] = {.kind = MMD_RECORD_BONE_TRACK,
               .data_offset = offsetof(mmd_motion, bone_tracks),
               .count_offset = offsetof(mmd_motion, bone_track_count)},
    [MORPHS] = {.kind = MMD_RECORD_MORPH_TRACK,
                .data_offset = offsetof(mmd_motion, morph_tracks),
                .count_offset = offsetof(mmd_motion, morph_track_count)}};

static PyObject *get_section(PyObject *self, void *index)
{
    motion_object *motion = (motion_object *)self;
    mmd_shown shown = {mmd_state_of(self), motion->motion, motion->owner};
    return mmd_section_object(&sections[(size_t)index], &shown, &motion->sections[(size_t)index]);
}

/* The tracks of which a motion has one each. */
typedef struct single_track {
    mmd_record kind;
    size_t offset;
} single_track;

static const single_track camera = {MMD_RECORD_CAMERA_TRACK, offsetof(mmd_motion, camera)};
static const single_track light = {MMD_RECORD_LIGHT_TRACK, offsetof(mmd_motion, light)};
static const single_track shadow = {MMD_RECORD_SHADOW_TRACK, offsetof(mmd_motion, shadow)};
static const single_track properties = {MMD_RECORD_PROPERTY_TRACK,
                                        offsetof(mmd_motion, properties)};

static PyObject *get_track(PyObject *self, void *closure)
{
    const single_track *track = closure;
    const motion_object *motion = (const motion_object *)self;
    return mmd_record_of(mmd_state_of(self), track->kind,
                         (const char *)motion->motion + track->offset, motion->owner);
}

/* Names that the binding has found nothing for. */
static PyObject *names_without(const mmd_text *name, size_t stride, const bool *bound, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        const mmd_text *at = (const mmd_text *)((const char *)name + i * stride);
        PyObject *text = bound[i] ? NULL : mmd_text_object(*at);
        if (!bound[i] && (!text || PyList_Append(list, text) < 0))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static const char unmatched_doc[] = "unmatched($self, model, /)\n--\n\n"
                                    "Names that the model lacks, as Unmatched(bones, morphs, ik) "
                                    "of tuples of str. Such tracks have\n"
                                    "no effect in Model.pose. Names match when they are equal.";

static PyObject *unmatched(PyObject *self, PyObject *model)
{
    mmd_state *state = mmd_state_of(self);
    if (!mmd_model_check(state, model))
        return NULL;
    const mmd_motion *motion = ((motion_object *)self)->motion;
    mmd_error err = {0};
    mmd_binding *binding = mmd_binding_new(mmd_model_rig(model), motion, &err);
    if (!binding)
        return mmd_raise(state, &err);
    PyObject *result = PyObject_CallFunction(
        state->records[MMD_RECORD_UNMATCHED], "NNN",
        names_without(&motion->bone_tracks->name, sizeof *motion->bone_tracks,
                      binding->bone_track_bound, motion->bone_track_count),
        names_without(&motion->morph_tracks->name, sizeof *motion->morph_tracks,
                      binding->morph_track_bound, motion->morph_track_count),
        names_without(motion->properties.ik_names, sizeof *motion->properties.ik_names,
                      binding->property_bound, motion->properties.ik_count));
    mmd_binding_free(binding);
    return result;
}

static PyMethodDef motion_methods[] = {
    {"camera_at", mmd_py_camera_at, METH_O, mmd_camera_at_doc},
    {"from_tracks", (PyCFunction)(void (*)(void))from_tracks,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, from_tracks_doc},
    {"save", (PyCFunction)(void (*)(void))save, METH_VARARGS | METH_KEYWORDS, save_doc},
    {"unmatched", unmatched, METH_O, unmatched_doc},
    {"__reduce__", motion_reduce, METH_NOARGS,
     "Pickles as the bytes of the file, or as its tracks."},
    {0}};

static PyGetSetDef motion_members[] = {
    {"name", get_name, NULL, "Name of the model that the motion was saved for, str.", NULL},
    {"frame_range", get_frame_range, NULL,
     "(first, last) frame of all tracks, (0, 0) when there is none; 30 frames a second.", NULL},
    {"bones", get_section, NULL, "Tuple of BoneTrack.", (void *)(size_t)BONES},
    {"morphs", get_section, NULL, "Tuple of MorphTrack.", (void *)(size_t)MORPHS},
    {"camera", get_track, NULL, "CameraTrack.", (void *)&camera},
    {"light", get_track, NULL, "LightTrack.", (void *)&light},
    {"shadow", get_track, NULL, "ShadowTrack.", (void *)&shadow},
    {"properties", get_track, NULL, "PropertyTrack: visibility and IK switches.",
     (void *)&properties},
    {0}};

static const char motion_doc[] = "A motion, as load_motion() and from_tracks() return it: "
                                 "immutable, picklable, and safe to\n"
                                 "share between threads. Arrays are read-only views without a "
                                 "copy; a view keeps the data alive.";

static PyType_Slot motion_slots[] = {{Py_tp_doc, (void *)motion_doc},
                                     {Py_tp_dealloc, motion_dealloc},
                                     {Py_tp_traverse, motion_traverse},
                                     {Py_tp_repr, motion_repr},
                                     {Py_tp_methods, motion_methods},
                                     {Py_tp_getset, motion_members},
                                     {0, NULL}};

PyType_Spec mmd_motion_spec = {.name = "mmdskin.Motion",
                               .basicsize = sizeof(motion_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                        Py_TPFLAGS_IMMUTABLETYPE |
                                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = motion_slots};
