/* SPDX-License-Identifier: MIT */
#ifndef MMDSKIN_H
#define MMDSKIN_H

/* mmdskin in C: reads models and motions of MMD, poses and skins them. All that a program needs
   stands here; every other header of this tree is internal and may change.

       mmd_model *model = mmd_model_load(bytes, size, &err);
       mmd_motion *motion = mmd_motion_load(more_bytes, more_size, &err);
       mmd_rig *rig = mmd_rig_new(model, &err);
       mmd_poser *poser = mmd_poser_new(rig, motion, &err);   mmd_pose(poser, &pose_job, &err);
       mmd_mesh *mesh = mmd_mesh_of_model(model, &err);       mmd_skin(&skin_job, NULL, &err);

   tests/c/example.c is a whole program. Functions that take an mmd_error return false or NULL
   exactly when they have filled it; it may be NULL. What a function named ..._new, ..._load or
   ..._of_model returns is the caller's, who frees it; freeing takes NULL. Arguments are borrowed
   for the call unless it is said otherwise. Models, motions, rigs and meshes do not change once
   they are made: any number of threads may use one. Nothing is printed and no state is global.

   Space is that of the files: left-handed, +Y up, angles in radians, 30 frames a second. Matrices
   are row-major, for column vectors. docs/mmd-behaviour.md says what MMD does with all this. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header, and of the code that was compiled. */
#define MMDSKIN_VERSION "0.1.0"
const char *mmd_version(void);

/* Errors */

typedef enum mmd_error_code {
    MMD_E_NONE,
    MMD_E_ARGUMENT,
    MMD_E_FORMAT, /* a malformed file */
    MMD_E_MEMORY,
    MMD_E_BACKEND /* cannot be used here */
} mmd_error_code;

/* The text names the thing and its limit: "vertex 812: bone 40 of 37". `offset` and `section`
   ("bones[12]") are set for MMD_E_FORMAT only. */
typedef struct mmd_error {
    mmd_error_code code;
    size_t offset;
    char section[64];
    char text[256];
} mmd_error;

/* UTF-8 of `size` bytes, followed by a NUL that is not counted. */
typedef struct mmd_text {
    const char *data;
    size_t size;
} mmd_text;

/* Internal: the memory of what begins with it. */
typedef struct mmd_arena {
    struct mmd_arena_block *last;
} mmd_arena;

/* Models */

/* The contents of a PMX file (PMD files are brought into the same shape), as plain data.
   A loaded model is index-safe: every index is -1 or within its table, parents make no
   circle, every number is finite. docs/mmd-behaviour.md#pmx */

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
   has the numbers of its kind: 1 ratio (group, flip) · 3 x y z (vertex) · 7 translation, rotation
   xyzw (bone) · 4 numbers (UV) · 29 op, diffuse 4, specular 3, specular power, ambient 3, edge
   colour 4, edge size, texture 4, sphere 4, toon 4 (material; op 0 multiplies, 1 adds; index -1:
   all materials) · 7 local, velocity 3, torque 3 (impulse). Offsets whose index points nowhere are
   left out. */
