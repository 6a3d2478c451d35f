/* SPDX-License-Identifier: MIT */
/* mmd_model_check(): what is repaired in a loaded file is an error in a model from arrays. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/base/text.h"
#include "core/model/model.h"
#include "core/model/morph.h"

#include <math.h>

enum { MAX_TEXT = 1 << 28 };

typedef struct checker {
    const mmd_model *model;
    mmd_error *err;
    const char *kind; /* of the item that is checked: "bone" */
    size_t item;
} checker;

static bool fail_index(const checker *c, const char *what, int32_t index, size_t count)
{
    return mmd_fail(c->err, MMD_E_ARGUMENT, "%s %zu: %s %d of %zu", c->kind, c->item, what,
                    (int)index, count);
}

/* An index may be -1, which means none. */
static bool check_index(const checker *c, const char *what, int32_t index, size_t count)
{
    return (index >= -1 && index < (int64_t)count) || fail_index(c, what, index, count);
}

static bool check_numbers(const checker *c, const char *what, const float *numbers, size_t count)
{
    size_t bad = mmd_numbers_first_beyond_limit(numbers, count);
    return bad == count || mmd_fail(c->err, MMD_E_ARGUMENT, "%s %zu: %s is %s", c->kind, c->item,
                                    what, mmd_numbers_fault((double)numbers[bad]));
}

static bool check_text(const checker *c, const char *what, mmd_text text)
{
    return (text.size <= MAX_TEXT && mmd_text_is_valid(text)) ||
           mmd_fail(c->err, MMD_E_ARGUMENT,
                    "%s %zu: %s is not UTF-8, contains a NUL or is too long", c->kind, c->item,
                    what);
}

static bool check_names(const checker *c, mmd_text name, mmd_text name_english)
{
    return check_text(c, "name", name) && check_text(c, "name_english", name_english);
}

/* Of the parts of an item; `parts` is their array. */
static bool check_parts(const checker *c, const char *what, const void *parts, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_fail(c->err, MMD_E_ARGUMENT, "%s %zu: %zu %s, limit %d", c->kind, c->item, count,
                        what, MMD_MAX_RECORDS);
    return !count || parts ||
           mmd_fail(c->err, MMD_E_ARGUMENT, "%s %zu: %s: missing", c->kind, c->item, what);
}

static bool check_kind(const checker *c, const char *what, int kind, int count)
{
    return (kind >= 0 && kind < count) || fail_index(c, what, kind, (size_t)count);
}

/* Vertices */

static bool check_array(const checker *c, const char *name, const float *numbers, size_t columns)
{
    size_t count = c->model->vertex_count * columns;
    size_t bad = mmd_numbers_first_beyond_limit(numbers, count);
    return bad == count ||
           mmd_fail(c->err, MMD_E_ARGUMENT, "%s: vertex %zu, component %zu is %s", name,
                    bad / columns, bad % columns, mmd_numbers_fault((double)numbers[bad]));
}

/* A file stores one weight of BDEF2 and SDEF, and none of BDEF1. */
static bool check_weights(const checker *c, uint8_t deform, const float *weights)
{
    if (deform == MMD_BDEF4 || deform == MMD_QDEF)
        return true;
    float second = deform == MMD_BDEF1 ? 0 : weights[1];
    return fabsf(second - (1 - weights[0])) <= MMD_WEIGHT_TOLERANCE ||
           mmd_fail(c->err, MMD_E_ARGUMENT, "vertex %zu: its weights add up to %g, expected 1",
                    c->item, (double)(weights[0] + second));
}

static bool check_vertex(const checker *c)
{
    static const size_t slots[MMD_DEFORM_COUNT] = {1, 2, 4, 2, 4};
    const mmd_model *model = c->model;
    uint8_t deform = model->deform[c->item];
    if (!check_kind(c, "deform type", deform, MMD_DEFORM_COUNT))
        return false;
    for (size_t i = 0; i < slots[deform]; i++)
        if (!check_index(c, "bone", model->bone_indices[4 * c->item + i], model->bone_count))
            return false;
    return check_weights(c, deform, model->bone_weights + 4 * c->item);
}

