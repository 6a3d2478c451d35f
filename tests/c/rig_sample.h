/* SPDX-License-Identifier: MIT */
#ifndef RIG_SAMPLE_H
#define RIG_SAMPLE_H

#include "core/pose/rig.h"

/* Models and motions that consist of a few bones or tracks over the caller's arrays. */

#define TEXT(literal)                                                                              \
    {                                                                                              \
        .data = (literal), .size = sizeof(literal) - 1                                             \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MODEL_OF(bone_array)                                                                       \
    (mmd_model)                                                                                    \
    {                                                                                              \
        .bone_count = COUNT_OF(bone_array), .bones = (bone_array)                                  \
    }

/* An IK block; `links` are bones without limits. */
#define IK(target_, loops, unit, ...)                                                              \
    &(mmd_ik)                                                                                      \
    {                                                                                              \
        .target = (target_), .loop_count = (loops), .unit_angle = (unit),                          \
        .link_count = COUNT_OF(((mmd_ik_link[]){__VA_ARGS__})), .links = (mmd_ik_link[])           \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* One pose of a model by local values (NULL: at rest), as (B,4,4) skinning matrices. */
void sample_pose(const mmd_model *model, const float *translations, const float *rotations,
                 const float *sliders, bool ik, float *matrices);

/* One frame of a motion, as (B,4,4) skinning matrices and (M,) sliders. */
void sample_frame(const mmd_model *model, const mmd_motion *motion, double frame, float *matrices,
                  float *sliders);

/* The position of a bone in a pose of its model. */
void sample_place(const mmd_model *model, const float *matrices, size_t bone, float place[3]);

/* The angle of a bone about z, radians. */
double sample_turn_about_z(const float *matrices, size_t bone);

#endif
