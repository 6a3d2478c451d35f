/* SPDX-License-Identifier: MIT */
#include "core/formats/load.h"
#include "core/pose/binding.h"
#include "python/arrays.h"
#include "python/posers.h"
#include "python/records.h"

/* `owner` is a capsule that frees the C motion: the base of every view (see model_type.c). */
typedef struct motion_object {
    PyObject_HEAD
    PyObject *owner;
    PyObject *bytes;          /* the file, for pickling */
    PyObject *bones, *morphs; /* tuples of records, made when first asked for */
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
    if (!motion)
        return mmd_raise(state, &err);
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->motion_type, Py_tp_alloc);
    PyObject *owner = PyCapsule_New(motion, OWNER, free_owner);
    motion_object *self = owner ? (motion_object *)alloc(state->motion_type, 0) : NULL;
    if (!self) {
        if (!owner)
            mmd_motion_free(motion);
        Py_XDECREF(owner);
        return NULL;
    }
    self->owner = owner;
    self->bytes = Py_NewRef(bytes);
    self->motion = motion;
    mmd_ring_init(&self->posers);
    return (PyObject *)self;
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

static int motion_traverse(PyObject *self, visitproc visit, void *arg)
{
    const motion_object *motion = (const motion_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(motion->bones);
    Py_VISIT(motion->morphs);
    return 0;
}

static void motion_dealloc(PyObject *self)
{
    motion_object *motion = (motion_object *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(motion->bones);
    Py_CLEAR(motion->morphs);
    mmd_posers_free_of_motion(self);
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
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    PyObject *function = module ? PyObject_GetAttrString(module, "load_motion") : NULL;
    if (!function)
        return NULL;
    return Py_BuildValue("N(O)", function, ((motion_object *)self)->bytes);
}

/* A view of `count` keys with up to two further axes (0: none). */
static PyObject *view(mmd_dtype dtype, const void *data, size_t count, size_t columns, size_t depth,
                      PyObject *owner)
{
    size_t shape[] = {count, columns, depth};
    return mmd_array_view(dtype, data, columns == 0 ? 1 : depth == 0 ? 2 : 3, shape, owner);
}

static PyObject *make_bone_track(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    const mmd_bone_track *track = (const mmd_bone_track *)from + i;
    size_t n = track->key_count;
    return MMD_RECORD(MMD_RECORD_BONE_TRACK, mmd_text_object(track->name),
                      view(MMD_UINT32, track->frames, n, 0, 0, owner),
                      view(MMD_FLOAT32, track->translations, n, 3, 0, owner),
                      view(MMD_FLOAT32, track->rotations, n, 4, 0, owner),
                      view(MMD_UINT8, track->interpolation, n, 4, 4, owner));
}

static PyObject *make_morph_track(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    const mmd_morph_track *track = (const mmd_morph_track *)from + i;
    size_t n = track->key_count;
    return MMD_RECORD(MMD_RECORD_MORPH_TRACK, mmd_text_object(track->name),
                      view(MMD_UINT32, track->frames, n, 0, 0, owner),
                      view(MMD_FLOAT32, track->weights, n, 0, 0, owner));
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

static PyObject *get_bones(PyObject *self, void *unused)
{
    (void)unused;
    motion_object *motion = (motion_object *)self;
    if (!motion->bones)
        motion->bones =
            mmd_record_tuple(mmd_state_of(self), make_bone_track, motion->motion->bone_tracks,
                             motion->motion->bone_track_count, motion->owner);
    return Py_XNewRef(motion->bones);
}

static PyObject *get_morphs(PyObject *self, void *unused)
{
    (void)unused;
    motion_object *motion = (motion_object *)self;
    if (!motion->morphs)
        motion->morphs =
            mmd_record_tuple(mmd_state_of(self), make_morph_track, motion->motion->morph_tracks,
                             motion->motion->morph_track_count, motion->owner);
    return Py_XNewRef(motion->morphs);
}

static PyObject *get_camera(PyObject *self, void *unused)
{
    (void)unused;
    mmd_state *state = mmd_state_of(self);
    PyObject *owner = ((motion_object *)self)->owner;
    const mmd_camera_track *track = &((motion_object *)self)->motion->camera;
    size_t n = track->key_count;
    return MMD_RECORD(MMD_RECORD_CAMERA_TRACK, view(MMD_UINT32, track->frames, n, 0, 0, owner),
                      view(MMD_FLOAT32, track->distances, n, 0, 0, owner),
                      view(MMD_FLOAT32, track->targets, n, 3, 0, owner),
                      view(MMD_FLOAT32, track->rotations, n, 3, 0, owner),
                      view(MMD_UINT8, track->interpolation, n, 6, 4, owner),
                      view(MMD_FLOAT32, track->view_angles, n, 0, 0, owner),
                      view(MMD_BOOL, track->perspective, n, 0, 0, owner));
}

static PyObject *get_light(PyObject *self, void *unused)
{
    (void)unused;
    mmd_state *state = mmd_state_of(self);
    PyObject *owner = ((motion_object *)self)->owner;
    const mmd_light_track *track = &((motion_object *)self)->motion->light;
    size_t n = track->key_count;
    return MMD_RECORD(MMD_RECORD_LIGHT_TRACK, view(MMD_UINT32, track->frames, n, 0, 0, owner),
                      view(MMD_FLOAT32, track->colors, n, 3, 0, owner),
                      view(MMD_FLOAT32, track->directions, n, 3, 0, owner));
}

static PyObject *get_shadow(PyObject *self, void *unused)
{
    (void)unused;
    mmd_state *state = mmd_state_of(self);
    PyObject *owner = ((motion_object *)self)->owner;
    const mmd_shadow_track *track = &((motion_object *)self)->motion->shadow;
    size_t n = track->key_count;
    return MMD_RECORD(MMD_RECORD_SHADOW_TRACK, view(MMD_UINT32, track->frames, n, 0, 0, owner),
                      view(MMD_UINT8, track->modes, n, 0, 0, owner),
                      view(MMD_FLOAT32, track->distances, n, 0, 0, owner));
}

static PyObject *make_name(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    (void)state, (void)owner;
    return mmd_text_object(((const mmd_text *)from)[i]);
}

static PyObject *get_properties(PyObject *self, void *unused)
{
    (void)unused;
    mmd_state *state = mmd_state_of(self);
    PyObject *owner = ((motion_object *)self)->owner;
    const mmd_property_track *track = &((motion_object *)self)->motion->properties;
    size_t n = track->key_count, shape[] = {n, track->ik_count};
    return MMD_RECORD(MMD_RECORD_PROPERTY_TRACK, view(MMD_UINT32, track->frames, n, 0, 0, owner),
                      view(MMD_BOOL, track->visible, n, 0, 0, owner),
                      mmd_record_tuple(state, make_name, track->ik_names, track->ik_count, owner),
                      mmd_array_view(MMD_BOOL, track->ik_enabled, 2, shape, owner));
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
    if (Py_TYPE(model) != state->model_type) {
        PyErr_Format(PyExc_TypeError, "model: expected a Model, not %R",
                     (PyObject *)Py_TYPE(model));
        return NULL;
    }
    const mmd_motion *motion = ((motion_object *)self)->motion;
    mmd_error err = {0};
    mmd_binding *binding = mmd_binding_new(mmd_model_rig(model), motion, &err);
    if (!binding)
        return mmd_raise(state, &err);
    PyObject *result =
        MMD_RECORD(MMD_RECORD_UNMATCHED,
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
    {"unmatched", unmatched, METH_O, unmatched_doc},
    {"__reduce__", motion_reduce, METH_NOARGS, "Pickles as the bytes of the file."},
    {0}};

static PyGetSetDef motion_members[] = {
    {"name", get_name, NULL, "Name of the model that the motion was saved for, str.", NULL},
    {"frame_range", get_frame_range, NULL,
     "(first, last) frame of all tracks, (0, 0) when there is none; 30 frames a second.", NULL},
    {"bones", get_bones, NULL, "Tuple of BoneTrack.", NULL},
    {"morphs", get_morphs, NULL, "Tuple of MorphTrack.", NULL},
    {"camera", get_camera, NULL, "CameraTrack.", NULL},
    {"light", get_light, NULL, "LightTrack.", NULL},
    {"shadow", get_shadow, NULL, "ShadowTrack.", NULL},
    {"properties", get_properties, NULL, "PropertyTrack: visibility and IK switches.", NULL},
    {0}};

static const char motion_doc[] = "A motion, as load_motion() returns it: immutable, picklable (as "
                                 "the file's bytes), and safe to\n"
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
