/* SPDX-License-Identifier: MIT */
#include "python/records.h"

#include "python/arrays.h"

PyObject *mmd_record_new(mmd_state *state, mmd_record kind, PyObject *const *values, size_t count)
{
    bool complete = true;
    for (size_t i = 0; i < count; i++)
        complete = complete && values[i];
    PyObject *arguments = complete ? PyTuple_New((Py_ssize_t)count) : NULL;
    if (!arguments) {
        for (size_t i = 0; i < count; i++)
            Py_XDECREF(values[i]);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        PyTuple_SetItem(arguments, (Py_ssize_t)i, values[i]);
    PyObject *record = PyObject_CallObject(state->records[kind], arguments);
    Py_DECREF(arguments);
    return record;
}

PyObject *mmd_text_object(mmd_text text)
{
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "replace");
}

static PyObject *none(void)
{
    return Py_NewRef(Py_None);
}

static PyObject *number(double value)
{
    return PyFloat_FromDouble(value);
}

static PyObject *integer(long value)
{
    return PyLong_FromLong(value);
}

static PyObject *truth(bool value)
{
    return PyBool_FromLong(value);
}

/* `names` are the words for 0, 1, 2, ...; the model holds no other values. */
static PyObject *word(const char *const *names, size_t value)
{
    return PyUnicode_InternFromString(names[value]);
}

static PyObject *vector(const float *numbers, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *item = number((double)numbers[i]);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, (Py_ssize_t)i, item);
    }
    return tuple;
}

PyObject *mmd_record_tuple(mmd_state *state, mmd_make_item *make, const void *from, size_t count,
                           PyObject *owner)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *item = make(state, from, i, owner);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, (Py_ssize_t)i, item);
    }
    return tuple;
}

static PyObject *make_link(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    (void)owner;
    const mmd_ik_link *link = (const mmd_ik_link *)from + i;
    return MMD_RECORD(MMD_RECORD_IK_LINK, integer(link->bone),
                      link->limited ? vector(link->lower, 3) : none(),
                      link->limited ? vector(link->upper, 3) : none());
}

static PyObject *make_ik(mmd_state *state, const mmd_ik *ik)
{
    if (!ik)
        return none();
    return MMD_RECORD(MMD_RECORD_IK, integer(ik->target), integer(ik->loop_count),
                      number((double)ik->unit_angle),
                      mmd_record_tuple(state, make_link, ik->links, ik->link_count, NULL));
}

static PyObject *make_append(mmd_state *state, const mmd_bone *bone)
{
    if (!(bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)))
        return none();
    return MMD_RECORD(MMD_RECORD_APPEND, integer(bone->append_source),
                      number((double)bone->append_ratio),
                      truth(bone->flags & MMD_BONE_APPEND_ROTATION),
                      truth(bone->flags & MMD_BONE_APPEND_TRANSLATION),
                      truth(bone->flags & MMD_BONE_APPEND_LOCAL));
}

static PyObject *make_axes(const mmd_bone *bone)
{
    if (!(bone->flags & MMD_BONE_LOCAL_AXES))
        return none();
    PyObject *x = vector(bone->local_x, 3), *z = vector(bone->local_z, 3);
    PyObject *axes = x && z ? PyTuple_Pack(2, x, z) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(z);
    return axes;
}

static PyObject *make_bone(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    (void)owner;
    const mmd_bone *bone = (const mmd_bone *)from + i;
    return MMD_RECORD(
        MMD_RECORD_BONE, mmd_text_object(bone->name), mmd_text_object(bone->name_english),
        vector(bone->position, 3), integer(bone->parent), integer(bone->layer),
        integer(bone->flags), integer(bone->tail_bone), vector(bone->tail_offset, 3),
        make_append(state, bone),
        bone->flags & MMD_BONE_FIXED_AXIS ? vector(bone->fixed_axis, 3) : none(), make_axes(bone),
        bone->flags & MMD_BONE_EXTERNAL_PARENT ? integer(bone->external_parent) : none(),
        truth(bone->flags & MMD_BONE_AFTER_PHYSICS), make_ik(state, bone->ik));
}

static PyObject *make_morph(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    static const char *const kinds[MMD_MORPH_KIND_COUNT] = {
        "group", "vertex", "bone", "uv", "uv1", "uv2", "uv3", "uv4", "material", "flip", "impulse"};
    const mmd_morph *morph = (const mmd_morph *)from + i;
    size_t shape[] = {morph->offset_count, mmd_morph_width(morph->kind)};
    return MMD_RECORD(MMD_RECORD_MORPH, mmd_text_object(morph->name),
                      mmd_text_object(morph->name_english), integer(morph->panel),
                      word(kinds, morph->kind),
                      mmd_array_view(MMD_INT32, morph->indices, 1, shape, owner),
                      mmd_array_view(MMD_FLOAT32, morph->values, 2, shape, owner));
}

