/* SPDX-License-Identifier: MIT */
/* The Python function toons(). */
#include "core/render/render.h"
#include "python/types.h"

PyObject *mmd_py_module_toons(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    static const size_t shape[] = {MMD_TOON_COUNT, MMD_TOON_ROWS, 4};
    mmd_py_array toons = {0};
    if (!mmd_py_array_new(MMD_PY_UINT8, 3, shape, &toons))
        return NULL;
    mmd_toons(toons.data);
    return toons.object;
}

const char mmd_py_module_toons_doc[] =
    "toons($module, /)\n--\n\n"
    "The ten ramps that stand for the toon textures toon01.bmp to toon10.bmp, which models share:\n"
    "a new array (10,32,4) uint8, sRGB and alpha. Row 0 is lit, row 31 in shadow. Drawn from "
    "their\n"
    "measured colors; no file of MMD is included. render() uses them unless others are passed.";
