/* SPDX-License-Identifier: MIT */
/* The Python type Motion: load_motion(), pickling, properties. */
#include "core/base/arena.h"
#include "core/formats/formats.h"
#include "core/model/motion.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

#include <string.h>

static const char OWNER[] = "mmdskin.motion", CP932[] = "cp932";
static const char MOTION_METHODS[] = "mmdskin.motion_methods";

static void free_owner(PyObject *owner)
{
    mmd_motion_free(PyCapsule_GetPointer(owner, OWNER));
}

PyObject *mmd_py_motion_new(mmd_py_state *state, mmd_motion *motion, PyObject *bytes)
{
    PyObject *owner = PyCapsule_New(motion, OWNER, free_owner);
    mmd_py_motion *self =
        owner ? (mmd_py_motion *)mmd_py_object_new(state->types[MMD_PY_MOTION]) : NULL;
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

/* A name in an encoding, a str, by Python's codecs. Bytes that are no character become surrogates.
 */
static mmd_text decode_name(void *encoding, mmd_arena *arena, const uint8_t *bytes, size_t size)
{
    const char *name = PyErr_Occurred() ? NULL : PyUnicode_AsUTF8AndSize(encoding, NULL);
    MMD_PY_OWNED PyObject *text =
        name ? PyUnicode_Decode((const char *)bytes, (Py_ssize_t)size, name, "surrogateescape")
             : NULL;
    MMD_PY_OWNED PyObject *encoded =
        text ? PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass") : NULL;
    mmd_text result = {0};
    if (encoded) {
        const char *data = PyBytes_AsString(encoded);
        size_t length = strlen(data); /* to the first NUL, as in cp932 */
        char *copy = mmd_arena_alloc(arena, length + 1, 1);
        if (copy)
            result = (mmd_text){memcpy(copy, data, length + 1), length};
    }
    return result;
}

PyObject *mmd_py_motion_of_bytes(PyObject *module, PyObject *args)
{
    PyObject *bytes, *encoding;
    if (!PyArg_ParseTuple(args, "O!O", &PyBytes_Type, &bytes, &encoding))
        return NULL;
    const uint8_t *data = (const uint8_t *)PyBytes_AsString(bytes);
    size_t size = (size_t)PyBytes_Size(bytes);
    mmd_error err = {0};
    mmd_motion *motion;
    if (encoding != Py_None) {
        mmd_text_decoder names = {decode_name, encoding};
        motion = mmd_motion_load_with(data, size, &names, &err);
        if (PyErr_Occurred()) {
            mmd_motion_free(motion);
            return NULL;
        }
    } else {
        Py_BEGIN_ALLOW_THREADS
        motion = mmd_motion_load(data, size, &err);
        Py_END_ALLOW_THREADS
    }
    if (!motion)
        return mmd_py_exceptions_raise(&err);
    PyObject *self = mmd_py_motion_new(mmd_py_state_of_module(module), motion, bytes);
    if (self && encoding != Py_None)
        mmd_py_motion_of(self)->encoding = Py_NewRef(encoding);
    return self;
}

bool mmd_py_motion_check_names(PyObject *self, PyObject *model)
{
    mmd_py_motion *motion = mmd_py_motion_of(self);
    if (self == Py_None || !motion->bytes || motion->is_known)
        return true;
    MMD_PY_OWNED PyObject *known = mmd_py_object_call("mmdskin.motion_encoding", "check_names",
                                                      "(OOO)", self, motion->bytes, model);
    motion->is_known = known == Py_True;
    return known != NULL;
}

static int motion_traverse(PyObject *self, visitproc visit, void *arg)
{
    const mmd_py_motion *motion = mmd_py_motion_of(self);
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < MMD_MOTION_CAMERA; i++)
        Py_VISIT(motion->tuples[i]);
    return 0;
}

