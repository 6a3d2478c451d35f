/* SPDX-License-Identifier: MIT */
#include "core/model/model.h"
#include "mesh_sample.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float ORIGIN[3];
static const float SDEF[9] = {1, 2, 3, 4, 5, 6, 0, 1, 2};

static mmd_mesh_desc one_vertex(const uint8_t *deform, const int32_t *bones, const float *weights)
{
    return (mmd_mesh_desc){.vertex_count = 1,
                           .positions = ORIGIN,
                           .influence_count = 4,
                           .bone_indices = bones,
                           .bone_weights = weights,
                           .deform = deform,
                           .sdef = SDEF};
}

typedef struct influences {
    int32_t bones[4];
    float weights[4];
} influences;

static void check_influences(uint8_t deform, influences input, int count, influences expected)
{
    mmd_mesh_desc desc = one_vertex(&deform, input.bones, input.weights);
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    if (!CHECK(mesh))
        return;
    const mmd_mesh_vertex *vertex = &mesh->vertices[0];
    CHECK_INT(vertex->count, count);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(vertex->bones[i], expected.bones[i]);
        CHECK_NEAR(vertex->weights[i], expected.weights[i], 1e-7);
    }
    mmd_mesh_free(mesh);
}

static const influences NONE;

#define INFLUENCES(...)                                                                            \
    (influences)                                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void bdef1_has_weight_one(void)
{
    check_influences(MMD_BDEF1, INFLUENCES({5, 1, 2, 3}, {0.3f, 9, 9, 9}), 1,
                     INFLUENCES({5, 5, 5, 5}, {1, 0, 0, 0}));
    check_influences(MMD_BDEF1, INFLUENCES({5, -1, -1, -1}, {0}), 1,
                     INFLUENCES({5, 5, 5, 5}, {1, 0, 0, 0}));
}

static void bdef2_uses_two_slots(void)
{
    check_influences(MMD_BDEF2, INFLUENCES({0, 1, 2, 3}, {0.5f, 0.5f, 9, 9}), 2,
                     INFLUENCES({0, 1, 0, 0}, {0.5f, 0.5f}));
}

static void two_bones_are_in_ascending_order(void)
{
    check_influences(MMD_BDEF2, INFLUENCES({4, 2}, {0.75f, 0.25f}), 2,
                     INFLUENCES({2, 4, 2, 2}, {0.25f, 0.75f}));
}

static void weights_are_divided_by_their_sum(void)
{
    check_influences(MMD_BDEF2, INFLUENCES({1, 2}, {3, 1}), 2,
                     INFLUENCES({1, 2, 1, 1}, {0.75f, 0.25f}));
    check_influences(MMD_BDEF4, INFLUENCES({0, 1, 2, 3}, {0.5f, 0.25f, 0.125f, 0.125f}), 4,
                     INFLUENCES({0, 1, 2, 3}, {0.5f, 0.25f, 0.125f, 0.125f}));
    check_influences(MMD_BDEF4, INFLUENCES({0, 1, 2, 3}, {8, 4, 2, 2}), 4,
                     INFLUENCES({0, 1, 2, 3}, {0.5f, 0.25f, 0.125f, 0.125f}));
    check_influences(MMD_BDEF4, INFLUENCES({0, 1}, {-1, -3}), 2,
                     INFLUENCES({0, 1}, {0.25f, 0.75f}));
}

static void weights_beyond_one_extrapolate(void)
{
    check_influences(MMD_BDEF2, INFLUENCES({0, 1}, {1.5f, -0.5f}), 2,
                     INFLUENCES({0, 1}, {1.5f, -0.5f}));
}

static void empty_slots_are_dropped(void)
{
    check_influences(MMD_BDEF2, INFLUENCES({-1, 3}, {0.75f, 0.25f}), 1,
                     INFLUENCES({3, 3, 3, 3}, {1}));
    check_influences(MMD_BDEF4, INFLUENCES({-1, 3, -1, 1}, {0.5f, 0.25f, 1, 0.25f}), 2,
                     INFLUENCES({1, 3, 1, 1}, {0.5f, 0.5f}));
    check_influences(MMD_BDEF4, INFLUENCES({0, 1, 2, 3}, {0, 2, 0, 0}), 1,
                     INFLUENCES({1, 1, 1, 1}, {1}));
}

