/* SPDX-License-Identifier: MIT */
/* Models: what makes one valid. Loaded ones are cleaned by the same rules by which others are
 * refused. */
#include "core/model/model.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/morph.h"

#include <stddef.h>
#include <string.h>

/* The fields of records, in the order of a PMX file. */

#define SWITCHED(record, name, label, content, count, when, unless)                                \
    {                                                                                              \
        label, content, offsetof(record, name), count, when, unless                                \
    }
#define FIELD(record, name, label, content, count)                                                 \
    SWITCHED(record, name, label, content, count, 0, 0)
#define FLOATS(record, name, count) FIELD(record, name, #name, MMD_FIELD_FLOATS, count)
#define INDEX(record, name, label, target) FIELD(record, name, label, MMD_FIELD_INDEX, target)
#define KIND(record, name, label, count) FIELD(record, name, label, MMD_FIELD_KIND, count)
#define BYTE(record, name) KIND(record, name, #name, 0)
#define NAMES(record)                                                                              \
    FIELD(record, name, "name", MMD_FIELD_TEXT, 0),                                                \
        FIELD(record, name_english, "name_english", MMD_FIELD_TEXT, 0)

static const mmd_model_field texture_fields[] = {{"path", MMD_FIELD_TEXT, 0, 0, 0, 0}};

static const mmd_model_field material_fields[] = {
    NAMES(mmd_material),
    FLOATS(mmd_material, diffuse, 4),
    FLOATS(mmd_material, specular, 3),
    FLOATS(mmd_material, specular_power, 1),
    FLOATS(mmd_material, ambient, 3),
    BYTE(mmd_material, flags),
    FLOATS(mmd_material, edge_color, 4),
    FLOATS(mmd_material, edge_size, 1),
    INDEX(mmd_material, texture, "texture", MMD_INDEX_TEXTURE),
    INDEX(mmd_material, sphere_texture, "sphere texture", MMD_INDEX_TEXTURE),
    KIND(mmd_material, sphere_mode, "sphere mode", MMD_SPHERE_MODE_COUNT),
    FIELD(mmd_material, shared_toon, "shared_toon", MMD_FIELD_BOOL, 0),
    FIELD(mmd_material, toon, "toon", MMD_FIELD_TOON, 0),
    FIELD(mmd_material, memo, "memo", MMD_FIELD_TEXT, 0),
    FIELD(mmd_material, index_count, "index_count", MMD_FIELD_INT32, 0),
};

/* A part of a bone that a flag, or one of two, switches on. */
#define PART(name, label, content, count, when)                                                    \
    SWITCHED(mmd_bone, name, label, content, count, when, 0)

enum { APPEND = MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION };

static const mmd_model_field bone_fields[] = {
    NAMES(mmd_bone),
    FLOATS(mmd_bone, position, 3),
    INDEX(mmd_bone, parent, "parent", MMD_INDEX_BONE),
    FIELD(mmd_bone, layer, "layer", MMD_FIELD_INT32, 0),
    FIELD(mmd_bone, flags, "flags", MMD_FIELD_UINT16, 0),
    PART(tail_bone, "tail bone", MMD_FIELD_INDEX, MMD_INDEX_BONE, MMD_BONE_TAIL_IS_BONE),
    SWITCHED(mmd_bone, tail_offset, "tail_offset", MMD_FIELD_FLOATS, 3, 0, MMD_BONE_TAIL_IS_BONE),
    PART(append_source, "append source", MMD_FIELD_INDEX, MMD_INDEX_BONE, APPEND),
    PART(append_ratio, "append ratio", MMD_FIELD_FLOATS, 1, APPEND),
    PART(fixed_axis, "fixed_axis", MMD_FIELD_FLOATS, 3, MMD_BONE_FIXED_AXIS),
    PART(local_x, "local x axis", MMD_FIELD_FLOATS, 3, MMD_BONE_LOCAL_AXES),
    PART(local_z, "local z axis", MMD_FIELD_FLOATS, 3, MMD_BONE_LOCAL_AXES),
    PART(external_parent, "external_parent", MMD_FIELD_INT32, 0, MMD_BONE_EXTERNAL_PARENT),
};

