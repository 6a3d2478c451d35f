/* SPDX-License-Identifier: MIT */
/* Makes a mesh from a description or a model: checks it, resolves the influences of every vertex by
   MMD's rules (docs/mmd-behavior.md#skinning), and copies the morphs that skinning needs. */
#include "core/skin/mesh.h"

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/model/morph.h"

#include <math.h>
#include <string.h>

/* Influence slots that the vertex's deform type reads. */
static size_t used_slots(const mmd_mesh_desc *desc, size_t vertex)
{
    size_t used = desc->deform ? mmd_model_deform_layouts[desc->deform[vertex]].bones : 4;
    return used < desc->influence_count ? used : desc->influence_count;
}

static bool check_morphs(const mmd_mesh_desc *desc, mmd_error *err)
{
    if (desc->morph_count && !mmd_error_require(desc->morphs, "morphs", err))
        return false;
    for (size_t m = 0; m < desc->morph_count; m++) {
        const mmd_morph *morph = &desc->morphs[m];
        if ((unsigned)morph->kind >= MMD_MORPH_KIND_COUNT)
            return mmd_refuse(err, "morph %zu: kind %d of %d", m, (int)morph->kind,
                              MMD_MORPH_KIND_COUNT);
        bool vertices = morph->kind == MMD_MORPH_VERTEX;
        if (!vertices && morph->kind != MMD_MORPH_GROUP && morph->kind != MMD_MORPH_FLIP)
            continue;
        if (morph->offset_count && (!morph->indices || !morph->values))
            return mmd_refuse(err, "morph %zu: %s: missing", m,
                              morph->indices ? "values" : "indices");
        size_t limit = vertices ? desc->vertex_count : desc->morph_count;
        for (size_t i = 0; i < morph->offset_count; i++)
            if (morph->indices[i] < 0 || (size_t)morph->indices[i] >= limit)
                return mmd_refuse(err, "morph %zu, offset %zu: %s %d of %zu", m, i,
                                  vertices ? "vertex" : "morph", (int)morph->indices[i], limit);
        size_t count = morph->offset_count * mmd_morph_width(morph->kind);
        size_t bad = mmd_numbers_first_not_finite(morph->values, count);
        if (bad < count)
            return mmd_refuse(err, "morph %zu, offset %zu is %s", m,
                              bad / mmd_morph_width(morph->kind),
                              mmd_numbers_fault(morph->values[bad]));
    }
    return true;
}

static bool check(const mmd_mesh_desc *desc, mmd_error *err)
{
    size_t n = desc->vertex_count, k = desc->influence_count;
    if (n > MMD_MAX_VERTICES)
        return mmd_refuse(err, "%zu vertices, limit %d", n, MMD_MAX_VERTICES);
    if (n && (!desc->positions || (k && (!desc->bone_indices || !desc->bone_weights))))
        return mmd_refuse(err, "%s: missing",
                          !desc->positions      ? "positions"
                          : !desc->bone_indices ? "bone_indices"
                                                : "bone_weights");
    if (desc->tangents && !desc->normals)
        return mmd_refuse(err, "tangents without normals");
    if (desc->tangents && desc->tangent_width != 3 && desc->tangent_width != 4)
        return mmd_refuse(err, "tangents: width %zu, expected 3 or 4", desc->tangent_width);
    const mmd_numbers_array arrays[] = {
        {"positions", "vertex", desc->positions, 1, n, 3},
        {"bone_weights", "vertex", desc->bone_weights, 1, n, k},
        {"normals", "vertex", desc->normals, 1, n, 3},
        {"tangents", "vertex", desc->tangents, 1, n, desc->tangent_width},
        {"sdef", "vertex", desc->sdef, 1, n, 9}};
    if (!mmd_numbers_check(arrays, sizeof arrays / sizeof *arrays, 1, err))
        return false;

    for (size_t v = 0; v < n; v++) {
        if (desc->deform && desc->deform[v] >= MMD_DEFORM_COUNT)
            return mmd_refuse(err, "deform: vertex %zu is %d, types are 0 to %d", v,
                              desc->deform[v], MMD_DEFORM_COUNT - 1);
        if (desc->deform && desc->deform[v] == MMD_SDEF && !desc->sdef)
            return mmd_refuse(err, "vertex %zu is SDEF, but sdef is missing", v);
        for (size_t i = 0; i < used_slots(desc, v); i++) {
            int32_t bone = desc->bone_indices[v * k + i];
            if (bone < -1)
                return mmd_refuse(err, "bone_indices: vertex %zu: bone %d, minimum is -1", v,
                                  (int)bone);
        }
    }
    return check_morphs(desc, err);
}

static size_t count_bones(const mmd_mesh_desc *desc)
{
    int64_t largest = -1;
    for (size_t v = 0; v < desc->vertex_count; v++)
        for (size_t i = 0; i < used_slots(desc, v); i++) {
            int32_t bone = desc->bone_indices[v * desc->influence_count + i];
            largest = bone > largest ? bone : largest;
        }
    return (size_t)(largest + 1);
}

