# SPDX-License-Identifier: GPL-3.0-or-later
"""Where each morph of an imported model has its slider.

A morph that moves vertices has its shape key, which motions key and exporters know. Every other
morph that acts in Blender (bone, UV, material, impulse, and groups of these alone) has a custom
property of the armature object under its name in the file. Drivers take both alike; see
`import_model/morphs`.
"""

from typing import Any, NamedTuple

import bpy
import numpy as np

from . import mmd_tools, rename, scene_model

SLIDER = "slider"  # of an entry of the root's list of morphs: the name of its custom property
PANELS = {1: "EYEBROW", 2: "EYE", 3: "MOUTH", 4: "OTHER"}


class Slider(NamedTuple):
    owner: Any  # a shape key or the armature object
    path: str  # of the property, from the owner
    label: str


def of(model: scene_model.SceneModel) -> dict[str, list[Slider]]:
    """The sliders of each of MMD's panels, in the file's order."""
    found: dict[str, list[Slider]] = {panel: [] for panel in PANELS.values()}
    root = scene_model.bearer(model.armature, mmd_tools.MORPHS)
    english = rename.language_of(model.armature) == "ENGLISH"
    blocks = [obj.data.shape_keys.key_blocks for obj in model.meshes if obj.data.shape_keys]
    for morph in root[mmd_tools.MORPHS] if root is not None else ():
        key, name = morph["key"], morph.get(SLIDER, "")
        # A model that was cut into several meshes has the key in each.
        sliders = [
            Slider(keys[key], "value", key) for keys in dict.fromkeys(blocks) if key and key in keys
        ]
        if name and name in model.armature:
            label = (english and morph["name_english"].strip()) or morph["name"]
            sliders.append(Slider(model.armature, path(name), label))
        found[PANELS.get(morph["panel"], "OTHER")] += sliders
    return found


def path(name: str) -> str:
    """The data path of a custom property."""
    return f'["{bpy.utils.escape_identifier(name)}"]'


def names(armature: bpy.types.Object) -> tuple[str, ...]:
    """The custom property of each morph of the file, "" for none; () where none were noted."""
    root = scene_model.bearer(armature, mmd_tools.MORPHS)
    return tuple(morph.get(SLIDER, "") for morph in root[mmd_tools.MORPHS]) if root else ()


def values(armature: bpy.types.Object, properties: tuple[str, ...]) -> np.ndarray:
    """(M,) float32 of custom properties of an evaluated armature object, 0 where there is none."""
    found = [armature.get(name, 0.0) if name else 0.0 for name in properties]
    return np.array(found, np.float32)
