# SPDX-License-Identifier: GPL-3.0-or-later
"""Morphs that do not move vertices: sliders on the armature, and what they drive.

Bone morphs are Action constraints before all others, material and UV morphs are drivers of
materials and nodes; impulse morphs only act in Simulate. A group's slider drives all of its
children; if one of them moves vertices, the slider is the group's shape key. Flip morphs have none.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bpy.types import ID, Action, Material, NodeSocket, Object, PoseBone, bpy_struct
from mathutils import Matrix, Quaternion, Vector

from ..blender import actions, arrays, blender_versions, drivers
from ..blender.native import mmdskin
from ..blender.node_builder import GEOMETRY, NodeBuilder, Value
from ..blender.translations import tr
from ..scene import material_values, names, sliders
from . import materials

_LONGEST = 255  # characters of a driver expression
_STEPS = 10  # frames of the action per bone morph, with linear interpolation between rotations
_STRIDE = 2 * _STEPS
_SWAP = Matrix(((1, 0, 0), (0, 0, 1), (0, 1, 0)))  # the file's axes in Blender
# Custom property of a material: its first column in a morph's record.
_COLUMNS = {
    "mmd_diffuse": 1,
    "mmd_specular": 5,
    "mmd_specular_power": 8,
    "mmd_ambient": 9,
    "mmd_edge_color": 12,
    "mmd_edge_size": 16,
}
_FACTOR_COLUMNS = {"Base": 17, "Sphere": 21, "Toon": 25}  # four each
# Kind of UV morph: UV maps and columns of the record; additional UVs have two maps.
_UV_KINDS = {"uv": (("UVMap", (0, 1)),)} | {
    f"uv{number}": ((f"UV{number}", (0, 1)), (f"_UV{number}", (2, 3))) for number in range(1, 5)
}
_ACTING = {"bone", "impulse", "material", *(_UV_KINDS if blender_versions.NODES_WRITE_UVS else ())}

_Moved = dict[int, tuple[tuple[float, ...], Quaternion]]  # by bone: translation, rotation
_Change = tuple[int, bool, float]  # of a value: the morph, whether it adds, and what


def add(
    rig: Object,
    obj: Object,
    pmx: "mmdskin.Model",
    key_names: dict[int, str],
    bone_names: Sequence[str],
    scale: float,
    warnings: list[str],
) -> dict[int, str]:
    """Create all of them; returns the names of the custom properties by morph index.

    `key_names` are the shape keys, by morph index.
    """
    made = {
        number: name
        for number, name in enumerate(names.morphs(pmx.morphs, rig.keys()))
        if number not in key_names and _acts(pmx.morphs, number)
    }
    for name in made.values():
        rig[name] = 0.0
        sliders.widen(rig, name)
        rig.property_overridable_library_set(sliders.path(name), True)
    weights = _Weights(rig, obj.data, pmx.morphs, made, key_names, warnings)
    _add_bone_morphs(rig, pmx, bone_names, weights, scale)
    _add_material_morphs(obj.data, pmx, weights)
    if blender_versions.NODES_WRITE_UVS:
        _add_uv_morphs(obj, pmx, weights)
    elif any(morph.kind in _UV_KINDS for morph in pmx.morphs):
        warnings.append(tr("UV morphs require Blender 3.5 or later"))
    return made


def _acts(morphs: "tuple[mmdskin.Morph, ...]", number: int) -> bool:
    morph = morphs[number]
    if morph.kind == "group":
        return any(child >= 0 and morphs[child].kind in _ACTING for child in morph.indices)
    return morph.kind in _ACTING and len(morph.indices) > 0


class _Weights:
    """Drivers that follow the sliders of a morph and of the groups that contain it."""

    def __init__(
        self,
        rig: Object,
        mesh: ID,
        morphs: "tuple[mmdskin.Morph, ...]",
        properties: dict[int, str],
        key_names: dict[int, str],
        warnings: list[str],
    ) -> None:
        """`properties` and `key_names` are names of sliders by morph index. Drivers have the shape keys
        of the mesh by the mesh, see `drivers.add_keys`."""
        self._warnings, self._morphs = warnings, morphs
        self._sliders: dict[int, tuple[ID, str]] = {
            number: (rig, sliders.path(name)) for number, name in properties.items()
        }
        for number, name in key_names.items():
            self._sliders[number] = mesh, f"shape_keys.{actions.value_path(name)}"
        self._movers = {number: [(number, 1.0)] for number in self._sliders}
        for number, morph in enumerate(morphs):
            if morph.kind == "group" and number in self._sliders:
                for child, ratio in zip(morph.indices, morph.values[:, 0], strict=True):
                    self._movers.setdefault(int(child), []).append((number, float(ratio)))

    def drive(
        self, owner: bpy_struct, path: str, morphs: list[int], formula: Callable, index: int = -1
    ) -> None:
        """Drive a property by morphs, given by index.

        `formula` turns expressions of their weights into the driver's expression.
        """
        variables: dict[int, str] = {}
        expression = formula([self._weight(number, variables) for number in morphs])
        if len(expression) <= _LONGEST:
            read = {name: self._sliders[slider] for slider, name in variables.items()}
            drivers.drive(owner, path, expression, index, **read)
        else:
            text = tr(
                "{count} morphs affect one value, more than a driver can handle: {names}",
                count=len(morphs),
                names=", ".join(self._morphs[number].name for number in morphs),
            )
            self._warnings.append(text)

    def drive_by_one(self, owner: bpy_struct, path: str, morph: int) -> None:
        """Give a property the weight of a morph."""
        self.drive(owner, path, [morph], lambda expressions: expressions[0])

    def _weight(self, number: int, variables: dict) -> str:
        terms = []
        for slider, ratio in self._movers[number]:
            name = variables.setdefault(slider, f"v{len(variables)}")
            terms.append(name if ratio == 1 else f"{ratio:.6g}*{name}")
        return "+".join(terms)


# Bone morphs: an Action constraint, before all others, for each bone that a morph moves. Translations are
# added and the morph's rotation is applied after the bone's own, as in docs/mmd-behavior.md#bone-morphs. All
# morphs share one action, one after the other.


def _add_bone_morphs(
    rig: Object, pmx: "mmdskin.Model", bone_names: Sequence[str], weights: _Weights, scale: float
) -> None:
    acting = [
        (number, moved)
        for number, morph in enumerate(pmx.morphs)
        if morph.kind == "bone" and (moved := _moved_bones(morph, len(bone_names)))
    ]
    if not acting or not rig.pose.bones:
        return
    action, slot, holder = actions.new_action(f"{rig.name}_morphs")
    keys: dict[tuple[str, int, str], list] = {}
    for place, (number, moved) in enumerate(acting):
        for bone_index, (translation, rotation) in moved.items():
            bone = rig.pose.bones[bone_names[bone_index]]
            rest = bone.bone.matrix_local.to_3x3()
            shift = rest.transposed() @ Vector(translation).xzy * scale
            turn = rest.transposed() @ _SWAP @ rotation.to_matrix() @ _SWAP @ rest
            _key(keys, bone.name, place * _STRIDE, shift, turn.to_quaternion())
            constraint = _constrain(bone, action, slot, number, place * _STRIDE)
            weights.drive_by_one(constraint, "eval_time", number)
    curves = actions.Curves(holder)
    for (path, index, name), points in keys.items():
        frames, values = np.array(points).T
        curves.write(path, frames, values, index=index, group=name)


def _moved_bones(morph: "mmdskin.Morph", count: int) -> _Moved:
    """In the file's axes; several entries of a bone are combined."""
    found: _Moved = {}
    for index, values in zip(morph.indices.tolist(), morph.values.tolist(), strict=True):
        x, y, z, w = values[3:]
        if 0 <= index < count:
            before, turned = found.get(index, ((0.0, 0.0, 0.0), Quaternion()))
            moved = tuple(a + b for a, b in zip(before, values[:3], strict=True))
            found[index] = moved, Quaternion((w, x, y, z)).normalized() @ turned
    return found


