// SPDX-License-Identifier: MIT
// The color of a pixel in the look of MMD (docs/look.md), of a shadow on the ground, or nothing but the depth for the depth
// map of the light. Colors are the numbers of the files, never linear. All vectors are in view space.

#if PASS == SHADOW_MAP

void main()
{
}

#elif PASS == GROUND_SHADOW

layout(location = 0) out vec4 out_color; // premultiplied

void main()
{
    out_color = vec4(ground_color.rgb * ground_color.a, ground_color.a);
}

#else

in vec3 surface_position;
in vec3 surface_normal;
in vec2 surface_uv;
in vec2 surface_additional_uv;

layout(binding = TEXTURE_UNIT) uniform sampler2D diffuse_texture;
layout(binding = SPHERE_UNIT) uniform sampler2D sphere_texture;
layout(binding = TOON_UNIT) uniform sampler2D toon_texture; // its first column, the upper row is lit
layout(binding = SHADOW_UNIT) uniform sampler2DShadow shadow_map;
layout(location = 0) out vec4 out_color; // premultiplied

const float MIN_ALPHA = 0.5 / 255.0;

vec3 unit(vec3 v)
{
    float square = dot(v, v);
    return square > 0.0 ? v * inversesqrt(square) : v;
}

vec3 toon_row(int row, int rows)
{
    return texelFetch(toon_texture, ivec2(0, clamp(row, 0, rows - 1)), 0).rgb;
}

// Linear between rows, as a texture at v = 1/2 - 1/2 cosine is filtered.
vec3 toon(float cosine)
{
    int rows = textureSize(toon_texture, 0).y;
    float y = (0.5 - 0.5 * cosine) * float(rows) - 0.5;
    float row = floor(y);
    return mix(toon_row(int(row), rows), toon_row(int(row) + 1, rows), y - row);
}

#if RECEIVES
// How much of the light reaches the surface: 2 x 2 samples of the depth map, filtered.
float visibility(vec3 n)
{
    vec3 at = (shadow_matrix * vec4(surface_position + n * shadow_offset, 1.0)).xyz;
    // Clamped: what is behind everything in the map is lit where that is empty.
    return texture(shadow_map, vec3(at.xy, min(at.z - shadow_bias, 1.0)));
}
#endif

void main()
{
    vec4 color = vec4(clamp(ambient.rgb + light_color.rgb * diffuse.rgb, 0.0, 1.0), diffuse.a);
    vec3 n = unit(surface_normal);
    // Outside of the condition, in which neighbors' values would be undefined.
    vec3 face = unit(cross(dFdx(surface_position), dFdy(surface_position)));
    if (n == vec3(0.0))
        n = gl_FrontFacing ? face : -face;

#if TEXTURED
    vec4 texel = texture(diffuse_texture, surface_uv);
    color *= vec4(texel.rgb * texture_factors[0].rgb + texture_factors[1].rgb, texel.a);
#endif
#if SPHERE == SUB_TEXTURE
    vec4 sphere = texture(sphere_texture, surface_additional_uv);
#elif SPHERE != NONE
    vec4 sphere = texture(sphere_texture, vec2(0.5 + 0.5 * n.x, 0.5 - 0.5 * n.y));
#endif
#if SPHERE != NONE
    sphere.rgb = sphere.rgb * texture_factors[2].rgb + texture_factors[3].rgb;
    color.a *= sphere.a;
#if SPHERE == ADD
    color.rgb += sphere.rgb;
#else
    color.rgb *= sphere.rgb;
#endif
#endif
    if (color.a < MIN_ALPHA)
        discard;

    float lit = 1.0;
#if SELF_SHADOW
    lit = clamp(3.0 * dot(n, to_light.xyz), 0.0, 1.0);
#if RECEIVES
    lit = min(lit, visibility(n));
#endif
#if TOON
    color.rgb *= mix(shaded_toon.rgb, vec3(1.0), lit);
#endif
#elif TOON
    color.rgb *= toon(dot(n, to_light.xyz)) * texture_factors[4].rgb + texture_factors[5].rgb;
#endif
#if SPECULAR
    vec3 half_way = unit(to_light.xyz - unit(surface_position));
    color.rgb += specular.rgb * light_color.rgb * (lit * pow(max(dot(n, half_way), 0.0), specular.a));
#endif
    gl_FragDepth = surface_position.z * depth_scale;
    out_color = vec4(clamp(color.rgb, 0.0, 1.0) * color.a, color.a);
}

#endif
