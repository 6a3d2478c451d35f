/* SPDX-License-Identifier: MIT */
/* PMD files, brought into the shape of PMX: layout as mmd-behaviour.md 4.1, rules of 4.2. */
#include "core/pmd.h"

#include "core/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME = 20,
    NO_BONE = 0xFFFF,
    TOONS = 10,
    TOON_NAME = 100,
    BODY = 83,
    JOINT = 124,
    /* Types of bones. */
    MOVABLE = 1,
    IK_BONE = 2,
    APPENDS_IK_FIELD = 5,
    EFFECTOR = 6,
    HIDDEN = 7,
    TWIST = 8,
    APPENDS_TAIL = 9
};

typedef struct reader {
    mmd_reader base;
    mmd_model *model;
    uint8_t(*toon_of_material);
    uint16_t *tails; /* as in the file */
    uint16_t *ik_fields;
    uint8_t *types;
    size_t file_bones;              /* those of the file; extra ones for second IK entries follow */
    size_t base_morph, file_morphs; /* base_morph == file_morphs: there is none */
    size_t named_frames;
    mmd_text *texture_fields;
    int32_t *texture_table; /* open addressing: texture + 1 */
    size_t texture_mask;
} reader;

#define fail(r, ...) mmd_reader_fail(&(r)->base, __VA_ARGS__)

static void open_section(reader *r, const char *name)
{
    r->base.section = name;
    r->base.record = MMD_NO_RECORD;
}

static bool sound(reader *r)
{
    return mmd_reader_sound(&r->base);
}

static void *allocate(reader *r, size_t count, size_t size)
{
    return mmd_reader_alloc(&r->base, count, size);
}

static mmd_text read_text(reader *r, size_t size)
{
    const uint8_t *bytes = mmd_bytes_take(&r->base.in, size);
    if (!bytes)
        return (mmd_text){"", 0};
    mmd_text text = mmd_text_decode(r->base.arena, MMD_CP932, bytes, size);
    r->base.no_memory |= !text.data;
    return text;
}

static int32_t read_bone_index(reader *r)
{
    uint16_t bone = mmd_bytes_u16(&r->base.in);
    return bone == NO_BONE ? -1 : bone;
}

static bool read_vertices(reader *r)
{
    mmd_model *model = r->model;
    size_t n = 0;
    open_section(r, "vertices");
    uint32_t count = mmd_bytes_u32(&r->base.in);
    if (!mmd_reader_believe(&r->base, "vertices", count, 38, 1 << 26, &n))
        return false;
    model->positions = allocate(r, n, 3 * sizeof(float));
    model->normals = allocate(r, n, 3 * sizeof(float));
    model->uvs = allocate(r, n, 2 * sizeof(float));
    model->additional_uvs = allocate(r, 0, 1);
    model->edge_scales = allocate(r, n, sizeof(float));
    model->deform = allocate(r, n, 1);
    model->bone_indices = allocate(r, n, 4 * sizeof(int32_t));
    model->bone_weights = allocate(r, n, 4 * sizeof(float));
    model->sdef = allocate(r, n, 9 * sizeof(float));
    if (!sound(r))
        return false;
    model->vertex_count = n;
    for (size_t v = 0; v < n; v++) {
        int32_t *bones = model->bone_indices + 4 * v;
        float *weights = model->bone_weights + 4 * v;
        mmd_bytes_f32s(&r->base.in, model->positions + 3 * v, 3);
        mmd_bytes_f32s(&r->base.in, model->normals + 3 * v, 3);
        mmd_bytes_f32s(&r->base.in, model->uvs + 2 * v, 2);
        bones[0] = read_bone_index(r);
        bones[1] = read_bone_index(r);
        bones[2] = bones[3] = -1;
        weights[0] = (float)mmd_bytes_u8(&r->base.in) / 100.0f;
        weights[1] = 1 - weights[0];
        model->deform[v] = MMD_BDEF2;
        if (bones[0] == bones[1]) {
            model->deform[v] = MMD_BDEF1;
            bones[1] = -1;
            weights[0] = 1;
            weights[1] = 0;
        }
        model->edge_scales[v] = mmd_bytes_u8(&r->base.in) == 0 ? 1 : 0;
    }
    return sound(r);
}

