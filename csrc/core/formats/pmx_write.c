/* SPDX-License-Identifier: MIT */
/* Writes PMX 2.0 and 2.1, in the order of docs/mmd-behavior.md#pmx. The same functions measure the
   file and write it. */
#include "core/base/error.h"
#include "core/formats/pmx.h"
#include "core/model/morph.h"

#include <string.h>

typedef struct writer {
    uint8_t *at; /* NULL: only measure */
    size_t size;
    bool utf8;
    uint8_t index_sizes[MMD_INDEX_COUNT];
} writer;

static void write_bytes(writer *w, const void *bytes, size_t size)
{
    if (w->at && size)
        memcpy(w->at + w->size, bytes, size);
    w->size += size;
}

/* Little-endian; with a constant size, compilers make one store of it. */
static inline void put(uint8_t *at, uint32_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline void write_number(writer *w, uint32_t value, size_t size)
{
    if (w->at)
        put(w->at + w->size, value, size);
    w->size += size;
}

static inline void write_u8(writer *w, uint8_t value)
{
    write_number(w, value, 1);
}

static inline void write_u16(writer *w, uint16_t value)
{
    write_number(w, value, 2);
}

static inline void write_u32(writer *w, uint32_t value)
{
    write_number(w, value, 4);
}

static inline void write_count(writer *w, size_t count)
{
    write_u32(w, (uint32_t)count);
}

static inline void write_f32s(writer *w, const float *numbers, size_t count)
{
    uint8_t *at = w->at ? w->at + w->size : NULL;
    for (size_t i = 0; at && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        put(at + 4 * i, bits, 4);
    }
    w->size += 4 * count;
}

static inline void write_f32(writer *w, float number)
{
    write_f32s(w, &number, 1);
}

static inline void write_index(writer *w, mmd_index_kind kind, int32_t index)
{
    if (w->index_sizes[kind] == 1)
        write_u8(w, (uint8_t)index);
    else if (w->index_sizes[kind] == 2)
        write_u16(w, (uint16_t)index);
    else
        write_u32(w, (uint32_t)index);
}

/* The next character of valid UTF-8. */
static uint32_t next_character(const uint8_t **at)
{
    uint8_t lead = *(*at)++;
    int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    uint32_t character = more ? lead & (0x3Fu >> more) : lead;
    while (more--)
        character = character << 6 | (*(*at)++ & 0x3Fu);
    return character;
}

static void write_utf16(writer *w, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        uint32_t character = next_character(&at);
        if (character >= 0x10000) {
            write_u16(w, (uint16_t)(0xD7C0 + (character >> 10)));
            character = 0xDC00 | (character & 0x3FF);
        }
        write_u16(w, (uint16_t)character);
    }
}

/* The bytes of a text and, before them, their number. */
static void write_text(writer *w, mmd_text text)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    if (w->utf8) {
        write_count(w, text.size);
        write_bytes(w, bytes, text.size);
        return;
    }
    writer measured = {0};
    write_utf16(&measured, bytes, bytes + text.size);
    write_count(w, measured.size);
    write_utf16(w, bytes, bytes + text.size);
}

/* PMX does not know the version of PMD. */
static float version_of(const mmd_model *model)
{
    return model->version < 1.5f ? 2.0f : model->version;
}

static void write_header(writer *w, const mmd_model *model)
{
    write_bytes(w, "PMX ", 4);
    write_f32(w, version_of(model));
    write_u8(w, 2 + MMD_INDEX_COUNT);
    write_u8(w, w->utf8);
    write_u8(w, (uint8_t)model->additional_uv_count);
    write_bytes(w, w->index_sizes, MMD_INDEX_COUNT);
    write_text(w, model->name);
    write_text(w, model->name_english);
    write_text(w, model->comment);
    write_text(w, model->comment_english);
}

/* As many bones and numbers as the deform type has. */
static inline void write_deform(writer *w, const mmd_model *model, size_t v)
{
    static const struct {
        size_t bones, weights, vectors;
    } layouts[MMD_DEFORM_COUNT] = {{1, 0, 0}, {2, 1, 0}, {4, 4, 0}, {2, 1, 3}, {4, 4, 0}};
    uint8_t type = model->deform[v];
    write_u8(w, type);
    for (size_t i = 0; i < layouts[type].bones; i++)
        write_index(w, MMD_INDEX_BONE, model->bone_indices[4 * v + i]);
    write_f32s(w, model->bone_weights + 4 * v, layouts[type].weights);
    write_f32s(w, model->sdef + 9 * v, 3 * layouts[type].vectors);
    write_f32(w, model->edge_scales[v]);
}

/* On a copy of the writer, which stays in registers: bytes that are written might be its own. */
static void write_vertices(writer *to, const mmd_model *model)
{
    writer copy = *to, *w = &copy;
    size_t sets = model->additional_uv_count;
    write_count(w, model->vertex_count);
    for (size_t v = 0; v < model->vertex_count; v++) {
        write_f32s(w, model->positions + 3 * v, 3);
        write_f32s(w, model->normals + 3 * v, 3);
        write_f32s(w, model->uvs + 2 * v, 2);
        write_f32s(w, model->additional_uvs + 4 * sets * v, 4 * sets);
        write_deform(w, model, v);
    }
    *to = copy;
}

