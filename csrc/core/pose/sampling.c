/* SPDX-License-Identifier: MIT */
/* The value of a motion's tracks between keys: docs/mmd-behavior.md#key-interpolation.

     x = (frame - A) / (B - A)   of key frames A and B, A <= frame < B
     value = A + (B - A) Y(x)    slerp for rotations, Y(x) = x for morphs

   where Y is the Bezier curve of key B. */
#include "core/pose/sampling.h"

#include "core/model/motion.h"

/* The cubic Bezier curve from (0, 0) to (1, 1) with the control points (x1, y1) and (x2, y2):

     X(t) = 3 (1 - t)^2 t x1 + 3 (1 - t) t^2 x2 + t^3, Y(t) alike

   Solves X(t) = x by bisection and returns Y(t). MMD halves the interval twelve times:
   docs/mmd-behavior.md#bezier. */
double mmd_sampling_bezier(const uint8_t row[4], double x)
{
    if (x <= 0 || x >= 1 || (row[0] == row[1] && row[2] == row[3]))
        return fmin(fmax(x, 0), 1);
    double x1 = row[0] / 127.0, y1 = row[1] / 127.0, x2 = row[2] / 127.0, y2 = row[3] / 127.0;
    double t = 0.5, step = 0.5;
    for (int i = 0; i < 12; i++) {
        double s = 1 - t, error = 3 * s * s * t * x1 + 3 * s * t * t * x2 + t * t * t - x;
        if (error == 0)
            break;
        step /= 2;
        t += error < 0 ? step : -step;
    }
    double s = 1 - t;
    return 3 * s * s * t * y1 + 3 * s * t * t * y2 + t * t * t;
}

size_t mmd_sampling_key_before(const uint32_t *frames, size_t count, double frame, size_t *cursor)
{
    size_t low = 0, high = count, at = *cursor;
    if (at < count && frames[at] <= frame) {
        low = at;
        for (int i = 0; i < 2; i++, low++)
            if (low + 1 >= count || frames[low + 1] > frame)
                return *cursor = low;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (frames[middle] <= frame)
            low = middle;
        else
            high = middle;
    }
    return *cursor = low;
}

double mmd_sampling_key_fraction(const uint32_t *frames, size_t count, size_t at, double frame)
{
    if (at + 1 >= count || frame <= frames[at])
        return 0;
    return (frame - frames[at]) / ((double)frames[at + 1] - frames[at]);
}

/* Whether the next key repeats this one, as most keys of a dance do, or there is none. */
static bool is_constant(const mmd_bone_track *track, const float *rotations, size_t at)
{
    const float *translation = track->translations + 3 * at, *rotation = rotations + 4 * at;
    return at + 1 >= track->key_count ||
           (memcmp(translation, translation + 3, 3 * sizeof *translation) == 0 &&
            memcmp(rotation, rotation + 4, 4 * sizeof *rotation) == 0);
}

static void normalized_rotation(const float *rotation, double out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = rotation[i];
    mmd_quat_normalize(out);
}

/* Prepares the slerp from key `at` to the next one, unless the frame before has done so. */
static void prepare_slerp(const float *rotations, size_t at, mmd_sampling_cursor *cursor)
{
    double from[4], to[4];
    if (cursor->slerp_key == at + 1)
        return;
    normalized_rotation(rotations + 4 * at, from);
    normalized_rotation(rotations + 4 * (at + 1), to);
    mmd_slerp_init(from, to, &cursor->slerp);
    cursor->slerp_key = at + 1;
}

static void sample_bone(const mmd_bone_track *track, const float *rotations, double frame,
                        mmd_sampling_cursor *cursor, double translation[3], double rotation[4])
{
    size_t at = mmd_sampling_key_before(track->frames, track->key_count, frame, &cursor->key);
    if (cursor->constant_key == at + 1)
        return;
    cursor->constant_key = is_constant(track, rotations, at) ? at + 1 : 0;
    double x = mmd_sampling_key_fraction(track->frames, track->key_count, at, frame);
    const float *a = track->translations + 3 * at, *rotation_at = rotations + 4 * at;
    for (int i = 0; i < 3; i++)
        translation[i] = a[i];
    if (x == 0 || cursor->constant_key) {
        normalized_rotation(rotation_at, rotation);
        return;
    }
    /* The curves of the later key shape the segment. Most axes do not move. */
    const uint8_t *curves = track->interpolation + 16 * (at + 1);
    for (int i = 0; i < 3; i++)
        if (a[3 + i] != a[i])
            translation[i] += ((double)a[3 + i] - a[i]) * mmd_sampling_bezier(curves + 4 * i, x);
    if (memcmp(rotation_at, rotation_at + 4, 4 * sizeof *rotation_at) == 0) {
        normalized_rotation(rotation_at, rotation);
    } else {
        prepare_slerp(rotations, at, cursor);
        mmd_slerp_at(&cursor->slerp, mmd_sampling_bezier(curves + 12, x), rotation);
    }
}

