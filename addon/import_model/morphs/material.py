# SPDX-License-Identifier: GPL-3.0-or-later
"""Material morphs: drivers of the file's values of a material, and of the shader.

The values are the custom properties from `materials`; a morph multiplies or adds to each
(docs/mmd-behavior.md#material-morphs). What it does to textures has properties of its own, which
only materials with such morphs have. The shader's color and alpha, and the MMD Look, follow them.
"""

from typing import TYPE_CHECKING

from bpy.types import ID, Material

from ...blender import drivers
from ...scene import material_values
from .. import materials
from .weights import Weights

if TYPE_CHECKING:
    import mmdskin

# Custom property: its first column in a morph's record.
_COLUMNS = {
    "mmd_diffuse": 1,
    "mmd_specular": 5,
    "mmd_specular_power": 8,
    "mmd_ambient": 9,
    "mmd_edge_color": 12,
    "mmd_edge_size": 16,
}
_FACTOR_COLUMNS = {"Base": 17, "Sphere": 21, "Toon": 25}  # four each


def add(mesh: ID, pmx: "mmdskin.Model", weights: Weights) -> None:
    changes = _changes(pmx, len(mesh.materials))
    for number, material in enumerate(mesh.materials):
        driven = set()
        for name, first in _COLUMNS.items():
            values = material[name]
            values = list(values) if hasattr(values, "__len__") else [values]
            for index, value in enumerate(values):
                found = changes.get((number, first + index))
                if found:
                    _drive(material, name, index if len(values) > 1 else -1, value, found, weights)
                    driven.add((name, index))
        for texture, first in _FACTOR_COLUMNS.items():
            _drive_factors(
                material, texture, [changes.get((number, first + i)) for i in range(4)], weights
            )
        _show(material, driven)


def _changes(
    pmx: "mmdskin.Model", count: int
) -> dict[tuple[int, int], list[tuple[int, bool, float]]]:
    """{(material, column): [(morph, whether it adds, value)]} of all effective changes."""
    found: dict = {}
    for number, morph in enumerate(pmx.morphs):
        if morph.kind != "material":
            continue
        for index, values in zip(morph.indices.tolist(), morph.values.tolist(), strict=True):
            adds = values[0] != 0
            for column, value in enumerate(values):
                if column and value != (0 if adds else 1):
                    for target in range(count) if index < 0 else (index,):
                        found.setdefault((target, column), []).append((number, adds, value))
    return found


def _drive_factors(material: Material, texture: str, changes: list, weights: Weights) -> None:
    """Add and drive the properties for what morphs do to a texture: a product and a sum."""
    if not any(changes):
        return
    for name, neutral, adding in zip(
        material_values.FACTORS[texture], (1.0, 0.0), (False, True), strict=True
    ):
        material[name] = [neutral] * 4
        for index, found in enumerate(changes):
            mine = [change for change in found or () if change[1] == adding]
            if mine:
                _drive(material, name, index, neutral, mine, weights)


def _drive(
    material: Material,
    name: str,
    index: int,
    value: float,
    changes: list[tuple[int, bool, float]],
    weights: Weights,
) -> None:
    def formula(expressions: list[str]) -> str:
        pairs = list(zip(expressions, changes, strict=True))
        factors = [f"*(1+({w})*{v - 1:.6g})" for w, (_, adds, v) in pairs if not adds]
        summands = [f"+({w})*{v:.6g}" for w, (_, adds, v) in pairs if adds]
        return "".join([f"{value:.6g}", *factors, *summands])

    weights.drive(material, f'["{name}"]', [number for number, *_ in changes], formula, index)


def _show(material: Material, driven: set[tuple[str, int]]) -> None:
    """Drive shader and viewport color by the custom properties."""
    colors = [c for c in range(3) if {("mmd_diffuse", c), ("mmd_ambient", c)} & driven]
    if colors:
        socket, shown = materials.color_of(material)
        for c in colors:
            read = {
                "a": _property(material, "mmd_ambient", c),
                "d": _property(material, "mmd_diffuse", c),
            }
            light = f"min(max(a+d*{materials.DEFAULT_LIGHT:.6g},0),1)"
            drivers.drive(material, "diffuse_color", _linear(light), c, **read)
            part = f"{light}/{shown[c]:.6g}" if shown[c] else light
            drivers.drive(socket, "default_value", _linear(part), c, **read)
    if ("mmd_diffuse", 3) in driven:
        read = {"d": _property(material, "mmd_diffuse", 3)}
        drivers.drive(material, "diffuse_color", "min(max(d,0),1)", 3, **read)
        drivers.drive(materials.alpha_of(material), "default_value", "min(max(d,0),1)", -1, **read)


def _property(material: Material, name: str, index: int) -> tuple[ID, str]:
    return material, f'["{name}"][{index}]'


def _linear(srgb: str) -> str:
    return f"({srgb})/12.92 if {srgb}<0.04045 else pow(({srgb}+0.055)/1.055,2.4)"
