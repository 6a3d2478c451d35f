// SPDX-License-Identifier: MIT
// Skins a vertex in FRAMES consecutive frames, one instance: software renderers take longer to write outputs than to compute
// them, and few large outputs are cheaper. The attributes are members of mmd_vertex; gl_program.h has their locations.

in vec3 position;
in vec3 normal;
in vec4 tangent;
in vec3 c, c0; // these and the factor mean what mesh.h says for the kind
in float factor;
in vec4 weights;
in ivec4 bone_indices;
in int pivot;
in ivec2 morph_range; // of the vertex in morph_offsets: first and end

uniform int last_frame;
uniform int bone_stride;  // texels per frame of bones
uniform int morph_stride; // texels per frame of morph_weights
uniform float correction; // 0 to 1, for BULGE_FREE and COMPENSATED
uniform isamplerBuffer morph_offsets; // bits of x y z; index of the morph's weight
uniform samplerBuffer morph_weights;
uniform int max_offsets; // of any vertex, as software renderers also run lanes without a vertex, with any range

// The vectors of all frames, adjacent in memory.
#if FRAMES == 1
#define FRAMES_VEC3 vec3
#define FRAMES_VEC4 vec4
#define PACK(vectors) vectors[0]
#else
#define FRAMES_VEC3 mat3x4
#define FRAMES_VEC4 mat4
#define PACK(vectors) vectors[0], vectors[1], vectors[2], vectors[3]
#endif

out FRAMES_VEC3 out_position;
#if NORMALS
out FRAMES_VEC3 out_normal;
#endif
#if TANGENTS == 3
out FRAMES_VEC3 out_tangent;
#elif TANGENTS == 4
out FRAMES_VEC4 out_tangent;
#endif

vec3 morph_positions(int frame)
{
    vec3 p = position;
#if MORPHED
    int weights = frame * morph_stride;
    int count = min(morph_range.y - morph_range.x, max_offsets);
    for (int i = 0; i < count; i++) {
        ivec4 offset = texelFetch(morph_offsets, morph_range.x + i);
        p += texelFetch(morph_weights, weights + offset.w).x * intBitsToFloat(offset.xyz);
    }
#endif
    return p;
}

void skin(int frame, out vec3 p, out vec3 n, out vec4 signed_t)
{
    vec3 t = tangent.xyz;
    p = morph_positions(frame);
    n = normal;
    is_mirrored = false;

#if INFLUENCES > 0
    ivec4 bone = bone_indices * BONE_TEXELS + frame * bone_stride;
    transform m = blend_linear(bone, weights);
#if KIND == LINEAR
    p = apply(m, vec4(p, 1.0));
    n = linear_normal(m, n);
    t = apply(m, vec4(t, 0.0));
#else
    vec3 target;
    bool exists; // else the vertex is skinned linearly
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
    target += correction * factor * bulge_offset(c, c0, fetch_rotation(bone.x), fetch_rotation(bone.y));
#endif
#endif
    float scale = rotation_scale(q);
    vec3 rotated = target + rotate(q, scale, arm);
#if KIND == BULGE_FREE
    rotated = correct_bulge(c, c0, bone.x, correction * factor, p, rotated);
#endif
    p = exists ? rotated : apply(m, vec4(p, 1.0));
    n = exists ? rotate(q, scale, n) : linear_normal(m, n);
    t = exists ? rotate(q, scale, t) : apply(m, vec4(t, 0.0));
#endif
#endif

#if TANGENTS
    t = orthogonal_tangent(t, n, tangent.xyz);
#endif
#if !APPROXIMATE
    if (needs_precise_normal)
        n = t = vec3(IMPRECISE);
#endif
    signed_t = vec4(t, is_mirrored ? -tangent.w : tangent.w);
}

void main()
{
    vec3 p[FRAMES], n[FRAMES];
    vec4 signed_t[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        skin(min(gl_InstanceID * FRAMES + i, last_frame), p[i], n[i], signed_t[i]);
    out_position = FRAMES_VEC3(PACK(p));
#if NORMALS
    out_normal = FRAMES_VEC3(PACK(n));
#endif
#if TANGENTS == 3
    vec3 t[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        t[i] = signed_t[i].xyz;
    out_tangent = FRAMES_VEC3(PACK(t));
#elif TANGENTS == 4
    out_tangent = FRAMES_VEC4(PACK(signed_t));
#endif
}
