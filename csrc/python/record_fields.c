/* SPDX-License-Identifier: MIT */
#include "python/record_fields.h"

#include "core/data/model.h"

static const void *member(const mmd_field *field, const mmd_shown *shown)
{
    return (const char *)shown->data + field->offset;
}

PyObject *mmd_show_text(const mmd_field *field, const mmd_shown *shown)
{
    return mmd_text_object(*(const mmd_text *)member(field, shown));
}

/* Unsigned of one and two bytes, signed of four. */
PyObject *mmd_show_integer(const mmd_field *field, const mmd_shown *shown)
{
    const void *at = member(field, shown);
    return PyLong_FromLong(field->size == 1   ? *(const uint8_t *)at
                           : field->size == 2 ? *(const uint16_t *)at
                                              : *(const int32_t *)at);
}

PyObject *mmd_show_number(const mmd_field *field, const mmd_shown *shown)
{
    return PyFloat_FromDouble((double)*(const float *)member(field, shown));
}

PyObject *mmd_show_truth(const mmd_field *field, const mmd_shown *shown)
{
    return PyBool_FromLong(*(const bool *)member(field, shown));
}

static PyObject *vector(const float *numbers, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++)
        mmd_tuple_put(&tuple, i, PyFloat_FromDouble((double)numbers[i]));
    return tuple;
}

PyObject *mmd_show_vector(const mmd_field *field, const mmd_shown *shown)
{
    return vector(member(field, shown), field->size / sizeof(float));
}

/* The core holds no value that has no word. */
PyObject *mmd_show_word(const mmd_field *field, const mmd_shown *shown)
{
    return PyUnicode_InternFromString(field->as.words[*(const uint8_t *)member(field, shown)]);
}

PyObject *mmd_show_keys(const mmd_field *field, const mmd_shown *shown)
{
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t count = *(const size_t *)((const char *)shown->data + field->as.keys.count_offset);
    size_t shape[] = {count, columns, depth};
    return mmd_array_view(field->as.keys.dtype, *(void *const *)member(field, shown),
                          columns == 0 ? 1
                          : depth == 0 ? 2
                                       : 3,
                          shape, shown->owner);
}

PyObject *mmd_show_bone_flag(const mmd_field *field, const mmd_shown *shown)
{
    return PyBool_FromLong(((const mmd_bone *)shown->data)->flags & field->as.flag);
}

PyObject *mmd_show_append(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_bone *bone = shown->data;
    if (!(bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)))
        Py_RETURN_NONE;
    return mmd_record_of(shown->state, MMD_RECORD_APPEND, bone, shown->owner);
}

PyObject *mmd_show_fixed_axis(const mmd_field *field, const mmd_shown *shown)
{
    if (!(((const mmd_bone *)shown->data)->flags & MMD_BONE_FIXED_AXIS))
        Py_RETURN_NONE;
    return mmd_show_vector(field, shown);
}

PyObject *mmd_show_local_axes(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_bone *bone = shown->data;
    if (!(bone->flags & MMD_BONE_LOCAL_AXES))
        Py_RETURN_NONE;
    PyObject *x = vector(bone->local_x, 3), *z = vector(bone->local_z, 3);
    PyObject *axes = x && z ? PyTuple_Pack(2, x, z) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(z);
    return axes;
}

PyObject *mmd_show_external_parent(const mmd_field *field, const mmd_shown *shown)
{
    if (!(((const mmd_bone *)shown->data)->flags & MMD_BONE_EXTERNAL_PARENT))
        Py_RETURN_NONE;
    return mmd_show_integer(field, shown);
}

PyObject *mmd_show_ik(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_ik *ik = ((const mmd_bone *)shown->data)->ik;
    if (!ik)
        Py_RETURN_NONE;
    return mmd_record_of(shown->state, MMD_RECORD_IK, ik, shown->owner);
}

PyObject *mmd_show_ik_links(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_ik *ik = shown->data;
    return mmd_records_of(shown->state, MMD_RECORD_IK_LINK, ik->links, ik->link_count,
                          shown->owner);
}

PyObject *mmd_show_ik_limit(const mmd_field *field, const mmd_shown *shown)
{
    if (!((const mmd_ik_link *)shown->data)->limited)
        Py_RETURN_NONE;
    return mmd_show_vector(field, shown);
}

PyObject *mmd_show_morph_kind(const mmd_field *field, const mmd_shown *shown)
{
    return PyUnicode_InternFromString(field->as.words[((const mmd_morph *)shown->data)->kind]);
}

PyObject *mmd_show_morph_indices(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_morph *morph = shown->data;
    return mmd_array_view(MMD_INT32, morph->indices, 1, &morph->offset_count, shown->owner);
}

PyObject *mmd_show_morph_values(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_morph *morph = shown->data;
    size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    return mmd_array_view(MMD_FLOAT32, morph->values, 2, shape, shown->owner);
}

PyObject *mmd_show_frame_elements(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_display_frame *frame = shown->data;
    PyObject *tuple = PyTuple_New((Py_ssize_t)frame->element_count);
    for (size_t i = 0; tuple && i < frame->element_count; i++) {
        const mmd_frame_element *element = &frame->elements[i];
        const char *kind = element->kind == 0 ? "bone" : "morph";
        mmd_tuple_put(&tuple, i, Py_BuildValue("(si)", kind, (int)element->index));
    }
    return tuple;
}

PyObject *mmd_show_ik_names(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_property_track *track = shown->data;
    return mmd_texts_object(track->ik_names, track->ik_count);
}

PyObject *mmd_show_ik_enabled(const mmd_field *field, const mmd_shown *shown)
{
    (void)field;
    const mmd_property_track *track = shown->data;
    size_t shape[] = {track->key_count, track->ik_count};
    return mmd_array_view(MMD_BOOL, track->ik_enabled, 2, shape, shown->owner);
}
