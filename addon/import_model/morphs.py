# SPDX-License-Identifier: GPL-3.0-or-later
"""Morphs that do not move vertices: sliders on the armature, and what they drive.

Bone morphs are Action constraints before all others, material and UV morphs are drivers of
materials and nodes; impulse morphs only act in Simulate. A group's slider drives all of its
children; if one of them moves vertices, the slider is the group's shape key. Flip morphs have none.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from bpy.types import ID, Action, Material, Object, PoseBone, bpy_struct
from mathutils import Matrix, Quaternion, Vector

from ..blender import actions, arrays, blender_versions, drivers
from ..blender.native import mmdskin
from ..blender.node_builder import GEOMETRY, Field, NodeBuilder
from ..scene import material_values, names, sliders
from . import materials
from .model_import import ModelImport

_LONGEST = 255  # characters of a driver expression
_STEPS = 10  # frames of the action per bone morph, with linear interpolation between rotations
_STRIDE = 2 * _STEPS
_CHANNELS = [("location", i) for i in range(3)] + [("rotation_quaternion", i) for i in range(4)]
_SWAP = Matrix(((1, 0, 0), (0, 0, 1), (0, 1, 0)))  # the file's axes in Blender
_SIZES = {
    "mmd_diffuse": 4,
    "mmd_specular": 3,
    "mmd_specular_power": 1,
    "mmd_ambient": 3,
    "mmd_edge_color": 4,
    "mmd_edge_size": 1,
}
# For each number in a morph's record, after the operation: the custom properties of a material that it
# multiplies or adds to, and its index in them.
_TARGETS = [((name, name), index) for name, size in _SIZES.items() for index in range(size)]
_TARGETS += [(pair, index) for pair in material_values.FACTORS.values() for index in range(4)]
# Kind of UV morph: UV maps and columns of the record; additional UVs have two maps.
_UV_KINDS = {"uv": (("UVMap", (0, 1)),)} | {
    f"uv{number}": ((f"UV{number}", (0, 1)), (f"_UV{number}", (2, 3))) for number in range(1, 5)
}
_ACTING = {"bone", "impulse", "material", *(_UV_KINDS if blender_versions.NODES_WRITE_UVS else ())}

_Moved = dict[int, tuple[Vector, Quaternion]]  # by bone: translation, rotation
_Change = tuple[int, bool, float]  # of a value: the morph, whether it adds, and what
_Changes = dict[tuple[str, int], list[_Change]]  # by property and index


def add(importing: ModelImport, rig: Object, obj: Object) -> None:
    """Create all of them."""
    morphs = importing.pmx.morphs
    for number, name in enumerate(names.morphs(morphs, rig.keys())):
        if number not in importing.key_names and _acts(morphs, number):
            importing.slider_names[number] = name
            rig[name] = 0.0
            sliders.widen(rig, name)
            rig.property_overridable_library_set(sliders.path(name), True)
    weights = _Weights(importing, rig, obj.data)
    _add_bone_morphs(importing, rig, weights)
    _add_material_morphs(importing, obj.data, weights)
    if blender_versions.NODES_WRITE_UVS:
        _add_uv_morphs(importing, obj, weights)
    elif any(morph.kind in _UV_KINDS for morph in morphs):
        importing.caution("UV morphs require Blender 3.5 or later")


def _acts(morphs: "tuple[mmdskin.Morph, ...]", number: int) -> bool:
    morph = morphs[number]
    if morph.kind == "group":
        return any(child >= 0 and morphs[child].kind in _ACTING for child in morph.indices)
    return morph.kind in _ACTING and len(morph.indices) > 0


class _Weights:
    """Drivers that follow the sliders of a morph and of the groups that contain it."""

    def __init__(self, importing: ModelImport, rig: Object, mesh: ID) -> None:
        """Drivers have the shape keys of the mesh by the mesh, see `drivers.keys_of`."""
        self._importing = importing
        self._sliders: dict[int, tuple[ID, str]] = {
            number: (rig, sliders.path(name)) for number, name in importing.slider_names.items()
        }
        for number, name in importing.key_names.items():
            self._sliders[number] = mesh, f"shape_keys.{actions.value_path(name)}"
        self._movers = {number: [(number, 1.0)] for number in self._sliders}
        for number, morph in enumerate(importing.pmx.morphs):
            if morph.kind == "group" and number in self._sliders:
                for child, ratio in zip(morph.indices, morph.values[:, 0], strict=True):
                    self._movers.setdefault(int(child), []).append((number, float(ratio)))

    def drive(
        self,
        owner: bpy_struct,
        path: str,
        morphs: list[int],
        formula: Callable[[list[str]], str] = "+".join,
        index: int = -1,
    ) -> None:
        """Drive a property by morphs, given by index: by the sum of their weights, or by the expression
        that `formula` makes of those of their weights."""
        variables: dict[int, str] = {}
        expression = formula([self._weight(number, variables) for number in morphs])
        if len(expression) <= _LONGEST:
            read = {name: self._sliders[slider] for slider, name in variables.items()}
            drivers.drive(owner, path, expression, index, **read)
        else:
            self._importing.caution(
                "{count} morphs affect one value, more than a driver can handle: {names}",
                count=len(morphs),
                names=", ".join(self._importing.pmx.morphs[number].name for number in morphs),
            )

    def _weight(self, number: int, variables: dict) -> str:
        terms = []
        for slider, ratio in self._movers[number]:
            name = variables.setdefault(slider, f"v{len(variables)}")
            terms.append(name if ratio == 1 else f"{ratio:.6g}*{name}")
        return "+".join(terms)


# Bone morphs: an Action constraint, before all others, for each bone that a morph moves. Translations are
# added and the morph's rotation is applied after the bone's own, as in docs/mmd-behavior.md#bone-morphs. All
# morphs share one action, one after the other.


def _add_bone_morphs(importing: ModelImport, rig: Object, weights: _Weights) -> None:
    acting = [
        (number, moved)
        for number, morph in enumerate(importing.pmx.morphs)
        if morph.kind == "bone" and (moved := _moved_bones(morph))
    ]
    if not acting or not rig.pose.bones:
        return
    action, slot, holder = actions.new_action(f"{rig.name}_morphs")
    keys: dict[str, list[list[float]]] = {}  # of each bone: frame, translation, rotation
    for place, (number, moved) in enumerate(acting):
        start = place * _STRIDE
        for bone_index, (translation, rotation) in moved.items():
            bone = rig.pose.bones[importing.bone_names[bone_index]]
            rest = bone.bone.matrix_local.to_3x3()
            shift = rest.transposed() @ translation.xzy * importing.scale
            turn = (rest.transposed() @ _SWAP @ rotation.to_matrix() @ _SWAP @ rest).to_quaternion()
            keys.setdefault(bone.name, []).extend(
                [start + step, *shift * (step / _STEPS), *Quaternion().slerp(turn, step / _STEPS)]
                for step in range(_STEPS + 1)
            )
            constraint = _constrain(bone, action, slot, number, start)
            weights.drive(constraint, "eval_time", [number])
    curves = actions.Curves(holder)
    for name, rows in keys.items():
        frames, *columns = np.array(rows).T
        paths = actions.bone_paths(name)
        for (channel, index), values in zip(_CHANNELS, columns, strict=True):
            curves.write(paths[channel], frames, values, index=index, group=name)


def _moved_bones(morph: "mmdskin.Morph") -> _Moved:
    """In the file's axes; several entries of a bone are combined."""
    found: _Moved = {}
    for index, (*shift, x, y, z, w) in zip(
        morph.indices.tolist(), morph.values.tolist(), strict=True
    ):
        if index >= 0:
            moved, turned = found.get(index, (Vector(), Quaternion()))
            found[index] = moved + Vector(shift), Quaternion((w, x, y, z)).normalized() @ turned
    return found


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


