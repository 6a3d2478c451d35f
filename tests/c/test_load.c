/* SPDX-License-Identifier: MIT */
#include "core/base/arena.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Small files of the simpler formats, with something in every part that allocates. */

typedef struct small_file {
    uint8_t bytes[4096];
    size_t size;
} small_file;

/* `size` bytes that begin with `text`; the rest are zero. */
static void put(small_file *file, const char *text, size_t size)
{
    memcpy(file->bytes + file->size, text, strlen(text));
    file->size += size;
}

static void put_number(small_file *file, uint32_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        file->bytes[file->size++] = (uint8_t)(number >> 8 * i);
}

/* A triangle, a material with two textures, a bone with two IK entries, a base and a vertex morph,
   a display frame, English names, toons, a body and a joint. */
static small_file pmd_file(void)
{
    small_file file = {.size = 0};
    put(&file, "Pmd", 3);
    put_number(&file, 0x3F800000, 4); /* version 1.0 */
    put(&file, "name", 20);
    put(&file, "comment", 256);
    put_number(&file, 3, 4);
    put(&file, "", 3 * 38);
    put_number(&file, 3, 4);
    put_number(&file, 0x00010000, 4);
    put_number(&file, 2, 2);
    put_number(&file, 1, 4);
    put(&file, "", 46);
    put_number(&file, 3, 4);
    put(&file, "a.bmp*b.sph", 20);
    put_number(&file, 1, 2);
    put(&file, "bone", 20);
    put_number(&file, 0xFFFF, 2);
    put(&file, "", 17);
    put_number(&file, 2, 2);
    for (int i = 0; i < 2; i++) {
        put(&file, "", 4);
        put_number(&file, 1, 1);
        put(&file, "", 6 + 2);
    }
    put_number(&file, 2, 2);
    for (uint32_t panel = 0; panel < 2; panel++) {
        put(&file, "morph", 20);
        put_number(&file, 1, 4);
        put_number(&file, panel, 1);
        put(&file, "", 16);
    }
    put_number(&file, 1, 1);
    put_number(&file, 1, 2);
    put_number(&file, 1, 1);
    put(&file, "frame\n", 50);
    put_number(&file, 1, 4);
    put_number(&file, 0x010000, 3);
    put_number(&file, 1, 1);
    put(&file, "english", 20 + 256);
    put(&file, "bone", 20);
    put(&file, "morph", 20);
    put(&file, "frame", 50);
    for (int i = 0; i < 10; i++)
        put(&file, "toon.bmp", 100);
    put_number(&file, 1, 4);
    put(&file, "body", 83);
    put_number(&file, 1, 4);
    put(&file, "joint", 124);
    return file;
}

/* Two bones with a key each, a morph, and a key of every other kind. */
static small_file vmd_file(void)
{
    small_file file = {.size = 0};
    put(&file, "Vocaloid Motion Data 0002", 30);
    put(&file, "name", 20);
    put_number(&file, 2, 4);
    put(&file, "one", 111);
    put(&file, "two", 111);
    put_number(&file, 1, 4);
    put(&file, "morph", 23);
    for (size_t size = 61; size > 0; size = size == 61 ? 28 : size == 28 ? 9 : 0) {
        put_number(&file, 1, 4);
        put(&file, "", size);
    }
    put_number(&file, 1, 4);
    put(&file, "", 5);
    put_number(&file, 1, 4);
    put(&file, "ik", 21);
    return file;
}

static const char vpd_text[] = "Vocaloid Pose Data file\n\nname.osm;\n2;\n"
                               "Bone0{one\n1,2,3;\n0,0,0,1;\n}\nMorph0{smile\n0.5;\n}\n";

static void check_memory_error(const mmd_error *err)
{
    CHECK_INT(err->code, MMD_E_MEMORY);
    CHECK(strcmp(err->text, "out of memory") == 0);
}

/* Makes each allocation fail in turn; returns how many there are. */
static long motion_allocations(const uint8_t *bytes, size_t size)
{
    mmd_motion *motion = NULL;
    long n = 0;
    for (; !motion; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        motion = mmd_motion_load(bytes, size, &err);
        if (!motion)
            check_memory_error(&err);
    }
    mmd_arena_fail_after(-1);
    mmd_motion_free(motion);
    return n;
}

static void a_pmd_survives_every_failing_allocation(void)
{
    small_file file = pmd_file();
    mmd_model *model = NULL;
    long n = 0;
    for (; !model; n++) {
        mmd_error err = {0};
        mmd_arena_fail_after(n);
        model = mmd_model_load(file.bytes, file.size, &err);
        if (!model)
            check_memory_error(&err);
        if (err.code == MMD_E_FORMAT)
            return;
    }
    mmd_arena_fail_after(-1);
    CHECK(n > 60);
    CHECK_INT(model->bone_count, 2);
    CHECK_INT(model->morph_count, 1);
    CHECK_INT(model->joint_count, 1);
    CHECK_TEXT(model->display_frames[2].name, "frame");
    CHECK_TEXT(model->textures[1], "b.sph");
    mmd_model_free(model);
}

/* Uninitialized memory of tests holds a pattern, which would be found in weights. */
static void a_pmd_has_four_weights_a_vertex(void)
{
    small_file file = pmd_file();
    mmd_error err = {0};
    mmd_model *model = mmd_model_load(file.bytes, file.size, &err);
    CHECK_INT(model->vertex_count, 3);
    for (size_t v = 0; v < model->vertex_count; v++)
        for (size_t i = 0; i < 4; i++)
            CHECK(model->bone_weights[4 * v + i] == (i == 0 ? 1 : 0));
    mmd_model_free(model);
}

static void a_vmd_survives_every_failing_allocation(void)
{
    small_file file = vmd_file();
    CHECK(motion_allocations(file.bytes, file.size) > 30);
}

static void a_vpd_survives_every_failing_allocation(void)
{
    CHECK(motion_allocations((const uint8_t *)vpd_text, sizeof vpd_text - 1) > 20);
}

/* A file may end only between its sections; nothing is read past its end. */
static void every_truncated_motion_is_read_or_rejected(void)
{
    small_file file = vmd_file();
    size_t read = 0;
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *exact = test_exact(file.bytes, size);
        mmd_error err = {0};
        mmd_motion *motion = mmd_motion_load(exact, size, &err);
        CHECK(motion || err.code == MMD_E_FORMAT);
        read += motion != NULL;
        mmd_motion_free(motion);
        free(exact);
    }
    CHECK(read > 0 && read < 30);
}

static void every_truncated_pmd_is_read_or_rejected(void)
{
    small_file file = pmd_file();
    size_t read = 0;
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *exact = test_exact(file.bytes, size);
        mmd_error err = {0};
        mmd_model *model = mmd_model_load(exact, size, &err);
        CHECK(model || err.code == MMD_E_FORMAT);
        read += model != NULL;
        mmd_model_free(model);
        free(exact);
    }
    CHECK(read > 0 && read < 10);
}

void load_tests(void)
{
    RUN(a_pmd_survives_every_failing_allocation);
    RUN(a_pmd_has_four_weights_a_vertex);
    RUN(a_vmd_survives_every_failing_allocation);
    RUN(a_vpd_survives_every_failing_allocation);
    RUN(every_truncated_motion_is_read_or_rejected);
    RUN(every_truncated_pmd_is_read_or_rejected);
}
