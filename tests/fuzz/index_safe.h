/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SAFE_H
#define INDEX_SAFE_H

#include "core/data/model.h"

#include <math.h>

/* What model.h promises of a loaded model: every index is -1 or within its table, every number is
   finite. Independent of the reader's own checks. */

static inline bool index_inside(int32_t index, size_t count)
{
    return index >= -1 && (index == -1 || (size_t)index < count);
}

static inline bool all_finite(const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}

static inline bool geometry_is_safe(const mmd_model *model)
{
    size_t n = model->vertex_count;
    bool safe = all_finite(model->positions, 3 * n) && all_finite(model->normals, 3 * n) &&
                all_finite(model->uvs, 2 * n) && all_finite(model->edge_scales, n) &&
                all_finite(model->additional_uvs, 4 * n * model->additional_uv_count) &&
                all_finite(model->bone_weights, 4 * n) && all_finite(model->sdef, 9 * n);
    for (size_t v = 0; v < n; v++)
        safe &= model->deform[v] < MMD_DEFORM_COUNT;
    for (size_t i = 0; i < 4 * n; i++)
        safe &= index_inside(model->bone_indices[i], model->bone_count);
    for (size_t i = 0; i < 3 * model->triangle_count; i++)
        safe &= model->triangles[i] >= 0 && (size_t)model->triangles[i] < n;
    return safe;
}

static inline bool materials_are_safe(const mmd_model *model)
{
    size_t indices = 0;
    bool safe = true;
    for (size_t i = 0; i < model->material_count; i++) {
        const mmd_material *material = &model->materials[i];
        safe &= index_inside(material->texture, model->texture_count) &&
                index_inside(material->sphere_texture, model->texture_count) &&
                index_inside(material->toon, material->shared_toon ? 10 : model->texture_count) &&
                material->sphere_mode <= 3 && material->index_count >= 0 &&
                material->index_count % 3 == 0 && all_finite(material->diffuse, 4) &&
                all_finite(material->specular, 3) && isfinite(material->specular_power) &&
                all_finite(material->ambient, 3) && all_finite(material->edge_color, 4) &&
                isfinite(material->edge_size);
        indices += (size_t)material->index_count;
    }
    return safe && indices <= 3 * model->triangle_count;
}

static inline bool bones_are_safe(const mmd_model *model)
{
    size_t count = model->bone_count;
    bool safe = true;
    for (size_t i = 0; i < count; i++) {
        const mmd_bone *bone = &model->bones[i];
        safe &= index_inside(bone->parent, count) && bone->parent != (int32_t)i &&
                index_inside(bone->tail_bone, count) && index_inside(bone->append_source, count) &&
                all_finite(bone->position, 3) && all_finite(bone->tail_offset, 3) &&
                isfinite(bone->append_ratio) && all_finite(bone->fixed_axis, 3) &&
                all_finite(bone->local_x, 3) && all_finite(bone->local_z, 3);
        const mmd_ik *ik = bone->ik;
        safe &= !ik || (index_inside(ik->target, count) && isfinite(ik->unit_angle));
        for (size_t k = 0; ik && k < ik->link_count; k++) {
            const mmd_ik_link *link = &ik->links[k];
            safe &= index_inside(link->bone, count);
            for (int axis = 0; axis < 3; axis++)
                safe &= isfinite(link->lower[axis]) && isfinite(link->upper[axis]) &&
                        link->lower[axis] <= link->upper[axis];
        }
    }
    return safe;
}

static inline bool morphs_are_safe(const mmd_model *model)
{
    bool safe = true;
    for (size_t i = 0; i < model->morph_count; i++) {
        const mmd_morph *morph = &model->morphs[i];
        if (morph->kind < 0 || morph->kind >= MMD_MORPH_KIND_COUNT)
            return false;
        size_t limits[MMD_MORPH_KIND_COUNT] = {[MMD_MORPH_GROUP] = model->morph_count,
                                               [MMD_MORPH_FLIP] = model->morph_count,
                                               [MMD_MORPH_BONE] = model->bone_count,
                                               [MMD_MORPH_MATERIAL] = model->material_count,
                                               [MMD_MORPH_IMPULSE] = model->rigid_body_count};
        bool vertices = morph->kind == MMD_MORPH_VERTEX ||
                        (morph->kind >= MMD_MORPH_UV && morph->kind <= MMD_MORPH_UV4);
        size_t limit = vertices ? model->vertex_count : limits[morph->kind];
        for (size_t k = 0; k < morph->offset_count; k++)
            safe &= index_inside(morph->indices[k], limit) &&
                    (morph->indices[k] >= 0 || morph->kind == MMD_MORPH_MATERIAL);
        safe &= all_finite(morph->values, morph->offset_count * mmd_morph_width(morph->kind));
    }
    return safe;
}

static inline bool physics_are_safe(const mmd_model *model)
{
    bool safe = true;
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        const mmd_rigid_body *body = &model->rigid_bodies[i];
        safe &= index_inside(body->bone, model->bone_count) && body->shape <= 2 &&
                body->mode <= 2 && all_finite(body->size, 3) && all_finite(body->position, 3) &&
                all_finite(body->rotation, 3) && isfinite(body->mass) &&
                isfinite(body->linear_damping) && isfinite(body->angular_damping) &&
                isfinite(body->restitution) && isfinite(body->friction);
    }
    for (size_t i = 0; i < model->joint_count; i++) {
        const mmd_joint *joint = &model->joints[i];
        safe &= index_inside(joint->body_a, model->rigid_body_count) &&
                index_inside(joint->body_b, model->rigid_body_count) && joint->kind <= 5 &&
                all_finite(joint->position, 3) && all_finite(joint->rotation, 3) &&
                all_finite(joint->translation_lower, 3) &&
                all_finite(joint->translation_upper, 3) && all_finite(joint->rotation_lower, 3) &&
                all_finite(joint->rotation_upper, 3) && all_finite(joint->translation_spring, 3) &&
                all_finite(joint->rotation_spring, 3);
    }
    return safe;
}

static inline bool model_is_safe(const mmd_model *model)
{
    bool safe = geometry_is_safe(model) && materials_are_safe(model) && bones_are_safe(model) &&
                morphs_are_safe(model) && physics_are_safe(model);
    for (size_t i = 0; i < model->display_frame_count; i++)
        for (size_t k = 0; k < model->display_frames[i].element_count; k++) {
            const mmd_frame_element *element = &model->display_frames[i].elements[k];
            safe &= element->kind <= 1 && element->index >= 0 &&
                    index_inside(element->index,
                                 element->kind == 0 ? model->bone_count : model->morph_count);
        }
    return safe;
}

#endif
