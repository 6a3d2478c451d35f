# SPDX-License-Identifier: GPL-3.0-or-later
"""Data of the whole model, as custom properties of its root; no rigid body objects are created.

Also the display frames, as bone groups (up to 3.6) or bone collections (4.0).
"""

from typing import TYPE_CHECKING

from bpy.types import Object

from ..blender import blender_versions
from ..scene import mmd_tools, names, sliders
from .options import Options

if TYPE_CHECKING:
    import mmdskin


def describe(
    root: Object,
    pmx: "mmdskin.Model",
    key_names: dict[int, str],
    slider_names: dict[int, str],
    options: Options,
) -> None:
    """Store the model's data; the names are those of shape keys and properties by morph index."""
    root[mmd_tools.NAME], root["mmd_name_e"] = pmx.name, pmx.name_english
    root["mmd_comment_j"], root["mmd_comment_e"] = pmx.comment, pmx.comment_english
    root["mmd_version"] = pmx.version
    root[mmd_tools.SCALE] = options.scale
    root[names.LANGUAGE] = names.language(options.english)
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


def group_bones(
    armature: Object, frames: "tuple[mmdskin.DisplayFrame, ...]", bone_names: list[str]
) -> None:
    """Assign each bone to the first display frame that contains it."""
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


def _morph(morph: "mmdskin.Morph", key: str, slider: str) -> dict:
    fields = {**morph._asdict(), "key": key, sliders.SLIDER: slider}
    if morph.kind == "vertex" and key:
        # The shape key has the offsets.
        del fields["indices"], fields["values"]
    else:
        fields["indices"], fields["values"] = morph.indices.copy(), morph.values.ravel()
    return fields


def _frame(frame: "mmdskin.DisplayFrame") -> dict[str, bool | list[dict[str, int | str]] | str]:
    elements = [{"kind": kind, "index": index} for kind, index in frame.elements]
    return {**frame._asdict(), "elements": elements}
