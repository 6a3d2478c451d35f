/* SPDX-License-Identifier: MIT */
/* Uses nothing but the public header, compiles as C and as C++. `example MODEL MOTION FRAME` prints
   the posed mesh as OBJ vertices. */
#include "mmdskin.h"
#include <stdio.h>
#include <stdlib.h>

static uint8_t file[1 << 26];

static size_t read_file(const char *path)
{
    return freopen(path, "rb", stdin) ? fread(file, 1, sizeof file, stdin) : 0;
}

int main(int argc, char **argv)
{
    double frame = argc == 4 ? atof(argv[3]) : 0;
    mmd_error err = {MMD_E_ARGUMENT, 0, "usage", "example MODEL MOTION FRAME"};
    mmd_model *model = argc == 4 ? mmd_model_load(file, read_file(argv[1]), &err) : NULL;
    mmd_motion *motion = model ? mmd_motion_load(file, read_file(argv[2]), &err) : NULL;
    mmd_rig *rig = motion ? mmd_rig_new(model, &err) : NULL;
    mmd_poser *poser = rig ? mmd_poser_new(rig, motion, &err) : NULL;
    mmd_mesh *mesh = poser ? mmd_mesh_of_model(model, &err) : NULL;
    if (!mesh)
        return fprintf(stderr, "%s: %s\n", err.section, err.text);
    size_t bones = model->bone_count, morphs = model->morph_count, count = 3 * model->vertex_count;
    float *matrices = (float *)malloc((16 * bones + morphs + count) * sizeof *matrices);
    float *weights = matrices + 16 * bones, *positions = weights + morphs;
    mmd_pose_job pose = {.frame_count = 1, .ik = true, .frames = &frame};
    mmd_skin_job skin = {.mesh = mesh, .frame_count = 1, .bone_count = bones, .matrices = matrices};
    skin.matrix_frames = skin.morph_weight_frames = 1;
    pose.out_matrices = matrices;
    skin.morph_weights = pose.out_morph_weights = weights;
    skin.positions = positions;
    if (!matrices || !mmd_pose(poser, &pose, &err) || !mmd_skin(&skin, NULL, &err))
        return fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; i < count; i += 3)
        printf("v %.9g %.9g %.9g\n", positions[i], positions[i + 1], positions[i + 2]);
    mmd_mesh_free(mesh), mmd_poser_free(poser), mmd_rig_free(rig);
    mmd_motion_free(motion), mmd_model_free(model), free(matrices);
    return 0;
}
