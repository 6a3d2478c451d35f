/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "python/arrays.h"
#include "python/records.h"

#include <stddef.h>

enum { BONES, MORPHS, MATERIALS, TEXTURES, DISPLAY_FRAMES, RIGID_BODIES, JOINTS, SECTIONS };

/* `owner` is a capsule that frees the C model: the base of every view, so that views keep the data
   and nothing else. (numpy arrays take no part in garbage collection; a view that kept the Model
   which caches records with views could never be freed.) */
typedef struct model_object {
    PyObject_HEAD
    PyObject *owner;
    PyObject *bytes;              /* the file, for pickling */
    PyObject *sections[SECTIONS]; /* tuples of records, made when first asked for */
    PyObject *numbers[MMD_NAMED_COUNT];
    const mmd_model *model;
    mmd_rig *rig;
    mmd_ring posers;
    mmd_arena bones_at_rest; /* segments and parents of the variants */
    mmd_variants variants;
} model_object;

static const char OWNER[] = "mmdskin.model";

static void free_owner(PyObject *owner)
{
    mmd_model_free(PyCapsule_GetPointer(owner, OWNER));
}

const mmd_rig *mmd_model_rig(PyObject *model)
{
    return ((model_object *)model)->rig;
}

PyObject **mmd_model_numbers(PyObject *model, mmd_named kind)
{
    return &((model_object *)model)->numbers[kind];
}

mmd_variants *mmd_mesh_take(mmd_state *state, PyObject *argument)
{
    if (Py_TYPE(argument) == state->mesh_type)
        return mmd_mesh_variants(argument);
    if (Py_TYPE(argument) == state->model_type)
        return &((model_object *)argument)->variants;
    PyErr_Format(PyExc_TypeError, "mesh: expected a Model or a Mesh, not %R",
                 (PyObject *)Py_TYPE(argument));
    return NULL;
}

mmd_ring *mmd_model_posers(PyObject *model)
{
    return &((model_object *)model)->posers;
}

const mmd_model *mmd_model_data(PyObject *model)
{
    return ((model_object *)model)->model;
}

const char mmd_load_model_doc[] =
    "load_model($module, source, /)\n--\n\n"
    "Reads a PMX 2.0, PMX 2.1 or PMD file, told apart by content. PMD is brought into PMX's "
    "shape.\n\n"
    "source: a path (str or os.PathLike) or the file's contents (bytes-like).\n"
    "Indices that point nowhere become -1, numbers that are not finite 0; triangles and morph\n"
    "offsets that name missing elements are left out.\n\n"
    "Raises FormatError for contents that cannot be read, OSError for a file that cannot be\n"
    "opened, TypeError for any other source.";

static bool find_extras(const mmd_model *model, mmd_arena *arena, mmd_mesh_extras *extras,
                        mmd_error *err)
{
    float *segments = mmd_arena_alloc(arena, 6 * model->bone_count, sizeof *segments);
    int32_t *parents = mmd_arena_alloc(arena, model->bone_count, sizeof *parents);
    if (!segments || !parents)
        return mmd_fail_memory(err);
    if (!mmd_model_segments(model, segments, err))
        return false;
    for (size_t b = 0; b < model->bone_count; b++)
        parents[b] = model->bones[b].parent;
    *extras = (mmd_mesh_extras){.triangles = model->triangles,
                                .triangle_count = model->triangle_count,
                                .uvs = model->uvs,
                                .segments = segments,
                                .segment_count = model->bone_count,
                                .parents = parents,
                                .parent_count = model->bone_count};
    return true;
}

/* What a Model is made of. */
typedef struct model_parts {
    mmd_model *model;
    mmd_rig *rig;
    mmd_arena bones_at_rest;
    mmd_mesh_extras extras;
} model_parts;

static bool read_parts(const char *data, Py_ssize_t size, model_parts *parts, mmd_error *err)
{
    parts->model = mmd_model_load((const uint8_t *)data, (size_t)size, err);
    if (parts->model)
        parts->rig = mmd_rig_new(parts->model, err);
    return parts->rig && find_extras(parts->model, &parts->bones_at_rest, &parts->extras, err);
}

