/* SPDX-License-Identifier: MIT */
/* The records of csrc/mmdskin/records.py, and the fields of those that are made from structs, in
   the same order: how each is converted to Python and back. */
#include "core/model/model.h"
#include "core/model/morph.h"
#include "python/argument.h"
#include "python/record.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

typedef mmd_py_record_field record_field;
typedef mmd_py_record_source record_source;
typedef mmd_py_record_parser record_parser;

/* From C structs to Python objects */

static const void *data_of(const record_field *field, const record_source *source)
{
    return (const char *)source->data + field->offset;
}

static PyObject *get_text(const record_field *field, const record_source *source)
{
    return mmd_py_record_str(*(const mmd_text *)data_of(field, source));
}

/* uint8_t, uint16_t or int32_t, by size. */
static PyObject *get_integer(const record_field *field, const record_source *source)
{
    const void *at = data_of(field, source);
    return PyLong_FromLong(field->size == 1   ? *(const uint8_t *)at
                           : field->size == 2 ? *(const uint16_t *)at
                                              : *(const int32_t *)at);
}

static PyObject *get_number(const record_field *field, const record_source *source)
{
    return PyFloat_FromDouble((double)*(const float *)data_of(field, source));
}

static PyObject *get_truth(const record_field *field, const record_source *source)
{
    return PyBool_FromLong(*(const bool *)data_of(field, source));
}

static PyObject *vector(const float *numbers, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++)
        mmd_py_record_tuple_set(&tuple, i, PyFloat_FromDouble((double)numbers[i]));
    return tuple;
}

static PyObject *get_vector(const record_field *field, const record_source *source)
{
    return vector(data_of(field, source), field->size / sizeof(float));
}

/* Loaded data is valid, so the value has a name. */
static PyObject *get_enum(const record_field *field, const record_source *source)
{
    return PyUnicode_InternFromString(field->as.names[*(const uint8_t *)data_of(field, source)]);
}

static PyObject *get_keys(const record_field *field, const record_source *source)
{
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t count = *(const size_t *)((const char *)source->data + field->as.keys.count_offset);
    size_t shape[] = {count, columns, depth};
    if (!*(void *const *)data_of(field, source)) /* bytes that were not stored */
        Py_RETURN_NONE;
    return mmd_py_array_view(field->as.keys.dtype, *(void *const *)data_of(field, source),
                             columns == 0 ? 1
                             : depth == 0 ? 2
                                          : 3,
                             shape, source->owner);
}

static PyObject *get_bone_flag(const record_field *field, const record_source *source)
{
    return PyBool_FromLong(((const mmd_bone *)source->data)->flags & field->as.flag);
}

static PyObject *get_append(const record_field *field, const record_source *source)
{
    const mmd_bone *bone = source->data;
    if (!(bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)))
        Py_RETURN_NONE;
    return mmd_py_record_new(source->state, MMD_PY_RECORD_APPEND, bone, source->owner);
}

static PyObject *get_fixed_axis(const record_field *field, const record_source *source)
{
    if (!(((const mmd_bone *)source->data)->flags & MMD_BONE_FIXED_AXIS))
        Py_RETURN_NONE;
    return get_vector(field, source);
}

static PyObject *get_local_axes(const record_field *field, const record_source *source)
{
    const mmd_bone *bone = source->data;
    if (!(bone->flags & MMD_BONE_LOCAL_AXES))
        Py_RETURN_NONE;
    PyObject *x = vector(bone->local_x, 3), *z = vector(bone->local_z, 3);
    PyObject *axes = x && z ? PyTuple_Pack(2, x, z) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(z);
    return axes;
}

static PyObject *get_external_parent(const record_field *field, const record_source *source)
{
    if (!(((const mmd_bone *)source->data)->flags & MMD_BONE_EXTERNAL_PARENT))
        Py_RETURN_NONE;
    return get_integer(field, source);
}

static PyObject *get_ik(const record_field *field, const record_source *source)
{
    const mmd_ik *ik = ((const mmd_bone *)source->data)->ik;
    if (!ik)
        Py_RETURN_NONE;
    return mmd_py_record_new(source->state, MMD_PY_RECORD_IK, ik, source->owner);
}

static PyObject *get_ik_links(const record_field *field, const record_source *source)
{
    const mmd_ik *ik = source->data;
    return mmd_py_record_tuple(source->state, MMD_PY_RECORD_IK_LINK, ik->links, ik->link_count,
                               source->owner);
}

