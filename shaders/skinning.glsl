// SPDX-License-Identifier: MIT
// The skinning formulas, under the names that skin_scalar.c lists with their sources. A program is specialized for vertices
// of one KIND with INFLUENCES influences (0, 1, 2 or 4). gl_program.c defines all names in capitals.

// A bone is BONE_TEXELS texels, laid out as mmd_skin_bone: three matrix rows, rotation, dual part.
layout(binding = BONES_UNIT) uniform samplerBuffer bones;

struct transform {
    vec4 row0, row1, row2;
};

transform bone_transform(int bone)
{
    return transform(texelFetch(bones, bone), texelFetch(bones, bone + 1), texelFetch(bones, bone + 2));
}

vec4 fetch_rotation(int bone)
{
    return texelFetch(bones, bone + ROTATION_TEXEL);
}

vec4 fetch_dual(int bone)
{
    return texelFetch(bones, bone + DUAL_TEXEL);
}

void add(inout transform sum, transform m, float weight)
{
    sum.row0 += weight * m.row0;
    sum.row1 += weight * m.row1;
    sum.row2 += weight * m.row2;
}

vec3 apply(transform m, vec4 v)
{
    return vec3(dot(m.row0, v), dot(m.row1, v), dot(m.row2, v));
}

#if INFLUENCES > 0
transform blend_linear(ivec4 bone, vec4 weights)
{
    transform m = bone_transform(bone.x);
#if INFLUENCES > 1
    m.row0 *= weights.x;
    m.row1 *= weights.x;
    m.row2 *= weights.x;
    for (int i = 1; i < INFLUENCES; i++)
        add(m, bone_transform(bone[i]), weights[i]);
#endif
    return m;
}
#endif

// v at unit length; `otherwise` if v is zero, or its square overflows or underflows.
vec3 normalized_or(vec3 v, vec3 otherwise)
{
    float square = dot(v, v);
    return square >= FLT_MIN && square <= FLT_MAX ? v * inversesqrt(square) : otherwise;
}

// Set if float is not precise enough for the normal: skin.comp then marks it and the tangent, and the CPU computes them.
bool needs_precise_normal = false;

// Set if the matrix of the vertex turns a right hand into a left one.
bool is_mirrored = false;

// By the cofactor matrix, with the sign of the determinant. The matrix is scaled to about 1 first, as the fourth powers of
// very small or large numbers are no floats.
vec3 linear_normal(transform m, vec3 n)
{
    vec3 largest = max(max(abs(m.row0.xyz), abs(m.row1.xyz)), abs(m.row2.xyz));
    float scale = 1.0 / max(max(largest.x, largest.y), max(largest.z, FLT_MIN));
    vec3 a = scale * m.row0.xyz, b = scale * m.row1.xyz, c = scale * m.row2.xyz;
    vec3 bc = cross(b, c);
    vec3 v = vec3(dot(bc, n), dot(cross(c, a), n), dot(cross(a, b), n));
    float square = dot(v, v), size = dot(a, a) + dot(b, b) + dot(c, c);
    needs_precise_normal = !(square >= max(MIN_NORMAL * size * size, FLT_MIN) && square <= FLT_MAX);
    is_mirrored = dot(a, bc) < 0.0;
    return normalized_or(is_mirrored ? -v : v, n);
}

// Makes t orthogonal to the normal. A tangent parallel to the normal would leave only rounding.
vec3 orthogonal_tangent(vec3 t, vec3 n, vec3 otherwise)
{
    vec3 orthogonal = t - n * dot(n, t);
    bool parallel = dot(orthogonal, orthogonal) <= MIN_TANGENT * dot(t, t);
    return parallel ? otherwise : normalized_or(orthogonal, otherwise);
}

// 2 / |q|^2, for rotate() by a quaternion of any length. More exact and cheaper than normalizing it.
float rotation_scale(vec4 q)
{
    return 2.0 / dot(q, q);
}

vec3 rotate(vec4 q, float scale, vec3 v)
{
    return v + scale * cross(q.xyz, cross(q.xyz, v) + q.w * v);
}

#if KIND == SDEF
#if SLERP
// acos(d) for d in [0, 1], from the tangent of half the angle: Abramowitz and Stegun 4.4.49, error 2e-8. The built-in
// function may be off by 1e-3.
float acos_precise(float d)
{
    float t = sqrt(max(1.0 - d, 0.0) / (1.0 + d));
    float s = t * t;
    return 2.0 * t *
           (1.0 + s * (-0.3333314528 + s * (0.1999355085 + s * (-0.1420889944 + s * (0.1065626393 +
            s * (-0.0752896400 + s * (0.0429096138 + s * (-0.0161657367 + s * 0.0028662257))))))));
}

