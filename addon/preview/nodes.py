# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier of the preview: nodes that move each vertex to where an attribute says.

Zero means "leave this vertex to the armature modifier". Where a second attribute has normals, other
nodes give them to the mesh, unless the first is zero. The attributes do not get out.
"""

import bpy

from .. import blender_versions, scene_model

ATTRIBUTE = "mmdskin"
NORMALS = "mmdskin_normal"
DOMAINS = ("POINT", "CORNER")  # of normals
_NAME = "MMD Skin"  # of the modifier and its node group
_MARK = "mmdskin"  # ID property of that node group: the domain of the normals, or True without


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
    if modifier.node_group is None:
        set_normals(modifier, None)
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
    _drop_unused()


def set_normals(modifier, domain):
    """Let the modifier give the mesh normals of that domain, or none."""
    mend()
    mark, group = domain or True, modifier.node_group
    if group is None or group[_MARK] != mark:
        group = next((group for group in _groups() if group[_MARK] == mark), None)
        modifier.node_group = group or _node_group(mark)
        _drop_unused()


def mend():
    """Make groups anew that an older Blender has saved: it does not keep nodes that it lacks."""
    if not blender_versions.HAS_FREE_NORMALS:
        return
    for group in list(_groups()):
        if any(node.bl_idname == "NodeUndefined" for node in group.nodes):
            group.user_remap(_node_group(group[_MARK]))
            bpy.data.node_groups.remove(group)


def _drop_unused():
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


def _node_group(mark):
    name = f"{_NAME} Normals" if mark in DOMAINS else _NAME
    group = bpy.data.node_groups.new(name, "GeometryNodeTree")
    group[_MARK] = mark
    blender_versions.add_geometry_sockets(group)
    start, move, end = _add(group, "NodeGroupInput", "GeometryNodeSetPosition", "NodeGroupOutput")
    vector = _named(group, ATTRIBUTE)
    link = group.links.new
    link(start.outputs[0], move.inputs["Geometry"])
    link(vector, move.inputs["Selection"])
    link(vector, move.inputs["Position"])
    geometry = _removed(group, move.outputs[0], ATTRIBUTE)
    if mark in DOMAINS:
        geometry = _removed(group, _with_normals(group, geometry, mark), NORMALS)
    link(geometry, end.inputs[0])
    for column, node in enumerate(group.nodes):
        node.location = (200 * (column % 4), -250 * (column // 4))
    return group


def _with_normals(group, geometry, domain):
    """The geometry with the normals that its attribute has, if the first of them is not zero.

    A Blender that does not know the node which gives them makes nothing of it, with zeros.
    """
    give, first, choose = _add(
        group, "GeometryNodeSetMeshNormal", "GeometryNodeSampleIndex", "GeometryNodeSwitch"
    )
    give.mode, give.domain = "FREE", domain
    first.data_type, first.domain = "FLOAT_VECTOR", domain
    choose.input_type = "GEOMETRY"
    vector = _named(group, NORMALS)
    link = group.links.new
    link(geometry, give.inputs["Mesh"])
    link(vector, give.inputs["Custom Normal"])
    link(give.outputs[0], first.inputs["Geometry"])
    link(vector, first.inputs["Value"])
    link(first.outputs[0], choose.inputs["Switch"])
    link(geometry, choose.inputs["False"])
    link(give.outputs[0], choose.inputs["True"])
    return choose.outputs[0]


def _named(group, name):
    """The vectors of an attribute."""
    (node,) = _add(group, "GeometryNodeInputNamedAttribute")
    node.data_type, node.inputs["Name"].default_value = "FLOAT_VECTOR", name
    return blender_versions.vector_output(node)


def _removed(group, geometry, name):
    """The geometry without an attribute."""
    (node,) = _add(group, "GeometryNodeRemoveAttribute")
    node.inputs["Name"].default_value = name
    group.links.new(geometry, node.inputs["Geometry"])
    return node.outputs[0]


def _add(group, *kinds):
    return [group.nodes.new(kind) for kind in kinds]
