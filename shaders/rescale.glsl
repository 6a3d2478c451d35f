// SPDX-License-Identifier: MIT
// The vector, which may have the length of any float, in the same direction with a length of 1 to 4, whose square neither
// overflows nor underflows. Multiplies by a power of two, so that nothing is rounded.
vec3 rescale(vec3 v)
{
    vec3 sizes = abs(v);
    uint exponent = floatBitsToUint(max(max(sizes.x, sizes.y), sizes.z)) >> 23;
    return v * uintBitsToFloat(max(254u - exponent, 1u) << 23);
}

