/* SPDX-License-Identifier: MIT */
#ifndef VALID_H
#define VALID_H

#include "core/model/model.h"
#include "core/model/morph.h"

#include <math.h>

/* What mmdskin.h guarantees about a loaded model or motion: every index is -1 or within its table,
   every number is finite, keys ascend, rotations have unit length. Independent of the readers'
   checks. */

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

static inline bool geometry_is_valid(const mmd_model *model)
{
    size_t n = model->vertex_count;
    bool valid = all_finite(model->positions, 3 * n) && all_finite(model->normals, 3 * n) &&
                 all_finite(model->uvs, 2 * n) && all_finite(model->edge_scales, n) &&
                 all_finite(model->additional_uvs, 4 * n * model->additional_uv_count) &&
                 all_finite(model->bone_weights, 4 * n) && all_finite(model->sdef, 9 * n);
    for (size_t v = 0; v < n; v++)
        valid &= model->deform[v] < MMD_DEFORM_COUNT;
    for (size_t i = 0; i < 4 * n; i++)
        valid &= index_inside(model->bone_indices[i], model->bone_count);
    for (size_t i = 0; i < 3 * model->triangle_count; i++)
        valid &= model->triangles[i] >= 0 && (size_t)model->triangles[i] < n;
    return valid;
}

static inline bool materials_are_valid(const mmd_model *model)
{
    size_t indices = 0;
    bool valid = true;
    for (size_t i = 0; i < model->material_count; i++) {
        const mmd_material *material = &model->materials[i];
        valid &= index_inside(material->texture, model->texture_count) &&
                 index_inside(material->sphere_texture, model->texture_count) &&
                 index_inside(material->toon, material->shared_toon ? 10 : model->texture_count) &&
                 material->sphere_mode <= 3 && material->index_count >= 0 &&
                 material->index_count % 3 == 0 && all_finite(material->diffuse, 4) &&
                 all_finite(material->specular, 3) && isfinite(material->specular_power) &&
                 all_finite(material->ambient, 3) && all_finite(material->edge_color, 4) &&
                 isfinite(material->edge_size);
        indices += (size_t)material->index_count;
    }
    return valid && indices <= 3 * model->triangle_count;
}

static inline bool bones_are_valid(const mmd_model *model)
{
    size_t count = model->bone_count;
    bool valid = true;
    for (size_t i = 0; i < count; i++) {
        const mmd_bone *bone = &model->bones[i];
        valid &= index_inside(bone->parent, count) && bone->parent != (int32_t)i &&
                 index_inside(bone->tail_bone, count) && index_inside(bone->append_source, count) &&
                 all_finite(bone->position, 3) && all_finite(bone->tail_offset, 3) &&
                 isfinite(bone->append_ratio) && all_finite(bone->fixed_axis, 3) &&
                 all_finite(bone->local_x, 3) && all_finite(bone->local_z, 3);
        const mmd_ik *ik = bone->ik;
        valid &= !ik || (index_inside(ik->target, count) && isfinite(ik->unit_angle));
        for (size_t k = 0; ik && k < ik->link_count; k++) {
            const mmd_ik_link *link = &ik->links[k];
            valid &= index_inside(link->bone, count);
            for (int axis = 0; axis < 3; axis++)
                valid &= isfinite(link->lower[axis]) && isfinite(link->upper[axis]) &&
                         link->lower[axis] <= link->upper[axis];
        }
    }
    return valid;
}

static inline bool morphs_are_valid(const mmd_model *model)
{
    bool valid = true;
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
            valid &= index_inside(morph->indices[k], limit) &&
                     (morph->indices[k] >= 0 || morph->kind == MMD_MORPH_MATERIAL);
        valid &= all_finite(morph->values, morph->offset_count * mmd_morph_width(morph->kind));
    }
    return valid;
}