static float sample_morph(const mmd_morph_track *track, double frame, size_t *cursor)
{
    size_t at = mmd_sampling_key_before(track->frames, track->key_count, frame, cursor);
    double x = mmd_sampling_key_fraction(track->frames, track->key_count, at, frame),
           a = track->weights[at];
    return (float)(x == 0 ? a : a + (track->weights[at + 1] - a) * x);
}

/* One for each track of bones and of morphs, one for the property track. */
size_t mmd_sampling_cursor_count(const mmd_motion *motion)
{
    return motion->bone_track_count + motion->morph_track_count + 1;
}

void mmd_sampling_run(const mmd_binding *binding, double frame, mmd_sampling_cursor *cursors,
                      mmd_sampling_locals *locals, float *sliders)
{
    const mmd_motion *motion = binding->motion;
    const mmd_rig *rig = binding->rig;
    for (size_t i = 0; i < rig->bone_count; i++) {
        int32_t track = binding->bone_track[i];
        if (track >= 0)
            sample_bone(&motion->bone_tracks[track], binding->bone_rotations[i], frame,
                        &cursors[track], locals->translations[i], locals->rotations[i]);
    }
    cursors += motion->bone_track_count;
    for (size_t i = 0; i < rig->morph_count; i++) {
        int32_t track = binding->morph_track[i];
        sliders[i] =
            track < 0 ? 0 : sample_morph(&motion->morph_tracks[track], frame, &cursors[track].key);
    }
    cursors += motion->morph_track_count;
    const mmd_property_track *properties = &motion->properties;
    size_t at = 0;
    if (properties->key_count)
        at = mmd_sampling_key_before(properties->frames, properties->key_count, frame,
                                     &cursors->key);
    for (size_t s = 0; s < rig->solver_count; s++) {
        int32_t column = binding->solver_property[s];
        locals->solvers_on[s] = column < 0 || !properties->key_count ||
                                properties->ik_enabled[at * properties->ik_count + (size_t)column];
    }
}

/* One frame, for files that hold one pose */

/* Of a key's own frame exactly the key's rotation. */
static void sample_bone_key(const mmd_bone_track *track, double frame, mmd_bone_track *out)
{
    mmd_sampling_cursor cursor = {0};
    double translation[3], rotation[4];
    sample_bone(track, track->rotations, frame, &cursor, translation, rotation);
    for (int i = 0; i < 3; i++)
        out->translations[i] = (float)translation[i];
    for (int i = 0; i < 4; i++)
        out->rotations[i] = (float)rotation[i];
    if (mmd_sampling_key_fraction(track->frames, track->key_count, cursor.key, frame) == 0)
        memcpy(out->rotations, track->rotations + 4 * cursor.key, 4 * sizeof *out->rotations);
    out->physics[0] = track->physics[cursor.key];
}

static void sample_morph_key(const mmd_morph_track *track, double frame, mmd_morph_track *out)
{
    size_t cursor = 0;
    out->weights[0] = sample_morph(track, frame, &cursor);
}

/* The tracks of some bones or morphs, -1: none, in their order and once; NULL: all tracks. */
static bool sample_tracks(mmd_arena *arena, const mmd_motion *motion, mmd_motion_kind kind,
                          const int32_t *order, size_t count, double frame, mmd_motion *pose)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    size_t all = mmd_motion_track_count(layout, motion), sampled = 0;
    bool *taken;
    char *tracks = mmd_arena_alloc(arena, all, layout->size);
    if (!tracks || !MMD_ARENA_ARRAY(arena, taken, all))
        return false;
    for (size_t i = 0; i < (order ? count : all); i++) {
        int32_t index = order ? order[i] : (int32_t)i;
        if (index < 0 || taken[index])
            continue;
        taken[index] = true;
        const void *track = mmd_motion_track(layout, motion, (size_t)index);
        void *out = tracks + sampled++ * layout->size;
        if (!mmd_motion_alloc(arena, layout, out, 1))
            return false;
        *(mmd_text *)out = mmd_motion_track_name(track);
        if (kind == MMD_MOTION_BONES)
            sample_bone_key(track, frame, out);
        else
            sample_morph_key(track, frame, out);
    }
    mmd_motion_set_tracks(layout, pose, tracks, sampled);
    return true;
}

bool mmd_sampling_frame(mmd_arena *arena, const mmd_motion *motion, const mmd_rig *rig,
                        double frame, mmd_motion *pose)
{
    static const mmd_binding all = {0};
    mmd_binding *own = rig ? mmd_binding_new(rig, motion, NULL) : NULL;
    const mmd_binding *of = own ? own : &all;
    *pose = (mmd_motion){.name = rig ? rig->model->name : motion->name};
    bool done = (own || !rig) &&
                sample_tracks(arena, motion, MMD_MOTION_BONES, of->bone_track,
                              rig ? rig->bone_count : 0, frame, pose) &&
                sample_tracks(arena, motion, MMD_MOTION_MORPHS, of->morph_track,
                              rig ? rig->morph_count : 0, frame, pose);
    mmd_binding_free(own);
    return done;
}
