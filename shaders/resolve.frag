// SPDX-License-Identifier: MIT
// A pixel of the finished picture: the mean of its samples before the background, as sRGB with straight alpha.

uniform sampler2D drawn; // linear, times alpha
uniform int samples;     // so many rows of so many
uniform vec4 background; // linear

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
            sum += texelFetch(drawn, first + ivec2(x, y), 0);
    sum /= float(samples * samples);
    float behind = background.a * (1.0 - sum.a), alpha = sum.a + behind;
    vec3 color = sum.rgb + background.rgb * behind;
    out_color = vec4(to_srgb(alpha > 0.0 ? min(color / alpha, 1.0) : background.rgb), alpha);
}
