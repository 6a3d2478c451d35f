/* SPDX-License-Identifier: MIT */
#ifndef MMD_RENDER_H
#define MMD_RENDER_H

#include "mmdskin.h"

/* What a picture is made of, whoever draws it. Space is the files'; in a picture x goes right, y
   down from the first row, and z away from the camera. */

enum { MMD_MOST_SAMPLES = 8 };

/* Colours are sRGB, 0 to 1. */
typedef struct mmd_render_material {
    float diffuse[4], ambient[3], edge_color[4], edge_size;
    bool both_sides, has_edge;
    int32_t texture; /* one of the job's, -1: none */
    size_t triangle_count;
} mmd_render_material;

typedef struct mmd_render_texture {
    size_t width, height;
    const uint8_t *pixels; /* (height,width,4) sRGB, straight alpha */
} mmd_render_texture;

/* Frames of one mesh; a single one of any input serves all frames. */
typedef struct mmd_render_job {
    size_t frame_count, vertex_count, triangle_count;
    const int32_t *triangles; /* (T,3), within the vertices, clockwise */
    const float *positions;   /* (position_frames,V,3) */
    const float *normals;     /* (position_frames,V,3), or NULL: the triangles' own */
    const float *uvs;         /* (uv_frames,V,2), or NULL: zero */
    const float *edge_scales; /* (V,), or NULL: one */
    size_t position_frames, uv_frames;
    size_t material_count; /* of triangles in their order; what is left over is not drawn */
    const mmd_render_material *materials;
    size_t texture_count;
    const mmd_render_texture *textures;

    const mmd_camera *cameras; /* (camera_frames,), or NULL: one that fits each frame */
    size_t camera_frames;
    float light[3]; /* the way that light goes, of any length but zero */
    float background[4];
    bool edges;
    size_t width, height;
    size_t samples; /* of a pixel of the image: so many rows of so many, to MMD_MOST_SAMPLES */

    /* (frame_count,height,width,...), NULL: not wanted */
    uint8_t *image;          /* 4: sRGB, straight alpha */
    float *depths;           /* along the view, infinite where nothing is */
    float *normals_seen;     /* 3: towards the camera's side, zero where nothing is */
    int32_t *triangles_seen; /* -1 where nothing is */
} mmd_render_job;

/* What drawing takes for granted. Fails with MMD_E_ARGUMENT. */
bool mmd_render_check(const mmd_render_job *job, mmd_error *err);

/* Frames [first, first + count) of a job. */
mmd_render_job mmd_render_slice(const mmd_render_job *job, size_t first, size_t count);

/* How a camera sees. */
typedef struct mmd_view {
    double rows[3][3]; /* right, up, ahead */
    double position[3];
    double reach[2]; /* of the picture's right and upper border, a unit ahead */
} mmd_view;

/* The view of a frame of a sound job. */
void mmd_render_view(const mmd_render_job *job, size_t frame, mmd_view *out);

/* Positions (V,3) of a frame as the view sees them: right, up, ahead, 1; (V,4). The least and the
   largest way ahead, of all of them. */
void mmd_view_positions(const mmd_view *view, const float *positions, size_t count, float *seen,
                        double ahead[2]);

#endif
