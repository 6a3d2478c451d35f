// SPDX-License-Identifier: MIT
// A vertex of the mesh in the look of MMD, of its shadow on the ground, or of the depth map of the light. All vectors are in
// view space: right, up, forward.

layout(location = POSITION) in vec4 position;
layout(location = NORMAL) in vec3 normal;
layout(location = UV) in vec2 uv;
layout(location = ADDITIONAL_UV) in vec2 additional_uv;

#if PASS == LOOK
out vec3 surface_position;
out vec3 surface_normal; // unit or zero
out vec2 surface_uv;
out vec2 surface_additional_uv;
#endif

void main()
{
    vec3 p = position.xyz;
#if PASS == LOOK
    vec3 n = rescale(normal);
    float square = dot(n, n);
    surface_normal = square > 0.0 ? view_rotation * (n * inversesqrt(square)) : vec3(0.0);
    surface_position = p;
    surface_uv = uv;
    surface_additional_uv = additional_uv;
#elif PASS == GROUND_SHADOW
    p += ground_light.xyz * (dot(ground.xyz, p) + ground.w);
#endif
#if PASS == SHADOW_MAP
    gl_Position = vec4(2.0 * (shadow_matrix * vec4(p, 1.0)).xyz - 1.0, 1.0);
#else
    // The first row of the image is its upper one. The fragment shader writes the depth.
    gl_Position = vec4(p.x / half_extent.x, -p.y / half_extent.y, p.z - 2.0 * near_plane, p.z);
#endif
}
