// SPDX-License-Identifier: MIT
// A vertex of the mesh, or of the inverted hull (the mesh extruded along its normals) that draws the outlines.

layout(location = POSITION) in vec4 position; // in view space: right, up, forward, 1
layout(location = NORMAL) in vec3 normal;
layout(location = UV) in vec2 uv;
layout(location = EDGE_SCALE) in float edge_scale;

#if PASS == EDGE
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
        p += view_rotation * n * (inversesqrt(square) * (edge_unit * edge_size) * edge_scale * max(p.z, 0.0));
    depth = p.z;
#else
    surface_normal = normal;
    surface_uv = uv;
#endif
    // The first row of the image is its upper one. The fragment shader writes the depth.
    gl_Position = vec4(p.x / half_extent.x, -p.y / half_extent.y, p.z - 2.0 * near_plane, p.z);
}
