/* SPDX-License-Identifier: MIT */
/* The Python type Model: load_model(), save(), pickling, properties. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/formats/formats.h"
#include "python/array.h"
#include "python/exceptions.h"
#include "python/pose_io.h"
#include "python/record.h"
#include "python/types.h"

#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <stddef.h>

enum { BONES, MORPHS, MATERIALS, TEXTURES, DISPLAY_FRAMES, RIGID_BODIES, JOINTS, TUPLES };

/* `owner` is a capsule that frees the C model. It is the base of every view, so views keep the data
   alive, not the Model. (The Model caches records that contain views; as numpy arrays do not
   support garbage collection, a reference back to the Model would never be freed.) */
typedef struct model_object {
    PyObject_HEAD
    PyObject *owner;
    PyObject *bytes;          /* of the file; NULL until file_bytes() if there is none */
    PyObject *path;           /* of the file, str or None; NULL: None */
    bool saved_as_read;       /* save() is known to write these bytes */
    PyObject *tuples[TUPLES]; /* cached tuples of records */
    mmd_arena names_arena;    /* of name_indices */
    mmd_py_model_name_index name_indices[MMD_PY_MODEL_NAME_KIND_COUNT];
    const mmd_model *model;
    mmd_rig *rig;
    mmd_py_poser_list posers;
    mmd_arena extras_arena; /* segments and parents for the mesh variants */
    mmd_py_mesh_cache mesh_cache;
} model_object;

static const char OWNER[] = "mmdskin.model";

static void free_owner(PyObject *owner)
{
    mmd_model_free(PyCapsule_GetPointer(owner, OWNER));
}

bool mmd_py_model_check(mmd_py_state *state, PyObject *model)
{
    if (Py_TYPE(model) == state->model_type)
        return true;
    PyErr_Format(PyExc_TypeError, "model: expected a Model, not %R%s", (PyObject *)Py_TYPE(model),
                 PyUnicode_Check(model) ? "; load_model() reads a file" : "");
    return false;
}

const mmd_rig *mmd_py_model_rig(PyObject *model)
{
    return ((model_object *)model)->rig;
}

mmd_py_model_name_index *mmd_py_model_get_name_index(PyObject *model, mmd_py_model_name_kind kind,
                                                     mmd_arena **arena)
{
    *arena = &((model_object *)model)->names_arena;
    return &((model_object *)model)->name_indices[kind];
}

mmd_py_mesh_cache *mmd_py_model_mesh_cache(PyObject *model)
{
    return &((model_object *)model)->mesh_cache;
}

mmd_py_poser_list *mmd_py_model_poser_list(PyObject *model)
{
    return &((model_object *)model)->posers;
}

const mmd_model *mmd_py_model_data(PyObject *model)
{
    return ((model_object *)model)->model;
}

const char mmd_py_model_load_doc[] =
    "load_model($module, source, /)\n--\n\n"
    "Loads a PMX 2.0, PMX 2.1 or PMD file, detected by content. PMD is converted to PMX's\n"
    "structure.\n\n"
    "source: a path (str or os.PathLike), a file opened with mode \"rb\", or the contents of a\n"
    "    file (bytes-like). A pipe or a device may give up to 1 GiB.\n"
    "Invalid data is cleaned: indices out of range become -1, numbers that are not finite\n"
    "become 0, those beyond 1e10 become 1e10, triangles and morph offsets that refer to missing "
    "elements are dropped.\n\n"
    "Raises FormatError if the contents cannot be read, OSError if the file cannot be opened,\n"
    "and TypeError for any other source.";

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

/* What a Model owns, before there is an object. */
typedef struct model_parts {
    mmd_model *model;
    mmd_rig *rig;
    mmd_arena extras_arena;
    mmd_mesh_extras extras;
} model_parts;

/* Makes the other parts of a model. */
static bool make_parts(model_parts *parts, mmd_error *err)
{
    parts->rig = mmd_rig_new(parts->model, err);
    return parts->rig && find_extras(parts->model, &parts->extras_arena, &parts->extras, err);
}

static void free_parts(model_parts *parts)
{
    mmd_arena_free(&parts->extras_arena);
    mmd_rig_free(parts->rig);
    mmd_model_free(parts->model);
}