static void motion_dealloc(PyObject *self)
{
    mmd_py_motion *motion = mmd_py_motion_of(self);
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < MMD_MOTION_CAMERA; i++)
        Py_CLEAR(motion->tuples[i]);
    mmd_py_poser_cache_clear_motion(&motion->posers);
    Py_CLEAR(motion->bytes);
    Py_CLEAR(motion->encoding);
    Py_CLEAR(motion->owner);
    mmd_py_object_free(self);
}

static PyObject *motion_repr(PyObject *self)
{
    const mmd_motion *motion = mmd_py_motion_of(self)->motion;
    MMD_PY_OWNED PyObject *name = mmd_py_record_str(motion->name);
    return name
               ? PyUnicode_FromFormat("<mmdskin.Motion %R: frames %u to %u, %zu bones, %zu morphs>",
                                      name, (unsigned)motion->first_frame,
                                      (unsigned)motion->last_frame, motion->bone_track_count,
                                      motion->morph_track_count)
               : NULL;
}

static PyObject *motion_compare(PyObject *self, PyObject *other, int operation)
{
    if (Py_TYPE(other) != Py_TYPE(self) || (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    MMD_PY_OWNED PyObject *equal =
        mmd_py_object_call(MOTION_METHODS, "are_equal", "(OO)", self, other);
    return equal ? PyBool_FromLong((equal == Py_True) == (operation == Py_EQ)) : NULL;
}

/* By what is quick to read, and seldom the same in different motions. */
static Py_hash_t motion_hash(PyObject *self)
{
    const mmd_motion *motion = mmd_py_motion_of(self)->motion;
    MMD_PY_OWNED PyObject *key =
        Py_BuildValue("(NIInnn)", mmd_py_record_str(motion->name), (unsigned)motion->first_frame,
                      (unsigned)motion->last_frame, (Py_ssize_t)motion->bone_track_count,
                      (Py_ssize_t)motion->morph_track_count, (Py_ssize_t)motion->camera.key_count);
    return key ? PyObject_Hash(key) : -1;
}

static PyObject *motion_reduce(PyObject *self, PyObject *unused)
{
    const mmd_py_motion *motion = mmd_py_motion_of(self);
    return mmd_py_object_call(MOTION_METHODS, "reduced", "(OOO)", self,
                              motion->bytes ? motion->bytes : Py_None,
                              motion->encoding ? motion->encoding : Py_None);
}

static PyObject *get_name(PyObject *self, void *unused)
{
    return mmd_py_record_str(mmd_py_motion_of(self)->motion->name);
}

static PyObject *get_encoding(PyObject *self, void *unused)
{
    const mmd_py_motion *motion = mmd_py_motion_of(self);
    if (motion->encoding)
        return Py_NewRef(motion->encoding);
    const char *bytes = motion->bytes ? PyBytes_AsString(motion->bytes) : "";
    return PyUnicode_FromString(strncmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? "utf-8" : CP932);
}

static PyObject *get_duration(PyObject *self, void *unused)
{
    const mmd_motion *motion = mmd_py_motion_of(self)->motion;
    return PyFloat_FromDouble((motion->last_frame - motion->first_frame) / 30.0);
}

static PyObject *get_frame_range(PyObject *self, void *unused)
{
    const mmd_motion *motion = mmd_py_motion_of(self)->motion;
    return Py_BuildValue("(II)", (unsigned)motion->first_frame, (unsigned)motion->last_frame);
}

/* The tracks of a kind. */
static PyObject *get_tracks(PyObject *self, void *kind)
{
    mmd_py_motion *motion = mmd_py_motion_of(self);
    const mmd_motion_layout *layout = &mmd_motion_layouts[(size_t)kind];
    mmd_py_record_kind record = (mmd_py_record_kind)(MMD_PY_RECORD_BONE_TRACK + (size_t)kind);
    const void *tracks = mmd_motion_track(layout, motion->motion, 0);
    mmd_py_state *state = mmd_py_state_of(self);
    return layout->count
               ? mmd_py_record_cached_tuple(state, record, tracks,
                                            mmd_motion_track_count(layout, motion->motion),
                                            motion->owner, &motion->tuples[(size_t)kind])
               : mmd_py_record_new(state, record, tracks, motion->owner);
}

/* Methods that are written in Python */

MMD_PY_FORWARD(camera_at, MOTION_METHODS, "camera_at")
MMD_PY_FORWARD(light_at, MOTION_METHODS, "light_at")
MMD_PY_FORWARD(shadow_at, MOTION_METHODS, "shadow_at")
MMD_PY_FORWARD(unmatched, MOTION_METHODS, "unmatched")
MMD_PY_FORWARD(html, MMD_PY_NOTEBOOK, "motion_html")
MMD_PY_FORWARD(for_model, "mmdskin.retargeting.fit", "for_model")
MMD_PY_FORWARD(save, "mmdskin.motion_file", "save")

MMD_PY_FORWARD(from_camera, "mmdskin.fit_steps", "from_camera")
MMD_PY_FORWARD(from_locals, "mmdskin.fit_steps", "from_locals")
MMD_PY_FORWARD(from_poses, "mmdskin.fit_steps", "from_poses")
MMD_PY_FORWARD(from_skeleton, "mmdskin.fit_steps", "from_skeleton")

static PyMethodDef motion_methods[] = {
    MMD_PY_METHOD(Motion, camera_at, camera_at, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, light_at, light_at, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, shadow_at, shadow_at, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, from_camera, from_camera, MMD_PY_KEYWORDS | METH_CLASS),
    MMD_PY_METHOD(Motion, from_locals, from_locals, MMD_PY_KEYWORDS | METH_CLASS),
    MMD_PY_METHOD(Motion, from_poses, from_poses, MMD_PY_KEYWORDS | METH_CLASS),
    MMD_PY_METHOD(Motion, from_skeleton, from_skeleton, MMD_PY_KEYWORDS | METH_CLASS),
    MMD_PY_METHOD(Motion, from_tracks, mmd_py_motion_from_tracks, MMD_PY_KEYWORDS | METH_CLASS),
    MMD_PY_METHOD(Motion, for_model, for_model, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, save, save, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, unmatched, unmatched, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, _repr_html_, html, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Motion, __reduce__, motion_reduce, METH_NOARGS),
    {0}};

static PyGetSetDef motion_members[] = {
    MMD_PY_PROPERTY(Motion, name, get_name, NULL),
    MMD_PY_PROPERTY(Motion, frame_range, get_frame_range, NULL),
    MMD_PY_PROPERTY(Motion, encoding, get_encoding, NULL),
    MMD_PY_PROPERTY(Motion, duration, get_duration, NULL),
    MMD_PY_PROPERTY(Motion, bones, get_tracks, MMD_MOTION_BONES),
    MMD_PY_PROPERTY(Motion, morphs, get_tracks, MMD_MOTION_MORPHS),
    MMD_PY_PROPERTY(Motion, camera, get_tracks, MMD_MOTION_CAMERA),
    MMD_PY_PROPERTY(Motion, light, get_tracks, MMD_MOTION_LIGHT),
    MMD_PY_PROPERTY(Motion, shadow, get_tracks, MMD_MOTION_SHADOW),
    MMD_PY_PROPERTY(Motion, properties, get_tracks, MMD_MOTION_PROPERTIES),
    {0}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return PyErr_Format(PyExc_TypeError, "load_motion() and Motion.from_tracks() make a Motion");
}

static PyType_Slot motion_slots[] = {{Py_tp_doc, MMD_DOC_Motion},
                                     {Py_tp_new, refuse_new},
                                     {Py_tp_dealloc, motion_dealloc},
                                     {Py_tp_traverse, motion_traverse},
                                     {Py_tp_repr, motion_repr},
                                     {Py_tp_richcompare, motion_compare},
                                     {Py_tp_hash, motion_hash},
                                     {Py_tp_methods, motion_methods},
                                     {Py_tp_getset, motion_members},
                                     {Py_tp_members, mmd_py_object_members},
                                     {0, NULL}};

MMD_PY_TYPE_SPEC(motion, "mmdskin.Motion", mmd_py_motion, Py_TPFLAGS_HAVE_GC);
