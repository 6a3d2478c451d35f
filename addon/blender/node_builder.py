# SPDX-License-Identifier: GPL-3.0-or-later
"""A node group under construction: formulas of fields, in shaders and in geometry nodes.

Where a method takes a value, it may be a field, whose link it makes, or a constant.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import bpy
import numpy as np

FLOAT, VECTOR, COLOR = "NodeSocketFloat", "NodeSocketVector", "NodeSocketColor"
INTEGER = "NodeSocketInt"
SHADER, GEOMETRY, OBJECT = "NodeSocketShader", "NodeSocketGeometry", "NodeSocketObject"
_COLUMNS = 12  # of nodes, as they are placed
_STEEP = 1e9  # turns the sign of a difference into 0 or 1

Value = Any  # a Field, a number, a tuple of three numbers, or what else an input may have
Inputs = Mapping[Any, Value]


def _math(operation: str) -> "Callable[..., Field]":
    def result(self: "Field", *others: Value) -> "Field":
        return self.builder.math(operation, self, *others)

    return result


class Field:
    """What a socket gives, a number or vector. Each operation with other values makes a node."""

    def __init__(self, builder: "NodeBuilder", socket: Any) -> None:
        self.builder, self.socket = builder, socket

    __add__, __sub__, __truediv__ = _math("ADD"), _math("SUBTRACT"), _math("DIVIDE")
    __gt__, __lt__ = _math("GREATER_THAN"), _math("LESS_THAN")  # 1 or 0
    dot, normalized = _math("DOT_PRODUCT"), _math("NORMALIZE")

    def __rsub__(self, other: Value) -> "Field":
        return self.builder.math("SUBTRACT", other, self)

    def __mul__(self, other: Value) -> "Field":
        if _is_vector(self) == _is_vector(other):
            return _Product(self.builder, self, other)
        scaled, factor = (self, other) if _is_vector(self) else (other, self)
        return self.builder.math("SCALE", scaled, factor)

    def clamped(self) -> "Field":
        """Each component between 0 and 1."""
        least, most = ((0, 0, 0), (1, 1, 1)) if _is_vector(self) else (0, 1)
        return self.builder.math("MINIMUM", self.builder.math("MAXIMUM", self, least), most)


class _Product(Field):
    """Made where it is needed: its sum with another value is one node."""

    def __init__(self, builder: "NodeBuilder", *factors: Value) -> None:
        self.builder, self._factors = builder, factors

    @functools.cached_property
    def socket(self) -> Any:  # type: ignore[override]
        return self.builder.math("MULTIPLY", *self._factors).socket

    def __add__(self, other: Value) -> Field:
        return self.builder.math("MULTIPLY_ADD", *self._factors, other)


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

    def input(self, name: str, kind: str, default: Value = None) -> Field:
        """A new input of the group."""
        socket = self._socket(name, kind, "INPUT")
        if default is not None:
            socket.default_value = default
        return Field(self, self._start.outputs[name])

    def output(self, name: str, kind: str, value: Value) -> None:
        self._socket(name, kind, "OUTPUT")
        self.put(self._end.inputs[name], value)

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

    def outputs(
        self, kind: str, inputs: Inputs | None = None, **properties: Any
    ) -> dict[str, Field]:
        """The outputs of a new node that are in use, by name, and by identifier: 5.2 has other names."""
        used = [one for one in self.node(kind, inputs, **properties).outputs if one.enabled]
        return {key: Field(self, one) for one in used for key in (one.name, one.identifier)}

    def result(self, kind: str, inputs: Inputs | None = None, **properties: Any) -> Field:
        """The first output of a new node."""
        return next(iter(self.outputs(kind, inputs, **properties).values()))

    def put(self, socket: bpy.types.NodeSocket, value: Value) -> None:
        """Let a node's input have a value."""
        if isinstance(value, Field):
            self.group.links.new(value.socket, socket)
        else:
            socket.default_value = value  # type: ignore[attr-defined]

    def math(self, operation: str, *values: Value) -> Field:
        """The result of a Math node, or of a Vector Math node where a value is a vector."""
        kind = "ShaderNodeVectorMath" if any(map(_is_vector, values)) else "ShaderNodeMath"
        node = self.node(kind, operation=operation)
        sockets = [socket for socket in node.inputs if socket.enabled]
        for socket, value in zip(sockets, values, strict=True):
            self.put(socket, value)
        return Field(self, enabled(node.outputs))

    def combined(self, x: Value, y: Value, z: Value) -> Field:
        return self.result("ShaderNodeCombineXYZ", {0: x, 1: y, 2: z})

    def mixed(self, a: Value, b: Value, factor: Value) -> Field:
        """a + (b - a) * factor."""
        return self.math("SUBTRACT", b, a) * factor + a

    def chosen(self, vector: Field, limit: float, below: Field, above: Field) -> Field:
        """Each component from `above` where that of the vector exceeds the limit."""
        step = ((vector - (limit,) * 3) * _STEEP).clamped()
        return step * (above - below) + below

    def attribute(self, name: str, kind: str = "FLOAT") -> Field:
        """A named attribute of a geometry."""
        inputs = {"Name": name}
        return self.result("GeometryNodeInputNamedAttribute", inputs, data_type=kind)


def _is_vector(value: Value) -> bool:
    if isinstance(value, Field):
        return value.socket.type in ("VECTOR", "RGBA")
    return isinstance(value, tuple)


def own(blocks: Iterable[Any], mark: str) -> list[Any]:
    """Node groups or materials of this file that have a mark of ours, a custom property."""
    return [one for one in blocks if mark in one and not one.library]


def drop_unused(blocks: Iterable[Any], mark: str) -> None:
    """Remove those of `own` that nothing uses."""
    bpy.data.batch_remove([one for one in own(blocks, mark) if not one.users])


def enabled(sockets: Sequence[bpy.types.NodeSocket], name: str = "") -> bpy.types.NodeSocket:
    """The socket of a name that is in use: older versions have one for each type."""
    return next(one for one in sockets if one.enabled and name in ("", one.name))