static void write_faces(writer *to, const mmd_model *model)
{
    writer copy = *to, *w = &copy;
    size_t count = 3 * model->triangle_count;
    write_count(w, count);
    for (size_t i = 0; i < count; i++)
        write_index(w, MMD_INDEX_VERTEX, model->triangles[i]);
    *to = copy;
}

static void write_textures(writer *w, const mmd_model *model)
{
    write_count(w, model->texture_count);
    for (size_t i = 0; i < model->texture_count; i++)
        write_text(w, model->textures[i]);
}

static void write_material(writer *w, const mmd_material *material)
{
    write_text(w, material->name);
    write_text(w, material->name_english);
    write_f32s(w, material->diffuse, 4);
    write_f32s(w, material->specular, 3);
    write_f32(w, material->specular_power);
    write_f32s(w, material->ambient, 3);
    write_u8(w, material->flags);
    write_f32s(w, material->edge_color, 4);
    write_f32(w, material->edge_size);
    write_index(w, MMD_INDEX_TEXTURE, material->texture);
    write_index(w, MMD_INDEX_TEXTURE, material->sphere_texture);
    write_u8(w, material->sphere_mode);
    write_u8(w, material->shared_toon);
    if (material->shared_toon)
        write_u8(w, (uint8_t)material->toon);
    else
        write_index(w, MMD_INDEX_TEXTURE, material->toon);
    write_text(w, material->memo);
    write_count(w, (size_t)material->index_count);
}

static void write_materials(writer *w, const mmd_model *model)
{
    write_count(w, model->material_count);
    for (size_t i = 0; i < model->material_count; i++)
        write_material(w, &model->materials[i]);
}

static void write_ik(writer *w, const mmd_ik *ik)
{
    write_index(w, MMD_INDEX_BONE, ik->target);
    write_u32(w, (uint32_t)ik->loop_count);
    write_f32(w, ik->unit_angle);
    write_count(w, ik->link_count);
    for (size_t k = 0; k < ik->link_count; k++) {
        const mmd_ik_link *link = &ik->links[k];
        write_index(w, MMD_INDEX_BONE, link->bone);
        write_u8(w, link->limited);
        write_f32s(w, link->lower, link->limited ? 3 : 0);
        write_f32s(w, link->upper, link->limited ? 3 : 0);
    }
}

static void write_bone(writer *w, const mmd_bone *bone)
{
    write_text(w, bone->name);
    write_text(w, bone->name_english);
    write_f32s(w, bone->position, 3);
    write_index(w, MMD_INDEX_BONE, bone->parent);
    write_u32(w, (uint32_t)bone->layer);
    write_u16(w, bone->flags);
    if (bone->flags & MMD_BONE_TAIL_IS_BONE)
        write_index(w, MMD_INDEX_BONE, bone->tail_bone);
    else
        write_f32s(w, bone->tail_offset, 3);
    if (bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)) {
        write_index(w, MMD_INDEX_BONE, bone->append_source);
        write_f32(w, bone->append_ratio);
    }
    if (bone->flags & MMD_BONE_FIXED_AXIS)
        write_f32s(w, bone->fixed_axis, 3);
    if (bone->flags & MMD_BONE_LOCAL_AXES) {
        write_f32s(w, bone->local_x, 3);
        write_f32s(w, bone->local_z, 3);
    }
    if (bone->flags & MMD_BONE_EXTERNAL_PARENT)
        write_u32(w, (uint32_t)bone->external_parent);
    if (bone->flags & MMD_BONE_IK)
        write_ik(w, bone->ik);
}

static void write_bones(writer *w, const mmd_model *model)
{
    write_count(w, model->bone_count);
    for (size_t i = 0; i < model->bone_count; i++)
        write_bone(w, &model->bones[i]);
}

static void write_offset(writer *w, mmd_morph_kind kind, int32_t index, const float *values)
{
    static const mmd_index_kind targets[MMD_MORPH_KIND_COUNT] = {
        [MMD_MORPH_GROUP] = MMD_INDEX_MORPH,
        [MMD_MORPH_FLIP] = MMD_INDEX_MORPH,
        [MMD_MORPH_BONE] = MMD_INDEX_BONE,
        [MMD_MORPH_MATERIAL] = MMD_INDEX_MATERIAL,
        [MMD_MORPH_IMPULSE] = MMD_INDEX_RIGID_BODY}; /* else vertices */
    size_t width = mmd_morph_width(kind);
    write_index(w, targets[kind], index);
    if (kind == MMD_MORPH_MATERIAL || kind == MMD_MORPH_IMPULSE) {
        /* The operation and the local flag are bytes. */
        write_u8(w, *values++ != 0);
        width--;
    }
    write_f32s(w, values, width);
}

