/* SPDX-License-Identifier: MIT */
#ifndef MMDSKIN_H
#define MMDSKIN_H

/* mmdskin for C: loads MMD models and motions, poses them, simulates their physics, and skins
   meshes on the CPU. This is the whole public API; all other headers are internal and may change.

       mmd_model *model = mmd_model_load(bytes, size, &err);
       mmd_motion *motion = mmd_motion_load(more_bytes, more_size, &err);
       mmd_rig *rig = mmd_rig_new(model, &err);
       mmd_poser *poser = mmd_poser_new(rig, motion, &err);   mmd_pose(poser, &pose_job, &err);
       mmd_mesh *mesh = mmd_mesh_of_model(model, &err);       mmd_skin(&skin_job, NULL, &err);

   docs/c-library.md says how to build and link it, docs/examples/c has complete programs. Skinning
   by OpenGL, pictures and the fitting of keys are available from Python only.

   A function that takes an mmd_error returns false or NULL on failure and then fills it; the
   pointer may be NULL. The caller owns what functions named ..._new, ..._load, ..._of_model,
   ..._variant and ..._with_tangents return, and frees it; freeing NULL does nothing. Arguments are
   borrowed for the duration of the call unless stated otherwise.

   NULL: a pointer argument, or a pointer in a struct that an argument points to, may be NULL only
   where this is said, or where it is an array without items. Functions that take an mmd_error fail
   with MMD_E_ARGUMENT for others ("positions: missing") and for enums out of range. Functions
   without one accept NULL: sizes are then 0, a selection is empty, a sampled track has its
   defaults, and where an output is NULL nothing happens. Models and motions that functions take as
   const are those of _load and _new (and _select), which are valid; only what mmd_model_new() and
   mmd_motion_new() take is checked.

   Sizes: an array has the shape that its comment gives, (V,3) being V rows of 3 numbers, with the
   counts of the model, mesh or struct that the call names: V vertices, B bones, M morphs, T
   triangles. Functions that write bytes have one that tells their number.

   Models, motions, rigs and meshes never change once created, so any number of threads may share
   one. There is no mutable global state, except the cached features of the CPU, and nothing is
   printed.

   Coordinates are those of the files: left-handed, +Y up. Angles are in radians, frames are at 30
   per second. Matrices are row-major and multiply column vectors. docs/mmd-behavior.md specifies
   how MMD interprets the data. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shared library exports what this header declares, and nothing else. */
#ifdef MMD_BUILD_SHARED
#pragma GCC visibility push(default)
#endif

/* Enums have 32 bits. C11 cannot say so; there it is an error if an option of the compiler makes
   them shorter. */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
#define MMD_32_BITS : uint32_t
#else
#define MMD_32_BITS
#endif

/* Structs and enums may change with the minor version, so that a program and the library that it
   loads must agree in it: mmd_version_number() / 1000 == MMDSKIN_VERSION_NUMBER / 1000. The name of
   the shared library (libmmdskin.so.0.3) sees to that. */
#define MMDSKIN_VERSION_MAJOR 0
#define MMDSKIN_VERSION_MINOR 3
#define MMDSKIN_VERSION_PATCH 0
#define MMDSKIN_VERSION_NUMBER                                                                     \
    (MMDSKIN_VERSION_MAJOR * 1000000 + MMDSKIN_VERSION_MINOR * 1000 + MMDSKIN_VERSION_PATCH)
#define MMDSKIN_VERSION "0.3.0"

/* Those of the library: MMDSKIN_VERSION and MMDSKIN_VERSION_NUMBER when it was built. */
const char *mmd_version(void);
uint32_t mmd_version_number(void);

/* Errors */

typedef enum mmd_error_code MMD_32_BITS {
    MMD_E_NONE,
    MMD_E_ARGUMENT,
    MMD_E_FORMAT, /* a malformed file */
    MMD_E_MEMORY,
    MMD_E_BACKEND,    /* a kernel or device that is not available */
    MMD_E_INTERRUPTED /* the caller wanted to stop */
} mmd_error_code;

#ifndef __cplusplus
_Static_assert(sizeof(mmd_error_code) == 4, "mmdskin.h: enums must have 32 bits: no -fshort-enums");
#endif

/* `text` names the item and its limit: "vertex 812: bone 40 of 37". Only MMD_E_FORMAT sets `offset`
   (in bytes) and `section` ("bones[12]"). */
typedef struct mmd_error {
    mmd_error_code code;
    size_t offset;
    char section[64];
    char text[256];
} mmd_error;

