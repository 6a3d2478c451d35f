/* SPDX-License-Identifier: MIT */
/* Model.from_arrays() and Model.replace(). */
#include "core/base/error.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

#include <stddef.h>
#include <string.h>

enum { VERSION = MMD_PY_MODEL_MEMBER_COUNT }; /* comes after the members */

typedef struct builder {
    PyObject *values; /* of all members, as model_defaults.py has completed the arguments */
    mmd_py_record_parser parser;
    mmd_model model; /* borrows the parser's memory, and that of a model for what is kept */
} builder;

/* None: the default, `...`: that of the model whose members replace() keeps. */
static PyObject *value_of(const builder *b, size_t which)
{
    return PyTuple_GetItem(b->values, (Py_ssize_t)which);
}

static bool is_kept(const builder *b, size_t which)
{
    return value_of(b, which) == Py_Ellipsis;
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
    if (is_kept(b, which))
        return true;
    if (value_of(b, which) != Py_None &&
        !(mmd_py_array_from(value_of(b, which), to->name, to->dtype, true, &array) &&
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

static bool parse_arrays(builder *b)
{
    mmd_model *model = &b->model;
    return parse_array(b, MMD_PY_MODEL_positions, "V", &model->vertex_count, NULL) &&
           parse_array(b, MMD_PY_MODEL_triangles, "T", &model->triangle_count, NULL) &&
           parse_array(b, MMD_PY_MODEL_additional_uvs, "n", NULL, &model->additional_uv_count) &&
           parse_array(b, MMD_PY_MODEL_deform, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_normals, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_uvs, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_edge_scales, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_sdef, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_bone_indices, "", NULL, NULL) &&
           parse_array(b, MMD_PY_MODEL_bone_weights, "", NULL, NULL);
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
        if (is_kept(b, i))
            continue;
        if (i >= MMD_PY_MODEL_name)
            *(mmd_text *)member(b, i) = (mmd_text){0};
        else
            memset((char *)&b->model + mmd_py_model_members[i].count_offset, 0, sizeof(size_t));
        ok = value_of(b, i) == Py_None || parse_value(b, i, value_of(b, i));
    }
    return ok;
}

/* By default one material for all triangles, and MMD's display frames with all bones and morphs. */
static bool complete_members(builder *b)
{
    const mmd_model *model = &b->model;
    if (value_of(b, MMD_PY_MODEL_materials) == Py_None && model->triangle_count) {
        MMD_PY_OWNED PyObject *materials = Py_BuildValue("((s))", "材質1");
        if (!materials || !parse_value(b, MMD_PY_MODEL_materials, materials))
            return false;
    }
    if (value_of(b, MMD_PY_MODEL_display_frames) != Py_None)
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

static mmd_model *build(builder *b)
{
    mmd_error err = {0};
    mmd_model *model;
    if (!is_kept(b, VERSION))
        b->model.version = (float)PyFloat_AsDouble(value_of(b, VERSION));
    if (!parse_arrays(b) || !parse_members(b) || !complete_members(b))
        return NULL;
    complete_index_counts(&b->model);
    Py_BEGIN_ALLOW_THREADS
    model = mmd_model_new(&b->model, &err);
    Py_END_ALLOW_THREADS
    if (!model)
        mmd_py_exceptions_raise(&err);
    return model;
}

/* `like`: the model whose members are kept, or None. */
static PyObject *make(mmd_py_state *state, const char *function, PyObject *like, PyObject *args,
                      PyObject *kwargs)
{
    MMD_PY_OWNED PyObject *values =
        mmd_py_object_call("mmdskin.model_defaults", "members", "(sOOO)", function, like, args,
                           kwargs ? kwargs : Py_None);
    if (!values)
        return NULL;
    builder b = {.values = values, .parser.state = state};
    if (like != Py_None)
        b.model = *mmd_py_model_of(like)->model;
    mmd_model *model = build(&b);
    mmd_py_record_parser_free(&b.parser);
    return model ? mmd_py_model_new(state, model, NULL) : NULL;
}

PyObject *mmd_py_model_from_arrays(PyObject *type, PyObject *args, PyObject *kwargs)
{
    return make(PyType_GetModuleState((PyTypeObject *)type), "from_arrays", Py_None, args, kwargs);
}

PyObject *mmd_py_model_replace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const mmd_py_model *model = mmd_py_model_of(self);
    if (PyTuple_Size(args))
        return PyErr_Format(PyExc_TypeError, "replace: expected keywords only");
    if (model->model->soft_body_count)
        return PyErr_Format(PyExc_ValueError, "the model was loaded without its soft bodies");
    PyObject *made = make(mmd_py_state_of(self), "replace", self, args, kwargs);
    if (made)
        mmd_py_model_of(made)->path = Py_XNewRef(model->path);
    return made;
}
