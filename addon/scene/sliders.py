# SPDX-License-Identifier: GPL-3.0-or-later
"""The sliders of the morphs of an imported model.

A morph that moves vertices has a shape key, which motions key and exporters support. Every other
supported morph (bone, UV, material, impulse, and groups of only these) has a custom property of the
armature object with its name in the file. Drivers use both in the same way; see
`import_model/morphs`.
"""

from typing import Any, NamedTuple

import bpy

from . import mmd_tools, renamed, scene_model, stored
from .names import MORPHS, Named, chosen, language_of

SLIDER = "slider"  # in an entry of the root's list of morphs: the name of its custom property
_MOST = 10.0  # as of Blender's shape keys
PANELS = {1: "EYEBROW", 2: "EYE", 3: "MOUTH", 4: "OTHER"}


class Slider(NamedTuple):
    owner: Any  # a shape key or the armature object
    path: str  # of the property, from the owner
    label: str
    name: str  # of the morph in its file, if known

    @property
    def value(self) -> float:
        return self.owner.path_resolve(self.path)

    def set(self, value: float) -> None:
        if self.path.startswith("["):
            self.owner[bpy.utils.unescape_identifier(self.path[2:-2])] = value
            self.owner.update_tag()
        else:
            setattr(self.owner, self.path, value)


def by_panel(model: scene_model.SceneModel) -> dict[str, list[Slider]]:
    """The sliders of each of MMD's panels, in the file's order."""
    found: dict[str, list[Slider]] = {panel: [] for panel in PANELS.values()}
    root = scene_model.ancestor_with(model.armature, mmd_tools.MORPHS)
    english = language_of(model.armature) == "ENGLISH"
    blocks = [obj.data.shape_keys.key_blocks for obj in model.meshes if obj.data.shape_keys]
    morphs = list(stored.groups(root, mmd_tools.MORPHS))
    shape_keys = renamed.keys([stored.text(morph, "key") for morph in morphs], model.meshes)
    for morph, key in zip(morphs, shape_keys, strict=True):
        name = stored.text(morph, SLIDER)
        record = Named(stored.text(morph, "name"), stored.text(morph, "name_english"))
        # A model that was split into several meshes has the key in each.
        sliders = [
            Slider(keys[key], "value", key, record.name)
            for keys in dict.fromkeys(blocks)
            if key and key in keys
        ]
        if name and name in model.armature:
            label = chosen(record, english, MORPHS)
            sliders.append(Slider(model.armature, path(name), label, record.name))
        found[PANELS.get(stored.number(morph, "panel"), "OTHER")] += sliders
    return found


def of_model(model: scene_model.SceneModel) -> list[Slider]:
    """All sliders of a model: of its file's morphs, and of other shape keys."""
    found = [slider for panel in by_panel(model).values() for slider in panel]
    known = {slider.owner.as_pointer() for slider in found}
    for block in dict.fromkeys(obj.data.shape_keys for obj in model.meshes):
        for key in block.key_blocks if block else ():
            if key.name not in mmd_tools.NOT_MORPHS and key.as_pointer() not in known:
                found.append(Slider(key, "value", key.name, key.name))
    return found


def path(name: str) -> str:
    """The data path of a custom property."""
    return f'["{bpy.utils.escape_identifier(name)}"]'


def widen(armature: bpy.types.Object, name: str) -> None:
    """Let motions move a custom property as far as they do; dragged, it stays from 0 to 1."""
    shown = armature.id_properties_ui(name)
    shown.update(min=-_MOST, max=_MOST, soft_min=0.0, soft_max=1.0)


def names(armature: bpy.types.Object) -> tuple[str, ...]:
    """The custom property of each morph of the file, "" for none; () if none were stored."""
    root = scene_model.ancestor_with(armature, mmd_tools.MORPHS)
    return tuple(stored.text(morph, SLIDER) for morph in stored.groups(root, mmd_tools.MORPHS))