static inline bool physics_are_valid(const mmd_model *model)
{
    bool valid = true;
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        const mmd_rigid_body *body = &model->rigid_bodies[i];
        valid &= index_inside(body->bone, model->bone_count) && body->shape <= 2 &&
                 body->mode <= 2 && all_finite(body->size, 3) && all_finite(body->position, 3) &&
                 all_finite(body->rotation, 3) && isfinite(body->mass) &&
                 isfinite(body->linear_damping) && isfinite(body->angular_damping) &&
                 isfinite(body->restitution) && isfinite(body->friction);
    }
    for (size_t i = 0; i < model->joint_count; i++) {
        const mmd_joint *joint = &model->joints[i];
        valid &= index_inside(joint->body_a, model->rigid_body_count) &&
                 index_inside(joint->body_b, model->rigid_body_count) && joint->kind <= 5 &&
                 all_finite(joint->position, 3) && all_finite(joint->rotation, 3) &&
                 all_finite(joint->translation_lower, 3) &&
                 all_finite(joint->translation_upper, 3) && all_finite(joint->rotation_lower, 3) &&
                 all_finite(joint->rotation_upper, 3) && all_finite(joint->translation_spring, 3) &&
                 all_finite(joint->rotation_spring, 3);
    }
    return valid;
}

static inline bool model_is_valid(const mmd_model *model)
{
    bool valid = geometry_is_valid(model) && materials_are_valid(model) && bones_are_valid(model) &&
                 morphs_are_valid(model) && physics_are_valid(model);
    for (size_t i = 0; i < model->display_frame_count; i++)
        for (size_t k = 0; k < model->display_frames[i].element_count; k++) {
            const mmd_frame_element *element = &model->display_frames[i].elements[k];
            valid &= element->kind <= 1 && element->index >= 0 &&
                     index_inside(element->index,
                                  element->kind == 0 ? model->bone_count : model->morph_count);
        }
    return valid;
}

static inline bool ascends(const uint32_t *frames, size_t count)
{
    for (size_t k = 1; k < count; k++)
        if (frames[k - 1] >= frames[k])
            return false;
    return true;
}

static inline bool bone_track_is_valid(const mmd_bone_track *track)
{
    size_t n = track->key_count;
    bool valid = n > 0 && ascends(track->frames, n) && all_finite(track->translations, 3 * n);
    for (size_t k = 0; k < n; k++) {
        double square = 0;
        for (int i = 0; i < 4; i++)
            square += (double)track->rotations[4 * k + (size_t)i] *
                      (double)track->rotations[4 * k + (size_t)i];
        valid &= fabs(sqrt(square) - 1) < 1e-5;
    }
    for (size_t i = 0; i < 16 * n; i++)
        valid &= track->interpolation[i] <= 127;
    return valid;
}

static inline bool scene_tracks_are_valid(const mmd_motion *motion)
{
    const mmd_camera_track *camera = &motion->camera;
    const mmd_light_track *light = &motion->light;
    const mmd_shadow_track *shadow = &motion->shadow;
    size_t n = camera->key_count;
    return ascends(camera->frames, n) && all_finite(camera->distances, n) &&
           all_finite(camera->targets, 3 * n) && all_finite(camera->rotations, 3 * n) &&
           all_finite(camera->view_angles, n) && ascends(light->frames, light->key_count) &&
           all_finite(light->colors, 3 * light->key_count) &&
           all_finite(light->directions, 3 * light->key_count) &&
           ascends(shadow->frames, shadow->key_count) &&
           all_finite(shadow->distances, shadow->key_count);
}

static inline bool motion_is_valid(const mmd_motion *motion)
{
    const mmd_property_track *properties = &motion->properties;
    bool valid = motion->first_frame <= motion->last_frame && scene_tracks_are_valid(motion) &&
                 ascends(properties->frames, properties->key_count);
    for (size_t i = 0; i < motion->bone_track_count; i++)
        valid &= bone_track_is_valid(&motion->bone_tracks[i]);
    for (size_t i = 0; i < motion->morph_track_count; i++) {
        const mmd_morph_track *track = &motion->morph_tracks[i];
        valid &= track->key_count > 0 && ascends(track->frames, track->key_count) &&
                 all_finite(track->weights, track->key_count);
    }
    for (size_t i = 0; i < properties->key_count * properties->ik_count; i++)
        valid &= properties->ik_enabled[i] <= 1;
    return valid;
}

#endif