/* UTF-8: `size` bytes and a terminating NUL that is not counted. */
typedef struct mmd_text {
    const char *data;
    size_t size;
} mmd_text;

/* Models */

/* The contents of a PMX file as plain data; PMD files are converted to the same structs. A loaded
   model is valid: every index is -1 or within its table, parents form no cycle, every number is
   finite and at most 1e10 in size. docs/mmd-behavior.md#pmx */

typedef enum mmd_deform MMD_32_BITS {
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
    int32_t target;     /* the end effector */
    int32_t loop_count; /* as in the file */
    float unit_angle;   /* radians: in one step, link k rotates by at most (k + 1) times this;
                           0: no limit */
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
    int32_t append_source; /* used when APPEND_ROTATION or APPEND_TRANSLATION is set */
    float append_ratio;
    float fixed_axis[3];
    float local_x[3], local_z[3];
    int32_t external_parent;
    mmd_ik *ik; /* NULL: not an IK bone */
} mmd_bone;

typedef enum mmd_morph_kind MMD_32_BITS {
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

/* Offset i applies to element indices[i]: a morph, vertex, bone, material or rigid body, depending
   on `kind`. `values` holds a row of numbers for each offset, by kind:

       group, flip   1: ratio
       vertex        3: x y z
       bone          7: translation x y z, rotation x y z w
       UV            4
       material     29: operation (0 multiply, 1 add), diffuse 4, specular 3, specular power,
                        ambient 3, edge color 4, edge size, texture 4, sphere 4, toon 4;
                        index -1 means all materials
       impulse       7: local (0 or 1), impulse 3 (PMX calls it velocity), torque 3

   Loading drops offsets whose index is out of range. */
typedef struct mmd_morph {
    mmd_text name, name_english;
    uint8_t panel; /* 0 reserved, 1 eyebrow, 2 eye, 3 mouth, 4 other */
    mmd_morph_kind kind;
    size_t offset_count;
    int32_t *indices;
    float *values;
} mmd_morph;

enum {
    MMD_MATERIAL_DOUBLE_SIDED = 0x01,
    MMD_MATERIAL_GROUND_SHADOW = 0x02,
    MMD_MATERIAL_CASTS_SELF_SHADOW = 0x04,
    MMD_MATERIAL_RECEIVES_SELF_SHADOW = 0x08,
    MMD_MATERIAL_EDGE = 0x10,
};

typedef enum mmd_sphere_mode MMD_32_BITS {
    MMD_SPHERE_NONE,
    MMD_SPHERE_MULTIPLY,
    MMD_SPHERE_ADD,
    MMD_SPHERE_SUB_TEXTURE,
    MMD_SPHERE_MODE_COUNT
} mmd_sphere_mode;

typedef struct mmd_material {
    mmd_text name, name_english, memo;
    float diffuse[4], specular[3], specular_power, ambient[3];
    uint8_t flags; /* as in the file */
    float edge_color[4], edge_size;
    int32_t texture, sphere_texture;
    uint8_t sphere_mode; /* mmd_sphere_mode */
    bool shared_toon;
    int32_t toon;        /* 0-9 when shared, else a texture or -1 */
    int32_t index_count; /* the sum over all materials is at most 3 x triangle_count */
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

typedef enum mmd_body_shape MMD_32_BITS {
    MMD_SHAPE_SPHERE,
    MMD_SHAPE_BOX,
    MMD_SHAPE_CAPSULE,
    MMD_SHAPE_COUNT
} mmd_body_shape;

typedef enum mmd_body_mode MMD_32_BITS {
    MMD_FOLLOWS_BONE,
    MMD_PHYSICS,
    MMD_PHYSICS_AND_BONE,
    MMD_BODY_MODE_COUNT
} mmd_body_mode;

typedef struct mmd_rigid_body {
    mmd_text name, name_english;
    int32_t bone;
    uint8_t group;
    uint16_t mask;
    uint8_t shape; /* mmd_body_shape */
    float size[3], position[3], rotation[3];
    float mass, linear_damping, angular_damping, restitution, friction;
    uint8_t mode; /* mmd_body_mode */
} mmd_rigid_body;

typedef enum mmd_joint_kind MMD_32_BITS {
    MMD_JOINT_SPRING_6DOF,
    MMD_JOINT_6DOF,
    MMD_JOINT_POINT_TO_POINT,
    MMD_JOINT_CONE_TWIST,
    MMD_JOINT_SLIDER,
    MMD_JOINT_HINGE,
    MMD_JOINT_KIND_COUNT
} mmd_joint_kind;

typedef struct mmd_joint {
    mmd_text name, name_english;
    uint8_t kind; /* mmd_joint_kind */
    int32_t body_a, body_b;
    float position[3], rotation[3];
    float translation_lower[3], translation_upper[3], rotation_lower[3], rotation_upper[3];
    float translation_spring[3], rotation_spring[3];
} mmd_joint;

/* What indices of a PMX file refer to, in the order of its header. */
typedef enum mmd_index_kind MMD_32_BITS {
    MMD_INDEX_VERTEX,
    MMD_INDEX_TEXTURE,
    MMD_INDEX_MATERIAL,
    MMD_INDEX_BONE,
    MMD_INDEX_MORPH,
    MMD_INDEX_RIGID_BODY,
    MMD_INDEX_COUNT
} mmd_index_kind;

typedef struct mmd_model {
    struct mmd_arena_block *arena; /* internal: owns everything below */
    float version;                 /* of PMX: 2.0 or 2.1; of PMD: 1.0 */
    bool utf8;                     /* whether a PMX file stores texts as UTF-8, else as UTF-16 */
    uint8_t index_sizes[MMD_INDEX_COUNT]; /* bytes per index in a PMX file; 0: as few as needed */
    mmd_text name, name_english, comment, comment_english;

    size_t vertex_count;
    size_t additional_uv_count; /* n, 0 to 4 sets */
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
    int32_t *triangles; /* (T,3), grouped by material, clockwise seen from outside */
    mmd_text *textures;
    mmd_material *materials;
    mmd_bone *bones;
    mmd_morph *morphs;
    mmd_display_frame *display_frames;
    mmd_rigid_body *rigid_bodies;
    mmd_joint *joints;
} mmd_model;

/* Loads a PMX 2.0, PMX 2.1 or PMD file, detected by content. Fails with MMD_E_FORMAT or
   MMD_E_MEMORY. */
mmd_model *mmd_model_load(const uint8_t *bytes, size_t size, mmd_error *err);

/* Creates a model from arrays and records, which it copies. It equals the model that
   mmd_model_load() makes of what mmd_pmx_write() would write. The members `arena` and
   `soft_body_count` of the argument are ignored. These may be NULL: normals (computed from the
   triangles), uvs and additional_uvs (zero), edge_scales (1), bone_indices with bone_weights (all
   vertices follow the first bone), deform (BDEF1, BDEF2 or BDEF4, by the number of weights that are
   not zero, which must add up to 1), and sdef if no vertex is SDEF. A version of 0 is 2.1 if
   anything needs it, else 2.0; 1 becomes 2.0. Fails with MMD_E_ARGUMENT, which names the item, if
   the model would not be valid ("bone 12: parent 40 of 37"), or with MMD_E_MEMORY. */
mmd_model *mmd_model_new(const mmd_model *arrays, mmd_error *err);
void mmd_model_free(mmd_model *model);

/* Writes a model as a PMX file, 2.0 if it was a PMD: its size, and its bytes into memory of that
   size. A PMX that needed no cleaning is written as it was read, byte for byte. Fails with
   MMD_E_ARGUMENT if the file had soft bodies, which a model does not hold. */
size_t mmd_pmx_size(const mmd_model *model);
bool mmd_pmx_write(const mmd_model *model, uint8_t *bytes, mmd_error *err);

/* Motions */

/* The contents of a VMD file as plain data, or of a VPD file as a motion with one frame, 0. A
   loaded motion is valid: the keys of a track ascend strictly by frame (of equal frames the last in
   the file is kept), numbers are at most 1e10 in size, rotations are unit quaternions x y z w (zero
   length in the file becomes identity), interpolation bytes are 0 to 127. See
   docs/mmd-behavior.md#vmd for the file and docs/mmd-behavior.md#sampling for what the tracks mean.
 */

typedef struct mmd_bone_track {
    mmd_text name;
    size_t key_count;
    uint32_t *frames;
    float *translations;    /* (n,3) */
    float *rotations;       /* (n,4) */
    uint8_t *interpolation; /* (n,4,4): rows x, y, z, rotation, columns x1 y1 x2 y2 */
    uint8_t *physics; /* (n,) 0: from this key to the next, the bone's rigid bodies follow it */
    uint8_t *stored;  /* (n,80) rotation and curves as a VMD has them, or NULL: see below */
} mmd_bone_track;

/* Files differ in bytes that mean the same: rotations that are not quite of unit length, and the
   64 bytes of interpolation, which hold most curves more than once. `stored` keeps what was read,
   so that writing a motion again changes nothing; NULL where it is what mmdskin writes. A key of
   which the other arrays say something else is written from these. */
enum { MMD_STORED_SIZE = 80 };

typedef struct mmd_morph_track {
    mmd_text name;
    size_t key_count;
    uint32_t *frames;
    float *weights;
} mmd_morph_track;

typedef struct mmd_camera_track {
    size_t key_count;
    uint32_t *frames;
    float *distances;       /* negative in front of the target */
    float *targets;         /* (n,3) */
    float *rotations;       /* (n,3) Euler angles, radians */
    uint8_t *interpolation; /* (n,6,4): x, y, z, rotation, distance, view angle; columns as above */
    float *view_angles;     /* degrees */
    uint8_t *perspective;   /* 1: perspective */
} mmd_camera_track;

typedef struct mmd_light_track {
    size_t key_count;
    uint32_t *frames;
    float *colors;     /* (n,3) */
    float *directions; /* (n,3) */
} mmd_light_track;

typedef struct mmd_shadow_track {
    size_t key_count;
    uint32_t *frames;
    uint8_t *modes;   /* 0-2 */
    float *distances; /* as in the file */
} mmd_shadow_track;

typedef struct mmd_property_track {
    size_t key_count;
    uint32_t *frames;
    uint8_t *visible; /* (n,) */
    size_t ik_count;  /* k, distinct IK names over all keys */
    mmd_text *ik_names;
    uint8_t *ik_enabled; /* (n,k); 1 where a key does not list the name */
} mmd_property_track;

typedef struct mmd_motion {
    struct mmd_arena_block *arena; /* internal: owns everything below */
    mmd_text name;
    uint32_t first_frame, last_frame; /* over all tracks; 0 and 0 without keys */
    size_t bone_track_count, morph_track_count;
    mmd_bone_track *bone_tracks; /* in order of first appearance, one per name */
    mmd_morph_track *morph_tracks;
    mmd_camera_track camera;
    mmd_light_track light;
    mmd_shadow_track shadow;
    mmd_property_track properties;
} mmd_motion;

/* Loads a VMD or VPD file, detected by content. Fails with MMD_E_FORMAT or MMD_E_MEMORY. */
mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err);

/* Creates a motion from tracks, which it copies; the members `arena`, `first_frame` and
   `last_frame` of the argument are ignored. Keys may be in any order: they are sorted, of equal
   frames the last is kept, and tracks without keys are dropped. Rotations may have any length but
   zero. These may be NULL: translations (zero), rotations (identity), interpolation (linear),
   physics (1) and `stored` of a bone track; interpolation (linear) and perspective (1) of the
   camera; visible (1) of the properties. Fails with MMD_E_ARGUMENT, also if two tracks have the
   same name, or with MMD_E_MEMORY. */
mmd_motion *mmd_motion_new(const mmd_motion *tracks, mmd_error *err);

/* MMD loads a file onto a model or onto its camera, not onto both. */
typedef enum mmd_motion_part MMD_32_BITS {
    MMD_PART_ALL,
    MMD_PART_MODEL, /* bones, morphs, properties */
    MMD_PART_CAMERA /* camera, light, shadow */
} mmd_motion_part;

/* The name by which MMD knows the files of cameras and lights, in UTF-8. */
#define MMD_CAMERA_NAME "\xE3\x82\xAB\xE3\x83\xA1\xE3\x83\xA9\xE3\x83\xBB\xE7\x85\xA7\xE6\x98\x8E"

/* The tracks of one part, which stay the motion's: not for mmd_motion_free(). The name of the
   camera part begins with MMD_CAMERA_NAME. A part that is none of these selects all. */
mmd_motion mmd_motion_select(const mmd_motion *motion, mmd_motion_part part);

/* Writes a motion as a VMD file: its size, and its bytes into memory of that size. Names are
   encoded in cp932, at most 15 bytes each; `cut_names` cuts longer ones there, as MMD does, and
   writes "?" for characters that cp932 lacks. The motion's own name is cut at 20 bytes. Fails with
   MMD_E_ARGUMENT for what a VMD cannot store, or with MMD_E_MEMORY; the bytes are undefined then.
 */
size_t mmd_vmd_size(const mmd_motion *motion);
bool mmd_vmd_write(const mmd_motion *motion, bool cut_names, uint8_t *bytes, mmd_error *err);

void mmd_motion_free(mmd_motion *motion);

/* A camera that looks from `position` at `target`, the center of its picture. */
typedef struct mmd_camera {
    double position[3], target[3], up[3];
    double fov; /* vertical, degrees */
} mmd_camera;

/* Samples the camera at a frame along MMD's interpolation curves; keys on consecutive frames are a
   cut. Without keys it is MMD's default camera, 45 units in front of (0, 10, 0). Keys without
   perspective are treated as if they had it. */
void mmd_camera_at(const mmd_camera_track *track, double frame, mmd_camera *out);

/* The light: its color (sRGB) and the direction in which it shines, of any length. */
typedef struct mmd_light {
    double color[3], direction[3];
} mmd_light;

/* Self-shadowing: 0 off, 1 or 2 MMD's modes; the distance as in the file. */
typedef struct mmd_shadow {
    uint8_t mode;
    double distance;
} mmd_shadow;

/* Samples the light and self-shadowing at a frame: colors, directions and distances change linearly
   from key to key, modes at keys; keys on consecutive frames are a cut. Without keys the light is
   MMD's default, (154,154,154)/255 along (-0.5, -1, 0.5), and self-shadowing is off. */
void mmd_light_at(const mmd_light_track *track, double frame, mmd_light *out);
void mmd_shadow_at(const mmd_shadow_track *track, double frame, mmd_shadow *out);

/* Poses */

/* A model prepared for posing: evaluation order and IK solvers. The model must outlive it. Fails
   only with MMD_E_MEMORY. */
typedef struct mmd_rig mmd_rig;

mmd_rig *mmd_rig_new(const mmd_model *model, mmd_error *err);
void mmd_rig_free(mmd_rig *rig);

/* Poses one model by one motion, or by local values if the motion is NULL. Holds the binding of the
   two and the memory of a frame. Only one thread at a time may use it. Rig and motion must outlive
   it. Fails only with MMD_E_MEMORY. */
typedef struct mmd_poser mmd_poser;

mmd_poser *mmd_poser_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err);
void mmd_poser_free(mmd_poser *poser);

