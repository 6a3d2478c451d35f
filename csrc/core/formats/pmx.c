/* SPDX-License-Identifier: MIT */
/* PMX 2.0 and 2.1, section by section as docs/mmd-behaviour.md#pmx lists them, hazards as in
   docs/mmd-behaviour.md#robust-reader. */
#include "core/formats/pmx.h"

#include "core/formats/reader.h"

#include <math.h>
#include <string.h>

typedef struct reader {
    mmd_reader base;
    mmd_model *model;
    mmd_encoding encoding;
    size_t vertex_size, texture_size, material_size, bone_size, morph_size, body_size;
} reader;

#define fail(r, ...) mmd_reader_fail(&(r)->base, __VA_ARGS__)

static bool sound(reader *r)
{
    return mmd_reader_sound(&r->base);
}

static void *allocate(reader *r, size_t count, size_t size)
{
    return mmd_reader_alloc(&r->base, count, size);
}

static bool read_count(reader *r, const char *what, size_t least_size, size_t limit, size_t *count)
{
    int32_t value = mmd_bytes_i32(&r->base.in);
    return mmd_reader_believe(&r->base, what, value, least_size, limit, count);
}

/* Opens a section: its count and zeroed records. */
static void *read_records(reader *r, const char *section, size_t least_size, size_t record_size,
                          size_t *count)
{
    r->base.section = section;
    r->base.record = MMD_NO_RECORD;
    size_t found = 0;
    if (!read_count(r, section, least_size, MMD_MAX_RECORDS, &found))
        return NULL;
    void *records = allocate(r, found, record_size);
    if (!records)
        return mmd_fail_memory(r->base.err), NULL;
    *count = found;
    return records;
}

static mmd_text read_text(reader *r)
{
    int32_t size = mmd_bytes_i32(&r->base.in);
    const uint8_t *bytes = size < 0 ? NULL : mmd_bytes_take(&r->base.in, (size_t)size);
    if (!bytes) {
        r->base.in.failed = true;
        return (mmd_text){"", 0};
    }
    mmd_text text = mmd_text_decode(&r->model->arena, r->encoding, bytes, (size_t)size);
    r->base.no_memory |= !text.data;
    return text;
}

static int32_t read_vertex_index(reader *r)
{
    if (r->vertex_size == 1)
        return mmd_bytes_u8(&r->base.in);
    return r->vertex_size == 2 ? mmd_bytes_u16(&r->base.in) : mmd_bytes_i32(&r->base.in);
}

/* Signed, of every kind but vertices; anything negative points nowhere. */
static int32_t read_index(reader *r, size_t size)
{
    int32_t value = size == 1   ? (int8_t)mmd_bytes_u8(&r->base.in)
                    : size == 2 ? (int16_t)mmd_bytes_u16(&r->base.in)
                                : mmd_bytes_i32(&r->base.in);
    return value < 0 ? -1 : value;
}

static float read_float(reader *r)
{
    return mmd_bytes_f32(&r->base.in, 0);
}

static bool read_header(reader *r)
{
    mmd_model *model = r->model;
    r->base.section = "header";
    mmd_bytes_take(&r->base.in, 4);
    model->version = read_float(r);
    uint8_t count = mmd_bytes_u8(&r->base.in);
    if (!sound(r))
        return false;
    if (fabsf(model->version - 2.0f) > 1e-3f && fabsf(model->version - 2.1f) > 1e-3f)
        return fail(r, "PMX version %g, 2.0 and 2.1 can be read", (double)model->version);
    if (count < 8)
        return fail(r, "%d settings, at least 8 are needed", count);
    const uint8_t *settings = mmd_bytes_take(&r->base.in, count);
    if (!settings)
        return sound(r);
    if (settings[0] > 1)
        return fail(r, "text encoding %d, known are 0 (UTF-16) and 1 (UTF-8)", settings[0]);
    if (settings[1] > 4)
        return fail(r, "%d additional UVs, limit 4", settings[1]);
    size_t *sizes[] = {&r->vertex_size, &r->texture_size, &r->material_size,
                       &r->bone_size,   &r->morph_size,   &r->body_size};
    for (int i = 0; i < 6; i++) {
        uint8_t size = settings[2 + i];
        if (size != 1 && size != 2 && size != 4)
            return fail(r, "index size %d, known are 1, 2 and 4", size);
        *sizes[i] = size;
    }
    r->encoding = (mmd_encoding)settings[0];
    model->additional_uv_count = settings[1];
    model->name = read_text(r);
    model->name_english = read_text(r);
    model->comment = read_text(r);
    model->comment_english = read_text(r);
    return sound(r);
}

