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
    bool (*read_model)(mmd_reader *, mmd_model *);
    bool (*read_motion)(mmd_reader *, mmd_motion *);
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

/* Errors are whole sentences, as the add-on translates them. */

mmd_model *mmd_model_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    const file_format *format = format_of(bytes, size, err);
    mmd_model *model = format ? mmd_arena_new_owner(sizeof *model, err) : NULL;
    if (!model)
        return NULL;
    mmd_reader r = mmd_reader_begin(bytes, size, &model->arena, err);
    bool read = format->read_model
                    ? format->read_model(&r, model) && mmd_model_sanitize(model, err)
                    : mmd_reader_fail(&r, format->read_motion ? "not a PMX or PMD file but a motion"
                                                              : "not a PMX or PMD file");
    mmd_arena_free(&r.scratch);
    return mmd_arena_keep_owner(model, read);
}

mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    return mmd_motion_load_with(bytes, size, NULL, err);
}

mmd_motion *mmd_motion_load_with(const uint8_t *bytes, size_t size, const mmd_text_decoder *names,
                                 mmd_error *err)
{
    const file_format *format = format_of(bytes, size, err);
    mmd_motion *motion = format ? mmd_arena_new_owner(sizeof *motion, err) : NULL;
    if (!motion)
        return NULL;
    mmd_reader r = mmd_reader_begin(bytes, size, &motion->arena, err);
    r.encoding = MMD_CP932_NAMES;
    r.decoder = names;
    bool read = format->read_motion
                    ? format->read_motion(&r, motion)
                    : mmd_reader_fail(&r, format->read_model ? "not a VMD or VPD file but a model"
                                                             : "not a VMD or VPD file");
    if (read)
        mmd_motion_find_range(motion);
    mmd_arena_free(&r.scratch);
    return mmd_arena_keep_owner(motion, read);
}