static void empty_slots_only_give_no_influence(void)
{
    for (uint8_t deform = 0; deform < MMD_DEFORM_COUNT; deform++)
        check_influences(deform, INFLUENCES({-1, -1, -1, -1}, {1, 1, 1, 1}), 0, NONE);
    for (uint8_t deform = 1; deform < MMD_DEFORM_COUNT; deform++)
        check_influences(deform, INFLUENCES({0, 1, 2, 3}, {0}), 0, NONE);
}

static void weights_that_cancel_give_no_influence(void)
{
    check_influences(MMD_BDEF2, INFLUENCES({0, 1}, {1, -1}), 0, NONE);
    check_influences(MMD_QDEF, INFLUENCES({0, 1, 2, 3}, {0.25f, -0.25f, 0.5f, -0.5f}), 0, NONE);
    check_influences(MMD_BDEF4, INFLUENCES({0, 1}, {1e30f, -1e30f}), 0, NONE);
    check_influences(MMD_BDEF2, INFLUENCES({0, 1}, {1, -0.9999999f}), 0, NONE);
}

static void duplicates_are_merged(void)
{
    check_influences(MMD_BDEF4, INFLUENCES({1, 1, 2, 1}, {0.25f, 0.25f, 0.25f, 0.25f}), 2,
                     INFLUENCES({1, 2, 1, 1}, {0.75f, 0.25f}));
    check_influences(MMD_BDEF2, INFLUENCES({3, 3}, {0.25f, 0.75f}), 1,
                     INFLUENCES({3, 3, 3, 3}, {1}));
    check_influences(MMD_BDEF4, INFLUENCES({1, 1, 2, -1}, {0.5f, -0.5f, 0.25f, 0}), 1,
                     INFLUENCES({2, 2, 2, 2}, {1}));
}

static void check_pivot(influences input, int32_t bone)
{
    uint8_t deform = MMD_QDEF;
    mmd_mesh_desc desc = one_vertex(&deform, input.bones, input.weights);
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    if (CHECK(mesh))
        CHECK_INT(mesh->vertices[0].bones[mesh->vertices[0].pivot], bone);
    mmd_mesh_free(mesh);
}

static void more_bones_are_in_ascending_order(void)
{
    check_influences(MMD_QDEF, INFLUENCES({3, 0, 2, 1}, {0.5f, 0.125f, 0.25f, 0.125f}), 4,
                     INFLUENCES({0, 1, 2, 3}, {0.125f, 0.125f, 0.25f, 0.5f}));
}

static void the_largest_slot_is_the_pivot(void)
{
    check_pivot(INFLUENCES({0, 1, 2, 3}, {0.125f, 0.25f, 0.375f, 0.25f}), 2);
    check_pivot(INFLUENCES({3, 2, 1, 0}, {0.125f, 0.25f, 0.25f, 0.375f}), 0);
}

static void the_first_of_equal_slots_is_the_pivot(void)
{
    check_pivot(INFLUENCES({3, 1, 2, 0}, {1, 1, 1, 1}), 3);
}

static void the_pivot_is_chosen_before_merging(void)
{
    check_pivot(INFLUENCES({1, 1, 2, 3}, {0.25f, 0.25f, 0.375f, 0.125f}), 2);
}

static void extreme_weights_stay_finite(void)
{
    check_influences(MMD_BDEF4, INFLUENCES({0, 1}, {3e38f, 3e38f}), 2,
                     INFLUENCES({0, 1}, {0.5f, 0.5f}));
    check_influences(MMD_BDEF4, INFLUENCES({0, 1}, {1e-44f, 1e-44f}), 2,
                     INFLUENCES({0, 1}, {0.5f, 0.5f}));
    check_influences(MMD_BDEF4, INFLUENCES({0, 1}, {3e38f, 1e-44f}), 1, INFLUENCES({0, 0}, {1}));
}

