// SPDX-License-Identifier: MIT
// One vertex of one frame (the instance). Inputs are those of mmd_vertex.

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 tangent;
layout(location = 3) in vec3 center;       // SDEF's C
layout(location = 4) in vec3 first_center; // SDEF's C0
layout(location = 5) in vec4 weights;
layout(location = 6) in ivec4 bone_indices;
layout(location = 7) in ivec2 morph_range; // of the vertex in `morph_offsets`: first, end

uniform int bone_stride;  // texels from one frame's bones to the next
uniform int morph_stride; // the same for weights
uniform isamplerBuffer morph_offsets; // bits of x y z; index of the morph's weight
uniform samplerBuffer morph_weights;

out vec3 out_position;
#if NORMALS
out vec3 out_normal;
#endif
#if TANGENTS == 3
out vec3 out_tangent;
#elif TANGENTS == 4
out vec4 out_tangent;
#endif

vec3 morphed_position()
{
    vec3 p = position;
#if MORPHED
    int frame = gl_InstanceID * morph_stride;
    for (int i = morph_range.x; i < morph_range.y; i++) {
        ivec4 offset = texelFetch(morph_offsets, i);
        p += texelFetch(morph_weights, frame + offset.w).x * intBitsToFloat(offset.xyz);
    }
#endif
    return p;
}

void main()
{
    vec3 p = morphed_position();
    vec3 n = normal;
    vec3 t = tangent.xyz;

#if INFLUENCES > 0
    int frame = gl_InstanceID * bone_stride;
    ivec4 bone = bone_indices * 5 + frame;
    transform m = bone_transform(bone.x);
#if INFLUENCES > 1
    transform first = m;
    m.row0 *= weights.x;
    m.row1 *= weights.x;
    m.row2 *= weights.x;
    transform second = bone_transform(bone.y);
    add(m, second, weights.y);
#endif
#if INFLUENCES > 2
    add(m, bone_transform(bone.z), weights.z);
    add(m, bone_transform(bone.w), weights.w);
#endif

#if KIND == LINEAR
    p = apply(m, vec4(p, 1.0));
    n = transform_normal(m, n);
    t = apply(m, vec4(t, 0.0));

#elif KIND == SDEF
    vec4 q0 = bone_rotation(bone.x), q1 = bone_rotation(bone.y);
    vec4 q = blend_rotations(q0, q1, weights.x, weights.y);
    bool linear = q0 == vec4(0.0) || q1 == vec4(0.0);
    float scale = rotation_scale(q);
    vec4 d = vec4(weights.x * (first_center - center), 0.0);
    vec3 curved = apply(m, vec4(center, 1.0)) + (apply(first, d) - apply(second, d)) +
                  rotate(q, scale, p - center);
    p = linear ? apply(m, vec4(p, 1.0)) : curved;
    n = linear ? transform_normal(m, n) : rotate(q, scale, n);
    t = linear ? apply(m, vec4(t, 0.0)) : rotate(q, scale, t);

#else
    vec4 q0 = bone_rotation(bone.x);
    vec4 real = q0, dual = bone_dual(bone.x);
    bool linear = q0 == vec4(0.0);
#if INFLUENCES > 1
    real *= weights.x;
    dual *= weights.x;
    for (int i = 1; i < INFLUENCES; i++) {
        vec4 q = bone_rotation(bone[i]);
        float w = dot(q0, q) < 0.0 ? -weights[i] : weights[i];
        real += w * q;
        dual += w * bone_dual(bone[i]);
        linear = linear || q == vec4(0.0);
    }
#endif
    linear = linear || dot(real, real) < 1e-12;
    float scale = rotation_scale(real);
    vec3 shift = scale * (real.w * dual.xyz - dual.w * real.xyz + cross(real.xyz, dual.xyz));
    p = linear ? apply(m, vec4(p, 1.0)) : rotate(real, scale, p) + shift;
    n = linear ? transform_normal(m, n) : rotate(real, scale, n);
    t = linear ? apply(m, vec4(t, 0.0)) : rotate(real, scale, t);
#endif
#endif

    out_position = p;
#if NORMALS
    out_normal = folded ? vec3(2.0) : n;
#endif
#if TANGENTS
    t = orthogonal_tangent(t, n, tangent.xyz);
#endif
#if TANGENTS == 3
    out_tangent = t;
#elif TANGENTS == 4
    out_tangent = vec4(t, tangent.w);
#endif
}
