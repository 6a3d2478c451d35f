/* SPDX-License-Identifier: MIT */
/* Threads that share a model, its rig and its mesh, and a motion, while each also loads and frees
   its own: for ThreadSanitizer. `threads MODEL MOTION`; built with MMD_TEST_GL they skin by OpenGL
   too, which one of them shuts down again and again. */
#define _POSIX_C_SOURCE 200809L
#include "core/base/thread_pool.h"
#include "core/pose/rig.h"
#include "core/skin/skin.h"
#include "mmdskin.h"
#ifdef MMD_TEST_GL
#include "gl/gl.h"
#include "gl/gl_thread.h"
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 24, FRAMES = 6, INNER_THREADS = 3 };

typedef struct input_file {
    uint8_t bytes[1 << 16];
    size_t size;
} input_file;

static input_file model_file, motion_file;

static struct shared {
    mmd_model *model;
    mmd_motion *motion;
    mmd_rig *rig;
    mmd_mesh *mesh;
    mmd_thread_pool *pool;
    float *expected; /* (FRAMES,V,3) */
} shared;

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void read_input(const char *path, input_file *file)
{
    FILE *stream = fopen(path, "rb");
    MUST(stream);
    file->size = fread(file->bytes, 1, sizeof file->bytes, stream);
    MUST(fclose(stream) == 0);
}

/* What a thread poses, simulates and skins with. */
typedef struct bench {
    mmd_poser *poser;
    mmd_simulation *simulation;
    float *matrices, *sliders, *positions;
} bench;

static bench bench_new(void)
{
    bench own = {mmd_poser_new(shared.rig, shared.motion, NULL),
                 mmd_simulation_new(&(mmd_simulation_model){shared.rig, shared.motion, NULL, 0}, 1,
                                    true, NULL, NULL),
                 calloc(FRAMES * 16 * shared.rig->bone_count + 1, sizeof(float)),
                 calloc(FRAMES * shared.rig->morph_count + 1, sizeof(float)),
                 calloc(FRAMES * 3 * shared.mesh->vertex_count + 1, sizeof(float))};
    MUST(own.poser && own.simulation && own.matrices && own.sliders && own.positions);
    return own;
}

static void bench_free(bench *own)
{
    mmd_poser_free(own->poser);
    mmd_simulation_free(own->simulation);
    free(own->matrices);
    free(own->sliders);
    free(own->positions);
}

static mmd_skin_job posed(bench *own)
{
    static const double frames[FRAMES] = {0, 5, 10, 15.5, 30, 3};
    mmd_pose_job job = {.frame_count = FRAMES,
                        .ik = true,
                        .frames = frames,
                        .out_matrices = own->matrices,
                        .out_morph_weights = own->sliders};
    MUST(mmd_pose(own->poser, &job, NULL));
    return (mmd_skin_job){.mesh = shared.mesh,
                          .frame_count = FRAMES,
                          .bone_count = shared.rig->bone_count,
                          .matrices = own->matrices,
                          .matrix_frames = FRAMES,
                          .morph_weights = own->sliders,
                          .morph_weight_frames = FRAMES,
                          .positions = own->positions};
}

static void simulate(bench *own)
{
    for (size_t steps = 1; !mmd_simulation_seek(own->simulation, FRAMES, &steps, NULL); steps = 1)
        continue;
    mmd_simulation_pose(own->simulation, 0, own->matrices, own->sliders, NULL);
    mmd_simulation_reset(own->simulation);
}

static bool skin_part(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker;
    mmd_skin_job part = mmd_skin_slice(arg, first, count);
    return mmd_skin_cpu(&part, NULL, err);
}

static void load_and_free(void)
{
    mmd_model *model = mmd_model_load(model_file.bytes, model_file.size, NULL);
    mmd_motion *motion = mmd_motion_load(motion_file.bytes, motion_file.size, NULL);
    MUST(model && motion);
    mmd_rig *rig = mmd_rig_new(model, NULL);
    mmd_mesh *mesh = mmd_mesh_of_model(model, NULL);
    MUST(rig && mesh);
    mmd_poser *poser = mmd_poser_new(rig, motion, NULL);
    MUST(poser);
    mmd_poser_free(poser);
    mmd_mesh_free(mesh);
    mmd_rig_free(rig);
    mmd_motion_free(motion);
    mmd_model_free(model);
}

#ifdef MMD_TEST_GL
/* Only a shutdown may keep it from being done. */
static void skin_by_gl(size_t thread, size_t round, const mmd_skin_job *job)
{
    size_t done;
    mmd_error err = {0};
    if (thread == 0 && round % 6 == 5)
        mmd_gl_thread_shutdown(false);
    else if (!mmd_gl_skin(job, &(mmd_gl_caller){shared.pool, INNER_THREADS, NULL, NULL}, &done,
                          &err))
        printf("OpenGL: %s\n", err.text);
}
#endif

static void *work(void *arg)
{
    size_t thread = (size_t)arg;
    bench own = bench_new();
    for (size_t round = 0; round < ROUNDS; round++) {
        mmd_skin_job job = posed(&own);
        MUST(mmd_thread_pool_run(shared.pool, 0, FRAMES, INNER_THREADS, skin_part, &job, NULL));
        MUST(!memcmp(own.positions, shared.expected,
                     FRAMES * 3 * shared.mesh->vertex_count * sizeof(float)));
        if (round % THREADS == thread) {
            mmd_thread_pool_stop(shared.pool);
            load_and_free();
        }
        simulate(&own);
#ifdef MMD_TEST_GL
        skin_by_gl(thread, round, &job);
#endif
    }
    bench_free(&own);
    return NULL;
}

int main(int argc, char **argv)
{
    MUST(argc == 3);
    read_input(argv[1], &model_file);
    read_input(argv[2], &motion_file);
    shared.model = mmd_model_load(model_file.bytes, model_file.size, NULL);
    shared.motion = mmd_motion_load(motion_file.bytes, motion_file.size, NULL);
    MUST(shared.model && shared.motion);
    shared.rig = mmd_rig_new(shared.model, NULL);
    shared.mesh = mmd_mesh_of_model(shared.model, NULL);
    shared.pool = mmd_thread_pool_new(NULL);
    MUST(shared.rig && shared.mesh && shared.pool);
    bench first = bench_new();
    mmd_skin_job job = posed(&first);
    MUST(mmd_skin_cpu(&job, NULL, NULL));
    shared.expected = first.positions;

    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
#ifdef MMD_TEST_GL
    mmd_gl_thread_shutdown(false);
#endif
    bench_free(&first);
    mmd_thread_pool_free(shared.pool);
    mmd_mesh_free(shared.mesh);
    mmd_rig_free(shared.rig);
    mmd_motion_free(shared.motion);
    mmd_model_free(shared.model);
    printf("%d threads, %d rounds each: no race\n", THREADS, ROUNDS);
    return 0;
}
