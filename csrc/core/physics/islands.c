/* SPDX-License-Identifier: MIT */
#include "core/physics/islands.h"

void mmd_islands_reset(size_t *islands, size_t body_count)
{
    for (size_t i = 0; i < body_count; i++)
        islands[i] = i;
}

size_t mmd_island_of(size_t *islands, size_t body)
{
    while (islands[body] != body)
        body = islands[body] = islands[islands[body]];
    return body;
}

void mmd_islands_join(size_t *islands, size_t a, size_t b)
{
    islands[mmd_island_of(islands, a)] = mmd_island_of(islands, b);
}

void mmd_islands_find(const mmd_model *model, size_t *islands)
{
    mmd_islands_reset(islands, model->rigid_body_count);
    for (size_t i = 0; i < model->joint_count; i++) {
        int32_t a = model->joints[i].body_a, b = model->joints[i].body_b;
        if (a >= 0 && b >= 0 && model->rigid_bodies[a].mode != MMD_FOLLOWS_BONE &&
            model->rigid_bodies[b].mode != MMD_FOLLOWS_BONE)
            mmd_islands_join(islands, (size_t)a, (size_t)b);
    }
    for (size_t i = 0; i < model->rigid_body_count; i++)
        islands[i] = mmd_island_of(islands, i);
}
