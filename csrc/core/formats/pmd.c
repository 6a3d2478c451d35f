/* SPDX-License-Identifier: MIT */
/* Reads PMD, in the order of docs/mmd-behavior.md#pmd-layout. */
#include "core/formats/formats.h"

#include "core/base/error.h"
#include "core/formats/pmd_convert.h"
#include "core/model/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 20, FRAME_NAME = 50, NO_BONE = 0xFFFF, TOON_NAME = 100, BODY = 83, JOINT = 124 };

static mmd_text read_text(mmd_reader *r, size_t size)
{
    return mmd_reader_text(r, mmd_bytes_take(&r->in, size), size);
}

static int32_t read_bone_index(mmd_reader *r)
{
    uint16_t bone = mmd_bytes_u16(&r->in);
    return bone == NO_BONE ? -1 : bone;
}

static bool read_vertices(mmd_reader *r, mmd_model *model)
{
    size_t n = 0;
    mmd_reader_begin_section(r, "vertices");
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "vertices", count, 38, MMD_MAX_VERTICES, &n) ||
        !mmd_reader_alloc_vertices(r, model, n))
        return false;
    for (size_t v = 0; v < n; v++) {
        int32_t *bones = model->bone_indices + 4 * v;
        float *weights = model->bone_weights + 4 * v;
        mmd_bytes_f32s(&r->in, model->positions + 3 * v, 3);
        mmd_bytes_f32s(&r->in, model->normals + 3 * v, 3);
        mmd_bytes_f32s(&r->in, model->uvs + 2 * v, 2);
        bones[0] = read_bone_index(r);
        bones[1] = read_bone_index(r);
        bones[2] = bones[3] = -1;
        weights[0] = (float)mmd_bytes_u8(&r->in) / 100.0f;
        weights[1] = 1 - weights[0];
        weights[2] = weights[3] = 0;
        model->deform[v] = MMD_BDEF2;
        if (bones[0] == bones[1]) {
            model->deform[v] = MMD_BDEF1;
            bones[1] = -1;
            weights[0] = 1;
            weights[1] = 0;
        }
        model->edge_scales[v] = mmd_bytes_u8(&r->in) == 0 ? 1 : 0;
    }
    return mmd_reader_ok(r);
}

static bool read_faces(mmd_reader *r, mmd_model *model)
{
    size_t n = 0;
    mmd_reader_begin_section(r, "faces");
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "faces", count, 2, INT32_MAX, &n))
        return false;
    model->triangle_count = n / 3;
    model->triangles = mmd_reader_alloc(r, n / 3, 3 * sizeof *model->triangles);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < n; i++) {
        int32_t vertex = mmd_bytes_u16(&r->in);
        if (i < 3 * model->triangle_count)
            model->triangles[i] = vertex;
    }
    return mmd_reader_ok(r);
}

static mmd_text numbered_name(mmd_reader *r, const char *stem, size_t number)
{
    char *data = mmd_reader_alloc(r, strlen(stem) + 21, 1);
    if (!data)
        return (mmd_text){"", 0};
    int size = snprintf(data, strlen(stem) + 21, "%s%zu", stem, number);
    return (mmd_text){data, (size_t)size};
}

