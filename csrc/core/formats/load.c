/* SPDX-License-Identifier: MIT */
/* Loads models and motions: finds out the format of a file and calls its reader. */
#include "core/formats/formats.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/model.h"
#include "core/model/motion.h"

#include <string.h>

static bool fail_in_header(mmd_error *err)
{
    if (err)
        memcpy(err->section, "header", sizeof "header");
    return false;
}

static bool read_model(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err)
{
    if (size && !mmd_error_require(bytes, "bytes", err))
        return false;
    if (mmd_pmx_is(bytes, size))
        return mmd_pmx_read(model, bytes, size, err);
    if (mmd_pmd_is(bytes, size))
        return mmd_pmd_read(model, bytes, size, err);
    if (mmd_vmd_is(bytes, size) || mmd_vpd_is(bytes, size))
        mmd_fail(err, MMD_E_FORMAT, "not a PMX or PMD file but a motion");
    else
        mmd_fail(err, MMD_E_FORMAT, "not a PMX or PMD file");
    return fail_in_header(err);
}

static bool read_motion(mmd_motion *motion, const uint8_t *bytes, size_t size,
                        const mmd_text_decoder *names, mmd_error *err)
{
    if (size && !mmd_error_require(bytes, "bytes", err))
        return false;
    if (mmd_vmd_is(bytes, size))
        return mmd_vmd_read(motion, bytes, size, names, err);
    if (mmd_vpd_is(bytes, size))
        return mmd_vpd_read(motion, bytes, size, names, err);
    if (mmd_pmx_is(bytes, size) || mmd_pmd_is(bytes, size))
        mmd_fail(err, MMD_E_FORMAT, "not a VMD or VPD file but a model");
    else
        mmd_fail(err, MMD_E_FORMAT, "not a VMD or VPD file");
    return fail_in_header(err);
}

mmd_model *mmd_model_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    mmd_model *model = mmd_arena_new_owner(sizeof *model, err);
    if (model && read_model(model, bytes, size, err) && mmd_model_sanitize(model, err))
        return model;
    mmd_model_free(model);
    return NULL;
}

mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    return mmd_motion_load_with(bytes, size, NULL, err);
}

mmd_motion *mmd_motion_load_with(const uint8_t *bytes, size_t size, const mmd_text_decoder *names,
                                 mmd_error *err)
{
    mmd_motion *motion = mmd_arena_new_owner(sizeof *motion, err);
    if (motion && read_motion(motion, bytes, size, names, err)) {
        mmd_motion_find_range(motion);
        return motion;
    }
    mmd_motion_free(motion);
    return NULL;
}
