/* SPDX-License-Identifier: MIT */
/* Converts PMD textures, bones, IK and morphs to PMX. */
#include "core/formats/pmd_convert.h"

#include <math.h>
#include <string.h>

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
static int32_t texture_index(mmd_reader *r, mmd_pmd *pmd, const char *name, size_t size)
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
static void split_texture(mmd_reader *r, mmd_pmd *pmd, mmd_material *material, mmd_text field)
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
    return number >= 1 && number <= MMD_PMD_TOONS ? number - 1 : -1;
}

bool mmd_pmd_textures(mmd_reader *r, mmd_pmd *pmd, const mmd_text *toons)
{
    mmd_model *model = pmd->model;
    /* A field of 20 bytes holds at most ten names. */
    size_t capacity = 10 * model->material_count + MMD_PMD_TOONS;
    model->textures = mmd_reader_alloc(r, capacity, sizeof *model->textures);
    if (!model->textures)
        return mmd_reader_ok(r);
    for (size_t i = 0; i < model->material_count; i++) {
        mmd_material *material = &model->materials[i];
        split_texture(r, pmd, material, pmd->texture_fields[i]);
        uint8_t toon = pmd->toon_of_material[i];
        if (toon >= MMD_PMD_TOONS)
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
    float difference[3], square = 0;
    for (int pass = 0; pass < 2; pass++) {
        float scale = pass ? 0x1p-70f : 1; /* the second pass avoids an overflow */
        square = 0;
        for (int i = 0; i < 3; i++) {
            difference[i] = to[i] * scale - from[i] * scale;
            square += difference[i] * difference[i];
        }
        if (isfinite(square))
            break;
    }
    for (int i = 0; i < 3 && square > 0; i++)
        out[i] = difference[i] / sqrtf(square);
    return square > 0;
}

static void set_append(mmd_bone *bone, int32_t source, float ratio)
{
    bone->flags |= MMD_BONE_APPEND_ROTATION;
    bone->append_source = source;
    bone->append_ratio = ratio;
}

/* The table at docs/mmd-behavior.md#pmd-bone-types. */
static void convert_bone(mmd_pmd *pmd, size_t index)
{
    mmd_bone *bone = &pmd->model->bones[index];
    uint16_t tail = pmd->tails[index], ik_field = pmd->ik_fields[index];
    uint8_t type = pmd->types[index];
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

int32_t mmd_pmd_ik_bone(mmd_reader *r, mmd_pmd *pmd, int32_t bone)
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
    child->name_english = (mmd_text){"", 0};
    memcpy(child->position, parent->position, sizeof child->position);
    child->parent = bone;
    child->tail_bone = child->append_source = -1;
    child->flags = MMD_BONE_ROTATABLE | MMD_BONE_MOVABLE;
    return (int32_t)model->bone_count++;
}

void mmd_pmd_limit_knee(const mmd_model *model, mmd_ik_link *link)
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

bool mmd_pmd_reserve_ik_bones(mmd_reader *r, mmd_pmd *pmd, size_t extra)
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
    size_t n = model->bone_count;
    int32_t *path = mmd_reader_alloc(r, n, sizeof *path);
    bool *done = mmd_reader_alloc(r, n, sizeof *done);
    if (!path || !done)
        return mmd_reader_ok(r);
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

/* Offsets of morphs are indices into the vertices of the base morph, or of the model if there is no
   base morph. */
static void resolve_base_morph(mmd_pmd *pmd)
{
    mmd_model *model = pmd->model;
    mmd_morph base = {0};
    size_t kept = 0;
    if (pmd->base_morph < pmd->file_morphs)
        base = model->morphs[pmd->base_morph];
    for (size_t m = 0; m < pmd->file_morphs; m++) {
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

bool mmd_pmd_convert(mmd_reader *r, mmd_pmd *pmd)
{
    resolve_base_morph(pmd);
    for (size_t i = 0; i < pmd->file_bones; i++)
        convert_bone(pmd, i);
    return raise_layers(r, pmd->model);
}