static void read_sdef(reader *r, float *sdef)
{
    bool finite = true;
    for (int i = 0; i < 9; i++) {
        sdef[i] = mmd_bytes_f32(&r->base.in, HUGE_VALF);
        finite &= sdef[i] != HUGE_VALF;
    }
    /* All zero means no SDEF data: skinned as BDEF2. */
    if (!finite)
        memset(sdef, 0, 9 * sizeof *sdef);
}

static bool read_deform(reader *r, size_t v)
{
    static const int bone_counts[MMD_DEFORM_COUNT] = {1, 2, 4, 2, 4};
    mmd_model *model = r->model;
    int32_t *bones = model->bone_indices + 4 * v;
    float *weights = model->bone_weights + 4 * v;
    uint8_t type = mmd_bytes_u8(&r->base.in);
    if (type >= MMD_DEFORM_COUNT)
        return fail(r, "deform type %d, known are 0 to %d", type, MMD_DEFORM_COUNT - 1);
    model->deform[v] = type;
    for (int i = 0; i < 4; i++)
        bones[i] = i < bone_counts[type] ? read_index(r, r->bone_size) : -1;
    if (type == MMD_BDEF1) {
        weights[0] = 1;
    } else if (bone_counts[type] == 4) {
        mmd_bytes_f32s(&r->base.in, weights, 4);
    } else {
        weights[0] = read_float(r);
        weights[1] = 1 - weights[0];
    }
    if (type == MMD_SDEF)
        read_sdef(r, model->sdef + 9 * v);
    return true;
}

static bool read_vertices(reader *r)
{
    mmd_model *model = r->model;
    size_t sets = model->additional_uv_count, n;
    r->base.section = "vertices";
    if (!read_count(r, r->base.section, 37 + 16 * sets + r->bone_size, MMD_MAX_VERTICES, &n))
        return false;
    model->positions = allocate(r, n, 3 * sizeof(float));
    model->normals = allocate(r, n, 3 * sizeof(float));
    model->uvs = allocate(r, n, 2 * sizeof(float));
    model->additional_uvs = allocate(r, n, 4 * sets * sizeof(float));
    model->edge_scales = allocate(r, n, sizeof(float));
    model->deform = allocate(r, n, 1);
    model->bone_indices = allocate(r, n, 4 * sizeof(int32_t));
    model->bone_weights = allocate(r, n, 4 * sizeof(float));
    model->sdef = allocate(r, n, 9 * sizeof(float));
    if (!sound(r))
        return false;
    model->vertex_count = n;
    for (size_t v = 0; v < n; v++) {
        r->base.record = (long)v;
        mmd_bytes_f32s(&r->base.in, model->positions + 3 * v, 3);
        mmd_bytes_f32s(&r->base.in, model->normals + 3 * v, 3);
        mmd_bytes_f32s(&r->base.in, model->uvs + 2 * v, 2);
        mmd_bytes_f32s(&r->base.in, model->additional_uvs + 4 * sets * v, 4 * sets);
        if (!read_deform(r, v))
            return false;
        model->edge_scales[v] = read_float(r);
        if (!sound(r))
            return false;
    }
    return true;
}

static bool read_faces(reader *r)
{
    mmd_model *model = r->model;
    r->base.section = "faces";
    r->base.record = MMD_NO_RECORD;
    size_t count;
    if (!read_count(r, r->base.section, r->vertex_size, INT32_MAX, &count))
        return false;
    model->triangle_count = count / 3;
    model->triangles = allocate(r, count / 3, 3 * sizeof *model->triangles);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < count; i++) {
        int32_t vertex = read_vertex_index(r);
        if (i < 3 * model->triangle_count)
            model->triangles[i] = vertex;
    }
    return sound(r);
}

static bool read_textures(reader *r)
{
    mmd_model *model = r->model;
    model->textures =
        read_records(r, "textures", 4, sizeof *model->textures, &model->texture_count);
    for (size_t i = 0; model->textures && i < model->texture_count; i++) {
        r->base.record = (long)i;
        model->textures[i] = read_text(r);
        if (!sound(r))
            return false;
    }
    return model->textures != NULL;
}