static void free_parts(model_parts *parts)
{
    mmd_arena_free(&parts->bones_at_rest);
    mmd_rig_free(parts->rig);
    mmd_model_free(parts->model);
}

/* Takes the parts over, unless it fails. */
static PyObject *wrap(mmd_state *state, model_parts *parts, PyObject *bytes)
{
    PyObject *owner = PyCapsule_New(parts->model, OWNER, NULL);
    model_object *self = owner ? (model_object *)mmd_object_new(state->model_type) : NULL;
    if (!self) {
        Py_XDECREF(owner);
        return NULL;
    }
    PyCapsule_SetDestructor(owner, free_owner);
    self->owner = owner;
    self->bytes = Py_NewRef(bytes);
    self->model = parts->model;
    self->rig = parts->rig;
    self->bones_at_rest = parts->bones_at_rest;
    self->variants.extras = parts->extras;
    self->variants.model = parts->model;
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
    model_parts parts = {0};
    bool loaded;
    Py_BEGIN_ALLOW_THREADS
    loaded = read_parts(data, size, &parts, &err);
    Py_END_ALLOW_THREADS
    PyObject *model = loaded ? wrap(state, &parts, bytes) : mmd_raise(state, &err);
    if (!model)
        free_parts(&parts);
    return model;
}

PyObject *mmd_py_load_model(PyObject *module, PyObject *source)
{
    PyObject *bytes = mmd_read_source(source);
    if (!bytes)
        return NULL;
    PyObject *model = load(mmd_state_of_module(module), bytes);
    Py_DECREF(bytes);
    return model;
}

static int model_traverse(PyObject *self, visitproc visit, void *arg)
{
    const model_object *model = (const model_object *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < SECTIONS; i++)
        Py_VISIT(model->sections[i]);
    return 0;
}

static void model_dealloc(PyObject *self)
{
    model_object *model = (model_object *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < SECTIONS; i++)
        Py_CLEAR(model->sections[i]);
    for (int i = 0; i < MMD_NAMED_COUNT; i++)
        Py_CLEAR(model->numbers[i]);
    mmd_posers_free_of_model(&model->posers);
    mmd_rig_free(model->rig);
    mmd_variants_free(&model->variants);
    mmd_arena_free(&model->bones_at_rest);
    Py_CLEAR(model->bytes);
    Py_CLEAR(model->owner);
    mmd_object_free(self);
}

static PyObject *model_repr(PyObject *self)
{
    const mmd_model *model = ((model_object *)self)->model;
    PyObject *name = mmd_text_object(model->name);
    PyObject *text =
        name ? PyUnicode_FromFormat("<mmdskin.Model %R: %zu vertices, %zu bones, %zu morphs>", name,
                                    model->vertex_count, model->bone_count, model->morph_count)
             : NULL;
    Py_XDECREF(name);
    return text;
}

static PyObject *model_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    PyObject *function = module ? PyObject_GetAttrString(module, "load_model") : NULL;
    if (!function)
        return NULL;
    return Py_BuildValue("N(O)", function, ((model_object *)self)->bytes);
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef model_methods[] = {
    {"bone", mmd_py_bone, METH_O, mmd_bone_doc},
    {"morph", mmd_py_morph, METH_O, mmd_morph_doc},
    {"sliders", mmd_py_sliders, METH_O, mmd_sliders_doc},
    {"pose", WITH_KEYWORDS(mmd_py_pose), mmd_pose_doc},
    {"pose_from", WITH_KEYWORDS(mmd_py_pose_from), mmd_pose_from_doc},
    {"uvs_at", WITH_KEYWORDS(mmd_py_uvs_at), mmd_uvs_at_doc},
    {"materials_at", mmd_py_materials_at, METH_O, mmd_materials_at_doc},
    {"__reduce__", model_reduce, METH_NOARGS, "Pickles as the bytes of the file."},
    {0}};

/* Texts, and the sequences of records, which are made once. */

