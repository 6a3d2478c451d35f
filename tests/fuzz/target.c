/* SPDX-License-Identifier: MIT */
#include "target.h"

#include "core/model/morph.h"
#include "core/skin/skin.h"
#include "valid.h"

#include <string.h>

chance chance_of(const uint8_t *data, size_t size)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 1099511628211u;
    return (chance){hash | 1};
}

static uint64_t chance_next(chance *c)
{
    c->state ^= c->state << 13;
    c->state ^= c->state >> 7;
    c->state ^= c->state << 17;
    return c->state;
}

size_t chance_below(chance *c, size_t end)
{
    return (size_t)(chance_next(c) >> 8) % end;
}

static float chance_between(chance *c, float low, float high)
{
    return low + (high - low) * (float)(chance_next(c) >> 40) / (float)(1 << 24);
}

/* Of moderate size when gentle, else now and then what a float can hold at its ends. */
static float chance_number(chance *c, float size, bool gentle)
{
    static const float hard[] = {0, -0.0f, 1e-45f, 1e-38f, 1e-20f, 1e20f, -1e30f, 3.4e38f};
    if (!gentle && chance_below(c, 16) == 0)
        return hard[chance_below(c, sizeof hard / sizeof *hard)];
    return chance_between(c, -size, size);
}

/* Of any length but zero when not gentle. */
static void chance_rotation(chance *c, bool gentle, float q[4])
{
    float scale = gentle || chance_below(c, 8) ? 1 : chance_below(c, 2) ? 1e-22f : 1e18f;
    for (int i = 0; i < 4; i++)
        q[i] = scale * chance_between(c, -1, 1);
    q[3] = gentle ? 2 : q[3] == 0 ? scale : q[3];
}

/* calloc() that a target may rely on, and that is never NULL for nothing. */
static void *room_for(size_t count, size_t size)
{
    void *room = calloc(count + 1, size);
    PROMISE(room);
    return room;
}

void check_refusal(const mmd_error *err, size_t size)
{
    PROMISE(err->code == MMD_E_FORMAT && err->section[0] && err->text[0] && err->offset <= size);
    PROMISE(memchr(err->section, 0, sizeof err->section) && memchr(err->text, 0, sizeof err->text));
}

void memory_runs_short(chance *c, size_t most)
{
    mmd_arena_fail_after((long)chance_below(c, most));
}

void check_short_memory(bool loaded, const mmd_error *err)
{
    mmd_arena_fail_after(-1);
    PROMISE(loaded || err->code == MMD_E_MEMORY || err->code == MMD_E_FORMAT);
}

enum { WAYS = 6 }; /* methods times blends */

/* Skins by every kernel; close to scalar where that can be asked. */
static void skin(const mmd_mesh *mesh, const float *matrices, const float *sliders, size_t way,
                 bool gentle)
{
    static const char *const names[] = {"sse2", "avx2", "avx512", "neon"};
    enum { KERNELS = sizeof names / sizeof *names };
    size_t n = mesh->vertex_count;
    float *wanted = room_for(3 * n, sizeof *wanted), *normals = room_for(3 * n, sizeof *normals);
    float *found = room_for(3 * n, sizeof *found);
    mmd_skin_job job = {.mesh = mesh,
                        .frame_count = 1,
                        .bone_count = mesh->bone_count,
                        .matrices = matrices,
                        .matrix_frames = 1,
                        .morph_weights = sliders,
                        .morph_weight_frames = 1,
                        .method = mesh->method ? mesh->method : (mmd_method)(way % 3),
                        .sdef_blend = way < 3 ? MMD_SDEF_NLERP : MMD_SDEF_SLERP,
                        .correction = 1,
                        .positions = wanted,
                        .normals = mesh->has_normals ? normals : NULL};
    PROMISE(mmd_skin_check(&job, NULL));
    PROMISE(mmd_skin_cpu(&job, mmd_skin_kernel_find("scalar", NULL), NULL));
    job.positions = found;
    for (int k = 0; k < KERNELS; k++) {
        const mmd_skin_kernel *kernel = mmd_skin_kernel_find(names[k], NULL);
        if (!kernel)
            continue;
        PROMISE(mmd_skin_cpu(&job, kernel, NULL));
        for (size_t i = 0; gentle && i < 3 * n; i++)
            PROMISE(fabsf(found[i] - wanted[i]) < 2e-2f);
        for (size_t i = 0; gentle && job.normals && i < 3 * n; i++)
            PROMISE(fabsf(normals[i]) < 1.001f);
    }
    free(wanted), free(normals), free(found);
}

