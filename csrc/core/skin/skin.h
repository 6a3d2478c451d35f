/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_H
#define MMD_SKIN_H

#include "core/base/cpu.h"
#include "core/skin/mesh.h"

#include <float.h>
#include <math.h>

/* What the CPU kernels and the shaders read of one frame, and the constants that they share. */

/* A bone: its skinning matrix, and the rigid part of it as a dual quaternion. The rotation is by
   Gram-Schmidt on columns x and y; dual = (t, 0) rotation / 2, t being the translation. Both are
   zero if the determinant is not positive, so that SDEF and QDEF vertices of this bone are skinned
   linearly, or if no vertex needs them. Shaders read a bone as five RGBA32F texels. */
typedef struct mmd_skin_bone {
    float rows[3][4];
    float rotation[4]; /* unit quaternion x y z w */
    float dual[4];
} mmd_skin_bone;

/* One frame, as a CPU kernel takes it. */
typedef struct mmd_skin_input {
    const mmd_mesh *mesh;
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    float correction; /* 0 to 1, for BULGE_FREE and COMPENSATED */
    const mmd_skin_bone *bones;
    const float *weights; /* of all morphs after groups and flips; NULL: no vertex morph acts */
    float *scratch;       /* for morphed positions of vertices, or of vertex blocks; aligned */
    float *positions, *normals, *tangents; /* outputs */
} mmd_skin_input;

/* The formula for a vertex of this kind and these bones: linear if one of them has no rotation. */
static inline mmd_skin_kind mmd_skin_input_kind(const mmd_skin_input *input, int32_t kind,
                                                const int32_t *bones, int32_t count)
{
    mmd_skin_kind formula = mmd_skin_kind_of(input->method, kind, count);
    for (int32_t i = 0; i < count && formula != MMD_SKIN_LINEAR; i++) {
        const float *q = input->bones[bones[i]].rotation;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            formula = MMD_SKIN_LINEAR;
    }
    return formula;
}

/* The bones of a frame, mesh->bone_count of them. */
void mmd_skin_input_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones);

/* The morph weights of a frame, mesh->morph_count of them. False if no vertex morph acts. */
bool mmd_skin_input_weights(const mmd_skin_job *job, size_t frame, float *weights);

/* Squared length, relative to (sum of squares of the blended 3x3 matrix)^2, below which a
   transformed normal has too few digits in float, and mmd_skin_precise_normal computes it:
   blends of rotations that are almost 180 degrees apart. */
#define MMD_MIN_NORMAL (1.0f / 16384)
/* Squared length, relative to the tangent's, below which its part orthogonal to the normal is only
   rounding. */
#define MMD_MIN_TANGENT 1e-12f
/* Squared length below which a blend of quaternions has vanished, which takes negative weights. */
#define MMD_MIN_QUATERNION 1e-12f

/* The skinning kernels of the CPU, and which of them this CPU can run. */

typedef void mmd_skin_kernel_run(const mmd_skin_input *input);

mmd_skin_kernel_run mmd_skin_scalar; /* the reference */
#ifdef MMD_CPU_X86
mmd_skin_kernel_run mmd_skin_sse2, mmd_skin_avx2, mmd_skin_avx512;
#endif
#ifdef MMD_CPU_ARM
mmd_skin_kernel_run mmd_skin_neon;
#endif

typedef struct mmd_skin_kernel {
    const char *name; /* "scalar", "avx2", ... */
    bool (*available)(void);
    mmd_skin_kernel_run *run;
} mmd_skin_kernel;

/* The fastest kernel that this CPU can run. */
const mmd_skin_kernel *mmd_skin_kernel_best(void);

/* Fails with MMD_E_BACKEND if the name is unknown or this CPU cannot run the kernel. */
const mmd_skin_kernel *mmd_skin_kernel_find(const char *name, mmd_error *err);

/* The normal and tangent of a single vertex, if input->normals and input->tangents are set;
   input->positions must be NULL. */
void mmd_skin_scalar_directions(const mmd_skin_input *input, size_t vertex);

/* Formulas that all kernels share, in skin_group.c. */

/* v at unit length; `otherwise` if v is zero, or its square overflows or underflows in float. */
static inline void mmd_skin_normalized_or(const float *v, const float *otherwise, float *out)
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    bool good = square >= FLT_MIN && square <= FLT_MAX;
    float scale = good ? 1 / sqrtf(square) : 1;
    for (int i = 0; i < 3; i++)
        out[i] = good ? v[i] * scale : otherwise[i];
}

/* The normal under a linear blend, in double, for blends that are too close to singular for float
   (MMD_MIN_NORMAL). The rest normal if the blend is singular. */