static bool read_materials(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "materials");
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "materials", count, 70, MMD_MAX_RECORDS, &model->material_count))
        return false;
    model->materials = mmd_reader_alloc(r, model->material_count, sizeof *model->materials);
    pmd->toon_of_material = mmd_reader_alloc(r, model->material_count, 1);
    pmd->texture_fields = mmd_reader_alloc(r, model->material_count, sizeof *pmd->texture_fields);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < model->material_count; i++) {
        mmd_material *material = &model->materials[i];
        r->record = (long)i;
        material->name = numbered_name(r, "\xE6\x9D\x90\xE8\xB3\xAA", i + 1); /* 材質 */
        material->name_english = material->memo = (mmd_text){"", 0};
        mmd_bytes_f32s(&r->in, material->diffuse, 4);
        material->specular_power = mmd_bytes_f32(&r->in, 0);
        mmd_bytes_f32s(&r->in, material->specular, 3);
        mmd_bytes_f32s(&r->in, material->ambient, 3);
        pmd->toon_of_material[i] = mmd_bytes_u8(&r->in);
        bool edge = mmd_bytes_u8(&r->in) != 0;
        uint32_t indices = mmd_bytes_u32(&r->in);
        material->index_count = indices > INT32_MAX ? INT32_MAX : (int32_t)indices;
        pmd->texture_fields[i] = read_text(r, NAME);

        float alpha = material->diffuse[3];
        bool shadowless = fabsf(alpha - 0.98f) < 1e-6f; /* 0.98 means no self shadow */
        if (alpha < 1)
            material->flags |= MMD_MATERIAL_DOUBLE_SIDED;
        if (edge)
            material->flags |= MMD_MATERIAL_EDGE | MMD_MATERIAL_GROUND_SHADOW;
        if (!shadowless)
            material->flags |= MMD_MATERIAL_CASTS_SELF_SHADOW | MMD_MATERIAL_RECEIVES_SELF_SHADOW;
        material->edge_color[3] = 1;
        material->edge_size = 1;
        material->texture = material->sphere_texture = material->toon = -1;
        if (!mmd_reader_ok(r))
            return false;
    }
    return true;
}

static bool read_bones(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "bones");
    if (!mmd_reader_check_count(r, "bones", mmd_bytes_u16(&r->in), 39, UINT16_MAX,
                                &pmd->file_bones))
        return false;
    size_t n = pmd->file_bones;
    model->bones = mmd_reader_alloc(r, n, sizeof *model->bones);
    pmd->tails = mmd_reader_alloc(r, n, sizeof *pmd->tails);
    pmd->ik_fields = mmd_reader_alloc(r, n, sizeof *pmd->ik_fields);
    pmd->types = mmd_reader_alloc(r, n, 1);
    if (!mmd_reader_ok(r))
        return false;
    model->bone_count = n;
    for (size_t i = 0; i < n; i++) {
        mmd_bone *bone = &model->bones[i];
        bone->name = read_text(r, NAME);
        bone->name_english = (mmd_text){"", 0};
        bone->parent = read_bone_index(r);
        pmd->tails[i] = mmd_bytes_u16(&r->in);
        pmd->types[i] = mmd_bytes_u8(&r->in);
        pmd->ik_fields[i] = mmd_bytes_u16(&r->in);
        mmd_bytes_f32s(&r->in, bone->position, 3);
        bone->tail_bone = bone->append_source = -1;
    }
    return mmd_reader_ok(r);
}

static bool read_ik(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "ik");
    size_t count = 0;
    if (!mmd_reader_check_count(r, "ik", mmd_bytes_u16(&r->in), 11, UINT16_MAX, &count) ||
        !mmd_pmd_reserve_ik_bones(r, pmd, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        r->record = (long)i;
        int32_t bone = read_bone_index(r), target = read_bone_index(r);
        size_t links = mmd_bytes_u8(&r->in);
        mmd_ik *ik = mmd_reader_alloc(r, 1, sizeof *ik);
        mmd_ik_link *list = mmd_reader_alloc(r, links, sizeof *list);
        if (!mmd_reader_ok(r))
            return false;
        *ik = (mmd_ik){.target = target, .link_count = links, .links = list};
        ik->loop_count = mmd_bytes_u16(&r->in);
        /* In PMX the angle is four times as large. */
        ik->unit_angle =
            fmaxf(fminf(4 * mmd_bytes_f32(&r->in, -1), MMD_BYTES_LIMIT), -MMD_BYTES_LIMIT);
        for (size_t k = 0; k < links; k++) {
            list[k].bone = read_bone_index(r);
            mmd_pmd_limit_knee(model, &list[k]);
        }
        if (!mmd_reader_ok(r))
            return false;
        if (bone < 0 || (size_t)bone >= pmd->file_bones)
            continue;
        bone = mmd_pmd_ik_bone(r, pmd, bone);
        if (bone < 0)
            return mmd_reader_ok(r);
        model->bones[bone].ik = ik;
        model->bones[bone].flags |= MMD_BONE_IK;
        model->bones[bone].layer = 1;
    }
    return true;
}

