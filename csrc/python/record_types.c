/* SPDX-License-Identifier: MIT */
/* The classes of records and their fields, in order. A test compares them with the stub. */
#include "python/field.h"
#include "python/physics_record.h"
#include "python/record_defaults.h"

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
/* A value that the class is called with. */
#define VALUE(field) {.name = field}
/* clang-format on */

static const char *const morph_kinds[MMD_MORPH_KIND_COUNT] = {
    "group", "vertex", "bone", "uv", "uv1", "uv2", "uv3", "uv4", "material", "flip", "impulse"};
static const char *const sphere_modes[MMD_SPHERE_MODE_COUNT] = {"none", "multiply", "add",
                                                                "sub_texture"};
static const char *const shapes[MMD_BODY_SHAPE_COUNT] = {"sphere", "box", "capsule"};
static const char *const modes[MMD_BODY_MODE_COUNT] = {"follow_bone", "physics",
                                                       "physics_and_bone"};
static const char *const joint_kinds[MMD_JOINT_KIND_COUNT] = {
    "spring_6dof", "6dof", "point_to_point", "cone_twist", "slider", "hinge"};

static const mmd_py_record_field skinned_fields[] = {
    VALUE("positions"),
    VALUE("normals"),
    VALUE("tangents"),
};

static const mmd_py_record_field pose_fields[] = {
    VALUE("bone_matrices"),
    VALUE("morph_weights"),
};

static const mmd_py_record_field backend_fields[] = {
    VALUE("name"),
    VALUE("available"),
    VALUE("device"),
    VALUE("reason"),
};

static const mmd_py_record_field rendered_fields[] = {
    VALUE("image"),
    VALUE("depth"),
    VALUE("normals"),
    VALUE("triangles"),
};

static const mmd_py_record_field camera_fields[] = {
    VALUE("position"),
    VALUE("target"),
    VALUE("up"),
    VALUE("fov"),
};

static const mmd_py_record_field light_fields[] = {
    VALUE("color"),
    VALUE("direction"),
};

static const mmd_py_record_field shadow_fields[] = {
    VALUE("mode"),
    VALUE("distance"),
};

static const mmd_py_record_field physics_fields[] = {
    VALUE("gravity"),       VALUE("hz"),
    VALUE("iterations"),    VALUE("ground"),
    VALUE("damping_extra"), VALUE("joined_collide"),
    VALUE("start"),         VALUE("settle"),
    VALUE("teleport"),      VALUE("gravity_noise"),
    VALUE("gravity_seed"),
};

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

static const mmd_py_record_field unmatched_fields[] = {
    VALUE("bones"),
    VALUE("morphs"),
    VALUE("ik"),
};

static const mmd_py_record_field fit_report_fields[] = {
    VALUE("keys"),
    VALUE("worst"),
    VALUE("notes"),
};

#define FIELDS_WITH(list, defaults) sizeof(list) / sizeof *(list), (list), (defaults)
#define FIELDS(list) FIELDS_WITH(list, NULL)

