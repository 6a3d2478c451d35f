# SPDX-License-Identifier: GPL-3.0-or-later
"""UV morphs: geometry nodes that add the morphs' offsets, stored as vertex attributes, to UV maps.

While all sliders are 0, the modifier is disabled: exporters omit shape keys if any modifier is
enabled.
"""

import functools
from typing import Any

import numpy as np
from bpy.types import NodeSocket, Object

from ...blender import arrays
from ...blender.node_builder import GEOMETRY, NodeBuilder, Value
from ...scene.names import UV_MORPHS
from . import weights

# Kind of morph: UV maps and columns of the record; additional UVs have two maps.
KINDS = {"uv": (("UVMap", (0, 1)),)} | {
    f"uv{number}": ((f"UV{number}", (0, 1)), (f"_UV{number}", (2, 3))) for number in range(1, 5)
}


def add(obj: Object, pmx: Any, weights: weights.Weights) -> None:
    layers = _layers(obj.data, pmx)
    if not layers:
        return
    builder = NodeBuilder(f"{obj.name} UV", "GeometryNodeTree")
    geometry = moved = builder.input("Geometry", GEOMETRY)
    morphs = dict.fromkeys(number for parts in layers.values() for number in parts)
    values = {number: _value(builder, number, weights) for number in morphs}
    for layer, parts in layers.items():
        moved = _moved(builder, moved, layer, {parts[n]: values[n] for n in parts})
    total = functools.reduce(functools.partial(builder.number, "ADD"), values.values())
    choices = {"Switch": total, "False": geometry, "True": moved}
    shown = builder.result("GeometryNodeSwitch", choices, input_type="GEOMETRY")
    builder.output("Geometry", GEOMETRY, shown)
    modifier = obj.modifiers.new(UV_MORPHS, "NODES")
    modifier.node_group, modifier.show_expanded = builder.arranged(), False
    for switch in ("show_viewport", "show_render"):
        weights.drive(modifier, switch, list(morphs), lambda on: f"({' or '.join(on)}) != 0")


def _layers(mesh: Any, pmx: Any) -> Any:
    """{UV map: {morph: attribute with its offsets}} of effective morphs."""
    found: dict = {}
    for number, morph in enumerate(pmx.morphs):
        for layer, columns in KINDS.get(morph.kind, ()):
            offsets = np.zeros((len(pmx.positions), 3), np.float32)
            np.add.at(offsets[:, :2], morph.indices, morph.values[:, columns] * (1, -1))
            if layer in mesh.uv_layers and offsets.any():
                name = f"mmd_uv_{number}_{layer}"
                arrays.write(
                    mesh.attributes.new(name, "FLOAT_VECTOR", "POINT").data, "vector", offsets
                )
                found.setdefault(layer, {})[number] = name
    return found


def _value(builder: NodeBuilder, number: int, weights: weights.Weights) -> NodeSocket:
    """The output of a node that is driven by a morph's sliders."""
    value = builder.result("ShaderNodeValue", name=f"mmd_morph_{number}")
    weights.drive(value, "default_value", [number], lambda expressions: expressions[0])
    return value


def _moved(
    builder: NodeBuilder, geometry: Value, layer: str, parts: dict[str, Value]
) -> NodeSocket:
    """The geometry with a UV map plus the weighted attributes in `parts`."""
    total = builder.attribute(layer, "FLOAT_VECTOR")
    for name, weight in parts.items():
        offset = builder.vector("SCALE", builder.attribute(name, "FLOAT_VECTOR"), weight)
        total = builder.vector("ADD", total, offset)
    inputs = {"Geometry": geometry, "Name": layer, "Value": total}
    kind = "GeometryNodeStoreNamedAttribute"
    return builder.result(kind, inputs, data_type="FLOAT2", domain="CORNER")