static void normalize(const float *in, float *out)
{
    double x = in[0], y = in[1], z = in[2];
    double length = sqrt(x * x + y * y + z * z);
    for (int i = 0; i < 3; i++)
        out[i] = length > 0 ? (float)(in[i] / length) : 0;
}

/* The bone of the slot with the largest weight, before slots of one bone are merged. */
static int32_t leading_bone(const int32_t *bones, const float *weights, size_t slots, double sum)
{
    int32_t leading = -1;
    float largest = 0;
    for (size_t i = 0; i < slots; i++) {
        float weight = sum < 0 ? -weights[i] : weights[i];
        if (bones[i] >= 0 && weight != 0 && (leading < 0 || weight > largest)) {
            leading = bones[i];
            largest = weight;
        }
    }
    return leading;
}

/* Divides the weights by their sum, drops empty slots, merges slots of the same bone and sorts by
   bone. The number of influences. */
static int32_t resolve_influences(const mmd_mesh_desc *desc, size_t v, mmd_mesh_vertex *out)
{
    const int32_t *bones = desc->bone_indices + v * desc->influence_count;
    const float *weights = desc->bone_weights + v * desc->influence_count;
    bool rigid = desc->deform && desc->deform[v] == MMD_BDEF1;
    size_t slots = used_slots(desc, v);
    int32_t merged[4];
    double merged_weights[4], sum = 0, magnitude = 0;
    int count = 0;
    if (slots == 1) { /* the common case */
        if (bones[0] < 0 || (!rigid && weights[0] == 0))
            return 0;
        out->weights[0] = 1;
        out->bones[0] = out->bones[1] = out->bones[2] = out->bones[3] = bones[0];
        return 1;
    }
    for (size_t i = 0; i < slots; i++) {
        double weight = rigid ? 1 : weights[i];
        if (bones[i] < 0 || weight == 0)
            continue;
        sum += weight;
        magnitude += fabs(weight);
        int at = 0;
        while (at < count && merged[at] < bones[i])
            at++;
        if (at < count && merged[at] == bones[i]) {
            merged_weights[at] += weight;
            continue;
        }
        for (int k = count++; k > at; k--) {
            merged[k] = merged[k - 1];
            merged_weights[k] = merged_weights[k - 1];
        }
        merged[at] = bones[i];
        merged_weights[at] = weight;
    }
    /* Weights that cancel out have no meaningful sum to divide by. */
    if (!(fabs(sum) > 1e-6 * magnitude))
        return 0;

    int32_t pivot = leading_bone(bones, weights, slots, sum);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        float weight = (float)(merged_weights[i] / sum);
        if (weight == 0)
            continue;
        if (merged[i] == pivot)
            out->pivot = kept;
        out->bones[kept] = merged[i];
        out->weights[kept++] = weight;
    }
    for (int i = kept; i < 4; i++)
        out->bones[i] = out->bones[0];
    return kept;
}