static bool read_morph(mmd_reader *r, mmd_morph *morph)
{
    morph->name = read_text(r, NAME);
    morph->name_english = (mmd_text){"", 0};
    uint32_t count = mmd_bytes_u32(&r->in);
    morph->panel = mmd_bytes_u8(&r->in);
    morph->kind = MMD_MORPH_VERTEX;
    if (!mmd_reader_check_count(r, "offsets", count, 16, MMD_MAX_RECORDS, &morph->offset_count))
        return false;
    morph->indices = mmd_reader_alloc(r, morph->offset_count, sizeof *morph->indices);
    morph->values = mmd_reader_alloc(r, morph->offset_count, 3 * sizeof *morph->values);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < morph->offset_count; i++) {
        uint32_t index = mmd_bytes_u32(&r->in);
        morph->indices[i] = index > INT32_MAX ? -1 : (int32_t)index;
        mmd_bytes_f32s(&r->in, morph->values + 3 * i, 3);
    }
    return mmd_reader_ok(r);
}

static bool read_morphs(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "morphs");
    if (!mmd_reader_check_count(r, "morphs", mmd_bytes_u16(&r->in), 25, UINT16_MAX,
                                &pmd->file_morphs))
        return false;
    model->morphs = mmd_reader_alloc(r, pmd->file_morphs, sizeof *model->morphs);
    pmd->base_morph = pmd->file_morphs;
    for (size_t i = 0; model->morphs && i < pmd->file_morphs; i++) {
        r->record = (long)i;
        if (!read_morph(r, &model->morphs[i]))
            return false;
        if (model->morphs[i].panel == 0 && pmd->base_morph == pmd->file_morphs)
            pmd->base_morph = i;
    }
    return mmd_reader_ok(r);
}

/* The index in the model, which has no base morphs, of a morph of the file; -1 for a base morph. */
static int32_t model_morph_index(const mmd_pmd *pmd, const uint8_t *panels, size_t morph)
{
    int32_t index = -1;
    for (size_t i = 0; i <= morph && morph < pmd->file_morphs; i++)
        index += panels[i] != 0;
    return morph < pmd->file_morphs && panels[morph] != 0 ? index : -1;
}

/* The name of a display frame without trailing newlines. */
static mmd_text read_frame_name(mmd_reader *r)
{
    const uint8_t *bytes = mmd_bytes_take(&r->in, FRAME_NAME);
    const uint8_t *end = bytes ? memchr(bytes, 0, FRAME_NAME) : NULL;
    size_t size = end ? (size_t)(end - bytes) : FRAME_NAME;
    while (bytes && size && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r'))
        size--;
    return mmd_reader_text(r, bytes, size);
}

static void add_element(mmd_display_frame *frame, uint8_t kind, int32_t index)
{
    if (index >= 0)
        frame->elements[frame->element_count++] = (mmd_frame_element){kind, index};
}

/* The display frame of the morphs that the file lists. */
static bool read_morph_frame(mmd_reader *r, const mmd_pmd *pmd, mmd_display_frame *frame)
{
    uint8_t *panels = mmd_reader_alloc(r, pmd->file_morphs, 1);
    size_t count = 0;
    if (!mmd_reader_check_count(r, "morphs shown", mmd_bytes_u8(&r->in), 2, UINT8_MAX, &count))
        return false;
    *frame = (mmd_display_frame){
        .name = {"\xE8\xA1\xA8\xE6\x83\x85", 6}, /* 表情 */
        .name_english = {"Exp", 3},
        .special = true,
        .elements = mmd_reader_alloc(r, count, sizeof *frame->elements),
    };
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < pmd->file_morphs; i++)
        panels[i] = pmd->model->morphs[i].panel;
    for (size_t i = 0; i < count; i++)
        add_element(frame, 1, model_morph_index(pmd, panels, mmd_bytes_u16(&r->in)));
    return true;
}

