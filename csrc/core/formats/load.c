/* SPDX-License-Identifier: MIT */
/* Loads models and motions: finds out the format of a file and calls its reader. */
#include "core/formats/formats.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/model.h"
#include "core/model/motion.h"

#include <string.h>

typedef enum file_format { PMX, PMD, VMD, VPD, VPD_UTF8, UNKNOWN } file_format;

static file_format format_of(const uint8_t *bytes, size_t size)
{
    static const char *const signatures[UNKNOWN] = {"PMX ", "Pmd", "Vocaloid Motion Data",
                                                    "Vocaloid Pose Data file",
                                                    "\xEF\xBB\xBFVocaloid Pose Data file"};
    file_format format = PMX;
    for (; format < UNKNOWN; format++) {
        size_t length = strlen(signatures[format]);
        if (size >= length && memcmp(bytes, signatures[format], length) == 0)
            break;
    }
    return format;
}

static bool refuse_format(const char *text, mmd_error *err)
{
    mmd_fail(err, MMD_E_FORMAT, "%s", text);
    if (err)
        memcpy(err->section, "header", sizeof "header");
    return false;
}

static bool read_model(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err)
{
    if (size && !mmd_error_require(bytes, "bytes", err))
        return false;
    switch (format_of(bytes, size)) {
    case PMX:
        return mmd_pmx_read(model, bytes, size, err);
    case PMD:
        return mmd_pmd_read(model, bytes, size, err);
    case UNKNOWN:
        return refuse_format("not a PMX or PMD file", err);
    default:
        return refuse_format("not a PMX or PMD file but a motion", err);
    }
}

static bool read_motion(mmd_motion *motion, const uint8_t *bytes, size_t size,
                        const mmd_text_decoder *names, mmd_error *err)
{
    if (size && !mmd_error_require(bytes, "bytes", err))
        return false;
    switch (format_of(bytes, size)) {
    case VMD:
        return mmd_vmd_read(motion, bytes, size, names, err);
    case VPD:
    case VPD_UTF8:
        return mmd_vpd_read(motion, bytes, size, names, err);
    case UNKNOWN:
        return refuse_format("not a VMD or VPD file", err);
    default:
        return refuse_format("not a VMD or VPD file but a model", err);
    }
}

mmd_model *mmd_model_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    mmd_model *model = mmd_arena_new_owner(sizeof *model, err);
    return mmd_arena_keep_owner(model, model && read_model(model, bytes, size, err) &&
                                           mmd_model_sanitize(model, err));
}

mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    return mmd_motion_load_with(bytes, size, NULL, err);
}

mmd_motion *mmd_motion_load_with(const uint8_t *bytes, size_t size, const mmd_text_decoder *names,
                                 mmd_error *err)
{
    mmd_motion *motion = mmd_arena_new_owner(sizeof *motion, err);
    bool read = motion && read_motion(motion, bytes, size, names, err);
    if (read)
        mmd_motion_find_range(motion);
    return mmd_arena_keep_owner(motion, read);
}
