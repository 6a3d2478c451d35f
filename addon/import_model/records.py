# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to the model as a whole, as custom properties of its root: no simulation is built.

Also the display frames, which Blender knows as groups (up to 3.6) or collections (4.0) of bones.
"""

from .. import blender_versions, mmd_tools, rename, sliders


def describe(root, pmx, key_names, slider_names, options):
    """Describe the model; the names are of shape keys and properties by the number of their morph."""
    root[mmd_tools.NAME], root["mmd_name_e"] = pmx.name, pmx.name_english
    root["mmd_comment_j"], root["mmd_comment_e"] = pmx.comment, pmx.comment_english
    root["mmd_version"] = pmx.version
    root["mmd_scale"] = options.scale
    root[rename.LANGUAGE] = rename.language(options.english)
    if "MORPHS" in options.parts:
        root[mmd_tools.MORPHS] = [
            _morph(morph, key_names.get(number, ""), slider_names.get(number, ""))
            for number, morph in enumerate(pmx.morphs)
        ]
    if "DISPLAY" in options.parts:
        root["mmd_display_frames"] = [_frame(frame) for frame in pmx.display_frames]
    if "PHYSICS" in options.parts:
        root["mmd_rigid_bodies"] = [body._asdict() for body in pmx.rigid_bodies]
        root["mmd_joints"] = [joint._asdict() for joint in pmx.joints]


def group_bones(armature, frames, bone_names):
    """Each bone joins the first display frame that shows it."""
    shown = set()
    for frame in frames:
        numbers = [i for kind, i in frame.elements if kind == "bone" and i >= 0 and i not in shown]
        if not numbers:
            continue
        shown.update(numbers)
        chosen = [bone_names[number] for number in numbers]
        collection = blender_versions.group_bones(armature, frame.name, chosen)
        if collection is not None:
            mmd_tools.keep_in_step(collection)


def _morph(morph, key, slider):
    fields = {**morph._asdict(), "key": key, sliders.SLIDER: slider}
    if morph.kind == "vertex" and key:
        # The offsets are the shape key.
        del fields["indices"], fields["values"]
    else:
        fields["indices"], fields["values"] = morph.indices.copy(), morph.values.ravel()
    return fields


def _frame(frame):
    elements = [{"kind": kind, "index": index} for kind, index in frame.elements]
    return {**frame._asdict(), "elements": elements}