static bool read_faces(reader *r)
{
    mmd_model *model = r->model;
    size_t n = 0;
    open_section(r, "faces");
    uint32_t count = mmd_bytes_u32(&r->base.in);
    if (!mmd_reader_believe(&r->base, "faces", count, 2, INT32_MAX, &n))
        return false;
    model->triangle_count = n / 3;
    model->triangles = allocate(r, n / 3, 3 * sizeof *model->triangles);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < n; i++) {
        int32_t vertex = mmd_bytes_u16(&r->base.in);
        if (i < 3 * model->triangle_count)
            model->triangles[i] = vertex;
    }
    return sound(r);
}

static mmd_text numbered(reader *r, const char *stem, size_t number)
{
    char *data = allocate(r, strlen(stem) + 21, 1);
    if (!data)
        return (mmd_text){"", 0};
    int size = snprintf(data, strlen(stem) + 21, "%s%zu", stem, number);
    return (mmd_text){data, (size_t)size};
}

static bool read_materials(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "materials");
    uint32_t count = mmd_bytes_u32(&r->base.in);
    if (!mmd_reader_believe(&r->base, "materials", count, 70, MMD_MAX_RECORDS,
                            &model->material_count))
        return false;
    model->materials = allocate(r, model->material_count, sizeof *model->materials);
    r->toon_of_material = allocate(r, model->material_count, 1);
    r->texture_fields = allocate(r, model->material_count, sizeof *r->texture_fields);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < model->material_count; i++) {
        mmd_material *material = &model->materials[i];
        r->base.record = (long)i;
        material->name = numbered(r, "\xE6\x9D\x90\xE8\xB3\xAA", i + 1); /* 材質 */
        material->name_english = material->memo = (mmd_text){"", 0};
        mmd_bytes_f32s(&r->base.in, material->diffuse, 4);
        material->specular_power = mmd_bytes_f32(&r->base.in, 0);
        mmd_bytes_f32s(&r->base.in, material->specular, 3);
        mmd_bytes_f32s(&r->base.in, material->ambient, 3);
        r->toon_of_material[i] = mmd_bytes_u8(&r->base.in);
        bool edge = mmd_bytes_u8(&r->base.in) != 0;
        uint32_t indices = mmd_bytes_u32(&r->base.in);
        material->index_count = indices > INT32_MAX ? INT32_MAX : (int32_t)indices;
        r->texture_fields[i] = read_text(r, NAME);

        float alpha = material->diffuse[3];
        bool shadowless = fabsf(alpha - 0.98f) < 1e-6f; /* 0.98 asks for no self shadow */
        material->flags =
            (uint8_t)((alpha < 1 ? 0x01 : 0) | (edge ? 0x12 : 0) | (shadowless ? 0 : 0x0C));
        material->edge_color[3] = 1;
        material->edge_size = 1;
        material->texture = material->sphere_texture = material->toon = -1;
        if (!sound(r))
            return false;
    }
    return true;
}

