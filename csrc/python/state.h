/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_STATE_H
#define MMD_PY_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mmdskin.h"

/* Functions that Python calls have the parameters of their kind, which not all of them need. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The classes of records.py: those that are called with values, and those that are made from
   structs, with the tables of their fields. The tracks are in the order of mmd_motion_kind. */
#define MMD_PY_RECORDS(PLAIN, STRUCT)                                                              \
    PLAIN(SKINNED, Skinned)                                                                        \
    PLAIN(POSE, Pose)                                                                              \
    PLAIN(BACKEND, Backend)                                                                        \
    PLAIN(RENDERED, Rendered)                                                                      \
    PLAIN(CAMERA, Camera)                                                                          \
    PLAIN(LIGHT, Light)                                                                            \
    PLAIN(SHADOW, Shadow)                                                                          \
    PLAIN(PHYSICS, Physics)                                                                        \
    STRUCT(BONE, Bone, mmd_bone, bone_fields)                                                      \
    STRUCT(APPEND, Append, mmd_bone, append_fields)                                                \
    STRUCT(IK, IK, mmd_ik, ik_fields)                                                              \
    STRUCT(IK_LINK, IKLink, mmd_ik_link, ik_link_fields)                                           \
    STRUCT(MORPH, Morph, mmd_morph, morph_fields)                                                  \
    STRUCT(MATERIAL, Material, mmd_material, material_fields)                                      \
    STRUCT(DISPLAY_FRAME, DisplayFrame, mmd_display_frame, display_frame_fields)                   \
    STRUCT(RIGID_BODY, RigidBody, mmd_rigid_body, rigid_body_fields)                               \
    STRUCT(JOINT, Joint, mmd_joint, joint_fields)                                                  \
    STRUCT(BONE_TRACK, BoneTrack, mmd_bone_track, bone_track_fields)                               \
    STRUCT(MORPH_TRACK, MorphTrack, mmd_morph_track, morph_track_fields)                           \
    STRUCT(CAMERA_TRACK, CameraTrack, mmd_camera_track, camera_track_fields)                       \
    STRUCT(LIGHT_TRACK, LightTrack, mmd_light_track, light_track_fields)                           \
    STRUCT(SHADOW_TRACK, ShadowTrack, mmd_shadow_track, shadow_track_fields)                       \
    STRUCT(PROPERTY_TRACK, PropertyTrack, mmd_property_track, property_track_fields)               \
    PLAIN(UNMATCHED, Unmatched)                                                                    \
    PLAIN(FIT_REPORT, FitReport)

/* MMD_PY_RECORD_SKINNED and so on. */
#define MMD_PY_RECORD_KIND(kind, ...) MMD_PY_RECORD_##kind,
typedef enum mmd_py_record_kind {
    MMD_PY_RECORDS(MMD_PY_RECORD_KIND, MMD_PY_RECORD_KIND) MMD_PY_RECORD_COUNT,
    MMD_PY_RECORD_TEXT = MMD_PY_RECORD_COUNT /* in lists: a str, from mmd_text */
} mmd_py_record_kind;

/* The types that are written in C. */
typedef enum mmd_py_type_kind {
    MMD_PY_MODEL,
    MMD_PY_MESH,
    MMD_PY_MOTION,
    MMD_PY_WORLD,
    MMD_PY_SIMULATION,
    MMD_PY_FIT, /* private */
    MMD_PY_TYPE_COUNT
} mmd_py_type_kind;

/* The state of one module object: each interpreter has its own. */
typedef struct mmd_py_state {
    PyTypeObject *types[MMD_PY_TYPE_COUNT];
    PyObject *named; /* the class */
    PyObject *records[MMD_PY_RECORD_COUNT];
} mmd_py_state;

/* The state by an object of one of our types (which have no subclasses), or by the module. */
mmd_py_state *mmd_py_state_of(PyObject *object);
mmd_py_state *mmd_py_state_of_module(PyObject *module);

#endif
