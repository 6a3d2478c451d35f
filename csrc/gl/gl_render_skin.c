/* SPDX-License-Identifier: MIT */
/* Skins the frames of render jobs, on the CPU or on the device. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"
#include "core/math/vec3.h"

#include <math.h>

/* The bounding box of the rest pose, and the bones that move vertices. */
static void find_bounds(mmd_gl_render_skin *skin)
{
    const mmd_mesh *mesh = skin->job.mesh;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        const mmd_mesh_vertex *vertex = &mesh->vertices[v];
        for (int i = 0; i < 3; i++) {
            double x = (double)vertex->position[i];
            skin->rest[0][i] = v ? fmin(skin->rest[0][i], x) : x;
            skin->rest[1][i] = v ? fmax(skin->rest[1][i], x) : x;
        }
        for (int i = 0; i < vertex->count; i++)
            skin->bone_used[vertex->bones[i]] = true;
    }
}

static bool init_device(mmd_gl_render_skin *skin, mmd_gl_context *context, mmd_error *err)
{
    const mmd_mesh *mesh = skin->job.mesh;
    skin->pass = (mmd_gl_skin_pass){.job = &skin->job, .context = context};
    if (!MMD_ARENA_ARRAY(&skin->arena, skin->bone_used, mesh->bone_count) ||
        !MMD_ARENA_ARRAY(&skin->arena, skin->pass.bones, mesh->bone_count) ||
        !MMD_ARENA_ARRAY(&skin->arena, skin->pass.weights, mesh->morph_count))
        return mmd_fail_memory(err);
    find_bounds(skin);
    return mmd_gl_skin_pass_begin(&skin->pass, err) &&
           mmd_gl_skin_pass_max_frames(&skin->pass, 1, err);
}

bool mmd_gl_render_skin_init(mmd_gl_render_skin *skin, mmd_gl_context *context, mmd_error *err)
{
    size_t numbers = 3 * skin->job.mesh->vertex_count;
    if (!MMD_ARENA_ARRAY(&skin->arena, skin->positions, numbers) ||
        (skin->job.mesh->has_normals && !MMD_ARENA_ARRAY(&skin->arena, skin->normals, numbers)))
        return mmd_fail_memory(err);
    skin->job.positions = skin->positions;
    skin->job.normals = skin->normals;
    return !skin->on_device || init_device(skin, context, err);
}

void mmd_gl_render_skin_free(mmd_gl_render_skin *skin)
{
    mmd_skin_workspace_free(&skin->workspace);
    mmd_arena_free(&skin->arena);
}

bool mmd_gl_render_skin_frame(mmd_gl_render_skin *skin, size_t frame, mmd_error *err)
{
    mmd_skin_job no_outputs = skin->job;
    no_outputs.positions = no_outputs.normals = NULL;
    mmd_skin_job job = mmd_skin_slice(&no_outputs, frame, 1);
    job.positions = skin->positions;
    job.normals = skin->normals;
    return mmd_skin_frames(&job, 0, 1, NULL, &skin->workspace, err);
}

bool mmd_gl_render_skin_draw(mmd_gl_render_skin *skin, size_t frame, const mmd_render_view *view,
                             GLuint positions, GLuint normals, mmd_error *err)
{
    size_t vertices = skin->job.mesh->vertex_count;
    const mmd_gl_skin_output outputs[MMD_GL_SKIN_OUTPUTS] = {
        {positions, 0, 4 * vertices * sizeof(float)}, {normals, 0, 3 * vertices * sizeof(float)}};
    mmd_gl_skin_view camera;
    for (int i = 0; i < 9; i++)
        camera.rotation[i] = (float)view->rotation[i / 3][i % 3];
    for (int i = 0; i < 3; i++)
        camera.camera[i] = (float)view->position[i];
    return mmd_gl_skin_pass_run(&skin->pass, frame, 1, &camera, outputs, err);
}

/* How far vertex morphs move any vertex in a frame, at most. */
static double morph_reach(const mmd_gl_render_skin *skin)
{
    const mmd_mesh *mesh = skin->job.mesh;
    double reach = 0;
    for (size_t m = 0; skin->pass.morphs_act && m < mesh->vertex_morph_count; m++) {
        const mmd_morph *morph = mesh->vertex_morphs[m];
        double weight = fabs((double)skin->pass.weights[morph - mesh->morphs]), largest = 0;
        for (size_t i = 0; weight > 0 && i < 3 * morph->offset_count; i++)
            largest = fmax(largest, fabs((double)morph->values[i]));
        reach += weight * largest;
    }
    return reach;
}

bool mmd_gl_render_skin_depth(const mmd_gl_render_skin *skin, size_t frame,
                              const mmd_render_view *view, double *depth, mmd_error *err)
{
    const mmd_skin_job *job = &skin->job;
    const float *matrices =
        job->matrices + (job->matrix_frames > 1 ? 16 * frame * job->bone_count : 0);
    double reach = morph_reach(skin), size = 0, largest = 0;
    *depth = -INFINITY;
    for (size_t b = 0; b <= job->mesh->bone_count; b++) {
        bool at_rest = b == job->mesh->bone_count; /* vertices without bones */
        if (!at_rest && !skin->bone_used[b])
            continue;
        double first[3];
        for (int corner = 0; corner < 8; corner++) { /* of the box of all morphed rest positions */
            double p[3], at[3], way[3];
            for (int i = 0; i < 3; i++)
                p[i] = skin->rest[corner >> i & 1][i] + (corner >> i & 1 ? reach : -reach);
            for (int i = 0; i < 3; i++) {
                const float *row = matrices + 16 * b + 4 * i;
                at[i] = at_rest ? p[i]
                                : (double)row[0] * p[0] + (double)row[1] * p[1] +
                                      (double)row[2] * p[2] + (double)row[3];
                first[i] = corner ? first[i] : at[i];
                way[i] = at[i] - view->position[i];
                largest = fmax(largest, fabs(at[i]));
                size = fmax(size, fabs(at[i] - first[i]));
            }
            *depth = fmax(*depth, mmd_vec3_dot(view->rotation[2], way));
        }
    }
    *depth += size; /* dual quaternions and SDEF leave the hull of their bones' results */
    if (largest + size <= (double)MMD_RENDER_MAX_COORDINATE)
        return true;
    return mmd_refuse(err, "positions: frame %zu may be beyond the limit %g", frame,
                      (double)MMD_RENDER_MAX_COORDINATE);
}
