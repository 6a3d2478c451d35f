/* SPDX-License-Identifier: MIT */
/* Models: makes the data of a loaded one valid (indices, cycles and numbers), and frees them. */
#include "core/model/model.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/morph.h"

#include <string.h>

/* Makes an index out of range -1. Counts of a file are far below INT32_MAX. */
static void clip(int32_t *index, size_t count)
{
    *index = *index < (int32_t)count ? *index : -1;
    *index = *index < 0 ? -1 : *index;
}

static void clip_bones(mmd_model *model)
{
    for (size_t i = 0; i < model->bone_count; i++) {
        mmd_bone *bone = &model->bones[i];
        clip(&bone->parent, model->bone_count);
        clip(&bone->tail_bone, model->bone_count);
        clip(&bone->append_source, model->bone_count);
        if (bone->parent == (int32_t)i)
            bone->parent = -1;
        if (!bone->ik)
            continue;
        clip(&bone->ik->target, model->bone_count);
        for (size_t k = 0; k < bone->ik->link_count; k++)
            clip(&bone->ik->links[k].bone, model->bone_count);
    }
}

/* Detaches one bone of every cycle of parents. */
static bool cut_parent_cycles(mmd_model *model)
{
    size_t *visited = mmd_arena_alloc(&model->arena, model->bone_count, sizeof *visited);
    for (size_t i = 0; visited && i < model->bone_count; i++) {
        int32_t bone = (int32_t)i;
        while (bone >= 0 && visited[bone] == 0) {
            visited[bone] = i + 1;
            int32_t parent = model->bones[bone].parent;
            if (parent >= 0 && visited[parent] == i + 1)
                parent = model->bones[bone].parent = -1;
            bone = parent;
        }
    }
    return visited != NULL;
}

/* Removes offsets whose index is out of range; -1 of a material morph means all materials. */
static void clip_morph(const mmd_model *model, mmd_morph *morph)
{
    size_t limit = model->vertex_count, width = mmd_morph_width(morph->kind), kept = 0;
    if (morph->kind == MMD_MORPH_GROUP || morph->kind == MMD_MORPH_FLIP)
        limit = model->morph_count;
    else if (morph->kind == MMD_MORPH_BONE)
        limit = model->bone_count;
    else if (morph->kind == MMD_MORPH_MATERIAL)
        limit = model->material_count;
    else if (morph->kind == MMD_MORPH_IMPULSE)
        limit = model->rigid_body_count;
    for (size_t i = 0; i < morph->offset_count; i++) {
        int32_t index = morph->indices[i];
        bool all = morph->kind == MMD_MORPH_MATERIAL && index == -1;
        if (!all && (index < 0 || (size_t)index >= limit))
            continue;
        morph->indices[kept] = index;
        if (kept != i)
            memcpy(morph->values + kept * width, morph->values + i * width,
                   width * sizeof *morph->values);
        kept++;
    }
    morph->offset_count = kept;
}

static void clip_display_frame(const mmd_model *model, mmd_display_frame *frame)
{
    size_t kept = 0;
    for (size_t i = 0; i < frame->element_count; i++) {
        mmd_frame_element *element = &frame->elements[i];
        clip(&element->index, element->kind == 0 ? model->bone_count : model->morph_count);
        if (element->index >= 0)
            frame->elements[kept++] = *element;
    }
    frame->element_count = kept;
}

static size_t keep_triangles(mmd_model *model, size_t first, size_t count, size_t *kept)
{
    size_t before = *kept;
    for (size_t t = first; t < first + count; t++) {
        const int32_t *corner = model->triangles + 3 * t;
        uint32_t limit = (uint32_t)model->vertex_count; /* negative indices are above it */
        bool inside = (uint32_t)corner[0] < limit && (uint32_t)corner[1] < limit &&
                      (uint32_t)corner[2] < limit;
        if (inside && *kept != t)
            memcpy(model->triangles + 3 * *kept, corner, 3 * sizeof *corner);
        *kept += inside;
    }
    return *kept - before;
}

/* Removes triangles with a vertex out of range and updates the counts of their materials. */
static void clip_triangles(mmd_model *model)
{
    size_t kept = 0, next = 0;
    for (size_t m = 0; m < model->material_count; m++) {
        mmd_material *material = &model->materials[m];
        size_t count = material->index_count < 0 ? 0 : (size_t)material->index_count / 3;
        if (count > model->triangle_count - next)
            count = model->triangle_count - next;
        material->index_count = (int32_t)(3 * keep_triangles(model, next, count, &kept));
        next += count;
    }
    keep_triangles(model, next, model->triangle_count - next, &kept);
    model->triangle_count = kept;
}

static void clip_indices(mmd_model *model)
{
    for (size_t i = 0; i < 4 * model->vertex_count; i++)
        clip(&model->bone_indices[i], model->bone_count);
    clip_triangles(model);
    for (size_t i = 0; i < model->material_count; i++) {
        mmd_material *material = &model->materials[i];
        clip(&material->texture, model->texture_count);
        clip(&material->sphere_texture, model->texture_count);
        clip(&material->toon, material->shared_toon ? MMD_SHARED_TOONS : model->texture_count);
        material->shared_toon &= material->toon >= 0;
    }
    clip_bones(model);
    for (size_t i = 0; i < model->morph_count; i++)
        clip_morph(model, &model->morphs[i]);
    for (size_t i = 0; i < model->display_frame_count; i++)
        clip_display_frame(model, &model->display_frames[i]);
    for (size_t i = 0; i < model->rigid_body_count; i++)
        clip(&model->rigid_bodies[i].bone, model->bone_count);
    for (size_t i = 0; i < model->joint_count; i++) {
        clip(&model->joints[i].body_a, model->rigid_body_count);
        clip(&model->joints[i].body_b, model->rigid_body_count);
    }
}

/* Replaces unknown kinds by the nearest known one, unknown sphere modes by none. */
static void clip_kinds(mmd_model *model)
{
    for (size_t i = 0; i < model->material_count; i++)
        if (model->materials[i].sphere_mode >= MMD_SPHERE_MODE_COUNT)
            model->materials[i].sphere_mode = MMD_SPHERE_NONE;
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        mmd_rigid_body *body = &model->rigid_bodies[i];
        if (body->shape >= MMD_SHAPE_COUNT)
            body->shape = MMD_SHAPE_COUNT - 1;
        if (body->mode >= MMD_BODY_MODE_COUNT)
            body->mode = MMD_BODY_MODE_COUNT - 1;
    }
    for (size_t i = 0; i < model->joint_count; i++)
        if (model->joints[i].kind >= MMD_JOINT_KIND_COUNT)
            model->joints[i].kind = MMD_JOINT_KIND_COUNT - 1;
}

bool mmd_model_sanitize(mmd_model *model, mmd_error *err)
{
    clip_indices(model);
    clip_kinds(model);
    return cut_parent_cycles(model) || mmd_fail_memory(err);
}

void mmd_model_free(mmd_model *model)
{
    mmd_arena_free_owner(model);
}
