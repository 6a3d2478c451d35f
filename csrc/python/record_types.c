/* SPDX-License-Identifier: MIT */
/* The records of csrc/mmdskin/records.py, and the fields of those that are made from structs, in
   the same order. */
#include "python/record.h"

#include <stddef.h>

/* clang-format off */
#define TEXT(type, member) \
    {.name = #member, .get = mmd_py_field_get_text, .set = mmd_py_field_set_text, .offset = offsetof(type, member)}
#define MEMBER(field, type, member, what) \
    {.name = field, .get = mmd_py_field_get_##what, .set = mmd_py_field_set_##what, \
     .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)}
#define INTEGER(type, member) MEMBER(#member, type, member, integer)
#define NUMBER(type, member) MEMBER(#member, type, member, number)
#define BOOL(type, member) MEMBER(#member, type, member, bool)
#define VECTOR(type, member) MEMBER(#member, type, member, vector)
#define ENUM(type, member, list) \
    {.name = #member, .get = mmd_py_field_get_enum, .set = mmd_py_field_set_enum, .offset = offsetof(type, member), \
     .size = sizeof(list) / sizeof *(list), .as.names = list}
#define KEYS(type, member, number, width, height) \
    {.name = #member, .get = mmd_py_field_get_keys, .set = mmd_py_field_set_keys, .offset = offsetof(type, member), \
     .as.keys = {MMD_PY_##number, offsetof(type, key_count), width, height}}
#define FLAG(field, bit) \
    {.name = field, .get = mmd_py_field_get_bone_flag, .set = mmd_py_field_set_bone_flag, .as.flag = bit}
/* Computed from the whole struct. */
#define STRUCT(field, what) {.name = field, .get = mmd_py_field_get_##what, .set = mmd_py_field_set_##what}
/* clang-format on */

static const char *const morph_kinds[MMD_MORPH_KIND_COUNT] = {
    "group", "vertex", "bone", "uv", "uv1", "uv2", "uv3", "uv4", "material", "flip", "impulse"};
static const char *const sphere_modes[MMD_SPHERE_MODE_COUNT] = {"none", "multiply", "add",
                                                                "sub_texture"};
static const char *const shapes[MMD_SHAPE_COUNT] = {"sphere", "box", "capsule"};
static const char *const modes[MMD_BODY_MODE_COUNT] = {"follow_bone", "physics",
                                                       "physics_and_bone"};
static const char *const joint_kinds[MMD_JOINT_KIND_COUNT] = {
    "spring_6dof", "6dof", "point_to_point", "cone_twist", "slider", "hinge"};

static const mmd_py_record_field bone_fields[] = {
    TEXT(mmd_bone, name),
    TEXT(mmd_bone, name_english),
    VECTOR(mmd_bone, position),
    INTEGER(mmd_bone, parent),
    INTEGER(mmd_bone, layer),
    INTEGER(mmd_bone, flags),
    MEMBER("tail_bone", mmd_bone, tail_bone, tail_bone),
    MEMBER("tail_offset", mmd_bone, tail_offset, tail_offset),
    STRUCT("append", append),
    MEMBER("fixed_axis", mmd_bone, fixed_axis, fixed_axis),
    STRUCT("local_axes", local_axes),
    MEMBER("external_parent", mmd_bone, external_parent, external_parent),
    FLAG("after_physics", MMD_BONE_AFTER_PHYSICS),
    STRUCT("ik", ik),
};

static const mmd_py_record_field append_fields[] = {
    MEMBER("source", mmd_bone, append_source, integer),
    MEMBER("ratio", mmd_bone, append_ratio, number),
    FLAG("rotation", MMD_BONE_APPEND_ROTATION),
    FLAG("translation", MMD_BONE_APPEND_TRANSLATION),
    FLAG("local", MMD_BONE_APPEND_LOCAL),
};

static const mmd_py_record_field ik_fields[] = {
    INTEGER(mmd_ik, target),
    INTEGER(mmd_ik, loop_count),
    NUMBER(mmd_ik, unit_angle),
    STRUCT("links", ik_links),
};

static const mmd_py_record_field ik_link_fields[] = {
    INTEGER(mmd_ik_link, bone),
    MEMBER("lower", mmd_ik_link, lower, ik_limit),
    MEMBER("upper", mmd_ik_link, upper, ik_limit),
};

static const mmd_py_record_field morph_fields[] = {
    TEXT(mmd_morph, name),
    TEXT(mmd_morph, name_english),
    INTEGER(mmd_morph, panel),
    {.name = "kind",
     .get = mmd_py_field_get_morph_kind,
     .set = mmd_py_field_set_morph_kind,
     .as.names = morph_kinds},
    STRUCT("indices", morph_indices),
    STRUCT("values", morph_values),
};

static const mmd_py_record_field material_fields[] = {
    TEXT(mmd_material, name),
    TEXT(mmd_material, name_english),
    VECTOR(mmd_material, diffuse),
    VECTOR(mmd_material, specular),
    NUMBER(mmd_material, specular_power),
    VECTOR(mmd_material, ambient),
    INTEGER(mmd_material, flags),
    VECTOR(mmd_material, edge_color),
    NUMBER(mmd_material, edge_size),
    INTEGER(mmd_material, texture),
    INTEGER(mmd_material, sphere_texture),
    ENUM(mmd_material, sphere_mode, sphere_modes),
    INTEGER(mmd_material, toon),
    BOOL(mmd_material, shared_toon),
    TEXT(mmd_material, memo),
    INTEGER(mmd_material, index_count),
};

static const mmd_py_record_field display_frame_fields[] = {
    TEXT(mmd_display_frame, name),
    TEXT(mmd_display_frame, name_english),
    BOOL(mmd_display_frame, special),
    STRUCT("elements", frame_elements),
};

static const mmd_py_record_field rigid_body_fields[] = {
    TEXT(mmd_rigid_body, name),
    TEXT(mmd_rigid_body, name_english),
    INTEGER(mmd_rigid_body, bone),
    INTEGER(mmd_rigid_body, group),
    INTEGER(mmd_rigid_body, mask),
    ENUM(mmd_rigid_body, shape, shapes),
    VECTOR(mmd_rigid_body, size),
    VECTOR(mmd_rigid_body, position),
    VECTOR(mmd_rigid_body, rotation),
    NUMBER(mmd_rigid_body, mass),
    NUMBER(mmd_rigid_body, linear_damping),
    NUMBER(mmd_rigid_body, angular_damping),
    NUMBER(mmd_rigid_body, restitution),
    NUMBER(mmd_rigid_body, friction),
    ENUM(mmd_rigid_body, mode, modes),
};

static const mmd_py_record_field joint_fields[] = {
    TEXT(mmd_joint, name),
    TEXT(mmd_joint, name_english),
    ENUM(mmd_joint, kind, joint_kinds),
    INTEGER(mmd_joint, body_a),
    INTEGER(mmd_joint, body_b),
    VECTOR(mmd_joint, position),
    VECTOR(mmd_joint, rotation),
    VECTOR(mmd_joint, translation_lower),
    VECTOR(mmd_joint, translation_upper),
    VECTOR(mmd_joint, rotation_lower),
    VECTOR(mmd_joint, rotation_upper),
    VECTOR(mmd_joint, translation_spring),
    VECTOR(mmd_joint, rotation_spring),
};

static const mmd_py_record_field bone_track_fields[] = {
    TEXT(mmd_bone_track, name),
    KEYS(mmd_bone_track, frames, UINT32, 0, 0),
    KEYS(mmd_bone_track, translations, FLOAT32, 3, 0),
    KEYS(mmd_bone_track, rotations, FLOAT32, 4, 0),
    KEYS(mmd_bone_track, interpolation, UINT8, 4, 4),
    KEYS(mmd_bone_track, physics, BOOL, 0, 0),
    KEYS(mmd_bone_track, stored, UINT8, MMD_STORED_SIZE, 0),
};

static const mmd_py_record_field morph_track_fields[] = {
    TEXT(mmd_morph_track, name),
    KEYS(mmd_morph_track, frames, UINT32, 0, 0),
    KEYS(mmd_morph_track, weights, FLOAT32, 0, 0),
};

static const mmd_py_record_field camera_track_fields[] = {
    KEYS(mmd_camera_track, frames, UINT32, 0, 0),
    KEYS(mmd_camera_track, distances, FLOAT32, 0, 0),
    KEYS(mmd_camera_track, targets, FLOAT32, 3, 0),
    KEYS(mmd_camera_track, rotations, FLOAT32, 3, 0),
    KEYS(mmd_camera_track, interpolation, UINT8, 6, 4),
    KEYS(mmd_camera_track, view_angles, FLOAT32, 0, 0),
    KEYS(mmd_camera_track, perspective, BOOL, 0, 0),
};

static const mmd_py_record_field light_track_fields[] = {
    KEYS(mmd_light_track, frames, UINT32, 0, 0),
    KEYS(mmd_light_track, colors, FLOAT32, 3, 0),
    KEYS(mmd_light_track, directions, FLOAT32, 3, 0),
};

static const mmd_py_record_field shadow_track_fields[] = {
    KEYS(mmd_shadow_track, frames, UINT32, 0, 0),
    KEYS(mmd_shadow_track, modes, UINT8, 0, 0),
    KEYS(mmd_shadow_track, distances, FLOAT32, 0, 0),
};

static const mmd_py_record_field property_track_fields[] = {
    KEYS(mmd_property_track, frames, UINT32, 0, 0),
    KEYS(mmd_property_track, visible, BOOL, 0, 0),
    STRUCT("ik_names", ik_names),
    STRUCT("ik_enabled", ik_enabled),
};

#define FIELDS(list) sizeof(list) / sizeof *(list), (list)

const mmd_py_record_type mmd_py_record_types[MMD_PY_RECORD_COUNT] = {
    [MMD_PY_RECORD_SKINNED] = {.name = "Skinned"},
    [MMD_PY_RECORD_POSE] = {.name = "Pose"},
    [MMD_PY_RECORD_BACKEND] = {.name = "Backend"},
    [MMD_PY_RECORD_RENDERED] = {.name = "Rendered"},
    [MMD_PY_RECORD_CAMERA] = {.name = "Camera"},
    [MMD_PY_RECORD_LIGHT] = {.name = "Light"},
    [MMD_PY_RECORD_SHADOW] = {.name = "Shadow"},
    [MMD_PY_RECORD_PHYSICS] = {.name = "Physics"},
    [MMD_PY_RECORD_BONE] = {"Bone", sizeof(mmd_bone), FIELDS(bone_fields)},
    [MMD_PY_RECORD_APPEND] = {"Append", sizeof(mmd_bone), FIELDS(append_fields)},
    [MMD_PY_RECORD_IK] = {"IK", sizeof(mmd_ik), FIELDS(ik_fields)},
    [MMD_PY_RECORD_IK_LINK] = {"IKLink", sizeof(mmd_ik_link), FIELDS(ik_link_fields)},
    [MMD_PY_RECORD_MORPH] = {"Morph", sizeof(mmd_morph), FIELDS(morph_fields)},
    [MMD_PY_RECORD_MATERIAL] = {"Material", sizeof(mmd_material), FIELDS(material_fields)},
    [MMD_PY_RECORD_DISPLAY_FRAME] = {"DisplayFrame", sizeof(mmd_display_frame),
                                     FIELDS(display_frame_fields)},
    [MMD_PY_RECORD_RIGID_BODY] = {"RigidBody", sizeof(mmd_rigid_body), FIELDS(rigid_body_fields)},
    [MMD_PY_RECORD_JOINT] = {"Joint", sizeof(mmd_joint), FIELDS(joint_fields)},
    [MMD_PY_RECORD_BONE_TRACK] = {"BoneTrack", sizeof(mmd_bone_track), FIELDS(bone_track_fields)},
    [MMD_PY_RECORD_MORPH_TRACK] = {"MorphTrack", sizeof(mmd_morph_track),
                                   FIELDS(morph_track_fields)},
    [MMD_PY_RECORD_CAMERA_TRACK] = {"CameraTrack", sizeof(mmd_camera_track),
                                    FIELDS(camera_track_fields)},
    [MMD_PY_RECORD_LIGHT_TRACK] = {"LightTrack", sizeof(mmd_light_track),
                                   FIELDS(light_track_fields)},
    [MMD_PY_RECORD_SHADOW_TRACK] = {"ShadowTrack", sizeof(mmd_shadow_track),
                                    FIELDS(shadow_track_fields)},
    [MMD_PY_RECORD_PROPERTY_TRACK] = {"PropertyTrack", sizeof(mmd_property_track),
                                      FIELDS(property_track_fields)},
    [MMD_PY_RECORD_UNMATCHED] = {.name = "Unmatched"},
    [MMD_PY_RECORD_FIT_REPORT] = {.name = "FitReport"},
};
