/* SPDX-License-Identifier: MIT */
/* The records of csrc/mmdskin/records.py, and the fields of those that are made from structs, in
   the same order: how each is converted to Python and back. */
#include "core/model/model.h"
#include "core/model/morph.h"
#include "python/argument.h"
#include "python/owned.h"
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
static long read_integer(const record_field *field, const record_source *source)
{
    const void *at = data_of(field, source);
    return field->size == 1   ? *(const uint8_t *)at
           : field->size == 2 ? *(const uint16_t *)at
                              : *(const int32_t *)at;
}

static PyObject *get_integer(const record_field *field, const record_source *source)
{
    return PyLong_FromLong(read_integer(field, source));
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
    return PyUnicode_InternFromString(field->as.words.names[read_integer(field, source)]);
}

static size_t columns_of(const record_field *field, const void *data)
{
    return field->as.array.count_columns ? field->as.array.count_columns(data)
                                         : field->as.array.columns;
}

static PyObject *get_array(const record_field *field, const record_source *source)
{
    const void *data = *(void *const *)data_of(field, source);
    size_t rows = *(const size_t *)((const char *)source->data + field->as.array.rows_offset);
    const size_t shape[] = {rows, columns_of(field, source->data), field->as.array.depth};
    if (!data && rows) /* bytes that were not stored */
        Py_RETURN_NONE;
    return mmd_py_array_view(field->as.array.dtype, data, field->as.array.rank, shape,
                             source->owner);
}

static PyObject *get_bone_flag(const record_field *field, const record_source *source)
{
    return PyBool_FromLong(((const mmd_bone *)source->data)->flags & field->as.bit);
}

static PyObject *get_append(const record_field *field, const record_source *source)
{
    return mmd_py_record_new(source->state, MMD_PY_RECORD_APPEND, source->data, source->owner);
}

static PyObject *get_local_axes(const record_field *field, const record_source *source)
{
    const mmd_bone *bone = source->data;
    MMD_PY_OWNED PyObject *x = vector(bone->local_x, 3), *z = vector(bone->local_z, 3);
    return x && z ? PyTuple_Pack(2, x, z) : NULL;
}

static PyObject *get_ik(const record_field *field, const record_source *source)
{
    return mmd_py_record_new(source->state, MMD_PY_RECORD_IK, ((const mmd_bone *)source->data)->ik,
                             source->owner);
}

static PyObject *get_list(const record_field *field, const record_source *source)
{
    const void *items = *(void *const *)data_of(field, source);
    size_t count = *(const size_t *)((const char *)source->data + field->as.list.count_offset);
    return mmd_py_record_tuple(source->state, field->as.list.kind, items, count, source->owner);
}