static const mmd_model_field morph_fields[] = {NAMES(mmd_morph), BYTE(mmd_morph, panel)};

static const mmd_model_field display_frame_fields[] = {
    NAMES(mmd_display_frame), FIELD(mmd_display_frame, special, "special", MMD_FIELD_BOOL, 0)};

static const mmd_model_field rigid_body_fields[] = {
    NAMES(mmd_rigid_body),
    INDEX(mmd_rigid_body, bone, "bone", MMD_INDEX_BONE),
    BYTE(mmd_rigid_body, group),
    FIELD(mmd_rigid_body, mask, "mask", MMD_FIELD_UINT16, 0),
    KIND(mmd_rigid_body, shape, "shape", MMD_SHAPE_COUNT),
    FLOATS(mmd_rigid_body, size, 3),
    FLOATS(mmd_rigid_body, position, 3),
    FLOATS(mmd_rigid_body, rotation, 3),
    FLOATS(mmd_rigid_body, mass, 1),
    FLOATS(mmd_rigid_body, linear_damping, 1),
    FLOATS(mmd_rigid_body, angular_damping, 1),
    FLOATS(mmd_rigid_body, restitution, 1),
    FLOATS(mmd_rigid_body, friction, 1),
    KIND(mmd_rigid_body, mode, "mode", MMD_BODY_MODE_COUNT),
};

static const mmd_model_field joint_fields[] = {
    NAMES(mmd_joint),
    KIND(mmd_joint, kind, "kind", MMD_JOINT_KIND_COUNT),
    INDEX(mmd_joint, body_a, "rigid body", MMD_INDEX_RIGID_BODY),
    INDEX(mmd_joint, body_b, "rigid body", MMD_INDEX_RIGID_BODY),
    FLOATS(mmd_joint, position, 3),
    FLOATS(mmd_joint, rotation, 3),
    FLOATS(mmd_joint, translation_lower, 3),
    FLOATS(mmd_joint, translation_upper, 3),
    FLOATS(mmd_joint, rotation_lower, 3),
    FLOATS(mmd_joint, rotation_upper, 3),
    FLOATS(mmd_joint, translation_spring, 3),
    FLOATS(mmd_joint, rotation_spring, 3),
};

#define TABLE(kind, plural, records, count, fields)                                                \
    {                                                                                              \
        kind, plural, #records, offsetof(mmd_model, records), offsetof(mmd_model, count),          \
            sizeof *((mmd_model *)0)->records, fields, sizeof fields / sizeof *fields              \
    }

const mmd_model_record_table mmd_model_record_tables[MMD_RECORD_KIND_COUNT] = {
    [MMD_RECORD_TEXTURE] = TABLE("texture", "textures", textures, texture_count, texture_fields),
    [MMD_RECORD_MATERIAL] =
        TABLE("material", "materials", materials, material_count, material_fields),
    [MMD_RECORD_BONE] = TABLE("bone", "bones", bones, bone_count, bone_fields),
    [MMD_RECORD_MORPH] = TABLE("morph", "morphs", morphs, morph_count, morph_fields),
    [MMD_RECORD_DISPLAY_FRAME] = TABLE("display frame", "display frames", display_frames,
                                       display_frame_count, display_frame_fields),
    [MMD_RECORD_RIGID_BODY] =
        TABLE("rigid body", "rigid bodies", rigid_bodies, rigid_body_count, rigid_body_fields),
    [MMD_RECORD_JOINT] = TABLE("joint", "joints", joints, joint_count, joint_fields),
};

const mmd_model_deform_layout mmd_model_deform_layouts[MMD_DEFORM_COUNT] = {
    [MMD_BDEF1] = {1, 0, 0}, [MMD_BDEF2] = {2, 1, 0}, [MMD_BDEF4] = {4, 4, 0},
    [MMD_SDEF] = {2, 1, 9},  [MMD_QDEF] = {4, 4, 0},
};

bool mmd_model_field_is_used(const mmd_model_field *field, const void *record)
{
    unsigned flags = field->when | field->unless ? ((const mmd_bone *)record)->flags : 0;
    return (!field->when || flags & field->when) && !(flags & field->unless);
}

