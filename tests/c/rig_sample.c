/* SPDX-License-Identifier: MIT */
#include "rig_sample.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

static void run(const mmd_rig *rig, const mmd_motion *motion, mmd_pose_job *job)
{
    float none;
    mmd_error err = {0};
    mmd_poser *poser = mmd_poser_new(rig, motion, &err);
    if (!rig->morph_count)
        job->out_morph_weights = &none;
    job->frame_count = 1;
    if (CHECK(poser))
        CHECK(mmd_pose(poser, job, &err));
    mmd_poser_free(poser);
}

void sample_pose(const mmd_model *model, const float *translations, const float *rotations,
                 const float *sliders, bool ik, float *matrices)
{
    float *used = calloc(model->morph_count + 1, sizeof *used);
    mmd_rig *rig = mmd_rig_new(model, NULL);
    mmd_pose_job job = {.ik = ik,
                        .translations = translations,
                        .rotations = rotations,
                        .morph_weights = sliders,
                        .translation_frames = 1,
                        .rotation_frames = 1,
                        .morph_weight_frames = 1,
                        .out_matrices = matrices,
                        .out_morph_weights = used};
    if (CHECK(rig))
        run(rig, NULL, &job);
    mmd_rig_free(rig);
    free(used);
}

void sample_frame(const mmd_model *model, const mmd_motion *motion, double frame, float *matrices,
                  float *sliders)
{
    mmd_rig *rig = mmd_rig_new(model, NULL);
    mmd_pose_job job = {
        .ik = true, .frames = &frame, .out_matrices = matrices, .out_morph_weights = sliders};
    if (CHECK(rig))
        run(rig, motion, &job);
    mmd_rig_free(rig);
}

void sample_place(const mmd_model *model, const float *matrices, size_t bone, float place[3])
{
    const float *m = matrices + 16 * bone, *rest = model->bones[bone].position;
    for (int row = 0; row < 3; row++)
        place[row] = m[4 * row] * rest[0] + m[4 * row + 1] * rest[1] + m[4 * row + 2] * rest[2] +
                     m[4 * row + 3];
}

double sample_turn_about_z(const float *matrices, size_t bone)
{
    const float *m = matrices + 16 * bone;
    return atan2((double)m[4], (double)m[0]);
}
