// SPDX-License-Identifier: MIT
// The formulas of MMD skinning under the names that skin_scalar.c lists. A program is for vertices of one KIND with
// INFLUENCES influences (0, 1, 2 or 4), so that no vertex pays for what it does not use. What is in capitals comes from
// gl_program.c.

// A bone is BONE_TEXELS texels, as mmd_skin_bone lies in memory: three matrix rows, rotation, dual.
uniform samplerBuffer bones;

struct transform {
    vec4 row0, row1, row2;
};

transform bone_transform(int bone)
{
    return transform(texelFetch(bones, bone), texelFetch(bones, bone + 1), texelFetch(bones, bone + 2));
}

vec4 bone_rotation(int bone)
{
    return texelFetch(bones, bone + ROTATION_TEXEL);
}

vec4 bone_dual(int bone)
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

// Unit `v`, or `otherwise` when v has no direction (or none that squares in float can tell).
vec3 unit_or(vec3 v, vec3 otherwise)
{
    float square = dot(v, v);
    return square >= FLT_MIN && square <= FLT_MAX ? v * inversesqrt(square) : otherwise;
}

// Set when float is not enough for the normal: main() then marks it and the tangent, and the host works them out again.
bool wants_precise_normal = false;

// Inverse transpose up to a positive factor: the cofactor matrix, with the sign of the determinant. The matrix is brought
// to about 1 first: squares of squares of very small or large numbers are no floats.
vec3 linear_normal(transform m, vec3 n)
{
    vec3 most = max(max(abs(m.row0.xyz), abs(m.row1.xyz)), abs(m.row2.xyz));
    float scale = 1.0 / max(max(most.x, most.y), max(most.z, FLT_MIN));
    vec3 a = scale * m.row0.xyz, b = scale * m.row1.xyz, c = scale * m.row2.xyz;
    vec3 bc = cross(b, c);
    vec3 v = vec3(dot(bc, n), dot(cross(c, a), n), dot(cross(a, b), n));
    float square = dot(v, v), size = dot(a, a) + dot(b, b) + dot(c, c);
    wants_precise_normal = !(square >= max(LEAST_NORMAL * size * size, FLT_MIN) && square <= FLT_MAX);
    return unit_or(dot(a, bc) < 0.0 ? -v : v, n);
}

// `t` made orthogonal to the normal. Along the normal only rounding would be left.
vec3 orthogonal_tangent(vec3 t, vec3 n, vec3 otherwise)
{
    vec3 across = t - n * dot(n, t);
    return dot(across, across) <= LEAST_TANGENT * dot(t, t) ? otherwise : unit_or(across, otherwise);
}

// Twice the inverse square of a quaternion's length: what rotate() takes instead of a unit quaternion.
// More exact than normalising, and cheaper.
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
// acos(d) for d in [0, 1], from the tangent of its half: Abramowitz and Stegun 4.4.49, 2e-8. The
// built-in function may be off by 1e-3.
float angle_of_cosine(float d)
{
    float t = sqrt(max(1.0 - d, 0.0) / (1.0 + d));
    float s = t * t;
    return 2.0 * t *
           (1.0 + s * (-0.3333314528 + s * (0.1999355085 + s * (-0.1420889944 + s * (0.1065626393 +
            s * (-0.0752896400 + s * (0.0429096138 + s * (-0.0161657367 + s * 0.0028662257))))))));
}

vec2 slerp_shares(float angle, vec2 weights)
{
    float scale = 1.0 / sin(angle);
    return angle < 1e-3 ? weights : vec2(sin(weights.x * angle) * scale, sin(weights.y * angle) * scale);
}
#endif

// The rotation of equation (4) as a quaternion of any length, and where it puts c.
vec4 blend_sdef(ivec4 bone, vec4 weights, vec3 c, vec3 c0, transform m, out vec3 target, out bool exists)
{
    vec4 q0 = bone_rotation(bone.x), q1 = bone_rotation(bone.y);
    exists = q0 != vec4(0.0) && q1 != vec4(0.0);
    float d = dot(q0, q1);
    q1 = d < 0.0 ? -q1 : q1; // the shorter arc
    vec2 shares = weights.xy;
#if SLERP
    shares = slerp_shares(angle_of_cosine(min(abs(d), 1.0)), shares);
#endif
    vec4 arm = vec4(weights.x * (c0 - c), 0.0);
    target = apply(m, vec4(c, 1.0)) + (apply(bone_transform(bone.x), arm) - apply(bone_transform(bone.y), arm));
    return shares.x * q0 + shares.y * q1;
}
#endif

#if KIND == QDEF || KIND == CENTER || KIND == BULGE_FREE || KIND == COMPENSATED
// The blended rotation as a quaternion of any length, and the translation after it.
vec4 blend_qdef(ivec4 bone, vec4 weights, int pivot, out vec3 target, out bool exists)
{
    vec4 q = bone_rotation(bone[pivot]), real = q, dual = bone_dual(bone[pivot]);
    exists = q != vec4(0.0);
#if INFLUENCES > 1
    real = dual = vec4(0.0);
    for (int i = 0; i < INFLUENCES; i++) {
        vec4 own = bone_rotation(bone[i]);
        float w = dot(q, own) < 0.0 ? -weights[i] : weights[i];
        real += w * own;
        dual += w * bone_dual(bone[i]);
        exists = exists && own != vec4(0.0);
    }
#endif
    exists = exists && dot(real, real) >= LEAST_QUATERNION;
    target = rotation_scale(real) * (real.w * dual.xyz - dual.w * real.xyz + cross(real.xyz, dual.xyz));
    return real;
}
#endif

#if KIND == BULGE_FREE
vec3 away_from_segment(vec3 v, vec3 head, vec3 along)
{
    vec3 away = v - head;
    return away - along * clamp(dot(away, along) / dot(along, along), 0.0, 1.0);
}

// `p`, where dual quaternions put `rest`, brought back to its distance from the bone's segment from c to c0.
vec3 pull_to_segment(vec3 c, vec3 c0, int bone, float share, vec3 rest, vec3 p)
{
    vec4 q = bone_rotation(bone);
    transform m = bone_transform(bone);
    float scale = rotation_scale(q);
    vec3 head = rotate(q, scale, c) + vec3(m.row0.w, m.row1.w, m.row2.w);
    vec3 away = away_from_segment(p, head, rotate(q, scale, c0 - c));
    float wanted = length(away_from_segment(rest, c, c0 - c)), now = length(away);
    return now > wanted ? p + share * (wanted / now - 1.0) * away : p;
}
#endif

#if KIND == COMPENSATED
// Which way and how far vertices go whose two bones bend from directions u0, u1, per unit of their factor.
vec3 outward(vec3 u0, vec3 u1, vec4 q0, vec4 q1)
{
    // q0 conjugate(q1)
    vec4 between = vec4(q1.w * q0.xyz - q0.w * q1.xyz - cross(q0.xyz, q1.xyz), dot(q0, q1));
    between = between.w < 0.0 ? -between : between;
    vec3 axis = unit_or(between.xyz, vec3(0.0));
    vec3 outside = unit_or(rotate(q0, rotation_scale(q0), u0) + rotate(q1, rotation_scale(q1), u1), vec3(0.0));
    float reach = min(1.0, 2.0 * length(between.xyz) * inversesqrt(1.0 + between.w));
    return reach * (outside - axis * dot(axis, outside));
}
#endif