/* Whether skinned positions have sizes at which kernels can be compared. */
static bool is_moderate(const mmd_mesh *mesh)
{
    bool moderate = true;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        const mmd_mesh_vertex *vertex = &mesh->vertices[v];
        for (int i = 0; i < 3; i++)
            moderate &= fabsf(vertex->position[i]) < 1e3f && fabsf(vertex->c[i]) < 1e3f &&
                        fabsf(vertex->c0[i]) < 1e3f;
        for (int i = 0; i < vertex->count; i++)
            moderate &= vertex->weights[i] > 0;
    }
    return moderate;
}

/* A small turn about an axis that goes with the bone, and a small step. */
static void gentle_matrices(size_t bone_count, float *matrices)
{
    for (size_t b = 0; b < bone_count; b++) {
        float *m = matrices + 16 * b;
        size_t x = b % 3, y = (b + 1) % 3, z = (b + 2) % 3;
        memset(m, 0, 16 * sizeof *m);
        m[5 * x] = m[5 * y] = 0.8f;
        m[4 * x + y] = -0.6f;
        m[4 * y + x] = 0.6f;
        m[5 * z] = 1;
        m[4 * x + 3] = (float)(b % 7) / 8;
        m[15] = 1;
    }
}

/* Local values that a caller may give: gentle, then hard ones. */
static void pose_and_skin(const mmd_rig *rig, const mmd_mesh *mesh, chance *c)
{
    size_t b = rig->bone_count, m = rig->morph_count;
    float *translations = room_for(3 * b, sizeof(float)),
          *rotations = room_for(4 * b, sizeof(float));
    float *given = room_for(m, sizeof(float)), *sliders = room_for(m, sizeof(float));
    float *matrices = room_for(16 * b, sizeof(float));
    mmd_poser *poser = mmd_poser_new(rig, NULL, NULL);
    PROMISE(poser);
    for (int round = 0; round < 3; round++) {
        bool gentle = round == 0;
        for (size_t i = 0; i < 3 * b; i++)
            translations[i] = chance_number(c, 3, gentle);
        for (size_t i = 0; i < b; i++)
            chance_rotation(c, gentle, rotations + 4 * i);
        for (size_t i = 0; i < m; i++)
            given[i] = chance_number(c, 2, gentle);
        mmd_pose_job job = {.frame_count = 1,
                            .ik = true,
                            .translations = round == 1 ? NULL : translations,
                            .rotations = rotations,
                            .morph_weights = given,
                            .translation_frames = 1,
                            .rotation_frames = 1,
                            .morph_weight_frames = 1,
                            .out_matrices = matrices,
                            .out_morph_weights = sliders};
        PROMISE(mmd_pose(poser, &job, NULL));
        PROMISE(all_finite(matrices, 16 * b));
        skin(mesh, matrices, given, chance_below(c, WAYS), false);
    }
    bool moderate = is_moderate(mesh);
    gentle_matrices(b, matrices);
    for (size_t way = 0; way < WAYS; way++)
        skin(mesh, matrices, NULL, way, moderate);
    mmd_poser_free(poser);
    free(translations), free(rotations), free(given), free(sliders), free(matrices);
}