/* Takes ownership of the parts, unless it fails. */
static PyObject *wrap(mmd_py_state *state, model_parts *parts, PyObject *bytes)
{
    PyObject *owner = PyCapsule_New(parts->model, OWNER, NULL);
    model_object *self = owner ? (model_object *)mmd_py_object_new(state->model_type) : NULL;
    if (!self) {
        Py_XDECREF(owner);
        return NULL;
    }
    PyCapsule_SetDestructor(owner, free_owner);
    self->owner = owner;
    self->bytes = Py_XNewRef(bytes);
    self->model = parts->model;
    self->rig = parts->rig;
    self->extras_arena = parts->extras_arena;
    self->mesh_cache.extras = parts->extras;
    self->mesh_cache.model = parts->model;
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
    model_parts parts = {0};
    bool loaded;
    Py_BEGIN_ALLOW_THREADS
    parts.model = mmd_model_load((const uint8_t *)data, (size_t)size, &err);
    loaded = parts.model && make_parts(&parts, &err);
    Py_END_ALLOW_THREADS
    PyObject *model = loaded ? wrap(state, &parts, bytes) : mmd_py_exceptions_raise(state, &err);
    if (!model)
        free_parts(&parts);
    return model;
}

PyObject *mmd_py_model_new(mmd_py_state *state, mmd_model *model)
{
    mmd_error err = {0};
    model_parts parts = {.model = model};
    bool made;
    Py_BEGIN_ALLOW_THREADS
    made = make_parts(&parts, &err);
    Py_END_ALLOW_THREADS
    PyObject *self = made ? wrap(state, &parts, NULL) : mmd_py_exceptions_raise(state, &err);
    if (!self)
        free_parts(&parts);
    return self;
}

PyObject *mmd_py_model_load(PyObject *module, PyObject *source)
{
    PyObject *bytes = mmd_py_object_call(MMD_PY_FILE_IO, "read", "(O)", source);
    if (!bytes)
        return NULL;
    PyObject *model = load(mmd_py_state_of_module(module), bytes);
    Py_DECREF(bytes);
    PyObject *path = model ? mmd_py_object_call(MMD_PY_FILE_IO, "path_of", "(O)", source) : NULL;
    if (path) {
        ((model_object *)model)->path = path;
        return model;
    }
    Py_XDECREF(model);
    return NULL;
}

static int model_traverse(PyObject *self, visitproc visit, void *arg)
{
    const model_object *model = (const model_object *)self;
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < TUPLES; i++)
        Py_VISIT(model->tuples[i]);
    return 0;
}

static void model_dealloc(PyObject *self)
{
    model_object *model = (model_object *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < TUPLES; i++)
        Py_CLEAR(model->tuples[i]);
    mmd_py_poser_cache_clear_model(&model->posers);
    mmd_rig_free(model->rig);
    mmd_py_mesh_cache_free(&model->mesh_cache);
    mmd_arena_free(&model->names_arena);
    mmd_arena_free(&model->extras_arena);
    Py_CLEAR(model->bytes);
    Py_CLEAR(model->path);
    Py_CLEAR(model->owner);
    mmd_py_object_free(self);
}

static PyObject *model_repr(PyObject *self)
{
    const mmd_model *model = ((model_object *)self)->model;
    PyObject *name = mmd_py_record_str(model->name);
    PyObject *text =
        name ? PyUnicode_FromFormat("<mmdskin.Model %R: %zu vertices, %zu bones, %zu morphs>", name,
                                    model->vertex_count, model->bone_count, model->morph_count)
             : NULL;
    Py_XDECREF(name);
    return text;
}

static PyObject *write_model(mmd_py_state *state, const mmd_model *model)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)mmd_pmx_size(model));
    if (!bytes)
        return NULL;
    uint8_t *out = (uint8_t *)PyBytes_AsString(bytes);
    mmd_error err = {0};
    bool written;
    Py_BEGIN_ALLOW_THREADS
    written = mmd_pmx_write(model, out, &err);
    Py_END_ALLOW_THREADS
    if (!written) {
        mmd_py_exceptions_raise(state, &err);
        Py_CLEAR(bytes);
    }
    return bytes;
}

/* The bytes of the file, or of the one that save() would write; borrowed. NULL with an exception.
 */
static PyObject *file_bytes(PyObject *self)
{
    model_object *model = (model_object *)self;
    PyObject *bytes = model->bytes ? NULL : write_model(mmd_py_state_of(self), model->model);
    if (!model->bytes)
        model->bytes = bytes;
    else if (bytes) /* another thread was faster */
        Py_DECREF(bytes);
    else
        PyErr_Clear(); /* of memory that was too short for both */
    return model->bytes;
}

