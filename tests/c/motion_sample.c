/* SPDX-License-Identifier: MIT */
#include "motion_sample.h"

#include <string.h>

const char vpd_sample[] = "Vocaloid Pose Data file\r\n\r\nmiku.osm;\r\n1;\r\n\r\n"
                          "Bone0{a\r\n  1.5,0,-2;\r\n  0,1,0,0;\r\n}\r\n";

static void put(vmd_sample *sample, const void *bytes, size_t size)
{
    memcpy(sample->bytes + sample->size, bytes, size);
    sample->size += size;
}

/* A text in a field of zeros. */
static void put_field(vmd_sample *sample, const char *text, size_t size)
{
    memcpy(sample->bytes + sample->size, text, strlen(text));
    sample->size += size;
}

static void put32(vmd_sample *sample, uint32_t value)
{
    put(sample, &value, sizeof value);
}

static void put_floats(vmd_sample *sample, size_t count, float first)
{
    for (size_t i = 0; i < count; i++) {
        float value = first + (float)i;
        put(sample, &value, sizeof value);
    }
}

static void put_bone_key(vmd_sample *sample, uint32_t frame)
{
    uint8_t curves[64];
    for (int i = 0; i < 64; i++)
        curves[i] = i / 4 % 4 < 2 ? 20 : 107; /* x1 y1 x2 y2 of four channels, then shifted rows */
    put_field(sample, "a", 15);
    put32(sample, frame);
    put_floats(sample, 3, (float)frame);
    const float rotation[4] = {0, 0, 2, 0};
    put(sample, rotation, sizeof rotation);
    put(sample, curves, sizeof curves);
}

static void put_morph_key(vmd_sample *sample, uint32_t frame, float weight)
{
    put_field(sample, "m", 15);
    put32(sample, frame);
    put_floats(sample, 1, weight);
}

vmd_sample vmd_sample_new(void)
{
    vmd_sample sample = {0};
    put_field(&sample, "Vocaloid Motion Data 0002", 30);
    put_field(&sample, "miku", 20);
    put32(&sample, 3);
    put_bone_key(&sample, 20);
    put_bone_key(&sample, 0);
    put_bone_key(&sample, 10);
    put32(&sample, 2);
    put_morph_key(&sample, 8, 1);
    put_morph_key(&sample, 4, 0.5f);
    put32(&sample, 1); /* camera: frame, distance, target, rotation, curves, angle, projection */
    put32(&sample, 3);
    put_floats(&sample, 7, -45);
    put_field(&sample, "", 24);
    put32(&sample, 30);
    put_field(&sample, "", 1);
    put32(&sample, 1); /* light: frame, color, direction */
    put32(&sample, 3);
    put_floats(&sample, 6, 0);
    put32(&sample, 1); /* shadow: frame, mode, distance */
    put32(&sample, 3);
    put_field(&sample, "\1", 1);
    put_floats(&sample, 1, 0.1f);
    put32(&sample, 1); /* properties: frame, visible, count, names and switches */
    put32(&sample, 5);
    put_field(&sample, "\1", 1);
    put32(&sample, 1);
    put_field(&sample, "goal", 20);
    put_field(&sample, "", 1);
    return sample;
}
