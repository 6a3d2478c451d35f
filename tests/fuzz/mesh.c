/* SPDX-License-Identifier: MIT */
/* The input is a script of a mesh, what its variants need, matrices and morph weights, all of them
   hostile: every method, blend and kernel keeps within its arrays, and moderate numbers stay
   finite.
 */
#include "core/model/morph.h"
#include "core/skin/skin.h"
#include "script.h"
#include "target.h"

#include <math.h>
#include <string.h>

enum { VERTICES = 20, BONES = 6, MORPHS = 4, OFFSETS = 5, TRIANGLES = 8, FRAMES = 2, ROOM = 8 };

typedef struct arrays {
    float positions[3 * VERTICES], normals[3 * VERTICES], tangents[4 * VERTICES];
    float weights[4 * VERTICES], sdef[9 * VERTICES], uvs[2 * VERTICES], centers[3 * VERTICES];
    float segments[6 * ROOM], matrices[FRAMES * 16 * ROOM], sliders[FRAMES * MORPHS];
    float values[MORPHS][3 * OFFSETS];
    int32_t bones[4 * VERTICES], triangles[3 * TRIANGLES], parents[ROOM], indices[MORPHS][OFFSETS];
    uint8_t deform[VERTICES];
    mmd_morph morphs[MORPHS];
} arrays;

/* What the mesh has, and what its extras have. */
enum { NORMALS = 1, TANGENTS = 2, SDEF = 4, BAD_MORPHS = 8, NARROW = 16, DEFORM = 32 };
enum { WEIGHTS = 64, MORE_WEIGHTS = 128 };
enum { MODERATE = 1, GOOD_TRIANGLES = 2, UVS = 4, CENTERS = 8, SEGMENTS = 16, PARENTS = 32 };
enum { MORE_SEGMENTS = 64, MORE_PARENTS = 128 };

static void take_numbers(script *s, float *out, size_t count)
{
    while (count--)
        *out++ = take_number(s);
}

static int32_t take_index(script *s, size_t end, bool negative)
{
    return (int32_t)(take(s) % (end + 1)) - negative;
}

static void take_morph(script *s, arrays *a, size_t m, size_t vertices, size_t morphs, bool bad)
{
    static const mmd_morph_kind kinds[] = {MMD_MORPH_VERTEX, MMD_MORPH_GROUP, MMD_MORPH_FLIP,
                                           MMD_MORPH_UV};
    mmd_morph *morph = &a->morphs[m];
    *morph =
        (mmd_morph){.kind = kinds[take(s) % 4], .indices = a->indices[m], .values = a->values[m]};
    morph->offset_count = take(s) % (OFFSETS + 1);
    size_t end = morph->kind == MMD_MORPH_VERTEX ? vertices : morphs;
    for (size_t i = 0; i < morph->offset_count; i++)
        a->indices[m][i] = take_index(s, end, bad);
    take_numbers(s, a->values[m], 3 * OFFSETS);
}

static mmd_mesh_desc take_mesh(script *s, arrays *a, uint8_t have)
{
    mmd_mesh_desc desc = {.vertex_count = take(s) % (VERTICES + 1),
                          .positions = a->positions,
                          .normals = have & NORMALS ? a->normals : NULL,
                          .tangents = have & TANGENTS ? a->tangents : NULL,
                          .tangent_width = have & NARROW ? 3 : 4,
                          .influence_count = 1 + take(s) % 4,
                          .bone_indices = a->bones,
                          .bone_weights = a->weights,
                          .deform = have & DEFORM ? a->deform : NULL,
                          .sdef = have & SDEF ? a->sdef : NULL,
                          .morph_count = take(s) % (MORPHS + 1),
                          .morphs = a->morphs};
    size_t n = desc.vertex_count, slots = n * desc.influence_count;
    take_numbers(s, a->positions, 3 * n);
    take_numbers(s, a->weights, slots);
    for (size_t i = 0; i < slots; i++)
        a->bones[i] = take_index(s, BONES, true);
    for (size_t i = 0; i < n; i++)
        a->deform[i] = take(s) % 5;
    if (desc.normals)
        take_numbers(s, a->normals, 3 * n);
    if (desc.tangents)
        take_numbers(s, a->tangents, 4 * n);
    if (desc.sdef)
        take_numbers(s, a->sdef, 9 * n);
    for (size_t m = 0; m < desc.morph_count; m++)
        take_morph(s, a, m, n, desc.morph_count, have & BAD_MORPHS);
    return desc;
}

static mmd_mesh_extras take_extras(script *s, arrays *a, const mmd_mesh *mesh, uint8_t have)
{
    mmd_mesh_extras extras = {.triangles = a->triangles,
                              .triangle_count = take(s) % (TRIANGLES + 1),
                              .uvs = have & UVS ? a->uvs : NULL,
                              .centers = have & CENTERS ? a->centers : NULL,
                              .segments = have & SEGMENTS ? a->segments : NULL,
                              .parents = have & PARENTS ? a->parents : NULL,
                              .segment_count = mesh->bone_count + !!(have & MORE_SEGMENTS),
                              .parent_count = mesh->bone_count + !!(have & MORE_PARENTS)};
    size_t n = mesh->vertex_count;
    for (size_t i = 0; i < 3 * extras.triangle_count; i++)
        a->triangles[i] =
            have & GOOD_TRIANGLES && n ? (int32_t)(take(s) % n) : take_index(s, n, true);
    if (!extras.triangle_count)
        extras.triangles = NULL;
    take_numbers(s, a->uvs, 2 * n);
    take_numbers(s, a->centers, 3 * n);
    take_numbers(s, a->segments, 6 * ROOM);
    for (size_t i = 0; i < ROOM; i++)
        a->parents[i] = take_index(s, ROOM, true);
    return extras;
}