static void read_material(reader *r, mmd_material *material)
{
    material->name = read_text(r);
    material->name_english = read_text(r);
    mmd_bytes_f32s(&r->base.in, material->diffuse, 4);
    mmd_bytes_f32s(&r->base.in, material->specular, 3);
    material->specular_power = read_float(r);
    mmd_bytes_f32s(&r->base.in, material->ambient, 3);
    material->flags = mmd_bytes_u8(&r->base.in);
    mmd_bytes_f32s(&r->base.in, material->edge_color, 4);
    material->edge_size = read_float(r);
    material->texture = read_index(r, r->texture_size);
    material->sphere_texture = read_index(r, r->texture_size);
    material->sphere_mode = mmd_bytes_u8(&r->base.in);
    if (material->sphere_mode > 3)
        material->sphere_mode = 0;
    material->shared_toon = mmd_bytes_u8(&r->base.in) != 0;
    material->toon =
        material->shared_toon ? mmd_bytes_u8(&r->base.in) : read_index(r, r->texture_size);
    material->memo = read_text(r);
    material->index_count = mmd_bytes_i32(&r->base.in);
}

static bool read_materials(reader *r)
{
    mmd_model *model = r->model;
    model->materials = read_records(r, "materials", 84 + 2 * r->texture_size,
                                    sizeof *model->materials, &model->material_count);
    for (size_t i = 0; model->materials && i < model->material_count; i++) {
        r->base.record = (long)i;
        read_material(r, &model->materials[i]);
        if (!sound(r))
            return false;
    }
    return model->materials != NULL;
}

static bool read_ik(reader *r, mmd_bone *bone)
{
    mmd_ik *ik = bone->ik = allocate(r, 1, sizeof *ik);
    if (!ik)
        return sound(r);
    ik->target = read_index(r, r->bone_size);
    ik->loop_count = mmd_bytes_i32(&r->base.in);
    /* A negative angle marks a solver that is not to run. */
    ik->unit_angle = mmd_bytes_f32(&r->base.in, -1);
    if (!read_count(r, "IK links", r->bone_size + 1, MMD_MAX_RECORDS, &ik->link_count))
        return false;
    ik->links = allocate(r, ik->link_count, sizeof *ik->links);
    for (size_t k = 0; ik->links && k < ik->link_count; k++) {
        mmd_ik_link *link = &ik->links[k];
        link->bone = read_index(r, r->bone_size);
        link->limited = mmd_bytes_u8(&r->base.in) != 0;
        if (!link->limited)
            continue;
        mmd_bytes_f32s(&r->base.in, link->lower, 3);
        mmd_bytes_f32s(&r->base.in, link->upper, 3);
        for (int i = 0; i < 3; i++)
            if (link->lower[i] > link->upper[i]) {
                float upper = link->lower[i];
                link->lower[i] = link->upper[i];
                link->upper[i] = upper;
            }
    }
    return sound(r);
}

static bool read_bone(reader *r, mmd_bone *bone)
{
    bone->name = read_text(r);
    bone->name_english = read_text(r);
    mmd_bytes_f32s(&r->base.in, bone->position, 3);
    bone->parent = read_index(r, r->bone_size);
    bone->layer = mmd_bytes_i32(&r->base.in);
    bone->flags = mmd_bytes_u16(&r->base.in);
    bone->tail_bone = bone->append_source = -1;
    if (bone->flags & MMD_BONE_TAIL_IS_BONE)
        bone->tail_bone = read_index(r, r->bone_size);
    else
        mmd_bytes_f32s(&r->base.in, bone->tail_offset, 3);
    if (bone->flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)) {
        bone->append_source = read_index(r, r->bone_size);
        bone->append_ratio = read_float(r);
    }
    if (bone->flags & MMD_BONE_FIXED_AXIS)
        mmd_bytes_f32s(&r->base.in, bone->fixed_axis, 3);
    if (bone->flags & MMD_BONE_LOCAL_AXES) {
        mmd_bytes_f32s(&r->base.in, bone->local_x, 3);
        mmd_bytes_f32s(&r->base.in, bone->local_z, 3);
    }
    if (bone->flags & MMD_BONE_EXTERNAL_PARENT)
        bone->external_parent = mmd_bytes_i32(&r->base.in);
    return bone->flags & MMD_BONE_IK ? read_ik(r, bone) : sound(r);
}

static bool read_bones(reader *r)
{
    mmd_model *model = r->model;
    model->bones =
        read_records(r, "bones", 26 + 2 * r->bone_size, sizeof *model->bones, &model->bone_count);
    for (size_t i = 0; model->bones && i < model->bone_count; i++) {
        r->base.record = (long)i;
        if (!read_bone(r, &model->bones[i]))
            return false;
    }
    return model->bones != NULL;
}