static bool is_zero(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

static void resolve_vertex(const mmd_mesh_desc *desc, size_t v, mmd_mesh_vertex *out)
{
    /* Member by member: for a whole vertex the compiler emits `rep stos`, which starts slowly. */
    memset(out->normal, 0, sizeof out->normal);
    memset(out->tangent, 0, sizeof out->tangent);
    memset(out->c, 0, sizeof out->c);
    memset(out->c0, 0, sizeof out->c0);
    memset(out->weights, 0, sizeof out->weights);
    memset(out->bones, 0, sizeof out->bones);
    out->factor = 0;
    out->pivot = 0;
    memcpy(out->position, desc->positions + 3 * v, sizeof out->position);
    if (desc->normals)
        normalize(desc->normals + 3 * v, out->normal);
    if (desc->tangents) {
        normalize(desc->tangents + desc->tangent_width * v, out->tangent);
        out->tangent[3] = desc->tangent_width == 4 ? desc->tangents[4 * v + 3] : 1;
    }
    out->count = resolve_influences(desc, v, out);
    int deform = desc->deform ? desc->deform[v] : MMD_BDEF4;
    out->kind = deform == MMD_QDEF && out->count > 0 ? MMD_SKIN_QDEF : MMD_SKIN_LINEAR;
    if (deform != MMD_SDEF || out->count != 2)
        return;
    const float *c = desc->sdef + 9 * v, *r0 = c + 3, *r1 = c + 6;
    if (is_zero(c, 9))
        return;
    out->kind = MMD_SKIN_SDEF;
    if (out->bones[0] != desc->bone_indices[v * desc->influence_count]) {
        r0 = c + 6;
        r1 = c + 3;
    }
    for (int i = 0; i < 3; i++) {
        out->c[i] = c[i];
        out->c0[i] = (float)(c[i] + 0.5 * out->weights[1] * ((double)r0[i] - r1[i]));
    }
}

static bool copy_offsets(mmd_mesh *mesh, const mmd_morph *morph, mmd_morph *out)
{
    size_t count = morph->offset_count, numbers = count * mmd_morph_width(morph->kind);
    out->offset_count = count;
    out->indices = mmd_arena_alloc_uninitialized(&mesh->arena, count, sizeof *out->indices);
    out->values = mmd_arena_alloc_uninitialized(&mesh->arena, numbers, sizeof *out->values);
    if (!out->indices || !out->values)
        return false;
    if (count) {
        memcpy(out->indices, morph->indices, count * sizeof *out->indices);
        memcpy(out->values, morph->values, numbers * sizeof *out->values);
    }
    return true;
}

static bool copy_morphs(mmd_mesh *mesh, const mmd_mesh_desc *desc)
{
    mmd_morph *copies;
    if (!MMD_ARENA_ARRAY(&mesh->arena, copies, desc->morph_count) ||
        !MMD_ARENA_ARRAY(&mesh->arena, mesh->vertex_morphs, desc->morph_count))
        return false;
    mesh->morph_count = desc->morph_count;
    mesh->morphs = copies;
    for (size_t m = 0; m < desc->morph_count; m++) {
        const mmd_morph *morph = &desc->morphs[m];
        bool vertices = morph->kind == MMD_MORPH_VERTEX;
        copies[m].kind = morph->kind;
        if ((vertices || morph->kind == MMD_MORPH_GROUP || morph->kind == MMD_MORPH_FLIP) &&
            !copy_offsets(mesh, morph, &copies[m]))
            return false;
        if (vertices)
            mesh->vertex_morphs[mesh->vertex_morph_count++] = &copies[m];
    }
    return true;
}

static bool allocate(mmd_mesh *mesh)
{
    mesh->vertices =
        mmd_arena_alloc_uninitialized(&mesh->arena, mesh->vertex_count, sizeof *mesh->vertices);
    return MMD_ARENA_ARRAY(&mesh->arena, mesh->device, 1) && mesh->vertices &&
           MMD_ARENA_ARRAY(&mesh->arena, mesh->bone_rotates, mesh->bone_count);
}

static bool build(mmd_mesh *mesh, const mmd_mesh_desc *desc, mmd_error *err)
{
    mesh->vertex_count = desc->vertex_count;
    mesh->bone_count = count_bones(desc);
    mesh->has_normals = desc->normals != NULL;
    mesh->tangent_width = desc->tangents ? desc->tangent_width : 0;
    if (!allocate(mesh) || !copy_morphs(mesh, desc))
        return mmd_fail_memory(err);
    for (size_t v = 0; v < mesh->vertex_count; v++)
        resolve_vertex(desc, v, &mesh->vertices[v]);
    return mmd_mesh_build_blocks(mesh, err);
}

bool mmd_mesh_build_blocks(mmd_mesh *mesh, mmd_error *err)
{
    if (!mmd_vertex_blocks_build(mesh, &mesh->arena, &mesh->blocks))
        return mmd_fail_memory(err);
    for (size_t g = 0; g < mesh->blocks.group_count; g++) {
        const mmd_vertex_block_group *group = &mesh->blocks.groups[g];
        for (int i = 0; group->kind != MMD_SKIN_LINEAR && i < group->count; i++)
            mesh->bone_rotates[group->bones[i]] = true;
    }
    return true;
}

static mmd_mesh *new_checked(const mmd_mesh_desc *desc, mmd_error *err)
{
    mmd_mesh *mesh = mmd_arena_new_owner(sizeof *mesh, err);
    return mmd_arena_keep_owner(mesh, mesh && build(mesh, desc, err));
}

mmd_mesh *mmd_mesh_new(const mmd_mesh_desc *desc, mmd_error *err)
{
    return mmd_error_require(desc, "desc", err) && check(desc, err) ? new_checked(desc, err) : NULL;
}

/* Loaded models are valid: nothing to check. */
mmd_mesh *mmd_mesh_of_model(const mmd_model *model, mmd_error *err)
{
    if (!mmd_error_require(model, "model", err))
        return NULL;
    return new_checked(&(mmd_mesh_desc){.vertex_count = model->vertex_count,
                                        .positions = model->positions,
                                        .normals = model->normals,
                                        .influence_count = 4,
                                        .bone_indices = model->bone_indices,
                                        .bone_weights = model->bone_weights,
                                        .deform = model->deform,
                                        .sdef = model->sdef,
                                        .morph_count = model->morph_count,
                                        .morphs = model->morphs},
                       err);
}

mmd_mesh *mmd_mesh_copy(const mmd_mesh *base, mmd_error *err)
{
    mmd_mesh *mesh = mmd_arena_new_owner(sizeof *mesh, err);
    if (!mesh)
        return NULL;
    mmd_arena arena = mesh->arena;
    *mesh = *base;
    mesh->arena = arena;
    mesh->blocks = (mmd_vertex_blocks){0};
    bool allocated = allocate(mesh);
    if (allocated && mesh->vertex_count)
        memcpy(mesh->vertices, base->vertices, mesh->vertex_count * sizeof *mesh->vertices);
    return mmd_arena_keep_owner(mesh, allocated || mmd_fail_memory(err));
}

void mmd_mesh_free(mmd_mesh *mesh)
{
    if (!mesh)
        return;
    if (mesh->device->release)
        mesh->device->release(mesh->device->data);
    mmd_arena_free_owner(mesh);
}
