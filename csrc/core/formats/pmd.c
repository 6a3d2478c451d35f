/* SPDX-License-Identifier: MIT */
/* Reads PMD, in the order of docs/mmd-behavior.md#pmd-layout, and converts it to the PMX model by
   the rules of docs/mmd-behavior.md#pmd-to-pmx. */
#include "core/formats/formats.h"

#include "core/base/error.h"
#include "core/formats/reader.h"
#include "core/model/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME = 20,
    FRAME_NAME = 50,
    NO_BONE = 0xFFFF,
    TOONS = 10,
    TOON_NAME = 100,
    BODY = 83,
    JOINT = 124,
    /* Materials and bones, and what is converted when all of them are read. */
    MATERIAL = 70,
    MATERIAL_TOON = 44,
    MATERIAL_TEXTURE = 50,
    BONE = 39,
    BONE_TAIL = 22,
    BONE_TYPE = 24,
    BONE_IK = 25
};

typedef struct pmd_file {
    mmd_model *model;
    const uint8_t *materials, *bones; /* in the file */
    size_t file_bones;                /* in the file; extra ones for second IK entries follow */
    size_t base_morph;                /* SIZE_MAX: there is none */
    size_t named_frames;
    mmd_string_table texture_names;
} pmd_file;

/* Conversion */

enum {
    /* Bone types */
    MOVABLE = 1,
    IK_BONE = 2,
    APPENDS_IK_FIELD = 5,
    EFFECTOR = 6,
    HIDDEN = 7,
    TWIST = 8,
    APPENDS_TAIL = 9
};

/* The index of the texture of this name, which is added if it is new. */
static int32_t texture_index(mmd_reader *r, pmd_file *pmd, const char *name, size_t size)
{
    mmd_model *model = pmd->model;
    if (size == 0)
        return -1;
    uint32_t texture = mmd_reader_intern(r, &pmd->texture_names, (const uint8_t *)name, size);
    if (texture < model->texture_count || r->no_memory)
        return (int32_t)texture;
    char *data = mmd_reader_alloc(r, size + 1, 1);
    if (!data)
        return -1;
    memcpy(data, name, size);
    model->textures[model->texture_count++] = (mmd_text){data, size};
    return (int32_t)texture;
}

static bool ends_with(const char *name, size_t size, const char *ending)
{
    size_t length = strlen(ending);
    for (size_t i = 0; i < length; i++) {
        char c = size < length ? 0 : name[size - length + i];
        if (c != ending[i] && c + ('a' - 'A') != ending[i])
            return false;
    }
    return true;
}

/* "texture*sphere", in either order; .sph multiplies, .spa adds. */
static void split_texture(mmd_reader *r, pmd_file *pmd, mmd_material *material, mmd_text field)
{
    for (size_t first = 0; first <= field.size;) {
        const char *part = field.data + first;
        const char *star = memchr(part, '*', field.size - first);
        size_t size = star ? (size_t)(star - part) : field.size - first;
        int32_t texture = texture_index(r, pmd, part, size);
        bool multiplies = ends_with(part, size, ".sph"), adds = ends_with(part, size, ".spa");
        if (texture >= 0 && (multiplies || adds)) {
            material->sphere_texture = texture;
            material->sphere_mode = multiplies ? MMD_SPHERE_MULTIPLY : MMD_SPHERE_ADD;
        } else if (texture >= 0) {
            material->texture = texture;
        }
        first += size + 1;
    }
}

/* The index of "toon01.bmp" to "toon10.bmp", which all programs ship; -1 for others. */
static int32_t shared_toon(const mmd_text *name)
{
    int number = 0;
    if (name->size != 10 || memcmp(name->data, "toon", 4) != 0 ||
        memcmp(name->data + 6, ".bmp", 4) != 0)
        return -1;
    for (int i = 4; i < 6; i++) {
        if (name->data[i] < '0' || name->data[i] > '9')
            return -1;
        number = 10 * number + (name->data[i] - '0');
    }
    return number >= 1 && number <= TOONS ? number - 1 : -1;
}

