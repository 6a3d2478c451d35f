/* SPDX-License-Identifier: MIT */
/* Loads models and motions: finds out the format of a file and calls its reader. */
#include "core/formats/formats.h"

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/model.h"
#include "core/model/motion.h"

#include <string.h>

typedef struct file_format {
    const char *signature; /* the first bytes */
    bool (*read_model)(mmd_model *, const uint8_t *, size_t, mmd_error *);
    bool (*read_motion)(mmd_motion *, const uint8_t *, size_t, const mmd_text_decoder *,
                        mmd_error *);
} file_format;

/* The last one is any other file. */
static const file_format formats[] = {{"PMX ", mmd_pmx_read, NULL},
                                      {"Pmd", mmd_pmd_read, NULL},
                                      {"Vocaloid Motion Data", NULL, mmd_vmd_read},
                                      {"Vocaloid Pose Data file", NULL, mmd_vpd_read},
                                      {"\xEF\xBB\xBFVocaloid Pose Data file", NULL, mmd_vpd_read},
                                      {"", NULL, NULL}};

/* NULL without bytes. */
static const file_format *format_of(const uint8_t *bytes, size_t size, mmd_error *err)
{
    if (size && !mmd_error_require(bytes, "bytes", err))
        return NULL;
    for (const file_format *format = formats;; format++) {
        size_t length = strlen(format->signature);
        if (size >= length && (!length || memcmp(bytes, format->signature, length) == 0))
            return format;
    }
}

/* Whole sentences, as the add-on translates them. */
static bool refuse_format(const char *sentence, mmd_error *err)
{
    mmd_fail(err, MMD_E_FORMAT, "%s", sentence);
    if (err)
        memcpy(err->section, "header", sizeof "header");
    return false;
}

static bool read_model(mmd_model *model, const uint8_t *bytes, size_t size, mmd_error *err)
{
    const file_format *format = format_of(bytes, size, err);
    if (!format || format->read_model)
        return format && format->read_model(model, bytes, size, err);
    return refuse_format(
        format->read_motion ? "not a PMX or PMD file but a motion" : "not a PMX or PMD file", err);
}

static bool read_motion(mmd_motion *motion, const uint8_t *bytes, size_t size,
                        const mmd_text_decoder *names, mmd_error *err)
{
    const file_format *format = format_of(bytes, size, err);
    if (!format || format->read_motion)
        return format && format->read_motion(motion, bytes, size, names, err);
    return refuse_format(
        format->read_model ? "not a VMD or VPD file but a model" : "not a VMD or VPD file", err);
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