static PyObject *get_ik_limit(const record_field *field, const record_source *source)
{
    if (!((const mmd_ik_link *)source->data)->limited)
        Py_RETURN_NONE;
    return get_vector(field, source);
}

static PyObject *get_morph_kind(const record_field *field, const record_source *source)
{
    return PyUnicode_InternFromString(field->as.names[((const mmd_morph *)source->data)->kind]);
}

static PyObject *get_morph_indices(const record_field *field, const record_source *source)
{
    const mmd_morph *morph = source->data;
    return mmd_py_array_view(MMD_PY_INT32, morph->indices, 1, &morph->offset_count, source->owner);
}

static PyObject *get_morph_values(const record_field *field, const record_source *source)
{
    const mmd_morph *morph = source->data;
    size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    return mmd_py_array_view(MMD_PY_FLOAT32, morph->values, 2, shape, source->owner);
}

static PyObject *get_frame_elements(const record_field *field, const record_source *source)
{
    const mmd_display_frame *frame = source->data;
    PyObject *tuple = PyTuple_New((Py_ssize_t)frame->element_count);
    for (size_t i = 0; tuple && i < frame->element_count; i++) {
        const mmd_frame_element *element = &frame->elements[i];
        const char *kind = element->kind == 0 ? "bone" : "morph";
        mmd_py_record_tuple_set(&tuple, i, Py_BuildValue("(si)", kind, (int)element->index));
    }
    return tuple;
}

static PyObject *get_ik_names(const record_field *field, const record_source *source)
{
    const mmd_property_track *track = source->data;
    return mmd_py_record_texts(track->ik_names, track->ik_count);
}

static PyObject *get_ik_enabled(const record_field *field, const record_source *source)
{
    const mmd_property_track *track = source->data;
    size_t shape[] = {track->key_count, track->ik_count};
    return mmd_py_array_view(MMD_PY_BOOL, track->ik_enabled, 2, shape, source->owner);
}

/* From Python objects to C structs */

static void *member(const record_field *field, const record_parser *parser)
{
    return (char *)parser->data + field->offset;
}

static bool set_text(const record_field *field, PyObject *value, record_parser *parser)
{
    return mmd_py_record_parse_text(parser, value, member(field, parser));
}

/* The sizes that get_integer supports. */
static bool set_integer(const record_field *field, PyObject *value, record_parser *parser)
{
    void *to = member(field, parser);
    long number, min = field->size == 4 ? INT32_MIN : 0;
    long max = field->size == 1 ? UINT8_MAX : field->size == 2 ? UINT16_MAX : INT32_MAX;
    if (!mmd_py_argument_int(value, parser->path, min, max, &number))
        return false;
    if (field->size == 1)
        *(uint8_t *)to = (uint8_t)number;
    else if (field->size == 2)
        *(uint16_t *)to = (uint16_t)number;
    else
        *(int32_t *)to = (int32_t)number;
    return true;
}

/* A double beyond the range of float becomes infinity, which the core refuses. */
static bool parse_number(PyObject *value, const record_parser *parser, float *to)
{
    double number;
    if (!mmd_py_argument_double(value, parser->path, &number))
        return false;
    *to = fabs(number) > (double)FLT_MAX ? copysignf(INFINITY, (float)(number > 0 ? 1 : -1))
                                         : (float)number;
    return true;
}

static bool set_number(const record_field *field, PyObject *value, record_parser *parser)
{
    return parse_number(value, parser, member(field, parser));
}

static bool set_truth(const record_field *field, PyObject *value, record_parser *parser)
{
    int truth = PyObject_IsTrue(value);
    *(bool *)member(field, parser) = truth > 0;
    return truth >= 0;
}

static bool parse_vector(PyObject *value, const record_parser *parser, size_t count, float *to)
{
    PyObject *numbers = mmd_py_record_sequence(value, parser->path);
    if (!numbers)
        return false;
    bool ok = PyTuple_Size(numbers) == (Py_ssize_t)count;
    if (!ok)
        PyErr_Format(PyExc_ValueError, "%s: %zd numbers, expected %zu", parser->path,
                     PyTuple_Size(numbers), count);
    for (size_t i = 0; ok && i < count; i++)
        ok = parse_number(PyTuple_GetItem(numbers, (Py_ssize_t)i), parser, &to[i]);
    Py_DECREF(numbers);
    return ok;
}