/* Textures and toons of the materials; `toons` is NULL when the file has no table. */
static bool find_textures(mmd_reader *r, pmd_file *pmd, const mmd_text *toons)
{
    mmd_model *model = pmd->model;
    /* A field of 20 bytes holds at most ten names. */
    size_t capacity = 10 * model->material_count + TOONS;
    model->textures = mmd_reader_alloc(r, capacity, sizeof *model->textures);
    if (!model->textures)
        return mmd_reader_ok(r);
    for (size_t i = 0; i < model->material_count; i++) {
        mmd_material *material = &model->materials[i];
        const uint8_t *at = pmd->materials + MATERIAL * i;
        split_texture(r, pmd, material, mmd_reader_text(r, at + MATERIAL_TEXTURE, NAME));
        uint8_t toon = at[MATERIAL_TOON];
        if (toon >= TOONS)
            continue;
        int32_t shared = toons ? shared_toon(&toons[toon]) : toon;
        material->shared_toon = shared >= 0;
        material->toon =
            shared >= 0 ? shared : texture_index(r, pmd, toons[toon].data, toons[toon].size);
    }
    return mmd_reader_ok(r);
}

/* The direction from one point to another; false if they coincide. */
static bool find_direction(const float from[3], const float to[3], float out[3])
{
    float square = 0;
    for (int i = 0; i < 3; i++) {
        out[i] = to[i] - from[i];
        square += out[i] * out[i];
    }
    for (int i = 0; i < 3 && square > 0; i++)
        out[i] /= sqrtf(square);
    return square > 0;
}

static void set_append(mmd_bone *bone, int32_t source, float ratio)
{
    bone->flags |= MMD_BONE_APPEND_ROTATION;
    bone->append_source = source;
    bone->append_ratio = ratio;
}

/* The table at docs/mmd-behavior.md#pmd-bone-types. */
static void convert_bone(pmd_file *pmd, size_t index)
{
    mmd_bone *bone = &pmd->model->bones[index];
    const uint8_t *at = pmd->bones + BONE * index;
    uint16_t tail = mmd_bytes_u16_at(at + BONE_TAIL), ik_field = mmd_bytes_u16_at(at + BONE_IK);
    uint8_t type = at[BONE_TYPE];
    bool hidden = type == 3 || type == EFFECTOR || type == HIDDEN || type == APPENDS_TAIL;
    bone->flags |= MMD_BONE_ROTATABLE | MMD_BONE_OPERABLE;
    if (!hidden)
        bone->flags |= MMD_BONE_VISIBLE;
    if (type == MOVABLE || type == IK_BONE)
        bone->flags |= MMD_BONE_MOVABLE;
    if (type == IK_BONE)
        bone->layer = 1;
    if (type != APPENDS_TAIL && tail > 0 && tail < pmd->file_bones) {
        bone->flags |= MMD_BONE_TAIL_IS_BONE;
        bone->tail_bone = tail;
    }
    if (type == APPENDS_IK_FIELD) {
        bone->layer = 2;
        set_append(bone, ik_field, 1);
    }
    if (type == APPENDS_TAIL)
        set_append(bone, tail, (float)(int16_t)ik_field / 100.0f);
    if (type == TWIST && bone->tail_bone >= 0) {
        if (find_direction(bone->position, pmd->model->bones[tail].position, bone->fixed_axis))
            bone->flags |= MMD_BONE_FIXED_AXIS;
    }
}

/* The bone that gets an IK entry: `bone` itself, or a new child at the same position if it has one
   already, as PMX allows one IK a bone. -1 when memory is short. */
static int32_t ik_bone(mmd_reader *r, pmd_file *pmd, int32_t bone)
{
    mmd_model *model = pmd->model;
    if (!model->bones[bone].ik)
        return bone;
    const mmd_bone *parent = &model->bones[bone];
    mmd_bone *child = &model->bones[model->bone_count];
    char *name = mmd_reader_alloc(r, parent->name.size + 2, 1);
    if (!name)
        return -1;
    memcpy(name, parent->name.data, parent->name.size);
    name[parent->name.size] = '+';
    child->name = (mmd_text){name, parent->name.size + 1};
    memcpy(child->position, parent->position, sizeof child->position);
    child->parent = bone;
    child->tail_bone = child->append_source = -1;
    child->flags = MMD_BONE_ROTATABLE | MMD_BONE_MOVABLE;
    return (int32_t)model->bone_count++;
}

