/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDERER_H
#define MMD_GL_RENDERER_H

#include "core/render/render.h"
#include "gl/gl_context.h"
#include "gl/gl_skin_pass.h"
#include "gl/gl_thread.h"

/* What the files that render use of each other: first the parts of a job, each with a file of its
   own, then the job. */

/* The shader programs that render: one for each pass, from render.*, look.* and resolve.*. */

/* COLOR: the surfaces. EDGE: the outlines, as inverted hulls behind the surfaces. GBUFFER: depth,
   normal and triangle of each pixel. RESOLVE: the mean of a pixel's samples over the background.
   For the look of MMD: LOOK: the surfaces. GROUND_SHADOW: what they cast on the ground. SHADOW_MAP:
   depths as the light sees them. RESOLVE_SRGB: as RESOLVE, but of numbers that are not linear. The
   shaders get these as macros, and the names of attributes and texture units. */
#define MMD_GL_RENDER_PASSES(X)                                                                    \
    X(COLOR)                                                                                       \
    X(EDGE)                                                                                        \
    X(GBUFFER)                                                                                     \
    X(RESOLVE)                                                                                     \
    X(GROUND_SHADOW)                                                                               \
    X(SHADOW_MAP)                                                                                  \
    X(RESOLVE_SRGB)                                                                                \
    X(LOOK)

typedef enum mmd_gl_render_pass {
#define MMD_GL_PASS_ENUMERATOR(name) MMD_GL_PASS_##name,
    MMD_GL_RENDER_PASSES(MMD_GL_PASS_ENUMERATOR)
#undef MMD_GL_PASS_ENUMERATOR
        MMD_GL_PASS_COUNT
} mmd_gl_render_pass;

/* The macros that the pass LOOK is compiled with: what a material has. */
typedef union mmd_gl_look_variant {
    struct {
        unsigned textured : 1, toon : 1, specular : 1;
        unsigned self_shadow : 1; /* whether it is on for the picture */
        unsigned receives : 1;    /* whether it falls on the material */
        unsigned sphere : 2;      /* mmd_sphere_mode */
        unsigned unused : 25;
    };
    unsigned index; /* of its program */
} mmd_gl_look_variant;

enum { MMD_GL_LOOK_VARIANTS = 1 << 7 };

/* Vertex attributes of render.vert and look.vert, in the order of their locations. */
#define MMD_GL_RENDER_ATTRIBUTES(X)                                                                \
    X(POSITION)                                                                                    \
    X(NORMAL)                                                                                      \
    X(UV)                                                                                          \
    X(EDGE_SCALE)                                                                                  \
    X(ADDITIONAL_UV)

typedef enum mmd_gl_render_attribute {
#define MMD_GL_ATTRIBUTE_ENUMERATOR(name) MMD_GL_RENDER_##name,
    MMD_GL_RENDER_ATTRIBUTES(MMD_GL_ATTRIBUTE_ENUMERATOR)
#undef MMD_GL_ATTRIBUTE_ENUMERATOR
        MMD_GL_RENDER_ATTRIBUTE_COUNT
} mmd_gl_render_attribute;

typedef struct mmd_gl_render_programs {
    GLuint passes[MMD_GL_PASS_LOOK];    /* all but the last one */
    GLuint looks[MMD_GL_LOOK_VARIANTS]; /* 0: not compiled yet */
} mmd_gl_render_programs;

/* Texture units of the samplers in render.frag, look.frag and resolve.frag. */
#define MMD_GL_RENDER_UNITS(X)                                                                     \
    X(TEXTURE)                                                                                     \
    X(TRIANGLES)                                                                                   \
    X(POSITIONS)                                                                                   \
    X(SPHERE)                                                                                      \
    X(TOON)                                                                                        \
    X(SHADOW)

enum {
#define MMD_GL_UNIT_ENUMERATOR(name) MMD_GL_##name##_UNIT,
    MMD_GL_RENDER_UNITS(MMD_GL_UNIT_ENUMERATOR)
#undef MMD_GL_UNIT_ENUMERATOR
};

/* Compiles the programs at the first call. NULL if the driver refuses one; `err` has its log. */
const mmd_gl_render_programs *mmd_gl_render_programs_get(mmd_gl_context *context, mmd_error *err);

/* The program of a variant of LOOK, compiled at the first call, after mmd_gl_render_programs_get.
   0 if the driver refuses it. */
GLuint mmd_gl_look_program_get(mmd_gl_context *context, mmd_gl_look_variant variant,
                               mmd_error *err);

/* The framebuffers that render jobs draw to, which the context keeps for the next job. */