typedef struct mmd_pose_job {
    size_t frame_count;
    bool ik; /* run IK, except for solvers that the motion switches off */

    /* With a motion: (frame_count,) frames in any order. */
    const double *frames;

    /* Without a motion: local values. Each has one frame, which serves all, or frame_count. NULL
       means rest pose, or zero. Rotations may have any length but zero. */
    const float *translations;  /* (translation_frames,B,3) */
    const float *rotations;     /* (rotation_frames,B,4) x y z w */
    const float *morph_weights; /* (morph_weight_frames,M) */
    const uint8_t *ik_bones;    /* (ik_frames,B) 1: run the IK of this bone; NULL: of all */
    size_t translation_frames, rotation_frames, morph_weight_frames, ik_frames;

    /* Outputs, both required. */
    float *out_matrices;      /* (frame_count,B,4,4) skinning matrices, row-major */
    float *out_morph_weights; /* (frame_count,M) from the motion, or the caller's */
} mmd_pose_job;

/* Checks the job, then fills its outputs. No frame depends on another one. Fails with
   MMD_E_ARGUMENT for numbers that are not finite, rotations of zero length and frame counts that do
   not match; nothing is written then. */
bool mmd_pose(mmd_poser *poser, const mmd_pose_job *job, mmd_error *err);

