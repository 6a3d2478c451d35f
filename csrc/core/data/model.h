/* SPDX-License-Identifier: MIT */
#ifndef MMD_MODEL_H
#define MMD_MODEL_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/text.h"

#include <stdint.h>

/* The contents of a PMX file (PMD files are brought into the same shape), as plain data.
   A loaded model is index-safe: every index is -1 or within its table, parents make no
   circle, every number is finite.
   Space: left-handed, +Y up, as in the file; angles in radians. docs/mmd-behaviour.md#pmx. */

enum { MMD_MAX_VERTICES = 1 << 26 }; /* of a model or a mesh */

typedef enum mmd_deform {
    MMD_BDEF1,
    MMD_BDEF2,
    MMD_BDEF4,
    MMD_SDEF,
    MMD_QDEF,
    MMD_DEFORM_COUNT
} mmd_deform;

enum {
    MMD_BONE_TAIL_IS_BONE = 0x0001,
    MMD_BONE_ROTATABLE = 0x0002,
    MMD_BONE_MOVABLE = 0x0004,
    MMD_BONE_VISIBLE = 0x0008,
    MMD_BONE_OPERABLE = 0x0010,
    MMD_BONE_IK = 0x0020,
    MMD_BONE_APPEND_LOCAL = 0x0080,
    MMD_BONE_APPEND_ROTATION = 0x0100,
    MMD_BONE_APPEND_TRANSLATION = 0x0200,
    MMD_BONE_FIXED_AXIS = 0x0400,
    MMD_BONE_LOCAL_AXES = 0x0800,
    MMD_BONE_AFTER_PHYSICS = 0x1000,
    MMD_BONE_EXTERNAL_PARENT = 0x2000,
};

typedef struct mmd_ik_link {
    int32_t bone;
    bool limited;
    float lower[3], upper[3]; /* lower <= upper */
} mmd_ik_link;

typedef struct mmd_ik {
    int32_t target;
    int32_t loop_count; /* as in the file */
    float unit_angle;
    size_t link_count;
    mmd_ik_link *links;
} mmd_ik;

typedef struct mmd_bone {
    mmd_text name, name_english;
    float position[3];
    int32_t parent;
    int32_t layer;
    uint16_t flags; /* as in the file */
    int32_t tail_bone;
    float tail_offset[3];
    int32_t append_source; /* meaningful when a flag APPEND_ROTATION or APPEND_TRANSLATION is set */
    float append_ratio;
    float fixed_axis[3];
    float local_x[3], local_z[3];
    int32_t external_parent;
    mmd_ik *ik; /* NULL: not an IK bone */
} mmd_bone;

typedef enum mmd_morph_kind {
    MMD_MORPH_GROUP,
    MMD_MORPH_VERTEX,
    MMD_MORPH_BONE,
    MMD_MORPH_UV,
    MMD_MORPH_UV1,
    MMD_MORPH_UV2,
    MMD_MORPH_UV3,
    MMD_MORPH_UV4,
    MMD_MORPH_MATERIAL,
    MMD_MORPH_FLIP,
    MMD_MORPH_IMPULSE,
    MMD_MORPH_KIND_COUNT
} mmd_morph_kind;

/* Offset i names the element indices[i] (morph, vertex, bone, material or rigid body by kind) and
   has mmd_morph_width(kind) numbers: ratio (group, flip) · x y z (vertex) · translation, rotation
   xyzw (bone) · 4 numbers (UV) · op, diffuse 4, specular 3, specular power, ambient 3, edge colour
   4, edge size, texture 4, sphere 4, toon 4 (material; op 0 multiplies, 1 adds; index -1: all
   materials) · local, velocity 3, torque 3 (impulse). Offsets whose index points nowhere are left
   out. */
typedef struct mmd_morph {
    mmd_text name, name_english;
    uint8_t panel;
    mmd_morph_kind kind;
    size_t offset_count;
    int32_t *indices;
    float *values;
} mmd_morph;

typedef struct mmd_material {
    mmd_text name, name_english, memo;
    float diffuse[4], specular[3], specular_power, ambient[3];
    uint8_t flags;
    float edge_color[4], edge_size;
    int32_t texture, sphere_texture;
    uint8_t sphere_mode; /* 0 none, 1 multiply, 2 add, 3 sub-texture */
    bool shared_toon;
    int32_t toon;        /* 0-9 when shared, else a texture or -1 */
    int32_t index_count; /* the counts of all materials together are at most 3 x triangle_count */
} mmd_material;

typedef struct mmd_frame_element {
    uint8_t kind; /* 0 bone, 1 morph */
    int32_t index;
} mmd_frame_element;

typedef struct mmd_display_frame {
    mmd_text name, name_english;
    bool special;
    size_t element_count;
    mmd_frame_element *elements;
} mmd_display_frame;

typedef struct mmd_rigid_body {
    mmd_text name, name_english;
    int32_t bone;
    uint8_t group;
    uint16_t mask;
    uint8_t shape; /* 0 sphere, 1 box, 2 capsule */
    float size[3], position[3], rotation[3];
    float mass, linear_damping, angular_damping, restitution, friction;
    uint8_t mode; /* 0 follow bone, 1 physics, 2 physics and bone */
} mmd_rigid_body;

typedef struct mmd_joint {
    mmd_text name, name_english;
    uint8_t kind; /* 0 spring 6DOF, 1 6DOF, 2 point to point, 3 cone twist, 4 slider, 5 hinge */
    int32_t body_a, body_b;
    float position[3], rotation[3];
    float translation_lower[3], translation_upper[3], rotation_lower[3], rotation_upper[3];
    float translation_spring[3], rotation_spring[3];
} mmd_joint;

typedef struct mmd_model {
    mmd_arena arena; /* owns everything below */
    float version;
    mmd_text name, name_english, comment, comment_english;

    size_t vertex_count;
    size_t additional_uv_count; /* 0-4 sets */
    float *positions;           /* (V,3) */
    float *normals;             /* (V,3) */
    float *uvs;                 /* (V,2) */
    float *additional_uvs;      /* (V,n,4) */
    float *edge_scales;         /* (V,) */
    uint8_t *deform;            /* (V,) mmd_deform as in the file */
    int32_t *bone_indices;      /* (V,4), -1 in unused slots */
    float *bone_weights; /* (V,4), 0 in unused slots; BDEF1 has 1, BDEF2 and SDEF w0, 1 - w0 */
    float *sdef;         /* (V,3,3): C, R0, R1; zero where the type is not SDEF */

    size_t triangle_count, texture_count, material_count, bone_count, morph_count;
    size_t display_frame_count, rigid_body_count, joint_count, soft_body_count;
    int32_t *triangles; /* (T,3), material after material */
    mmd_text *textures;
    mmd_material *materials;
    mmd_bone *bones;
    mmd_morph *morphs;
    mmd_display_frame *display_frames;
    mmd_rigid_body *rigid_bodies;
    mmd_joint *joints;
} mmd_model;

/* Numbers per offset of a morph of this kind. */
size_t mmd_morph_width(mmd_morph_kind kind);

void mmd_model_free(mmd_model *model);

#endif
