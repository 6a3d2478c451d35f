// SPDX-License-Identifier: MIT
// Takes skinned positions to view space, for transform feedback.

layout(location = POSITION) in vec3 model_position;
out vec4 view_position; // right, up, forward, 1

void main()
{
    view_position = vec4(view_rotation * (model_position - camera.xyz), 1.0);
}
