/* SPDX-License-Identifier: MIT */
/* The Python type Mesh: constructor, pickling, properties. */
#include "core/skin/mesh.h"
#include "python/array.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/types.h"

enum {
    POSITIONS,
    BONE_INDICES,
    BONE_WEIGHTS,
    NORMALS,
    TANGENTS,
    DEFORM,
    SDEF,
    TRIANGLES,
    CENTERS,
    SEGMENTS,
    PARENTS,
    ARRAYS
};

typedef struct mesh_object {
    mmd_py_object base;
    PyObject *arguments; /* what mesh_arguments.py has made of them; the mesh cache borrows some */
    mmd_py_mesh_cache mesh_cache;
} mesh_object;

static const mmd_py_array_dtype dtypes[ARRAYS] = {
    [POSITIONS] = MMD_PY_FLOAT32, [BONE_INDICES] = MMD_PY_INT32, [BONE_WEIGHTS] = MMD_PY_FLOAT32,
    [NORMALS] = MMD_PY_FLOAT32,   [TANGENTS] = MMD_PY_FLOAT32,   [DEFORM] = MMD_PY_UINT8,
    [SDEF] = MMD_PY_FLOAT32,      [TRIANGLES] = MMD_PY_INT32,    [CENTERS] = MMD_PY_FLOAT32,
    [SEGMENTS] = MMD_PY_FLOAT32,  [PARENTS] = MMD_PY_INT32};

mmd_py_mesh_cache *mmd_py_mesh_cache_from_argument(mmd_py_state *state, PyObject *argument)
{
    if (Py_TYPE(argument) == state->types[MMD_PY_MESH])
        return &((mesh_object *)argument)->mesh_cache;
    if (Py_TYPE(argument) == state->types[MMD_PY_MODEL])
        return &mmd_py_model_of(argument)->mesh_cache;
    mmd_py_exceptions_raise_wrong_type(argument, "mesh: expected a Model or a Mesh", "load_model");
    return NULL;
}

/* The members of a tuple, NULL for None. The tuple keeps their memory. */
static bool take_arrays(PyObject *tuple, const mmd_py_array_dtype *types, mmd_py_array *out)
{
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyTuple_Size(tuple); i++)
        ok = mmd_py_array_borrow(PyTuple_GetItem(tuple, i), types[i], &out[i]);
    return ok;
}

/* Pairs of indices and offsets. Free the result with PyMem_Free. */
static mmd_morph *take_morphs(PyObject *morphs)
{
    static const mmd_py_array_dtype types[] = {MMD_PY_INT32, MMD_PY_FLOAT32};
    mmd_morph *list = PyMem_Calloc((size_t)PyTuple_Size(morphs) + 1, sizeof *list);
    if (!list)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; list && i < PyTuple_Size(morphs); i++) {
        mmd_py_array pair[2] = {{0}};
        if (!take_arrays(PyTuple_GetItem(morphs, i), types, pair)) {
            PyMem_Free(list);
            return NULL;
        }
        list[i] = (mmd_morph){.kind = MMD_MORPH_VERTEX,
                              .offset_count = pair[0].shape[0],
                              .indices = pair[0].data,
                              .values = pair[1].data};
    }
    return list;
}

static bool create_mesh(const mmd_py_array inputs[ARRAYS], const mmd_morph *morphs,
                        size_t morph_count, mmd_py_mesh_cache *cache)
{
    const mmd_mesh_desc desc = {.vertex_count = inputs[POSITIONS].shape[0],
                                .positions = inputs[POSITIONS].data,
                                .normals = inputs[NORMALS].data,
                                .tangents = inputs[TANGENTS].data,
                                .tangent_width = inputs[TANGENTS].shape[1],
                                .influence_count = inputs[BONE_INDICES].shape[1],
                                .bone_indices = inputs[BONE_INDICES].data,
                                .bone_weights = inputs[BONE_WEIGHTS].data,
                                .deform = inputs[DEFORM].data,
                                .sdef = inputs[SDEF].data,
                                .morph_count = morph_count,
                                .morphs = morphs};
    cache->extras = (mmd_mesh_extras){.triangles = inputs[TRIANGLES].data,
                                      .triangle_count = inputs[TRIANGLES].shape[0],
                                      .centers = inputs[CENTERS].data,
                                      .segments = inputs[SEGMENTS].data,
                                      .segment_count = inputs[SEGMENTS].shape[0],
                                      .parents = inputs[PARENTS].data,
                                      .parent_count = inputs[PARENTS].shape[0]};
    mmd_error err = {0};
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    mmd_mesh *mesh = mmd_mesh_new(&desc, &err);
    atomic_store(&cache->base, mesh);
    ok = mesh && mmd_mesh_extras_check(mesh, &cache->extras, &err);
    Py_END_ALLOW_THREADS
    return ok || mmd_py_exceptions_raise(&err);
}