static size_t offset_index_size(const reader *r, mmd_morph_kind kind)
{
    switch (kind) {
    case MMD_MORPH_GROUP:
    case MMD_MORPH_FLIP:
        return r->morph_size;
    case MMD_MORPH_BONE:
        return r->bone_size;
    case MMD_MORPH_MATERIAL:
        return r->material_size;
    case MMD_MORPH_IMPULSE:
        return r->body_size;
    default:
        return r->vertex_size;
    }
}

static void read_offset(reader *r, mmd_morph_kind kind, int32_t *index, float *values, size_t width)
{
    bool vertex = kind == MMD_MORPH_VERTEX || (kind >= MMD_MORPH_UV && kind <= MMD_MORPH_UV4);
    *index = vertex ? read_vertex_index(r) : read_index(r, offset_index_size(r, kind));
    if (kind == MMD_MORPH_MATERIAL || kind == MMD_MORPH_IMPULSE) {
        /* The operation and the local flag are bytes. */
        values[0] = mmd_bytes_u8(&r->base.in) != 0;
        values++;
        width--;
    }
    mmd_bytes_f32s(&r->base.in, values, width);
    if (kind == MMD_MORPH_BONE && values[3] == 0 && values[4] == 0 && values[5] == 0 &&
        values[6] == 0)
        values[6] = 1;
}

static bool read_morph(reader *r, mmd_morph *morph)
{
    morph->name = read_text(r);
    morph->name_english = read_text(r);
    morph->panel = mmd_bytes_u8(&r->base.in);
    uint8_t kind = mmd_bytes_u8(&r->base.in);
    if (!sound(r))
        return false;
    if (kind >= MMD_MORPH_KIND_COUNT)
        return fail(r, "morph type %d, known are 0 to %d", kind, MMD_MORPH_KIND_COUNT - 1);
    morph->kind = (mmd_morph_kind)kind;
    size_t width = mmd_morph_width(morph->kind);
    size_t bytes =
        kind == MMD_MORPH_MATERIAL || kind == MMD_MORPH_IMPULSE ? 4 * width - 3 : 4 * width;
    size_t least = offset_index_size(r, morph->kind) + bytes;
    if (!read_count(r, "offsets", least, MMD_MAX_RECORDS, &morph->offset_count))
        return false;
    morph->indices = allocate(r, morph->offset_count, sizeof *morph->indices);
    morph->values = allocate(r, morph->offset_count, width * sizeof *morph->values);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < morph->offset_count; i++)
        read_offset(r, morph->kind, &morph->indices[i], morph->values + width * i, width);
    return sound(r);
}

static bool read_morphs(reader *r)
{
    mmd_model *model = r->model;
    model->morphs = read_records(r, "morphs", 14, sizeof *model->morphs, &model->morph_count);
    for (size_t i = 0; model->morphs && i < model->morph_count; i++) {
        r->base.record = (long)i;
        if (!read_morph(r, &model->morphs[i]))
            return false;
    }
    return model->morphs != NULL;
}

static bool read_display_frame(reader *r, mmd_display_frame *frame)
{
    frame->name = read_text(r);
    frame->name_english = read_text(r);
    frame->special = mmd_bytes_u8(&r->base.in) != 0;
    size_t least = 1 + (r->bone_size < r->morph_size ? r->bone_size : r->morph_size);
    if (!read_count(r, "elements", least, MMD_MAX_RECORDS, &frame->element_count))
        return false;
    frame->elements = allocate(r, frame->element_count, sizeof *frame->elements);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < frame->element_count; i++) {
        frame->elements[i].kind = mmd_bytes_u8(&r->base.in) != 0;
        frame->elements[i].index =
            read_index(r, frame->elements[i].kind == 0 ? r->bone_size : r->morph_size);
    }
    return sound(r);
}

static bool read_display_frames(reader *r)
{
    mmd_model *model = r->model;
    model->display_frames = read_records(r, "display_frames", 13, sizeof *model->display_frames,
                                         &model->display_frame_count);
    for (size_t i = 0; model->display_frames && i < model->display_frame_count; i++) {
        r->base.record = (long)i;
        if (!read_display_frame(r, &model->display_frames[i]))
            return false;
    }
    return model->display_frames != NULL;
}