/* What save() writes: known to be what was read, or written again. */
static PyObject *saved_bytes(PyObject *self)
{
    model_object *model = (model_object *)self;
    PyObject *bytes = model->bytes;
    if (bytes && !model->saved_as_read) {
        const uint8_t *data = (const uint8_t *)PyBytes_AsString(bytes);
        size_t size = (size_t)PyBytes_Size(bytes);
        bool same;
        Py_BEGIN_ALLOW_THREADS
        same = mmd_pmx_is_written_as(model->model, data, size);
        Py_END_ALLOW_THREADS
        model->saved_as_read = same;
    }
    return model->saved_as_read ? Py_NewRef(bytes)
                                : write_model(mmd_py_state_of(self), model->model);
}

static PyObject *save_model(PyObject *self, PyObject *path)
{
    PyObject *ending =
        mmd_py_object_call(MMD_PY_FILE_IO, "check_name", "(Oss)", path, "model", ".pmx");
    PyObject *bytes = ending ? saved_bytes(self) : NULL;
    Py_XDECREF(ending);
    return bytes ? mmd_py_object_call(MMD_PY_FILE_IO, "write", "(ON)", path, bytes) : NULL;
}

static const char save_doc[] =
    "save($self, path, /)\n--\n\n"
    "Writes a PMX file of the model's version, 2.0 if it was a PMD. A PMX that load_model() did\n"
    "not have to clean is written as it was read, byte for byte, with its encoding of texts and\n"
    "its sizes of indices; any other file loads as an equal model. Textures are not copied:\n"
    "their paths are relative to the file.\n\n"
    "path: a path (str or os.PathLike), or a binary file open for writing. A path that exists\n"
    "    keeps its old contents until the new ones are on the disk.\n\n"
    "Raises ValueError for the extension of another format, such as .pmd, and if the file had\n"
    "soft bodies, which a Model does not hold, before anything is written; OSError for a file\n"
    "that cannot be written.";

/* The contents of a model as a PMX file, apart from how files store them: encoding of texts, sizes
   of indices. What the file had besides the contents, soft bodies, does not count. NULL without
   memory; the caller frees it. */
static uint8_t *contents_of(const mmd_model *model, size_t *size)
{
    mmd_model plain = *model;
    plain.utf8 = false;
    memset(plain.index_sizes, 0, sizeof plain.index_sizes);
    plain.soft_body_count = 0;
    *size = mmd_pmx_size(&plain);
    uint8_t *bytes = malloc(*size);
    if (bytes)
        mmd_pmx_write(&plain, bytes, NULL);
    return bytes;
}

/* What is quick to compare, and seldom the same in different models. The version of a PMD is not
   that of its contents as a PMX. */
static bool is_alike(const mmd_model *one, const mmd_model *two)
{
    return one->vertex_count == two->vertex_count && one->triangle_count == two->triangle_count &&
           one->bone_count == two->bone_count && one->morph_count == two->morph_count &&
           one->material_count == two->material_count && one->version == two->version;
}

/* 1, 0, or -1 without memory. */
static int have_same_contents(const mmd_model *one, const mmd_model *two)
{
    if (!is_alike(one, two))
        return 0;
    size_t first_size, second_size;
    uint8_t *first = contents_of(one, &first_size), *second = contents_of(two, &second_size);
    int same =
        first && second ? first_size == second_size && memcmp(first, second, first_size) == 0 : -1;
    free(second);
    free(first);
    return same;
}