size_t mmd_model_count_of(const mmd_model *model, mmd_index_kind kind)
{
    const size_t counts[MMD_INDEX_COUNT] = {model->vertex_count,   model->texture_count,
                                            model->material_count, model->bone_count,
                                            model->morph_count,    model->rigid_body_count};
    return counts[kind];
}

bool mmd_model_order(const void *items, size_t offset, size_t stride, size_t count, size_t *order)
{
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    bool *done = mmd_arena_alloc(&arena, count, sizeof *done);
    size_t placed = 0;
    for (size_t i = 0; done && i < count; i++) {
        size_t first = placed;
        for (int32_t at = (int32_t)i; at >= 0 && (size_t)at < count && !done[at];) {
            done[at] = true;
            order[placed++] = (size_t)at;
            memcpy(&at, (const char *)items + (size_t)at * stride + offset, sizeof at);
        }
        for (size_t last = placed; first + 1 < last; first++) { /* from the root on */
            size_t below = order[--last];
            order[last] = order[first];
            order[first] = below;
        }
    }
    return done != NULL;
}

/* Checks, which clean a loaded model and refuse another */

typedef struct checker {
    mmd_model *model;
    mmd_error *err;
    bool clean;       /* else refuse */
    const char *kind; /* of the item that is checked: "bone" */
    size_t item;
} checker;

static bool is_index(int64_t index, int first, size_t count)
{
    return index >= first && index < (int64_t)count;
}

static bool fail_index(const checker *c, const char *what, int64_t index, size_t count)
{
    return mmd_refuse(c->err, "%s %zu: %s %d of %zu", c->kind, c->item, what, (int)index, count);
}

/* An index out of range becomes -1. */
static bool check_index(const checker *c, const char *what, int32_t *index, int first, size_t count)
{
    if (is_index(*index, first, count))
        return true;
    if (!c->clean)
        return fail_index(c, what, *index, count);
    *index = -1;
    return true;
}

/* An unknown kind becomes the nearest known one. */
static bool check_kind(const checker *c, const char *what, uint8_t *kind, size_t count)
{
    if (*kind < count)
        return true;
    if (!c->clean)
        return fail_index(c, what, *kind, count);
    *kind = (uint8_t)(count - 1);
    return true;
}

/* Numbers of readers are valid. */
static bool check_floats(const checker *c, const char *what, const float *numbers, size_t count)
{
    size_t bad = c->clean ? count : mmd_numbers_first_beyond_limit(numbers, count);
    return bad == count || mmd_refuse(c->err, "%s %zu: %s is %s", c->kind, c->item, what,
                                      mmd_numbers_fault((double)numbers[bad]));
}

static bool check_toon(const checker *c, mmd_material *material)
{
    if (!material->shared_toon)
        return check_index(c, "toon", &material->toon, -1, c->model->texture_count);
    bool ok = check_index(c, "shared toon", &material->toon, 0, MMD_SHARED_TOONS);
    material->shared_toon = material->toon >= 0;
    return ok;
}

/* Also clears what is not used. */
static bool check_field(const checker *c, const mmd_model_field *field, void *record)
{
    void *at = (char *)record + field->offset;
    bool used = mmd_model_field_is_used(field, record);
    int32_t *index = at;
    switch (field->content) {
    case MMD_FIELD_FLOATS:
        memset(at, 0, used ? 0 : field->count * sizeof(float));
        return check_floats(c, field->name, at, field->count);
    case MMD_FIELD_INDEX:
        *index = used ? *index : -1;
        return check_index(c, field->name, index, -1,
                           mmd_model_count_of(c->model, (mmd_index_kind)field->count));
    case MMD_FIELD_TOON:
        return check_toon(c, record);
    case MMD_FIELD_KIND:
        return !field->count || check_kind(c, field->name, at, field->count);
    case MMD_FIELD_INT32:
        *index = used ? *index : 0;
        return true;
    case MMD_FIELD_TEXT: /* valid: decoded, or checked while it was copied; PMD lacks some */
        if (!((mmd_text *)at)->data)
            *(mmd_text *)at = (mmd_text){"", 0};
        return true;
    case MMD_FIELD_BOOL:
    case MMD_FIELD_UINT16:
        return true;
    }
    return true;
}

