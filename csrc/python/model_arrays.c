/* SPDX-License-Identifier: MIT */
/* Model.from_arrays() and Model.replace(). */
#include "core/base/error.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The arguments: the members, then the version. */
enum { VERSION = MMD_PY_MODEL_MEMBER_COUNT, ARGUMENTS };

typedef struct builder {
    PyObject *values[ARGUMENTS]; /* borrowed; NULL or None: the default */
    bool kept[ARGUMENTS];        /* those of the model whose members replace() keeps */
    mmd_py_record_parser parser;
    mmd_model model; /* borrows the parser's memory, and that of a model for what is kept */
} builder;

static PyObject *given(const builder *b, size_t which)
{
    PyObject *value = b->values[which];
    return value == Py_None ? NULL : value;
}

static bool is_default(const builder *b, size_t which)
{
    return !given(b, which) && !b->kept[which];
}

static void *member(builder *b, size_t which)
{
    return (char *)&b->model + mmd_py_model_members[which].offset;
}

/* Arrays */

/* Sets a member, NULL without an argument, and the number of its rows or columns where these may be
   any. */
static bool parse_array(builder *b, mmd_py_model_index which, const char *letters, size_t *rows,
                        size_t *columns)
{
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    const mmd_py_model_member *to = &mmd_py_model_members[which];
    const size_t shape[] = {rows ? MMD_PY_ANY : b->model.vertex_count,
                            columns ? MMD_PY_ANY : to->columns[0], to->columns[1]};
    if (b->kept[which])
        return true;
    if (given(b, which) &&
        !(mmd_py_array_from(given(b, which), to->name, to->dtype, true, &array) &&
          mmd_py_array_check_shape(&array, to->name, to->rank, shape, letters) &&
          mmd_py_record_parser_keep(&b->parser, array.object)))
        return false;
    *(void **)member(b, which) = array.data;
    if (rows)
        *rows = array.shape[0];
    if (columns)
        *columns = array.shape[1];
    return true;
}

/* Python widens them from (V,) or (V,K) to (V,4), and says which of the two is missing. */
static bool parse_influences(builder *b)
{
    const mmd_py_model_index bones = MMD_PY_MODEL_bone_indices, weights = MMD_PY_MODEL_bone_weights;
    if (given(b, bones) || given(b, weights) || b->kept[bones] != b->kept[weights]) {
        PyObject *of_bones = b->values[bones], *of_weights = b->values[weights];
        MMD_PY_OWNED PyObject *both = mmd_py_object_call(
            "mmdskin.model_defaults", "influences", "(nOOii)", (Py_ssize_t)b->model.vertex_count,
            of_bones ? of_bones : Py_None, of_weights ? of_weights : Py_None,
            b->kept[bones] && b->model.bone_indices, b->kept[weights] && b->model.bone_weights);
        if (!both || !mmd_py_record_parser_keep(&b->parser, both))
            return false;
        b->values[bones] = PyTuple_GetItem(both, 0);
        b->values[weights] = PyTuple_GetItem(both, 1);
    }
    return parse_array(b, bones, "", NULL, NULL) && parse_array(b, weights, "", NULL, NULL);
}

/* In replace(): whether other positions are as many as what is kept of the model's vertices. */
static bool check_kept_vertices(const builder *b, size_t count)
{
    char kept[160] = "";
    for (int i = MMD_PY_MODEL_normals; i <= MMD_PY_MODEL_sdef; i++)
        if (b->kept[i])
            snprintf(kept + strlen(kept), sizeof kept - strlen(kept), "%s%s", *kept ? ", " : "",
                     mmd_py_model_members[i].name);
    return !*kept || count == b->model.vertex_count ||
           PyErr_Format(
               PyExc_ValueError,
               "positions: %zu %s, but the model has %zu: replace %s, too (None: the default), and "
               "triangles and morphs, which refer to vertices",
               count, mmd_numbers_noun(count, "vertex", "vertices"), b->model.vertex_count, kept);
}

static bool parse_arrays(builder *b)
{
    mmd_model *model = &b->model;
    size_t vertices = model->vertex_count;
    if (!parse_array(b, MMD_PY_MODEL_positions, "V", &vertices, NULL) ||
        !check_kept_vertices(b, vertices))
        return false;
    model->vertex_count = vertices;
    return parse_array(b, MMD_PY_MODEL_triangles, "T", &model->triangle_count, NULL) &&
           parse_array(b, MMD_PY_MODEL_additional_uvs, "n", NULL, &model->additional_uv_count) &&
           parse_array(b, MMD_PY_MODEL_deform, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_normals, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_uvs, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_edge_scales, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_sdef, "", NULL, NULL) && parse_influences(b);
}

