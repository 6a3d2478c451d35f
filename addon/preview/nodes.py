# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier of the preview: four nodes that move each vertex to where an attribute says.

Zero means "leave this vertex to the armature modifier"; the attribute does not get out.
"""

import bpy

from .. import blender_versions, scene_model

ATTRIBUTE = "mmdskin"
_NAME = "MMD Skin"  # of the modifier and its node group
_MARK = "mmdskin"  # ID property of that node group


def are_on(obj):
    """Whether a mesh object has the modifier, with its nodes, and shows it anywhere."""
    modifier = modifier_of(obj)
    return modifier is not None and (modifier.show_viewport or modifier.show_render)


def show(obj, on):
    """Show the modifier of a mesh object, or hide it, if it is there."""
    modifier = modifier_of(obj)
    if modifier is not None:
        modifier.show_viewport = modifier.show_render = on


def modifier_of(obj):
    """The modifier of a mesh object, None where it or its nodes are gone."""
    modifier = _modifier_of(obj)
    return modifier if modifier is not None and modifier.node_group is not None else None


def put_on(obj, armature):
    """Put the modifier behind the armature's, or its nodes back into it."""
    modifier = _modifier_of(obj) or obj.modifiers.new(_NAME, "NODES")
    modifier.node_group = next(_groups(), None) or _node_group()
    modifier.show_viewport = modifier.show_render = True
    modifier.show_in_editmode = False
    modifier.show_expanded = False
    last = scene_model.armature_modifiers(obj, armature)[-1]
    place = obj.modifiers.find(last.name) + 1
    blender_versions.move_modifier(obj, modifier, place)


def take_off(obj):
    """Take the modifier away if it is there, and the nodes when nothing uses them any more."""
    modifier = _modifier_of(obj)
    if modifier is not None:
        obj.modifiers.remove(modifier)
    for group in [group for group in _groups() if not group.users]:
        bpy.data.node_groups.remove(group)


def _modifier_of(obj):
    for modifier in obj.modifiers:
        if modifier.type == "NODES":
            group = modifier.node_group
            if _MARK in group if group else modifier.name.startswith(_NAME):
                return modifier
    return None


def _groups():
    return (group for group in bpy.data.node_groups if _MARK in group and not group.library)


def _node_group():
    group = bpy.data.node_groups.new(_NAME, "GeometryNodeTree")
    group[_MARK] = True
    blender_versions.add_geometry_sockets(group)
    kinds = (
        "NodeGroupInput",
        "GeometryNodeSetPosition",
        "GeometryNodeRemoveAttribute",
        "NodeGroupOutput",
        "GeometryNodeInputNamedAttribute",
    )
    nodes = [group.nodes.new(kind) for kind in kinds]
    for column, node in enumerate(nodes):
        node.location = (200 * (column % 4), -200 * (column // 4))
    start, move, remove, end, named = nodes
    named.data_type = "FLOAT_VECTOR"
    named.inputs["Name"].default_value = remove.inputs["Name"].default_value = ATTRIBUTE
    vector = blender_versions.vector_output(named)
    link = group.links.new
    link(start.outputs[0], move.inputs["Geometry"])
    link(vector, move.inputs["Selection"])
    link(vector, move.inputs["Position"])
    link(move.outputs[0], remove.inputs[0])
    link(remove.outputs[0], end.inputs[0])
    return group
