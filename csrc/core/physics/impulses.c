/* SPDX-License-Identifier: MIT */
#include "core/physics/impulses.h"

#include "core/physics/vector.h"

enum { LOCAL, IMPULSE, TORQUE = 4, COLUMNS = 7 };

static bool is_stop(const float *offset)
{
    for (int i = IMPULSE; i < COLUMNS; i++)
        if (offset[i] != 0)
            return false;
    return true;
}

static void push(const float *offset, double scale, mmd_body *body)
{
    double impulse[3], torque[3], turned[3];
    for (int i = 0; i < 3; i++) {
        impulse[i] = scale * (double)offset[IMPULSE + i];
        torque[i] = scale * (double)offset[TORQUE + i];
    }
    if (offset[LOCAL] != 0) {
        mmd_transform3(body->axes, impulse, turned);
        mmd_copy3(turned, impulse);
        mmd_transform3(body->axes, torque, turned);
        mmd_copy3(turned, torque);
    }
    mmd_add_scaled3(impulse, body->inverse_mass, body->state.velocity);
    mmd_transform3(body->inverse_tensor, torque, turned);
    mmd_add_scaled3(turned, 1, body->state.spin);
}

/* Bodies are stopped before any is pushed. */
void mmd_impulses_apply(const mmd_model *model, const float *weights, double share,
                        mmd_body *bodies)
{
    for (int pushes = 0; pushes < 2; pushes++)
        for (size_t m = 0; m < model->morph_count; m++) {
            const mmd_morph *morph = &model->morphs[m];
            for (size_t k = 0;
                 morph->kind == MMD_MORPH_IMPULSE && weights[m] != 0 && k < morph->offset_count;
                 k++) {
                const float *offset = morph->values + COLUMNS * k;
                mmd_body *body = &bodies[morph->indices[k]];
                if (body->inverse_mass == 0 || is_stop(offset) == pushes)
                    continue;
                if (pushes)
                    push(offset, share * (double)weights[m], body);
                else
                    mmd_body_rest(body);
            }
        }
}