static void write_morphs(writer *w, const mmd_model *model)
{
    write_count(w, model->morph_count);
    for (size_t i = 0; i < model->morph_count; i++) {
        const mmd_morph *morph = &model->morphs[i];
        size_t width = mmd_morph_width(morph->kind);
        write_text(w, morph->name);
        write_text(w, morph->name_english);
        write_u8(w, morph->panel);
        write_u8(w, (uint8_t)morph->kind);
        write_count(w, morph->offset_count);
        for (size_t k = 0; k < morph->offset_count; k++)
            write_offset(w, morph->kind, morph->indices[k], morph->values + width * k);
    }
}

static void write_display_frames(writer *w, const mmd_model *model)
{
    write_count(w, model->display_frame_count);
    for (size_t i = 0; i < model->display_frame_count; i++) {
        const mmd_display_frame *frame = &model->display_frames[i];
        write_text(w, frame->name);
        write_text(w, frame->name_english);
        write_u8(w, frame->special);
        write_count(w, frame->element_count);
        for (size_t k = 0; k < frame->element_count; k++) {
            const mmd_frame_element *element = &frame->elements[k];
            write_u8(w, element->kind);
            write_index(w, element->kind == 0 ? MMD_INDEX_BONE : MMD_INDEX_MORPH, element->index);
        }
    }
}

static void write_rigid_bodies(writer *w, const mmd_model *model)
{
    write_count(w, model->rigid_body_count);
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        const mmd_rigid_body *body = &model->rigid_bodies[i];
        write_text(w, body->name);
        write_text(w, body->name_english);
        write_index(w, MMD_INDEX_BONE, body->bone);
        write_u8(w, body->group);
        write_u16(w, body->mask);
        write_u8(w, body->shape);
        write_f32s(w, body->size, 3);
        write_f32s(w, body->position, 3);
        write_f32s(w, body->rotation, 3);
        write_f32(w, body->mass);
        write_f32(w, body->linear_damping);
        write_f32(w, body->angular_damping);
        write_f32(w, body->restitution);
        write_f32(w, body->friction);
        write_u8(w, body->mode);
    }
}

static void write_joints(writer *w, const mmd_model *model)
{
    write_count(w, model->joint_count);
    for (size_t i = 0; i < model->joint_count; i++) {
        const mmd_joint *joint = &model->joints[i];
        const float *vectors[] = {joint->position,           joint->rotation,
                                  joint->translation_lower,  joint->translation_upper,
                                  joint->rotation_lower,     joint->rotation_upper,
                                  joint->translation_spring, joint->rotation_spring};
        write_text(w, joint->name);
        write_text(w, joint->name_english);
        write_u8(w, joint->kind);
        write_index(w, MMD_INDEX_RIGID_BODY, joint->body_a);
        write_index(w, MMD_INDEX_RIGID_BODY, joint->body_b);
        for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
            write_f32s(w, vectors[k], 3);
    }
}

static void write_soft_bodies(writer *w, const mmd_model *model)
{
    if (version_of(model) >= 2.05f)
        write_count(w, 0);
}

/* The bytes that an index of each kind needs, but no fewer than the file had. */
static void choose_index_sizes(writer *w, const mmd_model *model)
{
    const size_t counts[MMD_INDEX_COUNT] = {model->vertex_count,   model->texture_count,
                                            model->material_count, model->bone_count,
                                            model->morph_count,    model->rigid_body_count};
    for (int kind = 0; kind < MMD_INDEX_COUNT; kind++) {
        /* Indices of vertices are unsigned. */
        size_t count = kind == MMD_INDEX_VERTEX ? counts[kind] / 2 : counts[kind];
        uint8_t needed = count < 0x80 ? 1 : count < 0x8000 ? 2 : 4;
        uint8_t had = model->index_sizes[kind];
        w->index_sizes[kind] = had > needed ? had : needed;
    }
}

static size_t write_all(const mmd_model *model, uint8_t *bytes)
{
    static void (*const sections[])(writer *, const mmd_model *) = {
        write_header,       write_vertices, write_faces,       write_textures,
        write_materials,    write_bones,    write_morphs,      write_display_frames,
        write_rigid_bodies, write_joints,   write_soft_bodies,
    };
    writer w = {.at = bytes, .utf8 = model->utf8};
    choose_index_sizes(&w, model);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](&w, model);
    return w.size;
}

size_t mmd_pmx_size(const mmd_model *model)
{
    return model ? write_all(model, NULL) : 0;
}

bool mmd_pmx_write(const mmd_model *model, uint8_t *bytes, mmd_error *err)
{
    if (!mmd_error_require(model, "model", err) || !mmd_error_require(bytes, "bytes", err))
        return false;
    if (model->soft_body_count)
        return mmd_fail(err, MMD_E_ARGUMENT,
                        "the model was loaded without its %zu soft bodies, so it cannot be saved",
                        model->soft_body_count);
    write_all(model, bytes);
    return true;
}