static bool all_below(const float *numbers, size_t count, float limit)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(numbers[i]) < limit))
            return false;
    return true;
}

/* Whether everything that is added and multiplied has such sizes that results are finite. */
static bool is_moderate(const arrays *a, const mmd_mesh_desc *desc)
{
    enum { LIMIT = 10000 };
    bool moderate =
        all_below(a->positions, 3 * desc->vertex_count, LIMIT) &&
        all_below(a->sdef, 9 * VERTICES, LIMIT) && all_below(a->centers, 3 * VERTICES, LIMIT) &&
        all_below(a->segments, 6 * ROOM, LIMIT) && all_below(a->sliders, FRAMES * MORPHS, LIMIT) &&
        all_below(&a->values[0][0], MORPHS * 3 * OFFSETS, LIMIT);
    for (size_t i = 0; i < desc->vertex_count * desc->influence_count; i++)
        moderate &= a->weights[i] == 0 || (a->weights[i] > 1e-3f && a->weights[i] < LIMIT);
    return moderate;
}

static float *room_for(size_t count)
{
    float *room = calloc(count + 1, sizeof *room); /* exactly, so that overruns are seen */
    PROMISE(room);
    return room;
}

/* By every blend and kernel that there is, into arrays of exactly the promised size. */
static void skin(const mmd_mesh *mesh, const arrays *a, uint8_t have, int method, bool moderate,
                 script *s)
{
    static const char *const kernels[] = {"scalar", "sse2", "avx2", "avx512", "neon"};
    size_t count = FRAMES * mesh->vertex_count, width = mesh->tangent_width;
    float *positions = room_for(3 * count), *normals = room_for(3 * count);
    float *tangents = room_for(width * count);
    for (size_t way = 0; way < 2 * sizeof kernels / sizeof *kernels; way++) {
        const mmd_skin_kernel *kernel = mmd_skin_kernel_find(kernels[way / 2], NULL);
        mmd_skin_job job = {.mesh = mesh,
                            .frame_count = FRAMES,
                            .bone_count = ROOM,
                            .matrices = a->matrices,
                            .matrix_frames = have & NORMALS ? FRAMES : 1,
                            .morph_weights = have & WEIGHTS ? a->sliders : NULL,
                            .morph_weight_frames = have & MORE_WEIGHTS ? FRAMES : 1,
                            .method = (mmd_method)method,
                            .sdef_blend = way % 2 ? MMD_SDEF_SLERP : MMD_SDEF_NLERP,
                            .correction = (float)(take(s) % 5) / 4,
                            .positions = positions,
                            .normals = mesh->has_normals ? normals : NULL,
                            .tangents = width ? tangents : NULL};
        if (!kernel || !mmd_skin_check(&job, NULL))
            continue;
        PROMISE(mmd_skin_cpu(&job, kernel, NULL));
        PROMISE(!moderate || (all_below(positions, 3 * count, INFINITY) &&
                              all_below(normals, 3 * count, INFINITY) &&
                              all_below(tangents, width * count, INFINITY)));
    }
    free(positions), free(normals), free(tangents);
}

static void skin_by_every_method(const mmd_mesh *mesh, const mmd_mesh_extras *extras,
                                 const arrays *a, uint8_t have, bool moderate, script *s)
{
    for (int method = 0; method <= MMD_METHOD_CENTERS_OF_ROTATION; method++) {
        bool needs_variant = method >= MMD_METHOD_BULGE_FREE;
        mmd_mesh *variant =
            needs_variant ? mmd_mesh_variant(mesh, (mmd_method)method, extras, NULL) : NULL;
        if (variant || !needs_variant)
            skin(variant ? variant : mesh, a, have, method, moderate, s);
        mmd_mesh_free(variant);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static arrays a;
    memset(&a, 0, sizeof a);
    script s = {data, size, 0};
    uint8_t have = take(&s), more = take(&s);
    mmd_mesh_desc desc = take_mesh(&s, &a, have);
    mmd_error err = {0};
    mmd_mesh *mesh = mmd_mesh_new(&desc, &err);
    PROMISE(mesh || err.text[0]);
    if (!mesh)
        return 0;
    mmd_mesh_extras extras = take_extras(&s, &a, mesh, more);
    take_numbers(&s, a.matrices, FRAMES * 16 * ROOM);
    take_numbers(&s, a.sliders, FRAMES * MORPHS);
    for (size_t i = 0; more & MODERATE && i < FRAMES * 16 * ROOM; i++)
        a.matrices[i] = (float)(i % 5 == 0) + (i % 16 == 3 ? 0.25f : 0);
    bool moderate = more & MODERATE && is_moderate(&a, &desc);
    mmd_mesh *with = NULL;
    if (extras.triangles && mesh->has_normals && !mesh->tangent_width &&
        mmd_mesh_extras_check(mesh, &extras, NULL))
        with = mmd_mesh_with_tangents(mesh, &extras, NULL);
    skin_by_every_method(with ? with : mesh, &extras, &a, have, moderate, &s);
    mmd_mesh_free(with);
    mmd_mesh_free(mesh);
    return 0;
}