/* Color attachments of the G-buffer, in the order of the shader's outputs. */
typedef enum mmd_gl_gbuffer {
    MMD_GL_GBUFFER_TRIANGLE,
    MMD_GL_GBUFFER_DEPTH,
    MMD_GL_GBUFFER_NORMAL,
    MMD_GL_GBUFFER_COUNT
} mmd_gl_gbuffer;

enum { MMD_GL_DEPTH_ATTACHMENT = MMD_GL_GBUFFER_COUNT, MMD_GL_ATTACHMENT_COUNT };

/* The attachments are textures; the formats of those that it lacks are 0. */
typedef struct mmd_gl_framebuffer {
    GLuint name, textures[MMD_GL_ATTACHMENT_COUNT];
    GLenum formats[MMD_GL_ATTACHMENT_COUNT];
    GLsizei width, height;
} mmd_gl_framebuffer;

/* Large pictures take a software renderer seconds. It draws them in bands of rows, between which
   the caller may interrupt it, and which need less memory. Their heights are those of the bands. */
typedef struct mmd_gl_render_targets {
    size_t rows;                /* of a band: all, or fewer */
    mmd_gl_framebuffer samples; /* supersampled, premultiplied */
    mmd_gl_framebuffer shadow;  /* the depth map of the light */
    mmd_gl_framebuffer image, gbuffer;
} mmd_gl_render_targets;

/* Those that a job needs, made unless the last job had the same. NULL if that fails. */
const mmd_gl_render_targets *mmd_gl_render_targets_get(mmd_gl_context *context,
                                                       const mmd_render_job *job, mmd_error *err);

/* After a job: frees them if it failed, or if they are too large to be kept. */
void mmd_gl_render_targets_release(mmd_gl_context *context, bool ok);

/* Whether the job has outputs other than the image, and whether it needs the depth map. */
bool mmd_gl_render_targets_has_gbuffer(const mmd_render_job *job);
bool mmd_gl_render_targets_has_shadow_map(const mmd_render_job *job);

/* The uniform blocks of the programs that render: buffers of the structs below, whose layout and
   meaning shaders/uniforms.glsl has; materials have another one (gl_render_buffers.c). */
typedef struct mmd_gl_frame_uniforms {
    float view_rotation[3][4], shadow_matrix[4][4];
    float to_light[4], light_color[4], background[4];
    float ground[4], ground_light[4], ground_color[4];
    float half_extent[2], pixel_size[2];
    float near_plane, depth_scale, edge_unit, shadow_bias, shadow_offset;
    int32_t samples, has_normals, first_row;
} mmd_gl_frame_uniforms;

/* The vertices of a render job that skins while it draws: of each frame on the CPU, or on the
   device, from which they are not read back. */
typedef struct mmd_gl_render_skin {
    mmd_skin_job job; /* its outputs are `positions` and `normals` on the CPU */
    bool on_device;
    mmd_arena arena;            /* of the arrays below */
    float *positions, *normals; /* (V,3) of the current frame */
    mmd_skin_workspace workspace;
    mmd_gl_skin_pass pass;
    bool *bone_used;
    double rest[2][3]; /* bounding box of the rest pose */
} mmd_gl_render_skin;

/* For skinning that is zero except for its first two members, a checked job and where to skin.
   mmd_gl_render_skin_free() is needed even if it fails. */
bool mmd_gl_render_skin_init(mmd_gl_render_skin *skin, mmd_gl_context *context, mmd_error *err);
void mmd_gl_render_skin_free(mmd_gl_render_skin *skin);

/* Fills `positions` and `normals` with a frame. */
bool mmd_gl_render_skin_frame(mmd_gl_render_skin *skin, size_t frame, mmd_error *err);

/* Skins a frame to buffers of positions in view space (V,4) and of normals (0: none), and activates
   another texture unit. */
bool mmd_gl_render_skin_draw(mmd_gl_render_skin *skin, size_t frame, const mmd_render_view *view,
                             GLuint positions, GLuint normals, mmd_error *err);

/* A depth that no vertex of a frame exceeds in a view. Fails with MMD_E_ARGUMENT if coordinates may
   exceed MMD_RENDER_MAX_COORDINATE. */
bool mmd_gl_render_skin_depth(const mmd_gl_render_skin *skin, size_t frame,
                              const mmd_render_view *view, double *depth, mmd_error *err);

/* A render job while it runs: what it needs on the device, of which the context keeps textures and
   framebuffers for later jobs, and the frame that is drawn. */
