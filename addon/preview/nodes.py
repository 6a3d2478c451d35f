# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier of the preview: nodes that set each vertex to the position in an attribute.

Zero means "leave this vertex to the Armature modifier". If a second attribute has normals, other
nodes set them, unless the first normal is zero. The attributes are removed from the result.

Mesh caches use the same nodes for their normals: there, nodes of kind `READING` compute the second
attribute from positions.

`bypass` turns the Armature modifiers off, whose result the nodes replace.
"""

from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..blender import arrays, blender_versions, caches, node_builder
from ..blender.evaluated_bones import Evaluation
from ..blender.node_builder import GEOMETRY, Field, NodeBuilder
from ..pose import skinner
from ..scene import names, scene_model

ATTRIBUTE = names.POSITIONS
NORMALS = "mmdskin_normal"
# The kinds of node groups: without normals; with them, as they are; with such that turn with what
# later modifiers do, which takes time; and what takes normals from positions.
PLAIN, FREE, TURNING, READING = True, "FREE", "TANGENT_SPACE", "READING"
_NAME = "MMD Skin"  # of the modifier and its node group
_MARK = "mmdskin"  # ID property of each of our node groups: its kind

# Modes in which Blender shows or edits the result of the modifiers without the nodes.
_NEEDS_THEM = {"SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "TEXTURE_PAINT", "PARTICLE_EDIT"}
_SWITCHES = ("show_viewport", "show_render")

# By address of an evaluated object whose Armature modifiers are off: its switches as they were left. To
# find out again what they should be takes as long as to skin the mesh. If Blender copies the object again,
# those modifiers are on.
_left: caches.Cache[bytes] = caches.of_file()

_detached: dict[tuple[str, str], str | bool] = {}  # kinds, by names of object and modifier


def are_on(obj: bpy.types.Object) -> bool:
    """Whether a mesh object has the modifier with its nodes, shown in viewports or renders."""
    modifier = modifier_of(obj)
    return modifier is not None and (modifier.show_viewport or modifier.show_render)


def show(obj: bpy.types.Object, on: bool) -> None:
    """Show or hide the modifier of a mesh object, if it exists."""
    modifier = modifier_of(obj)
    if modifier is not None:
        modifier.show_viewport = modifier.show_render = on


def modifier_of(obj: bpy.types.Object) -> Any:
    """The modifier of a mesh object, None if it or its nodes are missing."""
    modifier = _modifier_of(obj)
    return modifier if modifier is not None and modifier.node_group is not None else None


def put_on(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Add the modifier after the Armature modifier, or restore its nodes."""
    modifier = _modifier_of(obj) or obj.modifiers.new(_NAME, "NODES")
    if modifier.node_group is None:
        set_kind(modifier, PLAIN)
    modifier.show_viewport = modifier.show_render = True
    modifier.show_in_editmode = False
    modifier.show_expanded = False
    last = scene_model.armature_modifiers(obj, armature)[-1]
    place = obj.modifiers.find(last.name) + 1
    blender_versions.move_modifier(obj, modifier, place)


def take_off(obj: bpy.types.Object) -> None:
    """Remove the modifier if it exists, and unused nodes."""
    modifier = _modifier_of(obj)
    if modifier is not None:
        obj.modifiers.remove(modifier)
    drop_unused()


def set_kind(modifier: Any, kind: str | bool) -> None:
    """Assign the nodes of a kind to a modifier."""
    rebuild_damaged()
    group = modifier.node_group
    if group is None or group[_MARK] != kind:
        modifier.node_group = _group_of(kind)
        drop_unused()


@persistent
def detach_all(*_: object) -> None:
    """Take the node groups from all modifiers, until `attach_all`.

    Undo keeps objects that do not differ between two steps, as they are now. If a script or a handler
    has made their node group since the last step, undo frees it, and Blender 4.5 and 5.2 crash.
    """
    _detached.clear()
    for obj in bpy.data.objects if _groups() else ():
        if obj.type != "MESH" or obj.library or obj.override_library:
            continue
        for modifier in obj.modifiers:
            group = modifier.node_group if modifier.type == "NODES" else None
            if group and _MARK in group and not group.library:
                _detached[obj.name, modifier.name] = group[_MARK]
                modifier.node_group = None


@persistent
def attach_all(*_: object) -> None:
    """Give the modifiers node groups of the same kinds, where undo has not done so."""
    for (name, modifier_name), kind in _detached.items():
        obj: bpy.types.Object | None = bpy.data.objects.get(name)
        modifier: Any = obj.modifiers.get(modifier_name) if obj else None
        if modifier is not None and modifier.type == "NODES" and modifier.node_group is None:
            modifier.node_group = _group_of(kind)
    _detached.clear()


