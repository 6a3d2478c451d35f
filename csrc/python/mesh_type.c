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

/* Copies of the arguments, for pickling; the mesh cache borrows some of them. */
typedef struct mesh_copies {
    PyObject *arrays[ARRAYS]; /* NULL: not passed */
    PyObject *morphs;         /* tuple of (indices, offsets) */
} mesh_copies;

typedef struct mesh_object {
    mmd_py_object base;
    mesh_copies copies;
    mmd_py_mesh_cache mesh_cache;
} mesh_object;

static const struct {
    const char *name;
    mmd_py_array_dtype dtype;
} arguments[ARRAYS] = {[POSITIONS] = {"positions", MMD_PY_FLOAT32},
                       [BONE_INDICES] = {"bone_indices", MMD_PY_INT32},
                       [BONE_WEIGHTS] = {"bone_weights", MMD_PY_FLOAT32},
                       [NORMALS] = {"normals", MMD_PY_FLOAT32},
                       [TANGENTS] = {"tangents", MMD_PY_FLOAT32},
                       [DEFORM] = {"deform", MMD_PY_UINT8},
                       [SDEF] = {"sdef", MMD_PY_FLOAT32},
                       [TRIANGLES] = {"triangles", MMD_PY_INT32},
                       [CENTERS] = {"centers", MMD_PY_FLOAT32},
                       [SEGMENTS] = {"segments", MMD_PY_FLOAT32},
                       [PARENTS] = {"parents", MMD_PY_INT32}};

mmd_py_mesh_cache *mmd_py_mesh_get_cache(PyObject *mesh)
{
    return &((mesh_object *)mesh)->mesh_cache;
}

mmd_py_mesh_cache *mmd_py_mesh_cache_from_argument(mmd_py_state *state, PyObject *argument)
{
    if (Py_TYPE(argument) == state->types[MMD_PY_MESH])
        return mmd_py_mesh_get_cache(argument);
    if (Py_TYPE(argument) == state->types[MMD_PY_MODEL])
        return mmd_py_model_mesh_cache(argument);
    mmd_py_exceptions_raise_wrong_type(argument, "mesh: expected a Model or a Mesh", "load_model");
    return NULL;
}

/* Parses a pair (indices, offsets). `*copies` becomes a tuple that owns the memory of `morph`. */
static bool parse_morph(PyObject *pair, size_t index, mmd_morph *morph, PyObject **copies)
{
    char names[2][48];
    PyOS_snprintf(names[0], sizeof names[0], "morphs[%zu]: indices", index);
    PyOS_snprintf(names[1], sizeof names[1], "morphs[%zu]: offsets", index);
    MMD_PY_OWNED PyObject *two = PySequence_Tuple(pair);
    if (!two && !PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    if (!two || PyTuple_Size(two) != 2)
        return PyErr_Format(PyExc_TypeError, "morphs[%zu]: expected (indices, offsets)", index);
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array indices = {0}, offsets = {0};
    size_t any[] = {MMD_PY_ANY, 3};
    bool fits =
        mmd_py_array_from(PyTuple_GetItem(two, 0), names[0], MMD_PY_INT32, true, &indices) &&
        mmd_py_array_from(PyTuple_GetItem(two, 1), names[1], MMD_PY_FLOAT32, true, &offsets) &&
        mmd_py_array_check_shape(&indices, names[0], 1, any, "n");
    if (fits) {
        any[0] = indices.shape[0];
        fits = mmd_py_array_check_shape(&offsets, names[1], 2, any, "");
    }
    *copies = fits ? PyTuple_Pack(2, indices.object, offsets.object) : NULL;
    *morph = (mmd_morph){.kind = MMD_MORPH_VERTEX,
                         .offset_count = indices.shape[0],
                         .indices = indices.data,
                         .values = offsets.data};
    return *copies != NULL;
}

/* Parses all morphs. Free `*list` with PyMem_Free. */
static bool parse_morphs(PyObject *argument, mesh_copies *copies, mmd_morph **list)
{
    MMD_PY_OWNED PyObject *all = PySequence_Tuple(argument);
    if (!all)
        return false;
    Py_ssize_t count = PyTuple_Size(all);
    *list = PyMem_Calloc((size_t)count + 1, sizeof **list);
    copies->morphs = *list ? PyTuple_New(count) : PyErr_NoMemory();
    bool ok = copies->morphs != NULL;
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *pair = NULL;
        ok = parse_morph(PyTuple_GetItem(all, i), (size_t)i, &(*list)[i], &pair) &&
             PyTuple_SetItem(copies->morphs, i, pair) == 0;
    }
    return ok;
}