/* Index of the texture of this name, which is added when it is new. */
static int32_t texture_index(reader *r, const char *name, size_t size)
{
    mmd_model *model = r->model;
    if (size == 0)
        return -1;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    size_t at = hash & r->texture_mask;
    for (; r->texture_table[at]; at = (at + 1) & r->texture_mask) {
        const mmd_text *known = &model->textures[r->texture_table[at] - 1];
        if (known->size == size && memcmp(known->data, name, size) == 0)
            return r->texture_table[at] - 1;
    }
    char *data = allocate(r, size + 1, 1);
    if (!data)
        return -1;
    memcpy(data, name, size);
    model->textures[model->texture_count++] = (mmd_text){data, size};
    r->texture_table[at] = (int32_t)model->texture_count;
    return r->texture_table[at] - 1;
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
static void split_texture(reader *r, mmd_material *material, mmd_text field)
{
    for (size_t first = 0; first <= field.size;) {
        const char *part = field.data + first;
        const char *star = memchr(part, '*', field.size - first);
        size_t size = star ? (size_t)(star - part) : field.size - first;
        int32_t texture = texture_index(r, part, size);
        bool multiplies = ends_with(part, size, ".sph"), adds = ends_with(part, size, ".spa");
        if (texture >= 0 && (multiplies || adds)) {
            material->sphere_texture = texture;
            material->sphere_mode = multiplies ? 1 : 2;
        } else if (texture >= 0) {
            material->texture = texture;
        }
        first += size + 1;
    }
}

/* Toon names that every program ships are shared toons. */
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

/* `toons` is NULL when the file has no table. */
static bool resolve_textures(reader *r, const mmd_text *toons)
{
    mmd_model *model = r->model;
    /* A field of 20 bytes has room for ten names. */
    size_t room = 10 * model->material_count + TOONS;
    for (r->texture_mask = 63; r->texture_mask < 2 * room;)
        r->texture_mask = 2 * r->texture_mask + 1;
    model->textures = allocate(r, room, sizeof *model->textures);
    r->texture_table = allocate(r, r->texture_mask + 1, sizeof *r->texture_table);
    if (!model->textures || !r->texture_table)
        return sound(r);
    for (size_t i = 0; i < model->material_count; i++) {
        mmd_material *material = &model->materials[i];
        split_texture(r, material, r->texture_fields[i]);
        uint8_t toon = r->toon_of_material[i];
        if (toon >= TOONS)
            continue;
        int32_t shared = toons ? shared_toon(&toons[toon]) : toon;
        material->shared_toon = shared >= 0;
        material->toon =
            shared >= 0 ? shared : texture_index(r, toons[toon].data, toons[toon].size);
    }
    return sound(r);
}

static bool read_bones(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "bones");
    if (!mmd_reader_believe(&r->base, "bones", mmd_bytes_u16(&r->base.in), 39, UINT16_MAX,
                            &r->file_bones))
        return false;
    size_t n = r->file_bones;
    model->bones = allocate(r, n, sizeof *model->bones);
    r->tails = allocate(r, n, sizeof *r->tails);
    r->ik_fields = allocate(r, n, sizeof *r->ik_fields);
    r->types = allocate(r, n, 1);
    if (!sound(r))
        return false;
    model->bone_count = n;
    for (size_t i = 0; i < n; i++) {
        mmd_bone *bone = &model->bones[i];
        bone->name = read_text(r, NAME);
        bone->name_english = (mmd_text){"", 0};
        bone->parent = read_bone_index(r);
        r->tails[i] = mmd_bytes_u16(&r->base.in);
        r->types[i] = mmd_bytes_u8(&r->base.in);
        r->ik_fields[i] = mmd_bytes_u16(&r->base.in);
        mmd_bytes_f32s(&r->base.in, bone->position, 3);
        bone->tail_bone = bone->append_source = -1;
    }
    return sound(r);
}

static void set_append(mmd_bone *bone, int32_t source, float ratio)
{
    bone->flags |= MMD_BONE_APPEND_ROTATION;
    bone->append_source = source;
    bone->append_ratio = ratio;
}

/* The table of bone types in 4.2. */
static void convert_bone(reader *r, size_t index)
{
    mmd_bone *bone = &r->model->bones[index];
    uint16_t tail = r->tails[index], ik_field = r->ik_fields[index];
    uint8_t type = r->types[index];
    bool hidden = type == 3 || type == EFFECTOR || type == HIDDEN || type == APPENDS_TAIL;
    bone->flags |= MMD_BONE_ROTATABLE | MMD_BONE_OPERABLE;
    if (!hidden)
        bone->flags |= MMD_BONE_VISIBLE;
    if (type == MOVABLE || type == IK_BONE)
        bone->flags |= MMD_BONE_MOVABLE;
    if (type == IK_BONE)
        bone->layer = 1;
    if (type != APPENDS_TAIL && tail > 0 && tail < r->file_bones) {
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
        float axis[3], square = 0;
        for (int i = 0; i < 3; i++) {
            axis[i] = r->model->bones[tail].position[i] - bone->position[i];
            square += axis[i] * axis[i];
        }
        if (square > 0)
            bone->flags |= MMD_BONE_FIXED_AXIS;
        for (int i = 0; i < 3 && square > 0; i++)
            bone->fixed_axis[i] = axis[i] / sqrtf(square);
    }
}