/* Limits the link if it is a knee, which is recognized by its name. */
static void limit_knee(const mmd_model *model, mmd_ik_link *link)
{
    static const char knees[2][10] = {"\xE5\xB7\xA6\xE3\x81\xB2\xE3\x81\x96",  /* 左ひざ */
                                      "\xE5\x8F\xB3\xE3\x81\xB2\xE3\x81\x96"}; /* 右ひざ */
    if (link->bone < 0 || (size_t)link->bone >= model->bone_count)
        return;
    const mmd_text *name = &model->bones[link->bone].name;
    for (int i = 0; i < 2; i++)
        if (name->size == 9 && memcmp(name->data, knees[i], 9) == 0) {
            link->limited = true;
            link->lower[0] = -3.14159265f;
            link->upper[0] = -0.00872664626f; /* half a degree */
        }
}

/* Reserves memory for `extra` bones, which carry second IK entries. */
static bool reserve_ik_bones(mmd_reader *r, pmd_file *pmd, size_t extra)
{
    mmd_bone *bones = mmd_reader_alloc(r, pmd->file_bones + extra, sizeof *bones);
    if (!mmd_reader_ok(r))
        return false;
    if (pmd->file_bones)
        memcpy(bones, pmd->model->bones, pmd->file_bones * sizeof *bones);
    pmd->model->bones = bones;
    return true;
}

/* Raises layers to at least the parent's. Cycles are left alone. */
static bool raise_layers(mmd_reader *r, mmd_model *model)
{
    size_t n = model->bone_count, *order = mmd_reader_scratch(r, n, sizeof *order);
    if (!order ||
        !mmd_model_order(model->bones, offsetof(mmd_bone, parent), sizeof(mmd_bone), n, order))
        return mmd_fail_memory(r->err);
    for (size_t i = 0; i < n; i++) {
        mmd_bone *bone = &model->bones[order[i]];
        bool has_parent = bone->parent >= 0 && (size_t)bone->parent < n;
        int32_t layer = has_parent ? model->bones[bone->parent].layer : 0;
        bone->layer = bone->layer < layer ? layer : bone->layer;
    }
    return true;
}

/* Offsets of morphs are indices into the vertices of the base morph, or of the model if there is no
   base morph. */
static void resolve_base_morph(pmd_file *pmd)
{
    mmd_model *model = pmd->model;
    mmd_morph base = {0};
    size_t kept = 0;
    if (pmd->base_morph != SIZE_MAX)
        base = model->morphs[pmd->base_morph];
    for (size_t m = 0; m < model->morph_count; m++) {
        mmd_morph *morph = &model->morphs[m];
        if (morph->panel == 0)
            continue;
        for (size_t i = 0; base.indices && i < morph->offset_count; i++) {
            int32_t index = morph->indices[i];
            bool inside = index >= 0 && (size_t)index < base.offset_count;
            morph->indices[i] = inside ? base.indices[index] : -1;
        }
        model->morphs[kept++] = *morph;
    }
    model->morph_count = kept;
}

/* After the file is read: converts the types of bones to flags, layers, appends and axes, and the
   indices of morph offsets to vertices; removes the base morph. */
static bool convert(mmd_reader *r, pmd_file *pmd)
{
    resolve_base_morph(pmd);
    for (size_t i = 0; i < pmd->file_bones; i++)
        convert_bone(pmd, i);
    return raise_layers(r, pmd->model);
}

