/* SPDX-License-Identifier: MIT */
/* The Python type Motion: load_motion(), pickling, properties. */
#include "core/model/motion.h"
#include "core/pose/binding.h"
#include "python/exceptions.h"
#include "python/record.h"
#include "python/types.h"

enum { BONES, MORPHS, TUPLES };

/* `owner` is a capsule that frees the C motion, the base of every view; see model_type.c. */
typedef struct motion_object {
    PyObject_HEAD
    PyObject *owner;
    PyObject *bytes;          /* of the file, for pickling; NULL: created from tracks */
    PyObject *tuples[TUPLES]; /* cached tuples of records */
    const mmd_motion *motion;
    mmd_py_poser_list posers;
} motion_object;

static const char OWNER[] = "mmdskin.motion";

static void free_owner(PyObject *owner)
{
    mmd_motion_free(PyCapsule_GetPointer(owner, OWNER));
}

bool mmd_py_motion_check(mmd_py_state *state, PyObject *motion)
{
    if (motion == Py_None || Py_TYPE(motion) == state->motion_type)
        return true;
    PyErr_Format(PyExc_TypeError, "motion: expected a Motion or None, not %R",
                 (PyObject *)Py_TYPE(motion));
    return false;
}

const mmd_motion *mmd_py_motion_data(PyObject *motion)
{
    return ((motion_object *)motion)->motion;
}

mmd_py_poser_list *mmd_py_motion_poser_list(PyObject *motion)
{
    return &((motion_object *)motion)->posers;
}

const char mmd_py_motion_load_doc[] =
    "load_motion($module, source, /)\n--\n\n"
    "Loads a VMD motion, or a VPD pose as a motion with one frame, 0. Detected by content.\n\n"
    "source: a path (str or os.PathLike), a file opened with mode \"rb\", or the contents of a\n"
    "    file (bytes-like). A pipe or a device may give up to 1 GiB.\n"
    "Keys are sorted by frame; of equal frames the last in the file is kept. Rotations are\n"
    "normalized. Bytes of names that are not characters, as in names that MMD has cut, become\n"
    "surrogates, as by Python's \"surrogateescape\".\n\n"
    "Raises FormatError if the contents cannot be read, OSError if the file cannot be opened,\n"
    "and TypeError for any other source.";

PyObject *mmd_py_motion_new(mmd_py_state *state, mmd_motion *motion, PyObject *bytes)
{
    PyObject *owner = PyCapsule_New(motion, OWNER, free_owner);
    motion_object *self = owner ? (motion_object *)mmd_py_object_new(state->motion_type) : NULL;
    if (!self) {
        if (!owner)
            mmd_motion_free(motion);
        Py_XDECREF(owner);
        return NULL;
    }
    self->owner = owner;
    self->bytes = Py_XNewRef(bytes);
    self->motion = motion;
    mmd_py_poser_list_init(&self->posers);
    return (PyObject *)self;
}

static PyObject *load(mmd_py_state *state, PyObject *bytes)
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
    return motion ? mmd_py_motion_new(state, motion, bytes) : mmd_py_exceptions_raise(state, &err);
}

PyObject *mmd_py_motion_load(PyObject *module, PyObject *source)
{
    PyObject *bytes = mmd_py_object_call(MMD_PY_FILE_IO, "read", "(O)", source);
    if (!bytes)
        return NULL;
    PyObject *motion = load(mmd_py_state_of_module(module), bytes);
    Py_DECREF(bytes);
    return motion;
}

static int motion_traverse(PyObject *self, visitproc visit, void *arg)
{
    const motion_object *motion = (const motion_object *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < TUPLES; i++)
        Py_VISIT(motion->tuples[i]);
    return 0;
}

static void motion_dealloc(PyObject *self)
{
    motion_object *motion = (motion_object *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < TUPLES; i++)
        Py_CLEAR(motion->tuples[i]);
    mmd_py_poser_cache_clear_motion(&motion->posers);
    Py_CLEAR(motion->bytes);
    Py_CLEAR(motion->owner);
    mmd_py_object_free(self);
}

static PyObject *motion_repr(PyObject *self)
{
    const mmd_motion *motion = ((motion_object *)self)->motion;
    PyObject *name = mmd_py_record_str(motion->name);
    PyObject *text = name ? PyUnicode_FromFormat(
                                "<mmdskin.Motion %R: frames %u to %u, %zu bones, %zu morphs>", name,
                                (unsigned)motion->first_frame, (unsigned)motion->last_frame,
                                motion->bone_track_count, motion->morph_track_count)
                          : NULL;
    Py_XDECREF(name);
    return text;
}