static PyObject *get_ik_limit(const record_field *field, const record_source *source)
{
    if (!((const mmd_ik_link *)source->data)->limited)
        Py_RETURN_NONE;
    return get_vector(field, source);
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

/* From Python objects to C structs */

static void *member(const record_field *field, const record_parser *parser)
{
    return (char *)parser->data + field->offset;
}

static bool set_text(const record_field *field, PyObject *value, record_parser *parser)
{
    return mmd_py_record_parse_text(parser, value, member(field, parser));
}

static void write_integer(const record_field *field, const record_parser *parser, long number)
{
    void *to = member(field, parser);
    if (field->size == 1)
        *(uint8_t *)to = (uint8_t)number;
    else if (field->size == 2)
        *(uint16_t *)to = (uint16_t)number;
    else
        *(int32_t *)to = (int32_t)number;
}

static bool set_integer(const record_field *field, PyObject *value, record_parser *parser)
{
    long number, min = field->size == 4 ? INT32_MIN : 0;
    long max = field->size == 1 ? UINT8_MAX : field->size == 2 ? UINT16_MAX : INT32_MAX;
    if (!mmd_py_argument_int(value, parser->path, min, max, &number))
        return false;
    write_integer(field, parser, number);
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
    MMD_PY_OWNED PyObject *numbers = mmd_py_record_sequence(value, parser->path);
    if (!numbers)
        return false;
    if (PyTuple_Size(numbers) != (Py_ssize_t)count)
        return PyErr_Format(PyExc_ValueError, "%s: length %zd, expected %zu", parser->path,
                            PyTuple_Size(numbers), count);
    for (size_t i = 0; i < count; i++)
        if (!parse_number(PyTuple_GetItem(numbers, (Py_ssize_t)i), parser, &to[i]))
            return false;
    return true;
}

static bool set_vector(const record_field *field, PyObject *value, record_parser *parser)
{
    return parse_vector(value, parser, field->size / sizeof(float), member(field, parser));
}

static bool set_enum(const record_field *field, PyObject *value, record_parser *parser)
{
    int index;
    if (!mmd_py_argument_word(value, parser->path, field->as.words.names, field->as.words.count,
                              &index))
        return false;
    write_integer(field, parser, index);
    return true;
}

/* The first array of a struct sets its number of rows. Later ones may be None where the number of
   their columns is fixed, for which the core has defaults; others have any shape without rows. */
static bool set_array(const record_field *field, PyObject *value, record_parser *parser)
{
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    size_t *rows = (size_t *)(void *)((char *)parser->data + field->as.array.rows_offset);
    bool fixed = !field->as.array.count_columns;
    if (value == Py_None && parser->has_row_count && fixed)
        return true;
    if (!mmd_py_array_from(value, parser->path, field->as.array.dtype, true, &array))
        return false;
    const size_t shape[] = {parser->has_row_count ? *rows : MMD_PY_ANY,
                            columns_of(field, parser->data), field->as.array.depth};
    bool is_empty = !fixed && *rows == 0 && array.rank > 0 && array.shape[0] == 0;
    if ((!is_empty &&
         !mmd_py_array_check_shape(&array, parser->path, field->as.array.rank, shape, "n")) ||
        !mmd_py_record_parser_keep(parser, array.object))
        return false;
    *rows = array.shape[0];
    parser->has_row_count = true;
    *(void **)member(field, parser) = array.data;
    return true;
}

static bool set_list(const record_field *field, PyObject *value, record_parser *parser)
{
    return mmd_py_record_parse_list(
        parser, field->as.list.kind, value, member(field, parser),
        (size_t *)(void *)((char *)parser->data + field->as.list.count_offset));
}

/* Bones. `flags` comes first in a bone: the fields after it switch its bits on and off, so that an
   edited record says in one place what it has. */

static bool set_bone_flag(const record_field *field, PyObject *value, record_parser *parser)
{
    int truth = PyObject_IsTrue(value);
    mmd_py_record_switch_flag(parser->data, field->as.bit, truth > 0);
    return truth >= 0;
}

static bool set_tail_bone(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    if (!set_integer(field, value, parser))
        return false;
    if (bone->tail_bone != -1)
        mmd_py_record_switch_flag(bone, MMD_BONE_TAIL_IS_BONE, true);
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
        mmd_py_record_switch_flag(bone, MMD_BONE_TAIL_IS_BONE, false);
    return true;
}

static bool set_append(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    if (!mmd_py_record_parse(parser, MMD_PY_RECORD_APPEND, value, bone))
        return false;
    return bone->flags & field->flag ||
           PyErr_Format(PyExc_ValueError, "%s: appends neither rotation nor translation",
                        parser->path);
}

static bool set_local_axes(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    MMD_PY_OWNED PyObject *axes = mmd_py_record_sequence(value, parser->path);
    if (!axes)
        return false;
    if (PyTuple_Size(axes) != 2)
        return PyErr_Format(PyExc_ValueError, "%s: length %zd, expected 2 axes", parser->path,
                            PyTuple_Size(axes));
    return parse_vector(PyTuple_GetItem(axes, 0), parser, 3, bone->local_x) &&
           parse_vector(PyTuple_GetItem(axes, 1), parser, 3, bone->local_z);
}

static bool set_ik(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_bone *bone = parser->data;
    bone->ik = mmd_py_record_parser_alloc(parser, 1, sizeof *bone->ik);
    return bone->ik && mmd_py_record_parse(parser, MMD_PY_RECORD_IK, value, bone->ik);
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

static bool parse_element(record_parser *parser, mmd_py_record_kind kind, PyObject *value,
                          void *out)
{
    static const char *const kinds[] = {"bone", "morph"};
    MMD_PY_OWNED PyObject *pair = mmd_py_record_sequence(value, parser->path);
    if (!pair)
        return false;
    if (PyTuple_Size(pair) != 2)
        return PyErr_Format(PyExc_ValueError, "%s: expected ('bone' or 'morph', index)",
                            parser->path);
    int word = 0;
    long index = 0;
    bool ok = mmd_py_argument_word(PyTuple_GetItem(pair, 0), parser->path, kinds, 2, &word) &&
              mmd_py_argument_int(PyTuple_GetItem(pair, 1), parser->path, 0, INT32_MAX, &index);
    *(mmd_frame_element *)out = (mmd_frame_element){(uint8_t)word, (int32_t)index};
    return ok;
}

static bool set_frame_elements(const record_field *field, PyObject *value, record_parser *parser)
{
    mmd_display_frame *frame = parser->data;
    return mmd_py_record_parse_items(parser, MMD_PY_RECORD_DISPLAY_FRAME, value, parse_element,
                                     sizeof *frame->elements, (void **)&frame->elements,
                                     &frame->element_count);
}

static size_t count_ik(const void *track)
{
    return ((const mmd_property_track *)track)->ik_count;
}

static size_t count_morph_columns(const void *morph)
{
    return mmd_morph_width(((const mmd_morph *)morph)->kind);
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
     .size = sizeof(((type *)0)->member), .as.words = {list, sizeof(list) / sizeof *(list)}}
#define ARRAY(type, member, rows, number, axes, ...) \
    {.name = #member, .get = get_array, .set = set_array, .offset = offsetof(type, member), \
     .as.array = {.dtype = MMD_PY_##number, .rank = axes, .rows_offset = offsetof(type, rows), \
                  __VA_ARGS__}}
#define KEYS(type, member, number, width, height) \
    ARRAY(type, member, key_count, number, 1 + ((width) > 0) + ((height) > 0), \
          .columns = width, .depth = height)
#define FLAG(field, flag_bit) \
    {.name = field, .get = get_bone_flag, .set = set_bone_flag, .as.bit = flag_bit}
/* None without a flag. */
#define OPTIONAL(field, member, what, bits) \
    {.name = field, .get = get_##what, .set = set_##what, .offset = offsetof(mmd_bone, member), \
     .size = sizeof(((mmd_bone *)0)->member), .flag = bits}
#define LIST(field, type, member, number, of) \
    {.name = field, .get = get_list, .set = set_list, .offset = offsetof(type, member), \
     .as.list = {MMD_PY_RECORD_##of, offsetof(type, number)}}
/* Computed from the whole struct. */
#define COMPUTED(field, what) {.name = field, .get = get_##what, .set = set_##what}
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
    OPTIONAL("append", append_source, append,
             MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION),
    OPTIONAL("fixed_axis", fixed_axis, vector, MMD_BONE_FIXED_AXIS),
    OPTIONAL("local_axes", local_x, local_axes, MMD_BONE_LOCAL_AXES),
    OPTIONAL("external_parent", external_parent, integer, MMD_BONE_EXTERNAL_PARENT),
    FLAG("after_physics", MMD_BONE_AFTER_PHYSICS),
    OPTIONAL("ik", ik, ik, MMD_BONE_IK),
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
    LIST("links", mmd_ik, links, link_count, IK_LINK),
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
    ENUM(mmd_morph, kind, morph_kinds),
    ARRAY(mmd_morph, indices, offset_count, INT32, 1, .columns = 0),
    ARRAY(mmd_morph, values, offset_count, FLOAT32, 2, .count_columns = count_morph_columns),
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
    COMPUTED("elements", frame_elements),
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
    LIST("ik_names", mmd_property_track, ik_names, ik_count, TEXT),
    ARRAY(mmd_property_track, ik_enabled, key_count, BOOL, 2, .count_columns = count_ik),
};

#define PLAIN(kind, class) [MMD_PY_RECORD_##kind] = {.name = #class},
#define STRUCT(kind, class, type, list)                                                            \
    [MMD_PY_RECORD_##kind] = {#class, sizeof(type), sizeof(list) / sizeof *(list), list},

const mmd_py_record_type mmd_py_record_types[MMD_PY_RECORD_COUNT] = {MMD_PY_RECORDS(PLAIN, STRUCT)};