static void fewer_influences_are_accepted(void)
{
    const int32_t bones[] = {7};
    const float weights[] = {0.5f};
    mmd_mesh_desc desc = one_vertex(NULL, bones, weights);
    desc.influence_count = 1;
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    CHECK(mesh && mesh->vertices[0].count == 1 && mesh->vertices[0].bones[0] == 7 &&
          mesh->vertices[0].weights[0] == 1 && mesh->bone_count == 8);
    mmd_mesh_free(mesh);
}

static void check_kind(uint8_t deform, influences input, const float *sdef, mmd_skin_kind kind)
{
    mmd_mesh_desc desc = one_vertex(&deform, input.bones, input.weights);
    desc.sdef = sdef;
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    if (!CHECK(mesh))
        return;
    CHECK_INT(mesh->vertices[0].kind, kind);
    for (int i = 0; i < mesh->vertices[0].count; i++)
        CHECK_INT(mesh->bone_rotates[mesh->vertices[0].bones[i]], kind != MMD_SKIN_LINEAR);
    mmd_mesh_free(mesh);
}

static void types_become_kinds(void)
{
    influences two = {{0, 1, -1, -1}, {0.5f, 0.5f}};
    check_kind(MMD_BDEF1, two, SDEF, MMD_SKIN_LINEAR);
    check_kind(MMD_BDEF2, two, SDEF, MMD_SKIN_LINEAR);
    check_kind(MMD_BDEF4, two, SDEF, MMD_SKIN_LINEAR);
    check_kind(MMD_SDEF, two, SDEF, MMD_SKIN_SDEF);
    check_kind(MMD_QDEF, two, SDEF, MMD_SKIN_QDEF);
}

static void sdef_falls_back_to_linear(void)
{
    static const float none[9], equal[9] = {0, 0, 0, 1, 1, 1, 1, 1, 1};
    influences two = {{0, 1, -1, -1}, {0.5f, 0.5f}};
    check_kind(MMD_SDEF, two, none, MMD_SKIN_LINEAR);
    check_kind(MMD_SDEF, two, equal, MMD_SKIN_SDEF); /* R0 = R1 is harmless */
    check_kind(MMD_SDEF, INFLUENCES({0, 1}, {1, 0}), SDEF, MMD_SKIN_LINEAR);
    check_kind(MMD_SDEF, INFLUENCES({0, 1}, {0, 1}), SDEF, MMD_SKIN_LINEAR);
    check_kind(MMD_SDEF, INFLUENCES({2, 2}, {0.5f, 0.5f}), SDEF, MMD_SKIN_LINEAR);
    check_kind(MMD_SDEF, INFLUENCES({2, -1}, {0.5f, 0.5f}), SDEF, MMD_SKIN_LINEAR);
}

/* c0 = C + w1 (R0 - R1) / 2; here R0 - R1 = (4, 4, 4). */
static void sdef_has_a_corrected_center(void)
{
    const uint8_t deform = MMD_SDEF;
    mmd_mesh_desc desc =
        one_vertex(&deform, (int32_t[]){1, 2, -1, -1}, (float[]){0.75f, 0.25f, 0, 0});
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    if (!CHECK(mesh))
        return;
    CHECK_FLOATS(mesh->vertices[0].c, 3, 1, 2, 3);
    CHECK_FLOATS(mesh->vertices[0].c0, 3, 1.5f, 2.5f, 3.5f);
    mmd_mesh_free(mesh);
}

/* R0 belongs to the first bone of the input, which is the second one in ascending order. */
static void swapped_sdef_bones_swap_r0_and_r1(void)
{
    const uint8_t deform = MMD_SDEF;
    mmd_mesh_desc desc =
        one_vertex(&deform, (int32_t[]){2, 1, -1, -1}, (float[]){0.75f, 0.25f, 0, 0});
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    if (!CHECK(mesh))
        return;
    CHECK_INT(mesh->vertices[0].bones[0], 1);
    CHECK_FLOATS(mesh->vertices[0].weights, 2, 0.25f, 0.75f);
    CHECK_FLOATS(mesh->vertices[0].c0, 3, -0.5f, 0.5f, 1.5f);
    mmd_mesh_free(mesh);
}