static bool set_vector(const record_field *field, PyObject *value, record_parser *parser)
{
    return parse_vector(value, parser, field->size / sizeof(float), member(field, parser));
}

static bool set_enum(const record_field *field, PyObject *value, record_parser *parser)
{
    int index;
    if (!mmd_py_argument_word(value, parser->path, field->as.names, field->size, &index))
        return false;
    *(uint8_t *)member(field, parser) = (uint8_t)index;
    return true;
}

/* Bones. `flags` comes first in a bone: the fields after it switch its bits on and off, so that an
   edited record says in one place what it has. */

static void switch_flag(mmd_bone *bone, uint16_t flag, bool on)
{
    bone->flags = (uint16_t)(on ? bone->flags | flag : bone->flags & ~flag);
}

static bool set_bone_flag(const record_field *field, PyObject *value, record_parser *parser)
{
    int truth = PyObject_IsTrue(value);
    switch_flag(parser->data, field->as.flag, truth > 0);
    return truth >= 0;
}

static bool set_tail_bone(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    if (!set_integer(field, value, parser))
        return false;
    if (bone->tail_bone != -1)
        switch_flag(bone, MMD_BONE_TAIL_IS_BONE, true);
    return true;
}

/* Without a tail bone and an offset, files say either: the flag stays. */
static bool set_tail_offset(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    if (!set_vector(field, value, parser))
        return false;
    const float *offset = bone->tail_offset;
    if (bone->tail_bone == -1 && (offset[0] != 0 || offset[1] != 0 || offset[2] != 0))
        switch_flag(bone, MMD_BONE_TAIL_IS_BONE, false);
    return true;
}

static bool set_append(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    uint16_t flags = MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION;
    if (value == Py_None) {
        switch_flag(bone, flags, false);
        return true;
    }
    if (!mmd_py_record_parse(parser, MMD_PY_RECORD_APPEND, value, bone))
        return false;
    if (bone->flags & flags)
        return true;
    return PyErr_Format(PyExc_ValueError, "%s: appends neither rotation nor translation",
                        parser->path);
}

static bool set_fixed_axis(const record_field *field, PyObject *value, record_parser *parser)
{
    switch_flag(parser->data, MMD_BONE_FIXED_AXIS, value != Py_None);
    return value == Py_None || set_vector(field, value, parser);
}

static bool set_local_axes(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    switch_flag(bone, MMD_BONE_LOCAL_AXES, value != Py_None);
    if (value == Py_None)
        return true;
    PyObject *axes = mmd_py_record_sequence(value, parser->path);
    bool ok = axes && PyTuple_Size(axes) == 2;
    if (axes && !ok)
        PyErr_Format(PyExc_ValueError, "%s: %zd axes, expected 2", parser->path,
                     PyTuple_Size(axes));
    ok = ok && parse_vector(PyTuple_GetItem(axes, 0), parser, 3, bone->local_x) &&
         parse_vector(PyTuple_GetItem(axes, 1), parser, 3, bone->local_z);
    Py_XDECREF(axes);
    return ok;
}

static bool set_external_parent(const record_field *field, PyObject *value, record_parser *parser)
{
    switch_flag(parser->data, MMD_BONE_EXTERNAL_PARENT, value != Py_None);
    return value == Py_None || set_integer(field, value, parser);
}

static bool set_ik(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    switch_flag(bone, MMD_BONE_IK, value != Py_None);
    if (value == Py_None)
        return true;
    bone->ik = mmd_py_record_parser_alloc(parser, 1, sizeof *bone->ik);
    return bone->ik && mmd_py_record_parse(parser, MMD_PY_RECORD_IK, value, bone->ik);
}

static bool set_ik_links(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_ik *ik = parser->data;
    void *links;
    if (!mmd_py_record_parse_list(parser, MMD_PY_RECORD_IK_LINK, value, &links, &ik->link_count))
        return false;
    ik->links = links;
    return true;
}

/* The lower limit comes first. */
static bool set_ik_limit(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_ik_link *link = parser->data;
    bool has_limit = value != Py_None;
    if (field->offset == offsetof(mmd_ik_link, lower)) {
        link->limited = has_limit;
    } else if (link->limited != has_limit)
        return PyErr_Format(PyExc_ValueError, "%s: expected both limits or neither", parser->path);
    return !has_limit || set_vector(field, value, parser);
}