/* Skinning */

/* Vertices with influences and vertex morphs, checked when it is created. */
typedef struct mmd_mesh mmd_mesh;

/* Skinning input that does not come from a model file. */
typedef struct mmd_mesh_desc {
    size_t vertex_count;
    const float *positions; /* (V,3) */
    const float *normals;   /* (V,3) or NULL */
    const float *tangents;  /* (V,tangent_width) or NULL */
    size_t tangent_width;
    size_t influence_count;      /* K, 1 to 4 */
    const int32_t *bone_indices; /* (V,K), -1: empty slot */
    const float *bone_weights;   /* (V,K) */
    const uint8_t *deform;       /* (V,) mmd_deform, or NULL: BDEF4 */
    const float *sdef;           /* (V,3,3) or NULL */
    size_t morph_count;
    const mmd_morph *morphs;
} mmd_mesh_desc;

/* Fails with MMD_E_ARGUMENT (numbers that are not finite, unknown types, indices out of range) or
   MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_new(const mmd_mesh_desc *desc, mmd_error *err);

/* Creates the mesh of a loaded model. The model may be freed before it. Fails only with
   MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_of_model(const mmd_model *model, mmd_error *err);
void mmd_mesh_free(mmd_mesh *mesh);

typedef enum mmd_method MMD_32_BITS {
    MMD_METHOD_MMD, /* each vertex by its own deform type */
    MMD_METHOD_LINEAR,
    MMD_METHOD_DUAL_QUATERNION,
    MMD_METHOD_BULGE_FREE, /* these need mmd_mesh_variant(); see docs/methods.md */
    MMD_METHOD_BULGE_COMPENSATED,
    MMD_METHOD_CENTERS_OF_ROTATION
} mmd_method;