/* Entries are a bone and a frame: 0 is that of the center bone, k the k-th named one. Counts the
   entries of each frame, then fills them. */
static bool read_frame_bones(mmd_reader *r, const mmd_pmd *pmd, mmd_display_frame *list)
{
    size_t entries = 0, frames = pmd->named_frames + 2;
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "frame entries", count, 3, MMD_MAX_RECORDS, &entries))
        return false;
    const uint8_t *bytes = mmd_bytes_take(&r->in, 3 * entries);
    size_t *sizes = mmd_reader_alloc(r, frames, sizeof *sizes);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < entries; i++) {
        size_t number = bytes[3 * i + 2];
        if (number <= pmd->named_frames)
            sizes[number ? number + 1 : 0]++;
    }
    for (size_t i = 0; i < frames; i++)
        if (i != 1)
            list[i].elements = mmd_reader_alloc(r, sizes[i] + 1, sizeof *list->elements);
    if (!mmd_reader_ok(r))
        return false;
    if (sizes[0] == 0 && pmd->model->bone_count)
        add_element(&list[0], 0, 0);
    for (size_t i = 0; i < entries; i++) {
        size_t number = bytes[3 * i + 2];
        int32_t bone = (int32_t)(bytes[3 * i] | bytes[3 * i + 1] << 8);
        if (number <= pmd->named_frames)
            add_element(&list[number ? number + 1 : 0], 0, bone);
    }
    return true;
}

/* "Root" with the center bone, the frame of the morphs, then the named frames of the file. */
static bool read_display_frames(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_display_frame morph_frame;
    mmd_reader_begin_section(r, "display_frames");
    if (!read_morph_frame(r, pmd, &morph_frame) ||
        !mmd_reader_check_count(r, "frame names", mmd_bytes_u8(&r->in), FRAME_NAME, UINT8_MAX,
                                &pmd->named_frames))
        return false;
    size_t frames = pmd->named_frames + 2;
    mmd_display_frame *list = mmd_reader_alloc(r, frames, sizeof *list);
    if (!list)
        return mmd_reader_ok(r);
    list[0].name = list[0].name_english = (mmd_text){"Root", 4};
    list[0].special = true;
    list[1] = morph_frame;
    for (size_t i = 2; i < frames; i++) {
        list[i].name = read_frame_name(r);
        list[i].name_english = (mmd_text){"", 0};
    }
    if (!read_frame_bones(r, pmd, list))
        return false;
    model->display_frames = list;
    model->display_frame_count = frames;
    return true;
}

static bool read_english(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "english");
    if (mmd_bytes_u8(&r->in) == 0)
        return mmd_reader_ok(r);
    model->name_english = read_text(r, NAME);
    model->comment_english = read_text(r, 256);
    for (size_t i = 0; i < pmd->file_bones && mmd_reader_ok(r); i++)
        model->bones[i].name_english = read_text(r, NAME);
    size_t skipped = pmd->base_morph < pmd->file_morphs ? pmd->base_morph : SIZE_MAX;
    for (size_t i = 0; i < pmd->file_morphs && !r->in.failed; i++)
        if (i != skipped)
            model->morphs[i].name_english = read_text(r, NAME);
    for (size_t i = 0; i < pmd->named_frames && !r->in.failed; i++)
        model->display_frames[i + 2].name_english = read_frame_name(r);
    return mmd_reader_ok(r);
}

/* Whether the toon table is missing: rigid bodies and joints would end exactly with the file. */
static bool physics_follows(const mmd_reader *r)
{
    mmd_bytes in = r->in;
    uint32_t bodies = mmd_bytes_u32(&in);
    if (in.failed || bodies > mmd_bytes_left(&in) / BODY)
        return false;
    mmd_bytes_take(&in, (size_t)bodies * BODY);
    uint32_t joints = mmd_bytes_u32(&in);
    return !in.failed && joints <= mmd_bytes_left(&in) / JOINT &&
           mmd_bytes_left(&in) == (size_t)joints * JOINT;
}

