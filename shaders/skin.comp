// SPDX-License-Identifier: MIT
// Skins a vertex of a range in a frame: invocation x, y. gl_mesh.c says how vertices are stored, gl_skin_pass.h which unit, location
// or binding each name in capitals is.

layout(local_size_x = GROUP_SIZE) in;

// Texels of a vertex: position, index in the mesh; normal, pivot + 4 * number of morph offsets; tangent; weights; bones;
// c, factor; c0, first morph offset. These mean what mesh.h says for the kind. All first texels come first, then all second ones.
layout(binding = VERTICES_UNIT) uniform isamplerBuffer vertices;
layout(binding = MORPH_OFFSETS_UNIT) uniform isamplerBuffer morph_offsets; // bits of x y z; index of the morph's weight
layout(binding = MORPH_WEIGHTS_UNIT) uniform samplerBuffer morph_weights;

// Vertices of the range and of the mesh; texels per frame of bones and of morph_weights.
layout(location = SIZES) uniform ivec4 sizes;
layout(location = CORRECTION) uniform float correction; // 0 to 1, for BULGE_FREE and COMPENSATED

// The results, in the order of the mesh.
#if DRAWN
layout(location = VIEW_ROTATION) uniform mat3 view_rotation; // rows: right, up, forward
layout(location = CAMERA) uniform vec3 camera;
layout(std430, binding = 0) writeonly buffer position_buffer { vec4 view_positions[]; }; // right, up, forward, 1
#else
layout(std430, binding = 0) writeonly buffer position_buffer { float positions[]; };
#endif
#if NORMALS
layout(std430, binding = 1) writeonly buffer normal_buffer { float normals[]; };
#endif
#if TANGENTS
layout(std430, binding = 2) writeonly buffer tangent_buffer { float tangents[]; };
#endif

#define STORE(to, i, v) to[3 * (i)] = v.x, to[3 * (i) + 1] = v.y, to[3 * (i) + 2] = v.z

int vertex, frame;

ivec4 fetch_bits(int texel)
{
    return texelFetch(vertices, texel * sizes[0] + vertex);
}

vec4 fetch(int texel)
{
    return intBitsToFloat(fetch_bits(texel));
}

vec3 morph_position(vec3 p, int first, int count)
{
    int weights = frame * sizes[3];
    for (int i = first; i < first + count; i++) {
        ivec4 offset = texelFetch(morph_offsets, i);
        p += texelFetch(morph_weights, weights + offset.w).x * intBitsToFloat(offset.xyz);
    }
    return p;
}

void main()
{
    vertex = int(gl_GlobalInvocationID.x);
    frame = int(gl_GlobalInvocationID.y);
    if (vertex >= sizes[0])
        return;
    ivec4 position_bits = fetch_bits(0), normal_bits = fetch_bits(1);
    vec3 p = intBitsToFloat(position_bits.xyz), n = intBitsToFloat(normal_bits.xyz);
    int index = position_bits.w + frame * sizes[1], pivot = normal_bits.w & 3;
#if TANGENTS
    vec4 tangent = fetch(2);
#else
    vec4 tangent = vec4(0.0);
#endif
    vec3 t = tangent.xyz;
#if MORPHED
    p = morph_position(p, fetch_bits(6).w, normal_bits.w >> 2);
#endif

#if INFLUENCES > 0
#if INFLUENCES > 1
    vec4 weights = fetch(3);
#else
    vec4 weights = vec4(1.0, 0.0, 0.0, 0.0);
#endif
    ivec4 bone = fetch_bits(4) * BONE_TEXELS + frame * sizes[2];
    transform m = blend_linear(bone, weights);
#if KIND == LINEAR
    p = apply(m, vec4(p, 1.0));
    n = linear_normal(m, n);
    t = apply(m, vec4(t, 0.0));
#else
    vec4 c_factor = fetch(5);
    vec3 c = c_factor.xyz, c0 = fetch(6).xyz;
    float factor = c_factor.w;
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
#if DRAWN
    view_positions[index] = vec4(view_rotation * (p - camera), 1.0);
#else
    if (needs_precise_normal)
        n = t = vec3(IMPRECISE);
    STORE(positions, index, p);
#endif
#if NORMALS
    STORE(normals, index, n);
#endif
#if TANGENTS == 3
    STORE(tangents, index, t);
#elif TANGENTS == 4
    tangents[4 * index] = t.x, tangents[4 * index + 1] = t.y, tangents[4 * index + 2] = t.z;
    tangents[4 * index + 3] = is_mirrored ? -tangent.w : tangent.w;
#endif
}