/* Morphs: `kind` comes before the arrays. */

static bool set_morph_kind(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_morph *morph = parser->data;
    int index = 0;
    bool ok =
        mmd_py_argument_word(value, parser->path, field->as.names, MMD_MORPH_KIND_COUNT, &index);
    morph->kind = (mmd_morph_kind)index;
    return ok;
}

static bool set_morph_indices(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_morph *morph = parser->data;
    mmd_py_array array = {0};
    bool ok = mmd_py_array_from(value, parser->path, MMD_PY_INT32, true, &array) &&
              mmd_py_array_check_shape(&array, parser->path, 1, (size_t[]){MMD_PY_ANY}, "n") &&
              mmd_py_record_parser_keep(parser, array.object);
    if (ok) {
        morph->indices = array.data;
        morph->offset_count = array.shape[0];
    }
    mmd_py_array_clear(&array);
    return ok;
}

static bool set_morph_values(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_morph *morph = parser->data;
    const size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    mmd_py_array array = {0};
    if (!mmd_py_array_from(value, parser->path, MMD_PY_FLOAT32, true, &array))
        return false;
    bool is_empty = array.rank > 0 && array.shape[0] == 0 && morph->offset_count == 0;
    bool ok = (is_empty || mmd_py_array_check_shape(&array, parser->path, 2, shape, "")) &&
              mmd_py_record_parser_keep(parser, array.object);
    if (ok)
        morph->values = array.data;
    mmd_py_array_clear(&array);
    return ok;
}

static bool parse_element(PyObject *value, const record_parser *parser, mmd_frame_element *element)
{
    static const char *const kinds[] = {"bone", "morph"};
    PyObject *pair = mmd_py_record_sequence(value, parser->path);
    bool ok = pair && PyTuple_Size(pair) == 2;
    if (pair && !ok)
        PyErr_Format(PyExc_ValueError, "%s: expected ('bone' or 'morph', index)", parser->path);
    int kind = 0;
    long index = 0;
    ok = ok && mmd_py_argument_word(PyTuple_GetItem(pair, 0), parser->path, kinds, 2, &kind) &&
         mmd_py_argument_int(PyTuple_GetItem(pair, 1), parser->path, 0, INT32_MAX, &index);
    *element = (mmd_frame_element){(uint8_t)kind, (int32_t)index};
    Py_XDECREF(pair);
    return ok;
}

static bool set_frame_elements(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_display_frame *frame = parser->data;
    PyObject *all = mmd_py_record_sequence(value, parser->path);
    if (!all)
        return false;
    size_t count = frame->element_count = (size_t)PyTuple_Size(all);
    frame->elements = mmd_py_record_parser_alloc(parser, count, sizeof *frame->elements);
    bool ok = frame->elements != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        size_t length = mmd_py_record_parser_enter(parser, "[%zu]", i);
        ok = parse_element(PyTuple_GetItem(all, (Py_ssize_t)i), parser, &frame->elements[i]);
        mmd_py_record_parser_leave(parser, length);
    }
    Py_DECREF(all);
    return ok;
}

/* Tracks */

/* The first array of a track sets its number of keys. */
static bool set_keys(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_py_array array = {0};
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t *count = (size_t *)(void *)((char *)parser->data + field->as.keys.count_offset);
    if (value == Py_None && parser->has_key_count)
        return true;
    if (!mmd_py_array_from(value, parser->path, field->as.keys.dtype, true, &array))
        return false;
    const size_t shape[] = {parser->has_key_count ? *count : MMD_PY_ANY, columns, depth};
    int rank = 1 + (columns > 0) + (depth > 0);
    bool ok = mmd_py_array_check_shape(&array, parser->path, rank, shape, "n") &&
              mmd_py_record_parser_keep(parser, array.object);
    if (ok) {
        *count = array.shape[0];
        parser->has_key_count = true;
        *(void **)member(field, parser) = array.data;
    }
    mmd_py_array_clear(&array);
    return ok;
}

static bool set_ik_names(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_property_track *track = parser->data;
    return mmd_py_record_parse_texts(parser, value, &track->ik_names, &track->ik_count);
}

