// SPDX-License-Identifier: MIT
// A pixel of the image: the mean of its samples over the background, as sRGB with straight alpha. RESOLVE takes linear
// colors, RESOLVE_SRGB those of the look of MMD, which are sRGB numbers.

layout(binding = TEXTURE_UNIT) uniform sampler2D color_samples; // premultiplied

layout(location = 0) out vec4 out_color;

vec3 to_srgb(vec3 linear)
{
    vec3 curve = 1.055 * pow(max(linear, vec3(0.0031308)), vec3(1.0 / 2.4)) - 0.055;
    return mix(curve, 12.92 * linear, lessThanEqual(linear, vec3(0.0031308)));
}

void main()
{
    ivec2 first = ivec2(gl_FragCoord.xy) * samples;
    vec4 sum = vec4(0.0);
    for (int y = 0; y < samples; y++)
        for (int x = 0; x < samples; x++)
            sum += texelFetch(color_samples, first + ivec2(x, y), 0);
    sum /= float(samples * samples);
    float background_alpha = background.a * (1.0 - sum.a), alpha = sum.a + background_alpha;
    vec3 color = sum.rgb + background.rgb * background_alpha;
    color = alpha > 0.0 ? min(color / alpha, 1.0) : background.rgb;
#if PASS == RESOLVE
    color = to_srgb(color);
#endif
    out_color = vec4(color, alpha);
}
