/* SPDX-License-Identifier: MIT */
/* The public header alone, as C or as C++: `example MODEL MOTION FRAME` prints the mesh as an OBJ.
 */
#include "mmdskin.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t file[1 << 26];

static size_t read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    size_t size = stream ? fread(file, 1, sizeof file, stream) : 0;
    return stream && fclose(stream) == 0 ? size : 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: %s MODEL MOTION FRAME\n", argv[0]);
    mmd_error err = {MMD_E_NONE, 0, "", ""};
    mmd_model *model = mmd_model_load(file, read_file(argv[1]), &err);
    mmd_motion *motion = model ? mmd_motion_load(file, read_file(argv[2]), &err) : NULL;
    mmd_rig *rig = motion ? mmd_rig_new(model, &err) : NULL;
    mmd_poser *poser = rig ? mmd_poser_new(rig, motion, &err) : NULL;
    mmd_mesh *mesh = poser ? mmd_mesh_of_model(model, &err) : NULL;
    float *numbers = mesh ? (float *)calloc(16 * model->bone_count + model->morph_count +
                                                3 * model->vertex_count + 1,
                                            sizeof *numbers)
                          : NULL;
    if (!numbers)
        return fprintf(stderr, "%s: %s\n", err.section, err.text);

    double frame = atof(argv[3]);
    static mmd_pose_job pose; /* zeros are defaults */
    pose.frame_count = 1;
    pose.frames = &frame;
    pose.ik = true;
    pose.matrices = numbers;
    pose.sliders = pose.matrices + 16 * model->bone_count;
    mmd_pose(poser, &pose);

    static mmd_skin_job skin;
    skin.mesh = mesh;
    skin.bone_count = model->bone_count;
    skin.frame_count = skin.matrix_frames = skin.slider_frames = 1;
    skin.matrices = pose.matrices;
    skin.sliders = pose.sliders;
    skin.positions = pose.sliders + model->morph_count;
    if (!mmd_skin(&skin, NULL, &err))
        return fprintf(stderr, "%s\n", err.text);
    printf("# mmdskin %s\n", mmd_version());
    for (size_t v = 0; v < 3 * model->vertex_count; v += 3)
        printf("v %.9g %.9g %.9g\n", (double)skin.positions[v], (double)skin.positions[v + 1],
               (double)skin.positions[v + 2]);

    free(numbers);
    mmd_mesh_free(mesh);
    mmd_poser_free(poser);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
    return 0;
}
