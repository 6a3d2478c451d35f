# SPDX-License-Identifier: GPL-3.0-or-later
"""Material morphs: drivers of diffuse, ambient and edge as the file has them, and of what is shown.

The numbers of the file are the custom properties of `materials`; by docs/mmd-behaviour.md
#material-morphs a morph multiplies or adds to each. The shader's colour and alpha follow these.
"""

from .. import materials
from .weights import drive

# Custom property: the first of its columns in a morph's record.
_COLUMNS = {"mmd_diffuse": 1, "mmd_ambient": 9, "mmd_edge_color": 12, "mmd_edge_size": 16}


def add(mesh, pmx, weights):
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
        _show(material, driven)


def _changes(pmx, count):
    """{(material, column): [(morph, whether it adds, value)]} of what changes anything."""
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


def _drive(material, name, index, value, changes, weights):
    def formula(expressions):
        pairs = list(zip(expressions, changes, strict=True))
        factors = [f"*(1+({w})*{v - 1:.6g})" for w, (_, adds, v) in pairs if not adds]
        summands = [f"+({w})*{v:.6g}" for w, (_, adds, v) in pairs if adds]
        return "".join([f"{value:.6g}", *factors, *summands])

    weights.drive(material, f'["{name}"]', [number for number, *_ in changes], formula, index)


def _show(material, driven):
    """Let shader and viewport follow the driven custom properties."""
    colours = [c for c in range(3) if {("mmd_diffuse", c), ("mmd_ambient", c)} & driven]
    if colours:
        socket, shown = materials.color_of(material)
        for c in colours:
            places = {
                "a": _place(material, "mmd_ambient", c),
                "d": _place(material, "mmd_diffuse", c),
            }
            light = f"min(max(a+d*{materials.DEFAULT_LIGHT:.6g},0),1)"
            drive(material, "diffuse_color", c, places, _linear(light))
            part = f"{light}/{shown[c]:.6g}" if shown[c] else light
            drive(socket, "default_value", c, places, _linear(part))
    if ("mmd_diffuse", 3) in driven:
        places = {"d": _place(material, "mmd_diffuse", 3)}
        drive(material, "diffuse_color", 3, places, "min(max(d,0),1)")
        drive(materials.alpha_of(material), "default_value", -1, places, "min(max(d,0),1)")


def _place(material, name, index):
    return "MATERIAL", material, f'["{name}"][{index}]'


def _linear(srgb):
    return f"({srgb})/12.92 if {srgb}<0.04045 else pow(({srgb}+0.055)/1.055,2.4)"
