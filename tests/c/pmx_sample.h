/* SPDX-License-Identifier: MIT */
#ifndef PMX_SAMPLE_H
#define PMX_SAMPLE_H

#include "mmdskin.h"

/* A small PMX file, written field by field as docs/mmd-behavior.md#pmx lists them: six vertices of
   all deform types, three triangles, two materials, four bones, a morph of each kind, and all that
   follows. Numbers come from the *_number functions, so that a reader's result can be told. */

enum { INDEX_VERTEX, INDEX_TEXTURE, INDEX_MATERIAL, INDEX_BONE, INDEX_MORPH, INDEX_BODY };

typedef struct pmx_layout {
    float version;
    uint8_t encoding; /* mmd_text_encoding */
    uint8_t uv_sets;
    uint8_t index_sizes[6];
    bool soft_body;
    size_t extra_vertices; /* BDEF1, after the six */
} pmx_layout;

/* Offsets in the file that tests overwrite. */
typedef enum pmx_mark {
    MARK_VERSION,
    MARK_SETTING_COUNT, /* the settings follow */
    MARK_NAME,
    MARK_VERTEX_COUNT, /* vertex 0 follows: BDEF1 */
    MARK_DEFORM,       /* of vertex 0; its bone and its edge scale follow */
    MARK_BDEF4_WEIGHTS,
    MARK_SDEF, /* C, R0, R1 */
    MARK_FACE_COUNT,
    MARK_TEXTURE_COUNT,
    MARK_MATERIAL_COUNT,
    MARK_TEXTURE_INDEX, /* of material 0; sphere texture, mode, toon sharing and toon follow */
    MARK_INDEX_COUNT,
    MARK_BONE_COUNT,
    MARK_PARENT, /* of bone 1 */
    MARK_BONE_FLAGS,
    MARK_IK_TARGET, /* loop count and unit angle follow */
    MARK_LINK_COUNT,
    MARK_MORPH_COUNT,
    MARK_MORPH_KIND, /* of the vertex morph; the count of its offsets and they follow */
    MARK_BONE_MORPH, /* its first offset */
    MARK_FRAME_COUNT,
    MARK_ELEMENT_COUNT, /* of frame 1; its elements follow */
    MARK_BODY_COUNT,
    MARK_BODY_BONE,  /* of body 0 */
    MARK_BODY_SHAPE, /* of body 0 */
    MARK_BODY_MODE,
    MARK_JOINT_COUNT,
    MARK_JOINT_KIND, /* of joint 0; its bodies follow */
    MARK_SOFT_BODY_COUNT,
    MARK_ANCHOR_COUNT,
    MARK_PIN_COUNT,
    MARK_COUNT
} pmx_mark;

typedef struct pmx_sample {
    pmx_layout layout;
    uint8_t *data; /* on the heap, exactly `size` bytes */
    size_t size;
    size_t marks[MARK_COUNT];
} pmx_sample;

/* Version 2.1 with the smallest index sizes, as editors write it. */
pmx_layout pmx_sample_layout(void);
pmx_sample pmx_sample_new(pmx_layout layout);
void pmx_sample_free(pmx_sample *sample);

/* Runs its body once with a new sample, of which the body overwrites a few bytes. */
#define WITH_SAMPLE(sample)                                                                        \
    for (pmx_sample sample = pmx_sample_new(pmx_sample_layout()); sample.data;                     \
         pmx_sample_free(&sample))

/* Overwrites `size` bytes with a little-endian integer. */
void pmx_sample_put(pmx_sample *sample, size_t offset, size_t size, int64_t value);
void pmx_sample_put_float(pmx_sample *sample, size_t offset, float value);

/* Field `field` of vertex, material, body or joint `record`. */
float vertex_number(size_t record, size_t field);
float record_number(size_t record, size_t field);

#endif
