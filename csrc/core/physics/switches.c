/* SPDX-License-Identifier: MIT */
#include "core/physics/switches.h"

#include "core/pose/sampling.h"

static bool ever_off(const mmd_bone_track *track)
{
    for (size_t k = 0; track->physics && k < track->key_count; k++)
        if (!track->physics[k])
            return true;
    return false;
}

bool mmd_switches_init(mmd_arena *arena, const mmd_model *model, const mmd_binding *binding,
                       mmd_switches *switches)
{
    *switches = (mmd_switches){.body_count = model->rigid_body_count};
    switches->tracks = mmd_arena_alloc(arena, switches->body_count, sizeof *switches->tracks);
    switches->cursors = mmd_arena_alloc(arena, switches->body_count, sizeof *switches->cursors);
    if (!switches->tracks || !switches->cursors)
        return false;
    for (size_t i = 0; binding && i < switches->body_count; i++) {
        int32_t bone = model->rigid_bodies[i].bone;
        int32_t track = bone < 0 ? -1 : binding->bone_track[bone];
        if (track >= 0 && ever_off(&binding->motion->bone_tracks[track]))
            switches->tracks[i] = &binding->motion->bone_tracks[track];
    }
    return true;
}

void mmd_switches_read(mmd_switches *switches, double frame, bool *off)
{
    for (size_t i = 0; i < switches->body_count; i++) {
        const mmd_bone_track *track = switches->tracks[i];
        off[i] = track && !track->physics[mmd_key_before(track->frames, track->key_count, frame,
                                                         &switches->cursors[i])];
    }
}
