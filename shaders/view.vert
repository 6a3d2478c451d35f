// SPDX-License-Identifier: MIT
// Takes skinned positions to view space, for transform feedback.

in vec3 model_position;

uniform mat3 view_rotation; // rows: right, up, forward
uniform vec3 camera;
out vec4 view_position; // right, up, forward, 1

void main()
{
    view_position = vec4(view_rotation * (model_position - camera), 1.0);
}