static bool check_vertices(checker *c)
{
    const mmd_model *model = c->model;
    if (!check_array(c, "positions", model->positions, 3) ||
        !check_array(c, "normals", model->normals, 3) || !check_array(c, "uvs", model->uvs, 2) ||
        (model->additional_uv_count && !check_array(c, "additional_uvs", model->additional_uvs,
                                                    4 * model->additional_uv_count)) ||
        !check_array(c, "edge_scales", model->edge_scales, 1) ||
        !check_array(c, "bone_weights", model->bone_weights, 4) ||
        !check_array(c, "sdef", model->sdef, 9))
        return false;
    c->kind = "vertex";
    for (c->item = 0; c->item < model->vertex_count; c->item++)
        if (!check_vertex(c))
            return false;
    return true;
}

/* Records */

static bool check_triangle(const checker *c)
{
    const int32_t *corners = c->model->triangles + 3 * c->item;
    for (int i = 0; i < 3; i++)
        if (corners[i] < 0 || !check_index(c, "vertex", corners[i], c->model->vertex_count))
            return fail_index(c, "vertex", corners[i], c->model->vertex_count);
    return true;
}

static bool check_texture(const checker *c)
{
    return check_text(c, "path", c->model->textures[c->item]);
}

static bool check_toon(const checker *c, const mmd_material *material)
{
    if (!material->shared_toon)
        return check_index(c, "toon", material->toon, c->model->texture_count);
    return check_kind(c, "shared toon", material->toon, MMD_SHARED_TOONS);
}

static bool check_material(const checker *c)
{
    const mmd_material *material = &c->model->materials[c->item];
    size_t textures = c->model->texture_count;
    if (material->index_count < 0 || material->index_count % 3)
        return mmd_fail(c->err, MMD_E_ARGUMENT,
                        "material %zu: index_count %d, expected a multiple of 3", c->item,
                        (int)material->index_count);
    return check_names(c, material->name, material->name_english) &&
           check_text(c, "memo", material->memo) &&
           check_numbers(c, "diffuse", material->diffuse, 4) &&
           check_numbers(c, "specular", material->specular, 3) &&
           check_numbers(c, "specular_power", &material->specular_power, 1) &&
           check_numbers(c, "ambient", material->ambient, 3) &&
           check_numbers(c, "edge_color", material->edge_color, 4) &&
           check_numbers(c, "edge_size", &material->edge_size, 1) &&
           check_index(c, "texture", material->texture, textures) &&
           check_index(c, "sphere texture", material->sphere_texture, textures) &&
           check_kind(c, "sphere mode", material->sphere_mode, MMD_SPHERE_MODE_COUNT) &&
           check_toon(c, material);
}

static bool check_ik(const checker *c, const mmd_ik *ik)
{
    size_t bones = c->model->bone_count;
    if (!check_index(c, "IK target", ik->target, bones) ||
        !check_numbers(c, "unit_angle", &ik->unit_angle, 1) ||
        !check_parts(c, "IK links", ik->links, ik->link_count))
        return false;
    for (size_t k = 0; k < ik->link_count; k++) {
        const mmd_ik_link *link = &ik->links[k];
        if (!check_index(c, "IK link", link->bone, bones))
            return false;
        if (!link->limited)
            continue;
        if (!check_numbers(c, "limit of an IK link", link->lower, 3) ||
            !check_numbers(c, "limit of an IK link", link->upper, 3))
            return false;
        for (int i = 0; i < 3; i++)
            if (link->lower[i] > link->upper[i])
                return mmd_fail(c->err, MMD_E_ARGUMENT,
                                "bone %zu: IK link %zu: lower limit %g is above the upper limit %g",
                                c->item, k, (double)link->lower[i], (double)link->upper[i]);
    }
    return true;
}

static bool check_bone(const checker *c)
{
    const mmd_bone *bone = &c->model->bones[c->item];
    size_t count = c->model->bone_count;
    uint16_t append = MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION, flags = bone->flags;
    if (!(flags & MMD_BONE_IK) != !bone->ik)
        return mmd_fail(c->err, MMD_E_ARGUMENT,
                        bone->ik ? "bone %zu: has IK, but not the IK flag"
                                 : "bone %zu: has the IK flag, but no IK",
                        c->item);
    bool tail = flags & MMD_BONE_TAIL_IS_BONE
                    ? check_index(c, "tail bone", bone->tail_bone, count)
                    : check_numbers(c, "tail_offset", bone->tail_offset, 3);
    return tail && check_names(c, bone->name, bone->name_english) &&
           check_numbers(c, "position", bone->position, 3) &&
           check_index(c, "parent", bone->parent, count) &&
           (!(flags & append) || (check_index(c, "append source", bone->append_source, count) &&
                                  check_numbers(c, "append ratio", &bone->append_ratio, 1))) &&
           (!(flags & MMD_BONE_FIXED_AXIS) ||
            check_numbers(c, "fixed_axis", bone->fixed_axis, 3)) &&
           (!(flags & MMD_BONE_LOCAL_AXES) ||
            (check_numbers(c, "local x axis", bone->local_x, 3) &&
             check_numbers(c, "local z axis", bone->local_z, 3))) &&
           (!bone->ik || check_ik(c, bone->ik));
}

