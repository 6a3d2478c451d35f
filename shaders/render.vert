// SPDX-License-Identifier: MIT
// A corner of a triangle, or of the swollen hull behind which its edge shows.

in vec4 position; // as the view sees it: right, up, ahead, 1
in vec3 normal;
in vec2 uv;
in float edge_scale;

uniform vec2 reach;    // of the picture's right and upper border, a unit ahead
uniform float nearest; // what is less far ahead is cut off

#if PASS == EDGE
uniform mat3 view;       // rows: right, up, ahead
uniform float edge_size; // a unit ahead
out float ahead;
#else
out vec3 given_normal;
out vec2 given_uv;
#endif

void main()
{
    vec3 p = position.xyz;
#if PASS == EDGE
    vec3 out_of = scaled(normal);
    float square = dot(out_of, out_of);
    if (square > 0.0)
        p += view * out_of * (inversesqrt(square) * edge_size * edge_scale * max(p.z, 0.0));
    ahead = p.z;
#else
    given_normal = normal;
    given_uv = uv;
#endif
    // The first row of the picture is its upper one. Depth is the fragment's own affair.
    gl_Position = vec4(p.x / reach.x, -p.y / reach.y, p.z - 2.0 * nearest, p.z);
}
