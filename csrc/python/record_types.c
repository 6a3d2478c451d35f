/* SPDX-License-Identifier: MIT */
/* The records: their fields in order, here only; mmdskin.pyi is tested to say the same. */
#include "python/physics.h"
#include "python/record_fields.h"

#include <stddef.h>

/* clang-format off */
#define MEMBER(field, type, member, show) \
    {.name = field, .make = show, .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)}
#define TEXT(type, member) \
    {.name = #member, .make = mmd_show_text, .take = mmd_take_text, .offset = offsetof(type, member)}
#define INTEGER(type, member) MEMBER(#member, type, member, mmd_show_integer)
#define NUMBER(type, member) MEMBER(#member, type, member, mmd_show_number)
#define TRUTH(type, member) MEMBER(#member, type, member, mmd_show_truth)
#define VECTOR(type, member) MEMBER(#member, type, member, mmd_show_vector)
#define WORD(type, member, list) \
    {.name = #member, .make = mmd_show_word, .offset = offsetof(type, member), \
     .size = sizeof(list) / sizeof *(list), .as.words = list}
#define KEYS(type, member, number, width, height) \
    {.name = #member, .make = mmd_show_keys, .take = mmd_take_keys, .offset = offsetof(type, member), \
     .as.keys = {MMD_##number, offsetof(type, key_count), width, height}}
#define FLAG(field, bit) {.name = field, .make = mmd_show_bone_flag, .as.flag = bit}
/* Made of the whole struct. */
#define WHOLE(field, show) {.name = field, .make = show}
/* Given when the class is called. */
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

static const mmd_field skinned_fields[] = {
    VALUE("positions"),
    VALUE("normals"),
    VALUE("tangents"),
};

static const mmd_field pose_fields[] = {
    VALUE("bone_matrices"),
    VALUE("morph_weights"),
};

static const mmd_field backend_fields[] = {
    VALUE("name"),
    VALUE("available"),
    VALUE("device"),
    VALUE("reason"),
};

static const mmd_field rendered_fields[] = {
    VALUE("image"),
    VALUE("depth"),
    VALUE("normals"),
    VALUE("triangles"),
};

static const mmd_field camera_fields[] = {
    VALUE("position"),
    VALUE("target"),
    VALUE("up"),
    VALUE("fov"),
};

static const mmd_field physics_fields[] = {
    VALUE("gravity"),       VALUE("hz"),
    VALUE("iterations"),    VALUE("ground"),
    VALUE("damping_extra"), VALUE("joined_collide"),
    VALUE("start"),         VALUE("settle"),
    VALUE("teleport"),
};

static const mmd_field bone_fields[] = {
    TEXT(mmd_bone, name),
    TEXT(mmd_bone, name_english),
    VECTOR(mmd_bone, position),
    INTEGER(mmd_bone, parent),
    INTEGER(mmd_bone, layer),
    INTEGER(mmd_bone, flags),
    INTEGER(mmd_bone, tail_bone),
    VECTOR(mmd_bone, tail_offset),
    WHOLE("append", mmd_show_append),
    MEMBER("fixed_axis", mmd_bone, fixed_axis, mmd_show_fixed_axis),
    WHOLE("local_axes", mmd_show_local_axes),
    MEMBER("external_parent", mmd_bone, external_parent, mmd_show_external_parent),
    FLAG("after_physics", MMD_BONE_AFTER_PHYSICS),
    WHOLE("ik", mmd_show_ik),
};

static const mmd_field append_fields[] = {
    MEMBER("source", mmd_bone, append_source, mmd_show_integer),
    MEMBER("ratio", mmd_bone, append_ratio, mmd_show_number),
    FLAG("rotation", MMD_BONE_APPEND_ROTATION),
    FLAG("translation", MMD_BONE_APPEND_TRANSLATION),
    FLAG("local", MMD_BONE_APPEND_LOCAL),
};

static const mmd_field ik_fields[] = {
    INTEGER(mmd_ik, target),
    INTEGER(mmd_ik, loop_count),
    NUMBER(mmd_ik, unit_angle),
    WHOLE("links", mmd_show_ik_links),
};

static const mmd_field ik_link_fields[] = {
    INTEGER(mmd_ik_link, bone),
    MEMBER("lower", mmd_ik_link, lower, mmd_show_ik_limit),
    MEMBER("upper", mmd_ik_link, upper, mmd_show_ik_limit),
};

static const mmd_field morph_fields[] = {
    TEXT(mmd_morph, name),
    TEXT(mmd_morph, name_english),
    INTEGER(mmd_morph, panel),
    {.name = "kind", .make = mmd_show_morph_kind, .as.words = morph_kinds},
    WHOLE("indices", mmd_show_morph_indices),
    WHOLE("values", mmd_show_morph_values),
};

static const mmd_field material_fields[] = {
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
    WORD(mmd_material, sphere_mode, sphere_modes),
    INTEGER(mmd_material, toon),
    TRUTH(mmd_material, shared_toon),
    TEXT(mmd_material, memo),
    INTEGER(mmd_material, index_count),
};

static const mmd_field display_frame_fields[] = {
    TEXT(mmd_display_frame, name),
    TEXT(mmd_display_frame, name_english),
    TRUTH(mmd_display_frame, special),
    WHOLE("elements", mmd_show_frame_elements),
};

static const mmd_field rigid_body_fields[] = {
    TEXT(mmd_rigid_body, name),
    TEXT(mmd_rigid_body, name_english),
    INTEGER(mmd_rigid_body, bone),
    INTEGER(mmd_rigid_body, group),
    INTEGER(mmd_rigid_body, mask),
    WORD(mmd_rigid_body, shape, shapes),
    VECTOR(mmd_rigid_body, size),
    VECTOR(mmd_rigid_body, position),
    VECTOR(mmd_rigid_body, rotation),
    NUMBER(mmd_rigid_body, mass),
    NUMBER(mmd_rigid_body, linear_damping),
    NUMBER(mmd_rigid_body, angular_damping),
    NUMBER(mmd_rigid_body, restitution),
    NUMBER(mmd_rigid_body, friction),
    WORD(mmd_rigid_body, mode, modes),
};

static const mmd_field joint_fields[] = {
    TEXT(mmd_joint, name),
    TEXT(mmd_joint, name_english),
    WORD(mmd_joint, kind, joint_kinds),
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

static const mmd_field bone_track_fields[] = {
    TEXT(mmd_bone_track, name),
    KEYS(mmd_bone_track, frames, UINT32, 0, 0),
    KEYS(mmd_bone_track, translations, FLOAT32, 3, 0),
    KEYS(mmd_bone_track, rotations, FLOAT32, 4, 0),
    KEYS(mmd_bone_track, interpolation, UINT8, 4, 4),
    KEYS(mmd_bone_track, physics, BOOL, 0, 0),
};

static const mmd_field morph_track_fields[] = {
    TEXT(mmd_morph_track, name),
    KEYS(mmd_morph_track, frames, UINT32, 0, 0),
    KEYS(mmd_morph_track, weights, FLOAT32, 0, 0),
};

static const mmd_field camera_track_fields[] = {
    KEYS(mmd_camera_track, frames, UINT32, 0, 0),
    KEYS(mmd_camera_track, distances, FLOAT32, 0, 0),
    KEYS(mmd_camera_track, targets, FLOAT32, 3, 0),
    KEYS(mmd_camera_track, rotations, FLOAT32, 3, 0),
    KEYS(mmd_camera_track, interpolation, UINT8, 6, 4),
    KEYS(mmd_camera_track, view_angles, FLOAT32, 0, 0),
    KEYS(mmd_camera_track, perspective, BOOL, 0, 0),
};

static const mmd_field light_track_fields[] = {
    KEYS(mmd_light_track, frames, UINT32, 0, 0),
    KEYS(mmd_light_track, colors, FLOAT32, 3, 0),
    KEYS(mmd_light_track, directions, FLOAT32, 3, 0),
};

static const mmd_field shadow_track_fields[] = {
    KEYS(mmd_shadow_track, frames, UINT32, 0, 0),
    KEYS(mmd_shadow_track, modes, UINT8, 0, 0),
    KEYS(mmd_shadow_track, distances, FLOAT32, 0, 0),
};

static const mmd_field property_track_fields[] = {
    KEYS(mmd_property_track, frames, UINT32, 0, 0),
    KEYS(mmd_property_track, visible, BOOL, 0, 0),
    {.name = "ik_names", .make = mmd_show_ik_names, .take = mmd_take_ik_names},
    {.name = "ik_enabled", .make = mmd_show_ik_enabled, .take = mmd_take_ik_enabled},
};

static const mmd_field unmatched_fields[] = {
    VALUE("bones"),
    VALUE("morphs"),
    VALUE("ik"),
};

#define FIELDS_WITH(list, defaults) sizeof(list) / sizeof *(list), (list), (defaults)
#define FIELDS(list) FIELDS_WITH(list, NULL)

/* Tracks are also made of tuples that know nothing of physics. */
static PyObject *one_none(void)
{
    return PyTuple_Pack(1, Py_None);
}

const mmd_record_type mmd_record_types[MMD_RECORD_COUNT] = {
    [MMD_RECORD_SKINNED] =
        {"Skinned",
         "What skin() returns, float32 arrays: positions (V,3) or (F,V,3) in model units;\n"
         "normals of the same shape and unit length, None when the mesh has none or they are\n"
         "not wanted; tangents (..., V, 3 or 4), None when not wanted.",
         0, FIELDS(skinned_fields)},
    [MMD_RECORD_POSE] =
        {"Pose",
         "What skin() takes: skinning matrices (B,4,4) or (F,B,4,4), row-major for column\n"
         "vectors, and morph weights (M,) or (F,M) as slider values, or None for all zero.",
         0, FIELDS(pose_fields)},
    [MMD_RECORD_BACKEND] =
        {"Backend",
         "What can compute: name (\"gl\" or \"cpu\"), whether it is available, the device's name\n"
         "(None when not available) and the reason why not (None when available).",
         0, FIELDS(backend_fields)},
    [MMD_RECORD_RENDERED] =
        {"Rendered",
         "What render() returns; with an axis of frames in front for a batch, None what was not\n"
         "wanted. image: (H,W,4) uint8 sRGB, straight alpha; depth: (H,W) float32, model units\n"
         "along the view, infinite where nothing is; normals: (H,W,3) float32 in the model's\n"
         "space, unit length, towards the camera's side, zero where nothing is; triangles: (H,W)\n"
         "int32, row of the mesh's triangles, -1 where nothing is.",
         0, FIELDS(rendered_fields)},
    [MMD_RECORD_CAMERA] =
        {"Camera",
         "Where render() looks from: position, target (in the middle of the picture) and up, (3,)\n"
         "each in MMD's left-handed space, and fov, the vertical field of view in degrees. A\n"
         "member may have an axis of frames in front. MMD's own: Camera((0, 10, -45), (0, 10, 0),\n"
         "(0, 1, 0), 30).",
         0, FIELDS(camera_fields)},
    [MMD_RECORD_PHYSICS] =
        {"Physics",
         "How rigid bodies move; what MMD sets is not public, defaults follow its peers.\n"
         "gravity: (x, y, z), model units per second squared; hz: steps per second, 1 to 100000;\n"
         "iterations: sweeps over joints and contacts in a step, 1 to 1000; ground: whether the\n"
         "plane y = 0 holds what falls, or its height; damping_extra: slow bodies come to rest;\n"
         "joined_collide: bodies that a joint holds together touch; start: frame at which the run\n"
         "begins, None: the first of the motion; settle: steps that are held there before it;\n"
         "teleport: units in a frame beyond which bodies begin anew, 0: never.",
         0, FIELDS_WITH(physics_fields, mmd_physics_defaults)},
    [MMD_RECORD_BONE] =
        {"Bone",
         "A bone of a model. position: (x, y, z) in model units; parent: index of a bone or -1;\n"
         "layer: deform layer; flags: the file's bits; tail_bone: index or -1, then tail_offset\n"
         "(x, y, z) counts; append: an Append or None; fixed_axis: (x, y, z) or None; local_axes:\n"
         "(x axis, z axis) or None; external_parent: the key or None; after_physics: bool;\n"
         "ik: an IK or None.",
         sizeof(mmd_bone), FIELDS(bone_fields)},
    [MMD_RECORD_APPEND] =
        {"Append",
         "Motion that a bone takes over from the bone `source` (-1: none), times ratio: its\n"
         "rotation, its translation or both (bools), local or not.",
         sizeof(mmd_bone), FIELDS(append_fields)},
    [MMD_RECORD_IK] = {"IK",
                       "An IK solver: target is the bone that is to reach the IK bone, unit_angle\n"
                       "in radians per step, links a tuple of IKLink from the target's side on.",
                       sizeof(mmd_ik), FIELDS(ik_fields)},
    [MMD_RECORD_IK_LINK] = {"IKLink",
                            "A bone that IK turns; lower and upper limits are Euler angles (x, y, "
                            "z) in\nradians, None when the link is free.",
                            sizeof(mmd_ik_link), FIELDS(ik_link_fields)},
    [MMD_RECORD_MORPH] =
        {"Morph",
         "A morph. panel: 0 reserved, 1 eyebrow, 2 eye, 3 mouth, 4 other. kind names what indices\n"
         "(n,) int32 point to and the columns of values (n,k) float32:\n"
         "\"group\", \"flip\": morphs; ratio\n"
         "\"vertex\": vertices; x y z in model units\n"
         "\"bone\": bones; translation x y z, rotation x y z w\n"
         "\"uv\", \"uv1\" to \"uv4\": vertices; 4 numbers (uv uses two)\n"
         "\"material\": materials (-1: all); operation (0 multiply, 1 add), diffuse 4, specular "
         "3,\n"
         "specular power, ambient 3, edge colour 4, edge size, texture 4, sphere 4, toon 4\n"
         "\"impulse\": rigid bodies; local (0 or 1), velocity 3, torque 3",
         sizeof(mmd_morph), FIELDS(morph_fields)},
    [MMD_RECORD_MATERIAL] =
        {"Material",
         "A material. Colours are tuples of 0 to 1, diffuse and edge_color with alpha; flags: the\n"
         "file's bits; texture, sphere_texture and toon: indices of textures or -1, toon is 0 to\n"
         "9 (toon01.bmp to toon10.bmp) when shared_toon; sphere_mode: \"none\", \"multiply\",\n"
         "\"add\", \"sub_texture\"; index_count: 3 for each triangle, in the order of materials.",
         sizeof(mmd_material), FIELDS(material_fields)},
    [MMD_RECORD_DISPLAY_FRAME] =
        {"DisplayFrame",
         "A group of sliders in the editor; elements: tuple of (\"bone\" or \"morph\", index).",
         sizeof(mmd_display_frame), FIELDS(display_frame_fields)},
    [MMD_RECORD_RIGID_BODY] =
        {"RigidBody",
         "A rigid body. bone: index or -1; group: 0 to 15; mask: bits of the groups it collides\n"
         "with; shape: \"sphere\", \"box\", \"capsule\"; size, position in model units, rotation "
         "in\n"
         "radians; mode: \"follow_bone\", \"physics\", \"physics_and_bone\".",
         sizeof(mmd_rigid_body), FIELDS(rigid_body_fields)},
    [MMD_RECORD_JOINT] =
        {"Joint",
         "A joint of two rigid bodies (indices or -1). kind: \"spring_6dof\", \"6dof\",\n"
         "\"point_to_point\", \"cone_twist\", \"slider\", \"hinge\"; lengths in model units, "
         "angles in\n"
         "radians.",
         sizeof(mmd_joint), FIELDS(joint_fields)},
    [MMD_RECORD_BONE_TRACK] =
        {"BoneTrack",
         "Keys of a bone. frames: (n,) uint32 at 30 a second; translations: (n,3) float32 in "
         "model\n"
         "units, from the rest place; rotations: (n,4) float32 x y z w; interpolation: (n,4,4) "
         "uint8,\n"
         "rows x, y, z, rotation, columns x1 y1 x2 y2 of 0 to 127, for the way to this key; "
         "physics:\n"
         "(n,) bool, False: from this key to the next the bone's rigid bodies follow it.",
         sizeof(mmd_bone_track), FIELDS_WITH(bone_track_fields, one_none)},
    [MMD_RECORD_MORPH_TRACK] = {"MorphTrack",
                                "Keys of a morph. frames: (n,) uint32; weights: (n,) float32.",
                                sizeof(mmd_morph_track), FIELDS(morph_track_fields)},
    [MMD_RECORD_CAMERA_TRACK] =
        {"CameraTrack",
         "Keys of the camera. frames: (n,) uint32; distances: (n,) float32 in model units, "
         "negative\n"
         "in front; targets: (n,3); rotations: (n,3) Euler angles in radians; interpolation: "
         "(n,6,4)\n"
         "uint8, rows x, y, z, rotation, distance, view angle, columns x1 y1 x2 y2; view_angles: "
         "(n,)\n"
         "degrees; perspective: (n,) bool.",
         sizeof(mmd_camera_track), FIELDS(camera_track_fields)},
    [MMD_RECORD_LIGHT_TRACK] = {"LightTrack",
                                "Keys of the light. frames: (n,) uint32; colors: (n,3) float32; "
                                "directions: (n,3) float32.",
                                sizeof(mmd_light_track), FIELDS(light_track_fields)},
    [MMD_RECORD_SHADOW_TRACK] = {"ShadowTrack",
                                 "Keys of the self shadow. frames: (n,) uint32; modes: (n,) uint8 "
                                 "of 0 to 2; distances: (n,)\n"
                                 "float32 as in the file.",
                                 sizeof(mmd_shadow_track), FIELDS(shadow_track_fields)},
    [MMD_RECORD_PROPERTY_TRACK] =
        {"PropertyTrack",
         "Visibility and IK switches, which hold until the next key. frames: (n,) uint32; "
         "visible:\n"
         "(n,) bool; ik_names: tuple of k names; ik_enabled: (n,k) bool.",
         sizeof(mmd_property_track), FIELDS(property_track_fields)},
    [MMD_RECORD_UNMATCHED] =
        {"Unmatched",
         "Names of a motion that a model lacks: tuples of bone tracks, morph tracks, IK switches.",
         0, FIELDS(unmatched_fields)},
};

static PyObject *make_class(PyObject *namedtuple, const mmd_record_type *type)
{
    PyObject *fields = PyTuple_New((Py_ssize_t)type->field_count);
    for (size_t i = 0; fields && i < type->field_count; i++)
        mmd_tuple_put(&fields, i, PyUnicode_FromString(type->fields[i].name));
    PyObject *arguments = fields ? Py_BuildValue("(sN)", type->name, fields) : NULL;
    PyObject *defaults = type->defaults ? type->defaults() : Py_NewRef(Py_None);
    PyObject *keywords =
        defaults ? Py_BuildValue("{sssN}", "module", "mmdskin", "defaults", defaults) : NULL;
    PyObject *class = arguments && keywords ? PyObject_Call(namedtuple, arguments, keywords) : NULL;
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    PyObject *doc = class ? PyUnicode_FromString(type->doc) : NULL;
    if (class && (!doc || PyObject_SetAttrString(class, "__doc__", doc) < 0))
        Py_CLEAR(class);
    Py_XDECREF(doc);
    return class;
}

bool mmd_records_add(PyObject *module, mmd_state *state)
{
    PyObject *collections = PyImport_ImportModule("collections");
    PyObject *namedtuple = collections ? PyObject_GetAttrString(collections, "namedtuple") : NULL;
    bool ok = namedtuple != NULL;
    for (int i = 0; ok && i < MMD_RECORD_COUNT; i++) {
        state->records[i] = make_class(namedtuple, &mmd_record_types[i]);
        ok = state->records[i] &&
             PyModule_AddObjectRef(module, mmd_record_types[i].name, state->records[i]) == 0;
    }
    Py_XDECREF(namedtuple);
    Py_XDECREF(collections);
    return ok;
}
