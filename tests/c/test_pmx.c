/* SPDX-License-Identifier: MIT */
#include "core/model/model.h"
#include "core/model/morph.h"
#include "pmx_sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static void check_numbers(const float *got, size_t count, float (*number)(size_t, size_t),
                          size_t record, size_t first)
{
    for (size_t i = 0; i < count; i++)
        if (!CHECK_NEAR(got[i], number(record, first + i), 0))
            return;
}

static void check_header(const mmd_model *model, const pmx_layout *layout)
{
    CHECK(model->version == layout->version);
    CHECK_TEXT(model->name, u8"見本");
    CHECK_TEXT(model->name_english, "sample");
    CHECK_TEXT(model->comment, u8"一行\r\n二行");
    CHECK_TEXT(model->comment_english, "");
    CHECK_INT(model->additional_uv_count, layout->uv_sets);
}

static void check_geometry(const mmd_model *model, const pmx_layout *layout)
{
    static const uint8_t types[] = {MMD_BDEF1, MMD_BDEF2, MMD_BDEF4, MMD_SDEF, MMD_QDEF, MMD_BDEF2};
    static const int32_t bones[6][4] = {{3, -1, -1, -1}, {0, 1, -1, -1}, {0, 1, 2, 3},
                                        {1, 2, -1, -1},  {3, 2, 1, 0},   {2, -1, -1, -1}};
    static const float weights[6][4] = {{1},
                                        {0.75f, 0.25f},
                                        {0.5f, 0.375f, 0.25f, 0.125f},
                                        {0.75f, 0.25f},
                                        {0.5f, 0.375f, 0.25f, 0.125f},
                                        {0.75f, 0.25f}};
    static const int32_t corners[] = {0, 1, 2, 2, 3, 4, 3, 4, 5};
    if (!CHECK_INT(model->vertex_count, 6) || !CHECK_INT(model->triangle_count, 3))
        return;
    CHECK(memcmp(model->deform, types, sizeof types) == 0);
    CHECK(memcmp(model->bone_indices, bones, sizeof bones) == 0);
    CHECK(memcmp(model->bone_weights, weights, sizeof weights) == 0);
    CHECK(memcmp(model->triangles, corners, sizeof corners) == 0);
    for (size_t v = 0; v < 6; v++) {
        size_t uvs = 4u * layout->uv_sets;
        check_numbers(model->positions + 3 * v, 3, vertex_number, v, 0);
        check_numbers(model->normals + 3 * v, 3, vertex_number, v, 3);
        check_numbers(model->uvs + 2 * v, 2, vertex_number, v, 6);
        check_numbers(model->additional_uvs + uvs * v, uvs, vertex_number, v, 8);
        check_numbers(model->edge_scales + v, 1, vertex_number, v, 60);
        const float *sdef = model->sdef + 9 * v;
        if (v == 3)
            check_numbers(sdef, 9, record_number, 1, 0);
        else
            CHECK_FLOATS(sdef, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }
}

static void check_materials(const mmd_model *model)
{
    if (!CHECK_INT(model->texture_count, 2) || !CHECK_INT(model->material_count, 2))
        return;
    CHECK_TEXT(model->textures[0], "tex\\body.png");
    CHECK_TEXT(model->textures[1], u8"表情.bmp");
    for (size_t m = 0; m < 2; m++) {
        const mmd_material *material = &model->materials[m];
        CHECK_TEXT(material->name, u8"材質");
        CHECK_TEXT(material->name_english, "material");
        CHECK_TEXT(material->memo, u8"メモ");
        check_numbers(material->diffuse, 4, record_number, m, 0);
        check_numbers(material->specular, 3, record_number, m, 4);
        check_numbers(&material->specular_power, 1, record_number, m, 7);
        check_numbers(material->ambient, 3, record_number, m, 8);
        check_numbers(material->edge_color, 4, record_number, m, 11);
        check_numbers(&material->edge_size, 1, record_number, m, 15);
        CHECK_INT(material->flags, m ? 0x0E : 0x11);
        CHECK_INT(material->texture, m ? -1 : 1);
        CHECK_INT(material->sphere_texture, m ? 0 : -1);
        CHECK_INT(material->sphere_mode, m ? 2 : 0);
        CHECK_INT(material->shared_toon, m == 0);
        CHECK_INT(material->toon, m ? 1 : 7);
        CHECK_INT(material->index_count, m ? 3 : 6);
    }
}

static void check_bones(const mmd_model *model)
{
    static const int32_t parents[] = {-1, 0, 1, 0}, layers[] = {0, -1, 2, 0};
    static const int32_t tails[] = {-1, 2, -1, -1};
    static const uint16_t flags[] = {0x001E, 0x001B, 0x3D80, 0x0220};
    if (!CHECK_INT(model->bone_count, 4))
        return;
    const mmd_bone *bones = model->bones;
    for (size_t b = 0; b < 4; b++) {
        CHECK_TEXT(bones[b].name, u8"ボーン");
        CHECK_TEXT(bones[b].name_english, "bone");
        check_numbers(bones[b].position, 3, record_number, b, 0);
        if (b != 1)
            check_numbers(bones[b].tail_offset, 3, record_number, b, 3);
        CHECK_INT(bones[b].parent, parents[b]);
        CHECK_INT(bones[b].layer, layers[b]);
        CHECK_INT(bones[b].flags, flags[b]);
        CHECK_INT(bones[b].tail_bone, tails[b]);
        CHECK((bones[b].ik != NULL) == (b == 3));
    }
    CHECK_INT(bones[2].append_source, 1);
    CHECK(bones[2].append_ratio == -0.5f);
    check_numbers(bones[2].fixed_axis, 3, record_number, 2, 6);
    check_numbers(bones[2].local_x, 3, record_number, 2, 9);
    check_numbers(bones[2].local_z, 3, record_number, 2, 12);
    CHECK_INT(bones[2].external_parent, -77);
    CHECK_INT(bones[3].append_source, 0);
    CHECK(bones[3].append_ratio == 2);
}

static void check_ik(const mmd_model *model)
{
    const mmd_ik *ik = model->bone_count == 4 ? model->bones[3].ik : NULL;
    if (!CHECK(ik) || !CHECK_INT(ik->link_count, 2))
        return;
    CHECK_INT(ik->target, 2);
    CHECK_INT(ik->loop_count, 40);
    CHECK(ik->unit_angle == 0.5f);
    CHECK_INT(ik->links[0].bone, 1);
    CHECK(ik->links[0].limited && !ik->links[1].limited);
    CHECK_FLOATS(ik->links[0].lower, 3, 1, -2, 1);
    CHECK_FLOATS(ik->links[0].upper, 3, 3, 2, 3);
    CHECK_INT(ik->links[1].bone, 0);
}

static void check_morphs(const mmd_model *model)
{
    static const size_t counts[] = {2, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1};
    static const int32_t first[] = {1, 5, 2, 3, 3, 3, 3, 3, -1, 1, 1};
    if (!CHECK_INT(model->morph_count, MMD_MORPH_KIND_COUNT))
        return;
    for (size_t k = 0; k < MMD_MORPH_KIND_COUNT; k++) {
        const mmd_morph *morph = &model->morphs[k];
        CHECK_TEXT(morph->name, u8"あ");
        CHECK_TEXT(morph->name_english, "a");
        CHECK_INT(morph->panel, k % 5);
        CHECK_INT(morph->kind, k);
        if (!CHECK_INT(morph->offset_count, counts[k]))
            return;
        CHECK_INT(morph->indices[0], first[k]);
        if (k >= MMD_MORPH_UV && k <= MMD_MORPH_UV4)
            check_numbers(morph->values, 4, record_number, k - MMD_MORPH_UV, 0);
    }
    const mmd_morph *morphs = model->morphs;
    CHECK_INT(morphs[MMD_MORPH_GROUP].indices[1], 2);
    CHECK_FLOATS(morphs[MMD_MORPH_GROUP].values, 2, 0.5f, 0.5f);
    CHECK_INT(morphs[MMD_MORPH_VERTEX].indices[1], 4);
    check_numbers(morphs[MMD_MORPH_VERTEX].values, 3, record_number, 0, 0);
    check_numbers(morphs[MMD_MORPH_VERTEX].values + 3, 3, record_number, 1, 0);
    check_numbers(morphs[MMD_MORPH_BONE].values, 7, record_number, 0, 1);
    CHECK_INT(morphs[MMD_MORPH_MATERIAL].indices[1], 1);
    CHECK(morphs[MMD_MORPH_MATERIAL].values[0] == 0);
    check_numbers(morphs[MMD_MORPH_MATERIAL].values + 1, 28, record_number, 0, 0);
    CHECK(morphs[MMD_MORPH_MATERIAL].values[29] == 1);
    check_numbers(morphs[MMD_MORPH_MATERIAL].values + 30, 28, record_number, 1, 0);
    CHECK_FLOATS(morphs[MMD_MORPH_FLIP].values, 1, 0.25f);
    CHECK(morphs[MMD_MORPH_IMPULSE].values[0] == 1);
    check_numbers(morphs[MMD_MORPH_IMPULSE].values + 1, 6, record_number, 0, 0);
}

static void check_display_frames(const mmd_model *model)
{
    if (!CHECK_INT(model->display_frame_count, 2))
        return;
    const mmd_display_frame *frames = model->display_frames;
    CHECK_TEXT(frames[0].name, "Root");
    CHECK(frames[0].special && !frames[1].special);
    CHECK_INT(frames[0].element_count, 0);
    CHECK_TEXT(frames[1].name, u8"表情");
    CHECK_TEXT(frames[1].name_english, "Exp");
    if (!CHECK_INT(frames[1].element_count, 2))
        return;
    CHECK_INT(frames[1].elements[0].kind, 0);
    CHECK_INT(frames[1].elements[0].index, 3);
    CHECK_INT(frames[1].elements[1].kind, 1);
    CHECK_INT(frames[1].elements[1].index, 10);
}

static void check_physics(const mmd_model *model, const pmx_layout *layout)
{
    CHECK_INT(model->soft_body_count, layout->soft_body);
    if (!CHECK_INT(model->rigid_body_count, 2) || !CHECK_INT(model->joint_count, 1))
        return;
    for (size_t i = 0; i < 2; i++) {
        const mmd_rigid_body *body = &model->rigid_bodies[i];
        CHECK_TEXT(body->name, u8"剛体");
        CHECK_INT(body->bone, i ? -1 : 2);
        CHECK_INT(body->group, i ? 15 : 3);
        CHECK_INT(body->mask, 0xFFF0);
        CHECK_INT(body->shape, i ? 2 : 1);
        CHECK_INT(body->mode, i ? 1 : 2);
        check_numbers(body->size, 3, record_number, i, 0);
        check_numbers(body->position, 3, record_number, i, 3);
        check_numbers(body->rotation, 3, record_number, i, 6);
        check_numbers(&body->mass, 1, record_number, i, 9);
        check_numbers(&body->linear_damping, 1, record_number, i, 10);
        check_numbers(&body->angular_damping, 1, record_number, i, 11);
        check_numbers(&body->restitution, 1, record_number, i, 12);
        check_numbers(&body->friction, 1, record_number, i, 13);
    }
    const mmd_joint *joint = &model->joints[0];
    CHECK_TEXT(joint->name, u8"継手");
    CHECK_INT(joint->kind, 0);
    CHECK_INT(joint->body_a, 0);
    CHECK_INT(joint->body_b, 1);
    check_numbers(joint->position, 3, record_number, 3, 0);
    check_numbers(joint->rotation, 3, record_number, 3, 3);
    check_numbers(joint->translation_lower, 3, record_number, 3, 6);
    check_numbers(joint->translation_upper, 3, record_number, 3, 9);
    check_numbers(joint->rotation_lower, 3, record_number, 3, 12);
    check_numbers(joint->rotation_upper, 3, record_number, 3, 15);
    check_numbers(joint->translation_spring, 3, record_number, 3, 18);
    check_numbers(joint->rotation_spring, 3, record_number, 3, 21);
}

static void check_layout(pmx_layout layout)
{
    pmx_sample sample = pmx_sample_new(layout);
    mmd_error err = {0};
    mmd_model *model = mmd_model_load(sample.data, sample.size, &err);
    pmx_sample_free(&sample); /* the model does not refer to it */
    if (!CHECK(model))
        return;
    check_header(model, &layout);
    check_geometry(model, &layout);
    check_materials(model);
    check_bones(model);
    check_ik(model);
    check_morphs(model);
    check_display_frames(model);
    check_physics(model, &layout);
    mmd_model_free(model);
}

static void every_section_is_read(void)
{
    check_layout(pmx_sample_layout());
}

static void version_2_0_is_read(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.version = 2.0f;
    layout.soft_body = false;
    check_layout(layout);
}

static void both_encodings_are_read(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.encoding = MMD_UTF8;
    check_layout(layout);
}

static void every_index_size_is_read(void)
{
    static const uint8_t sizes[] = {1, 2, 4};
    for (int kind = 0; kind < 6; kind++)
        for (int i = 0; i < 3; i++) {
            pmx_layout layout = pmx_sample_layout();
            layout.index_sizes[kind] = sizes[i];
            check_layout(layout);
        }
}

static void every_number_of_additional_uvs_is_read(void)
{
    for (uint8_t sets = 0; sets <= 4; sets++) {
        pmx_layout layout = pmx_sample_layout();
        layout.uv_sets = sets;
        check_layout(layout);
    }
}

static void soft_bodies_may_be_missing(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.soft_body = false;
    check_layout(layout);
}

/* One byte: 0 to 255; two bytes: 0 to 65535 (docs/mmd-behavior.md#pmx-indices). */
static void small_vertex_indices_are_unsigned(void)
{
    pmx_layout layout = pmx_sample_layout();
    layout.extra_vertices = 250;
    pmx_sample sample = pmx_sample_new(layout);
    pmx_sample_put(&sample, sample.marks[MARK_FACE_COUNT] + 4, 1, 255);
    mmd_model *model = mmd_model_load(sample.data, sample.size, NULL);
    CHECK(model && model->triangle_count == 3 && model->triangles[0] == 255);
    mmd_model_free(model);
    pmx_sample_free(&sample);
}

static void an_empty_model_is_valid(void)
{
    uint8_t file[17 + 4 * 4 + 9 * 4] = {'P', 'M', 'X', ' ', 0, 0, 0, 0x40, 8,
                                        1,   0,   1,   1,   1, 1, 1, 1};
    uint8_t *exact = test_exact(file, sizeof file);
    mmd_error err = {0};
    mmd_model *model = mmd_model_load(exact, sizeof file, &err);
    CHECK(model && model->vertex_count == 0 && model->joint_count == 0);
    mmd_model_free(model);
    /* Without its last count. */
    CHECK(mmd_model_load(exact, sizeof file - 4, &err) == NULL);
    CHECK(strcmp(err.section, "joints") == 0);
    free(exact);
}

/* A file with `records` of the smallest size in one section: header, counts, zeros. */
static void check_smallest(int section, size_t record_size)
{
    enum { RECORDS = 50, HEADER = 17 + 4 * 4, SECTIONS = 10 };
    size_t size = HEADER + 4 * SECTIONS + RECORDS * record_size;
    uint8_t *file = calloc(1, size);
    memcpy(file, "PMX \x66\x66\x06\x40\x08\x01\0\1\1\1\1\1\1", 17);
    uint8_t *count = file + HEADER + 4 * section;
    *count = RECORDS;
    for (size_t i = 0; section == 4 && i < RECORDS; i++)
        count[4 + i * record_size + 25] = 1; /* its tail is a bone */
    mmd_error err = {0};
    mmd_model *model = mmd_model_load(file, size, &err);
    if (!CHECK(model))
        CHECK_TEXT(((mmd_text){err.section, strlen(err.section)}), "");
    mmd_model_free(model);
    free(file);
}

/* Sizes of docs/mmd-behavior.md#robust-reader with one-byte indices. */
static void counts_of_the_smallest_records_are_accepted(void)
{
    static const uint8_t sizes[] = {38, 1, 4, 86, 28, 14, 13, 70, 107, 142};
    for (int section = 0; section < 10; section++)
        check_smallest(section, sizes[section]);
}

static void null_may_be_freed(void)
{
    mmd_model_free(NULL);
}

static void each_morph_kind_has_its_width(void)
{
    static const size_t widths[] = {1, 3, 7, 4, 4, 4, 4, 4, 29, 1, 7};
    for (int kind = 0; kind < MMD_MORPH_KIND_COUNT; kind++)
        CHECK_INT(mmd_morph_width((mmd_morph_kind)kind), widths[kind]);
}

void pmx_tests(void)
{
    RUN(every_section_is_read);
    RUN(version_2_0_is_read);
    RUN(both_encodings_are_read);
    RUN(every_index_size_is_read);
    RUN(every_number_of_additional_uvs_is_read);
    RUN(soft_bodies_may_be_missing);
    RUN(small_vertex_indices_are_unsigned);
    RUN(an_empty_model_is_valid);
    RUN(counts_of_the_smallest_records_are_accepted);
    RUN(null_may_be_freed);
    RUN(each_morph_kind_has_its_width);
}
