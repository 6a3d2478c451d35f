/* SPDX-License-Identifier: MIT */
#ifndef MMD_RENDER_H
#define MMD_RENDER_H

#include "mmdskin.h"

#include <stdint.h>

/* Render jobs: their inputs and outputs, their check, and the camera's view. Independent of the
   renderer. Coordinates are model units in the files' left-handed space. */

enum { MMD_MAX_SAMPLES = 8, MMD_TOON_COUNT = 10 };

typedef struct mmd_render_texture {
    size_t width, height;
    const uint8_t *pixels; /* (height,width,4) sRGB, straight alpha */
    uint64_t digest[2];    /* of the pixels, by which devices find a texture; 0: not computed yet */
} mmd_render_texture;

/* LAMBERT: lit by the cosine to the light, in linear colors. MMD: what MMD shows, in the numbers of
   the files (docs/look.md). */
typedef enum mmd_look { MMD_LOOK_LAMBERT, MMD_LOOK_MMD } mmd_look;

typedef enum mmd_ground_shadow {
    MMD_GROUND_SHADOW_OFF,
    MMD_GROUND_SHADOW_LIGHT, /* opaque, in the color of the light */
    MMD_GROUND_SHADOW_COLOR
} mmd_ground_shadow;

/* What only the look of MMD has. */
typedef struct mmd_render_effects {
    const float *light_colors; /* (light_color_frames,3) */
    size_t light_color_frames;
    /* (additional_uv_frames,V,additional_uv_width), of which the first two numbers are read; or
       NULL: zero */
    const float *additional_uvs;
    size_t additional_uv_frames, additional_uv_width;
    const float *factors; /* (material_count,2,3,4) of textures, or NULL: neutral */
    mmd_ground_shadow ground_shadow;
    float ground_color[4]; /* of MMD_GROUND_SHADOW_COLOR, straight alpha */
    bool self_shadow;
} mmd_render_effects;

/* Frames of one mesh. An input of a single frame is shared by all frames. */
typedef struct mmd_render_job {
    size_t frame_count, vertex_count, triangle_count;
    const int32_t *triangles; /* (T,3) valid vertex indices; front faces are clockwise */
    bool has_normals;         /* else those of the triangles are used */
    const float *positions;   /* (position_frames,V,3), or NULL: skinned while drawing */
    const float *normals;     /* (position_frames,V,3), or NULL */
    const float *uvs;         /* (uv_frames,V,2), or NULL: zero */
    const float *edge_scales; /* (V,), or NULL: one */
    size_t position_frames, uv_frames;
    size_t material_count; /* materials of consecutive triangles; the rest is not drawn */
    /* Colors are sRGB, 0 to 1; textures and the toon are indices of the job's, -1: none. */
    const mmd_material *materials;
    size_t texture_count;
    mmd_render_texture *textures; /* computes their digests, once for all slices of the job */

    const mmd_camera *cameras; /* (camera_frames,), or NULL: fitted to each frame */
    size_t camera_frames;
    mmd_look look;
    const float *lights; /* (light_frames,3) directions in which the light shines, not zero */
    size_t light_frames;
    mmd_render_effects effects; /* for MMD_LOOK_MMD */
    float background[4];
    bool edges;
    size_t width, height;
    size_t samples; /* samples x samples per pixel of the image, up to MMD_MAX_SAMPLES */

    /* Outputs (frame_count,height,width,...); NULL: not computed */
    uint8_t *image;           /* 4: sRGB, straight alpha */
    float *depth_buffer;      /* along the view direction; infinity where nothing is drawn */
    float *normal_buffer;     /* 3: unit, facing the camera; zero where nothing is drawn */
    int32_t *triangle_buffer; /* -1 where nothing is drawn */
} mmd_render_job;

/* The largest coordinate of a vertex and a camera: the product of three is still a float. */
#define MMD_RENDER_MAX_COORDINATE 1e9f

static inline size_t mmd_render_triangle_count(const mmd_material *material)
{
    return (size_t)material->index_count / 3;
}

/* Checks everything that renderers rely on, except for positions and normals, which the second one
   checks if the job has them. Both fail with MMD_E_ARGUMENT. */
bool mmd_render_check(const mmd_render_job *job, mmd_error *err);
bool mmd_render_check_vertices(const mmd_render_job *job, mmd_error *err);

/* The job of frames [first, first + count). */
mmd_render_job mmd_render_slice(const mmd_render_job *job, size_t first, size_t count);

typedef struct mmd_render_view {
    double rotation[3][3]; /* rows: right, up, forward */
    double position[3];
    double half_extent[2]; /* half the image's width and height at distance 1 */
    double to_light[3];    /* unit vector, not in view space */
} mmd_render_view;

/* The view of a frame of a checked job. */
void mmd_render_view_init(const mmd_render_job *job, size_t frame, mmd_render_view *out);

/* Positions (V,3) in view space: right, up, forward, 1; (V,4). Returns the maximum of forward,
   -INFINITY without positions. */
double mmd_render_view_transform(const mmd_render_view *view, const float *positions, size_t count,
                                 float *out);

#endif
