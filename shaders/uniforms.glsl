// SPDX-License-Identifier: MIT
// What the programs that render read of a frame and of a material; gl_renderer.h has the same layout in C. Colors are
// linear, or those of the file in the look of MMD. Vectors of a frame are in view space: right, up, forward.

layout(std140, row_major, binding = 0) uniform Frame {
    mat3 view_rotation;  // rows: right, up, forward
    mat4 shadow_matrix;  // to the depth map of the light: 0 to 1
    vec4 to_light;       // unit vector; in model space unless the look is MMD's
    vec4 light_color;
    vec4 background;
    vec4 ground;         // plane: unit normal, height of the camera above it
    vec4 ground_light;   // way of the light, scaled so that it goes down by 1
    vec4 ground_color;
    vec2 half_extent;    // half the image's width and height at distance 1
    vec2 pixel_size;     // of the image, in normalized device coordinates
    float near_plane;
    float depth_scale;   // a power of two
    float edge_unit;     // width of an edge of size 1 at distance 1
    float shadow_bias;   // of receivers in the depth map,
    float shadow_offset; // and along their normals, against shadows of a surface on itself
    int samples;         // samples x samples per pixel of the image
    int has_normals;
    int first_row;       // of the image, that the framebuffer has
};

layout(std140, binding = 1) uniform Material {
    vec4 diffuse;
    vec4 ambient;
    vec4 specular;           // power in the last number
    vec4 edge_color;
    vec4 texture_factors[6]; // factor and summand of texture, sphere map and toon
    vec4 shaded_toon;        // where no light comes from, after its factors
    float edge_size;
    int first_triangle;
};