/* Reading */

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
    if (!mmd_reader_begin_vertices(r, model, mmd_bytes_u32(&r->in), 38))
        return false;
    for (size_t v = 0; v < model->vertex_count; v++) {
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

static mmd_text numbered_name(mmd_reader *r, const char *stem, size_t number)
{
    char *data = mmd_reader_alloc(r, strlen(stem) + 21, 1);
    if (!data)
        return (mmd_text){"", 0};
    int size = snprintf(data, strlen(stem) + 21, "%s%zu", stem, number);
    return (mmd_text){data, (size_t)size};
}

static bool read_material(mmd_reader *r, void *owner, void *record)
{
    (void)owner;
    mmd_material *material = record;
    material->name = numbered_name(r, "\xE6\x9D\x90\xE8\xB3\xAA", (size_t)r->record + 1); /* 材質 */
    mmd_bytes_f32s(&r->in, material->diffuse, 4);
    material->specular_power = mmd_bytes_f32(&r->in, 0);
    mmd_bytes_f32s(&r->in, material->specular, 3);
    mmd_bytes_f32s(&r->in, material->ambient, 3);
    mmd_bytes_take(&r->in, 1); /* the toon */
    bool edge = mmd_bytes_u8(&r->in) != 0;
    uint32_t indices = mmd_bytes_u32(&r->in);
    material->index_count = indices > INT32_MAX ? INT32_MAX : (int32_t)indices;
    mmd_bytes_take(&r->in, NAME); /* textures */

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
    return true;
}

static bool read_materials(mmd_reader *r, pmd_file *pmd)
{
    uint32_t count = mmd_bytes_u32(&r->in);
    pmd->materials = r->in.data + r->in.offset;
    return mmd_reader_records(r, pmd->model, MMD_RECORD_MATERIAL, count, MATERIAL, read_material,
                              pmd);
}

static bool read_bone(mmd_reader *r, void *owner, void *record)
{
    (void)owner;
    mmd_bone *bone = record;
    bone->name = read_text(r, NAME);
    bone->parent = read_bone_index(r);
    mmd_bytes_take(&r->in, 5); /* tail, type, IK */
    mmd_bytes_f32s(&r->in, bone->position, 3);
    bone->tail_bone = bone->append_source = -1;
    return true;
}

static bool read_bones(mmd_reader *r, pmd_file *pmd)
{
    uint16_t count = mmd_bytes_u16(&r->in);
    pmd->bones = r->in.data + r->in.offset;
    pmd->file_bones = count;
    return mmd_reader_records(r, pmd->model, MMD_RECORD_BONE, count, BONE, read_bone, pmd);
}

static bool read_ik(mmd_reader *r, pmd_file *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "ik");
    size_t count = 0;
    if (!mmd_reader_check_count(r, "ik", mmd_bytes_u16(&r->in), 11, UINT16_MAX, &count) ||
        !reserve_ik_bones(r, pmd, count))
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
            limit_knee(model, &list[k]);
        }
        if (!mmd_reader_ok(r))
            return false;
        if (bone < 0 || (size_t)bone >= pmd->file_bones)
            continue;
        bone = ik_bone(r, pmd, bone);
        if (bone < 0)
            return mmd_reader_ok(r);
        model->bones[bone].ik = ik;
        model->bones[bone].flags |= MMD_BONE_IK;
        model->bones[bone].layer = 1;
    }
    return true;
}