vec2 slerp_weights(float angle, vec2 weights)
{
    float scale = 1.0 / sin(angle);
    return angle < 1e-3 ? weights : vec2(sin(weights.x * angle) * scale, sin(weights.y * angle) * scale);
}
#endif

// The rotation of equation (4) as a quaternion of any length; `target` is the new position of c.
vec4 blend_sdef(ivec4 bone, vec4 weights, vec3 c, vec3 c0, transform m, out vec3 target, out bool exists)
{
    vec4 q0 = fetch_rotation(bone.x), q1 = fetch_rotation(bone.y);
    exists = q0 != vec4(0.0) && q1 != vec4(0.0);
    float d = dot(q0, q1);
    q1 = d < 0.0 ? -q1 : q1; // the shorter arc
    vec2 blend_weights = weights.xy;
#if SLERP
    blend_weights = slerp_weights(acos_precise(min(abs(d), 1.0)), blend_weights);
#endif
    vec4 arm = vec4(weights.x * (c0 - c), 0.0);
    target = apply(m, vec4(c, 1.0)) + (apply(bone_transform(bone.x), arm) - apply(bone_transform(bone.y), arm));
    return blend_weights.x * q0 + blend_weights.y * q1;
}
#endif

#if KIND == QDEF || KIND == CENTER || KIND == BULGE_FREE || KIND == COMPENSATED
// The blended rotation as a quaternion of any length; `target` is the translation after it.
vec4 blend_qdef(ivec4 bone, vec4 weights, int pivot, out vec3 target, out bool exists)
{
    vec4 q = fetch_rotation(bone[pivot]), real = q, dual = fetch_dual(bone[pivot]);
    exists = q != vec4(0.0);
#if INFLUENCES > 1
    real = dual = vec4(0.0);
    for (int i = 0; i < INFLUENCES; i++) {
        vec4 qi = fetch_rotation(bone[i]);
        float w = dot(q, qi) < 0.0 ? -weights[i] : weights[i];
        real += w * qi;
        dual += w * fetch_dual(bone[i]);
        exists = exists && qi != vec4(0.0);
    }
#endif
    exists = exists && dot(real, real) >= MIN_QUATERNION;
    target = rotation_scale(real) * (real.w * dual.xyz - dual.w * real.xyz + cross(real.xyz, dual.xyz));
    return real;
}
#endif

#if KIND == BULGE_FREE
// The vector from the nearest point of a segment to v.
vec3 from_segment(vec3 v, vec3 head, vec3 segment)
{
    vec3 from_head = v - head;
    return from_head - segment * clamp(dot(from_head, segment) / dot(segment, segment), 0.0, 1.0);
}

// If dual quaternions move `rest` to a p that is farther from the bone's segment from c to c0, brings p back.
vec3 correct_bulge(vec3 c, vec3 c0, int bone, float amount, vec3 rest, vec3 p)
{
    vec4 q = fetch_rotation(bone);
    transform m = bone_transform(bone);
    float scale = rotation_scale(q);
    vec3 head = rotate(q, scale, c) + vec3(m.row0.w, m.row1.w, m.row2.w);
    vec3 offset = from_segment(p, head, rotate(q, scale, c0 - c));
    float rest_distance = length(from_segment(rest, c, c0 - c)), posed_distance = length(offset);
    return posed_distance > rest_distance ? p + amount * (rest_distance / posed_distance - 1.0) * offset : p;
}
#endif

#if KIND == COMPENSATED
// The offset, per unit of k, of vertices on two bones with segment directions u0, u1 and rotations q0, q1.
vec3 bulge_offset(vec3 u0, vec3 u1, vec4 q0, vec4 q1)
{
    // q0 conjugate(q1)
    vec4 relative = vec4(q1.w * q0.xyz - q0.w * q1.xyz - cross(q0.xyz, q1.xyz), dot(q0, q1));
    relative = relative.w < 0.0 ? -relative : relative;
    vec3 axis = normalized_or(relative.xyz, vec3(0.0));
    vec3 d0 = rotate(q0, rotation_scale(q0), u0), d1 = rotate(q1, rotation_scale(q1), u1);
    vec3 bisector = normalized_or(d0 + d1, vec3(0.0));
    float amount = min(1.0, 2.0 * length(relative.xyz) * inversesqrt(1.0 + relative.w));
    return amount * (bisector - axis * dot(axis, bisector));
}
#endif