def _add_material_morphs(importing: ModelImport, mesh: Any, weights: _Weights) -> None:
    of_materials = _changes(importing.pmx)
    for material, changes in zip(mesh.materials, of_materials, strict=True):
        for multiply, add in material_values.FACTORS.values():
            if any(name in (multiply, add) for name, _ in changes):
                material[multiply], material[add] = [1.0] * 4, [0.0] * 4
        for (name, index), found in changes.items():
            _drive_value(material, name, index, found, weights)
        _show(material, changes)


def _changes(pmx: "mmdskin.Model") -> list[_Changes]:
    """All effective changes of each material."""
    found: list[_Changes] = [{} for _ in pmx.materials]
    for number, morph in enumerate(pmx.morphs):
        if morph.kind != "material":
            continue
        rows = zip(morph.indices.tolist(), morph.values.tolist(), strict=True)
        for index, (operation, *values) in rows:
            adds = operation != 0
            for value, (pair, place) in zip(values, _TARGETS, strict=True):
                if value != (0 if adds else 1):
                    for changes in found if index < 0 else [found[index]]:
                        mine = changes.setdefault((pair[adds], place), [])
                        mine.append((number, adds, value))
    return found


def _drive_value(
    material: Material, name: str, index: int, changes: list[_Change], weights: _Weights
) -> None:
    def formula(expressions: list[str]) -> str:
        pairs = list(zip(expressions, changes, strict=True))
        factors = [f"*(1+({w})*{v - 1:.6g})" for w, (_, adds, v) in pairs if not adds]
        summands = [f"+({w})*{v:.6g}" for w, (_, adds, v) in pairs if adds]
        return "".join([f"{value:.6g}", *factors, *summands])

    value = material[name]
    if hasattr(value, "__len__"):
        value = value[index]
    else:
        index = -1
    weights.drive(material, f'["{name}"]', [number for number, *_ in changes], formula, index)


