/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SKIN_PASS_H
#define MMD_GL_SKIN_PASS_H

#include "core/skin/mesh.h"
#include "core/skin/skin.h"
#include "gl/gl_context.h"
#include "gl/gl_thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the files that skin use of each other, and those that render of them: programs, meshes on
   the device, passes and read-back. */

/* The macros that skin.comp is compiled with. */
typedef union mmd_gl_skin_variant {
    struct {
        unsigned kind : 3;       /* mmd_skin_kind */
        unsigned influences : 3; /* 0, 1, 2 or 4 */
        unsigned morphed : 1, slerp : 1, normals : 1;
        unsigned tangent_width : 3; /* 0: no tangents */
        unsigned drawn : 1; /* positions in view space, and float is enough for normals; else
                               positions in model space, and no normal that is not precise */
        unsigned unused : 19;
    };
    unsigned index; /* of its program */
} mmd_gl_skin_variant;

enum { MMD_GL_SKIN_VARIANTS = 1 << 13 };

/* Invocations of a work group, and work groups in a direction; OpenGL guarantees so many. */
enum { MMD_GL_GROUP_SIZE = 128, MMD_GL_MAX_GROUPS = 65535 };

/* Locations of uniforms in skin.comp, which has them as macros. */
#define MMD_GL_SKIN_UNIFORMS(X)                                                                    \
    X(SIZES)                                                                                       \
    X(CORRECTION)                                                                                  \
    X(VIEW_ROTATION)                                                                               \
    X(CAMERA)

/* Texture units of its samplers, after those of the programs that render. */
#define MMD_GL_SKIN_UNITS(X)                                                                       \
    X(VERTICES)                                                                                    \
    X(BONES)                                                                                       \
    X(MORPH_OFFSETS)                                                                               \
    X(MORPH_WEIGHTS)

#define MMD_GL_SKIN_LOCATION(name) MMD_GL_SKIN_##name,
#define MMD_GL_SKIN_UNIT(name) MMD_GL_##name##_UNIT,
enum { MMD_GL_SKIN_UNIFORMS(MMD_GL_SKIN_LOCATION) };
enum { MMD_GL_BEFORE_SKIN_UNITS = 7, MMD_GL_SKIN_UNITS(MMD_GL_SKIN_UNIT) };

/* RGBA32F texels of a mmd_skin_bone in a buffer texture. */
enum { MMD_GL_BONE_TEXELS = sizeof(mmd_skin_bone) / 16 };

/* x of a normal for which float is not precise enough, and of its tangent; no unit vector has it.
   mmd_skin_scalar_directions computes them again. */
#define MMD_GL_IMPRECISE 2.0f

/* The program of a variant of skin.comp with skinning.glsl, which the first call compiles. 0 if the
   driver refuses it; `err` has its log. */
GLuint mmd_gl_skin_program_get(mmd_gl_context *context, mmd_gl_skin_variant variant,
                               mmd_error *err);

/* Vertices with the same formula, which one dispatch skins. */
typedef struct mmd_gl_mesh_range {
    int32_t kind;  /* mmd_skin_kind */
    int32_t count; /* influences: 0, 1, 2 or 4 */
    bool morphed;  /* vertex morphs move them */
    size_t first_texel, vertex_count;
    GLuint texture; /* of its texels: RGBA32I, as skin.comp reads them */
} mmd_gl_mesh_range;

/* A mesh on the device. */
typedef struct mmd_gl_mesh {
    mmd_gl_object object;
    GLuint vertices;                    /* a buffer with the texels of all ranges */
    GLuint morph_buffer, morph_texture; /* RGBA32I: bits of the offset, index of the morph */
    size_t range_count;
    mmd_gl_mesh_range *ranges;
} mmd_gl_mesh;

/* The mesh in this context, uploaded by the first call. Only on the OpenGL thread. */
mmd_gl_mesh *mmd_gl_mesh_get(mmd_gl_context *context, const mmd_mesh *mesh, mmd_error *err);

/* Skinning of some frames of a job to buffers of the device, for those who read them back and those
   who draw them. */

enum { MMD_GL_SKIN_OUTPUTS = 3 }; /* positions, normals, tangents */

/* Where they view what they draw from: three rows (right, up, forward), position. */
typedef struct mmd_gl_skin_view {
    float rotation[9], camera[3];
} mmd_gl_skin_view;

/* Set the first two members, zero the rest; `bones` and `weights` have room for the frames of a
   pass. */
typedef struct mmd_gl_skin_pass {
    const mmd_skin_job *job; /* its outputs only tell which are computed */
    mmd_gl_context *context;
    mmd_skin_bone *bones;
    float *weights;
    const mmd_gl_mesh *mesh; /* set by mmd_gl_skin_pass_begin() */
    bool morphs_act;
} mmd_gl_skin_pass;

/* A part of a buffer that has an output of all frames of a pass, in the order of the mesh. */
typedef struct mmd_gl_skin_output {
    GLuint buffer;      /* 0: the job lacks the output */
    size_t first, size; /* bytes */
} mmd_gl_skin_output;

/* Uploads the mesh at first use. */
bool mmd_gl_skin_pass_begin(mmd_gl_skin_pass *pass, mmd_error *err);

/* How many of so many frames one pass can skin; 0 if not even one, with an error. */
size_t mmd_gl_skin_pass_max_frames(const mmd_gl_skin_pass *pass, size_t frames, mmd_error *err);

/* Uploads the bones and weights of frames [first, first + frames), and skins them. With a view,
   positions are in view space, of four numbers, and normals as precise as float; else some are
   MMD_GL_IMPRECISE. Activates a texture unit that no program uses that renders. */
bool mmd_gl_skin_pass_run(mmd_gl_skin_pass *pass, size_t first, size_t frames,
                          const mmd_gl_skin_view *view,
                          const mmd_gl_skin_output outputs[MMD_GL_SKIN_OUTPUTS], mmd_error *err);

/* A buffer that commands of the device write and the CPU reads. Initialize to zero. */
typedef struct mmd_gl_readback {
    GLuint buffer;
    size_t size;
    const void *memory; /* where it is mapped as long as it exists; NULL: it is mapped to be read */
    GLsync fence;       /* after the commands that write it; NULL: none are submitted */
} mmd_gl_readback;

/* Makes a buffer at least this large; what it had is lost. */
bool mmd_gl_readback_reserve(mmd_gl_context *context, mmd_gl_readback *readback, size_t size,
                             mmd_error *err);
void mmd_gl_readback_free(mmd_gl_readback *readback);

/* Submits the commands so far, which write it; forgets those that were submitted. */
void mmd_gl_readback_submit(mmd_gl_readback *readback);
void mmd_gl_readback_cancel(mmd_gl_readback *readback);

/* Waits for the commands; its first bytes, or NULL if they fail or cannot be mapped. Each that is
   begun must be ended, which fails if the bytes were lost meanwhile. */
const void *mmd_gl_readback_begin(mmd_gl_context *context, mmd_gl_readback *readback, size_t bytes,
                                  mmd_error *err);
bool mmd_gl_readback_end(const mmd_gl_readback *readback, mmd_error *err);

#endif