static bool read_morph(mmd_reader *r, void *owner, void *record)
{
    pmd_file *pmd = owner;
    mmd_morph *morph = record;
    morph->name = read_text(r, NAME);
    uint32_t count = mmd_bytes_u32(&r->in);
    morph->panel = mmd_bytes_u8(&r->in);
    morph->kind = MMD_MORPH_VERTEX;
    if (morph->panel == 0 && pmd->base_morph == SIZE_MAX)
        pmd->base_morph = (size_t)r->record;
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

/* The display frame of the morphs that the file lists, without base morphs, which the model lacks.
 */
static bool read_morph_frame(mmd_reader *r, const pmd_file *pmd, mmd_display_frame *frame)
{
    int32_t *indices = mmd_reader_scratch(r, pmd->model->morph_count, sizeof *indices), next = 0;
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
    for (size_t i = 0; i < pmd->model->morph_count; i++)
        indices[i] = pmd->model->morphs[i].panel ? next++ : -1;
    for (size_t i = 0; i < count; i++) {
        uint16_t morph = mmd_bytes_u16(&r->in);
        add_element(frame, 1, morph < pmd->model->morph_count ? indices[morph] : -1);
    }
    return true;
}

/* Entries are a bone and a frame: 0 is that of the center bone, k the k-th named one. Counts the
   entries of each frame, then fills them. */
static bool read_frame_bones(mmd_reader *r, const pmd_file *pmd, mmd_display_frame *list)
{
    size_t entries = 0, frames = pmd->named_frames + 2;
    uint32_t count = mmd_bytes_u32(&r->in);
    if (!mmd_reader_check_count(r, "frame entries", count, 3, MMD_MAX_RECORDS, &entries))
        return false;
    const uint8_t *bytes = mmd_bytes_take(&r->in, 3 * entries);
    size_t *sizes = mmd_reader_scratch(r, frames, sizeof *sizes);
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
static bool read_display_frames(mmd_reader *r, pmd_file *pmd)
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
    for (size_t i = 2; i < frames; i++)
        list[i].name = read_frame_name(r);
    if (!read_frame_bones(r, pmd, list))
        return false;
    model->display_frames = list;
    model->display_frame_count = frames;
    return true;
}

static bool read_english(mmd_reader *r, pmd_file *pmd)
{
    mmd_model *model = pmd->model;
    mmd_reader_begin_section(r, "english");
    if (mmd_bytes_u8(&r->in) == 0)
        return mmd_reader_ok(r);
    model->name_english = read_text(r, NAME);
    model->comment_english = read_text(r, 256);
    for (size_t i = 0; i < pmd->file_bones && mmd_reader_ok(r); i++)
        model->bones[i].name_english = read_text(r, NAME);
    for (size_t i = 0; i < model->morph_count && !r->in.failed; i++)
        if (i != pmd->base_morph)
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

static bool read_toons(mmd_reader *r, pmd_file *pmd)
{
    mmd_text toons[TOONS];
    if (mmd_bytes_left(&r->in) == 0 || physics_follows(r))
        return find_textures(r, pmd, NULL);
    mmd_reader_begin_section(r, "toons");
    for (int i = 0; i < TOONS; i++)
        toons[i] = read_text(r, TOON_NAME);
    return mmd_reader_ok(r) && find_textures(r, pmd, toons);
}

static bool read_rigid_body(mmd_reader *r, void *owner, void *record)
{
    const pmd_file *pmd = owner;
    mmd_rigid_body *body = record;
    body->name = read_text(r, NAME);
    body->bone = read_bone_index(r);
    mmd_pmx_read_fields(r, MMD_RECORD_RIGID_BODY, offsetof(mmd_rigid_body, group), body);
    /* Positions are relative to the bone, or to the center bone. */
    size_t bone = body->bone < 0 ? 0 : (size_t)body->bone;
    for (int k = 0; k < 3 && bone < pmd->file_bones; k++)
        body->position[k] += pmd->model->bones[bone].position[k];
    mmd_numbers_limit(body->position, 3);
    return true;
}

static bool read_joint(mmd_reader *r, void *owner, void *record)
{
    (void)owner;
    mmd_joint *joint = record;
    joint->name = read_text(r, NAME);
    joint->body_a = mmd_bytes_i32(&r->in);
    joint->body_b = mmd_bytes_i32(&r->in);
    mmd_pmx_read_fields(r, MMD_RECORD_JOINT, offsetof(mmd_joint, position), joint);
    return true;
}

/* A file may end before any of these. */
static bool read_optional(mmd_reader *r, pmd_file *pmd)
{
    mmd_bytes *in = &r->in;
    if (mmd_bytes_left(in) && !read_english(r, pmd))
        return false;
    if (!read_toons(r, pmd))
        return false;
    if (mmd_bytes_left(in) && !mmd_reader_records(r, pmd->model, MMD_RECORD_RIGID_BODY,
                                                  mmd_bytes_u32(in), BODY, read_rigid_body, pmd))
        return false;
    return mmd_bytes_left(in) == 0 || mmd_reader_records(r, pmd->model, MMD_RECORD_JOINT,
                                                         mmd_bytes_u32(in), JOINT, read_joint, pmd);
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

bool mmd_pmd_read(mmd_reader *r, mmd_model *model)
{
    pmd_file pmd = {.model = model, .base_morph = SIZE_MAX};
    return read_header(r, model) && read_vertices(r, model) &&
           mmd_reader_faces(r, model, mmd_bytes_u32(&r->in), 2) && read_materials(r, &pmd) &&
           read_bones(r, &pmd) && read_ik(r, &pmd) &&
           mmd_reader_records(r, model, MMD_RECORD_MORPH, mmd_bytes_u16(&r->in), 25, read_morph,
                              &pmd) &&
           read_display_frames(r, &pmd) && read_optional(r, &pmd) && convert(r, &pmd);
}