typedef enum mmd_sdef_blend MMD_32_BITS { MMD_SDEF_NLERP, MMD_SDEF_SLERP } mmd_sdef_blend;

/* Input of mmd_mesh_variant() and mmd_mesh_with_tangents(); NULL where not available. */
typedef struct mmd_mesh_extras {
    const int32_t *triangles; /* (T,3) */
    size_t triangle_count;
    const float *uvs;       /* (V,2) texture coordinates */
    const float *centers;   /* (V,3) centers of rotation, used instead of triangles */
    const float *segments;  /* (B,2,3) head and tail at rest, equal where a bone has none */
    const int32_t *parents; /* (B,) -1: none */
    size_t segment_count, parent_count; /* each the number of bones */
    /* Asked every few milliseconds while centers are computed: true ends that with
       MMD_E_INTERRUPTED. NULL: never. */
    bool (*interrupted)(void *arg);
    void *interrupted_arg;
} mmd_mesh_extras;

/* Computes the segments (B,2,3) of a model's bones. Fails only with MMD_E_MEMORY. */
bool mmd_model_segments(const mmd_model *model, float *segments, mmd_error *err);

/* Creates the variant of a mesh that one of these methods skins. The base must outlive it. Fails
   with MMD_E_ARGUMENT if the extras lack what the method needs, numbers are not finite or indices
   are out of range, with MMD_E_MEMORY or MMD_E_INTERRUPTED. */