/* The bone that carries an IK entry: the named one, or a child at its place when that has one
 * already. */
static int32_t ik_carrier(reader *r, int32_t bone)
{
    mmd_model *model = r->model;
    if (!model->bones[bone].ik)
        return bone;
    const mmd_bone *parent = &model->bones[bone];
    mmd_bone *child = &model->bones[model->bone_count];
    char *name = allocate(r, parent->name.size + 2, 1);
    if (!name)
        return -1;
    memcpy(name, parent->name.data, parent->name.size);
    name[parent->name.size] = '+';
    child->name = (mmd_text){name, parent->name.size + 1};
    child->name_english = (mmd_text){"", 0};
    memcpy(child->position, parent->position, sizeof child->position);
    child->parent = bone;
    child->tail_bone = child->append_source = -1;
    child->flags = MMD_BONE_ROTATABLE | MMD_BONE_MOVABLE;
    return (int32_t)model->bone_count++;
}

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

/* Room for the bones that second IK entries need: at most one for each. */
static bool widen_bones(reader *r, size_t extra)
{
    mmd_bone *bones = allocate(r, r->file_bones + extra, sizeof *bones);
    if (!sound(r))
        return false;
    if (r->file_bones)
        memcpy(bones, r->model->bones, r->file_bones * sizeof *bones);
    r->model->bones = bones;
    return true;
}

static bool read_ik(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "ik");
    size_t count = 0;
    if (!mmd_reader_believe(&r->base, "ik", mmd_bytes_u16(&r->base.in), 11, UINT16_MAX, &count) ||
        !widen_bones(r, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        r->base.record = (long)i;
        int32_t bone = read_bone_index(r), target = read_bone_index(r);
        size_t links = mmd_bytes_u8(&r->base.in);
        mmd_ik *ik = allocate(r, 1, sizeof *ik);
        mmd_ik_link *list = allocate(r, links, sizeof *list);
        if (!sound(r))
            return false;
        *ik = (mmd_ik){.target = target, .link_count = links, .links = list};
        ik->loop_count = mmd_bytes_u16(&r->base.in);
        ik->unit_angle = 4 * mmd_bytes_f32(&r->base.in, -1); /* PMX has four times as much */
        for (size_t k = 0; k < links; k++) {
            list[k].bone = read_bone_index(r);
            limit_knee(model, &list[k]);
        }
        if (!sound(r))
            return false;
        if (bone < 0 || (size_t)bone >= r->file_bones)
            continue;
        bone = ik_carrier(r, bone);
        if (bone < 0)
            return sound(r);
        model->bones[bone].ik = ik;
        model->bones[bone].flags |= MMD_BONE_IK;
        model->bones[bone].layer = 1;
    }
    return true;
}

/* Every child's layer is at least its parent's; cycles are left as they are. */
static bool raise_layers(reader *r)
{
    mmd_model *model = r->model;
    size_t n = model->bone_count;
    int32_t *path = allocate(r, n, sizeof *path);
    bool *done = allocate(r, n, sizeof *done);
    if (!path || !done)
        return sound(r);
    for (size_t i = 0; i < n; i++) {
        size_t length = 0;
        int32_t bone = (int32_t)i;
        for (; bone >= 0 && (size_t)bone < n && !done[bone]; bone = model->bones[bone].parent) {
            done[bone] = true;
            path[length++] = bone;
        }
        int32_t layer = bone >= 0 && (size_t)bone < n ? model->bones[bone].layer : 0;
        while (length--) {
            mmd_bone *below = &model->bones[path[length]];
            layer = below->layer = below->layer < layer ? layer : below->layer;
        }
    }
    return true;
}