static PyObject *get_text(PyObject *self, void *offset)
{
    const char *model = (const char *)((model_object *)self)->model;
    return mmd_text_object(*(const mmd_text *)(model + (size_t)offset));
}

static PyObject *get_version(PyObject *self, void *unused)
{
    (void)unused;
    /* 2.1 rather than 2.0999999. */
    double version = (double)((model_object *)self)->model->version;
    return PyFloat_FromDouble((double)(long)(version * 100 + 0.5) / 100);
}

#define RECORDS(kind, data, count)                                                                 \
    {                                                                                              \
        false, kind, offsetof(mmd_model, data), offsetof(mmd_model, count)                         \
    }

static const mmd_section sections[SECTIONS] = {
    [BONES] = RECORDS(MMD_RECORD_BONE, bones, bone_count),
    [MORPHS] = RECORDS(MMD_RECORD_MORPH, morphs, morph_count),
    [MATERIALS] = RECORDS(MMD_RECORD_MATERIAL, materials, material_count),
    [TEXTURES] = {.texts = true,
                  .data_offset = offsetof(mmd_model, textures),
                  .count_offset = offsetof(mmd_model, texture_count)},
    [DISPLAY_FRAMES] = RECORDS(MMD_RECORD_DISPLAY_FRAME, display_frames, display_frame_count),
    [RIGID_BODIES] = RECORDS(MMD_RECORD_RIGID_BODY, rigid_bodies, rigid_body_count),
    [JOINTS] = RECORDS(MMD_RECORD_JOINT, joints, joint_count)};

static PyObject *get_section(PyObject *self, void *index)
{
    model_object *model = (model_object *)self;
    mmd_shown shown = {mmd_state_of(self), model->model, model->owner};
    return mmd_section_object(&sections[(size_t)index], &shown, &model->sections[(size_t)index]);
}

/* Arrays: views of the model's memory. */
typedef struct array_place {
    mmd_dtype dtype;
    size_t offset;  /* of the pointer in mmd_model */
    bool triangles; /* counted by triangles instead of vertices */
    int rank;
    size_t columns[2]; /* 0: as many as the model has additional UVs */
} array_place;

static const array_place positions = {MMD_FLOAT32, offsetof(mmd_model, positions), false, 2, {3}};
static const array_place normals = {MMD_FLOAT32, offsetof(mmd_model, normals), false, 2, {3}};
static const array_place uvs = {MMD_FLOAT32, offsetof(mmd_model, uvs), false, 2, {2}};
static const array_place additional_uvs = {
    MMD_FLOAT32, offsetof(mmd_model, additional_uvs), false, 3, {0, 4}};
static const array_place edge_scales = {
    MMD_FLOAT32, offsetof(mmd_model, edge_scales), false, 1, {0}};
static const array_place triangles = {MMD_INT32, offsetof(mmd_model, triangles), true, 2, {3}};
static const array_place deform = {MMD_UINT8, offsetof(mmd_model, deform), false, 1, {0}};
static const array_place bone_indices = {
    MMD_INT32, offsetof(mmd_model, bone_indices), false, 2, {4}};
static const array_place bone_weights = {
    MMD_FLOAT32, offsetof(mmd_model, bone_weights), false, 2, {4}};
static const array_place sdef = {MMD_FLOAT32, offsetof(mmd_model, sdef), false, 3, {3, 3}};

static PyObject *get_array(PyObject *self, void *closure)
{
    const model_object *object = (const model_object *)self;
    const mmd_model *model = object->model;
    const array_place *place = closure;
    size_t columns = place->columns[0] ? place->columns[0] : model->additional_uv_count;
    size_t shape[] = {place->triangles ? model->triangle_count : model->vertex_count, columns,
                      place->columns[1]};
    void *const *data = (void *const *)((const char *)model + place->offset);
    return mmd_array_view(place->dtype, *data, place->rank, shape, object->owner);
}

/* Views that keep the Model, which keeps none of them. */

