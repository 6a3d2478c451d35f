/* SPDX-License-Identifier: MIT */
/* mmd_model_new(): copies a model from arrays, completes it and has it checked. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/math/vec3.h"
#include "core/model/model.h"
#include "core/model/morph.h"

#include <math.h>
#include <string.h>

enum { MAX_TEXT = 1 << 28 };

typedef struct builder {
    const mmd_model *from; /* the caller's */
    mmd_model *model;      /* at first a copy of it, whose pointers become its own */
    mmd_error *err;
    const char *kind; /* of the item that is copied: "bone"; NULL: the model itself */
    size_t item;
} builder;

/* Memory of the model, uninitialized where there is nothing to copy. */
static void *copy(const builder *b, const void *from, size_t count, size_t size)
{
    void *memory = mmd_arena_alloc_uninitialized(&b->model->arena, count, size);
    if (!memory)
        mmd_fail_memory(b->err);
    else if (from && count)
        memcpy(memory, from, count * size);
    return memory;
}

/* Of the parts of an item; `parts` is their array. */
static bool check_parts(const builder *b, const char *what, const void *parts, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_refuse(b->err, "%s %zu: %zu %s, limit %d", b->kind, b->item, count, what,
                          MMD_MAX_RECORDS);
    return !count || parts || mmd_refuse(b->err, "%s %zu: %s: missing", b->kind, b->item, what);
}

static bool copy_text(const builder *b, const char *what, mmd_text *text)
{
    static const char fault[] = "not UTF-8, contains a NUL or is too long";
    if (text->size > MAX_TEXT || !mmd_text_is_valid(*text))
        return b->kind ? mmd_refuse(b->err, "%s %zu: %s is %s", b->kind, b->item, what, fault)
                       : mmd_refuse(b->err, "%s: %s", what, fault);
    char *data = copy(b, NULL, text->size + 1, 1);
    if (!data)
        return false;
    if (text->size)
        memcpy(data, text->data, text->size);
    data[text->size] = 0;
    text->data = data;
    return true;
}

/* The model */

static bool check_count(const builder *b, const char *name, size_t count, size_t limit,
                        const void *array)
{
    if (count > limit)
        return mmd_refuse(b->err, "%zu %s, limit %zu", count, name, limit);
    return !count || mmd_error_require(array, name, b->err);
}

static bool check_counts(const builder *b)
{
    const mmd_model *from = b->from;
    if (!check_count(b, "vertices", from->vertex_count, MMD_MAX_VERTICES, from->positions) ||
        !check_count(b, "triangles", from->triangle_count, INT32_MAX / 3, from->triangles))
        return false;
    for (size_t i = 0; i < MMD_RECORD_KIND_COUNT; i++) {
        const mmd_model_record_table *table = &mmd_model_record_tables[i];
        if (!check_count(b, table->plural, mmd_bytes_size_at(from, table->count), MMD_MAX_RECORDS,
                         mmd_bytes_pointer_at(from, table->array)))
            return false;
    }
    return from->additional_uv_count <= 4 ||
           mmd_refuse(b->err, "%zu additional UVs, limit 4", from->additional_uv_count);
}

static bool copy_texts(const builder *b)
{
    mmd_model *model = b->model;
    return copy_text(b, "name", &model->name) &&
           copy_text(b, "name_english", &model->name_english) &&
           copy_text(b, "comment", &model->comment) &&
           copy_text(b, "comment_english", &model->comment_english);
}

/* Of a PMX file. */
static bool check_index_sizes(const builder *b)
{
    for (size_t i = 0; i < MMD_INDEX_COUNT; i++) {
        uint8_t size = b->model->index_sizes[i];
        if (size > 4 || size == 3)
            return mmd_refuse(b->err, "index_sizes[%zu]: %d, expected 0, 1, 2 or 4", i, size);
    }
    return true;
}

