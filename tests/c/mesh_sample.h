/* SPDX-License-Identifier: MIT */
#ifndef MESH_SAMPLE_H
#define MESH_SAMPLE_H

#include "core/skin/skin.h"

enum { SAMPLE_BONES = 6, SAMPLE_MORPHS = 4, MAX_KERNELS = 5 };

/* Arrays for a mesh of all five deform types with unusual weights, and four morphs:
   two vertex morphs, a group of both, a flip to the second. */
typedef struct mesh_sample {
    mmd_mesh_desc desc; /* of heap arrays of exact size */
    mmd_morph morphs[SAMPLE_MORPHS];
} mesh_sample;

/* `contiguous`: neighboring vertices have the same type and bones, as in real meshes; else each
   vertex has its own. */
mesh_sample mesh_sample_new(size_t vertex_count, size_t tangent_width, bool contiguous);
void mesh_sample_free(mesh_sample *sample);

/* A description of vertex `v` alone, over the same arrays and without morphs. */
mmd_mesh_desc mesh_sample_vertex(const mesh_sample *sample, size_t v);

typedef enum matrix_sort {
    MATRICES_IDENTITY,
    MATRICES_RIGID,
    MATRICES_AFFINE,  /* well-conditioned, positive determinant */
    MATRICES_MIRRORED /* affine, every other one mirrored */
} matrix_sort;

/* (frames, SAMPLE_BONES, 4, 4), on the heap. */
float *sample_matrices(size_t frames, matrix_sort sort, uint32_t seed);

/* The kernels of this CPU, "scalar" first. */
size_t usable_kernels(const mmd_skin_kernel *kernels[MAX_KERNELS]);

/* Heap outputs of exact size, filled with NaN; NULL where not requested. */
void skin_outputs_new(mmd_skin_job *job, bool normals, bool tangents);
void skin_outputs_free(mmd_skin_job *job);

#endif