static PyObject *motion_compare(PyObject *self, PyObject *other, int operation)
{
    if (Py_TYPE(other) != Py_TYPE(self) || (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    bool equal = self == other || mmd_motion_equal(((motion_object *)self)->motion,
                                                   ((motion_object *)other)->motion);
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

/* By what is quick to read, and seldom the same in different motions. */
static Py_hash_t motion_hash(PyObject *self)
{
    const mmd_motion *motion = ((motion_object *)self)->motion;
    PyObject *key =
        Py_BuildValue("(NIInnn)", mmd_py_record_str(motion->name), (unsigned)motion->first_frame,
                      (unsigned)motion->last_frame, (Py_ssize_t)motion->bone_track_count,
                      (Py_ssize_t)motion->morph_track_count, (Py_ssize_t)motion->camera.key_count);
    Py_hash_t hash = key ? PyObject_Hash(key) : -1;
    Py_XDECREF(key);
    return hash;
}

static PyObject *motion_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mmd_py_object_call(MMD_PY_NOTEBOOK, "motion_html", "(O)", self);
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
    PyObject *type = (PyObject *)Py_TYPE(self);
    PyObject *function = arguments ? PyObject_GetAttrString(type, "from_tracks") : NULL;
    if (function)
        return Py_BuildValue("NN", function, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return mmd_py_record_str(((motion_object *)self)->motion->name);
}

static PyObject *get_duration(PyObject *self, void *unused)
{
    (void)unused;
    const mmd_motion *motion = ((motion_object *)self)->motion;
    return PyFloat_FromDouble((motion->last_frame - motion->first_frame) / 30.0);
}

static PyObject *get_frame_range(PyObject *self, void *unused)
{
    (void)unused;
    const mmd_motion *motion = ((motion_object *)self)->motion;
    return Py_BuildValue("(II)", (unsigned)motion->first_frame, (unsigned)motion->last_frame);
}

static const mmd_py_record_cached_tuple tuples[TUPLES] = {
    [BONES] = {.kind = MMD_PY_RECORD_BONE_TRACK,
               .data_offset = offsetof(mmd_motion, bone_tracks),
               .count_offset = offsetof(mmd_motion, bone_track_count)},
    [MORPHS] = {.kind = MMD_PY_RECORD_MORPH_TRACK,
                .data_offset = offsetof(mmd_motion, morph_tracks),
                .count_offset = offsetof(mmd_motion, morph_track_count)}};

static PyObject *get_tuple(PyObject *self, void *index)
{
    motion_object *motion = (motion_object *)self;
    mmd_py_record_source source = {mmd_py_state_of(self), motion->motion, motion->owner};
    return mmd_py_record_cached_tuple_get(&tuples[(size_t)index], &source,
                                          &motion->tuples[(size_t)index]);
}

/* A property for a track that a motion has once. */
typedef struct single_track {
    mmd_py_record_kind kind;
    size_t offset;
} single_track;

static const single_track camera = {MMD_PY_RECORD_CAMERA_TRACK, offsetof(mmd_motion, camera)};
static const single_track light = {MMD_PY_RECORD_LIGHT_TRACK, offsetof(mmd_motion, light)};
static const single_track shadow = {MMD_PY_RECORD_SHADOW_TRACK, offsetof(mmd_motion, shadow)};
static const single_track properties = {MMD_PY_RECORD_PROPERTY_TRACK,
                                        offsetof(mmd_motion, properties)};

static PyObject *get_track(PyObject *self, void *closure)
{
    const single_track *track = closure;
    const motion_object *motion = (const motion_object *)self;
    return mmd_py_record_new(mmd_py_state_of(self), track->kind,
                             (const char *)motion->motion + track->offset, motion->owner);
}

/* The names that are not bound, as a tuple. */
static PyObject *unbound_names(const mmd_text *name, size_t stride, const bool *bound, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        const mmd_text *at = (const mmd_text *)((const char *)name + i * stride);
        PyObject *text = bound[i] ? NULL : mmd_py_record_str(*at);
        if (!bound[i] && (!text || PyList_Append(list, text) < 0))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static const char unmatched_doc[] =
    "unmatched($self, model, /)\n--\n\n"
    "Names of the motion that the model lacks, as Unmatched(bones, morphs, ik) of tuples of\n"
    "str. Model.pose() ignores these tracks. Names must match exactly.";

static PyObject *unmatched(PyObject *self, PyObject *model)
{
    mmd_py_state *state = mmd_py_state_of(self);
    if (!mmd_py_model_check(state, model))
        return NULL;
    const mmd_motion *motion = ((motion_object *)self)->motion;
    mmd_error err = {0};
    mmd_binding *binding = mmd_binding_new(mmd_py_model_rig(model), motion, &err);
    if (!binding)
        return mmd_py_exceptions_raise(state, &err);
    PyObject *result = PyObject_CallFunction(
        state->records[MMD_PY_RECORD_UNMATCHED], "NNN",
        unbound_names(&motion->bone_tracks->name, sizeof *motion->bone_tracks,
                      binding->bone_track_bound, motion->bone_track_count),
        unbound_names(&motion->morph_tracks->name, sizeof *motion->morph_tracks,
                      binding->morph_track_bound, motion->morph_track_count),
        unbound_names(motion->properties.ik_names, sizeof *motion->properties.ik_names,
                      binding->property_bound, motion->properties.ik_count));
    mmd_binding_free(binding);
    return result;
}

static PyMethodDef motion_methods[] = {
    {"camera_at", mmd_py_motion_camera_at, METH_O, mmd_py_motion_camera_at_doc},
    {"light_at", mmd_py_motion_light_at, METH_O, mmd_py_motion_light_at_doc},
    {"shadow_at", mmd_py_motion_shadow_at, METH_O, mmd_py_motion_shadow_at_doc},
    {"from_camera", (PyCFunction)(void (*)(void))mmd_py_motion_from_camera,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, mmd_py_motion_from_camera_doc},
    {"from_locals", (PyCFunction)(void (*)(void))mmd_py_motion_from_locals,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, mmd_py_motion_from_locals_doc},
    {"from_poses", (PyCFunction)(void (*)(void))mmd_py_motion_from_poses,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, mmd_py_motion_from_poses_doc},
    {"from_tracks", (PyCFunction)(void (*)(void))mmd_py_motion_from_tracks,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, mmd_py_motion_from_tracks_doc},
    {"save", (PyCFunction)(void (*)(void))mmd_py_motion_save, METH_VARARGS | METH_KEYWORDS,
     mmd_py_motion_save_doc},
    {"unmatched", unmatched, METH_O, unmatched_doc},
    {"_repr_html_", motion_html, METH_NOARGS, "For notebooks: a table of what the motion has."},
    {"__reduce__", motion_reduce, METH_NOARGS, "Pickles as the bytes of the file, or as tracks."},
    {0}};

static PyGetSetDef motion_members[] = {
    {"name", get_name, NULL, "Name of the model that the motion was made for, str.", NULL},
    {"frame_range", get_frame_range, NULL,
     "(first, last) frame of all tracks, (0, 0) without keys; 30 frames per second.", NULL},
    {"duration", get_duration, NULL, "Seconds from the first to the last frame, float.", NULL},
    {"bones", get_tuple, NULL, "Named tuple of BoneTrack: also motion.bones[\"センター\"].",
     (void *)(size_t)BONES},
    {"morphs", get_tuple, NULL, "Named tuple of MorphTrack.", (void *)(size_t)MORPHS},
    {"camera", get_track, NULL, "CameraTrack.", (void *)&camera},
    {"light", get_track, NULL, "LightTrack.", (void *)&light},
    {"shadow", get_track, NULL, "ShadowTrack.", (void *)&shadow},
    {"properties", get_track, NULL, "PropertyTrack: visibility and IK switches.",
     (void *)&properties},
    {0}};

static const char motion_doc[] =
    "A motion, as load_motion() and from_tracks() return it: immutable, picklable and safe to\n"
    "share between threads. Arrays are read-only views, not copies; a view keeps the data\n"
    "alive. Motions are equal if their names and all their tracks are.";

static PyType_Slot motion_slots[] = {{Py_tp_doc, (void *)motion_doc},
                                     {Py_tp_dealloc, motion_dealloc},
                                     {Py_tp_traverse, motion_traverse},
                                     {Py_tp_repr, motion_repr},
                                     {Py_tp_richcompare, motion_compare},
                                     {Py_tp_hash, motion_hash},
                                     {Py_tp_methods, motion_methods},
                                     {Py_tp_getset, motion_members},
                                     {0, NULL}};

PyType_Spec mmd_py_motion_spec = {.name = "mmdskin.Motion",
                                  .basicsize = sizeof(motion_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                           Py_TPFLAGS_IMMUTABLETYPE |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = motion_slots};