typedef struct mmd_gl_renderer {
    mmd_gl_context *context;
    const mmd_render_job *job;
    const mmd_gl_caller *caller;
    const mmd_gl_render_programs *programs;
    const mmd_gl_render_targets *targets;
    mmd_gl_render_skin *skin; /* NULL: the job has positions */
    mmd_arena arena;          /* of the arrays below */

    GLuint vertex_array, buffers[MMD_GL_RENDER_ATTRIBUTE_COUNT], elements;
    GLuint triangles_texture, positions_texture; /* buffer textures of elements and positions */
    GLuint frame_buffer, material_buffer;        /* of uniforms; all materials have theirs in one */
    size_t material_stride;                      /* bytes from material to material */
    GLuint *textures, white_texture;             /* the job's, and one for materials without any */

    size_t frame;
    float *view_positions; /* (V,4) of the frame, unless it is skinned on the device */
    mmd_render_view view;
    double near_plane;
    float depth_scale;
    mmd_gl_frame_uniforms uniforms;
    size_t first_row, rows; /* of the picture, which are drawn now */
    bool visible, has_shadow_map, has_ground_shadow;
} mmd_gl_renderer;

/* Buffers of vertices and uniforms, which mmd_gl_render_buffers_free() deletes also where init
   failed. */
bool mmd_gl_render_buffers_init(mmd_gl_renderer *renderer, mmd_error *err);
void mmd_gl_render_buffers_free(mmd_gl_renderer *renderer);

/* Uploads a vertex attribute of all vertices; NULL: nothing to read. */
void mmd_gl_render_buffers_upload(const mmd_gl_renderer *renderer,
                                  mmd_gl_render_attribute attribute, const float *values);

/* What programs read from now on: the uniforms of the frame, those of a material. */
void mmd_gl_render_buffers_set_frame(const mmd_gl_renderer *renderer);
void mmd_gl_render_buffers_set_material(const mmd_gl_renderer *renderer, size_t material);

/* From sRGB. Morphs can make components exceed 0 to 1; they are clamped. */
void mmd_gl_linear_color(const float *srgb, float out[3]);

float mmd_gl_clamp01(float x);

/* Finds the textures that the job uses among those of earlier jobs, or makes them. */
bool mmd_gl_render_textures_init(mmd_gl_renderer *renderer, mmd_error *err);

/* Ends the job: frees the textures that were not used for the longest time, as far as all are too
   large to be kept. If it failed, frees all of them. */
void mmd_gl_render_textures_release(mmd_gl_renderer *renderer, bool ok);

/* Activates a program, and draws to a framebuffer from then on: to all of it, or the rows of the
   picture that it is for. */
void mmd_gl_renderer_begin(GLuint program, const mmd_gl_framebuffer *to);
void mmd_gl_renderer_begin_rows(const mmd_gl_renderer *renderer, GLuint program,
                                const mmd_gl_framebuffer *to);

/* Draws `count` triangles of the mesh; a material, whose uniforms the program reads; the edges of
   all materials that have them. */
void mmd_gl_renderer_draw(size_t first, size_t count);
void mmd_gl_renderer_draw_material(const mmd_gl_renderer *renderer, size_t material, size_t first);
void mmd_gl_renderer_draw_edges(const mmd_gl_renderer *renderer);

/* MMD draws nothing of a material whose alpha is 0. */
static inline bool mmd_gl_renderer_is_visible(const mmd_material *material)
{
    return material->diffuse[3] > 0;
}

/* Draw the frame in the look of MMD: the depth map of the light, if it has one, and by it the
   surfaces, edges and shadows. */
void mmd_gl_look_draw_shadow_map(const mmd_gl_renderer *renderer);
bool mmd_gl_look_draw(const mmd_gl_renderer *renderer, mmd_error *err);

/* Set the members of the uniforms that place shadows, on the ground along the light and in the
   depth map, which is fitted to what is seen of what casts them. False if there are none. */
bool mmd_gl_look_project_ground(const mmd_gl_renderer *renderer, mmd_gl_frame_uniforms *out);
bool mmd_gl_look_fit_shadow_map(const mmd_gl_renderer *renderer, mmd_gl_frame_uniforms *out);

/* Takes the pixels that were just drawn to the caller's memory: a frame into a buffer, so that the
   device can go on with the next one, or a software renderer's band at once. What is still in
   buffers is taken when they are needed again, or by mmd_gl_render_output_finish(). */
bool mmd_gl_render_output_take(const mmd_gl_renderer *renderer, mmd_error *err);

/* Waits for all frames that were taken. Needed after the last one, also after an error, which ends
   without waiting. */
bool mmd_gl_render_output_finish(const mmd_gl_renderer *renderer, bool ok, mmd_error *err);

#endif
