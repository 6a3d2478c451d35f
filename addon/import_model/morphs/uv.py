# SPDX-License-Identifier: GPL-3.0-or-later
"""UV morphs: geometry nodes that add the morphs' offsets, stored as vertex attributes, to UV maps.

While all sliders are 0, the modifier is disabled: exporters omit shape keys if any modifier is
enabled.
"""

from typing import Any

import bpy
import numpy as np

from ...blender import blender_versions
from ...scene.names import UV_MORPHS
from ..mesh import put
from . import weights

# Kind of morph: UV maps and columns of the record; additional UVs have two maps.
KINDS = {"uv": (("UVMap", (0, 1)),)} | {
    f"uv{number}": ((f"UV{number}", (0, 1)), (f"_UV{number}", (2, 3))) for number in range(1, 5)
}


def add(obj: bpy.types.Object, pmx: Any, weights: weights.Weights) -> None:
    layers = _layers(obj.data, pmx)
    if not layers:
        return
    group = bpy.data.node_groups.new(f"{obj.name} UV", "GeometryNodeTree")
    blender_versions.add_geometry_sockets(group)
    morphs = dict.fromkeys(number for parts in layers.values() for number in parts)
    values = {number: _value(group, number, weights) for number in morphs}
    start, end = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    moved = start.outputs[0]
    for layer, parts in layers.items():
        moved = _moved(group, moved, layer, {parts[n]: values[n] for n in parts})
    switch = group.nodes.new("GeometryNodeSwitch")
    switch.input_type = "GEOMETRY"
    off, on = [socket for socket in switch.inputs if socket.enabled and socket.type == "GEOMETRY"]
    condition = next(s for s in switch.inputs if s.enabled and s.type == "BOOLEAN")
    group.links.new(start.outputs[0], off)
    group.links.new(moved, on)
    group.links.new(_sum(group, list(values.values())), condition)
    result = next(s for s in switch.outputs if s.enabled and s.type == "GEOMETRY")
    group.links.new(result, end.inputs[0])
    for place, node in enumerate(group.nodes):
        node.location = (180 * (place % 8), -200 * (place // 8))
    modifier = obj.modifiers.new(UV_MORPHS, "NODES")
    modifier.node_group, modifier.show_expanded = group, False
    for shown in ("show_viewport", "show_render"):
        weights.drive(modifier, shown, list(morphs), lambda on: f"({' or '.join(on)}) != 0")


def _layers(mesh: Any, pmx: Any) -> Any:
    """{UV map: {morph: attribute with its offsets}} of effective morphs."""
    found: dict = {}
    for number, morph in enumerate(pmx.morphs):
        for layer, columns in KINDS.get(morph.kind, ()):
            offsets = np.zeros((len(pmx.positions), 3), np.float32)
            np.add.at(offsets[:, :2], morph.indices, morph.values[:, columns] * (1, -1))
            if layer in mesh.uv_layers and offsets.any():
                name = f"mmd_uv_{number}_{layer}"
                put(mesh.attributes.new(name, "FLOAT_VECTOR", "POINT").data, "vector", offsets)
                found.setdefault(layer, {})[number] = name
    return found


def _value(group: Any, number: Any, weights: Any) -> Any:
    """The output of a node that is driven by a morph's sliders."""
    node = group.nodes.new("ShaderNodeValue")
    node.name = f"mmd_morph_{number}"
    weights.drive(node.outputs[0], "default_value", [number], lambda expressions: expressions[0])
    return node.outputs[0]


def _moved(group: Any, geometry: Any, layer: Any, parts: Any) -> Any:
    """The geometry with a UV map plus the weighted attributes in `parts`."""
    total = _named(group, layer)
    for name, weight in parts.items():
        scaled = group.nodes.new("ShaderNodeVectorMath")
        scaled.operation = "SCALE"
        group.links.new(_named(group, name), scaled.inputs[0])
        group.links.new(weight, scaled.inputs["Scale"])
        added = group.nodes.new("ShaderNodeVectorMath")
        group.links.new(total, added.inputs[0])
        group.links.new(scaled.outputs[0], added.inputs[1])
        total = added.outputs[0]
    store = group.nodes.new("GeometryNodeStoreNamedAttribute")
    store.data_type, store.domain = "FLOAT2", "CORNER"
    store.inputs["Name"].default_value = layer
    value = next(s for s in store.inputs if s.enabled and s.type == "VECTOR")
    group.links.new(geometry, store.inputs["Geometry"])
    group.links.new(total, value)
    return store.outputs[0]


def _named(group: Any, name: Any) -> Any:
    node = group.nodes.new("GeometryNodeInputNamedAttribute")
    node.data_type = "FLOAT_VECTOR"
    node.inputs["Name"].default_value = name
    return blender_versions.vector_output(node)


def _sum(group: Any, sockets: Any) -> Any:
    total = sockets[0]
    for socket in sockets[1:]:
        node = group.nodes.new("ShaderNodeMath")
        group.links.new(total, node.inputs[0])
        group.links.new(socket, node.inputs[1])
        total = node.outputs[0]
    return total