static bool read_morph(reader *r, mmd_morph *morph)
{
    morph->name = read_text(r, NAME);
    morph->name_english = (mmd_text){"", 0};
    uint32_t count = mmd_bytes_u32(&r->base.in);
    morph->panel = mmd_bytes_u8(&r->base.in);
    morph->kind = MMD_MORPH_VERTEX;
    if (!mmd_reader_believe(&r->base, "offsets", count, 16, MMD_MAX_RECORDS, &morph->offset_count))
        return false;
    morph->indices = allocate(r, morph->offset_count, sizeof *morph->indices);
    morph->values = allocate(r, morph->offset_count, 3 * sizeof *morph->values);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < morph->offset_count; i++) {
        uint32_t index = mmd_bytes_u32(&r->base.in);
        morph->indices[i] = index > INT32_MAX ? -1 : (int32_t)index;
        mmd_bytes_f32s(&r->base.in, morph->values + 3 * i, 3);
    }
    return sound(r);
}

/* The base morph lists the vertices that the others count in. Without one they count in vertices.
 */
static void resolve_base_morph(reader *r)
{
    mmd_model *model = r->model;
    mmd_morph base = {0};
    size_t kept = 0;
    if (r->base_morph < r->file_morphs)
        base = model->morphs[r->base_morph];
    for (size_t m = 0; m < r->file_morphs; m++) {
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

static bool read_morphs(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "morphs");
    if (!mmd_reader_believe(&r->base, "morphs", mmd_bytes_u16(&r->base.in), 25, UINT16_MAX,
                            &r->file_morphs))
        return false;
    model->morphs = allocate(r, r->file_morphs, sizeof *model->morphs);
    r->base_morph = r->file_morphs;
    for (size_t i = 0; model->morphs && i < r->file_morphs; i++) {
        r->base.record = (long)i;
        if (!read_morph(r, &model->morphs[i]))
            return false;
        if (model->morphs[i].panel == 0 && r->base_morph == r->file_morphs)
            r->base_morph = i;
    }
    return sound(r);
}

/* Place of a morph of the file in the model, where base morphs are left out; -1 for those. */
static int32_t morph_place(const reader *r, const uint8_t *panels, size_t morph)
{
    int32_t place = -1;
    for (size_t i = 0; i <= morph && morph < r->file_morphs; i++)
        place += panels[i] != 0;
    return morph < r->file_morphs && panels[morph] != 0 ? place : -1;
}

static mmd_text frame_name(reader *r)
{
    mmd_text name = read_text(r, 50);
    while (name.size && (name.data[name.size - 1] == '\n' || name.data[name.size - 1] == '\r'))
        name.size--;
    char *copy = allocate(r, name.size + 1, 1);
    if (copy)
        memcpy(copy, name.data, name.size);
    return (mmd_text){copy ? copy : "", copy ? name.size : 0};
}

static void add_element(mmd_display_frame *frame, uint8_t kind, int32_t index)
{
    if (index >= 0)
        frame->elements[frame->element_count++] = (mmd_frame_element){kind, index};
}

/* "Root" with the centre, the morphs' frame, then the named frames of the file. */
static bool read_display_frames(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "display_frames");
    uint8_t *panels = allocate(r, r->file_morphs, 1);
    size_t morphs = 0, entries = 0;
    if (!mmd_reader_believe(&r->base, "morphs shown", mmd_bytes_u8(&r->base.in), 2, UINT8_MAX,
                            &morphs))
        return false;
    mmd_frame_element *of_morphs = allocate(r, morphs, sizeof *of_morphs);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < r->file_morphs; i++)
        panels[i] = model->morphs[i].panel;
    mmd_display_frame faces = {.special = true, .elements = of_morphs};
    faces.name = (mmd_text){"\xE8\xA1\xA8\xE6\x83\x85", 6}; /* 表情 */
    faces.name_english = (mmd_text){"Exp", 3};
    for (size_t i = 0; i < morphs; i++)
        add_element(&faces, 1, morph_place(r, panels, mmd_bytes_u16(&r->base.in)));

    if (!mmd_reader_believe(&r->base, "frame names", mmd_bytes_u8(&r->base.in), 50, UINT8_MAX,
                            &r->named_frames))
        return false;
    size_t frames = r->named_frames + 2;
    model->display_frames = allocate(r, frames, sizeof *model->display_frames);
    if (!sound(r))
        return false;
    mmd_display_frame *list = model->display_frames;
    for (size_t i = 2; i < frames; i++) {
        list[i].name = frame_name(r);
        list[i].name_english = (mmd_text){"", 0};
    }
    uint32_t count = mmd_bytes_u32(&r->base.in);
    if (!mmd_reader_believe(&r->base, "frame entries", count, 3, MMD_MAX_RECORDS, &entries))
        return false;

    /* Frame 0 of an entry is the centre's; k the k-th named one. Sizes first, then the entries. */
    const uint8_t *bytes = mmd_bytes_take(&r->base.in, 3 * entries);
    size_t *sizes = allocate(r, frames, sizeof *sizes);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < entries; i++) {
        size_t number = bytes[3 * i + 2];
        if (number <= r->named_frames)
            sizes[number ? number + 1 : 0]++;
    }
    for (size_t i = 0; i < frames; i++)
        list[i].elements = allocate(r, sizes[i] + 1, sizeof *list->elements);
    if (!sound(r))
        return false;
    list[0].name = list[0].name_english = (mmd_text){"Root", 4};
    list[0].special = true;
    if (sizes[0] == 0 && model->bone_count)
        add_element(&list[0], 0, 0);
    list[1] = faces;
    for (size_t i = 0; i < entries; i++) {
        size_t number = bytes[3 * i + 2];
        int32_t bone = (int32_t)(bytes[3 * i] | bytes[3 * i + 1] << 8);
        if (number <= r->named_frames)
            add_element(&list[number ? number + 1 : 0], 0, bone);
    }
    model->display_frame_count = frames;
    return true;
}