static bool check_shapes(const mmd_py_array inputs[ARRAYS])
{
    size_t v = inputs[POSITIONS].object ? inputs[POSITIONS].shape[0] : 0;
    size_t k = inputs[BONE_INDICES].rank == 2 ? inputs[BONE_INDICES].shape[1] : 0;
    size_t width = inputs[TANGENTS].rank == 2 ? inputs[TANGENTS].shape[1] : 0;
    const struct {
        int rank;
        size_t shape[3];
    } shapes[ARRAYS] = {[POSITIONS] = {2, {MMD_PY_ANY, 3}},
                        [BONE_INDICES] = {2, {v, MMD_PY_ANY}},
                        [BONE_WEIGHTS] = {2, {v, k}},
                        [NORMALS] = {2, {v, 3}},
                        [TANGENTS] = {2, {v, MMD_PY_ANY}},
                        [DEFORM] = {1, {v}},
                        [SDEF] = {3, {v, 3, 3}},
                        [TRIANGLES] = {2, {MMD_PY_ANY, 3}},
                        [CENTERS] = {2, {v, 3}},
                        [SEGMENTS] = {3, {MMD_PY_ANY, 2, 3}},
                        [PARENTS] = {1, {MMD_PY_ANY}}};
    for (int i = 0; i < ARRAYS; i++) {
        const char *letters = i == POSITIONS   ? "V"
                              : i == TRIANGLES ? "T"
                              : i >= SEGMENTS  ? "B"
                                               : "K";
        if (inputs[i].object && !mmd_py_array_check_shape(&inputs[i], arguments[i].name,
                                                          shapes[i].rank, shapes[i].shape, letters))
            return false;
        if (i == BONE_INDICES && (k < 1 || k > 4))
            return PyErr_Format(PyExc_ValueError, "bone_indices: width %zu, expected 1 to 4", k);
    }
    if (inputs[TANGENTS].object && width != 3 && width != 4)
        return PyErr_Format(PyExc_ValueError, "tangents: width %zu, expected 3 or 4", width);
    return true;
}

/* Copies the arrays that were passed; `copies` owns them. */
static bool parse_arrays(mesh_copies *copies, PyObject *const objects[ARRAYS],
                         mmd_py_array inputs[ARRAYS])
{
    for (int i = 0; i < ARRAYS; i++) {
        if (!objects[i] || objects[i] == Py_None)
            continue;
        if (!mmd_py_array_from(objects[i], arguments[i].name, arguments[i].dtype, true, &inputs[i]))
            return false;
        copies->arrays[i] = inputs[i].object;
    }
    return check_shapes(inputs);
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

static bool build(PyObject *const objects[ARRAYS], PyObject *morphs, mesh_copies *copies,
                  mmd_py_mesh_cache *cache)
{
    mmd_py_array inputs[ARRAYS] = {{0}};
    mmd_morph *list = NULL;
    bool built = parse_arrays(copies, objects, inputs) && parse_morphs(morphs, copies, &list) &&
                 create_mesh(inputs, list, (size_t)PyTuple_Size(copies->morphs), cache);
    PyMem_Free(list);
    return built;
}

static void free_members(mesh_copies *copies, mmd_py_mesh_cache *cache)
{
    for (int i = 0; i < ARRAYS; i++)
        Py_CLEAR(copies->arrays[i]);
    Py_CLEAR(copies->morphs);
    mmd_py_mesh_cache_free(cache);
}

/* The object comes last: gc.get_objects() shows it to everyone, and arguments may run any code. */
static PyObject *new_object(PyTypeObject *type, PyObject *const objects[ARRAYS], PyObject *morphs)
{
    mesh_copies copies = {.morphs = NULL};
    mmd_py_mesh_cache cache = {0};
    mesh_object *self = NULL;
    if (build(objects, morphs, &copies, &cache))
        self = (mesh_object *)mmd_py_object_new(type);
    if (!self) {
        free_members(&copies, &cache);
        return NULL;
    }
    self->copies = copies;
    self->mesh_cache.extras = cache.extras;
    atomic_store(&self->mesh_cache.base, atomic_load(&cache.base));
    return (PyObject *)self;
}

static PyObject *mesh_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "positions", "bone_indices", "bone_weights", "normals",  "tangents", "deform", "sdef",
        "morphs",    "triangles",    "centers",      "segments", "parents",  NULL};
    PyObject *objects[ARRAYS] = {NULL}, *morphs = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|$OOOOOOOOO:Mesh", names,
                                     &objects[POSITIONS], &objects[BONE_INDICES],
                                     &objects[BONE_WEIGHTS], &objects[NORMALS], &objects[TANGENTS],
                                     &objects[DEFORM], &objects[SDEF], &morphs, &objects[TRIANGLES],
                                     &objects[CENTERS], &objects[SEGMENTS], &objects[PARENTS]))
        return NULL;
    for (int i = POSITIONS; i <= BONE_WEIGHTS; i++)
        if (objects[i] == Py_None)
            return PyErr_Format(PyExc_TypeError, "%s: expected an array, not None",
                                arguments[i].name);
    MMD_PY_OWNED PyObject *no_morphs = PyTuple_New(0);
    return no_morphs ? new_object(type, objects, morphs ? morphs : no_morphs) : NULL;
}

static int mesh_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((mesh_object *)self)->copies.morphs);
    return 0;
}

static void mesh_dealloc(PyObject *self)
{
    mesh_object *mesh = (mesh_object *)self;
    PyObject_GC_UnTrack(self);
    free_members(&mesh->copies, &mesh->mesh_cache);
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
    const mesh_copies *copies = &((mesh_object *)self)->copies;
    PyObject *const *arrays = copies->arrays;
    MMD_PY_OWNED PyObject *keywords = PyDict_New();
    bool complete = keywords && PyDict_SetItemString(keywords, "morphs", copies->morphs) == 0;
    for (int i = NORMALS; complete && i < ARRAYS; i++)
        if (arrays[i])
            complete = PyDict_SetItemString(keywords, arguments[i].name, arrays[i]) == 0;
    return complete ? Py_BuildValue("((OOO)O)", arrays[POSITIONS], arrays[BONE_INDICES],
                                    arrays[BONE_WEIGHTS], keywords)
                    : NULL;
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

PyType_Spec mmd_py_mesh_spec = {.name = "mmdskin.Mesh",
                                .basicsize = sizeof(mesh_object),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                         Py_TPFLAGS_IMMUTABLETYPE,
                                .slots = mesh_slots};