static void directions_are_normalized(void)
{
    const float normals[] = {0, 3, 4, 0, 0, 0, 0, 3e30f, 4e30f, 6e-40f, 0, 8e-40f};
    const float tangents[] = {2, 0, 0, -1, 0, 0, 0, 0.5f, 0, 0, -5, 1, 0, 1, 0, 0};
    const float positions[12] = {0}, weights[4] = {0};
    const int32_t bones[4] = {0};
    mmd_mesh_desc desc = {.vertex_count = 4,
                          .positions = positions,
                          .normals = normals,
                          .tangents = tangents,
                          .tangent_width = 4,
                          .influence_count = 1,
                          .bone_indices = bones,
                          .bone_weights = weights};
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    if (!CHECK(mesh))
        return;
    CHECK_FLOATS_NEAR(mesh->vertices[0].normal, 3, 1e-7, 0, 0.6f, 0.8f);
    CHECK_FLOATS(mesh->vertices[1].normal, 3, 0, 0, 0);
    CHECK_FLOATS_NEAR(mesh->vertices[2].normal, 3, 1e-7, 0, 0.6f, 0.8f);
    CHECK_FLOATS_NEAR(mesh->vertices[3].normal, 3, 1e-5, 0.6f, 0, 0.8f);
    CHECK_FLOATS(mesh->vertices[0].tangent, 4, 1, 0, 0, -1);
    CHECK_FLOATS(mesh->vertices[1].tangent, 4, 0, 0, 0, 0.5f);
    CHECK_FLOATS(mesh->vertices[2].tangent, 4, 0, 0, -1, 1);
    mmd_mesh_free(mesh);
}

/* Each vertex is in exactly one lane, in a group of its kind and bones, and the rows hold its data.
 */
static void every_vertex_has_one_lane(void)
{
    enum { COUNT = 500 };
    mesh_sample sample = mesh_sample_new(COUNT, 4, true);
    mmd_mesh *mesh = mmd_mesh_new(&sample.desc, NULL);
    mesh_sample_free(&sample); /* the mesh has copied it */
    int seen[COUNT] = {0};
    for (size_t g = 0; mesh && g < mesh->blocks.group_count; g++) {
        const mmd_vertex_block_group *group = &mesh->blocks.groups[g];
        for (size_t b = 0; b < group->block_count; b++) {
            const mmd_vertex_block *block = &mesh->blocks.blocks[group->first_block + b];
            for (uint32_t lane = 0; lane < block->lane_count; lane++) {
                const mmd_mesh_vertex *vertex = &mesh->vertices[block->vertex[lane]];
                seen[block->vertex[lane]]++;
                CHECK(vertex->kind == group->kind && vertex->count == group->count &&
                      memcmp(vertex->bones, group->bones, sizeof group->bones) == 0);
                CHECK(group->data[b * group->block_stride + lane] == vertex->position[0]);
            }
        }
    }
    for (size_t v = 0; v < COUNT; v++)
        CHECK_INT(seen[v], 1);
    mmd_mesh_free(mesh);
}

static void an_empty_mesh_is_valid(void)
{
    mmd_mesh_desc desc = {.influence_count = 4};
    mmd_mesh *mesh = mmd_mesh_new(&desc, NULL);
    CHECK(mesh && mesh->vertex_count == 0 && mesh->bone_count == 0 &&
          mesh->blocks.group_count == 0);
    mmd_mesh_free(mesh);
    mmd_mesh_free(NULL);
}

static void check_refused(const mmd_mesh_desc *desc, const char *text)
{
    mmd_error err = {0};
    CHECK(mmd_mesh_new(desc, &err) == NULL);
    CHECK_INT(err.code, MMD_E_ARGUMENT);
    mmd_text got = {err.text, strlen(err.text)};
    test_text(got, text, strlen(text), __FILE__, __LINE__, "text");
}

