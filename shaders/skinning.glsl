// SPDX-License-Identifier: MIT
// The formulas of MMD skinning, as skin_scalar.c has them. A program is for vertices of one KIND with
// INFLUENCES influences (0, 1, 2 or 4), so that no vertex pays for what it does not use.

#define LINEAR 0
#define SDEF 1
#define QDEF 2
#define LEAST_NORMAL (1.0 / 16384.0)

// A bone is five texels: three matrix rows, the rotation as a quaternion, the dual part.
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
    return texelFetch(bones, bone + 3);
}

vec4 bone_dual(int bone)
{
    return texelFetch(bones, bone + 4);
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

// Unit `v`, or `otherwise` when v has no direction (or none that squares in float can tell).
vec3 unit(vec3 v, vec3 otherwise)
{
    float square = dot(v, v);
    return square >= 1.17549435e-38 && square <= 3.40282347e38 ? v * inversesqrt(square) : otherwise;
}

// Set when float is not enough for the normal (see mmd_skin_linear_normal): the host works it out again.
bool folded = false;

// Inverse transpose up to a positive factor: the cofactor matrix, with the sign of the determinant.
vec3 transform_normal(transform m, vec3 n)
{
    vec3 a = m.row0.xyz, b = m.row1.xyz, c = m.row2.xyz;
    vec3 bc = cross(b, c);
    vec3 v = vec3(dot(bc, n), dot(cross(c, a), n), dot(cross(a, b), n));
    float square = dot(v, v), size = dot(a, a) + dot(b, b) + dot(c, c);
    folded = !(square >= max(LEAST_NORMAL * size * size, 1.17549435e-38) && square <= 3.40282347e38);
    return unit(dot(a, bc) < 0.0 ? -v : v, n);
}

// `t` made orthogonal to the normal. Along the normal only rounding would be left.
vec3 orthogonal_tangent(vec3 t, vec3 n, vec3 otherwise)
{
    vec3 across = t - n * dot(n, t);
    return dot(across, across) <= 1e-12 * dot(t, t) ? otherwise : unit(across, otherwise);
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
#endif

// The blend of two rotations along the shorter arc, not normalised.
vec4 blend_rotations(vec4 q0, vec4 q1, float w0, float w1)
{
    float d = dot(q0, q1);
    q1 = d < 0.0 ? -q1 : q1;
#if SLERP
    float angle = angle_of_cosine(min(abs(d), 1.0));
    float scale = 1.0 / sin(angle);
    bool close = angle < 1e-3;
    w0 = close ? w0 : sin(w0 * angle) * scale;
    w1 = close ? w1 : sin(w1 * angle) * scale;
#endif
    return w0 * q0 + w1 * q1;
}
#endif
