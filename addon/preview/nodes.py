# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier of the preview: nodes that move each vertex to where an attribute says.

Zero means "leave this vertex to the armature modifier". Where a second attribute has normals, other
nodes give them to the mesh, unless the first is zero. The attributes do not get out.

Mesh caches use the same nodes for their normals: there the second attribute is what nodes of kind
`READING` have made of positions.
"""

import bpy

from .. import blender_versions, names, scene_model, skinner

ATTRIBUTE = "mmdskin"
NORMALS = "mmdskin_normal"
# The kinds of node groups: without normals; with them, as they are; with such that turn with what
# later modifiers do, which takes time; and what takes normals from positions.
PLAIN, FREE, TURNING, READING = True, "FREE", "TANGENT_SPACE", "READING"
_NAME = "MMD Skin"  # of the modifier and its node group
_MARK = "mmdskin"  # ID property of each of our node groups: its kind


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
        set_kind(modifier, PLAIN)
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
    drop_unused()


def set_kind(modifier: bpy.types.NodesModifier, kind: str | bool) -> None:
    """Let a modifier have the nodes of a kind."""
    mend()
    group = modifier.node_group
    if group is None or group[_MARK] != kind:
        group = next((group for group in _groups() if group[_MARK] == kind), None)
        modifier.node_group = group or _node_group(kind)
        drop_unused()


def kind_with_normals(obj: bpy.types.Object, modifier: bpy.types.NodesModifier) -> str:
    """The kind by which a modifier gives normals, as those behind it need it."""
    later = list(obj.modifiers)[obj.modifiers.find(modifier.name) + 1 :]
    return TURNING if any(_moves(one) for one in later) else FREE


def _moves(modifier):
    """Whether a modifier may move vertices."""
    still = modifier.type in skinner.HARMLESS or modifier.name.startswith(names.UV_MORPHS)
    return not still and (modifier.show_viewport or modifier.show_render)


def give_normals_right(obj):
    """Whether the modifier of a mesh object gives normals as those behind it need them."""
    modifier = modifier_of(obj)
    return modifier is None or modifier.node_group[_MARK] == kind_with_normals(obj, modifier)


def mend():
    """Make groups anew that an older Blender has saved: it does not keep nodes that it lacks."""
    if not blender_versions.HAS_FREE_NORMALS:
        return
    for group in list(_groups()):
        if any(node.bl_idname == "NodeUndefined" for node in group.nodes):
            group.user_remap(_node_group(group[_MARK]))
            bpy.data.node_groups.remove(group)


def drop_unused() -> None:
    """Remove the nodes that no modifier has any more."""
    for group in [group for group in _groups() if not group.users]:
        bpy.data.node_groups.remove(group)


def _modifier_of(obj):
    for modifier in obj.modifiers:
        if modifier.type == "NODES":
            group = modifier.node_group
            ours = _MARK in group if group else modifier.name.startswith(_NAME)
            if ours and not (group and group[_MARK] == READING):
                return modifier
    return None


def _groups():
    return (group for group in bpy.data.node_groups if _MARK in group and not group.library)


def _node_group(kind):
    name = _NAME if kind == PLAIN else f"{_NAME} Normals"
    group = bpy.data.node_groups.new(name, "GeometryNodeTree")
    group[_MARK] = kind
    blender_versions.add_geometry_sockets(group)
    start, end = _add(group, "NodeGroupInput", "NodeGroupOutput")
    build = _reading if kind == READING else _moving
    group.links.new(build(group, start.outputs[0], kind), end.inputs[0])
    for column, node in enumerate(group.nodes):
        node.location = (200 * (column % 4), -250 * (column // 4))
    return group


def _moving(group, geometry, kind):
    """The geometry where its attribute says, with normals if there are any."""
    (move,) = _add(group, "GeometryNodeSetPosition")
    vector = _named(group, ATTRIBUTE)
    link = group.links.new
    link(geometry, move.inputs["Geometry"])
    link(vector, move.inputs["Selection"])
    link(vector, move.inputs["Position"])
    geometry = _removed(group, move.outputs[0], ATTRIBUTE)
    if kind != PLAIN:
        geometry = _removed(group, _with_normals(group, geometry, kind), NORMALS)
    return geometry


def _with_normals(group, geometry, kind):
    """The geometry with the normals that its attribute has, if the first of them is not zero.

    A Blender that does not know the node which gives them makes nothing of it, with zeros.
    """
    give, first, choose = _add(
        group, "GeometryNodeSetMeshNormal", "GeometryNodeSampleIndex", "GeometryNodeSwitch"
    )
    # Of corners, even where each vertex has but one: Alembic takes no others along.
    give.mode, give.domain = kind, "CORNER"
    first.data_type = "FLOAT_VECTOR"
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


def _reading(group, geometry, kind):
    """The geometry whose attribute for normals has its positions, as unit vectors."""
    position, unit, store = _add(
        group,
        "GeometryNodeInputPosition",
        "ShaderNodeVectorMath",
        "GeometryNodeStoreNamedAttribute",
    )
    unit.operation = "NORMALIZE"
    store.data_type, store.domain = "FLOAT_VECTOR", "POINT"
    store.inputs["Name"].default_value = NORMALS
    link = group.links.new
    link(geometry, store.inputs["Geometry"])
    link(position.outputs[0], unit.inputs[0])
    link(unit.outputs[0], store.inputs["Value"])
    return store.outputs[0]


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
