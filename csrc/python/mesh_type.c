/* SPDX-License-Identifier: MIT */
#include "core/skin/mesh.h"
#include "python/arrays.h"
#include "python/state.h"

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
    PyObject_HEAD
    PyObject *arrays[ARRAYS]; /* own copies of the arguments, for pickling; NULL when not given */
    PyObject *morphs;         /* tuple of (indices, offsets), own copies as well */
    mmd_variants variants;
} mesh_object;

static const struct {
    const char *name;
    mmd_dtype dtype;
} arguments[ARRAYS] = {[POSITIONS] = {"positions", MMD_FLOAT32},
                       [BONE_INDICES] = {"bone_indices", MMD_INT32},
                       [BONE_WEIGHTS] = {"bone_weights", MMD_FLOAT32},
                       [NORMALS] = {"normals", MMD_FLOAT32},
                       [TANGENTS] = {"tangents", MMD_FLOAT32},
                       [DEFORM] = {"deform", MMD_UINT8},
                       [SDEF] = {"sdef", MMD_FLOAT32},
                       [TRIANGLES] = {"triangles", MMD_INT32},
                       [CENTERS] = {"centers", MMD_FLOAT32},
                       [SEGMENTS] = {"segments", MMD_FLOAT32},
                       [PARENTS] = {"parents", MMD_INT32}};

mmd_variants *mmd_mesh_variants(PyObject *mesh)
{
    return &((mesh_object *)mesh)->variants;
}

/* One (indices, offsets) pair into `morph`, whose memory the two copies added to `kept` hold. */
static bool take_morph(PyObject *pair, size_t index, mmd_morph *morph, PyObject **kept)
{
    char names[2][48];
    PyOS_snprintf(names[0], sizeof names[0], "morphs[%zu]: indices", index);
    PyOS_snprintf(names[1], sizeof names[1], "morphs[%zu]: offsets", index);
    PyObject *two = PySequence_Tuple(pair);
    if (!two || PyTuple_Size(two) != 2) {
        if (two || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "morphs[%zu]: expected (indices, offsets)", index);
        Py_XDECREF(two);
        return false;
    }
    mmd_array indices = {0}, offsets = {0};
    size_t any[] = {MMD_ANY, 3};
    bool fits = mmd_array_from(PyTuple_GetItem(two, 0), names[0], MMD_INT32, true, &indices) &&
                mmd_array_from(PyTuple_GetItem(two, 1), names[1], MMD_FLOAT32, true, &offsets) &&
                mmd_array_check_shape(&indices, names[0], 1, any, "n");
    if (fits) {
        any[0] = indices.shape[0];
        fits = mmd_array_check_shape(&offsets, names[1], 2, any, "");
    }
    *kept = fits ? PyTuple_Pack(2, indices.object, offsets.object) : NULL;
    *morph = (mmd_morph){.kind = MMD_MORPH_VERTEX,
                         .offset_count = indices.shape[0],
                         .indices = indices.data,
                         .values = offsets.data};
    mmd_array_clear(&indices);
    mmd_array_clear(&offsets);
    Py_DECREF(two);
    return *kept != NULL;
}

/* Takes all morphs; `*list` is freed by PyMem_Free. */
static bool take_morphs(PyObject *argument, mesh_object *self, mmd_morph **list)
{
    PyObject *all = PySequence_Tuple(argument);
    if (!all)
        return false;
    Py_ssize_t count = PyTuple_Size(all);
    *list = PyMem_Calloc((size_t)count + 1, sizeof **list);
    self->morphs = *list ? PyTuple_New(count) : PyErr_NoMemory();
    bool taken = self->morphs != NULL;
    for (Py_ssize_t i = 0; taken && i < count; i++) {
        PyObject *kept = NULL;
        taken = take_morph(PyTuple_GetItem(all, i), (size_t)i, &(*list)[i], &kept) &&
                PyTuple_SetItem(self->morphs, i, kept) == 0;
    }
    Py_DECREF(all);
    return taken;
}

