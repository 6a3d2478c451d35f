/* SPDX-License-Identifier: MIT */
#ifndef MMD_KEY_FIT_H
#define MMD_KEY_FIT_H

#include "core/fit/curve_fit.h"

/* Finds few keys for values at every frame. Between two keys each channel follows
   a curve of its own; all channels of a track share the frames of their keys. */

typedef enum mmd_key_fit_channel_kind {
    MMD_CHANNEL_SCALARS,  /* columns that share one curve: an axis, the camera's three angles */
    MMD_CHANNEL_ROTATION, /* unit quaternions x y z w, of continuous sign */
    MMD_CHANNEL_INTEGER   /* a scalar whose keys are integers: the camera's view angle */
} mmd_key_fit_channel_kind;

enum { MMD_CHANNEL_COLUMNS = 4, MMD_TRACK_CHANNELS = 6 };

typedef struct mmd_key_fit_channel {
    mmd_key_fit_channel_kind kind;
    size_t columns;
    const double *values; /* (frame_count, columns) */
    double tolerance;     /* units of the values; of a rotation radians */
} mmd_key_fit_channel;

/* A segment of an earlier motion: the curves from one key to the next. */
typedef struct mmd_key_fit_segment {
    uint32_t first, last;
    const uint8_t *curves; /* (channel_count, 4) */
} mmd_key_fit_segment;

typedef struct mmd_key_fit {
    size_t frame_count, channel_count;
    const mmd_key_fit_channel *channels;
    const bool *cuts; /* (frame_count,) true: nothing leads here from the frame before; or NULL */
    const mmd_key_fit_segment *earlier; /* ascending: kept where they still fit */
    size_t earlier_count;
    bool avoid_neighbors; /* keys on neighboring frames only at cuts, where possible */
} mmd_key_fit;

/* Memory of one thread for tracks of up to `frame_count` frames. */
typedef struct mmd_key_fit_scratch {
    mmd_curve_fit_scratch curve;
    double *lower, *upper;
} mmd_key_fit_scratch;

/* False when memory is short. */
bool mmd_key_fit_scratch_init(mmd_arena *arena, const mmd_curve_grid_tables *grid,
                              size_t frame_count, mmd_key_fit_scratch *scratch);

/* The work of a frame, in units of about a nanosecond. Dances take a fifth of it on average. */
enum { MMD_KEY_FIT_FRAME_CREDIT = 25000 };

/* The keys of a track that have been found. Set frame_credit, give `frames` and `curves` room for
   frame_count keys, and initialize the rest to zero. */
typedef struct mmd_key_fit_keys {
    int64_t frame_credit; /* the work that each frame may take, on average */
    size_t count;
    uint32_t *frames; /* ascending from 0 */
    uint8_t *curves;  /* (count, channel_count, 4) that lead to each key */
    /* Where the search is. */
    size_t earlier, next_cut, last_chunk;
    int64_t credit; /* the work that the frames so far have left */
    int64_t work;   /* done so far */
    bool starved;   /* there would be fewer keys with more work */
} mmd_key_fit_keys;

/* Finds keys for some hundredths of a second; true when the track has all of its keys, else call it
   again. The work is in proportion to the number of frames, whatever their values are: where the
   search takes more, it becomes coarser, and keys denser. Constant tracks get one key: the last key
   is dropped where it repeats the one before within tolerance. */
bool mmd_key_fit_continue(const mmd_key_fit *fit, mmd_key_fit_scratch *scratch,
                          mmd_key_fit_keys *keys);

/* Keys of straight lines, for morphs and light: the farthest frame that the cone of slopes through
   all columns reaches. `values` are (frame_count, columns). Returns their number. */
size_t mmd_key_fit_lines(const double *values, size_t frame_count, size_t columns, double tolerance,
                         uint32_t *frames);

#endif
