# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model file says about a material, from our import's custom properties or mmd_tools'.

Numbers come with the data path that has them, so that drivers can follow it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from bpy.types import Material

from ..blender import blender_versions, drivers
from . import stored

DOUBLE_SIDED, GROUND_SHADOW, CASTS, RECEIVES, EDGED = 1, 2, 4, 8, 16  # flags in the file
OPAQUE = 0.98  # an alpha from which on a material without transparent texture counts as opaque
NO_SPHERE, MULTIPLY, ADD, SUB_TEXTURE = "none", "multiply", "add", "sub_texture"
# Custom properties of our import for what material morphs do to textures: four numbers each.
FACTORS = {
    "Base": ("mmd_texture_multiply", "mmd_texture_add"),
    "Sphere": ("mmd_sphere_texture_multiply", "mmd_sphere_texture_add"),
    "Toon": ("mmd_toon_multiply", "mmd_toon_add"),
}
_MMD_TOOLS = "mmd_material"  # the property group of mmd_tools
_MODES = {2: MULTIPLY, 3: ADD, 4: SUB_TEXTURE}  # as mmd_tools stores its items
# mmd_tools' names of its texture nodes.
BASE_NODE, SPHERE_NODE, TOON_NODE = "mmd_base_tex", "mmd_sphere_tex", "mmd_toon_tex"


class Number(NamedTuple):
    value: float
    path: str  # data path of the material, "" for none

    def is_driven(self, material: Material) -> bool:
        """Whether a driver moves it, as those of morphs do."""
        return any(
            self.path in (curve.data_path, f"{curve.data_path}[{curve.array_index}]")
            for curve in drivers.of(material)
        )


@dataclass
class MaterialValues:
    diffuse: list[Number]  # four
    ambient: list[Number]
    specular: list[Number]
    power: Number
    edge_color: list[Number]  # four
    edge_size: Number
    flags: int
    sphere_mode: str
    # Paths of the model file, if our import made the material; mmd_tools has nodes with images.
    texture: str = ""
    sphere_texture: str = ""
    toon: str | int = ""  # a path, or the number of a shared toon

    @property
    def casts_ground_shadow(self) -> bool:
        return bool(self.flags & GROUND_SHADOW) and self.diffuse[3].value > 0

    def can_have_edge(self, material: Material) -> bool:
        """Whether the material has an edge, or drivers may give it one."""
        numbers = (self.diffuse[3], self.edge_color[3], self.edge_size)
        return bool(self.flags & EDGED) and all(
            one.value > 0 or one.is_driven(material) for one in numbers
        )


class _Properties(NamedTuple):
    """What a material has of its file: the owner of the values, and the data path of one, "" for none."""

    owner: Any
    path: str  # to be filled in with a name

    def value(self, name: str, default: Any) -> Any:
        return stored.value(self.owner, name, default)

    def number(self, name: str, default: float) -> Number:
        return Number(self.value(name, default), self.path.format(name))

    def numbers(self, name: str, default: tuple[float, ...]) -> list[Number]:
        path = self.path.format(name)
        values = enumerate(stored.numbers(self.owner, name, default))
        return [Number(value, path and f"{path}[{i}]") for i, value in values]


def read(material: Material | None) -> MaterialValues | None:
    """The values of a material; None if it is not of an MMD model."""
    if material is None:
        return None
    if "mmd_diffuse" in material:
        return _imported(_Properties(material, '["{}"]'))
    group = blender_versions.stored(material, _MMD_TOOLS)
    if not hasattr(material, _MMD_TOOLS):
        return _of_mmd_tools(_Properties(group, "")) if group else None
    # A material that mmd_tools did not import has none of its nodes.
    tree = material.node_tree
    of_model = tree is not None and "mmd_shader" in tree.nodes
    return _of_mmd_tools(_Properties(group, f"{_MMD_TOOLS}.{{}}")) if of_model else None


def _imported(of: _Properties) -> MaterialValues:
    is_shared = of.value("mmd_shared_toon", False)
    return MaterialValues(
        diffuse=of.numbers("mmd_diffuse", (1.0, 1.0, 1.0, 1.0)),
        ambient=of.numbers("mmd_ambient", (0.0, 0.0, 0.0)),
        specular=of.numbers("mmd_specular", (0.0, 0.0, 0.0)),
        power=of.number("mmd_specular_power", 0.0),
        edge_color=of.numbers("mmd_edge_color", (0.0, 0.0, 0.0, 1.0)),
        edge_size=of.number("mmd_edge_size", 0.0),
        flags=stored.number(of.owner, "mmd_flags", 0),
        sphere_mode=of.value("mmd_sphere_mode", NO_SPHERE),
        texture=of.value("mmd_texture", ""),
        sphere_texture=of.value("mmd_sphere_texture", ""),
        toon=stored.number(of.owner, "mmd_toon") if is_shared else of.value("mmd_toon", ""),
    )


def _of_mmd_tools(of: _Properties) -> MaterialValues:
    """Its properties have values only where these are not the default."""
    flags = {  # and whether they are set by default
        "is_double_sided": (DOUBLE_SIDED, False),
        "enabled_drop_shadow": (GROUND_SHADOW, True),
        "enabled_self_shadow_map": (CASTS, True),
        "enabled_self_shadow": (RECEIVES, True),
        "enabled_toon_edge": (EDGED, False),
    }
    is_shared = of.value("is_shared_toon_texture", False)
    return MaterialValues(
        diffuse=[*of.numbers("diffuse_color", (0.8, 0.8, 0.8)), of.number("alpha", 1.0)],
        ambient=of.numbers("ambient_color", (0.4, 0.4, 0.4)),
        specular=of.numbers("specular_color", (0.625, 0.625, 0.625)),
        power=of.number("shininess", 50.0),
        edge_color=of.numbers("edge_color", (0.0, 0.0, 0.0, 1.0)),
        edge_size=of.number("edge_weight", 1.0),
        flags=sum(flag for name, (flag, default) in flags.items() if of.value(name, default)),
        sphere_mode=_MODES.get(of.value("sphere_texture_type", 0), NO_SPHERE),
        toon=of.value("shared_toon_texture", 0) if is_shared else of.value("toon_texture", ""),
    )
