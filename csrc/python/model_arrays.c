/* SPDX-License-Identifier: MIT */
/* Model.from_arrays() and Model.replace(). */
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* In the order of the keywords. */
typedef enum argument {
    POSITIONS,
    TRIANGLES,
    NORMALS,
    UVS,
    ADDITIONAL_UVS,
    EDGE_SCALES,
    DEFORM,
    BONE_INDICES,
    BONE_WEIGHTS,
    SDEF,
    BONES,
    MORPHS,
    MATERIALS,
    TEXTURES,
    DISPLAY_FRAMES,
    RIGID_BODIES,
    JOINTS,
    NAME,
    NAME_ENGLISH,
    COMMENT,
    COMMENT_ENGLISH,
    VERSION,
    ARGUMENTS
} argument;

static char *names[ARGUMENTS + 1] = {
    [POSITIONS] = "positions",
    [TRIANGLES] = "triangles",
    [NORMALS] = "normals",
    [UVS] = "uvs",
    [ADDITIONAL_UVS] = "additional_uvs",
    [EDGE_SCALES] = "edge_scales",
    [DEFORM] = "deform",
    [BONE_INDICES] = "bone_indices",
    [BONE_WEIGHTS] = "bone_weights",
    [SDEF] = "sdef",
    [BONES] = "bones",
    [MORPHS] = "morphs",
    [MATERIALS] = "materials",
    [TEXTURES] = "textures",
    [DISPLAY_FRAMES] = "display_frames",
    [RIGID_BODIES] = "rigid_bodies",
    [JOINTS] = "joints",
    [NAME] = "name",
    [NAME_ENGLISH] = "name_english",
    [COMMENT] = "comment",
    [COMMENT_ENGLISH] = "comment_english",
    [VERSION] = "version",
};

typedef struct builder {
    PyObject *values[ARGUMENTS]; /* borrowed; NULL or None: the default */
    bool kept[ARGUMENTS];        /* those of the model whose members replace() keeps */
    mmd_py_record_parser parser;
    mmd_model model; /* borrows the parser's memory, and that of a model for what is kept */
} builder;

static PyObject *given(const builder *b, argument which)
{
    PyObject *value = b->values[which];
    return value == Py_None ? NULL : value;
}

static bool is_default(const builder *b, argument which)
{
    return !given(b, which) && !b->kept[which];
}

/* Arrays */

/* A copy that the parser owns, or the view of a model's array, which nobody can modify; NULL
   without an argument. Its shape if `shape` is not NULL. */
static bool parse_array(builder *b, argument which, mmd_py_array_dtype dtype, int rank,
                        const size_t *expected, const char *letters, void **data, size_t *shape)
{
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    *data = NULL;
    if (!given(b, which))
        return true;
    bool ok = mmd_py_array_from(given(b, which), names[which], dtype, !b->kept[which], &array) &&
              mmd_py_array_check_shape(&array, names[which], rank, expected, letters) &&
              mmd_py_record_parser_keep(&b->parser, array.object);
    if (ok)
        *data = array.data;
    for (int i = 0; ok && shape && i < rank; i++)
        shape[i] = array.shape[i];
    return ok;
}

/* The same for arrays with a row of float32 for each vertex. */
static bool parse_floats(builder *b, argument which, int rank, const size_t *columns, float **out)
{
    size_t shape[3] = {b->model.vertex_count};
    void *data;
    for (int i = 1; i < rank; i++)
        shape[i] = columns[i - 1];
    bool ok = parse_array(b, which, MMD_PY_FLOAT32, rank, shape, "", &data, NULL);
    *out = data;
    return ok;
}

/* From (V,K) numbers of four bytes, K from 1 to 4, to (V,4), which may be the same memory. */
static void *widen(builder *b, const void *from, size_t columns, const void *fill)
{
    enum { SIZE = 4 };
    size_t count = b->model.vertex_count;
    if (columns == 4)
        return (void *)from;
    char *to = mmd_py_record_parser_alloc(&b->parser, count, 4 * SIZE);
    for (size_t v = 0; to && v < count; v++)
        for (size_t k = 0; k < 4; k++)
            memcpy(to + SIZE * (4 * v + k),
                   k < columns ? (const char *)from + SIZE * (columns * v + k) : fill, SIZE);
    return to;
}