static bool check_material(const checker *c, void *record)
{
    int32_t count = ((const mmd_material *)record)->index_count;
    return c->clean || (count >= 0 && count % 3 == 0) ||
           mmd_refuse(c->err, "material %zu: index_count %d, expected a multiple of 3", c->item,
                      (int)count);
}

static bool check_link(const checker *c, mmd_ik_link *link, size_t index)
{
    if (!link->limited) {
        memset(link->lower, 0, sizeof link->lower);
        memset(link->upper, 0, sizeof link->upper);
    }
    for (int i = 0; i < 3; i++)
        if (link->lower[i] > link->upper[i])
            return mmd_refuse(c->err,
                              "bone %zu: IK link %zu: lower limit %g is above the upper limit %g",
                              c->item, index, (double)link->lower[i], (double)link->upper[i]);
    return check_index(c, "IK link", &link->bone, -1, c->model->bone_count) &&
           check_floats(c, "limit of an IK link", link->lower, 3) &&
           check_floats(c, "limit of an IK link", link->upper, 3);
}

static bool check_bone(const checker *c, void *record)
{
    mmd_bone *bone = record;
    mmd_ik *ik = bone->ik;
    if (!(bone->flags & MMD_BONE_IK) != !ik && !c->clean)
        return mmd_refuse(c->err,
                          ik ? "bone %zu: has IK, but not the IK flag"
                             : "bone %zu: has the IK flag, but no IK",
                          c->item);
    if (!ik)
        return true;
    for (size_t k = 0; k < ik->link_count; k++)
        if (!check_link(c, &ik->links[k], k))
            return false;
    return check_index(c, "IK target", &ik->target, -1, c->model->bone_count) &&
           check_floats(c, "unit_angle", &ik->unit_angle, 1);
}

/* Of an offset whose index is valid. */
static bool check_values(const checker *c, const mmd_morph *morph, size_t i)
{
    float *values = morph->values + i * mmd_morph_width(morph->kind);
    if (morph->kind == MMD_MORPH_BONE && values[3] == 0 && values[4] == 0 && values[5] == 0 &&
        values[6] == 0)
        values[6] = 1;
    if (!mmd_morph_has_switch(morph->kind))
        return true;
    if (values[0] != 0 && values[0] != 1)
        return mmd_refuse(c->err, "morph %zu, offset %zu: %s %g, expected 0 or 1", c->item, i,
                          morph->kind == MMD_MORPH_IMPULSE ? "local" : "operation",
                          (double)values[0]);
    values[0] = values[0] != 0; /* not -0 */
    return true;
}

/* Offsets whose index is out of range are removed; -1 of a material morph is all materials. */
static bool check_morph(const checker *c, void *record)
{
    static const char *const targets[MMD_INDEX_COUNT] = {"vertex", "texture", "material",
                                                         "bone",   "morph",   "rigid body"};
    mmd_morph *morph = record;
    mmd_index_kind target = mmd_morph_target(morph->kind);
    size_t limit = mmd_model_count_of(c->model, target), kept = 0;
    size_t width = mmd_morph_width(morph->kind), numbers = width * morph->offset_count;
    size_t bad = c->clean ? numbers : mmd_numbers_first_beyond_limit(morph->values, numbers);
    if (bad < numbers)
        return mmd_refuse(c->err, "morph %zu, offset %zu: value %zu is %s", c->item, bad / width,
                          bad % width, mmd_numbers_fault((double)morph->values[bad]));
    for (size_t i = 0; i < morph->offset_count; i++) {
        int32_t index = morph->indices[i];
        if (!is_index(index, morph->kind == MMD_MORPH_MATERIAL ? -1 : 0, limit)) {
            if (c->clean)
                continue;
            return mmd_refuse(c->err, "morph %zu, offset %zu: %s %d of %zu", c->item, i,
                              targets[target], (int)index, limit);
        }
        if (!check_values(c, morph, i))
            return false;
        morph->indices[kept] = index;
        if (kept != i)
            memcpy(morph->values + kept * width, morph->values + i * width,
                   width * sizeof *morph->values);
        kept++;
    }
    morph->offset_count = kept;
    return true;
}

