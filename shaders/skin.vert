// SPDX-License-Identifier: MIT
// One vertex in FRAMES frames that follow each other (the instance): software takes longer to write outputs than to work
// them out, and fewer but larger ones are cheaper. Inputs are those of mmd_vertex; gl_mesh.h gives them their places.

in vec3 position;
in vec3 normal;
in vec4 tangent;
in vec3 c, c0; // what they and the factor mean, the kind says
in float factor;
in vec4 weights;
in ivec4 bone_indices;
in int pivot;
in ivec2 morph_range; // of the vertex in `morph_offsets`: first, end

uniform int last_frame;
uniform int bone_stride;  // texels from one frame's bones to the next
uniform int morph_stride; // the same for weights
uniform float correction; // 0 to 1, of BULGE_FREE and COMPENSATED
uniform isamplerBuffer morph_offsets; // bits of x y z; index of the morph's weight
uniform samplerBuffer morph_weights;
uniform int most_offsets; // of any vertex: software renderers run lanes without a vertex, whose range is anything

// A vector of each frame, one after the other in memory.
#if FRAMES == 1
#define THREES vec3
#define FOURS vec4
#define JOIN(vectors) vectors[0]
#else
#define THREES mat3x4
#define FOURS mat4
#define JOIN(vectors) vectors[0], vectors[1], vectors[2], vectors[3]
#endif

out THREES out_position;
#if NORMALS
out THREES out_normal;
#endif
#if TANGENTS == 3
out THREES out_tangent;
#elif TANGENTS == 4
out FOURS out_tangent;
#endif

vec3 morph_positions(int frame)
{
    vec3 p = position;
#if MORPHED
    int weights = frame * morph_stride;
    int count = min(morph_range.y - morph_range.x, most_offsets);
    for (int i = 0; i < count; i++) {
        ivec4 offset = texelFetch(morph_offsets, morph_range.x + i);
        p += texelFetch(morph_weights, weights + offset.w).x * intBitsToFloat(offset.xyz);
    }
#endif
    return p;
}

void skin(int frame, out vec3 p, out vec3 n, out vec3 t)
{
    p = morph_positions(frame);
    n = normal;
    t = tangent.xyz;

#if INFLUENCES > 0
    ivec4 bone = bone_indices * BONE_TEXELS + frame * bone_stride;
    transform m = blend_linear(bone, weights);
#if KIND == LINEAR
    p = apply(m, vec4(p, 1.0));
    n = linear_normal(m, n);
    t = apply(m, vec4(t, 0.0));
#else
    vec3 target;
    bool exists; // else linear
#if KIND == SDEF
    vec4 q = blend_sdef(bone, weights, c, c0, m, target, exists);
    vec3 arm = p - c;
#else
    vec4 q = blend_qdef(bone, weights, pivot, target, exists);
    vec3 arm = p;
#if KIND == CENTER
    target = apply(m, vec4(c, 1.0));
    arm -= c;
#elif KIND == COMPENSATED
    target += correction * factor * outward(c, c0, bone_rotation(bone.x), bone_rotation(bone.y));
#endif
#endif
    float scale = rotation_scale(q);
    vec3 turned = target + rotate(q, scale, arm);
#if KIND == BULGE_FREE
    turned = pull_to_segment(c, c0, bone.x, correction * factor, p, turned);
#endif
    p = exists ? turned : apply(m, vec4(p, 1.0));
    n = exists ? rotate(q, scale, n) : linear_normal(m, n);
    t = exists ? rotate(q, scale, t) : apply(m, vec4(t, 0.0));
#endif
#endif

#if TANGENTS
    t = orthogonal_tangent(t, n, tangent.xyz);
#endif
    if (wants_precise_normal)
        n = t = vec3(MARK);
}

void main()
{
    vec3 p[FRAMES], n[FRAMES], t[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        skin(min(gl_InstanceID * FRAMES + i, last_frame), p[i], n[i], t[i]);
    out_position = THREES(JOIN(p));
#if NORMALS
    out_normal = THREES(JOIN(n));
#endif
#if TANGENTS == 3
    out_tangent = THREES(JOIN(t));
#elif TANGENTS == 4
    vec4 signed_t[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        signed_t[i] = vec4(t[i], tangent.w);
    out_tangent = FOURS(JOIN(signed_t));
#endif
}