void mmd_skin_precise_normal(const mmd_mesh_vertex *vertex, const mmd_skin_bone *bones,
                             float out[3]);

/* o of docs/methods.md#bulge-compensated: the offset, per unit of k, of vertices on two bones with
   segment directions u0, u1 and rotations q0, q1. */
void mmd_skin_bulge_offset(const float u0[3], const float u1[3], const float q0[4],
                           const float q1[4], float out[3]);

/* The segment from c to c0, transformed by the rigid part of a bone: its head, and the vector from
   there to its tail. */
void mmd_skin_transform_segment(const float c[3], const float c0[3], const mmd_skin_bone *bone,
                                float head[3], float segment[3]);

/* The angle between two unit quaternions as vectors in radians, for slerp; 0 if lerp is as good. */
double mmd_skin_slerp_angle(const float a[4], const float b[4]);

/* What the SIMD kernels compute once per frame and block group, in scalar code: everything that
   depends on the bones only. */

/* The specialized loop that skins a group. */
typedef enum mmd_skin_group_path {
    MMD_SKIN_GROUP_LINEAR = MMD_SKIN_LINEAR,
    MMD_SKIN_GROUP_SDEF = MMD_SKIN_SDEF,
    MMD_SKIN_GROUP_QDEF = MMD_SKIN_QDEF,
    MMD_SKIN_GROUP_CENTER = MMD_SKIN_CENTER,
    MMD_SKIN_GROUP_BULGE_FREE = MMD_SKIN_BULGE_FREE,
    MMD_SKIN_GROUP_COMPENSATED = MMD_SKIN_COMPENSATED,
    MMD_SKIN_GROUP_QDEF_SIGNED, /* the signs depend on each vertex's pivot */
    MMD_SKIN_GROUP_RIGID_BONE,  /* also transforms normals, which stay unit */
    MMD_SKIN_GROUP_ONE_BONE,
    MMD_SKIN_GROUP_LINEAR_TWO_BONES
} mmd_skin_group_path;

/* Bone matrices are 3x4, row by row. */
typedef struct mmd_skin_group {
    float last[12];           /* of the last bone */
    float differences[3][12]; /* the other bones minus the last */
    float cofactors[12];      /* ONE_BONE: times the sign of the determinant, column 3 unused */
    /* Dual quaternions of the bones. QDEF_SIGNED: with their own signs. SDEF: signs aligned to the
       first bone. Other paths: aligned, and the last bone's subtracted from all others. */
    float real[4][4], dual[4][4];
    float signs[4][4]; /* by pivot: of each bone */
    float slerp_angle; /* SDEF by slerp: radians between the quaternions; 0: nlerp */
    float min_normal;  /* squared length below which mmd_skin_precise_normal is needed */
    /* BULGE_FREE: the segment at rest and posed, as head and vector to the tail. */
    float rest_head[3], rest_segment[3], head[3], segment[3];
    float inverse_square; /* of the segment's length */
    float correction;
    float bulge_offset[3]; /* COMPENSATED: times the correction */
} mmd_skin_group;

/* `directions`: whether normals or tangents are outputs. */
mmd_skin_group_path mmd_skin_group_prepare(const mmd_skin_input *input,
                                           const mmd_vertex_block_group *group, bool directions,
                                           mmd_skin_group *out);

/* Skinning jobs (mmd_skin_job): their check, for all backends, and their frames on the CPU. */

/* Checks everything that backends rely on: counts, finite numbers. Fails with MMD_E_ARGUMENT. */
bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err);

/* The job of frames [first, first + count). */
mmd_skin_job mmd_skin_slice(const mmd_skin_job *job, size_t first, size_t count);

/* A thread's memory for the frames of a job. Zeroed before the first call, allocated by it. */
typedef struct mmd_skin_workspace {
    mmd_arena arena;
    mmd_skin_bone *bones;
    float *weights, *scratch;
    float *staging; /* outputs of one frame, if they are streamed to the results, else NULL */
} mmd_skin_workspace;

/* Skins frames [first, first + count) of a checked job on the calling thread. `kernel` NULL: the
   fastest. Fails with MMD_E_MEMORY, before anything is written. */
bool mmd_skin_frames(const mmd_skin_job *job, size_t first, size_t count,
                     const mmd_skin_kernel *kernel, mmd_skin_workspace *workspace, mmd_error *err);
void mmd_skin_workspace_free(mmd_skin_workspace *workspace);

/* Skins all frames of a checked job. */
bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_skin_kernel *kernel, mmd_error *err);

#endif
