// SPDX-License-Identifier: MIT
// A vertex of the mesh, or of the inverted hull (the mesh extruded along its normals) that draws the outlines.

in vec4 position; // in view space: right, up, forward, 1
in vec3 normal;
in vec2 uv;
in float edge_scale;

uniform vec2 half_extent; // half the image's width and height at distance 1
uniform float near_plane;

#if PASS == EDGE
uniform mat3 view_rotation; // rows: right, up, forward
uniform float edge_size;    // at distance 1
out float depth;
#else
out vec3 surface_normal;
out vec2 surface_uv;
#endif

void main()
{
    vec3 p = position.xyz;
#if PASS == EDGE
    vec3 n = rescale(normal);
    float square = dot(n, n);
    if (square > 0.0)
        p += view_rotation * n * (inversesqrt(square) * edge_size * edge_scale * max(p.z, 0.0));
    depth = p.z;
#else
    surface_normal = normal;
    surface_uv = uv;
#endif
    // The first row of the image is its upper one. The fragment shader writes the depth.
    gl_Position = vec4(p.x / half_extent.x, -p.y / half_extent.y, p.z - 2.0 * near_plane, p.z);
}