mmd_mesh *mmd_mesh_variant(const mmd_mesh *base, mmd_method method, const mmd_mesh_extras *extras,
                           mmd_error *err);

/* Creates a copy of a mesh or variant with tangents (x y z, handedness) computed from triangles and
   uvs; see docs/methods.md#tangents. The base must outlive it. Fails with MMD_E_ARGUMENT if no
   triangle has an area in texture space, or with MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_with_tangents(const mmd_mesh *base, const mmd_mesh_extras *extras,
                                 mmd_error *err);

/* Frames of one mesh. A single frame of matrices or of morph weights serves all frames. The last
   row of matrices is ignored. The outputs positions and normals are (frame_count,V,3), tangents
   (frame_count,V,tangent_width); normals and tangents may be NULL. No arrays may overlap. */
typedef struct mmd_skin_job {
    const mmd_mesh *mesh;
    size_t frame_count;
    size_t bone_count;
    const float *matrices;      /* (matrix_frames,B,4,4) */
    size_t matrix_frames;       /* 1 or frame_count */
    const float *morph_weights; /* (morph_weight_frames,M), or NULL: all zero */
    size_t morph_weight_frames;
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    float correction; /* strength of BULGE_FREE and BULGE_COMPENSATED, 0 to 1 */
    float *positions, *normals, *tangents;
} mmd_skin_job;

/* Checks the job, then runs it on the calling thread. `kernel` is "scalar", "sse2", "avx2",
   "avx512" or "neon"; NULL selects the fastest one that this CPU supports. Fails with
   MMD_E_ARGUMENT, MMD_E_MEMORY, or MMD_E_BACKEND for a kernel that is unknown or unsupported;
   nothing is written then. */
bool mmd_skin(const mmd_skin_job *job, const char *kernel, mmd_error *err);

/* Physics */

/* The rigid bodies and joints of one model or several, stepped together: Bullet's
   btDiscreteDynamicsWorld. The same bodies, kinematic transforms and settings give the same bits in
   every run, on every compiler. Only one thread at a time may use a world. docs/physics.md */
typedef struct mmd_world mmd_world;

typedef struct mmd_world_settings {
    double gravity[3]; /* units per second squared */
    double wind[3];    /* units per second: bodies are damped relative to the air */
    double hz;         /* steps per second */
    int iterations;    /* of the solver, per step */
    bool ground;       /* a static plane at y = ground_height */
    double ground_height;
    bool additional_damping; /* slow bodies come to rest: btRigidBody's m_additionalDamping */
    bool collide_connected;  /* bodies that a joint connects collide with each other */
} mmd_world_settings;

