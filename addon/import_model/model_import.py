# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of one import share: the file, the user's options, names, and what to warn of."""

import os
from typing import Any

from bpy.types import Material, PoseBone

from ..blender.native import mmdskin
from ..blender.translations import Reports
from ..scene import names, scene_model
from ..scene.textures import TextureFolder

Records = tuple["mmdskin.Bone", ...]
_NEEDS = {"PHYSICS": {"ARMATURE"}, "DISPLAY": {"ARMATURE"}, "MORPHS": {"MESH", "ARMATURE"}}


class ModelImport(Reports):
    """`options` is the operator. The model is there when it is finished."""

    model: scene_model.SceneModel

    def __init__(self, options: Any, path: str, pmx: "mmdskin.Model") -> None:
        self.options, self.path, self.pmx = options, path, pmx
        self.folder = TextureFolder(os.path.dirname(path), options.pack_textures)
        self.scale: float = options.scale
        self.english = options.names == "ENGLISH"  # names of bones, shape keys and materials
        self.parts = options.types.union(*(_NEEDS.get(part, set()) for part in options.types))
        self.bone_names = names.bones(pmx.bones, self.english)
        # By morph index: names of shape keys, and of custom properties of the armature.
        self.key_names: dict[int, str] = {}
        self.slider_names: dict[int, str] = {}
        self.warnings: list[str] = []

    def report(self, kind: set[Any], text: str) -> None:
        self.warnings.append(text)


def group(record: Any) -> dict[str, Any]:
    """The fields of a record of the module, and of records in it, as a custom property can have them."""
    return {name: _member(value) for name, value in record._asdict().items() if value is not None}


def _member(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return group(value)
    is_list = isinstance(value, tuple) and value and hasattr(value[0], "_asdict")
    return [group(one) for one in value] if is_list else value


def describe(owner: PoseBone | Material, fields: dict[str, Any]) -> None:
    """Store the fields of a record as custom properties."""
    fields["name_j"], fields["name_e"] = fields.pop("name"), fields.pop("name_english")
    for name, value in fields.items():
        owner[f"mmd_{name}"] = value