static bool needs_2_1(const mmd_model *model)
{
    bool needs = false;
    for (size_t v = 0; v < model->vertex_count; v++)
        needs |= model->deform[v] == MMD_QDEF;
    for (size_t m = 0; m < model->morph_count; m++)
        needs |= model->morphs[m].kind >= MMD_MORPH_FLIP;
    for (size_t j = 0; j < model->joint_count; j++)
        needs |= model->joints[j].kind != MMD_JOINT_SPRING_6DOF;
    return needs;
}

static bool complete_version(const builder *b)
{
    static const float versions[] = {1, 2, 2.1f}; /* 1 is what a PMD has; it becomes 2 */
    float version = b->from->version;
    if (version == 0)
        version = needs_2_1(b->model) ? 2.1f : 2;
    b->model->version = version < 1.5f ? 2 : version;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (fabsf(version - versions[i]) <= 1e-3f)
            return true;
    return mmd_refuse(b->err, "version: %g, expected 2 or 2.1", (double)version);
}

/* Vertices */

static bool check_array(const builder *b, const char *name, size_t columns, const float *array)
{
    size_t count = b->model->vertex_count * columns;
    size_t bad = array ? mmd_numbers_first_beyond_limit(array, count) : count;
    return bad == count ||
           mmd_refuse(b->err, "%s: vertex %zu, component %zu is %s", name, bad / columns,
                      bad % columns, mmd_numbers_fault((double)array[bad]));
}

/* Without an array all numbers are `fallback`. */
static bool copy_array(const builder *b, const char *name, size_t columns, float fallback,
                       float **array)
{
    const float *from = *array;
    size_t count = b->model->vertex_count * columns;
    if (!check_array(b, name, columns, from))
        return false;
    *array = copy(b, from, count, sizeof *from);
    for (size_t i = 0; !from && *array && i < count; i++)
        (*array)[i] = fallback;
    return *array != NULL;
}

/* Most of it stays zero, in pages that are never touched. */
static bool begin_sdef(const builder *b)
{
    b->model->sdef = mmd_arena_alloc(&b->model->arena, b->model->vertex_count, 9 * sizeof(float));
    return b->model->sdef ? check_array(b, "sdef", 9, b->from->sdef) : mmd_fail_memory(b->err);
}

/* Moves the used slots of a vertex to the front and returns how many they are; 0 with an error. */
static size_t pack_slots(const builder *b, int32_t *bones, float *weights)
{
    size_t used = 0;
    float sum = weights[0] + weights[1] + weights[2] + weights[3];
    for (size_t i = 0; i < 4; i++) {
        int32_t bone = bones[i];
        float weight = weights[i];
        bones[i] = 0;
        weights[i] = 0;
        if (weight == 0)
            continue;
        if (bone < 0)
            return mmd_refuse(b->err, "vertex %zu: weight %g has no bone", b->item, (double)weight);
        bones[used] = bone;
        weights[used++] = weight;
    }
    if (fabsf(sum - 1) <= MMD_WEIGHT_TOLERANCE)
        return used;
    return mmd_refuse(b->err, "vertex %zu: its weights add up to %g, expected 1", b->item,
                      (double)sum);
}

/* Checks the influences of a vertex, and empties the slots that its type does not have. A file
   stores one weight of BDEF2 and SDEF, and none of BDEF1. */
static bool complete_slots(const builder *b, uint8_t deform, int32_t *bones, float *weights)
{
    if (deform >= MMD_DEFORM_COUNT)
        return mmd_refuse(b->err, "vertex %zu: deform type %d of %d", b->item, deform,
                          MMD_DEFORM_COUNT);
    size_t count = mmd_model_deform_layouts[deform].bones;
    for (size_t i = 0; i < count; i++)
        if (bones[i] < -1 || bones[i] >= (int64_t)b->model->bone_count)
            return mmd_refuse(b->err, "vertex %zu: bone %d of %zu", b->item, (int)bones[i],
                              b->model->bone_count);
    float first = weights[0], second = deform == MMD_BDEF1 ? 0 : weights[1];
    if (count < 4 && fabsf(second - (1 - first)) > MMD_WEIGHT_TOLERANCE)
        return mmd_refuse(b->err, "vertex %zu: its weights add up to %g, expected 1", b->item,
                          (double)(first + second));
    for (size_t i = count; i < 4; i++) {
        bones[i] = -1;
        weights[i] = 0;
    }
    if (count < 4) {
        weights[0] = deform == MMD_BDEF1 ? 1 : first;
        weights[1] = 1 - weights[0];
    }
    return true;
}