static bool set_ik_enabled(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_property_track *track = parser->data;
    mmd_py_array array = {0};
    const size_t shape[] = {track->key_count, track->ik_count};
    bool ok = mmd_py_array_from(value, parser->path, MMD_PY_BOOL, true, &array) &&
              mmd_py_array_check_shape(&array, parser->path, 2, shape, "") &&
              mmd_py_record_parser_keep(parser, array.object);
    if (ok)
        track->ik_enabled = array.data;
    mmd_py_array_clear(&array);
    return ok;
}

/* The tables */

/* clang-format off */
#define TEXT(type, member) \
    {.name = #member, .get = get_text, .set = set_text, .offset = offsetof(type, member)}
#define MEMBER(field, type, member, what) CHECKED(field, type, member, what, what)
/* What setting it says about the rest of the struct is set, too. */
#define CHECKED(field, type, member, get_what, set_what) \
    {.name = field, .get = get_##get_what, .set = set_##set_what, \
     .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)}
#define INTEGER(type, member) MEMBER(#member, type, member, integer)
#define NUMBER(type, member) MEMBER(#member, type, member, number)
#define BOOL(type, member) MEMBER(#member, type, member, truth)
#define VECTOR(type, member) MEMBER(#member, type, member, vector)
#define ENUM(type, member, list) \
    {.name = #member, .get = get_enum, .set = set_enum, .offset = offsetof(type, member), \
     .size = sizeof(list) / sizeof *(list), .as.names = list}