static void read_rigid_body(reader *r, mmd_rigid_body *body)
{
    body->name = read_text(r);
    body->name_english = read_text(r);
    body->bone = read_index(r, r->bone_size);
    body->group = mmd_bytes_u8(&r->base.in);
    body->mask = mmd_bytes_u16(&r->base.in);
    body->shape = mmd_bytes_u8(&r->base.in);
    mmd_bytes_f32s(&r->base.in, body->size, 3);
    mmd_bytes_f32s(&r->base.in, body->position, 3);
    mmd_bytes_f32s(&r->base.in, body->rotation, 3);
    body->mass = read_float(r);
    body->linear_damping = read_float(r);
    body->angular_damping = read_float(r);
    body->restitution = read_float(r);
    body->friction = read_float(r);
    body->mode = mmd_bytes_u8(&r->base.in);
    /* Unknown values: the nearest legal one. */
    body->shape = body->shape > 2 ? 2 : body->shape;
    body->mode = body->mode > 2 ? 2 : body->mode;
}

static bool read_rigid_bodies(reader *r)
{
    mmd_model *model = r->model;
    model->rigid_bodies = read_records(r, "rigid_bodies", 69 + r->bone_size,
                                       sizeof *model->rigid_bodies, &model->rigid_body_count);
    for (size_t i = 0; model->rigid_bodies && i < model->rigid_body_count; i++) {
        r->base.record = (long)i;
        read_rigid_body(r, &model->rigid_bodies[i]);
        if (!sound(r))
            return false;
    }
    return model->rigid_bodies != NULL;
}

static bool read_joints(reader *r)
{
    mmd_model *model = r->model;
    model->joints = read_records(r, "joints", 105 + 2 * r->body_size, sizeof *model->joints,
                                 &model->joint_count);
    for (size_t i = 0; model->joints && i < model->joint_count; i++) {
        mmd_joint *joint = &model->joints[i];
        float *vectors[] = {joint->position,           joint->rotation,
                            joint->translation_lower,  joint->translation_upper,
                            joint->rotation_lower,     joint->rotation_upper,
                            joint->translation_spring, joint->rotation_spring};
        r->base.record = (long)i;
        joint->name = read_text(r);
        joint->name_english = read_text(r);
        joint->kind = mmd_bytes_u8(&r->base.in);
        joint->kind = joint->kind > 5 ? 5 : joint->kind;
        joint->body_a = read_index(r, r->body_size);
        joint->body_b = read_index(r, r->body_size);
        for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
            mmd_bytes_f32s(&r->base.in, vectors[k], 3);
        if (!sound(r))
            return false;
    }
    return model->joints != NULL;
}

/* Only counted and stepped over. 2.1 files that end before this section exist. */
static bool skip_soft_bodies(reader *r)
{
    mmd_model *model = r->model;
    if (model->version < 2.05f || mmd_bytes_left(&r->base.in) == 0)
        return true;
    r->base.section = "soft_bodies";
    r->base.record = MMD_NO_RECORD;
    size_t count, items;
    if (!read_count(r, r->base.section, 141 + r->material_size, MMD_MAX_RECORDS, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        r->base.record = (long)i;
        for (int k = 0; k < 2; k++) {
            int32_t size = mmd_bytes_i32(&r->base.in);
            mmd_bytes_take(&r->base.in, size < 0 ? SIZE_MAX : (size_t)size);
        }
        mmd_bytes_take(&r->base.in, 125 + r->material_size);
        if (!read_count(r, "anchors", r->body_size + r->vertex_size + 1, MMD_MAX_RECORDS, &items))
            return false;
        mmd_bytes_take(&r->base.in, items * (r->body_size + r->vertex_size + 1));
        if (!read_count(r, "pins", r->vertex_size, MMD_MAX_RECORDS, &items))
            return false;
        mmd_bytes_take(&r->base.in, items * r->vertex_size);
        if (!sound(r))
            return false;
    }
    model->soft_body_count = count;
    return true;
}

bool mmd_pmx_is(const uint8_t *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "PMX ", 4) == 0;
}

bool mmd_pmx_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err)
{
    reader r = {.base = {.in = {.data = bytes, .size = size},
                         .arena = &model->arena,
                         .err = err,
                         .section = "header",
                         .record = MMD_NO_RECORD},
                .model = model};
    return read_header(&r) && read_vertices(&r) && read_faces(&r) && read_textures(&r) &&
           read_materials(&r) && read_bones(&r) && read_morphs(&r) && read_display_frames(&r) &&
           read_rigid_bodies(&r) && read_joints(&r) && skip_soft_bodies(&r);
}
