/* SPDX-License-Identifier: MIT */
/* Poses a model at one frame of a motion and prints the mesh in the OBJ format:

       pose MODEL.pmx MOTION.vmd FRAME >frame.obj

   The steps are those of every program: load, prepare once, then pose and skin each frame. */
#include "files.h"

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: pose MODEL MOTION FRAME\n");
        return 2;
    }
    double frame = atof(argv[3]);

    /* Loading checks everything: from here on all indices and numbers of a model are valid. */
    mmd_error err;
    mmd_model *model = load_model(argv[1]);
    mmd_motion *motion = load_motion(argv[2]);

    /* Once for each model: its rig, which has the bones in the order in which they are evaluated,
       and its mesh. Threads may share both. Once for each thread: a poser. */
    mmd_rig *rig = mmd_rig_new(model, &err);
    mmd_poser *poser = rig ? mmd_poser_new(rig, motion, &err) : NULL;
    mmd_mesh *mesh = poser ? mmd_mesh_of_model(model, &err) : NULL;
    if (!mesh)
        fail("prepare", &err);

    /* Memory for results is the caller's: 4 x 4 numbers for each bone, 3 for each vertex. */
    float *matrices = allocate(16 * model->bone_count);
    float *weights = allocate(model->morph_count);
    float *positions = allocate(3 * model->vertex_count);

    /* A job may have many frames; their results follow each other. */
    mmd_pose_job pose = {0};
    pose.frame_count = 1;
    pose.frames = &frame;
    pose.ik = true;
    pose.out_matrices = matrices;
    pose.out_morph_weights = weights;
    if (!mmd_pose(poser, &pose, &err))
        fail("pose", &err);

    mmd_skin_job skin = {0};
    skin.mesh = mesh;
    skin.frame_count = 1;
    skin.bone_count = model->bone_count;
    skin.matrices = matrices;
    skin.matrix_frames = 1;
    skin.morph_weights = weights;
    skin.morph_weight_frames = 1;
    skin.positions = positions;
    if (!mmd_skin(&skin, NULL, &err))
        fail("skin", &err);

    for (size_t v = 0; v < model->vertex_count; v++)
        printf("v %.9g %.9g %.9g\n", positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]);
    for (size_t t = 0; t < model->triangle_count; t++) {
        const int32_t *corners = model->triangles + 3 * t;
        printf("f %d %d %d\n", corners[0] + 1, corners[1] + 1, corners[2] + 1);
    }

    /* What was made from something is freed before it. */
    free(positions);
    free(weights);
    free(matrices);
    mmd_mesh_free(mesh);
    mmd_poser_free(poser);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
    return 0;
}