static void errors_name_invalid_arguments(void)
{
    uint8_t deform = MMD_BDEF4;
    int32_t bones[4] = {0, 1, -2, 3};
    float weights[4] = {1, 1, 1, 1}, bad[9] = {0, 0, NAN};
    mmd_mesh_desc desc = one_vertex(&deform, bones, weights);
    check_refused(&desc, "bone_indices: vertex 0: bone -2, minimum is -1");
    deform = MMD_BDEF2; /* does not use that slot */
    mmd_mesh_free(mmd_mesh_new(&desc, NULL));
    desc.positions = bad;
    check_refused(&desc, "positions: vertex 0, component 2 is NaN");
    bad[2] = INFINITY;
    check_refused(&desc, "positions: vertex 0, component 2 is infinite");
    desc.positions = ORIGIN;
    desc.normals = bad;
    check_refused(&desc, "normals: vertex 0, component 2 is infinite");
    desc.normals = NULL;
    desc.tangents = ORIGIN;
    desc.tangent_width = 3;
    check_refused(&desc, "tangents without normals");
    desc.normals = ORIGIN;
    desc.tangent_width = 2;
    check_refused(&desc, "tangents: width 2, expected 3 or 4");
    desc.normals = desc.tangents = NULL;
    desc.positions = NULL;
    check_refused(&desc, "positions: missing");
    desc.positions = ORIGIN;
    desc.sdef = bad;
    check_refused(&desc, "sdef: vertex 0, component 2 is infinite");
    desc.sdef = NULL;
    deform = MMD_SDEF;
    check_refused(&desc, "vertex 0 is SDEF, but sdef is missing");
    deform = 5;
    check_refused(&desc, "deform: vertex 0 is 5, types are 0 to 4");
    weights[3] = NAN;
    check_refused(&desc, "bone_weights: vertex 0, component 3 is NaN");
    desc.vertex_count = MMD_MAX_VERTICES + 1;
    check_refused(&desc, "67108865 vertices, limit 67108864");
}

static void errors_name_invalid_morphs(void)
{
    int32_t bones[4] = {0}, indices[] = {0, 1};
    float weights[4] = {1}, values[6] = {0};
    mmd_morph morphs[] = {{.kind = MMD_MORPH_BONE, .offset_count = 2}, /* ignored */
                          {.kind = MMD_MORPH_VERTEX, .offset_count = 2}};
    morphs[1].indices = indices;
    morphs[1].values = values;
    mmd_mesh_desc desc = one_vertex(NULL, bones, weights);
    desc.morph_count = 2;
    desc.morphs = morphs;
    check_refused(&desc, "morph 1, offset 1: vertex 1 of 1");
    indices[1] = -1;
    check_refused(&desc, "morph 1, offset 1: vertex -1 of 1");
    indices[1] = 0;
    values[5] = NAN;
    check_refused(&desc, "morph 1, offset 1 is NaN");
    morphs[1].kind = MMD_MORPH_GROUP;
    indices[1] = 2;
    check_refused(&desc, "morph 1, offset 1: morph 2 of 2");
    morphs[1].kind = MMD_MORPH_FLIP;
    check_refused(&desc, "morph 1, offset 1: morph 2 of 2");
}

static void extras_and_methods_of_other_meshes_are_refused(void)
{
    static const int32_t bones[4] = {0, -1, -1, -1}, outside[3] = {0, 0, 1};
    static const float weights[4] = {1}, uvs[2];
    mmd_mesh_desc desc = one_vertex(NULL, bones, weights);
    mmd_mesh_extras extras = {.triangles = outside, .triangle_count = 1, .uvs = uvs};
    mmd_error err = {0};
    desc.normals = ORIGIN;
    mmd_mesh *mesh = mmd_mesh_new(&desc, &err);
    if (!CHECK(mesh))
        return;
    CHECK(!mmd_mesh_with_tangents(mesh, &extras, &err));
    CHECK(strcmp(err.text, "triangles: triangle 0: vertex 1 of 1") == 0);
    CHECK(!mmd_mesh_variant(mesh, MMD_METHOD_CENTERS_OF_ROTATION, &extras, &err));
    extras.triangles = NULL;
    static const mmd_method others[] = {MMD_METHOD_MMD, MMD_METHOD_LINEAR, (mmd_method)99};
    for (int i = 0; i < 3; i++) {
        err = (mmd_error){0};
        CHECK(!mmd_mesh_variant(mesh, others[i], &extras, &err));
        CHECK_INT(err.code, MMD_E_ARGUMENT);
    }
    mmd_mesh_free(mesh);
}

