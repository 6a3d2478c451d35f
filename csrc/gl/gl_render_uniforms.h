/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_UNIFORMS_H
#define MMD_GL_RENDER_UNIFORMS_H

#include "core/render/render.h"
#include "gl/gl_context.h"

/* The uniform blocks of the programs that render: buffers of the structs below, whose layout and
   meaning shaders/uniforms.glsl has. Those of the materials are uploaded once for all frames. */

typedef struct mmd_gl_frame_uniforms {
    float view_rotation[3][4], shadow_matrix[4][4];
    float to_light[4], light_color[4], background[4];
    float ground[4], ground_light[4], ground_color[4];
    float half_extent[2], pixel_size[2];
    float near_plane, depth_scale, edge_unit, shadow_bias, shadow_offset;
    int32_t samples, has_normals, first_row;
} mmd_gl_frame_uniforms;

/* Zeroed: without buffers. */
typedef struct mmd_gl_render_uniforms {
    GLuint frame, materials;
    size_t stride; /* bytes from material to material */
} mmd_gl_render_uniforms;

/* Makes the buffers, with the materials of a job. mmd_gl_render_uniforms_free() is needed even if
   it fails. */
bool mmd_gl_render_uniforms_init(mmd_gl_render_uniforms *uniforms, const mmd_render_job *job,
                                 mmd_error *err);
void mmd_gl_render_uniforms_free(mmd_gl_render_uniforms *uniforms);

/* What programs read from now on: this frame, this material of the job. */
void mmd_gl_render_uniforms_set_frame(const mmd_gl_render_uniforms *uniforms,
                                      const mmd_gl_frame_uniforms *frame);
void mmd_gl_render_uniforms_set_material(const mmd_gl_render_uniforms *uniforms, size_t material);

/* From sRGB. Morphs can make components exceed 0 to 1; they are clamped. */
void mmd_gl_linear_color(const float *srgb, float out[3]);

float mmd_gl_clamp01(float x);

#endif
