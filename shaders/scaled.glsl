// SPDX-License-Identifier: MIT
// Of a vector with the length of any float: the same way at a length of 1 to 4, whose square is a number. By a power of
// two, which rounds nothing.
vec3 scaled(vec3 v)
{
    vec3 sizes = abs(v);
    uint exponent = floatBitsToUint(max(max(sizes.x, sizes.y), sizes.z)) >> 23;
    return v * uintBitsToFloat(max(254u - exponent, 1u) << 23);
}