static bool check_shapes(const mmd_array given[ARRAYS])
{
    size_t v = given[POSITIONS].object ? given[POSITIONS].shape[0] : 0;
    size_t k = given[BONE_INDICES].rank == 2 ? given[BONE_INDICES].shape[1] : 0;
    size_t width = given[TANGENTS].rank == 2 ? given[TANGENTS].shape[1] : 0;
    const struct {
        int rank;
        size_t shape[3];
    } shapes[ARRAYS] = {[POSITIONS] = {2, {MMD_ANY, 3}}, [BONE_INDICES] = {2, {v, MMD_ANY}},
                        [BONE_WEIGHTS] = {2, {v, k}},    [NORMALS] = {2, {v, 3}},
                        [TANGENTS] = {2, {v, MMD_ANY}},  [DEFORM] = {1, {v}},
                        [SDEF] = {3, {v, 3, 3}},         [TRIANGLES] = {2, {MMD_ANY, 3}},
                        [CENTERS] = {2, {v, 3}},         [SEGMENTS] = {3, {MMD_ANY, 2, 3}},
                        [PARENTS] = {1, {MMD_ANY}}};
    for (int i = 0; i < ARRAYS; i++) {
        const char *letters = i == POSITIONS   ? "V"
                              : i == TRIANGLES ? "T"
                              : i >= SEGMENTS  ? "B"
                                               : " K";
        if (given[i].object && !mmd_array_check_shape(&given[i], arguments[i].name, shapes[i].rank,
                                                      shapes[i].shape, letters))
            return false;
        if (i == BONE_INDICES && (k < 1 || k > 4)) {
            PyErr_Format(PyExc_ValueError, "bone_indices: %zu columns, expected 1 to 4", k);
            return false;
        }
    }
    if (given[TANGENTS].object && width != 3 && width != 4) {
        PyErr_Format(PyExc_ValueError, "tangents: %zu columns, expected 3 or 4", width);
        return false;
    }
    return true;
}

/* Copies of the arrays that are given, which the object owns. */
static bool take_arrays(mesh_object *self, PyObject *const objects[ARRAYS], mmd_array given[ARRAYS])
{
    for (int i = 0; i < ARRAYS; i++) {
        if (!objects[i] || objects[i] == Py_None)
            continue;
        if (!mmd_array_from(objects[i], arguments[i].name, arguments[i].dtype, true, &given[i]))
            return false;
        self->arrays[i] = given[i].object;
    }
    return check_shapes(given);
}

static bool make_mesh(mesh_object *self, const mmd_array given[ARRAYS], const mmd_morph *morphs)
{
    const mmd_mesh_desc desc = {.vertex_count = given[POSITIONS].shape[0],
                                .positions = given[POSITIONS].data,
                                .normals = given[NORMALS].data,
                                .tangents = given[TANGENTS].data,
                                .tangent_width = given[TANGENTS].shape[1],
                                .influence_count = given[BONE_INDICES].shape[1],
                                .bone_indices = given[BONE_INDICES].data,
                                .bone_weights = given[BONE_WEIGHTS].data,
                                .deform = given[DEFORM].data,
                                .sdef = given[SDEF].data,
                                .morph_count = (size_t)PyTuple_Size(self->morphs),
                                .morphs = morphs};
    mmd_mesh_extras *extras = &self->variants.extras;
    *extras = (mmd_mesh_extras){.triangles = given[TRIANGLES].data,
                                .triangle_count = given[TRIANGLES].shape[0],
                                .centers = given[CENTERS].data,
                                .segments = given[SEGMENTS].data,
                                .segment_count = given[SEGMENTS].shape[0],
                                .parents = given[PARENTS].data,
                                .parent_count = given[PARENTS].shape[0]};
    mmd_error err = {0};
    bool made;
    Py_BEGIN_ALLOW_THREADS
    mmd_mesh *mesh = mmd_mesh_new(&desc, &err);
    atomic_store(&self->variants.base, mesh);
    made = mesh && mmd_mesh_extras_check(mesh, extras, &err);
    Py_END_ALLOW_THREADS
    if (!made)
        mmd_raise(mmd_state_of((PyObject *)self), &err);
    return made;
}

static bool build(mesh_object *self, PyObject *const objects[ARRAYS], PyObject *morphs)
{
    mmd_array given[ARRAYS] = {{0}};
    mmd_morph *list = NULL;
    bool built = take_arrays(self, objects, given) && take_morphs(morphs, self, &list) &&
                 make_mesh(self, given, list);
    PyMem_Free(list);
    return built;
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
        if (objects[i] == Py_None) {
            PyErr_Format(PyExc_TypeError, "%s: expected an array, not None", arguments[i].name);
            return NULL;
        }
    PyObject *none = PyTuple_New(0);
    PyObject *self = none ? mmd_object_new(type) : NULL;
    if (self && !build((mesh_object *)self, objects, morphs ? morphs : none))
        Py_CLEAR(self);
    Py_XDECREF(none);
    return self;
}

static int mesh_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((mesh_object *)self)->morphs);
    return 0;
}

static void mesh_dealloc(PyObject *self)
{
    mesh_object *mesh = (mesh_object *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < ARRAYS; i++)
        Py_CLEAR(mesh->arrays[i]);
    Py_CLEAR(mesh->morphs);
    mmd_variants_free(&mesh->variants);
    mmd_object_free(self);
}

static PyObject *mesh_repr(PyObject *self)
{
    const mmd_mesh *mesh = atomic_load(&((mesh_object *)self)->variants.base);
    return PyUnicode_FromFormat("<mmdskin.Mesh: %zu vertices, %zu bones, %zu morphs>",
                                mesh->vertex_count, mesh->bone_count, mesh->morph_count);
}