static bool check_display_frame(const checker *c, void *record)
{
    mmd_display_frame *frame = record;
    size_t kept = 0;
    for (size_t i = 0; i < frame->element_count; i++) {
        mmd_frame_element *element = &frame->elements[i];
        size_t count = element->kind == 0 ? c->model->bone_count : c->model->morph_count;
        if (!check_kind(c, "kind of an element", &element->kind, 2) ||
            !check_index(c, element->kind == 0 ? "bone" : "morph", &element->index, 0, count))
            return false;
        if (element->index >= 0)
            frame->elements[kept++] = *element;
    }
    frame->element_count = kept;
    return true;
}

/* One bone of every cycle is detached. */
static bool check_parents(const checker *c)
{
    mmd_model *model = c->model;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    size_t n = model->bone_count, *order = mmd_arena_alloc(&arena, n, sizeof *order);
    bool *seen = mmd_arena_alloc(&arena, n, sizeof *seen);
    size_t cycle = SIZE_MAX;
    if (!order || !seen ||
        !mmd_model_order(model->bones, offsetof(mmd_bone, parent), sizeof(mmd_bone), n, order))
        return mmd_fail_memory(c->err);
    for (size_t i = 0; i < n; i++) {
        int32_t *parent = &model->bones[order[i]].parent;
        if (*parent >= 0 && !seen[*parent]) {
            cycle = (size_t)*parent;
            *parent = -1;
        }
        seen[order[i]] = true;
    }
    return c->clean || cycle == SIZE_MAX ||
           mmd_refuse(c->err, "bone %zu: it is among its own ancestors", cycle);
}

static bool check_records(checker *c)
{
    static bool (*const more[MMD_RECORD_KIND_COUNT])(const checker *, void *) = {
        [MMD_RECORD_MATERIAL] = check_material,
        [MMD_RECORD_BONE] = check_bone,
        [MMD_RECORD_MORPH] = check_morph,
        [MMD_RECORD_DISPLAY_FRAME] = check_display_frame};
    for (size_t t = 0; t < MMD_RECORD_KIND_COUNT; t++) {
        const mmd_model_record_table *table = &mmd_model_record_tables[t];
        char *record = mmd_bytes_pointer_at(c->model, table->array);
        size_t count = mmd_bytes_size_at(c->model, table->count);
        c->kind = table->kind;
        for (c->item = 0; c->item < count; c->item++, record += table->size) {
            for (size_t f = 0; f < table->field_count; f++)
                if (!check_field(c, &table->fields[f], record))
                    return false;
            if (more[t] && !more[t](c, record))
                return false;
        }
    }
    return check_parents(c);
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

bool mmd_model_sanitize(mmd_model *model, mmd_error *err)
{
    int32_t bones = (int32_t)model->bone_count;
    for (size_t i = 0; i < 4 * model->vertex_count; i++) {
        int32_t bone = model->bone_indices[i];
        bone = bone < bones ? bone : -1; /* so that it is vectorized */
        model->bone_indices[i] = bone < 0 ? -1 : bone;
    }
    clip_triangles(model);
    return check_records(&(checker){.model = model, .err = err, .clean = true});
}

/* The triangles, and the sum of what the materials draw. */
static bool check_triangles(checker *c)
{
    const mmd_model *model = c->model;
    uint64_t sum = 0, limit = 3 * (uint64_t)model->triangle_count;
    c->kind = "triangle";
    for (size_t i = 0; i < limit; i++) {
        c->item = i / 3;
        if ((uint32_t)model->triangles[i] >= model->vertex_count)
            return fail_index(c, "vertex", model->triangles[i], model->vertex_count);
    }
    for (size_t m = 0; m < model->material_count; m++) {
        sum += (uint64_t)model->materials[m].index_count;
        if (sum > limit)
            return mmd_refuse(c->err,
                              "material %zu: indices up to %llu, but the triangles have %llu", m,
                              (unsigned long long)sum, (unsigned long long)limit);
    }
    return true;
}

bool mmd_model_check(mmd_model *model, mmd_error *err)
{
    checker c = {.model = model, .err = err};
    return check_records(&c) && check_triangles(&c);
}

void mmd_model_free(mmd_model *model)
{
    mmd_arena_free_owner(model);
}
