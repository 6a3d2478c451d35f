/* SPDX-License-Identifier: MIT */
#include "python/state.h"

typedef struct record_type {
    const char *name, *fields, *doc;
} record_type;

static const record_type types[MMD_RECORD_COUNT] = {
    [MMD_RECORD_SKINNED] =
        {"Skinned", "positions normals tangents",
         "What skin() returns, float32 arrays: positions (V,3) or (F,V,3) in model units;\n"
         "normals of the same shape and unit length, None when the mesh has none or they are\n"
         "not wanted; tangents (..., V, 3 or 4), None when not wanted."},
    [MMD_RECORD_POSE] =
        {"Pose", "bone_matrices morph_weights",
         "What skin() takes: skinning matrices (B,4,4) or (F,B,4,4), row-major for column\n"
         "vectors, and morph weights (M,) or (F,M) as slider values, or None for all zero."},
    [MMD_RECORD_BACKEND] =
        {"Backend", "name available device reason",
         "What can compute: name (\"gl\" or \"cpu\"), whether it is available, the device's name\n"
         "(None when not available) and the reason why not (None when available)."},
    [MMD_RECORD_BONE] =
        {"Bone",
         "name name_english position parent layer flags tail_bone tail_offset append fixed_axis "
         "local_axes external_parent after_physics ik",
         "A bone of a model. position: (x, y, z) in model units; parent: index of a bone or -1;\n"
         "layer: deform layer; flags: the file's bits; tail_bone: index or -1, then tail_offset\n"
         "(x, y, z) counts; append: an Append or None; fixed_axis: (x, y, z) or None; local_axes:\n"
         "(x axis, z axis) or None; external_parent: the key or None; after_physics: bool;\n"
         "ik: an IK or None."},
    [MMD_RECORD_APPEND] =
        {"Append", "source ratio rotation translation local",
         "Motion that a bone takes over from the bone `source` (-1: none), times ratio: its\n"
         "rotation, its translation or both (bools), local or not."},
    [MMD_RECORD_IK] = {"IK", "target loop_count unit_angle links",
                       "An IK solver: target is the bone that is to reach the IK bone, unit_angle\n"
                       "in radians per step, links a tuple of IKLink from the target's side on."},
    [MMD_RECORD_IK_LINK] = {"IKLink", "bone lower upper",
                            "A bone that IK turns; lower and upper limits are Euler angles (x, y, "
                            "z) in\nradians, None when the link is free."},
    [MMD_RECORD_MORPH] =
        {"Morph", "name name_english panel kind indices values",
         "A morph. panel: 0 reserved, 1 eyebrow, 2 eye, 3 mouth, 4 other. kind names what indices\n"
         "(n,) int32 point to and the columns of values (n,k) float32:\n"
         "\"group\", \"flip\": morphs; ratio\n"
         "\"vertex\": vertices; x y z in model units\n"
         "\"bone\": bones; translation x y z, rotation x y z w\n"
         "\"uv\", \"uv1\" to \"uv4\": vertices; 4 numbers (uv uses two)\n"
         "\"material\": materials (-1: all); operation (0 multiply, 1 add), diffuse 4, specular "
         "3,\n"
         "specular power, ambient 3, edge colour 4, edge size, texture 4, sphere 4, toon 4\n"
         "\"impulse\": rigid bodies; local (0 or 1), velocity 3, torque 3"},
    [MMD_RECORD_MATERIAL] =
        {"Material",
         "name name_english diffuse specular specular_power ambient flags edge_color edge_size "
         "texture sphere_texture sphere_mode toon shared_toon memo index_count",
         "A material. Colours are tuples of 0 to 1, diffuse and edge_color with alpha; flags: the\n"
         "file's bits; texture, sphere_texture and toon: indices of textures or -1, toon is 0 to\n"
         "9 (toon01.bmp to toon10.bmp) when shared_toon; sphere_mode: \"none\", \"multiply\",\n"
         "\"add\", \"sub_texture\"; index_count: 3 for each triangle, in the order of materials."},
    [MMD_RECORD_DISPLAY_FRAME] =
        {"DisplayFrame", "name name_english special elements",
         "A group of sliders in the editor; elements: tuple of (\"bone\" or \"morph\", index)."},
    [MMD_RECORD_RIGID_BODY] =
        {"RigidBody",
         "name name_english bone group mask shape size position rotation mass linear_damping "
         "angular_damping restitution friction mode",
         "A rigid body. bone: index or -1; group: 0 to 15; mask: bits of the groups it collides\n"
         "with; shape: \"sphere\", \"box\", \"capsule\"; size, position in model units, rotation "
         "in\n"
         "radians; mode: \"follow_bone\", \"physics\", \"physics_and_bone\"."},
    [MMD_RECORD_JOINT] =
        {"Joint",
         "name name_english kind body_a body_b position rotation translation_lower "
         "translation_upper rotation_lower rotation_upper translation_spring rotation_spring",
         "A joint of two rigid bodies (indices or -1). kind: \"spring_6dof\", \"6dof\",\n"
         "\"point_to_point\", \"cone_twist\", \"slider\", \"hinge\"; lengths in model units, "
         "angles in\n"
         "radians."},
    [MMD_RECORD_BONE_TRACK] =
        {"BoneTrack", "name frames translations rotations interpolation",
         "Keys of a bone. frames: (n,) uint32 at 30 a second; translations: (n,3) float32 in "
         "model\n"
         "units, from the rest place; rotations: (n,4) float32 x y z w; interpolation: (n,4,4) "
         "uint8,\n"
         "rows x, y, z, rotation, columns x1 y1 x2 y2 of 0 to 127, for the way to this key."},
    [MMD_RECORD_MORPH_TRACK] = {"MorphTrack", "name frames weights",
                                "Keys of a morph. frames: (n,) uint32; weights: (n,) float32."},
    [MMD_RECORD_CAMERA_TRACK] =
        {"CameraTrack", "frames distances targets rotations interpolation view_angles perspective",
         "Keys of the camera. frames: (n,) uint32; distances: (n,) float32 in model units, "
         "negative\n"
         "in front; targets: (n,3); rotations: (n,3) Euler angles in radians; interpolation: "
         "(n,6,4)\n"
         "uint8, rows x, y, z, rotation, distance, view angle, columns x1 y1 x2 y2; view_angles: "
         "(n,)\n"
         "degrees; perspective: (n,) bool."},
    [MMD_RECORD_LIGHT_TRACK] = {"LightTrack", "frames colors directions",
                                "Keys of the light. frames: (n,) uint32; colors: (n,3) float32; "
                                "directions: (n,3) float32."},
    [MMD_RECORD_SHADOW_TRACK] = {"ShadowTrack", "frames modes distances",
                                 "Keys of the self shadow. frames: (n,) uint32; modes: (n,) uint8 "
                                 "of 0 to 2; distances: (n,)\n"
                                 "float32 as in the file."},
    [MMD_RECORD_PROPERTY_TRACK] =
        {"PropertyTrack", "frames visible ik_names ik_enabled",
         "Visibility and IK switches, which hold until the next key. frames: (n,) uint32; "
         "visible:\n"
         "(n,) bool; ik_names: tuple of k names; ik_enabled: (n,k) bool."},
    [MMD_RECORD_UNMATCHED] =
        {"Unmatched", "bones morphs ik",
         "Names of a motion that a model lacks: tuples of bone tracks, morph tracks, IK switches."},
};

static PyObject *make_class(PyObject *namedtuple, const record_type *type)
{
    PyObject *arguments = Py_BuildValue("(ss)", type->name, type->fields);
    PyObject *keywords = Py_BuildValue("{ss}", "module", "mmdskin");
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
        state->records[i] = make_class(namedtuple, &types[i]);
        ok = state->records[i] &&
             PyModule_AddObjectRef(module, types[i].name, state->records[i]) == 0;
    }
    Py_XDECREF(namedtuple);
    Py_XDECREF(collections);
    return ok;
}