const mmd_py_record_type mmd_py_record_types[MMD_PY_RECORD_COUNT] = {
    [MMD_PY_RECORD_SKINNED] =
        {"Skinned",
         "The result of skin(), float32 arrays.\n"
         "positions: (V,3) or (F,V,3) in model units\n"
         "normals: same shape, unit length; None if the mesh has none or they were not requested\n"
         "tangents: (V,3) or (V,4), with F in front for a batch; None if not requested",
         0, FIELDS(skinned_fields)},
    [MMD_PY_RECORD_POSE] =
        {"Pose",
         "Input of skin().\n"
         "bone_matrices: skinning matrices (B,4,4) or (F,B,4,4), row-major for column vectors\n"
         "morph_weights: slider values (M,) or (F,M); None: all zero",
         0, FIELDS(pose_fields)},
    [MMD_PY_RECORD_BACKEND] = {"Backend",
                               "A skinning backend.\n"
                               "name: \"gl\" or \"cpu\"\n"
                               "available: bool\n"
                               "device: name of the renderer or kernel; None if not available\n"
                               "reason: why it is not available; None if it is",
                               0, FIELDS(backend_fields)},
    [MMD_PY_RECORD_RENDERED] =
        {"Rendered",
         "The result of render(). A batch adds F in front of each shape; members that were not\n"
         "requested are None.\n"
         "image: (H,W,4) uint8 sRGB, straight alpha\n"
         "depth: (H,W) float32, distance along the view in model units, infinite for background\n"
         "normals: (H,W,3) float32 in model space, unit, facing the camera, zero for background\n"
         "triangles: (H,W) int32, row of the mesh's triangles, -1 for background",
         0, FIELDS(rendered_fields)},
    [MMD_PY_RECORD_CAMERA] =
        {"Camera",
         "A camera for render(). Each member may have an axis of frames in front.\n"
         "position, up: (3,) in MMD's left-handed space\n"
         "target: (3,) the point in the center of the picture\n"
         "fov: vertical field of view in degrees\n"
         "MMD's default is Camera((0, 10, -45), (0, 10, 0), (0, 1, 0), 30).",
         0, FIELDS(camera_fields)},
    [MMD_PY_RECORD_LIGHT] =
        {"Light",
         "The light, one or F of them. color: (3,) or (F,3), sRGB of 0 to 1; direction: (3,) or\n"
         "(F,3), the way in which it shines, of any length but zero.",
         0, FIELDS(light_fields)},
    [MMD_PY_RECORD_SHADOW] =
        {"Shadow",
         "Self-shadowing, once or in F frames. mode: () or (F,), 0 off, 1 or 2 MMD's modes;\n"
         "distance: () or (F,), as in the file.",
         0, FIELDS(shadow_fields)},
    [MMD_PY_RECORD_PHYSICS] =
        {"Physics",
         "Settings of a simulation. MMD's own are not public; defaults follow similar programs.\n"
         "gravity: (3,), model units per second squared, or (F,3), a row for each frame from 0 "
         "on;\n"
         "    linear between frames, the last row applies afterwards\n"
         "hz: steps per second, 1 to 100000. More steps make joints stiffer\n"
         "iterations: solver iterations per step, 1 to 1000\n"
         "ground: whether the plane y = 0 is solid, or the height of that plane\n"
         "damping_extra: Bullet's additional damping, which brings slow bodies to rest\n"
         "joined_collide: whether bodies connected by a joint collide\n"
         "start: first frame of the run; None: the first frame of the motion\n"
         "settle: number of steps to simulate in the start pose before the run; it begins earlier "
         "if\n"
         "    all bodies are at rest\n"
         "teleport: bodies restart at their bones after a jump of more units per frame; 0: never\n"
         "gravity_noise: largest random number added to each axis of gravity in each frame\n"
         "gravity_seed: of these random numbers, 0 to 2147483647",
         0, FIELDS_WITH(physics_fields, mmd_py_physics_record_defaults)},
    [MMD_PY_RECORD_BONE] = {"Bone",
                            "A bone of a model.\n"
                            "position: (x, y, z) in model units\n"
                            "parent: index of a bone or -1\n"
                            "layer: deform layer, which orders evaluation\n"
                            "flags: the bits in the file\n"
                            "tail_bone: index, or -1 to use tail_offset (x, y, z) instead\n"
                            "append: an Append or None\n"
                            "fixed_axis: (x, y, z) or None\n"
                            "local_axes: (x axis, z axis) or None\n"
                            "external_parent: its key or None\n"
                            "after_physics: whether the bone is evaluated after physics\n"
                            "ik: an IK or None",
                            sizeof(mmd_bone),
                            FIELDS_WITH(bone_fields, mmd_py_record_defaults_bone)},
    [MMD_PY_RECORD_APPEND] =
        {"Append",
         "A share of the motion of another bone.\n"
         "source: index of that bone, -1: none\n"
         "ratio: factor\n"
         "rotation, translation: whether each is appended\n"
         "local: use the source's motion in world space (the format calls this local)",
         sizeof(mmd_bone), FIELDS_WITH(append_fields, mmd_py_record_defaults_append)},
    [MMD_PY_RECORD_IK] = {"IK",
                          "An IK solver.\n"
                          "target: the bone that shall reach the IK bone (the end effector)\n"
                          "unit_angle: maximum angle per iteration and link, radians\n"
                          "links: tuple of IKLink, beginning next to the target",
                          sizeof(mmd_ik), FIELDS_WITH(ik_fields, mmd_py_record_defaults_ik)},
    [MMD_PY_RECORD_IK_LINK] =
        {"IKLink",
         "A bone that IK rotates.\n"
         "lower, upper: limits, Euler angles (x, y, z) in radians; None without limits",
         sizeof(mmd_ik_link), FIELDS_WITH(ik_link_fields, mmd_py_record_defaults_ik_link)},
    [MMD_PY_RECORD_MORPH] =
        {"Morph",
         "A morph. panel: 0 reserved, 1 eyebrow, 2 eye, 3 mouth, 4 other.\n"
         "kind: what indices (n,) int32 refer to, and the columns of values (n,k) float32:\n"
         "  \"group\", \"flip\": morphs; ratio\n"
         "  \"vertex\": vertices; x y z in model units\n"
         "  \"bone\": bones; translation x y z, rotation x y z w\n"
         "  \"uv\", \"uv1\" to \"uv4\": vertices; 4 numbers (\"uv\" uses two)\n"
         "  \"material\": materials (-1: all); operation (0 multiply, 1 add), diffuse 4,\n"
         "      specular 3, specular power, ambient 3, edge color 4, edge size, texture 4,\n"
         "      sphere 4, toon 4\n"
         "  \"impulse\": rigid bodies; local (0 or 1), impulse 3 (PMX calls it\n"
         "      velocity), torque 3",
         sizeof(mmd_morph), FIELDS_WITH(morph_fields, mmd_py_record_defaults_morph)},
    [MMD_PY_RECORD_MATERIAL] =
        {"Material",
         "A material. Colors are tuples of 0 to 1; diffuse and edge_color have an alpha.\n"
         "flags: the bits in the file\n"
         "texture, sphere_texture: indices of textures or -1\n"
         "sphere_mode: \"none\", \"multiply\", \"add\", \"sub_texture\"\n"
         "toon: index of a texture or -1; if shared_toon, 0 to 9 for toon01.bmp to toon10.bmp\n"
         "index_count: 3 per triangle; triangles are grouped by material, in this order",
         sizeof(mmd_material), FIELDS_WITH(material_fields, mmd_py_record_defaults_material)},
    [MMD_PY_RECORD_DISPLAY_FRAME] = {"DisplayFrame",
                                     "A group of bones and morphs in MMD's timeline.\n"
                                     "elements: tuple of (\"bone\" or \"morph\", index)",
                                     sizeof(mmd_display_frame),
                                     FIELDS_WITH(display_frame_fields,
                                                 mmd_py_record_defaults_display_frame)},
    [MMD_PY_RECORD_RIGID_BODY] = {"RigidBody",
                                  "A rigid body.\n"
                                  "bone: index or -1\n"
                                  "group: 0 to 15; mask: bits of the groups that it collides with\n"
                                  "shape: \"sphere\", \"box\", \"capsule\"\n"
                                  "size, position: model units; rotation: Euler angles in radians\n"
                                  "mode: \"follow_bone\", \"physics\", \"physics_and_bone\"",
                                  sizeof(mmd_rigid_body),
                                  FIELDS_WITH(rigid_body_fields,
                                              mmd_py_record_defaults_rigid_body)},
    [MMD_PY_RECORD_JOINT] =
        {"Joint",
         "A joint between two rigid bodies.\n"
         "kind: \"spring_6dof\", \"6dof\", \"point_to_point\", \"cone_twist\", \"slider\" or\n"
         "    \"hinge\"\n"
         "body_a, body_b: indices or -1\n"
         "Lengths are in model units, angles in radians.",
         sizeof(mmd_joint), FIELDS_WITH(joint_fields, mmd_py_record_defaults_joint)},
    [MMD_PY_RECORD_BONE_TRACK] =
        {"BoneTrack",
         "Keys of a bone.\n"
         "frames: (n,) uint32, 30 per second\n"
         "translations: (n,3) float32 in model units, relative to the rest position\n"
         "rotations: (n,4) float32 x y z w\n"
         "interpolation: (n,4,4) uint8 from the previous key to this one, rows x, y, z,\n"
         "    rotation, columns x1 y1 x2 y2 of 0 to 127\n"
         "physics: (n,) bool; False: until the next key, rigid bodies of the bone follow it\n"
         "stored: (n,80) uint8, 16 bytes of rotation and 64 of interpolation as the file has "
         "them,\n"
         "    or None if these are the bytes that Motion.save() makes of the other members. Files\n"
         "    differ in bytes that mean the same: those of keys that still say the same are "
         "written",
         sizeof(mmd_bone_track), FIELDS_WITH(bone_track_fields, mmd_py_record_defaults_bone_track)},
    [MMD_PY_RECORD_MORPH_TRACK] = {"MorphTrack",
                                   "Keys of a morph. frames: (n,) uint32; weights: (n,) float32.",
                                   sizeof(mmd_morph_track), FIELDS(morph_track_fields)},
    [MMD_PY_RECORD_CAMERA_TRACK] =
        {"CameraTrack",
         "Keys of the camera.\n"
         "frames: (n,) uint32\n"
         "distances: (n,) float32 in model units, negative in front of the target\n"
         "targets: (n,3) float32; rotations: (n,3) float32 Euler angles in radians\n"
         "interpolation: (n,6,4) uint8, rows x, y, z, rotation, distance, view angle, columns\n"
         "    x1 y1 x2 y2\n"
         "view_angles: (n,) float32 degrees\n"
         "perspective: (n,) bool",
         sizeof(mmd_camera_track), FIELDS(camera_track_fields)},
    [MMD_PY_RECORD_LIGHT_TRACK] =
        {"LightTrack", "Keys of the light. frames: (n,) uint32; colors, directions: (n,3) float32.",
         sizeof(mmd_light_track), FIELDS(light_track_fields)},
    [MMD_PY_RECORD_SHADOW_TRACK] =
        {"ShadowTrack",
         "Keys of self-shadowing.\n"
         "frames: (n,) uint32\n"
         "modes: (n,) uint8 of 0 to 2; distances: (n,) float32 as in the file",
         sizeof(mmd_shadow_track), FIELDS(shadow_track_fields)},
    [MMD_PY_RECORD_PROPERTY_TRACK] = {"PropertyTrack",
                                      "Visibility and IK switches, each valid until the next key.\n"
                                      "frames: (n,) uint32; visible: (n,) bool\n"
                                      "ik_names: tuple of k names; ik_enabled: (n,k) bool",
                                      sizeof(mmd_property_track), FIELDS(property_track_fields)},
    [MMD_PY_RECORD_UNMATCHED] =
        {"Unmatched",
         "Names of a motion that a model lacks: tuples of str for bone tracks, morph tracks and\n"
         "IK switches.",
         0, FIELDS(unmatched_fields)},
    [MMD_PY_RECORD_FIT_REPORT] =
        {"FitReport",
         "How well a motion was fitted: the number of its keys; worst, the largest distance of a\n"
         "vertex from where it should be (model units; vertices that MMD's physics moves are not\n"
         "compared); notes, a tuple of (name of a bone or morph, what was left out or lost).",
         0, FIELDS(fit_report_fields)},
};