/* Follows each bone to its root, or to a bone from which that has been done. */
static bool check_parents(const mmd_model *model, mmd_error *err)
{
    mmd_arena arena = {0};
    size_t *visited = mmd_arena_alloc(&arena, model->bone_count, sizeof *visited), cycle = SIZE_MAX;
    for (size_t i = 0; visited && i < model->bone_count && cycle == SIZE_MAX; i++) {
        int32_t bone = (int32_t)i;
        for (; bone >= 0 && visited[bone] == 0; bone = model->bones[bone].parent)
            visited[bone] = i + 1;
        if (bone >= 0 && visited[bone] == i + 1)
            cycle = (size_t)bone;
    }
    mmd_arena_free(&arena);
    if (!visited)
        return mmd_fail_memory(err);
    return cycle == SIZE_MAX ||
           mmd_fail(err, MMD_E_ARGUMENT, "bone %zu: it is among its own ancestors", cycle);
}

/* What the indices of a morph refer to. */
static const char *morph_target(const mmd_model *model, mmd_morph_kind kind, size_t *count)
{
    switch (kind) {
    case MMD_MORPH_GROUP:
    case MMD_MORPH_FLIP:
        return *count = model->morph_count, "morph";
    case MMD_MORPH_BONE:
        return *count = model->bone_count, "bone";
    case MMD_MORPH_MATERIAL:
        return *count = model->material_count, "material";
    case MMD_MORPH_IMPULSE:
        return *count = model->rigid_body_count, "rigid body";
    default:
        return *count = model->vertex_count, "vertex";
    }
}

static bool check_offset(const checker *c, const mmd_morph *morph, size_t i)
{
    size_t count, width = mmd_morph_width(morph->kind);
    const char *target = morph_target(c->model, morph->kind, &count);
    const float *values = morph->values + width * i;
    int32_t index = morph->indices[i], first = morph->kind == MMD_MORPH_MATERIAL ? -1 : 0;
    bool has_switch = morph->kind == MMD_MORPH_MATERIAL || morph->kind == MMD_MORPH_IMPULSE;
    if (index < first || index >= (int64_t)count)
        return mmd_fail(c->err, MMD_E_ARGUMENT, "morph %zu, offset %zu: %s %d of %zu", c->item, i,
                        target, (int)index, count);
    size_t bad = mmd_numbers_first_beyond_limit(values, width);
    if (bad < width)
        return mmd_fail(c->err, MMD_E_ARGUMENT, "morph %zu, offset %zu: value %zu is %s", c->item,
                        i, bad, mmd_numbers_fault((double)values[bad]));
    if (has_switch && values[0] != 0 && values[0] != 1)
        return mmd_fail(c->err, MMD_E_ARGUMENT, "morph %zu, offset %zu: %s %g, expected 0 or 1",
                        c->item, i, morph->kind == MMD_MORPH_IMPULSE ? "local" : "operation",
                        (double)values[0]);
    return true;
}

static bool check_morph(const checker *c)
{
    const mmd_morph *morph = &c->model->morphs[c->item];
    if (!check_names(c, morph->name, morph->name_english) ||
        !check_kind(c, "kind", (int)morph->kind, MMD_MORPH_KIND_COUNT) ||
        !check_parts(c, "offsets", morph->indices, morph->offset_count) ||
        !check_parts(c, "values", morph->values, morph->offset_count))
        return false;
    for (size_t i = 0; i < morph->offset_count; i++)
        if (!check_offset(c, morph, i))
            return false;
    return true;
}

static bool check_display_frame(const checker *c)
{
    const mmd_model *model = c->model;
    const mmd_display_frame *frame = &model->display_frames[c->item];
    if (!check_names(c, frame->name, frame->name_english) ||
        !check_parts(c, "elements", frame->elements, frame->element_count))
        return false;
    for (size_t i = 0; i < frame->element_count; i++) {
        const mmd_frame_element *element = &frame->elements[i];
        size_t count = element->kind == 0 ? model->bone_count : model->morph_count;
        if (!check_kind(c, "kind of an element", element->kind, 2))
            return false;
        if (element->index < 0 || (size_t)element->index >= count)
            return fail_index(c, element->kind == 0 ? "bone" : "morph", element->index, count);
    }
    return true;
}