def _key(
    keys: dict[tuple[str, int, str], list], name: str, start: int, moved: Vector, turn: Quaternion
) -> None:
    """Add a bone's motion from a frame on: {(path, index, bone): [(frame, value)]}."""
    paths = actions.bone_paths(name)
    for step in range(_STEPS + 1):
        share = step / _STEPS
        shifted: Any = moved * share
        rotation: Any = Quaternion().slerp(turn, share)
        for channel, values in (("location", shifted), ("rotation_quaternion", rotation)):
            for index, value in enumerate(values):
                points = keys.setdefault((paths[channel], index, name), [])
                points.append((start + step, value))


def _constrain(bone: PoseBone, action: Action, slot: Any, number: int, start: int) -> Any:
    constraint = bone.constraints.new("ACTION")
    constraint.name = f"{names.BONE_MORPH}_{number}"
    constraint.action = action
    if slot is not None:
        constraint.action_slot = slot
    constraint.owner_space, constraint.mix_mode = "LOCAL", "BEFORE_SPLIT"
    constraint.frame_start, constraint.frame_end = start, start + _STEPS
    constraint.use_eval_time, constraint.show_expanded = True, False
    # After the previous morphs and before all other constraints, which then use the moved bone.
    is_other = [not one.name.startswith(names.BONE_MORPH) for one in bone.constraints]
    if any(is_other):
        bone.constraints.move(len(is_other) - 1, is_other.index(True))
    return constraint


# Material morphs: drivers of the file's values of a material, and of the shader. The values are the custom
# properties from `materials`; a morph multiplies or adds to each (docs/mmd-behavior.md#material-morphs). What
# it does to textures has properties of its own, which only materials with such morphs have. The shader's color
# and alpha, and the MMD Look, follow them.


