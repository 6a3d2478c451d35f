/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RENDER_LOOK_H
#define MMD_PY_RENDER_LOOK_H

#include "core/render/render.h"
#include "python/array.h"

/* The arguments of render() that are about the look: Python objects, NULL where they are not given,
   and the arrays that a job borrows from them. Initialize to zero. */
typedef struct mmd_py_render_look {
    PyObject *look, *light, *light_color, *factors, *toons, *additional_uvs, *ground_shadow;
    int self_shadow;
    mmd_py_array lights, light_colors, factor_array, toon_array, uv_array;
} mmd_py_render_look;

/* Sets the look, the lights and the effects of a job, whose materials, vertex count and own
   additional UVs are set; sets `batched` if one has a frame axis. False with an exception. */
bool mmd_py_render_look_parse(mmd_py_render_look *look, mmd_render_job *job, bool *batched);
void mmd_py_render_look_clear(mmd_py_render_look *look);

#endif