static PyObject *get_segments(PyObject *self, void *unused)
{
    (void)unused;
    const mmd_mesh_extras *extras = &((model_object *)self)->variants.extras;
    const size_t shape[] = {extras->segment_count, 2, 3};
    return mmd_array_view(MMD_FLOAT32, extras->segments, 3, shape, self);
}

static PyObject *get_centers(PyObject *self, void *unused)
{
    (void)unused;
    model_object *model = (model_object *)self;
    return mmd_centers_of_rotation(self, &model->variants);
}

#define TEXT(name, doc)                                                                            \
    {                                                                                              \
#name, get_text, NULL, doc, (void *)offsetof(mmd_model, name)                              \
    }
#define SECTION(name, index, doc)                                                                  \
    {                                                                                              \
#name, get_section, NULL, doc, (void *)(size_t)index                                       \
    }
#define ARRAY(name, doc)                                                                           \
    {                                                                                              \
#name, get_array, NULL, doc, (void *)&name                                                 \
    }

static PyGetSetDef model_members[] = {
    TEXT(name, "Name of the model, str."),
    TEXT(name_english, "English name, str."),
    TEXT(comment, "Comment, str."),
    TEXT(comment_english, "English comment, str."),
    {"version", get_version, NULL, "Version of the file format, float: 2.0 or 2.1, 1.0 for PMD.",
     NULL},
    ARRAY(positions, "(V,3) float32, read-only: rest positions in model units."),
    ARRAY(normals, "(V,3) float32, read-only: rest normals as in the file."),
    ARRAY(uvs, "(V,2) float32, read-only: texture coordinates, v downward."),
    ARRAY(additional_uvs, "(V,n,4) float32, read-only: the n sets of additional UVs."),
    ARRAY(edge_scales, "(V,) float32, read-only: factor of the edge's width."),
    ARRAY(triangles, "(T,3) int32, read-only: vertices, material after material, clockwise."),
    ARRAY(deform,
          "(V,) uint8, read-only: 0 BDEF1, 1 BDEF2, 2 BDEF4, 3 SDEF, 4 QDEF, as in the file."),
    ARRAY(bone_indices, "(V,4) int32, read-only: bones, -1 in empty slots."),
    ARRAY(bone_weights, "(V,4) float32, read-only: weights as in the file."),
    ARRAY(sdef, "(V,3,3) float32, read-only: rows C, R0, R1; zero where the type is not SDEF."),
    {"segments", get_segments, NULL,
     "(B,2,3) float32, read-only: head and tail of the segment that each bone stands for, model\n"
     "units: its own; where it has none, that of the bone whose rotation it copies, or its\n"
     "parent's; equal where nothing gives one.",
     NULL},
    {"centers_of_rotation", get_centers, NULL, mmd_centers_doc, NULL},
    SECTION(bones, BONES, "Tuple of Bone."),
    SECTION(morphs, MORPHS, "Tuple of Morph."),
    SECTION(materials, MATERIALS, "Tuple of Material."),
    SECTION(textures, TEXTURES, "Tuple of str: relative paths as in the file."),
    SECTION(display_frames, DISPLAY_FRAMES, "Tuple of DisplayFrame."),
    SECTION(rigid_bodies, RIGID_BODIES, "Tuple of RigidBody."),
    SECTION(joints, JOINTS, "Tuple of Joint."),
    {0}};

static const char model_doc[] =
    "An MMD model, as load_model() returns it: immutable, picklable (as the file's bytes), and "
    "safe\n"
    "to share between threads. Coordinates are the file's: left-handed, +Y up, about 12.5 units a\n"
    "metre. Arrays are read-only views without a copy; a view keeps the data alive.";

static PyType_Slot model_slots[] = {{Py_tp_doc, (void *)model_doc},
                                    {Py_tp_dealloc, model_dealloc},
                                    {Py_tp_traverse, model_traverse},
                                    {Py_tp_repr, model_repr},
                                    {Py_tp_methods, model_methods},
                                    {Py_tp_getset, model_members},
                                    {0, NULL}};

PyType_Spec mmd_model_spec = {.name = "mmdskin.Model",
                              .basicsize = sizeof(model_object),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                       Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = model_slots};