static bool build(PyObject *arguments, mmd_py_mesh_cache *cache)
{
    mmd_py_array inputs[ARRAYS] = {{0}};
    PyObject *morphs = PyTuple_GetItem(arguments, 1);
    mmd_morph *list =
        take_arrays(PyTuple_GetItem(arguments, 0), dtypes, inputs) ? take_morphs(morphs) : NULL;
    bool built = list && create_mesh(inputs, list, (size_t)PyTuple_Size(morphs), cache);
    PyMem_Free(list);
    return built;
}

/* The object comes last: gc.get_objects() shows it to everyone, and arguments may run any code. */
static PyObject *mesh_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    MMD_PY_OWNED PyObject *arguments =
        mmd_py_object_forward("mmdskin.mesh_arguments", "mesh", (PyObject *)type, args, kwargs);
    mmd_py_mesh_cache cache = {0};
    mesh_object *self = NULL;
    if (arguments && build(arguments, &cache))
        self = (mesh_object *)mmd_py_object_new(type);
    if (!self) {
        mmd_py_mesh_cache_free(&cache);
        return NULL;
    }
    self->arguments = Py_NewRef(arguments);
    self->mesh_cache.extras = cache.extras;
    atomic_store(&self->mesh_cache.base, atomic_load(&cache.base));
    return (PyObject *)self;
}

static int mesh_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((mesh_object *)self)->arguments);
    return 0;
}

static void mesh_dealloc(PyObject *self)
{
    mesh_object *mesh = (mesh_object *)self;
    PyObject_GC_UnTrack(self);
    mmd_py_mesh_cache_free(&mesh->mesh_cache);
    Py_CLEAR(mesh->arguments);
    mmd_py_object_free(self);
}

static PyObject *mesh_repr(PyObject *self)
{
    const mmd_mesh *mesh = atomic_load(&((mesh_object *)self)->mesh_cache.base);
    return PyUnicode_FromFormat("<mmdskin.Mesh: %zu vertices, %zu bones, %zu morphs>",
                                mesh->vertex_count, mesh->bone_count, mesh->morph_count);
}

static PyObject *mesh_getnewargs_ex(PyObject *self, PyObject *unused)
{
    return mmd_py_object_forward("mmdskin.mesh_arguments", "mesh_again", self,
                                 ((mesh_object *)self)->arguments, NULL);
}

static PyMethodDef mesh_methods[] = {
    MMD_PY_METHOD(Mesh, __getnewargs_ex__, mesh_getnewargs_ex, METH_NOARGS), {0}};

static PyObject *get_centers(PyObject *self, void *unused)
{
    mesh_object *mesh = (mesh_object *)self;
    return mmd_py_mesh_cache_centers(self, &mesh->mesh_cache);
}

static PyGetSetDef mesh_members[] = {MMD_PY_PROPERTY(Mesh, centers_of_rotation, get_centers, NULL),
                                     {0}};

static PyType_Slot mesh_slots[] = {{Py_tp_doc, MMD_DOC_Mesh},
                                   {Py_tp_new, mesh_new},
                                   {Py_tp_dealloc, mesh_dealloc},
                                   {Py_tp_traverse, mesh_traverse},
                                   {Py_tp_repr, mesh_repr},
                                   {Py_tp_methods, mesh_methods},
                                   {Py_tp_getset, mesh_members},
                                   {Py_tp_members, mmd_py_object_members},
                                   {0, NULL}};

MMD_PY_TYPE_SPEC(mesh, "mmdskin.Mesh", mesh_object, Py_TPFLAGS_HAVE_GC);
