// SPDX-License-Identifier: MIT
// What a pixel sees of a triangle: its colour, or where and what it is. Depth is that of the ray through the pixel's
// middle, worked out anew: what rasterizers interpolate is not exact enough to compare with.

uniform float depth_scale; // a power of two

#if PASS == EDGE

in float ahead;
uniform vec4 color; // linear
layout(location = 0) out vec4 out_color;

void main()
{
    gl_FragDepth = ahead * depth_scale;
    out_color = vec4(color.rgb * color.a, color.a);
}

#else

in vec3 given_normal;
in vec2 given_uv;

uniform vec2 reach;
uniform vec2 pixel;         // width and height of one, the whole picture being 2
uniform mat3 view;          // rows: right, up, ahead
uniform isamplerBuffer triangles;
uniform samplerBuffer positions; // as the view sees them
uniform int first_triangle; // of the material
uniform bool has_normals;
uniform sampler2D image;
uniform vec4 diffuse; // linear

#if PASS == COLOR
uniform vec3 ambient; // linear
uniform vec3 to_light;
layout(location = 0) out vec4 out_color; // linear, times alpha
#else
layout(location = 0) out int out_triangle;
layout(location = 1) out float out_depth;
layout(location = 2) out vec3 out_normal;
#endif

vec3 corner(int i)
{
    return texelFetch(positions, texelFetch(triangles, 3 * (first_triangle + gl_PrimitiveID) + i).x).xyz;
}

void main()
{
    float alpha = diffuse.a * texture(image, given_uv).a;
    if (alpha <= 0.0)
        discard;

    vec3 a = corner(0), b = corner(1), c = corner(2);
    vec3 ray = vec3((gl_FragCoord.xy * pixel - 1.0) * vec2(reach.x, -reach.y), 1.0);
    vec3 face = scaled(cross(scaled(b - a), scaled(c - a))); // towards who sees the corners clockwise
    float along = dot(face, ray);
    float depth = a.z + dot(face, a - ray * a.z) / along;
    float least = min(min(a.z, b.z), c.z), most = max(max(a.z, b.z), c.z);
    depth = along == 0.0 ? least : clamp(depth, least, most);
    gl_FragDepth = depth * depth_scale;

    vec3 n = face * view; // back from the view
    vec3 given = scaled(given_normal);
    if (has_normals && dot(given, given) > 0.0)
        n = given;
    n = normalize(along > 0.0 ? -n : n); // both sides face the camera

#if PASS == COLOR
    vec3 light = min(ambient + diffuse.rgb * max(dot(n, to_light), 0.0), 1.0);
    out_color = vec4(light * texture(image, given_uv).rgb * alpha, alpha);
#else
    out_triangle = first_triangle + gl_PrimitiveID;
    out_depth = depth;
    out_normal = n;
#endif
}

#endif
