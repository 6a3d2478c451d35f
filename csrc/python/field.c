/* SPDX-License-Identifier: MIT */
/* Fields of records from C structs to Python objects. */
#include "python/record.h"

#include "core/model/model.h"
#include "core/model/morph.h"

static const void *member(const mmd_py_record_field *field, const mmd_py_record_source *source)
{
    return (const char *)source->data + field->offset;
}

PyObject *mmd_py_field_get_text(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    return mmd_py_record_str(*(const mmd_text *)member(field, source));
}

/* uint8_t, uint16_t or int32_t, by size. */
PyObject *mmd_py_field_get_integer(const mmd_py_record_field *field,
                                   const mmd_py_record_source *source)
{
    const void *at = member(field, source);
    return PyLong_FromLong(field->size == 1   ? *(const uint8_t *)at
                           : field->size == 2 ? *(const uint16_t *)at
                                              : *(const int32_t *)at);
}

PyObject *mmd_py_field_get_number(const mmd_py_record_field *field,
                                  const mmd_py_record_source *source)
{
    return PyFloat_FromDouble((double)*(const float *)member(field, source));
}

PyObject *mmd_py_field_get_bool(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    return PyBool_FromLong(*(const bool *)member(field, source));
}

static PyObject *vector(const float *numbers, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++)
        mmd_py_record_tuple_set(&tuple, i, PyFloat_FromDouble((double)numbers[i]));
    return tuple;
}

PyObject *mmd_py_field_get_vector(const mmd_py_record_field *field,
                                  const mmd_py_record_source *source)
{
    return vector(member(field, source), field->size / sizeof(float));
}

/* Loaded data is valid, so the value has a name. */
PyObject *mmd_py_field_get_enum(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    return PyUnicode_InternFromString(field->as.names[*(const uint8_t *)member(field, source)]);
}

PyObject *mmd_py_field_get_keys(const mmd_py_record_field *field,
                                const mmd_py_record_source *source)
{
    size_t columns = field->as.keys.columns, depth = field->as.keys.depth;
    size_t count = *(const size_t *)((const char *)source->data + field->as.keys.count_offset);
    size_t shape[] = {count, columns, depth};
    if (!*(void *const *)member(field, source)) /* bytes that were not stored */
        Py_RETURN_NONE;
    return mmd_py_array_view(field->as.keys.dtype, *(void *const *)member(field, source),
                             columns == 0 ? 1
                             : depth == 0 ? 2
                                          : 3,
                             shape, source->owner);
}

PyObject *mmd_py_field_get_bone_flag(const mmd_py_record_field *field,
                                     const mmd_py_record_source *source)
{
    return PyBool_FromLong(((const mmd_bone *)source->data)->flags & field->as.flag);
}

PyObject *mmd_py_field_get_tail_bone(const mmd_py_record_field *field,
                                     const mmd_py_record_source *source)
{
    return mmd_py_field_get_integer(field, source);
}

PyObject *mmd_py_field_get_tail_offset(const mmd_py_record_field *field,
                                       const mmd_py_record_source *source)
{
    return mmd_py_field_get_vector(field, source);
}

PyObject *mmd_py_field_get_append(const mmd_py_record_field *field,
                                  const mmd_py_record_source *source)
{
    (void)field;
    const mmd_bone *bone = source->data;
    if (!(bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)))
        Py_RETURN_NONE;
    return mmd_py_record_new(source->state, MMD_PY_RECORD_APPEND, bone, source->owner);
}

PyObject *mmd_py_field_get_fixed_axis(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    if (!(((const mmd_bone *)source->data)->flags & MMD_BONE_FIXED_AXIS))
        Py_RETURN_NONE;
    return mmd_py_field_get_vector(field, source);
}

PyObject *mmd_py_field_get_local_axes(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    (void)field;
    const mmd_bone *bone = source->data;
    if (!(bone->flags & MMD_BONE_LOCAL_AXES))
        Py_RETURN_NONE;
    PyObject *x = vector(bone->local_x, 3), *z = vector(bone->local_z, 3);
    PyObject *axes = x && z ? PyTuple_Pack(2, x, z) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(z);
    return axes;
}

PyObject *mmd_py_field_get_external_parent(const mmd_py_record_field *field,
                                           const mmd_py_record_source *source)
{
    if (!(((const mmd_bone *)source->data)->flags & MMD_BONE_EXTERNAL_PARENT))
        Py_RETURN_NONE;
    return mmd_py_field_get_integer(field, source);
}

PyObject *mmd_py_field_get_ik(const mmd_py_record_field *field, const mmd_py_record_source *source)
{
    (void)field;
    const mmd_ik *ik = ((const mmd_bone *)source->data)->ik;
    if (!ik)
        Py_RETURN_NONE;
    return mmd_py_record_new(source->state, MMD_PY_RECORD_IK, ik, source->owner);
}

PyObject *mmd_py_field_get_ik_links(const mmd_py_record_field *field,
                                    const mmd_py_record_source *source)
{
    (void)field;
    const mmd_ik *ik = source->data;
    return mmd_py_record_tuple(source->state, MMD_PY_RECORD_IK_LINK, ik->links, ik->link_count,
                               source->owner);
}

PyObject *mmd_py_field_get_ik_limit(const mmd_py_record_field *field,
                                    const mmd_py_record_source *source)
{
    if (!((const mmd_ik_link *)source->data)->limited)
        Py_RETURN_NONE;
    return mmd_py_field_get_vector(field, source);
}

PyObject *mmd_py_field_get_morph_kind(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    return PyUnicode_InternFromString(field->as.names[((const mmd_morph *)source->data)->kind]);
}

PyObject *mmd_py_field_get_morph_indices(const mmd_py_record_field *field,
                                         const mmd_py_record_source *source)
{
    (void)field;
    const mmd_morph *morph = source->data;
    return mmd_py_array_view(MMD_PY_INT32, morph->indices, 1, &morph->offset_count, source->owner);
}

PyObject *mmd_py_field_get_morph_values(const mmd_py_record_field *field,
                                        const mmd_py_record_source *source)
{
    (void)field;
    const mmd_morph *morph = source->data;
    size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    return mmd_py_array_view(MMD_PY_FLOAT32, morph->values, 2, shape, source->owner);
}

PyObject *mmd_py_field_get_frame_elements(const mmd_py_record_field *field,
                                          const mmd_py_record_source *source)
{
    (void)field;
    const mmd_display_frame *frame = source->data;
    PyObject *tuple = PyTuple_New((Py_ssize_t)frame->element_count);
    for (size_t i = 0; tuple && i < frame->element_count; i++) {
        const mmd_frame_element *element = &frame->elements[i];
        const char *kind = element->kind == 0 ? "bone" : "morph";
        mmd_py_record_tuple_set(&tuple, i, Py_BuildValue("(si)", kind, (int)element->index));
    }
    return tuple;
}

PyObject *mmd_py_field_get_ik_names(const mmd_py_record_field *field,
                                    const mmd_py_record_source *source)
{
    (void)field;
    const mmd_property_track *track = source->data;
    return mmd_py_record_texts(track->ik_names, track->ik_count);
}

PyObject *mmd_py_field_get_ik_enabled(const mmd_py_record_field *field,
                                      const mmd_py_record_source *source)
{
    (void)field;
    const mmd_property_track *track = source->data;
    size_t shape[] = {track->key_count, track->ik_count};
    return mmd_py_array_view(MMD_PY_BOOL, track->ik_enabled, 2, shape, source->owner);
}