static bool read_english(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "english");
    if (mmd_bytes_u8(&r->base.in) == 0)
        return sound(r);
    model->name_english = read_text(r, NAME);
    model->comment_english = read_text(r, 256);
    for (size_t i = 0; i < r->file_bones && sound(r); i++)
        model->bones[i].name_english = read_text(r, NAME);
    size_t skipped = r->base_morph < r->file_morphs ? r->base_morph : SIZE_MAX;
    for (size_t i = 0; i < r->file_morphs && !r->base.in.failed; i++)
        if (i != skipped)
            model->morphs[i].name_english = read_text(r, NAME);
    for (size_t i = 0; i < r->named_frames && !r->base.in.failed; i++)
        model->display_frames[i + 2].name_english = frame_name(r);
    return sound(r);
}

/* Bodies and joints that end exactly with the file, where the toon table would stand. */
static bool physics_follows(const reader *r)
{
    mmd_bytes in = r->base.in;
    uint32_t bodies = mmd_bytes_u32(&in);
    if (in.failed || bodies > mmd_bytes_left(&in) / BODY)
        return false;
    mmd_bytes_take(&in, (size_t)bodies * BODY);
    uint32_t joints = mmd_bytes_u32(&in);
    return !in.failed && joints <= mmd_bytes_left(&in) / JOINT &&
           mmd_bytes_left(&in) == (size_t)joints * JOINT;
}

static bool read_toons(reader *r)
{
    mmd_text toons[TOONS];
    if (mmd_bytes_left(&r->base.in) == 0 || physics_follows(r))
        return resolve_textures(r, NULL);
    open_section(r, "toons");
    for (int i = 0; i < TOONS; i++)
        toons[i] = read_text(r, TOON_NAME);
    return sound(r) && resolve_textures(r, toons);
}

