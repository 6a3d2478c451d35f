# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of one import share: the file, the user's options, names, and what to warn of."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bpy.types import Material, PoseBone

from ..blender.native import mmdskin
from ..blender.translations import Reports
from ..scene import mmd_tools
from ..scene.textures import TextureFolder

Records = tuple["mmdskin.Bone", ...]


class Options(NamedTuple):
    scale: float = mmd_tools.USUAL_SCALE
    parts: frozenset = frozenset({"MESH", "ARMATURE", "MORPHS", "PHYSICS", "DISPLAY"})
    pack: bool = False
    constraints: bool = True
    english: bool = False  # for names of bones, shape keys and materials
    look: bool = True  # the MMD Look


@dataclass
class ModelImport(Reports):
    pmx: "mmdskin.Model"
    options: Options
    folder: TextureFolder
    bone_names: list[str]
    # By morph index: names of shape keys, and of custom properties of the armature.
    key_names: dict[int, str] = field(default_factory=dict)
    slider_names: dict[int, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

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
