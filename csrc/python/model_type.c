/* SPDX-License-Identifier: MIT */
/* The Python type Model: load_model(), save(), pickling, properties. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/formats/formats.h"
#include "python/array.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/record.h"
#include "python/types.h"

#include <string.h>

#include <stddef.h>

static const char OWNER[] = "mmdskin.model", MODEL_METHODS[] = "mmdskin.model_methods";

static void free_owner(PyObject *owner)
{
    mmd_model_free(PyCapsule_GetPointer(owner, OWNER));
}

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

PyObject *mmd_py_model_new(mmd_py_state *state, mmd_model *model, PyObject *bytes)
{
    mmd_error err = {0};
    mmd_rig *rig;
    mmd_arena arena = {0};
    mmd_mesh_extras extras;
    bool made;
    Py_BEGIN_ALLOW_THREADS
    rig = mmd_rig_new(model, &err);
    made = rig && find_extras(model, &arena, &extras, &err);
    Py_END_ALLOW_THREADS
    PyObject *owner = made ? PyCapsule_New(model, OWNER, NULL) : mmd_py_exceptions_raise(&err);
    mmd_py_model *self =
        owner ? (mmd_py_model *)mmd_py_object_new(state->types[MMD_PY_MODEL]) : NULL;
    if (!self) {
        Py_XDECREF(owner);
        mmd_arena_free(&arena);
        mmd_rig_free(rig);
        mmd_model_free(model);
        return NULL;
    }
    PyCapsule_SetDestructor(owner, free_owner);
    self->owner = owner;
    self->bytes = Py_XNewRef(bytes);
    self->model = model;
    self->rig = rig;
    self->extras_arena = arena;
    self->mesh_cache.extras = extras;
    self->mesh_cache.model = model;
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
    mmd_model *model;
    Py_BEGIN_ALLOW_THREADS
    model = mmd_model_load((const uint8_t *)data, (size_t)size, &err);
    Py_END_ALLOW_THREADS
    return model ? mmd_py_model_new(state, model, bytes) : mmd_py_exceptions_raise(&err);
}

PyObject *mmd_py_model_load(PyObject *module, PyObject *source)
{
    MMD_PY_OWNED PyObject *bytes = mmd_py_object_call(MMD_PY_FILE_IO, "read", "(O)", source);
    PyObject *model = bytes ? load(mmd_py_state_of_module(module), bytes) : NULL;
    PyObject *path = model ? mmd_py_object_call(MMD_PY_FILE_IO, "path_of", "(O)", source) : NULL;
    if (path)
        mmd_py_model_of(model)->path = path;
    else
        Py_CLEAR(model);
    return model;
}

static int model_traverse(PyObject *self, visitproc visit, void *arg)
{
    const mmd_py_model *model = mmd_py_model_of(self);
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < MMD_PY_MODEL_TUPLES; i++)
        Py_VISIT(model->tuples[i]);
    return 0;
}

static void model_dealloc(PyObject *self)
{
    mmd_py_model *model = mmd_py_model_of(self);
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < MMD_PY_MODEL_TUPLES; i++)
        Py_CLEAR(model->tuples[i]);
    for (int i = 0; i < MMD_PY_MODEL_NAME_KIND_COUNT; i++)
        Py_CLEAR(model->name_indices[i]);
    mmd_py_poser_cache_clear_model(&model->posers);
    mmd_rig_free(model->rig);
    mmd_py_mesh_cache_free(&model->mesh_cache);
    mmd_arena_free(&model->extras_arena);
    Py_CLEAR(model->bytes);
    Py_CLEAR(model->path);
    Py_CLEAR(model->owner);
    mmd_py_object_free(self);
}

static PyObject *model_repr(PyObject *self)
{
    const mmd_model *model = mmd_py_model_of(self)->model;
    MMD_PY_OWNED PyObject *name = mmd_py_record_str(model->name);
    return name ? PyUnicode_FromFormat("<mmdskin.Model %R: %zu vertices, %zu bones, %zu morphs>",
                                       name, model->vertex_count, model->bone_count,
                                       model->morph_count)
                : NULL;
}

static PyObject *write_model(const mmd_model *model)
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
        mmd_py_exceptions_raise(&err);
        Py_CLEAR(bytes);
    }
    return bytes;
}

/* The bytes of the file, or of the one that save() would write; borrowed. NULL with an exception.
 */
static PyObject *file_bytes(PyObject *self)
{
    mmd_py_model *model = mmd_py_model_of(self);
    PyObject *bytes = model->bytes ? NULL : write_model(model->model);
    if (!model->bytes)
        model->bytes = bytes;
    else if (bytes) /* another thread was faster */
        Py_DECREF(bytes);
    else
        PyErr_Clear(); /* of memory that was too short for both */
    return model->bytes;
}

/* What save() writes: the bytes that were read, once they are known to be the same. */
static PyObject *saved_bytes(PyObject *self)
{
    mmd_py_model *model = mmd_py_model_of(self);
    PyObject *bytes = model->saved_as_read ? NULL : write_model(model->model);
    if (bytes && model->bytes)
        model->saved_as_read = PyObject_RichCompareBool(bytes, model->bytes, Py_EQ) == 1;
    if (!model->saved_as_read)
        return bytes;
    Py_XDECREF(bytes);
    return Py_NewRef(model->bytes);
}