/* Without bones the vertex follows the first one. Without deform types it has BDEF1, BDEF2 or
   BDEF4, by the number of weights that are not zero. */
static bool complete_vertex(const builder *b, uint8_t *deform, int32_t *bones, float *weights)
{
    size_t used = 1;
    if (!b->from->bone_indices)
        bones[0] = b->model->bone_count ? 0 : -1;
    else if (!b->from->deform)
        used = pack_slots(b, bones, weights);
    if (!b->from->deform)
        *deform = used == 1 ? MMD_BDEF1 : used == 2 ? MMD_BDEF2 : MMD_BDEF4;
    if (!used || !complete_slots(b, *deform, bones, weights))
        return false;
    if (*deform != MMD_SDEF)
        return true;
    if (!b->from->sdef)
        return mmd_refuse(b->err, "vertex %zu is SDEF, but sdef is missing", b->item);
    memcpy(b->model->sdef + 9 * b->item, b->from->sdef + 9 * b->item, 9 * sizeof(float));
    return true;
}

static bool copy_influences(builder *b)
{
    const mmd_model *from = b->from;
    mmd_model *model = b->model;
    if (!from->bone_indices != !from->bone_weights || (from->deform && !from->bone_indices))
        return mmd_refuse(b->err, "%s: missing",
                          from->bone_indices ? "bone_weights" : "bone_indices");
    size_t count = model->vertex_count;
    model->deform = copy(b, from->deform, count, sizeof *from->deform);
    model->bone_indices = copy(b, from->bone_indices, count, 4 * sizeof *from->bone_indices);
    bool ok = model->deform && model->bone_indices &&
              copy_array(b, "bone_weights", 4, 1, &model->bone_weights);
    for (b->item = 0; ok && b->item < count; b->item++)
        ok = complete_vertex(b, model->deform + b->item, model->bone_indices + 4 * b->item,
                             model->bone_weights + 4 * b->item);
    return ok;
}

static bool copy_vertices(builder *b)
{
    mmd_model *model = b->model;
    model->triangles = copy(b, model->triangles, model->triangle_count, 3 * sizeof(int32_t));
    return model->triangles && copy_array(b, "positions", 3, 0, &model->positions) &&
           copy_array(b, "normals", 3, 0, &model->normals) &&
           copy_array(b, "uvs", 2, 0, &model->uvs) &&
           copy_array(b, "additional_uvs", 4 * model->additional_uv_count, 0,
                      &model->additional_uvs) &&
           copy_array(b, "edge_scales", 1, 1, &model->edge_scales) && begin_sdef(b) &&
           copy_influences(b);
}

/* Normals from the triangles, each weighted by its area; zero where they cancel out. */
static bool compute_normals(const builder *b)
{
    const mmd_model *model = b->model;
    MMD_ARENA_LOCAL mmd_arena scratch = {0};
    double *sums = mmd_arena_alloc(&scratch, model->vertex_count, 3 * sizeof *sums);
    for (size_t t = 0; sums && t < model->triangle_count; t++) {
        const int32_t *corners = model->triangles + 3 * t;
        double at[3][3], one[3], other[3], normal[3];
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 3; i++)
                at[k][i] = (double)model->positions[3 * corners[k] + (int32_t)i];
        mmd_vec3_subtract(at[1], at[0], one);
        mmd_vec3_subtract(at[2], at[0], other);
        mmd_vec3_cross(one, other, normal);
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < 3; i++)
                sums[3 * corners[k] + (int32_t)i] += normal[i];
    }
    for (size_t v = 0; sums && v < model->vertex_count; v++) {
        const double *sum = sums + 3 * v;
        double length = mmd_vec3_length(sum);
        for (size_t i = 0; length > 0 && i < 3; i++)
            model->normals[3 * v + i] = (float)(sum[i] / length);
    }
    return sums || mmd_fail_memory(b->err);
}