def kind_with_normals(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> str:
    """The kind of nodes for normals that the modifiers after this one need."""
    later = list(obj.modifiers)[obj.modifiers.find(modifier.name) + 1 :]
    return TURNING if any(map(skinner.moves, later)) else FREE


def give_normals_right(obj: bpy.types.Object) -> bool:
    """Whether the modifier of a mesh object has the kind of nodes that later modifiers need."""
    modifier = modifier_of(obj)
    return modifier is None or modifier.node_group[_MARK] == kind_with_normals(obj, modifier)


@persistent
def rebuild_damaged(*_: object) -> None:
    """Rebuild node groups that an older Blender has saved: it drops nodes that it does not know."""
    if not blender_versions.HAS_FREE_NORMALS:
        return
    for group in _groups():
        if any(node.bl_idname == "NodeUndefined" for node in group.nodes):
            group.user_remap(_node_group(group[_MARK]))
            bpy.data.node_groups.remove(group)


def drop_unused() -> None:
    node_builder.drop_unused(bpy.data.node_groups, _MARK)


def _modifier_of(obj: bpy.types.Object) -> Any:
    for modifier in obj.modifiers:
        if modifier.type == "NODES":
            group = modifier.node_group
            ours = _MARK in group if group else modifier.name.startswith(_NAME)
            if ours and not (group and group[_MARK] == READING):
                return modifier
    return None


def _groups() -> list[bpy.types.NodeTree]:
    return node_builder.own(bpy.data.node_groups, _MARK)


def _group_of(kind: str | bool) -> bpy.types.NodeTree:
    return next((group for group in _groups() if group[_MARK] == kind), None) or _node_group(kind)


def _node_group(kind: str | bool) -> bpy.types.NodeTree:
    builder = NodeBuilder(_NAME if kind == PLAIN else f"{_NAME} Normals", "GeometryNodeTree")
    builder.group[_MARK] = kind
    build = _reading if kind == READING else _moving
    geometry = build(builder, builder.input("Geometry", GEOMETRY), kind)
    builder.output("Geometry", GEOMETRY, geometry)
    return builder.arranged()


def _moving(builder: NodeBuilder, geometry: Field, kind: str | bool) -> Field:
    """The geometry with positions from its attribute, and normals if there are any."""
    vector = builder.attribute(ATTRIBUTE, "FLOAT_VECTOR")
    inputs = {"Geometry": geometry, "Selection": vector, "Position": vector}
    moved = _removed(builder, builder.result("GeometryNodeSetPosition", inputs), ATTRIBUTE)
    if kind == PLAIN:
        return moved
    return _removed(builder, _with_normals(builder, moved, kind), NORMALS)


def _with_normals(builder: NodeBuilder, geometry: Field, kind: str | bool) -> Field:
    """The geometry with the normals in its attribute, unless the first is zero.

    A Blender without the node for normals ignores it, and reads zeros.
    """
    vector = builder.attribute(NORMALS, "FLOAT_VECTOR")
    # On corners, even if each vertex has only one: Alembic exports no others.
    given = builder.result(
        "GeometryNodeSetMeshNormal",
        {"Mesh": geometry, "Custom Normal": vector},
        mode=kind,
        domain="CORNER",
    )
    inputs = {"Geometry": given, "Value": vector}
    first = builder.result("GeometryNodeSampleIndex", inputs, data_type="FLOAT_VECTOR")
    inputs = {"Switch": first, "False": geometry, "True": given}
    return builder.result("GeometryNodeSwitch", inputs, input_type="GEOMETRY")


def _reading(builder: NodeBuilder, geometry: Field, kind: str | bool) -> Field:
    """The geometry with its positions, as unit vectors, in the attribute for normals."""
    normals = builder.result("GeometryNodeInputPosition").normalized()
    inputs = {"Geometry": geometry, "Name": NORMALS, "Value": normals}
    options = {"data_type": "FLOAT_VECTOR", "domain": "POINT"}
    return builder.result("GeometryNodeStoreNamedAttribute", inputs, **options)


def _removed(builder: NodeBuilder, geometry: Field, name: str) -> Field:
    """The geometry without an attribute."""
    return builder.result("GeometryNodeRemoveAttribute", {"Geometry": geometry, "Name": name})


# The Armature modifiers before it


def bypass(now: Evaluation) -> None:
    """Turn the Armature modifiers of an evaluated object off, in the current evaluation; UserError if
    others move vertices before them.

    They take most of a frame's time, and nobody sees their result if all vertices are set after them.
    Only the evaluated copy is written, by `foreach_set`, which tags nothing for an update. They stay on
    in the user's object and in the file.
    """
    obj, name = now.obj, _SWITCHES[not now.is_in_viewport]
    address, switches = obj.as_pointer(), arrays.read(obj.modifiers, name, dtype=bool)
    if _left.get(address) == switches.tobytes() and obj.mode not in _NEEDS_THEM:
        return
    _left.pop(address, None)
    skin = modifier_of(obj)
    skinner.check_modifiers(obj, now.armature, skin)
    undo_bypass(obj)
    if skin is None or not getattr(skin, name) or obj.mode in _NEEDS_THEM:
        return
    deforming = scene_model.armature_modifiers(obj, now.armature)
    shown = arrays.read(obj.modifiers, name, dtype=bool)
    wanted = shown & ~np.array([modifier in deforming for modifier in obj.modifiers])
    if not np.array_equal(wanted, shown):
        obj.modifiers.foreach_set(name, wanted)
        _left.put(address, wanted.tobytes())


def undo_bypass(obj: bpy.types.Object) -> None:
    """Restore the user's settings."""
    for name in _SWITCHES:
        wanted = arrays.read(obj.original.modifiers, name, dtype=bool)
        if not np.array_equal(wanted, arrays.read(obj.modifiers, name, dtype=bool)):
            obj.modifiers.foreach_set(name, wanted)
