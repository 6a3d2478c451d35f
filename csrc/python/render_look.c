/* SPDX-License-Identifier: MIT */
/* Parses the arguments of render() that are about the look: light, toons, factors and shadows. */
#include "python/render_scene.h"

#include "core/render/render.h"
#include "python/argument.h"

#include <string.h>

enum { MAX_TOON_ROWS = 4096 };

static bool parse_name(PyObject *argument, mmd_look *out)
{
    static const char *const names[] = {[MMD_LOOK_LAMBERT] = "lambert", [MMD_LOOK_MMD] = "mmd"};
    int look = MMD_LOOK_LAMBERT;
    bool known = mmd_py_argument_word(argument, "look", names, 2, &look);
    *out = (mmd_look)look;
    return known;
}

/* (3,) or (F,3); a default if it is not given. */
static bool parse_vectors(PyObject *argument, const char *name, const float fallback[3],
                          mmd_py_array *array, const float **out, size_t *frames, bool *batched)
{
    const size_t shape[] = {MMD_PY_ANY, 3};
    *out = fallback;
    *frames = 1;
    if (!argument || argument == Py_None)
        return true;
    if (!mmd_py_array_from_frames(argument, name, MMD_PY_FLOAT32, 1, shape, "F", array, frames,
                                  batched))
        return false;
    *out = array->data;
    return true;
}

/* Neither left out nor None; False is no shadow. */
static bool is_given(PyObject *argument)
{
    return argument && argument != Py_None && argument != Py_False;
}

/* A look without these must not be given them. */
static bool refuse_effects(const mmd_py_render_look *look)
{
    const struct {
        const char *name;
        PyObject *argument;
    } effects[] = {{"light_color", look->light_color},
                   {"factors", look->factors},
                   {"toons", look->toons},
                   {"additional_uvs", look->additional_uvs},
                   {"ground_shadow", look->ground_shadow},
                   {"self_shadow", look->self_shadow ? Py_True : NULL}};
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (is_given(effects[i].argument))
            return PyErr_Format(PyExc_ValueError, "%s: not used by look \"lambert\"",
                                effects[i].name);
    return true;
}

static bool parse_factors(mmd_py_render_look *look, mmd_render_job *job)
{
    const size_t shape[] = {job->material_count, 2, 3, 4};
    if (!is_given(look->factors))
        return true;
    if (!mmd_py_array_from(look->factors, "factors", MMD_PY_FLOAT32, false, &look->factor_array) ||
        !mmd_py_array_check_shape(&look->factor_array, "factors", 4, shape, ""))
        return false;
    job->effects.factors = look->factor_array.data;
    return true;
}

static bool make_toons(mmd_py_render_look *look)
{
    static const size_t shape[] = {MMD_TOON_COUNT, MMD_TOON_ROWS, 4};
    if (!mmd_py_array_new(MMD_PY_UINT8, 3, shape, &look->toon_array))
        return false;
    mmd_toons(look->toon_array.data);
    return true;
}

static bool parse_toons(mmd_py_render_look *look, mmd_render_job *job)
{
    const size_t shape[] = {MMD_TOON_COUNT, MMD_PY_ANY, 4};
    if (!is_given(look->toons)) {
        if (!make_toons(look))
            return false;
    } else if (!mmd_py_array_from(look->toons, "toons", MMD_PY_UINT8, false, &look->toon_array) ||
               !mmd_py_array_check_shape(&look->toon_array, "toons", 3, shape, "H")) {
        return false;
    }
    size_t rows = look->toon_array.shape[1];
    if (rows < 1 || rows > MAX_TOON_ROWS)
        return PyErr_Format(PyExc_ValueError, "toons: %zu rows, expected 1 to %d", rows,
                            MAX_TOON_ROWS);
    job->effects.toons = look->toon_array.data;
    job->effects.toon_rows = rows;
    return true;
}

static bool parse_additional_uvs(mmd_py_render_look *look, mmd_render_job *job, bool *batched)
{
    const size_t shape[] = {MMD_PY_ANY, job->vertex_count, 4};
    if (!is_given(look->additional_uvs))
        return true;
    if (!mmd_py_array_from_frames(look->additional_uvs, "additional_uvs", MMD_PY_FLOAT32, 2, shape,
                                  "F", &look->uv_array, &job->effects.additional_uv_frames,
                                  batched))
        return false;
    job->effects.additional_uvs = look->uv_array.data;
    job->effects.additional_uv_width = 4;
    return true;
}

/* None and False: off. True: in the color of the light. */
static bool parse_ground_shadow(const mmd_py_render_look *look, mmd_render_job *job)
{
    PyObject *argument = look->ground_shadow;
    if (!is_given(argument))
        return true;
    job->effects.ground_shadow = MMD_GROUND_SHADOW_LIGHT;
    if (argument == Py_True)
        return true;
    job->effects.ground_shadow = MMD_GROUND_SHADOW_COLOR;
    return mmd_py_argument_numbers(argument, "ground_shadow", MMD_PY_FLOAT32, 4,
                                   job->effects.ground_color);
}

bool mmd_py_render_look_parse(mmd_py_render_look *look, mmd_render_job *job, bool *batched)
{
    static const float default_light[] = {-0.5f, -1, 0.5f};
    static const float default_color[] = {154.0f / 255, 154.0f / 255, 154.0f / 255};
    mmd_render_effects *effects = &job->effects;
    if (!parse_name(look->look, &job->look) ||
        !parse_vectors(look->light, "light", default_light, &look->lights, &job->lights,
                       &job->light_frames, batched))
        return false;
    if (job->look != MMD_LOOK_MMD) {
        effects->additional_uvs = NULL;
        return refuse_effects(look);
    }
    effects->self_shadow = look->self_shadow;
    return parse_vectors(look->light_color, "light_color", default_color, &look->light_colors,
                         &effects->light_colors, &effects->light_color_frames, batched) &&
           parse_factors(look, job) && parse_toons(look, job) &&
           parse_additional_uvs(look, job, batched) && parse_ground_shadow(look, job);
}

void mmd_py_render_look_clear(mmd_py_render_look *look)
{
    mmd_py_array_clear(&look->lights);
    mmd_py_array_clear(&look->light_colors);
    mmd_py_array_clear(&look->factor_array);
    mmd_py_array_clear(&look->toon_array);
    mmd_py_array_clear(&look->uv_array);
}
