/* SPDX-License-Identifier: MIT */
/* The texts of Simulation.notes: a body or joint, then what happened to it. */
#include "core/physics/simulation_parts.h"

#include "core/base/error.h"
#include "core/base/text.h"

#include <stdio.h>

/* What happened to a body or joint: a format of the distance, if it has one, and the frame. */
static const struct {
    bool of_joint, has_distance;
    const char *format;
} texts[MMD_NOTES_DROPPED_PAIRS] = {
    [MMD_NOTES_JOINT_KIND] = {true, false, "is simulated as a 6dof joint with its limits"},
    [MMD_NOTES_NOT_CONNECTED] = {true, false, "does not connect two bodies and is ignored"},
    [MMD_NOTES_NO_MASS] = {false, false, "has no mass and does not move"},
    [MMD_NOTES_OUT_OF_RANGE] =
        {false, false, "would follow its bone beyond 1e6 units at frame %g; it stays in place"},
    [MMD_NOTES_DIVERGED] = {false, false, "became unstable at frame %g and was reset"},
    [MMD_NOTES_STRETCH_LIMITED] = {true, true,
                                   "was held at %g units beyond its limits at frame %g"},
    [MMD_NOTES_STRETCHED] = {true, true, "was %.1f units beyond its limits at frame %g"},
    [MMD_NOTES_TELEPORTED] = {false, false,
                              "and all others were reset at frame %g, where the model jumped"},
};

void mmd_notes_add(mmd_notes *notes, mmd_notes_kind kind, size_t index, double frame,
                   double distance)
{
    mmd_notes_entry *note = &notes->notes[kind];
    uint16_t *noted = notes->noted + index;
    if (texts[kind].of_joint)
        noted += notes->model->rigid_body_count;
    if (*noted & 1u << kind)
        return;
    *noted |= (uint16_t)(1u << kind);
    if (note->count++ == 0)
        *note = (mmd_notes_entry){1, index, frame, distance};
}

void mmd_notes_add_dropped_pairs(mmd_notes *notes, size_t pairs, double frame)
{
    mmd_notes_entry *note = &notes->notes[MMD_NOTES_DROPPED_PAIRS];
    if (pairs > 0 && note->count == 0)
        *note = (mmd_notes_entry){.count = pairs, .frame = frame};
}

static void note_model(const mmd_model *model, mmd_notes *notes)
{
    for (size_t i = 0; i < model->rigid_body_count; i++)
        if (model->rigid_bodies[i].mode != MMD_FOLLOWS_BONE && model->rigid_bodies[i].mass == 0)
            mmd_notes_add(notes, MMD_NOTES_NO_MASS, i, 0, 0);
    for (size_t i = 0; i < model->joint_count; i++) {
        const mmd_joint *joint = &model->joints[i];
        if (joint->body_a < 0 || joint->body_b < 0 || joint->body_a == joint->body_b)
            mmd_notes_add(notes, MMD_NOTES_NOT_CONNECTED, i, 0, 0);
        else if (joint->kind > MMD_JOINT_6DOF)
            mmd_notes_add(notes, MMD_NOTES_JOINT_KIND, i, 0, 0);
    }
}

size_t mmd_notes_init(void *memory, const mmd_model *model, mmd_notes *notes)
{
    size_t entries = MMD_NOTES_COUNT * sizeof *notes->notes;
    size_t noted = (model->rigid_body_count + model->joint_count) * sizeof *notes->noted;
    *notes = (mmd_notes){.model = model};
    if (memory) {
        notes->notes = memory;
        notes->noted = (uint16_t *)(void *)((char *)memory + entries);
        note_model(model, notes);
    }
    return entries + (noted + 7) / 8 * 8;
}

bool mmd_notes_are_valid(const mmd_notes *notes)
{
    const mmd_model *model = notes->model;
    for (mmd_notes_kind kind = 0; kind < MMD_NOTES_DROPPED_PAIRS; kind++) {
        size_t parts = texts[kind].of_joint ? model->joint_count : model->rigid_body_count;
        const mmd_notes_entry *note = &notes->notes[kind];
        if (note->count > parts || (note->count > 0 && note->index >= parts))
            return false;
    }
    return true;
}

size_t mmd_notes_count(const mmd_notes *notes)
{
    size_t count = 0;
    for (mmd_notes_kind kind = 0; kind < MMD_NOTES_COUNT; kind++)
        count += notes->notes[kind].count > 0;
    return count;
}

void mmd_notes_text(const mmd_notes *notes, size_t index, const char *owner, char *text,
                    size_t size)
{
    const mmd_model *model = notes->model;
    mmd_notes_kind kind = 0;
    while (notes->notes[kind].count == 0 || index-- > 0)
        kind++;
    const mmd_notes_entry *note = &notes->notes[kind];
    if (kind == MMD_NOTES_DROPPED_PAIRS) {
        snprintf(text, size, "%zu %s of close bodies, of too many, did not collide at frame %g",
                 note->count, mmd_numbers_noun(note->count, "pair", "pairs"), note->frame);
        return;
    }
    bool joint = texts[kind].of_joint;
    const mmd_text *name =
        joint ? &model->joints[note->index].name : &model->rigid_bodies[note->index].name;
    char predicate[100], others[48] = "";
    if (texts[kind].has_distance)
        snprintf(predicate, sizeof predicate, texts[kind].format, note->distance, note->frame);
    else
        snprintf(predicate, sizeof predicate, texts[kind].format, note->frame);
    if (note->count > 1)
        snprintf(others, sizeof others, " (and %zu more)", note->count - 1);
    snprintf(text, size, "%s%s %zu \"%.*s\" %s%s", owner, joint ? "joint" : "body", note->index,
             mmd_text_fit(*name, 60), name->data ? name->data : "", predicate, others);
}