/* Records */

static bool copy_ik(const builder *b, void *record)
{
    mmd_bone *bone = record;
    if (!bone->ik)
        return true;
    mmd_ik *ik = bone->ik = copy(b, bone->ik, 1, sizeof *bone->ik);
    return ik && check_parts(b, "IK links", ik->links, ik->link_count) &&
           (ik->links = copy(b, ik->links, ik->link_count, sizeof *ik->links)) != NULL;
}

static bool copy_offsets(const builder *b, void *record)
{
    mmd_morph *morph = record;
    size_t count = morph->offset_count;
    if ((unsigned)morph->kind >= MMD_MORPH_KIND_COUNT)
        return mmd_refuse(b->err, "morph %zu: kind %d of %d", b->item, (int)morph->kind,
                          MMD_MORPH_KIND_COUNT);
    if (!check_parts(b, "offsets", morph->indices, count) ||
        !check_parts(b, "values", morph->values, count))
        return false;
    size_t row = mmd_morph_width(morph->kind) * sizeof *morph->values;
    morph->indices = copy(b, morph->indices, count, sizeof *morph->indices);
    morph->values = copy(b, morph->values, count, row);
    return morph->indices && morph->values;
}

static bool copy_elements(const builder *b, void *record)
{
    mmd_display_frame *frame = record;
    return check_parts(b, "elements", frame->elements, frame->element_count) &&
           (frame->elements =
                copy(b, frame->elements, frame->element_count, sizeof *frame->elements)) != NULL;
}

static bool copy_records(builder *b)
{
    static bool (*const copy_parts[MMD_RECORD_KIND_COUNT])(const builder *, void *) = {
        [MMD_RECORD_BONE] = copy_ik,
        [MMD_RECORD_MORPH] = copy_offsets,
        [MMD_RECORD_DISPLAY_FRAME] = copy_elements};
    for (size_t t = 0; t < MMD_RECORD_KIND_COUNT; t++) {
        const mmd_model_record_table *table = &mmd_model_record_tables[t];
        size_t count = mmd_bytes_size_at(b->from, table->count);
        char *record = copy(b, mmd_bytes_pointer_at(b->from, table->array), count, table->size);
        if (!record)
            return false;
        mmd_bytes_put_pointer(b->model, table->array, record);
        mmd_bytes_put_size(b->model, table->count, count);
        b->kind = table->kind;
        for (b->item = 0; b->item < count; b->item++, record += table->size) {
            for (size_t i = 0; i < table->field_count; i++)
                if (table->fields[i].content == MMD_FIELD_TEXT &&
                    !copy_text(b, table->fields[i].name,
                               (mmd_text *)(void *)(record + table->fields[i].offset)))
                    return false;
            if (copy_parts[t] && !copy_parts[t](b, record))
                return false;
        }
    }
    return true;
}

mmd_model *mmd_model_new(const mmd_model *arrays, mmd_error *err)
{
    if (!mmd_error_require(arrays, "arrays", err))
        return NULL;
    mmd_model *model = mmd_arena_new_owner(sizeof *model, err);
    if (!model)
        return NULL;
    mmd_arena arena = model->arena;
    *model = *arrays;
    model->arena = arena;
    model->soft_body_count = 0;
    builder b = {.from = arrays, .model = model, .err = err};
    bool made = check_counts(&b) && copy_texts(&b) && check_index_sizes(&b) && copy_records(&b) &&
                copy_vertices(&b) && mmd_model_check(model, err) && complete_version(&b) &&
                (arrays->normals || compute_normals(&b));
    return mmd_arena_keep_owner(model, made);
}