typedef struct mmd_world_desc {
    size_t body_count, joint_count;
    const mmd_rigid_body *bodies;
    const mmd_joint *joints;
    const int32_t *joint_order; /* the joints to solve, in order; NULL: all, in Bullet's order */
    size_t joint_order_count;
    bool contacts;
    mmd_world_settings settings;
} mmd_world_desc;

enum { MMD_WORLD_MAX_HZ = 100000, MMD_WORLD_MAX_ITERATIONS = 1000 };

/* Creates bodies at rest. Copies the arrays. Fails with MMD_E_ARGUMENT, which names the body, joint
   or setting ("body 3: mass -1 is negative"), or with MMD_E_MEMORY. */
mmd_world *mmd_world_new(const mmd_world_desc *desc, mmd_error *err);
void mmd_world_free(mmd_world *world);

/* N bodies; K of them are kinematic, of the mode MMD_FOLLOWS_BONE; J joints. */
size_t mmd_world_body_count(const mmd_world *world);
size_t mmd_world_kinematic_count(const mmd_world *world);
size_t mmd_world_joint_count(const mmd_world *world);

/* One step. `kinematic_transforms` (K,7), position and rotation x y z w, are the poses to which the
   kinematic bodies move, in the order of bodies; NULL: they stay. Fails with MMD_E_ARGUMENT, and
   changes nothing, if a number is not finite or exceeds 1e6, or a rotation has zero length. */
bool mmd_world_step(mmd_world *world, const double *kinematic_transforms, mmd_error *err);

/* (N,13): position, rotation x y z w, velocity, angular velocity of each body. */
void mmd_world_state(const mmd_world *world, double *state);
/* Normalizes rotations and removes all contacts. Fails as mmd_world_step() does. */
bool mmd_world_set_state(mmd_world *world, const double *state, mmd_error *err);

/* Changes the velocities of a body by an impulse at its center (mass units/s) and an angular
   impulse (mass units^2/s), along the axes of the world; one of infinite mass does not move. Fails
   with MMD_E_ARGUMENT, and changes nothing, for a body that does not exist, or if a number or a
   velocity that it yields is not finite or exceeds 1e6. */
bool mmd_world_apply_impulse(mmd_world *world, size_t body, const double impulse[3],
                             const double torque[3], mmd_error *err);

/* The contacts of the last step, (P,10): bodies a and b (-1: the ground), a point on b, the normal
   from there to a, the distance along it, the impulse. Returns P; NULL only counts. */
size_t mmd_world_contact_points(const mmd_world *world, double *points);

/* (J,2) how far each joint of the desc is beyond its limits: linear (units) and angular (rad). 0
   for joints that are not solved. */
void mmd_world_strain(const mmd_world *world, double *strain);

/* Saves everything but masses that later steps depend on: writes it to `bytes`, and returns its
   size; NULL only counts. Loading fails with MMD_E_ARGUMENT, and changes nothing, unless the bytes
   are valid for this world. */
size_t mmd_world_save(const mmd_world *world, void *bytes);
bool mmd_world_load(mmd_world *world, const void *bytes, size_t size, mmd_error *err);

/* Gravity that changes during a run, as MMD's gravity has keys and noise. */
typedef struct mmd_gravity {
    const double *rows; /* (row_count,3) of the frames 0, 1, ...; NULL: the world's gravity */
    size_t row_count;
    double noise;  /* units per second squared, along each axis */
    uint32_t seed; /* of the noise */
} mmd_gravity;

/* Settings of a simulation. Those that MMD uses are not published: docs/physics-python.md. */
typedef struct mmd_simulation_settings {
    mmd_world_settings world;
    mmd_gravity gravity; /* over that of `world` */
    bool has_start;      /* the simulation starts at `start`; else at the motion's first frame */
    double start;
    int settle;      /* steps during which the start pose is kept */
    double teleport; /* units per frame beyond which a move restarts all bodies; 0: never */
} mmd_simulation_settings;

enum {
    MMD_SIMULATION_MAX_FRAMES = 10000000, /* after the start */
    MMD_SIMULATION_MAX_SETTLE = 100000,
    MMD_SIMULATION_MAX_MODELS = 1000,
    MMD_SIMULATION_MAX_SECONDS = 3600 /* from one pose input to the next */
};

/* The settings of most programs that play MMD's files. */
mmd_simulation_settings mmd_simulation_default_settings(void);