def _add_material_morphs(mesh: ID, pmx: "mmdskin.Model", weights: _Weights) -> None:
    changes = _changes(pmx, len(mesh.materials))
    for number, material in enumerate(mesh.materials):
        driven = set()
        for name, first in _COLUMNS.items():
            values = material[name]
            values = list(values) if hasattr(values, "__len__") else [values]
            for index, value in enumerate(values):
                found = changes.get((number, first + index))
                if found:
                    place = index if len(values) > 1 else -1
                    _drive_value(material, name, place, value, found, weights)
                    driven.add((name, index))
        for texture, first in _FACTOR_COLUMNS.items():
            of_texture = [changes.get((number, first + i), []) for i in range(4)]
            _drive_factors(material, texture, of_texture, weights)
        _show(material, driven)


def _changes(pmx: "mmdskin.Model", count: int) -> dict[tuple[int, int], list[_Change]]:
    """All effective changes, by material and column."""
    found: dict[tuple[int, int], list[_Change]] = {}
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


def _drive_factors(
    material: Material, texture: str, changes: list[list[_Change]], weights: _Weights
) -> None:
    """Add and drive the properties for what morphs do to a texture: a product and a sum."""
    if not any(changes):
        return
    for adding, name in enumerate(material_values.FACTORS[texture]):
        neutral = 0.0 if adding else 1.0
        material[name] = [neutral] * 4
        for index, found in enumerate(changes):
            mine = [change for change in found if change[1] == adding]
            if mine:
                _drive_value(material, name, index, neutral, mine, weights)


def _drive_value(
    material: Material,
    name: str,
    index: int,
    value: float,
    changes: list[_Change],
    weights: _Weights,
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
            ambient, diffuse = (
                (material, f'["{name}"][{c}]') for name in ("mmd_ambient", "mmd_diffuse")
            )
            read = {"a": ambient, "d": diffuse}
            light = f"min(max(a+d*{materials.DEFAULT_LIGHT:.6g},0),1)"
            drivers.drive(material, "diffuse_color", _linear(light), c, **read)
            part = f"{light}/{shown[c]:.6g}" if shown[c] else light
            drivers.drive(socket, "default_value", _linear(part), c, **read)

    if ("mmd_diffuse", 3) in driven:
        alpha = material, '["mmd_diffuse"][3]'
        for owner, path, index in (
            (material, "diffuse_color", 3),
            (materials.alpha_of(material), "default_value", -1),
        ):
            drivers.drive(owner, path, "min(max(d,0),1)", index, d=alpha)


def _linear(srgb: str) -> str:
    return f"({srgb})/12.92 if {srgb}<0.04045 else pow(({srgb}+0.055)/1.055,2.4)"


# UV morphs: geometry nodes that add the morphs' offsets, stored as vertex attributes, to UV maps. While all
# sliders are 0, the modifier is disabled: exporters omit shape keys if any modifier is enabled.


def _add_uv_morphs(obj: Object, pmx: "mmdskin.Model", weights: _Weights) -> None:
    layers = _uv_offsets(obj.data, pmx)
    if not layers:
        return
    builder = NodeBuilder(f"{obj.name} UV", "GeometryNodeTree")
    geometry = moved = builder.input("Geometry", GEOMETRY)
    morphs = dict.fromkeys(number for parts in layers.values() for number in parts)
    values = {number: _value(builder, number, weights) for number in morphs}
    for layer, parts in layers.items():
        moved = _moved_uvs(builder, moved, layer, {parts[n]: values[n] for n in parts})
    total = functools.reduce(functools.partial(builder.number, "ADD"), values.values())
    choices = {"Switch": total, "False": geometry, "True": moved}
    shown = builder.result("GeometryNodeSwitch", choices, input_type="GEOMETRY")
    builder.output("Geometry", GEOMETRY, shown)
    modifier = obj.modifiers.new(names.UV_MORPHS, "NODES")
    modifier.node_group, modifier.show_expanded = builder.arranged(), False
    for switch in ("show_viewport", "show_render"):
        weights.drive(modifier, switch, list(morphs), lambda on: f"({' or '.join(on)}) != 0")


def _uv_offsets(mesh: Any, pmx: "mmdskin.Model") -> dict[str, dict[int, str]]:
    """{UV map: {morph: attribute with its offsets}} of effective morphs."""
    found: dict[str, dict[int, str]] = {}
    for number, morph in enumerate(pmx.morphs):
        for layer, columns in _UV_KINDS.get(morph.kind, ()):
            offsets = np.zeros((len(pmx.positions), 3), np.float32)
            np.add.at(offsets[:, :2], morph.indices, morph.values[:, columns] * (1, -1))
            if layer in mesh.uv_layers and offsets.any():
                name = f"mmd_uv_{number}_{layer}"
                attribute = mesh.attributes.new(name, "FLOAT_VECTOR", "POINT")
                arrays.write(attribute.data, "vector", offsets)
                found.setdefault(layer, {})[number] = name
    return found


def _value(builder: NodeBuilder, number: int, weights: _Weights) -> NodeSocket:
    """The output of a node that is driven by a morph's sliders."""
    value = builder.result("ShaderNodeValue", name=f"mmd_morph_{number}")
    weights.drive_by_one(value, "default_value", number)
    return value


def _moved_uvs(
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