/* By the methods against bulges. */
static void skin_variants(const mmd_model *model, const mmd_mesh *mesh)
{
    size_t b = model->bone_count;
    float *segments = room_for(6 * b, sizeof *segments),
          *matrices = room_for(16 * b, sizeof(float));
    int32_t *parents = room_for(b, sizeof *parents);
    for (size_t i = 0; i < b; i++)
        parents[i] = model->bones[i].parent;
    PROMISE(mmd_model_segments(model, segments, NULL));
    PROMISE(all_finite(segments, 6 * b));
    mmd_mesh_extras extras = {.triangles = model->triangles,
                              .triangle_count = model->triangle_count,
                              .segments = segments,
                              .parents = parents,
                              .segment_count = b,
                              .parent_count = b};
    gentle_matrices(b, matrices);
    for (int method = MMD_METHOD_BULGE_FREE; method <= MMD_METHOD_CENTERS_OF_ROTATION; method++) {
        mmd_mesh *variant = mmd_mesh_variant(mesh, (mmd_method)method, &extras, NULL);
        PROMISE(variant);
        skin(variant, matrices, NULL, 0, false);
        mmd_mesh_free(variant);
    }
    free(segments), free(matrices), free(parents);
}

static void morph_everything(const mmd_model *model, chance *c)
{
    size_t m = model->morph_count;
    float *sliders = room_for(m, sizeof *sliders), *weights = room_for(m, sizeof *weights);
    float *uvs = room_for(4 * model->vertex_count, sizeof *uvs);
    mmd_material *materials = room_for(model->material_count, sizeof *materials);
    for (size_t i = 0; i < m; i++)
        sliders[i] = chance_number(c, 2, false);
    mmd_morph_weights(model->morphs, m, sliders, weights);
    for (int channel = 0; channel < 5; channel++)
        mmd_morph_uvs(model, weights, channel, uvs);
    PROMISE(mmd_morph_materials(model, weights, materials, NULL));
    free(sliders), free(weights), free(uvs), free(materials);
}

void exercise_model(const mmd_model *model, chance *c)
{
    PROMISE(model_is_valid(model));
    mmd_mesh *mesh = mmd_mesh_of_model(model, NULL);
    mmd_rig *rig = mmd_rig_new(model, NULL);
    PROMISE(mesh && rig);
    pose_and_skin(rig, mesh, c);
    skin_variants(model, mesh);
    morph_everything(model, c);
    mmd_rig_free(rig);
    mmd_mesh_free(mesh);
}

void exercise_motion(const mmd_rig *rig, const mmd_mesh *mesh, const mmd_motion *motion, chance *c)
{
    PROMISE(motion_is_valid(motion));
    double last = motion->last_frame;
    double frames[] = {last, 0, 0.5, -7, motion->first_frame, last * 0.37, 4294967295.0, 1e300};
    enum { COUNT = sizeof frames / sizeof *frames };
    size_t b = rig->bone_count, m = rig->morph_count, pick = chance_below(c, COUNT);
    float *matrices = room_for(COUNT * 16 * b, sizeof(float));
    float *sliders = room_for(COUNT * m, sizeof(float));
    float *matrices_alone = room_for(16 * b, sizeof(float));
    float *sliders_alone = room_for(m, sizeof(float));
    mmd_poser *poser = mmd_poser_new(rig, motion, NULL);
    PROMISE(poser);
    mmd_pose_job job = {.frame_count = COUNT,
                        .ik = true,
                        .frames = frames,
                        .out_matrices = matrices,
                        .out_morph_weights = sliders};
    PROMISE(mmd_pose(poser, &job, NULL));
    mmd_pose_job alone = {.frame_count = 1,
                          .ik = true,
                          .frames = frames + pick,
                          .out_matrices = matrices_alone,
                          .out_morph_weights = sliders_alone};
    PROMISE(mmd_pose(poser, &alone, NULL));
    mmd_poser_free(poser);
    PROMISE(all_finite(matrices, COUNT * 16 * b) && all_finite(sliders, COUNT * m));
    PROMISE(!memcmp(matrices_alone, matrices + pick * 16 * b, 16 * b * sizeof *matrices));
    PROMISE(!memcmp(sliders_alone, sliders + pick * m, m * sizeof *sliders));
    if (mesh)
        skin(mesh, matrices_alone, sliders_alone, chance_below(c, WAYS), false);
    free(matrices), free(sliders), free(matrices_alone), free(sliders_alone);
}