/* Indices may have one axis: a bone for each vertex. */
static bool parse_bone_indices(builder *b, size_t *columns)
{
    static const int32_t no_bone = -1;
    const size_t expected[] = {b->model.vertex_count, MMD_PY_ANY};
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    if (!mmd_py_array_from(given(b, BONE_INDICES), names[BONE_INDICES], MMD_PY_INT32,
                           !b->kept[BONE_INDICES], &array))
        return false;
    int rank = array.rank == 1 ? 1 : 2;
    bool ok = mmd_py_array_check_shape(&array, names[BONE_INDICES], rank, expected, "K") &&
              mmd_py_record_parser_keep(&b->parser, array.object);
    *columns = ok && rank == 2 ? array.shape[1] : 1;
    if (ok && (*columns < 1 || *columns > 4)) {
        PyErr_Format(PyExc_ValueError, "bone_indices: %zu columns, expected 1 to 4", *columns);
        ok = false;
    }
    b->model.bone_indices = ok ? widen(b, array.data, *columns, &no_bone) : NULL;
    return b->model.bone_indices != NULL;
}

static bool parse_influences(builder *b)
{
    static const float no_weight = 0;
    mmd_model *model = &b->model;
    size_t columns = MMD_PY_ANY;
    void *weights;
    model->bone_indices = NULL;
    if (given(b, BONE_INDICES) && !parse_bone_indices(b, &columns))
        return false;
    const size_t expected[] = {model->vertex_count, columns};
    if (!parse_array(b, BONE_WEIGHTS, MMD_PY_FLOAT32, 2, expected, "K", &weights, NULL))
        return false;
    if (!model->bone_indices) {
        model->bone_weights = weights; /* mmd_model_new() says what is missing */
        return true;
    }
    if (weights)
        return (model->bone_weights = widen(b, weights, columns, &no_weight)) != NULL;
    if (columns > 1)
        return PyErr_Format(PyExc_ValueError, "bone_weights: missing");
    model->bone_weights =
        mmd_py_record_parser_alloc(&b->parser, model->vertex_count, 4 * sizeof(float));
    for (size_t v = 0; model->bone_weights && v < model->vertex_count; v++)
        model->bone_weights[4 * v] = 1;
    return model->bone_weights != NULL;
}

/* In replace(): whether other positions are as many as what is kept of the model's vertices. */
static bool check_kept_vertices(const builder *b, size_t count)
{
    char kept[160] = "";
    for (int i = NORMALS; i <= SDEF; i++)
        if (b->kept[i])
            snprintf(kept + strlen(kept), sizeof kept - strlen(kept), "%s%s", *kept ? ", " : "",
                     names[i]);
    return !*kept || count == b->model.vertex_count ||
           PyErr_Format(
               PyExc_ValueError,
               "positions: %zu vertices, but the model has %zu: replace %s, too (None: the "
               "default), and triangles and morphs, which refer to vertices",
               count, b->model.vertex_count, kept);
}

static bool parse_arrays(builder *b)
{
    mmd_model *model = &b->model;
    size_t shape[3] = {0};
    void *positions, *triangles, *uvs, *deform;
    if (!parse_array(b, POSITIONS, MMD_PY_FLOAT32, 2, (size_t[]){MMD_PY_ANY, 3}, "V", &positions,
                     shape))
        return false;
    model->positions = positions;
    if (!check_kept_vertices(b, positions ? shape[0] : 0))
        return false;
    model->vertex_count = positions ? shape[0] : 0;
    if (!parse_array(b, TRIANGLES, MMD_PY_INT32, 2, (size_t[]){MMD_PY_ANY, 3}, "T", &triangles,
                     shape))
        return false;
    model->triangles = triangles;
    model->triangle_count = triangles ? shape[0] : 0;
    if (!parse_array(b, ADDITIONAL_UVS, MMD_PY_FLOAT32, 3,
                     (size_t[]){model->vertex_count, MMD_PY_ANY, 4}, "n", &uvs, shape))
        return false;
    model->additional_uvs = uvs;
    model->additional_uv_count = uvs ? shape[1] : 0;
    if (!parse_array(b, DEFORM, MMD_PY_UINT8, 1, &model->vertex_count, "", &deform, NULL))
        return false;
    model->deform = deform;
    return parse_floats(b, NORMALS, 2, (size_t[]){3}, &model->normals) &&
           parse_floats(b, UVS, 2, (size_t[]){2}, &model->uvs) &&
           parse_floats(b, EDGE_SCALES, 1, NULL, &model->edge_scales) &&
           parse_floats(b, SDEF, 3, (size_t[]){3, 3}, &model->sdef) && parse_influences(b);
}

/* Records and texts */

