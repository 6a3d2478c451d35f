/* SPDX-License-Identifier: MIT */
#include "core/physics/notes.h"

#include <stdio.h>

static void note(mmd_notes *notes, mmd_note_kind kind, size_t place, mmd_note found)
{
    mmd_note *known = &notes->notes[kind];
    if (notes->seen[place] & 1u << kind)
        return;
    notes->seen[place] |= (uint8_t)(1u << kind);
    found.count = known->count + 1;
    if (known->count == 0)
        *known = found;
    known->count = found.count;
}

void mmd_notes_body(mmd_notes *notes, mmd_note_kind kind, size_t body, double frame)
{
    note(notes, kind, body, (mmd_note){.index = body, .frame = frame});
}

void mmd_notes_joint(mmd_notes *notes, mmd_note_kind kind, size_t joint, double frame,
                     double amount)
{
    note(notes, kind, notes->model->rigid_body_count + joint,
         (mmd_note){.index = joint, .frame = frame, .amount = amount});
}

bool mmd_notes_init(mmd_arena *arena, const mmd_model *model, mmd_notes *notes)
{
    *notes = (mmd_notes){.model = model};
    notes->seen = mmd_arena_alloc(arena, model->rigid_body_count + model->joint_count, 1);
    if (!notes->seen)
        return false;
    for (size_t i = 0; i < model->rigid_body_count; i++)
        if (model->rigid_bodies[i].mode != MMD_FOLLOWS_BONE && model->rigid_bodies[i].mass == 0)
            mmd_notes_body(notes, MMD_NOTE_MASS, i, 0);
    for (size_t i = 0; i < model->joint_count; i++) {
        const mmd_joint *joint = &model->joints[i];
        if (joint->body_a < 0 || joint->body_b < 0 || joint->body_a == joint->body_b)
            mmd_notes_joint(notes, MMD_NOTE_NOTHING, i, 0, 0);
        else if (joint->kind > MMD_JOINT_6DOF)
            mmd_notes_joint(notes, MMD_NOTE_KIND, i, 0, 0);
    }
    return true;
}

static bool of_joint(mmd_note_kind kind)
{
    return kind == MMD_NOTE_KIND || kind == MMD_NOTE_NOTHING || kind == MMD_NOTE_HELD ||
           kind == MMD_NOTE_STRAIN;
}

static void write_what(mmd_note_kind kind, const mmd_note *known, char *text, size_t size)
{
    switch (kind) {
    case MMD_NOTE_KIND:
        snprintf(text, size, "is solved by its limits, as 6dof");
        break;
    case MMD_NOTE_NOTHING:
        snprintf(text, size, "does not join two bodies, and does nothing");
        break;
    case MMD_NOTE_MASS:
        snprintf(text, size, "has no mass, so that nothing moves it");
        break;
    case MMD_NOTE_FAR:
        snprintf(text, size, "is carried beyond 1e6 units at frame %g, and stays behind",
                 known->frame);
        break;
    case MMD_NOTE_LOST:
        snprintf(text, size, "left the numbers at frame %g, and began anew at its bone",
                 known->frame);
        break;
    case MMD_NOTE_HELD:
        snprintf(text, size, "is held at %g units beyond its limits at frame %g", known->amount,
                 known->frame);
        break;
    case MMD_NOTE_STRAIN:
        snprintf(text, size, "stands %.1f units beyond its limits at frame %g", known->amount,
                 known->frame);
        break;
    default:
        snprintf(text, size, "began anew at frame %g, where the model went too far at once",
                 known->frame);
    }
}

bool mmd_notes_text(const mmd_notes *notes, size_t index, char *text, size_t size)
{
    const mmd_model *model = notes->model;
    mmd_note_kind kind = 0;
    while (kind < MMD_NOTE_COUNT && (notes->notes[kind].count == 0 || index-- > 0))
        kind++;
    if (kind == MMD_NOTE_COUNT)
        return false;
    const mmd_note *known = &notes->notes[kind];
    bool joint = of_joint(kind);
    const mmd_text *name =
        joint ? &model->joints[known->index].name : &model->rigid_bodies[known->index].name;
    char what[100], others[48] = "";
    write_what(kind, known, what, sizeof what);
    if (known->count > 1)
        snprintf(others, sizeof others, " (and %zu more)", known->count - 1);
    snprintf(text, size, "%s %zu \"%.60s\" %s%s", joint ? "joint" : "body", known->index,
             name->data ? name->data : "", what, others);
    return true;
}