/* Models are equal if their members are, apart from the path. */
static PyObject *model_compare(PyObject *self, PyObject *other, int operation)
{
    if (Py_TYPE(other) != Py_TYPE(self) || (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    int equal = self == other;
    if (!equal) {
        Py_BEGIN_ALLOW_THREADS
        equal = have_same_contents(((model_object *)self)->model, ((model_object *)other)->model);
        Py_END_ALLOW_THREADS
    }
    return equal < 0 ? PyErr_NoMemory() : PyBool_FromLong(equal == (operation == Py_EQ));
}

/* Of what is_alike() compares, and the name. */
static Py_hash_t model_hash(PyObject *self)
{
    const mmd_model *model = ((model_object *)self)->model;
    PyObject *key =
        Py_BuildValue("(Nnnnn)", mmd_py_record_str(model->name), (Py_ssize_t)model->vertex_count,
                      (Py_ssize_t)model->triangle_count, (Py_ssize_t)model->bone_count,
                      (Py_ssize_t)model->morph_count);
    Py_hash_t hash = key ? PyObject_Hash(key) : -1;
    Py_XDECREF(key);
    return hash;
}

static PyObject *model_html(PyObject *self, PyObject *unused)
{
    (void)unused;
    return mmd_py_object_call(MMD_PY_NOTEBOOK, "model_html", "(O)", self);
}

static PyObject *model_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *bytes = file_bytes(self);
    PyObject *module = bytes ? PyType_GetModule(Py_TYPE(self)) : NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, "load_model") : NULL;
    return function ? Py_BuildValue("N(O)", function, bytes) : NULL;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef model_methods[] = {
    {"from_arrays", (PyCFunction)(void (*)(void))mmd_py_model_from_arrays,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, mmd_py_model_from_arrays_doc},
    {"bone", mmd_py_model_bone, METH_O, mmd_py_model_bone_doc},
    {"morph", mmd_py_model_morph, METH_O, mmd_py_model_morph_doc},
    {"sliders", mmd_py_model_sliders, METH_O, mmd_py_model_sliders_doc},
    {"pose", WITH_KEYWORDS(mmd_py_model_pose), mmd_py_model_pose_doc},
    {"locals_of", mmd_py_model_locals_of, METH_O, mmd_py_model_locals_of_doc},
    {"locals_at", WITH_KEYWORDS(mmd_py_model_locals_at), mmd_py_model_locals_at_doc},
    {"pose_from", WITH_KEYWORDS(mmd_py_model_pose_from), mmd_py_model_pose_from_doc},
    {"joint_positions", mmd_py_model_joint_positions, METH_O, mmd_py_model_joint_positions_doc},
    {"transforms", WITH_KEYWORDS(mmd_py_model_transforms), mmd_py_model_transforms_doc},
    {"skinning_matrices", WITH_KEYWORDS(mmd_py_model_skinning_matrices),
     mmd_py_model_skinning_matrices_doc},
    {"uvs_at", WITH_KEYWORDS(mmd_py_model_uvs_at), mmd_py_model_uvs_at_doc},
    {"materials_at", mmd_py_model_materials_at, METH_O, mmd_py_model_materials_at_doc},
    {"texture_factors_at", mmd_py_model_texture_factors_at, METH_O,
     mmd_py_model_texture_factors_at_doc},
    {"_repr_html_", model_html, METH_NOARGS, "For notebooks: a table of what the model has."},
    {"replace", WITH_KEYWORDS(mmd_py_model_replace), mmd_py_model_replace_doc},
    {"__replace__", WITH_KEYWORDS(mmd_py_model_replace),
     "For copy.replace(): the same as replace()."},
    {"save", save_model, METH_O, save_doc},
    {"__reduce__", model_reduce, METH_NOARGS, "Pickles as the bytes of the file."},
    {0}};

/* Properties */

static PyObject *get_text(PyObject *self, void *offset)
{
    const char *model = (const char *)((model_object *)self)->model;
    return mmd_py_record_str(*(const mmd_text *)(model + (size_t)offset));
}

static PyObject *get_path(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *path = ((model_object *)self)->path;
    return Py_NewRef(path ? path : Py_None);
}

void mmd_py_model_copy_path(PyObject *model, PyObject *to)
{
    ((model_object *)to)->path = Py_XNewRef(((model_object *)model)->path);
}

static PyObject *get_version(PyObject *self, void *unused)
{
    (void)unused;
    /* 2.1, not 2.0999999 */
    double version = (double)((model_object *)self)->model->version;
    return PyFloat_FromDouble((double)(long)(version * 100 + 0.5) / 100);
}

/* clang-format off */
#define RECORDS(kind, data, count) \
    {false, kind, offsetof(mmd_model, data), offsetof(mmd_model, count)}
/* clang-format on */

static const mmd_py_record_cached_tuple tuples[TUPLES] = {
    [BONES] = RECORDS(MMD_PY_RECORD_BONE, bones, bone_count),
    [MORPHS] = RECORDS(MMD_PY_RECORD_MORPH, morphs, morph_count),
    [MATERIALS] = RECORDS(MMD_PY_RECORD_MATERIAL, materials, material_count),
    [TEXTURES] = {.texts = true,
                  .data_offset = offsetof(mmd_model, textures),
                  .count_offset = offsetof(mmd_model, texture_count)},
    [DISPLAY_FRAMES] = RECORDS(MMD_PY_RECORD_DISPLAY_FRAME, display_frames, display_frame_count),
    [RIGID_BODIES] = RECORDS(MMD_PY_RECORD_RIGID_BODY, rigid_bodies, rigid_body_count),
    [JOINTS] = RECORDS(MMD_PY_RECORD_JOINT, joints, joint_count)};

static PyObject *get_tuple(PyObject *self, void *index)
{
    model_object *model = (model_object *)self;
    mmd_py_record_source source = {mmd_py_state_of(self), model->model, model->owner};
    return mmd_py_record_cached_tuple_get(&tuples[(size_t)index], &source,
                                          &model->tuples[(size_t)index]);
}

/* An array property: a view of the model's memory. */
typedef struct array_property {
    mmd_py_array_dtype dtype;
    size_t offset;  /* of the pointer, a member of mmd_model */
    bool triangles; /* a row per triangle; false: per vertex */
    int rank;
    size_t columns[2]; /* 0: the number of additional UVs */
} array_property;

static const array_property positions = {
    MMD_PY_FLOAT32, offsetof(mmd_model, positions), false, 2, {3}};
static const array_property normals = {MMD_PY_FLOAT32, offsetof(mmd_model, normals), false, 2, {3}};
static const array_property uvs = {MMD_PY_FLOAT32, offsetof(mmd_model, uvs), false, 2, {2}};
static const array_property additional_uvs = {
    MMD_PY_FLOAT32, offsetof(mmd_model, additional_uvs), false, 3, {0, 4}};
static const array_property edge_scales = {
    MMD_PY_FLOAT32, offsetof(mmd_model, edge_scales), false, 1, {0}};
static const array_property triangles = {
    MMD_PY_INT32, offsetof(mmd_model, triangles), true, 2, {3}};
static const array_property deform = {MMD_PY_UINT8, offsetof(mmd_model, deform), false, 1, {0}};
static const array_property bone_indices = {
    MMD_PY_INT32, offsetof(mmd_model, bone_indices), false, 2, {4}};
static const array_property bone_weights = {
    MMD_PY_FLOAT32, offsetof(mmd_model, bone_weights), false, 2, {4}};
static const array_property sdef = {MMD_PY_FLOAT32, offsetof(mmd_model, sdef), false, 3, {3, 3}};

static PyObject *get_array(PyObject *self, void *closure)
{
    const model_object *object = (const model_object *)self;
    const mmd_model *model = object->model;
    const array_property *property = closure;
    size_t columns = property->columns[0] ? property->columns[0] : model->additional_uv_count;
    size_t shape[] = {property->triangles ? model->triangle_count : model->vertex_count, columns,
                      property->columns[1]};
    void *const *data = (void *const *)((const char *)model + property->offset);
    return mmd_py_array_view(property->dtype, *data, property->rank, shape, object->owner);
}

/* Views that keep the Model alive; it caches none of them. */

static PyObject *get_segments(PyObject *self, void *unused)
{
    (void)unused;
    const mmd_mesh_extras *extras = &((model_object *)self)->mesh_cache.extras;
    const size_t shape[] = {extras->segment_count, 2, 3};
    return mmd_py_array_view(MMD_PY_FLOAT32, extras->segments, 3, shape, self);
}

static PyObject *get_bounds(PyObject *self, void *unused)
{
    (void)unused;
    const mmd_model *model = ((model_object *)self)->model;
    const size_t shape[] = {2, 3};
    mmd_py_array bounds = {0};
    if (!mmd_py_array_new_floats(2, shape, &bounds))
        return NULL;
    float *low = bounds.data, *high = low + 3;
    for (size_t i = 0; i < 3; i++)
        low[i] = high[i] = model->vertex_count ? model->positions[i] : 0;
    for (size_t i = 3; i < 3 * model->vertex_count; i++) {
        low[i % 3] = fminf(low[i % 3], model->positions[i]);
        high[i % 3] = fmaxf(high[i % 3], model->positions[i]);
    }
    return bounds.object;
}

static PyObject *get_centers(PyObject *self, void *unused)
{
    (void)unused;
    model_object *model = (model_object *)self;
    return mmd_py_mesh_cache_centers(self, &model->mesh_cache);
}

static PyObject *get_skeleton(PyObject *self, void *unused)
{
    (void)unused;
    return mmd_py_object_call("mmdskin.retargeting.skeleton", "of_model", "(O)", self);
}

/* clang-format off */
#define TEXT(name, doc) {#name, get_text, NULL, doc, (void *)offsetof(mmd_model, name)}
#define TUPLE(name, index, doc) {#name, get_tuple, NULL, doc, (void *)(size_t)index}
#define ARRAY(name, doc) {#name, get_array, NULL, doc, (void *)&name}
/* clang-format on */

static PyGetSetDef model_members[] = {
    TEXT(name, "Name of the model, str."),
    TEXT(name_english, "English name, str."),
    TEXT(comment, "Comment, str."),
    TEXT(comment_english, "English comment, str."),
    {"version", get_version, NULL, "Version of the file format, float: 2.0 or 2.1; 1.0 for PMD.",
     NULL},
    {"path", get_path, NULL,
     "Absolute path of the file, str; None if the model was not loaded from one, or was pickled.\n"
     "replace() keeps it.",
     NULL},
    ARRAY(positions, "(V,3) float32, read-only: rest positions in model units."),
    ARRAY(normals, "(V,3) float32, read-only: rest normals as in the file."),
    ARRAY(uvs, "(V,2) float32, read-only: texture coordinates, v points down."),
    ARRAY(additional_uvs, "(V,n,4) float32, read-only: the n sets of additional UVs."),
    ARRAY(edge_scales, "(V,) float32, read-only: scale of the edge width."),
    ARRAY(triangles, "(T,3) int32, read-only: vertex indices, clockwise, grouped by material."),
    ARRAY(deform,
          "(V,) uint8, read-only: 0 BDEF1, 1 BDEF2, 2 BDEF4, 3 SDEF, 4 QDEF, as in the file."),
    ARRAY(bone_indices, "(V,4) int32, read-only: bone indices, -1 in empty slots."),
    ARRAY(bone_weights, "(V,4) float32, read-only: weights as in the file."),
    ARRAY(sdef, "(V,3,3) float32, read-only: rows C, R0, R1; zero for other deform types."),
    {"segments", get_segments, NULL,
     "(B,2,3) float32, read-only: head and tail of the segment of each bone, model units. A bone\n"
     "without one uses the segment of the bone whose rotation it appends, or of its parent; head\n"
     "and tail are equal if there is none.",
     NULL},
    {"centers_of_rotation", get_centers, NULL, mmd_py_mesh_cache_centers_doc, NULL},
    {"bounds", get_bounds, NULL,
     "(2,3) float32: the smallest and the largest x, y, z of the rest positions, model units;\n"
     "zero without vertices.",
     NULL},
    TUPLE(bones, BONES, "Named tuple of Bone: also model.bones[\"センター\"]."),
    TUPLE(morphs, MORPHS, "Named tuple of Morph."),
    TUPLE(materials, MATERIALS, "Named tuple of Material."),
    TUPLE(textures, TEXTURES,
          "Tuple of str: relative paths, as in the file: often with backslashes."),
    TUPLE(display_frames, DISPLAY_FRAMES, "Named tuple of DisplayFrame."),
    TUPLE(rigid_bodies, RIGID_BODIES, "Named tuple of RigidBody."),
    TUPLE(joints, JOINTS, "Named tuple of Joint."),
    {"skeleton", get_skeleton, NULL,
     "Skeleton: the bones for retarget(), made at each access. Its slots are the bones that\n"
     "motions key (足, ひざ, 足首); retarget() also reads the D bones and the twist bones.",
     NULL},
    {0}};

static const char model_doc[] =
    "Model()\n--\n\n"
    "An MMD model, as load_model() and Model.from_arrays() return it: immutable, picklable (as\n"
    "the bytes of the file) and safe to share between threads. Coordinates are those of the\n"
    "file: left-handed, +Y up, about 12.5 units per meter. Arrays are read-only views, not\n"
    "copies; a view keeps the data alive. Models are equal if all members but path are.\n\n"
    "VTK ignores that an array is read-only, and DLPack before version 1 cannot say so: give them\n"
    "a copy, as by numpy_to_vtk(model.positions, deep=True) and model.positions.copy().";

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type, (void)args, (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "load_model() and Model.from_arrays() make a Model");
    return NULL;
}

static PyType_Slot model_slots[] = {
    {Py_tp_doc, (void *)model_doc}, {Py_tp_new, refuse_new},
    {Py_tp_dealloc, model_dealloc}, {Py_tp_traverse, model_traverse},
    {Py_tp_repr, model_repr},       {Py_tp_richcompare, model_compare},
    {Py_tp_hash, model_hash},       {Py_tp_methods, model_methods},
    {Py_tp_getset, model_members},  {0, NULL}};

PyType_Spec mmd_py_model_spec = {.name = "mmdskin.Model",
                                 .basicsize = sizeof(model_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                          Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = model_slots};