static bool check_rigid_body(const checker *c)
{
    const mmd_rigid_body *body = &c->model->rigid_bodies[c->item];
    return check_names(c, body->name, body->name_english) &&
           check_index(c, "bone", body->bone, c->model->bone_count) &&
           check_kind(c, "shape", body->shape, MMD_SHAPE_COUNT) &&
           check_kind(c, "mode", body->mode, MMD_BODY_MODE_COUNT) &&
           check_numbers(c, "size", body->size, 3) &&
           check_numbers(c, "position", body->position, 3) &&
           check_numbers(c, "rotation", body->rotation, 3) &&
           check_numbers(c, "mass", &body->mass, 1) &&
           check_numbers(c, "linear_damping", &body->linear_damping, 1) &&
           check_numbers(c, "angular_damping", &body->angular_damping, 1) &&
           check_numbers(c, "restitution", &body->restitution, 1) &&
           check_numbers(c, "friction", &body->friction, 1);
}

static bool check_joint(const checker *c)
{
    const mmd_joint *joint = &c->model->joints[c->item];
    size_t bodies = c->model->rigid_body_count;
    return check_names(c, joint->name, joint->name_english) &&
           check_kind(c, "kind", joint->kind, MMD_JOINT_KIND_COUNT) &&
           check_index(c, "rigid body", joint->body_a, bodies) &&
           check_index(c, "rigid body", joint->body_b, bodies) &&
           check_numbers(c, "position", joint->position, 3) &&
           check_numbers(c, "rotation", joint->rotation, 3) &&
           check_numbers(c, "translation_lower", joint->translation_lower, 3) &&
           check_numbers(c, "translation_upper", joint->translation_upper, 3) &&
           check_numbers(c, "rotation_lower", joint->rotation_lower, 3) &&
           check_numbers(c, "rotation_upper", joint->rotation_upper, 3) &&
           check_numbers(c, "translation_spring", joint->translation_spring, 3) &&
           check_numbers(c, "rotation_spring", joint->rotation_spring, 3);
}

static bool check_all(checker *c, const char *kind, size_t count, bool (*check)(const checker *))
{
    c->kind = kind;
    for (c->item = 0; c->item < count; c->item++)
        if (!check(c))
            return false;
    return true;
}

/* The sum of what the materials draw. */
static bool check_index_counts(const mmd_model *model, mmd_error *err)
{
    uint64_t sum = 0, limit = 3 * (uint64_t)model->triangle_count;
    for (size_t m = 0; m < model->material_count; m++) {
        sum += (uint64_t)model->materials[m].index_count;
        if (sum > limit)
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "material %zu: indices up to %llu, but the triangles have %llu", m,
                            (unsigned long long)sum, (unsigned long long)limit);
    }
    return true;
}

static bool check_model_texts(const mmd_model *model, mmd_error *err)
{
    const struct {
        const char *name;
        mmd_text text;
    } texts[] = {{"name", model->name},
                 {"name_english", model->name_english},
                 {"comment", model->comment},
                 {"comment_english", model->comment_english}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text.size > MAX_TEXT || !mmd_text_is_valid(texts[i].text))
            return mmd_fail(err, MMD_E_ARGUMENT, "%s: not UTF-8, contains a NUL or is too long",
                            texts[i].name);
    return true;
}

bool mmd_model_check(const mmd_model *model, mmd_error *err)
{
    checker c = {.model = model, .err = err};
    return check_model_texts(model, err) && check_vertices(&c) &&
           check_all(&c, "triangle", model->triangle_count, check_triangle) &&
           check_all(&c, "texture", model->texture_count, check_texture) &&
           check_all(&c, "material", model->material_count, check_material) &&
           check_index_counts(model, err) && check_all(&c, "bone", model->bone_count, check_bone) &&
           check_parents(model, err) && check_all(&c, "morph", model->morph_count, check_morph) &&
           check_all(&c, "display frame", model->display_frame_count, check_display_frame) &&
           check_all(&c, "rigid body", model->rigid_body_count, check_rigid_body) &&
           check_all(&c, "joint", model->joint_count, check_joint);
}