static bool read_rigid_bodies(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "rigid_bodies");
    uint32_t count = mmd_bytes_u32(&r->base.in);
    if (!mmd_reader_believe(&r->base, "rigid bodies", count, BODY, MMD_MAX_RECORDS,
                            &model->rigid_body_count))
        return false;
    model->rigid_bodies = allocate(r, model->rigid_body_count, sizeof *model->rigid_bodies);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < model->rigid_body_count; i++) {
        mmd_rigid_body *body = &model->rigid_bodies[i];
        body->name = read_text(r, NAME);
        body->name_english = (mmd_text){"", 0};
        body->bone = read_bone_index(r);
        body->group = mmd_bytes_u8(&r->base.in);
        body->mask = mmd_bytes_u16(&r->base.in);
        body->shape = mmd_bytes_u8(&r->base.in);
        mmd_bytes_f32s(&r->base.in, body->size, 3);
        mmd_bytes_f32s(&r->base.in, body->position, 3);
        mmd_bytes_f32s(&r->base.in, body->rotation, 3);
        body->mass = mmd_bytes_f32(&r->base.in, 0);
        body->linear_damping = mmd_bytes_f32(&r->base.in, 0);
        body->angular_damping = mmd_bytes_f32(&r->base.in, 0);
        body->restitution = mmd_bytes_f32(&r->base.in, 0);
        body->friction = mmd_bytes_f32(&r->base.in, 0);
        body->mode = mmd_bytes_u8(&r->base.in);
        body->shape = body->shape > 2 ? 2 : body->shape;
        body->mode = body->mode > 2 ? 2 : body->mode;
        /* Positions are relative to the bone, or to the centre. */
        size_t bone = body->bone < 0 ? 0 : (size_t)body->bone;
        for (int k = 0; k < 3 && bone < r->file_bones; k++)
            body->position[k] += model->bones[bone].position[k];
    }
    return sound(r);
}

static bool read_joints(reader *r)
{
    mmd_model *model = r->model;
    open_section(r, "joints");
    uint32_t count = mmd_bytes_u32(&r->base.in);
    if (!mmd_reader_believe(&r->base, "joints", count, JOINT, MMD_MAX_RECORDS, &model->joint_count))
        return false;
    model->joints = allocate(r, model->joint_count, sizeof *model->joints);
    if (!sound(r))
        return false;
    for (size_t i = 0; i < model->joint_count; i++) {
        mmd_joint *joint = &model->joints[i];
        float *vectors[] = {joint->position,           joint->rotation,
                            joint->translation_lower,  joint->translation_upper,
                            joint->rotation_lower,     joint->rotation_upper,
                            joint->translation_spring, joint->rotation_spring};
        joint->name = read_text(r, NAME);
        joint->name_english = (mmd_text){"", 0};
        joint->body_a = mmd_bytes_i32(&r->base.in);
        joint->body_b = mmd_bytes_i32(&r->base.in);
        for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
            mmd_bytes_f32s(&r->base.in, vectors[k], 3);
    }
    return sound(r);
}

/* The file may end before any of these. */
static bool read_optional(reader *r)
{
    const mmd_bytes *in = &r->base.in;
    if (mmd_bytes_left(in) && !read_english(r))
        return false;
    if (!read_toons(r))
        return false;
    if (mmd_bytes_left(in) && !read_rigid_bodies(r))
        return false;
    return mmd_bytes_left(in) == 0 || read_joints(r);
}

bool mmd_pmd_is(const uint8_t *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "Pmd", 3) == 0;
}

bool mmd_pmd_read(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err)
{
    reader r = {.base = {.in = {.data = bytes, .size = size},
                         .arena = &model->arena,
                         .err = err,
                         .section = "header",
                         .record = MMD_NO_RECORD},
                .model = model};
    mmd_bytes_take(&r.base.in, 3);
    model->version = mmd_bytes_f32(&r.base.in, 0);
    model->name = read_text(&r, NAME);
    model->comment = read_text(&r, 256);
    model->name_english = model->comment_english = (mmd_text){"", 0};
    if (!sound(&r))
        return false;
    if (model->version != 1.0f)
        return fail(&r, "PMD version %g, 1.0 can be read", (double)model->version);
    if (!read_vertices(&r) || !read_faces(&r) || !read_materials(&r) || !read_bones(&r) ||
        !read_ik(&r) || !read_morphs(&r) || !read_display_frames(&r) || !read_optional(&r))
        return false;
    for (size_t i = 0; i < r.file_bones; i++)
        convert_bone(&r, i);
    resolve_base_morph(&r);
    return raise_layers(&r);
}
