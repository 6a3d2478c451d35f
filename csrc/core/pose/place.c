/* SPDX-License-Identifier: MIT */
#include "core/pose/place.h"

/* What MMD 9.32 computes with: docs/mmd-behaviour.md#append-rounded-pi. */
#define MMD_ROUNDED_PI 3.14

/* The rotation `a`, its angle times ratio, by MMD's own way with a rounded pi. */
static void scale_rotation(const double a[4], double ratio, double out[4])
{
    double v[3] = {a[0], a[1], a[2]}, w = a[3];
    int largest = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(v[i]) > fabs(v[largest]))
            largest = i;
    /* |w| >= 1/2 is a trace of the matrix >= 0. */
    bool flip = 4 * w * w >= 1 ? w < 0 : v[largest] < 0;
    if (flip)
        w = -w;
    double half = acos(fmin(fmax(w, -1), 1)) - (w < 0 ? MMD_ROUNDED_PI : 0);
    double length = sqrt(mmd_dot3(v, v));
    if (half == 0 || length < 1.2e-7) {
        mmd_quaternion_identity(out);
        return;
    }
    double s = sin(half * ratio) / (flip ? -length : length);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] * s;
    out[3] = cos(half * ratio);
}

void mmd_append_bone(mmd_frame *frame, int32_t index)
{
    const mmd_rig_bone *bone = &frame->rig->bones[index];
    mmd_posed_bone *posed = &frame->bones[index];
    const mmd_posed_bone *source = &frame->bones[bone->source];
    bool local = bone->append & MMD_APPEND_LOCAL;
    if ((bone->append & MMD_APPEND_ROTATION) && !posed->dropped) {
        double turn[4];
        if (local)
            memcpy(turn, source->world_rotation, sizeof turn);
        else
            mmd_quaternion_multiply(source->own_rotation, source->append_rotation, turn);
        scale_rotation(turn, bone->ratio, posed->append_rotation);
    }
    if (bone->append & MMD_APPEND_TRANSLATION) {
        const double *rest = frame->rig->bones[bone->source].position;
        for (int i = 0; i < 3; i++) {
            double amount = local ? source->world_position[i] - rest[i]
                                  : source->own_translation[i] + source->append_translation[i];
            /* Appends in a circle would grow without end. */
            posed->append_translation[i] = mmd_within_float(bone->ratio * amount);
        }
    }
}