#define KEYS(type, member, number, width, height) \
    {.name = #member, .get = get_keys, .set = set_keys, .offset = offsetof(type, member), \
     .as.keys = {MMD_PY_##number, offsetof(type, key_count), width, height}}
#define FLAG(field, bit) \
    {.name = field, .get = get_bone_flag, .set = set_bone_flag, .as.flag = bit}
/* Computed from the whole struct. */
#define STRUCT(field, what) {.name = field, .get = get_##what, .set = set_##what}
/* clang-format on */

static const char *const morph_kinds[MMD_MORPH_KIND_COUNT] = {
    "group", "vertex", "bone", "uv", "uv1", "uv2", "uv3", "uv4", "material", "flip", "impulse"};
static const char *const sphere_modes[MMD_SPHERE_MODE_COUNT] = {"none", "multiply", "add",
                                                                "sub_texture"};
static const char *const shapes[MMD_SHAPE_COUNT] = {"sphere", "box", "capsule"};
static const char *const modes[MMD_BODY_MODE_COUNT] = {"follow_bone", "physics",
                                                       "physics_and_bone"};
static const char *const joint_kinds[MMD_JOINT_KIND_COUNT] = {
    "spring_6dof", "6dof", "point_to_point", "cone_twist", "slider", "hinge"};

static const mmd_py_record_field bone_fields[] = {
    TEXT(mmd_bone, name),
    TEXT(mmd_bone, name_english),
    VECTOR(mmd_bone, position),
    INTEGER(mmd_bone, parent),
    INTEGER(mmd_bone, layer),
    INTEGER(mmd_bone, flags),
    CHECKED("tail_bone", mmd_bone, tail_bone, integer, tail_bone),
    CHECKED("tail_offset", mmd_bone, tail_offset, vector, tail_offset),
    STRUCT("append", append),
    MEMBER("fixed_axis", mmd_bone, fixed_axis, fixed_axis),
    STRUCT("local_axes", local_axes),
    MEMBER("external_parent", mmd_bone, external_parent, external_parent),
    FLAG("after_physics", MMD_BONE_AFTER_PHYSICS),
    STRUCT("ik", ik),
};

static const mmd_py_record_field append_fields[] = {
    MEMBER("source", mmd_bone, append_source, integer),
    MEMBER("ratio", mmd_bone, append_ratio, number),
    FLAG("rotation", MMD_BONE_APPEND_ROTATION),
    FLAG("translation", MMD_BONE_APPEND_TRANSLATION),
    FLAG("local", MMD_BONE_APPEND_LOCAL),
};

static const mmd_py_record_field ik_fields[] = {
    INTEGER(mmd_ik, target),
    INTEGER(mmd_ik, loop_count),
    NUMBER(mmd_ik, unit_angle),
    STRUCT("links", ik_links),
};

static const mmd_py_record_field ik_link_fields[] = {
    INTEGER(mmd_ik_link, bone),
    MEMBER("lower", mmd_ik_link, lower, ik_limit),
    MEMBER("upper", mmd_ik_link, upper, ik_limit),
};

static const mmd_py_record_field morph_fields[] = {
    TEXT(mmd_morph, name),
    TEXT(mmd_morph, name_english),
    INTEGER(mmd_morph, panel),
    {.name = "kind", .get = get_morph_kind, .set = set_morph_kind, .as.names = morph_kinds},
    STRUCT("indices", morph_indices),
    STRUCT("values", morph_values),
};

static const mmd_py_record_field material_fields[] = {
    TEXT(mmd_material, name),
    TEXT(mmd_material, name_english),
    VECTOR(mmd_material, diffuse),
    VECTOR(mmd_material, specular),
    NUMBER(mmd_material, specular_power),
    VECTOR(mmd_material, ambient),
    INTEGER(mmd_material, flags),
    VECTOR(mmd_material, edge_color),
    NUMBER(mmd_material, edge_size),
    INTEGER(mmd_material, texture),
    INTEGER(mmd_material, sphere_texture),
    ENUM(mmd_material, sphere_mode, sphere_modes),
    INTEGER(mmd_material, toon),
    BOOL(mmd_material, shared_toon),
    TEXT(mmd_material, memo),
    INTEGER(mmd_material, index_count),
};

static const mmd_py_record_field display_frame_fields[] = {
    TEXT(mmd_display_frame, name),
    TEXT(mmd_display_frame, name_english),
    BOOL(mmd_display_frame, special),
    STRUCT("elements", frame_elements),
};

static const mmd_py_record_field rigid_body_fields[] = {
    TEXT(mmd_rigid_body, name),
    TEXT(mmd_rigid_body, name_english),
    INTEGER(mmd_rigid_body, bone),
    INTEGER(mmd_rigid_body, group),
    INTEGER(mmd_rigid_body, mask),
    ENUM(mmd_rigid_body, shape, shapes),
    VECTOR(mmd_rigid_body, size),
    VECTOR(mmd_rigid_body, position),
    VECTOR(mmd_rigid_body, rotation),
    NUMBER(mmd_rigid_body, mass),
    NUMBER(mmd_rigid_body, linear_damping),
    NUMBER(mmd_rigid_body, angular_damping),
    NUMBER(mmd_rigid_body, restitution),
    NUMBER(mmd_rigid_body, friction),
    ENUM(mmd_rigid_body, mode, modes),
};

static const mmd_py_record_field joint_fields[] = {
    TEXT(mmd_joint, name),
    TEXT(mmd_joint, name_english),
    ENUM(mmd_joint, kind, joint_kinds),
    INTEGER(mmd_joint, body_a),
    INTEGER(mmd_joint, body_b),
    VECTOR(mmd_joint, position),
    VECTOR(mmd_joint, rotation),
    VECTOR(mmd_joint, translation_lower),
    VECTOR(mmd_joint, translation_upper),
    VECTOR(mmd_joint, rotation_lower),
    VECTOR(mmd_joint, rotation_upper),
    VECTOR(mmd_joint, translation_spring),
    VECTOR(mmd_joint, rotation_spring),
};

static const mmd_py_record_field bone_track_fields[] = {
    TEXT(mmd_bone_track, name),
    KEYS(mmd_bone_track, frames, UINT32, 0, 0),
    KEYS(mmd_bone_track, translations, FLOAT32, 3, 0),
    KEYS(mmd_bone_track, rotations, FLOAT32, 4, 0),
    KEYS(mmd_bone_track, interpolation, UINT8, 4, 4),
    KEYS(mmd_bone_track, physics, BOOL, 0, 0),
    KEYS(mmd_bone_track, stored, UINT8, MMD_STORED_SIZE, 0),
};

static const mmd_py_record_field morph_track_fields[] = {
    TEXT(mmd_morph_track, name),
    KEYS(mmd_morph_track, frames, UINT32, 0, 0),
    KEYS(mmd_morph_track, weights, FLOAT32, 0, 0),
};

static const mmd_py_record_field camera_track_fields[] = {
    KEYS(mmd_camera_track, frames, UINT32, 0, 0),
    KEYS(mmd_camera_track, distances, FLOAT32, 0, 0),
    KEYS(mmd_camera_track, targets, FLOAT32, 3, 0),
    KEYS(mmd_camera_track, rotations, FLOAT32, 3, 0),
    KEYS(mmd_camera_track, interpolation, UINT8, 6, 4),
    KEYS(mmd_camera_track, view_angles, FLOAT32, 0, 0),
    KEYS(mmd_camera_track, perspective, BOOL, 0, 0),
};

static const mmd_py_record_field light_track_fields[] = {
    KEYS(mmd_light_track, frames, UINT32, 0, 0),
    KEYS(mmd_light_track, colors, FLOAT32, 3, 0),
    KEYS(mmd_light_track, directions, FLOAT32, 3, 0),
};

static const mmd_py_record_field shadow_track_fields[] = {
    KEYS(mmd_shadow_track, frames, UINT32, 0, 0),
    KEYS(mmd_shadow_track, modes, UINT8, 0, 0),
    KEYS(mmd_shadow_track, distances, FLOAT32, 0, 0),
};

static const mmd_py_record_field property_track_fields[] = {
    KEYS(mmd_property_track, frames, UINT32, 0, 0),
    KEYS(mmd_property_track, visible, BOOL, 0, 0),
    STRUCT("ik_names", ik_names),
    STRUCT("ik_enabled", ik_enabled),
};

#define FIELDS(list) sizeof(list) / sizeof *(list), (list)

const mmd_py_record_type mmd_py_record_types[MMD_PY_RECORD_COUNT] = {
    [MMD_PY_RECORD_SKINNED] = {.name = "Skinned"},
    [MMD_PY_RECORD_POSE] = {.name = "Pose"},
    [MMD_PY_RECORD_BACKEND] = {.name = "Backend"},
    [MMD_PY_RECORD_RENDERED] = {.name = "Rendered"},
    [MMD_PY_RECORD_CAMERA] = {.name = "Camera"},
    [MMD_PY_RECORD_LIGHT] = {.name = "Light"},
    [MMD_PY_RECORD_SHADOW] = {.name = "Shadow"},
    [MMD_PY_RECORD_PHYSICS] = {.name = "Physics"},
    [MMD_PY_RECORD_BONE] = {"Bone", sizeof(mmd_bone), FIELDS(bone_fields)},
    [MMD_PY_RECORD_APPEND] = {"Append", sizeof(mmd_bone), FIELDS(append_fields)},
    [MMD_PY_RECORD_IK] = {"IK", sizeof(mmd_ik), FIELDS(ik_fields)},
    [MMD_PY_RECORD_IK_LINK] = {"IKLink", sizeof(mmd_ik_link), FIELDS(ik_link_fields)},
    [MMD_PY_RECORD_MORPH] = {"Morph", sizeof(mmd_morph), FIELDS(morph_fields)},
    [MMD_PY_RECORD_MATERIAL] = {"Material", sizeof(mmd_material), FIELDS(material_fields)},
    [MMD_PY_RECORD_DISPLAY_FRAME] = {"DisplayFrame", sizeof(mmd_display_frame),
                                     FIELDS(display_frame_fields)},
    [MMD_PY_RECORD_RIGID_BODY] = {"RigidBody", sizeof(mmd_rigid_body), FIELDS(rigid_body_fields)},
    [MMD_PY_RECORD_JOINT] = {"Joint", sizeof(mmd_joint), FIELDS(joint_fields)},
    [MMD_PY_RECORD_BONE_TRACK] = {"BoneTrack", sizeof(mmd_bone_track), FIELDS(bone_track_fields)},
    [MMD_PY_RECORD_MORPH_TRACK] = {"MorphTrack", sizeof(mmd_morph_track),
                                   FIELDS(morph_track_fields)},
    [MMD_PY_RECORD_CAMERA_TRACK] = {"CameraTrack", sizeof(mmd_camera_track),
                                    FIELDS(camera_track_fields)},
    [MMD_PY_RECORD_LIGHT_TRACK] = {"LightTrack", sizeof(mmd_light_track),
                                   FIELDS(light_track_fields)},
    [MMD_PY_RECORD_SHADOW_TRACK] = {"ShadowTrack", sizeof(mmd_shadow_track),
                                    FIELDS(shadow_track_fields)},
    [MMD_PY_RECORD_PROPERTY_TRACK] = {"PropertyTrack", sizeof(mmd_property_track),
                                      FIELDS(property_track_fields)},
    [MMD_PY_RECORD_UNMATCHED] = {.name = "Unmatched"},
    [MMD_PY_RECORD_FIT_REPORT] = {.name = "FitReport"},
};