static PyObject *mesh_getnewargs_ex(PyObject *self, PyObject *unused)
{
    (void)unused;
    mesh_object *mesh = (mesh_object *)self;
    PyObject *keywords = PyDict_New();
    bool complete = keywords && PyDict_SetItemString(keywords, "morphs", mesh->morphs) == 0;
    for (int i = NORMALS; complete && i < ARRAYS; i++)
        if (mesh->arrays[i])
            complete = PyDict_SetItemString(keywords, arguments[i].name, mesh->arrays[i]) == 0;
    if (!complete) {
        Py_XDECREF(keywords);
        return NULL;
    }
    return Py_BuildValue("((OOO)N)", mesh->arrays[POSITIONS], mesh->arrays[BONE_INDICES],
                         mesh->arrays[BONE_WEIGHTS], keywords);
}

static PyMethodDef mesh_methods[] = {
    {"__getnewargs_ex__", mesh_getnewargs_ex, METH_NOARGS, "For pickling."}, {0}};

const char mmd_centers_doc[] =
    "(V,3) float32, read-only: the centers of rotation of method=\"centers_of_rotation\", model\n"
    "units: those given, else by Le and Hodgins, ACM Transactions on Graphics 35(4), 2016, "
    "equation\n"
    "(4), with sigma and epsilon 0.1; a vertex that nothing resembles is its own center. Made at\n"
    "first use, in 10 to 30 ms for a model. A Mesh with neither triangles nor centers: ValueError.";

PyObject *mmd_centers_of_rotation(PyObject *self, mmd_variants *variants)
{
    mmd_error err = {0};
    const mmd_mesh *made;
    Py_BEGIN_ALLOW_THREADS
    made = mmd_variants_get(variants, MMD_METHOD_CENTERS_OF_ROTATION, false, &err);
    Py_END_ALLOW_THREADS
    if (!made)
        return mmd_raise(mmd_state_of(self), &err);
    const size_t shape[] = {made->vertex_count, 3};
    return mmd_array_view(MMD_FLOAT32, made->centers, 2, shape, self);
}

static PyObject *get_centers(PyObject *self, void *unused)
{
    (void)unused;
    mesh_object *mesh = (mesh_object *)self;
    return mmd_centers_of_rotation(self, &mesh->variants);
}

static PyGetSetDef mesh_members[] = {
    {"centers_of_rotation", get_centers, NULL, mmd_centers_doc, NULL}, {0}};

static const char mesh_doc[] =
    "Mesh(positions, bone_indices, bone_weights, *, normals=None, tangents=None, deform=None,\n"
    "     sdef=None, morphs=(), triangles=None, centers=None, segments=None, parents=None)\n--\n\n"
    "Skinning input without a file. Copies its arguments; immutable, picklable, and safe to share\n"
    "between threads.\n\n"
    "positions: (V,3) float32, model units.\n"
    "bone_indices: (V,K) int32 with K of 1 to 4; -1 is an empty slot.\n"
    "bone_weights: (V,K) float32; divided by their sum, may be negative.\n"
    "normals: (V,3) float32 of any length; a zero normal stays zero.\n"
    "tangents: (V,3) float32, or (V,4) with the handedness, which is passed on. Needs normals.\n"
    "deform: (V,) uint8: 0 BDEF1 (slot 0 with weight 1), 1 BDEF2 (slots 0 and 1), 2 BDEF4,\n"
    "    3 SDEF (slots 0 and 1), 4 QDEF. None: BDEF4 for all.\n"
    "sdef: (V,3,3) float32, rows C, R0, R1 in model units; needed when deform has a 3.\n"
    "morphs: sequence of (indices (n,), offsets (n,3)), one for each morph weight.\n\n"
    "For the methods against bulges:\n"
    "triangles: (T,3) int32, from which method=\"centers_of_rotation\" makes its centers.\n"
    "centers: (V,3) float32, model units: centers of rotation of your own, instead of triangles.\n"
    "segments: (B,2,3) float32, head and tail of each bone at rest, equal where it has none;\n"
    "parents: (B,) int32, -1 none. \"bulge_free\" and \"bulge_compensated\" need both.\n\n"
    "Raises TypeError and ValueError; the text names the vertex and the limit.";

static PyType_Slot mesh_slots[] = {{Py_tp_doc, (void *)mesh_doc}, {Py_tp_new, mesh_new},
                                   {Py_tp_dealloc, mesh_dealloc}, {Py_tp_traverse, mesh_traverse},
                                   {Py_tp_repr, mesh_repr},       {Py_tp_methods, mesh_methods},
                                   {Py_tp_getset, mesh_members},  {0, NULL}};

PyType_Spec mmd_mesh_spec = {.name = "mmdskin.Mesh",
                             .basicsize = sizeof(mesh_object),
                             .flags =
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                             .slots = mesh_slots};