/* Records and texts */

static bool parse_value(builder *b, size_t which, PyObject *value)
{
    const mmd_py_model_member *to = &mmd_py_model_members[which];
    size_t *count = (size_t *)(void *)((char *)&b->model + to->count_offset);
    size_t length = mmd_py_record_parser_enter(&b->parser, "%s", to->name);
    bool ok = which >= MMD_PY_MODEL_name
                  ? mmd_py_record_parse_text(&b->parser, value, member(b, which))
                  : mmd_py_record_parse_list(&b->parser, to->kind, value, member(b, which), count);
    mmd_py_record_parser_leave(&b->parser, length);
    return ok;
}

static bool parse_members(builder *b)
{
    bool ok = true;
    for (size_t i = MMD_PY_MODEL_bones; ok && i < MMD_PY_MODEL_MEMBER_COUNT; i++) {
        if (b->kept[i])
            continue;
        if (i >= MMD_PY_MODEL_name)
            *(mmd_text *)member(b, i) = (mmd_text){0};
        else
            memset((char *)&b->model + mmd_py_model_members[i].count_offset, 0, sizeof(size_t));
        ok = !given(b, i) || parse_value(b, i, given(b, i));
    }
    return ok;
}

/* By default one material for all triangles, and MMD's display frames with all bones and morphs. */
static bool complete_members(builder *b)
{
    const mmd_model *model = &b->model;
    if (is_default(b, MMD_PY_MODEL_materials) && model->triangle_count) {
        MMD_PY_OWNED PyObject *materials = Py_BuildValue("((s))", "材質1");
        if (!materials || !parse_value(b, MMD_PY_MODEL_materials, materials))
            return false;
    }
    if (!is_default(b, MMD_PY_MODEL_display_frames))
        return true;
    MMD_PY_OWNED PyObject *frames =
        mmd_py_object_call("mmdskin.model_defaults", "display_frames", "(nn)",
                           (Py_ssize_t)model->bone_count, (Py_ssize_t)model->morph_count);
    return frames && parse_value(b, MMD_PY_MODEL_display_frames, frames);
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
    if (!parse_version(b) || !parse_arrays(b) || !parse_members(b) || !complete_members(b))
        return NULL;
    complete_index_counts(&b->model);
    mmd_error err = {0};
    mmd_model *model;
    Py_BEGIN_ALLOW_THREADS
    model = mmd_model_new(&b->model, &err);
    Py_END_ALLOW_THREADS
    return model ? mmd_py_model_new(state, model, NULL) : mmd_py_exceptions_raise(&err);
}

#define FORMAT "|OO$OOOOOOOOOOOOOOOOOOOO" /* of PyArg_ParseTupleAndKeywords */

static bool parse_arguments(const char *format, PyObject *args, PyObject *kwargs, builder *b)
{
    char *names[ARGUMENTS + 1] = {[VERSION] = "version"};
    for (size_t i = 0; i < MMD_PY_MODEL_MEMBER_COUNT; i++)
        names[i] = mmd_py_model_members[i].name;
    return mmd_py_argument_objects(args, kwargs, format, names, b->values);
}

PyObject *mmd_py_model_from_arrays(PyObject *type, PyObject *args, PyObject *kwargs)
{
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    builder b = {.parser.state = state};
    if (!parse_arguments(FORMAT ":from_arrays", args, kwargs, &b))
        return NULL;
    PyObject *model = build(state, &b);
    mmd_py_record_parser_free(&b.parser);
    return model;
}

PyObject *mmd_py_model_replace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    builder b = {.parser.state = mmd_py_state_of(self)};
    const mmd_model *model = mmd_py_model_of(self)->model;
    if (PyTuple_Size(args))
        return PyErr_Format(PyExc_TypeError, "replace: expected keywords only");
    if (model->soft_body_count)
        return PyErr_Format(PyExc_ValueError, "the model was loaded without its soft bodies");
    PyObject *made = NULL;
    if (parse_arguments(FORMAT ":replace", args, kwargs, &b)) {
        b.model = *model;
        for (int i = 0; i < ARGUMENTS; i++)
            b.kept[i] = !b.values[i];
        made = build(mmd_py_state_of(self), &b);
    }
    mmd_py_record_parser_free(&b.parser);
    if (made)
        mmd_py_model_of(made)->path = Py_XNewRef(mmd_py_model_of(self)->path);
    return made;
}