/* Where the argument goes in a model: a text, or an array and the number of its items. */
typedef struct destination {
    bool is_text;
    size_t offset, count_offset;
    mmd_py_record_kind kind; /* of the items; the textures are texts */
} destination;

/* clang-format off */
#define TEXT(member) {.is_text = true, .offset = offsetof(mmd_model, member)}
#define RECORDS(member, number, ...) \
    {.offset = offsetof(mmd_model, member), .count_offset = offsetof(mmd_model, number), __VA_ARGS__}
/* clang-format on */

static const destination destinations[ARGUMENTS] = {
    [BONES] = RECORDS(bones, bone_count, .kind = MMD_PY_RECORD_BONE),
    [MORPHS] = RECORDS(morphs, morph_count, .kind = MMD_PY_RECORD_MORPH),
    [MATERIALS] = RECORDS(materials, material_count, .kind = MMD_PY_RECORD_MATERIAL),
    [TEXTURES] = RECORDS(textures, texture_count, .kind = MMD_PY_RECORD_COUNT),
    [DISPLAY_FRAMES] =
        RECORDS(display_frames, display_frame_count, .kind = MMD_PY_RECORD_DISPLAY_FRAME),
    [RIGID_BODIES] = RECORDS(rigid_bodies, rigid_body_count, .kind = MMD_PY_RECORD_RIGID_BODY),
    [JOINTS] = RECORDS(joints, joint_count, .kind = MMD_PY_RECORD_JOINT),
    [NAME] = TEXT(name),
    [NAME_ENGLISH] = TEXT(name_english),
    [COMMENT] = TEXT(comment),
    [COMMENT_ENGLISH] = TEXT(comment_english),
};

static bool parse_value(builder *b, argument which, PyObject *value)
{
    const destination *to = &destinations[which];
    char *model = (char *)&b->model;
    void *member = model + to->offset;
    size_t *count = (size_t *)(void *)(model + to->count_offset);
    size_t length = mmd_py_record_parser_enter(&b->parser, "%s", names[which]);
    bool ok = to->is_text ? mmd_py_record_parse_text(&b->parser, value, member)
              : which == TEXTURES
                  ? mmd_py_record_parse_texts(&b->parser, value, member, count)
                  : mmd_py_record_parse_list(&b->parser, to->kind, value, member, count);
    mmd_py_record_parser_leave(&b->parser, length);
    return ok;
}

static bool parse_members(builder *b)
{
    bool ok = true;
    for (argument which = BONES; ok && which <= COMMENT_ENGLISH; which++) {
        const destination *to = &destinations[which];
        char *model = (char *)&b->model;
        if (b->kept[which])
            continue;
        if (to->is_text)
            *(mmd_text *)(void *)(model + to->offset) = (mmd_text){0};
        else
            *(size_t *)(void *)(model + to->count_offset) = 0;
        ok = !given(b, which) || parse_value(b, which, given(b, which));
    }
    return ok;
}

static mmd_text text(const char *utf8)
{
    return (mmd_text){utf8, strlen(utf8)};
}

/* By default one material for all triangles. */
static bool complete_materials(builder *b)
{
    if (!is_default(b, MATERIALS) || !b->model.triangle_count)
        return true;
    MMD_PY_OWNED PyObject *records = Py_BuildValue("((s))", "材質1");
    return records && parse_value(b, MATERIALS, records);
}

/* An index_count of -1 stands for all indices that are left. */
static void complete_index_counts(mmd_model *model)
{
    int64_t left = 3 * (int64_t)model->triangle_count;
    for (size_t m = 0; m < model->material_count; m++) {
        int32_t *count = &model->materials[m].index_count;
        if (*count == -1 && left <= INT32_MAX)
            *count = (int32_t)(left > 0 ? left : 0);
        left -= *count;
    }
}

/* By default MMD's two special frames, which hold the first bone and all morphs, and a frame for
   the other bones: MMD's timeline shows only what is in a frame. */
