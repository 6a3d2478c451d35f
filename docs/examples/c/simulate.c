/* SPDX-License-Identifier: MIT */
/* Simulates the physics of a model that dances, and prints where its bones are at each frame:

       simulate MODEL.pmx MOTION.vmd FIRST LAST

   A line has the frame, the bone's name and its position. */
#include "files.h"

/* Where a bone is: its skinning matrix moves the point where it is at rest. */
static void print_bone(double frame, const mmd_bone *bone, const float *matrix)
{
    const float *p = bone->position;
    printf("%g\t%.*s", frame, (int)bone->name.size, bone->name.data);
    for (int row = 0; row < 3; row++, matrix += 4)
        printf("\t%.9g", matrix[0] * p[0] + matrix[1] * p[1] + matrix[2] * p[2] + matrix[3]);
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: simulate MODEL MOTION FIRST LAST\n");
        return 2;
    }
    double first = atof(argv[3]), last = atof(argv[4]);
    mmd_error err;
    mmd_model *model = load_model(argv[1]);
    mmd_motion *motion = load_motion(argv[2]);
    mmd_rig *rig = mmd_rig_new(model, &err);
    if (!rig)
        fail("prepare", &err);

    /* Settings are the caller's to change; NULL would mean these. */
    mmd_simulation_settings settings = mmd_simulation_default_settings();
    settings.world.hz = 120;

    /* The bodies of all models in a simulation collide. Here there is one, which follows its
       motion. */
    mmd_simulation_model dancer = {0};
    dancer.rig = rig;
    dancer.motion = motion;
    mmd_simulation *simulation = mmd_simulation_new(&dancer, 1, true, &settings, &err);
    if (!simulation)
        fail("simulate", &err);

    float *matrices = allocate(16 * model->bone_count);
    float *weights = allocate(model->morph_count);
    for (double frame = first; frame <= last; frame++) {
        /* In small portions, so that a program can show its progress or stop in between: NULL in
           place of &steps would run to the frame at once. */
        bool arrived = false;
        while (!arrived) {
            size_t steps = 100;
            arrived = mmd_simulation_seek(simulation, frame, &steps, &err);
            if (!arrived && err.code != MMD_E_INTERRUPTED)
                fail("seek", &err);
        }
        if (!mmd_simulation_pose(simulation, 0, matrices, weights, &err))
            fail("pose", &err);
        for (size_t b = 0; b < model->bone_count; b++)
            print_bone(frame, &model->bones[b], matrices + 16 * b);
    }

    /* What went wrong, if anything: joints that stretch too far, bodies that fly away. */
    char note[256];
    for (size_t i = 0; mmd_simulation_note(simulation, i, note); i++)
        fprintf(stderr, "%s\n", note);

    free(weights);
    free(matrices);
    mmd_simulation_free(simulation);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
    return 0;
}