/* Models whose bones are driven by motions, or by poses of the caller, and by their rigid bodies,
   which collide with each other in one world. Along motions it runs from the start in equal steps,
   so that the poses at a frame depend on models, motions, settings and that frame alone. With poses
   of the caller, a pose depends on all earlier ones. To be used by one thread at a time. */
typedef struct mmd_simulation mmd_simulation;

typedef struct mmd_simulation_model {
    const mmd_rig *rig;
    const mmd_motion *motion; /* NULL: at rest, or at poses of the caller */
    /* (7,) of its space in that of the world: position, rotation x y z w; NULL: the same space. The
       poses of its bones remain in its own space. */
    const double *transform;
    double offset; /* frames by which its motion is ahead of the run */
} mmd_simulation_model;

/* Creates a simulation of models; `settings` may be NULL: the default. A model may be listed twice.
   Rigs and motions must outlive the simulation; it copies gravity. The first frame of "the motion"
   is the earliest of all, less their offsets. Fails with MMD_E_ARGUMENT, which names the setting,
   model, body or joint, or with MMD_E_MEMORY. */
mmd_simulation *mmd_simulation_new(const mmd_simulation_model *models, size_t count, bool ik,
                                   const mmd_simulation_settings *settings, mmd_error *err);
void mmd_simulation_free(mmd_simulation *simulation);

/* Whether frames can be sought. Fails with MMD_E_ARGUMENT for those that are not finite or too far
   after the start. */
bool mmd_simulation_check(const mmd_simulation *simulation, const double *frames, size_t count,
                          mmd_error *err);

/* Runs to a frame, forward or from the nearest checkpoint. Frames before the start have no physics.
   Takes at most *steps steps and subtracts them: if they do not suffice, fails with
   MMD_E_INTERRUPTED, and the next call goes on. `steps` may be NULL: as many as needed. Fails with
   MMD_E_ARGUMENT as mmd_simulation_check() does, and changes nothing. */
bool mmd_simulation_seek(mmd_simulation *simulation, double frame, size_t *steps, mmd_error *err);

/* The pose to which a model without a motion moves. */
typedef struct mmd_simulation_target {
    const mmd_pose_job *job; /* local values of one frame; NULL: the model has a motion */
    const uint8_t *physics;  /* (B,) 1: physics moves the bodies of this bone; NULL: of all */
} mmd_simulation_target;

/* Starts an interpolation, over `seconds`, from the current poses to those of the targets, one for
   each model. Models with a motion follow it from the start frame on, but one needs to be without.
   The first targets, also after a reset or a seek, are the start. `gravity` (3,) is that at the
   end, interpolated from that of the call before if it had one, in place of the gravity of the
   settings, which NULL means. Fails with MMD_E_ARGUMENT, and changes nothing. */
bool mmd_simulation_set_targets(mmd_simulation *simulation, const mmd_simulation_target *targets,
                                const double *gravity, double seconds, mmd_error *err);

/* Runs to the end of the interpolation; `steps` and MMD_E_INTERRUPTED as there. */
bool mmd_simulation_advance(mmd_simulation *simulation, size_t *steps, mmd_error *err);

/* The pose of a model where the last mmd_simulation_seek() or mmd_simulation_advance() has arrived:
   (B,4,4) and (M,) as mmd_pose() writes them. Fails with MMD_E_ARGUMENT if neither has since the
   simulation was created, loaded, reset or given targets. */
bool mmd_simulation_pose(mmd_simulation *simulation, size_t model, float *matrices,
                         float *morph_weights, mmd_error *err);

/* Saves everything but models, motions and settings that later poses depend on: writes it to
   `bytes`, and returns its size; NULL only counts. Loading fails with MMD_E_ARGUMENT, and changes
   nothing, unless the bytes are valid for this simulation. */
size_t mmd_simulation_save(const mmd_simulation *simulation, void *bytes);
bool mmd_simulation_load(mmd_simulation *simulation, const void *bytes, size_t size,
                         mmd_error *err);

/* Back to before the start. */
void mmd_simulation_reset(mmd_simulation *simulation);

/* The frame where it has arrived; with targets, 30 times the seconds since the start. */
double mmd_simulation_frame(const mmd_simulation *simulation);

/* (J,2) of the joints of all models, in their order, as mmd_world_strain() writes it. */
void mmd_simulation_strain(const mmd_simulation *simulation, double *strain);

/* What a user should know about the models and the run so far; false beyond the last note. */
bool mmd_simulation_note(const mmd_simulation *simulation, size_t index, char text[256]);

#ifdef MMD_BUILD_SHARED
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
