# SPDX-License-Identifier: GPL-3.0-or-later
"""A node group under construction: arithmetic on sockets, in shaders and in geometry nodes.

Where a method takes a value, it may be a socket, whose link it makes, or a constant.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import bpy
import numpy as np

FLOAT, VECTOR, COLOR = "NodeSocketFloat", "NodeSocketVector", "NodeSocketColor"
INTEGER = "NodeSocketInt"
SHADER, GEOMETRY, OBJECT = "NodeSocketShader", "NodeSocketGeometry", "NodeSocketObject"
_COLUMNS = 12  # of nodes, as they are placed
_SCALARS = ("DOT_PRODUCT", "LENGTH")  # operations on vectors that give a number
_STEEP = 1e9  # turns the sign of a difference into 0 or 1

Value = Any  # a socket, a number, a sequence of three numbers, or what else an input may have
Inputs = Mapping[Any, Value]


class NodeBuilder:
    def __init__(self, name: str, kind: str) -> None:
        """Start a new group of a kind, "ShaderNodeTree" or "GeometryNodeTree"."""
        self.group: Any = bpy.data.node_groups.new(name, kind)  # type: ignore[arg-type]
        if hasattr(self.group, "is_modifier"):  # 4.0
            self.group.is_modifier = True
        self._start, self._end = self.node("NodeGroupInput"), self.node("NodeGroupOutput")

    def arranged(self) -> Any:
        """The group, its nodes side by side. To be called last: Blender updates the group whenever a
        node is moved, but not where all are moved at once."""
        numbers = np.arange(1, len(self.group.nodes) + 1)
        locations = np.stack([180 * (numbers % _COLUMNS), -200 * (numbers // _COLUMNS)], 1)
        self.group.nodes.foreach_set("location", locations.ravel().tolist())
        return self.group

    def input(self, name: str, kind: str, default: Value = None) -> bpy.types.NodeSocket:
        """A new input of the group, as a socket to link from."""
        socket = self._socket(name, kind, "INPUT")
        if default is not None:
            socket.default_value = default
        return self._start.outputs[name]

    def output(self, name: str, kind: str, value: bpy.types.NodeSocket) -> None:
        self._socket(name, kind, "OUTPUT")
        self.group.links.new(value, self._end.inputs[name])

    def _socket(self, name: str, kind: str, direction: str) -> Any:
        if hasattr(self.group, "interface"):  # 4.0
            return self.group.interface.new_socket(name, in_out=direction, socket_type=kind)
        sockets = self.group.inputs if direction == "INPUT" else self.group.outputs
        return sockets.new(kind, name)

    def node(self, kind: str, inputs: Inputs | None = None, **properties: Any) -> Any:
        """A new node with values for some of its inputs, by name or place."""
        node = self.group.nodes.new(kind)
        for name, value in properties.items():
            setattr(node, name, value)
        for place, value in (inputs or {}).items():
            is_number = isinstance(place, int)
            self.put(node.inputs[place] if is_number else enabled(node.inputs, place), value)
        return node

    def result(self, kind: str, inputs: Inputs | None = None, **properties: Any) -> Any:
        """The first output of a new node."""
        return enabled(self.node(kind, inputs, **properties).outputs)

    def put(self, socket: bpy.types.NodeSocket, value: Value) -> None:
        """Let a node's input have a value."""
        if isinstance(value, bpy.types.NodeSocket):
            self.group.links.new(value, socket)
        else:
            socket.default_value = value  # type: ignore[attr-defined]

    def vector(self, operation: str, *values: Value) -> Any:
        """The result of a Vector Math node; a number for a dot product or a length."""
        node = self.node("ShaderNodeVectorMath", operation=operation)
        sockets = [socket for socket in node.inputs if socket.enabled]
        for socket, value in zip(sockets, values, strict=False):
            self.put(socket, value)
        return node.outputs["Value" if operation in _SCALARS else "Vector"]

    def number(self, operation: str, *values: Value, clamp: bool = False) -> Any:
        """The result of a Math node."""
        inputs = dict(enumerate(values))
        return self.result("ShaderNodeMath", inputs, operation=operation, use_clamp=clamp)

    def combined(self, x: Value, y: Value, z: Value) -> bpy.types.NodeSocket:
        return self.result("ShaderNodeCombineXYZ", {0: x, 1: y, 2: z})

    def clamped(self, vector: Value) -> bpy.types.NodeSocket:
        """Each component between 0 and 1."""
        return self.vector("MINIMUM", self.vector("MAXIMUM", vector, (0, 0, 0)), (1, 1, 1))

    def mixed(self, a: Value, b: Value, factor: Value) -> bpy.types.NodeSocket:
        """The vector a + (b - a) * factor."""
        return self.vector("ADD", a, self.vector("SCALE", self.vector("SUBTRACT", b, a), factor))

    def chosen(self, vector: Value, limit: float, below: Value, above: Value) -> Any:
        """Each component from `above` where that of the vector exceeds the limit."""
        excess = self.vector("SUBTRACT", vector, (limit,) * 3)
        step = self.clamped(self.vector("SCALE", excess, _STEEP))
        return self.vector("MULTIPLY_ADD", step, self.vector("SUBTRACT", above, below), below)

    def attribute(self, name: str, kind: str = "FLOAT") -> bpy.types.NodeSocket:
        """A named attribute of a geometry."""
        node = self.node("GeometryNodeInputNamedAttribute", {"Name": name}, data_type=kind)
        return enabled(node.outputs, "Attribute")


def own(blocks: Iterable[Any], mark: str) -> list[Any]:
    """Node groups or materials of this file that have a mark of ours, a custom property."""
    return [one for one in blocks if mark in one and not one.library]


def drop_unused(blocks: Iterable[Any], mark: str) -> None:
    """Remove those of `own` that nothing uses."""
    bpy.data.batch_remove([one for one in own(blocks, mark) if not one.users])


def enabled(sockets: Sequence[bpy.types.NodeSocket], name: str = "") -> bpy.types.NodeSocket:
    """The socket of a name that is in use: older versions have one for each type."""
    return next(one for one in sockets if one.enabled and name in ("", one.name))