static PyObject *save_model(PyObject *self, PyObject *path)
{
    MMD_PY_OWNED PyObject *ending =
        mmd_py_object_call(MMD_PY_FILE_IO, "check_name", "(Oss)", path, "model", ".pmx");
    PyObject *bytes = ending ? saved_bytes(self) : NULL;
    return bytes ? mmd_py_object_call(MMD_PY_FILE_IO, "write", "(ON)", path, bytes) : NULL;
}

/* The contents of a model as a PMX file, apart from how files store them: encoding of texts, sizes
   of indices. What the file had besides the contents, soft bodies, does not count. */
static PyObject *contents_of(const mmd_model *model)
{
    mmd_model plain = *model;
    plain.utf8 = false;
    memset(plain.index_sizes, 0, sizeof plain.index_sizes);
    plain.soft_body_count = 0;
    return write_model(&plain);
}

/* What is quick to compare, and seldom the same in different models. The version of a PMD is not
   that of its contents as a PMX. */
static bool is_alike(const mmd_model *one, const mmd_model *two)
{
    return one->vertex_count == two->vertex_count && one->triangle_count == two->triangle_count &&
           one->bone_count == two->bone_count && one->morph_count == two->morph_count &&
           one->material_count == two->material_count && one->version == two->version;
}

/* Models are equal if their members are, apart from the path. */
static PyObject *model_compare(PyObject *self, PyObject *other, int operation)
{
    if (Py_TYPE(other) != Py_TYPE(self) || (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    const mmd_model *one = mmd_py_model_of(self)->model, *two = mmd_py_model_of(other)->model;
    if (one == two || !is_alike(one, two))
        return PyBool_FromLong((one == two) == (operation == Py_EQ));
    MMD_PY_OWNED PyObject *first = contents_of(one), *second = first ? contents_of(two) : NULL;
    return second ? PyObject_RichCompare(first, second, operation) : NULL;
}

/* Of what is_alike() compares, and the name. */
static Py_hash_t model_hash(PyObject *self)
{
    const mmd_model *model = mmd_py_model_of(self)->model;
    MMD_PY_OWNED PyObject *key =
        Py_BuildValue("(Nnnnn)", mmd_py_record_str(model->name), (Py_ssize_t)model->vertex_count,
                      (Py_ssize_t)model->triangle_count, (Py_ssize_t)model->bone_count,
                      (Py_ssize_t)model->morph_count);
    return key ? PyObject_Hash(key) : -1;
}

MMD_PY_FORWARD(model_html, MMD_PY_NOTEBOOK, "model_html")
MMD_PY_FORWARD(locals_at, MODEL_METHODS, "locals_at")

static PyObject *model_reduce(PyObject *self, PyObject *unused)
{
    PyObject *bytes = file_bytes(self);
    PyObject *module = bytes ? PyType_GetModule(Py_TYPE(self)) : NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, "load_model") : NULL;
    return function ? Py_BuildValue("N(O)", function, bytes) : NULL;
}

static PyMethodDef model_methods[] = {
    MMD_PY_METHOD(Model, from_arrays, mmd_py_model_from_arrays, MMD_PY_KEYWORDS | METH_CLASS),
    MMD_PY_METHOD(Model, bone, mmd_py_model_bone, METH_O),
    MMD_PY_METHOD(Model, morph, mmd_py_model_morph, METH_O),
    MMD_PY_METHOD(Model, sliders, mmd_py_model_sliders, METH_O),
    MMD_PY_METHOD(Model, pose, mmd_py_model_pose, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, locals_of, mmd_py_model_locals_of, METH_O),
    MMD_PY_METHOD(Model, locals_at, locals_at, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, pose_from, mmd_py_model_pose_from, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, joint_positions, mmd_py_model_joint_positions, METH_O),
    MMD_PY_METHOD(Model, transforms, mmd_py_model_transforms, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, skinning_matrices, mmd_py_model_skinning_matrices, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, uvs_at, mmd_py_model_uvs_at, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, materials_at, mmd_py_model_materials_at, METH_O),
    MMD_PY_METHOD(Model, texture_factors_at, mmd_py_model_texture_factors_at, METH_O),
    MMD_PY_METHOD(Model, _repr_html_, model_html, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, replace, mmd_py_model_replace, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, __replace__, mmd_py_model_replace, MMD_PY_KEYWORDS),
    MMD_PY_METHOD(Model, save, save_model, METH_O),
    MMD_PY_METHOD(Model, __reduce__, model_reduce, METH_NOARGS),
    {0}};

/* Properties */

static PyObject *get_path(PyObject *self, void *unused)
{
    PyObject *path = mmd_py_model_of(self)->path;
    return Py_NewRef(path ? path : Py_None);
}

static PyObject *get_version(PyObject *self, void *unused)
{
    /* 2.1, not 2.0999999 */
    double version = (double)mmd_py_model_of(self)->model->version;
    return PyFloat_FromDouble((double)(long)(version * 100 + 0.5) / 100);
}

/* clang-format off */
#define ARRAY(member, number, axes, ...) \
    {.name = #member, .offset = offsetof(mmd_model, member), .dtype = MMD_PY_##number, .rank = axes, \
     .columns = {__VA_ARGS__}},
#define RECORDS(member, number, of) \
    {.name = #member, .offset = offsetof(mmd_model, member), \
     .count_offset = offsetof(mmd_model, number), .kind = MMD_PY_RECORD_##of},
#define TEXT(member) {.name = #member, .offset = offsetof(mmd_model, member)},
/* clang-format on */

const mmd_py_model_member mmd_py_model_members[MMD_PY_MODEL_MEMBER_COUNT] = {
    MMD_PY_MODEL_MEMBERS(ARRAY, RECORDS, TEXT)};

#undef ARRAY
#undef RECORDS
#undef TEXT

static PyObject *get_text(PyObject *self, void *index)
{
    const char *model = (const char *)mmd_py_model_of(self)->model;
    return mmd_py_record_str(
        *(const mmd_text *)(model + mmd_py_model_members[(size_t)index].offset));
}

static PyObject *get_tuple(PyObject *self, void *index)
{
    mmd_py_model *model = mmd_py_model_of(self);
    const mmd_py_model_member *member = &mmd_py_model_members[(size_t)index];
    return mmd_py_record_cached_tuple(
        mmd_py_state_of(self), member->kind, mmd_bytes_pointer_at(model->model, member->offset),
        mmd_bytes_size_at(model->model, member->count_offset), model->owner,
        &model->tuples[(size_t)index - MMD_PY_MODEL_bones]);
}

/* A view of the model's memory. */
static PyObject *get_array(PyObject *self, void *index)
{
    const mmd_py_model *object = mmd_py_model_of(self);
    const mmd_model *model = object->model;
    const mmd_py_model_member *member = &mmd_py_model_members[(size_t)index];
    size_t rows =
        (size_t)index == MMD_PY_MODEL_triangles ? model->triangle_count : model->vertex_count;
    size_t columns = member->columns[0] ? member->columns[0] : model->additional_uv_count;
    const size_t shape[] = {rows, columns, member->columns[1]};
    return mmd_py_array_view(member->dtype, mmd_bytes_pointer_at(model, member->offset),
                             member->rank, shape, object->owner);
}

/* Views that keep the Model alive; it caches none of them. */

static PyObject *get_segments(PyObject *self, void *unused)
{
    const mmd_mesh_extras *extras = &mmd_py_model_of(self)->mesh_cache.extras;
    const size_t shape[] = {extras->segment_count, 2, 3};
    return mmd_py_array_view(MMD_PY_FLOAT32, extras->segments, 3, shape, self);
}

static PyObject *get_centers(PyObject *self, void *unused)
{
    mmd_py_model *model = mmd_py_model_of(self);
    return mmd_py_mesh_cache_centers(self, &model->mesh_cache);
}

/* What Python computes. */
static PyObject *get_computed(PyObject *self, void *name)
{
    return mmd_py_object_call(MODEL_METHODS, name, "(O)", self);
}

/* clang-format off */
#define ARRAY(name, ...) MMD_PY_PROPERTY(Model, name, get_array, MMD_PY_MODEL_##name),
#define RECORDS(name, ...) MMD_PY_PROPERTY(Model, name, get_tuple, MMD_PY_MODEL_##name),
#define TEXT(name) MMD_PY_PROPERTY(Model, name, get_text, MMD_PY_MODEL_##name),
/* clang-format on */

static PyGetSetDef model_members[] = {
    MMD_PY_MODEL_MEMBERS(ARRAY, RECORDS, TEXT) /* and what is computed: */
    MMD_PY_PROPERTY(Model, version, get_version, NULL),
    MMD_PY_PROPERTY(Model, path, get_path, NULL),
    MMD_PY_PROPERTY(Model, segments, get_segments, NULL),
    MMD_PY_PROPERTY(Model, centers_of_rotation, get_centers, NULL),
    MMD_PY_PROPERTY(Model, bounds, get_computed, "bounds"),
    MMD_PY_PROPERTY(Model, skeleton, get_computed, "skeleton"),
    {0}};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return PyErr_Format(PyExc_TypeError, "load_model() and Model.from_arrays() make a Model");
}

static PyType_Slot model_slots[] = {{Py_tp_doc, MMD_DOC_Model},
                                    {Py_tp_new, refuse_new},
                                    {Py_tp_dealloc, model_dealloc},
                                    {Py_tp_traverse, model_traverse},
                                    {Py_tp_repr, model_repr},
                                    {Py_tp_richcompare, model_compare},
                                    {Py_tp_hash, model_hash},
                                    {Py_tp_methods, model_methods},
                                    {Py_tp_getset, model_members},
                                    {Py_tp_members, mmd_py_object_members},
                                    {0, NULL}};

MMD_PY_TYPE_SPEC(model, "mmdskin.Model", mmd_py_model, Py_TPFLAGS_HAVE_GC);