static PyObject *make_material(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    static const char *const sphere_modes[] = {"none", "multiply", "add", "sub_texture"};
    (void)owner;
    const mmd_material *material = (const mmd_material *)from + i;
    return MMD_RECORD(MMD_RECORD_MATERIAL, mmd_text_object(material->name),
                      mmd_text_object(material->name_english), vector(material->diffuse, 4),
                      vector(material->specular, 3), number((double)material->specular_power),
                      vector(material->ambient, 3), integer(material->flags),
                      vector(material->edge_color, 4), number((double)material->edge_size),
                      integer(material->texture), integer(material->sphere_texture),
                      word(sphere_modes, material->sphere_mode), integer(material->toon),
                      truth(material->shared_toon), mmd_text_object(material->memo),
                      integer(material->index_count));
}

static PyObject *make_texture(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    (void)state, (void)owner;
    return mmd_text_object(((const mmd_text *)from)[i]);
}

static PyObject *make_element(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    (void)state, (void)owner;
    const mmd_frame_element *element = (const mmd_frame_element *)from + i;
    return Py_BuildValue("(si)", element->kind == 0 ? "bone" : "morph", (int)element->index);
}

static PyObject *make_display_frame(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    const mmd_display_frame *frame = (const mmd_display_frame *)from + i;
    return MMD_RECORD(
        MMD_RECORD_DISPLAY_FRAME, mmd_text_object(frame->name),
        mmd_text_object(frame->name_english), truth(frame->special),
        mmd_record_tuple(state, make_element, frame->elements, frame->element_count, owner));
}

static PyObject *make_rigid_body(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    static const char *const shapes[] = {"sphere", "box", "capsule"};
    static const char *const modes[] = {"follow_bone", "physics", "physics_and_bone"};
    (void)owner;
    const mmd_rigid_body *body = (const mmd_rigid_body *)from + i;
    return MMD_RECORD(MMD_RECORD_RIGID_BODY, mmd_text_object(body->name),
                      mmd_text_object(body->name_english), integer(body->bone),
                      integer(body->group), integer(body->mask), word(shapes, body->shape),
                      vector(body->size, 3), vector(body->position, 3), vector(body->rotation, 3),
                      number((double)body->mass), number((double)body->linear_damping),
                      number((double)body->angular_damping), number((double)body->restitution),
                      number((double)body->friction), word(modes, body->mode));
}

static PyObject *make_joint(mmd_state *state, const void *from, size_t i, PyObject *owner)
{
    static const char *const kinds[] = {"spring_6dof", "6dof",   "point_to_point",
                                        "cone_twist",  "slider", "hinge"};
    (void)owner;
    const mmd_joint *joint = (const mmd_joint *)from + i;
    return MMD_RECORD(MMD_RECORD_JOINT, mmd_text_object(joint->name),
                      mmd_text_object(joint->name_english), word(kinds, joint->kind),
                      integer(joint->body_a), integer(joint->body_b), vector(joint->position, 3),
                      vector(joint->rotation, 3), vector(joint->translation_lower, 3),
                      vector(joint->translation_upper, 3), vector(joint->rotation_lower, 3),
                      vector(joint->rotation_upper, 3), vector(joint->translation_spring, 3),
                      vector(joint->rotation_spring, 3));
}

PyObject *mmd_records_bones(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    return mmd_record_tuple(state, make_bone, model->bones, model->bone_count, owner);
}

PyObject *mmd_records_morphs(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    return mmd_record_tuple(state, make_morph, model->morphs, model->morph_count, owner);
}

PyObject *mmd_records_of_materials(mmd_state *state, const mmd_material *materials, size_t count)
{
    return mmd_record_tuple(state, make_material, materials, count, NULL);
}

PyObject *mmd_records_materials(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    (void)owner;
    return mmd_records_of_materials(state, model->materials, model->material_count);
}

PyObject *mmd_records_textures(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    return mmd_record_tuple(state, make_texture, model->textures, model->texture_count, owner);
}

PyObject *mmd_records_display_frames(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    return mmd_record_tuple(state, make_display_frame, model->display_frames,
                            model->display_frame_count, owner);
}

PyObject *mmd_records_rigid_bodies(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    return mmd_record_tuple(state, make_rigid_body, model->rigid_bodies, model->rigid_body_count,
                            owner);
}

PyObject *mmd_records_joints(mmd_state *state, const mmd_model *model, PyObject *owner)
{
    return mmd_record_tuple(state, make_joint, model->joints, model->joint_count, owner);
}