typedef struct mmd_morph {
    mmd_text name, name_english;
    uint8_t panel;
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

typedef enum mmd_sphere_mode {
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

typedef enum mmd_body_shape {
    MMD_SPHERE,
    MMD_BOX,
    MMD_CAPSULE,
    MMD_BODY_SHAPE_COUNT
} mmd_body_shape;

typedef enum mmd_body_mode {
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

typedef enum mmd_joint_kind {
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

/* A PMX 2.0, PMX 2.1 or PMD file, told apart by content. Fails with MMD_E_FORMAT or MMD_E_MEMORY.
 */
mmd_model *mmd_model_load(const uint8_t *bytes, size_t size, mmd_error *err);
void mmd_model_free(mmd_model *model);

/* Motions */

/* The contents of a VMD file, or of a VPD file as a motion of one frame (0), as plain data. A
   loaded motion is sound: keys of a track ascend strictly by frame (of equal frames the last in the
   file stays), numbers are finite, rotations are unit quaternions x y z w (of zero length in the
   file: identity), interpolation bytes are 0-127. docs/mmd-behaviour.md#vmd and, of what the tracks
   mean, docs/mmd-behaviour.md#sampling. Frames are 30 a second. */

typedef struct mmd_bone_track {
    mmd_text name;
    size_t key_count;
    uint32_t *frames;
    float *translations;    /* (n,3) */
    float *rotations;       /* (n,4) */
    uint8_t *interpolation; /* (n,4,4): rows x, y, z, rotation, columns x1 y1 x2 y2 */
    uint8_t *physics; /* (n,) 0: from this key to the next the bone's rigid bodies follow it */
} mmd_bone_track;

typedef struct mmd_morph_track {
    mmd_text name;
    size_t key_count;
    uint32_t *frames;
    float *weights;
} mmd_morph_track;

typedef struct mmd_camera_track {
    size_t key_count;
    uint32_t *frames;
    float *distances;
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
    size_t ik_count;  /* different IK names in all keys */
    mmd_text *ik_names;
    uint8_t *ik_enabled; /* (n,k): 1 where a key does not list the name */
} mmd_property_track;

typedef struct mmd_motion {
    mmd_arena arena; /* owns everything below */
    mmd_text name;
    uint32_t first_frame, last_frame; /* over all tracks; 0, 0 when there is none */
    size_t bone_track_count, morph_track_count;
    mmd_bone_track *bone_tracks; /* in order of first appearance, one per name */
    mmd_morph_track *morph_tracks;
    mmd_camera_track camera;
    mmd_light_track light;
    mmd_shadow_track shadow;
    mmd_property_track properties;
} mmd_motion;

/* A VMD or VPD file, told apart by content. Fails with MMD_E_FORMAT or MMD_E_MEMORY. */
mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err);

/* A motion of these tracks, which it copies; what they own and the range of frames are not looked
   at. Keys may come in any order; of equal frames the last stays, and tracks without keys are left
   out. Rotations may have any length but zero. Pointers to translations, rotations, interpolation
   and physics of bones may be NULL (zero, identity, straight lines, 1), so may the camera's
   interpolation (straight lines) and perspective and the properties' visibility (1). Fails with
   MMD_E_ARGUMENT, where two tracks have one name, too, or with MMD_E_MEMORY. */
mmd_motion *mmd_motion_new(const mmd_motion *tracks, mmd_error *err);

/* A motion as a VMD: the size of the file, and its bytes. Names are written in cp932; they have
   room for 15 bytes (the motion's own for 20), and with `truncate` the characters that do not fit
   are left out. Fails with MMD_E_ARGUMENT for what a VMD cannot hold, or with MMD_E_MEMORY; the
   bytes mean nothing then. */
size_t mmd_vmd_size(const mmd_motion *motion);
bool mmd_vmd_write(const mmd_motion *motion, bool truncate, uint8_t *bytes, mmd_error *err);

void mmd_motion_free(mmd_motion *motion);

/* The place of a camera, which sees `target` in the middle of its picture with `up` upward. */
typedef struct mmd_camera {
    double position[3], target[3], up[3];
    double fov; /* vertical, degrees */
} mmd_camera;

/* The camera at a frame, by MMD's curves: keys on neighbouring frames are a cut. Without keys MMD's
   own, 45 units before (0, 10, 0). A key without perspective is taken as one with it. */
void mmd_camera_at(const mmd_camera_track *track, double frame, mmd_camera *out);

/* Poses */

/* What posing needs of a model, which must outlive it: evaluation order, IK solvers. Fails only
   with MMD_E_MEMORY. */
typedef struct mmd_rig mmd_rig;

mmd_rig *mmd_rig_new(const mmd_model *model, mmd_error *err);
void mmd_rig_free(mmd_rig *rig);

/* Poses one model by one motion (NULL: by local values): what they have to do with each other, and
   all memory that a frame takes. One thread at a time may use it; rig and motion must outlive it.
   Fails only with MMD_E_MEMORY. */
typedef struct mmd_poser mmd_poser;

mmd_poser *mmd_poser_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err);
void mmd_poser_free(mmd_poser *poser);

typedef struct mmd_pose_job {
    size_t frame_count;
    bool ik; /* whether solvers run; those that the motion switches off do not */

    /* With a motion: (frame_count,) frames in any order. */
    const double *frames;

    /* Without: local values, of one frame for all or of frame_count. NULL: at rest, sliders at
       zero. Rotations may have any length but zero. */
    const float *translations;  /* (translation_frames,B,3) */
    const float *rotations;     /* (rotation_frames,B,4) x y z w */
    const float *given_sliders; /* (slider_frames,M) */
    const uint8_t *ik_bones;    /* (ik_frames,B) 1: the IK of this bone runs; NULL: of all */
    size_t translation_frames, rotation_frames, slider_frames, ik_frames;

    float *matrices; /* (frame_count,B,4,4) skinning matrices, row-major */
    float *sliders;  /* (frame_count,M) as the motion or the caller has them */
} mmd_pose_job;

/* Checks the job and fills its outputs. A frame depends on nothing that earlier ones left. Nothing
   is written when it fails: MMD_E_ARGUMENT, for numbers that are not finite, rotations without a
   length, counts of frames that do not fit. */
bool mmd_pose(mmd_poser *poser, const mmd_pose_job *job, mmd_error *err);

/* Skinning */

/* Vertices with influences and morphs, checked once. */
typedef struct mmd_mesh mmd_mesh;

/* Skinning input without a file. */
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

/* Of a model as it was loaded, which the mesh may outlive. Fails only with MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_of_model(const mmd_model *model, mmd_error *err);
void mmd_mesh_free(mmd_mesh *mesh);

typedef enum mmd_method {
    MMD_METHOD_MMD, /* each vertex by its own kind */
    MMD_METHOD_LINEAR,
    MMD_METHOD_DUAL_QUATERNION,
    MMD_METHOD_BULGE_FREE, /* these, of docs/methods.md, want a mesh of mmd_mesh_variant() */
    MMD_METHOD_BULGE_COMPENSATED,
    MMD_METHOD_CENTERS_OF_ROTATION
} mmd_method;

typedef enum mmd_sdef_blend { MMD_SDEF_NLERP, MMD_SDEF_SLERP } mmd_sdef_blend;

/* What the methods against bulges and tangents need beside a mesh; NULL where it is not known. */
typedef struct mmd_mesh_extras {
    const int32_t *triangles; /* (T,3) */
    size_t triangle_count;
    const float *uvs;       /* (V,2) texture coordinates */
    const float *centers;   /* (V,3): used as they are, instead of triangles */
    const float *segments;  /* (B,2,3): head and tail at rest, equal where a bone has none */
    const int32_t *parents; /* (B,), -1: none */
    size_t segment_count, parent_count; /* each the number of bones */
} mmd_mesh_extras;

/* (B,2,3): the segments of a model's bones. Fails only with MMD_E_MEMORY. */
bool mmd_model_segments(const mmd_model *model, float *segments, mmd_error *err);

/* The mesh laid out for one of these methods, which the base must outlive. Fails with
   MMD_E_ARGUMENT where the extras lack what the method needs, where numbers are not finite or
   indices are outside of their tables, or with MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_variant(const mmd_mesh *base, mmd_method method, const mmd_mesh_extras *extras,
                           mmd_error *err);

/* The mesh, or a variant of one, with tangents (x y z and handedness) made of triangles and uvs, by
   docs/methods.md#tangents; the base must outlive it. Fails with MMD_E_ARGUMENT where no triangle
   has an area of texture, or with MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_with_tangents(const mmd_mesh *base, const mmd_mesh_extras *extras,
                                 mmd_error *err);

/* Frames of one mesh. Of matrices the last row is not used.
   A single frame of matrices or of sliders serves all frames. Outputs are (F,V,3), tangents
   (F,V,tangent_width); normals and tangents may be NULL. Nothing may overlap. */
typedef struct mmd_skin_job {
    const mmd_mesh *mesh;
    size_t frame_count;
    size_t bone_count;
    const float *matrices; /* (matrix_frames,B,4,4) */
    size_t matrix_frames;  /* 1 or frame_count */
    const float *sliders;  /* (slider_frames,M), or NULL: all zero */
    size_t slider_frames;
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    float correction; /* of BULGE_FREE and BULGE_COMPENSATED, 0 to 1 */
    float *positions, *normals, *tangents;
} mmd_skin_job;

/* Checks the job and runs it on the calling thread. `kernel`: "scalar", "sse2", "avx2", "avx512",
   "neon"; NULL: the best one here. Nothing is written when it fails: MMD_E_ARGUMENT, MMD_E_MEMORY,
   MMD_E_BACKEND for a kernel that is not known or not supported here. */
bool mmd_skin(const mmd_skin_job *job, const char *kernel, mmd_error *err);

#ifdef __cplusplus
}
#endif

#endif