def _show(material: Material, driven: Iterable[tuple[str, int]]) -> None:
    """Drive shader and viewport color by the custom properties."""
    colors = {index for name, index in driven if name in ("mmd_diffuse", "mmd_ambient")} - {3}
    if colors:
        socket, shown = materials.color_of(material)
        for c in colors:
            read = {
                "a": (material, f'["mmd_ambient"][{c}]'),
                "d": (material, f'["mmd_diffuse"][{c}]'),
            }
            light = f"min(max(a+d*{materials.DEFAULT_LIGHT:.6g},0),1)"
            drivers.drive(material, "diffuse_color", _linear(light), c, **read)
            part = f"{light}/{shown[c]:.6g}" if shown[c] else light
            drivers.drive(socket, "default_value", _linear(part), c, **read)
    if ("mmd_diffuse", 3) in driven:
        alpha, clamped = (material, '["mmd_diffuse"][3]'), "min(max(d,0),1)"
        drivers.drive(material, "diffuse_color", clamped, 3, d=alpha)
        drivers.drive(materials.alpha_of(material), "default_value", clamped, d=alpha)


def _linear(srgb: str) -> str:
    return f"({srgb})/12.92 if {srgb}<0.04045 else pow(({srgb}+0.055)/1.055,2.4)"


# UV morphs: geometry nodes that add the morphs' offsets, stored as vertex attributes, to UV maps. While all
# sliders are 0, the modifier is disabled: exporters omit shape keys if any modifier is enabled.


def _add_uv_morphs(importing: ModelImport, obj: Object, weights: _Weights) -> None:
    offsets = list(_uv_offsets(obj.data, importing.pmx))
    if not offsets:
        return
    builder = NodeBuilder(f"{obj.name} UV", "GeometryNodeTree")
    geometry = moved = builder.input("Geometry", GEOMETRY)
    values: dict[int, Field] = {}
    maps: dict[str, Field] = {}
    for number, layer, attribute in offsets:
        if number not in values:
            values[number] = builder.result("ShaderNodeValue", name=f"mmd_morph_{number}")
            weights.drive(values[number].socket, "default_value", [number])
        total = maps.get(layer) or builder.attribute(layer, "FLOAT_VECTOR")
        maps[layer] = total + builder.attribute(attribute, "FLOAT_VECTOR") * values[number]
    for layer, total in maps.items():
        inputs = {"Geometry": moved, "Name": layer, "Value": total}
        kind = "GeometryNodeStoreNamedAttribute"
        moved = builder.result(kind, inputs, data_type="FLOAT2", domain="CORNER")
    total = functools.reduce(operator.add, values.values())
    choices = {"Switch": total, "False": geometry, "True": moved}
    shown = builder.result("GeometryNodeSwitch", choices, input_type="GEOMETRY")
    builder.output("Geometry", GEOMETRY, shown)
    modifier = obj.modifiers.new(names.UV_MORPHS, "NODES")
    modifier.node_group, modifier.show_expanded = builder.arranged(), False
    for switch in ("show_viewport", "show_render"):
        weights.drive(modifier, switch, list(values), lambda on: f"({' or '.join(on)}) != 0")


def _uv_offsets(mesh: Any, pmx: "mmdskin.Model") -> Iterator[tuple[int, str, str]]:
    """Add an attribute with the offsets of each effective morph: morph, UV map, and its name."""
    for number, morph in enumerate(pmx.morphs):
        for layer, columns in _UV_KINDS.get(morph.kind, ()):
            offsets = np.zeros((len(pmx.positions), 3), np.float32)
            np.add.at(offsets[:, :2], morph.indices, morph.values[:, columns] * (1, -1))
            if layer in mesh.uv_layers and offsets.any():
                name = f"mmd_uv_{number}_{layer}"
                attribute = mesh.attributes.new(name, "FLOAT_VECTOR", "POINT")
                arrays.write(attribute.data, "vector", offsets)
                yield number, layer, name