static bool read_toons(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_text toons[MMD_PMD_TOONS];
    if (mmd_bytes_left(&r->in) == 0 || physics_follows(r))
        return mmd_pmd_textures(r, pmd, NULL);
    mmd_reader_begin_section(r, "toons");
    for (int i = 0; i < MMD_PMD_TOONS; i++)
        toons[i] = read_text(r, TOON_NAME);
    return mmd_reader_ok(r) && mmd_pmd_textures(r, pmd, toons);
}

static bool read_rigid_bodies(mmd_reader *r, mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "rigid_bodies");
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "rigid bodies", count, BODY, MMD_MAX_RECORDS,
                                &model->rigid_body_count))
        return false;
    model->rigid_bodies = mmd_reader_alloc(r, model->rigid_body_count, sizeof *model->rigid_bodies);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        mmd_rigid_body *body = &model->rigid_bodies[i];
        body->name = read_text(r, NAME);
        body->name_english = (mmd_text){"", 0};
        body->bone = read_bone_index(r);
        mmd_pmx_read_fields(r, NULL, MMD_RECORD_RIGID_BODY, offsetof(mmd_rigid_body, group), body);
        /* Positions are relative to the bone, or to the center bone. */
        size_t bone = body->bone < 0 ? 0 : (size_t)body->bone;
        for (int k = 0; k < 3 && bone < pmd->file_bones; k++)
            body->position[k] += model->bones[bone].position[k];
        mmd_numbers_limit(body->position, 3);
    }
    return mmd_reader_ok(r);
}

static bool read_joints(mmd_reader *r, mmd_model *model)
{
    mmd_reader_begin_section(r, "joints");
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "joints", count, JOINT, MMD_MAX_RECORDS, &model->joint_count))
        return false;
    model->joints = mmd_reader_alloc(r, model->joint_count, sizeof *model->joints);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < model->joint_count; i++) {
        mmd_joint *joint = &model->joints[i];
        joint->name = read_text(r, NAME);
        joint->name_english = (mmd_text){"", 0};
        joint->body_a = mmd_bytes_i32(&r->in);
        joint->body_b = mmd_bytes_i32(&r->in);
        mmd_pmx_read_fields(r, NULL, MMD_RECORD_JOINT, offsetof(mmd_joint, position), joint);
    }
    return mmd_reader_ok(r);
}

/* A file may end before any of these. */
static bool read_optional(mmd_reader *r, mmd_pmd *pmd)
{
    const mmd_bytes *in = &r->in;
    if (mmd_bytes_left(in) && !read_english(r, pmd))
        return false;
    if (!read_toons(r, pmd))
        return false;
    if (mmd_bytes_left(in) && !read_rigid_bodies(r, pmd))
        return false;
    return mmd_bytes_left(in) == 0 || read_joints(r, pmd->model);
}

static bool read_header(mmd_reader *r, mmd_model *model)
{
    mmd_bytes_take(&r->in, 3);
    model->version = mmd_bytes_f32(&r->in, 0);
    model->name = read_text(r, NAME);
    model->comment = read_text(r, 256);
    model->name_english = model->comment_english = (mmd_text){"", 0};
    if (!mmd_reader_ok(r))
        return false;
    if (model->version != 1.0f)
        return mmd_reader_fail(r, "PMD version %g, only 1.0 is supported", (double)model->version);
    return true;
}

bool mmd_pmd_is(const uint8_t *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "Pmd", 3) == 0;
}

bool mmd_pmd_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err)
{
    mmd_reader reader = mmd_reader_begin(bytes, size, &model->arena, err), *r = &reader;
    mmd_pmd pmd = {.model = model};
    return read_header(r, model) && read_vertices(r, model) && read_faces(r, model) &&
           read_materials(r, &pmd) && read_bones(r, &pmd) && read_ik(r, &pmd) &&
           read_morphs(r, &pmd) && read_display_frames(r, &pmd) && read_optional(r, &pmd) &&
           mmd_pmd_convert(r, &pmd);
}