static bool stop_at_third_poll(void *polls)
{
    return ++*(int *)polls == 3;
}

/* A strip of triangles with other weights at each vertex. */
static void centers_can_be_interrupted(void)
{
    enum { COUNT = 3000 };
    static float positions[3 * COUNT], weights[2 * COUNT];
    static int32_t bones[2 * COUNT], triangles[3 * (COUNT - 2)];
    for (int v = 0; v < COUNT; v++) {
        positions[3 * v] = (float)v;
        positions[3 * v + 1] = (float)(v % 2);
        weights[2 * v + 1] = (float)v / COUNT;
        weights[2 * v] = 1 - weights[2 * v + 1];
        bones[2 * v + 1] = 1;
    }
    for (int t = 0; t < COUNT - 2; t++) {
        triangles[3 * t] = t;
        triangles[3 * t + 1] = t + 1;
        triangles[3 * t + 2] = t + 2;
    }
    int polls = 0;
    mmd_mesh_desc desc = {.vertex_count = COUNT,
                          .positions = positions,
                          .influence_count = 2,
                          .bone_indices = bones,
                          .bone_weights = weights};
    mmd_mesh_extras extras = {.triangles = triangles,
                              .triangle_count = COUNT - 2,
                              .interrupted = stop_at_third_poll,
                              .interrupted_arg = &polls};
    mmd_error err = {0};
    mmd_mesh *mesh = mmd_mesh_new(&desc, &err), *variant;
    if (!CHECK(mesh))
        return;
    CHECK(!mmd_mesh_variant(mesh, MMD_METHOD_CENTERS_OF_ROTATION, &extras, &err));
    CHECK_INT(err.code, MMD_E_INTERRUPTED);
    CHECK_INT(polls, 3);
    variant = mmd_mesh_variant(mesh, MMD_METHOD_CENTERS_OF_ROTATION, &extras, &err);
    CHECK(variant && polls > 3);
    mmd_mesh_free(variant);
    mmd_mesh_free(mesh);
}

void mesh_tests(void)
{
    RUN(centers_can_be_interrupted);
    RUN(extras_and_methods_of_other_meshes_are_refused);
    RUN(bdef1_has_weight_one);
    RUN(bdef2_uses_two_slots);
    RUN(two_bones_are_in_ascending_order);
    RUN(weights_are_divided_by_their_sum);
    RUN(weights_beyond_one_extrapolate);
    RUN(empty_slots_are_dropped);
    RUN(empty_slots_only_give_no_influence);
    RUN(weights_that_cancel_give_no_influence);
    RUN(duplicates_are_merged);
    RUN(more_bones_are_in_ascending_order);
    RUN(the_largest_slot_is_the_pivot);
    RUN(the_first_of_equal_slots_is_the_pivot);
    RUN(the_pivot_is_chosen_before_merging);
    RUN(extreme_weights_stay_finite);
    RUN(fewer_influences_are_accepted);
    RUN(types_become_kinds);
    RUN(sdef_falls_back_to_linear);
    RUN(sdef_has_a_corrected_center);
    RUN(swapped_sdef_bones_swap_r0_and_r1);
    RUN(directions_are_normalized);
    RUN(every_vertex_has_one_lane);
    RUN(an_empty_mesh_is_valid);
    RUN(errors_name_invalid_arguments);
    RUN(errors_name_invalid_morphs);
}