static bool complete_display_frames(builder *b)
{
    mmd_model *model = &b->model;
    size_t bones = model->bone_count, morphs = model->morph_count;
    if (!is_default(b, DISPLAY_FRAMES))
        return true;
    mmd_display_frame *frames = mmd_py_record_parser_alloc(&b->parser, 3, sizeof *frames);
    mmd_frame_element *elements =
        mmd_py_record_parser_alloc(&b->parser, bones + morphs, sizeof *elements);
    if (!frames || !elements)
        return false;
    for (size_t i = 0; i < bones; i++)
        elements[i].index = (int32_t)i;
    for (size_t i = 0; i < morphs; i++)
        elements[bones + i] = (mmd_frame_element){1, (int32_t)i};
    size_t root = bones > 0;
    frames[0] = (mmd_display_frame){text("Root"), text("Root"), true, root, elements};
    frames[1] = (mmd_display_frame){text("表情"), text("Exp"), true, morphs, elements + bones};
    frames[2] =
        (mmd_display_frame){text("ボーン"), text("Bones"), false, bones - root, elements + root};
    model->display_frames = frames;
    model->display_frame_count = bones > 1 ? 3 : 2;
    return true;
}

static bool parse_version(builder *b)
{
    double version = b->kept[VERSION] ? (double)b->model.version : 0;
    if (given(b, VERSION) && !mmd_py_argument_double(given(b, VERSION), "version", &version))
        return false;
    if (given(b, VERSION) && !(version >= 1 && version < 3))
        return PyErr_Format(PyExc_ValueError, "version: %S, expected 2.0 or 2.1",
                            given(b, VERSION));
    b->model.version = (float)version;
    return true;
}

static PyObject *build(mmd_py_state *state, builder *b)
{
    if (!parse_version(b) || !parse_arrays(b) || !parse_members(b) || !complete_materials(b) ||
        !complete_display_frames(b))
        return NULL;
    complete_index_counts(&b->model);
    mmd_error err = {0};
    mmd_model *model;
    Py_BEGIN_ALLOW_THREADS
    model = mmd_model_new(&b->model, &err);
    Py_END_ALLOW_THREADS
    return model ? mmd_py_model_new(state, model) : mmd_py_exceptions_raise(&err);
}

#define FORMAT "|OO$OOOOOOOOOOOOOOOOOOOO" /* of PyArg_ParseTupleAndKeywords */

static bool parse_arguments(const char *format, PyObject *args, PyObject *kwargs, PyObject **v)
{
    return PyArg_ParseTupleAndKeywords(
        args, kwargs, format, names, &v[POSITIONS], &v[TRIANGLES], &v[NORMALS], &v[UVS],
        &v[ADDITIONAL_UVS], &v[EDGE_SCALES], &v[DEFORM], &v[BONE_INDICES], &v[BONE_WEIGHTS],
        &v[SDEF], &v[BONES], &v[MORPHS], &v[MATERIALS], &v[TEXTURES], &v[DISPLAY_FRAMES],
        &v[RIGID_BODIES], &v[JOINTS], &v[NAME], &v[NAME_ENGLISH], &v[COMMENT], &v[COMMENT_ENGLISH],
        &v[VERSION]);
}

PyObject *mmd_py_model_from_arrays(PyObject *type, PyObject *args, PyObject *kwargs)
{
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    builder b = {.parser.state = state};
    if (!parse_arguments(FORMAT ":from_arrays", args, kwargs, b.values))
        return NULL;
    PyObject *model = build(state, &b);
    mmd_py_record_parser_free(&b.parser);
    return model;
}

/* Replaces the default of an argument by an array of the model. */
static bool keep_array(builder *b, PyObject *model, argument which)
{
    MMD_PY_OWNED PyObject *array = PyObject_GetAttrString(model, names[which]);
    bool ok = array && mmd_py_record_parser_keep(&b->parser, array);
    b->values[which] = array;
    return ok;
}

/* Takes what has no new value from the model. */
static bool keep_members(builder *b, PyObject *self)
{
    b->model = *mmd_py_model_data(self);
    for (int i = 0; i < ARGUMENTS; i++) {
        b->kept[i] = !b->values[i];
        if (b->kept[i] && i < BONES && !keep_array(b, self, (argument)i))
            return false;
    }
    return true;
}

PyObject *mmd_py_model_replace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    builder b = {.parser.state = mmd_py_state_of(self)};
    const mmd_model *model = mmd_py_model_data(self);
    if (PyTuple_Size(args))
        return PyErr_Format(PyExc_TypeError, "replace: expected keywords only");
    if (model->soft_body_count)
        return PyErr_Format(PyExc_ValueError, "the model was loaded without its %zu soft bodies",
                            model->soft_body_count);
    bool ok = parse_arguments(FORMAT ":replace", args, kwargs, b.values) && keep_members(&b, self);
    PyObject *made = ok ? build(mmd_py_state_of(self), &b) : NULL;
    mmd_py_record_parser_free(&b.parser);
    if (made)
        mmd_py_model_copy_path(self, made);
    return made;
}
