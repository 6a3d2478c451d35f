// SPDX-License-Identifier: MIT
// The color of a pixel, or its G-buffer: triangle, depth and normal. The depth is computed from the ray through the
// pixel's center, as interpolated depths are not exact enough to compare.

#if PASS == EDGE

in float depth;
layout(location = 0) out vec4 out_color;

void main()
{
    gl_FragDepth = depth * depth_scale;
    out_color = vec4(edge_color.rgb * edge_color.a, edge_color.a);
}

#else

in vec3 surface_normal;
in vec2 surface_uv;

layout(binding = TEXTURE_UNIT) uniform sampler2D diffuse_texture;
layout(binding = TRIANGLES_UNIT) uniform isamplerBuffer triangles;
layout(binding = POSITIONS_UNIT) uniform samplerBuffer view_positions;

#if PASS == COLOR
layout(location = 0) out vec4 out_color; // linear, premultiplied
#else
layout(location = 0) out int out_triangle;
layout(location = 1) out float out_depth;
layout(location = 2) out vec3 out_normal;
#endif

vec3 corner(int i)
{
    return texelFetch(view_positions, texelFetch(triangles, 3 * (first_triangle + gl_PrimitiveID) + i).x).xyz;
}

void main()
{
    vec4 texel = texture(diffuse_texture, surface_uv); // not after the discard, where its mipmap would be undefined
    float alpha = diffuse.a * texel.a;
    if (alpha <= 0.0)
        discard;

    vec3 a = corner(0), b = corner(1), c = corner(2);
#if PASS == COLOR
    float scale = float(samples);
#else
    float scale = 1.0;
#endif
    vec2 at = (gl_FragCoord.xy + vec2(0.0, float(first_row) * scale)) * (pixel_size / scale) - 1.0;
    vec3 ray = vec3(at * vec2(half_extent.x, -half_extent.y), 1.0);
    vec3 face = rescale(cross(rescale(b - a), rescale(c - a))); // towards the side that sees the corners clockwise
    float facing = dot(face, ray);
    float depth = a.z + dot(face, a - ray * a.z) / facing;
    float nearest = min(min(a.z, b.z), c.z), farthest = max(max(a.z, b.z), c.z);
    depth = facing == 0.0 ? nearest : clamp(depth, nearest, farthest);
    gl_FragDepth = depth * depth_scale;

    vec3 n = face * view_rotation; // to world space
    vec3 smooth_normal = rescale(surface_normal);
    if (has_normals != 0 && dot(smooth_normal, smooth_normal) > 0.0)
        n = smooth_normal;
    n = normalize(facing > 0.0 ? -n : n); // a surface seen from behind has the opposite normal

#if PASS == COLOR
    vec3 light = min(ambient.rgb + diffuse.rgb * max(dot(n, to_light.xyz), 0.0), 1.0);
    out_color = vec4(light * texel.rgb * alpha, alpha);
#else
    out_triangle = first_triangle + gl_PrimitiveID;
    out_depth = depth;
    out_normal = n;
#endif
}

#endif
