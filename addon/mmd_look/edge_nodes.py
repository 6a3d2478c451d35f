# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry nodes that draw MMD's edge: an inverted hull of an object's evaluated mesh.

The hull's vertices are moved along their normals by the edge size and a share of the depth in the
active camera, so that an edge is as wide in the picture everywhere. Where drivers move edge sizes, as
those of morphs do, or edges have materials of their own, the object has nodes of its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import bpy
from bpy.types import Camera, FCurve, Material, NodeSocket, Scene

from ..blender import blender_versions, drivers
from ..blender.node_builder import GEOMETRY, INTEGER, OBJECT, NodeBuilder, Value, enabled
from ..scene import mmd_tools, names
from . import edge_materials, followers
from .shading import HULL

SIZE, EDGED = "mmd_edge", "mmd_edged"  # attributes of points (edge size) and faces (1: has an edge)
SCALE = mmd_tools.EDGE_SCALE  # of points: the file's factor of the size, a vertex group
SLOT = "mmd_edge_material"  # of points: the material slot whose size drivers move, -1 for none
WELDED = "mmd_welded"  # of points, before 4.5: the first point at the same place, alike
POINTS = "Points"  # input before 4.5: how many points `WELDED` is for
_NAME = "MMD Edge"
_MARK = "mmdskin_edge"  # ID property of the group: the name of the scene whose camera it follows
_ANY = ""  # that of the evaluated scene, which drivers of older versions cannot name
_HEIGHT = 512  # pixels of a picture in which an edge of size 1 is one pixel wide
# Without a camera: the width in the picture of MMD's, which is 45 units away.
_USUAL_WIDTH = 45 * 0.08 * 2 * 0.2679 / _HEIGHT
_INSIDE = 5e-5  # how far a hull without width is inside the surface
_CAMERA = "mmd_camera_"  # names of the nodes with the camera's values
_FORWARD, _POSITION, _SLOPE, _WIDTH = "forward", "position", "slope", "width"
_DRIVEN = "mmd_size_"  # names of the nodes with driven sizes: before the slot's number

# By material slot: the material and the data path of its edge size.
Driven = Mapping[int, tuple[Material, str]]


class Variant(NamedTuple):
    """What nodes are made for: which sizes are driven, which materials the hull has instead of others,
    whether faces with and without an edge share points, and whether live meshes give normals."""

    driven: Driven
    replaced: edge_materials.Replaced
    shares_points: bool
    takes_normals: bool


def group(scene: Scene, variant: Variant) -> Any:
    """The nodes for a scene, whose camera they follow."""
    found = next((one for one in _of_scene(scene) if variant_of(one) == variant), None)
    if found is None:
        builder = NodeBuilder(_NAME, "GeometryNodeTree")
        found = builder.group
        found[_MARK] = _ANY if blender_versions.HAS_CONTEXT_VARIABLES else scene.name
        _build(builder, variant)
        builder.arranged()
        follow_camera(scene)
    return found


def variant_of(group: Any) -> Variant:
    driven, replaced = {}, {}
    for node in group.nodes:
        if node.name.startswith(_DRIVEN):
            target = _curve_of(group, node).driver.variables[0].targets[0]
            driven[int(node.name.removeprefix(_DRIVEN))] = (target.id, target.data_path)
        elif node.type == "REPLACE_MATERIAL":
            old, new = (node.inputs[name].default_value for name in ("Old", "New"))
            replaced[old] = new
    kinds = {node.type for node in group.nodes}
    return Variant(driven, replaced, "SET_MATERIAL" in kinds, "SWITCH" in kinds)


def drop_unused() -> None:
    for one in [one for one in _groups() if not one.users]:
        bpy.data.node_groups.remove(one)
    edge_materials.drop_unused()


def follow_camera(scene: Scene) -> None:
    """Drive the nodes of a scene by its camera, whichever is active.

    Before 4.2, a driver whose target is missing stays broken, so it must not exist without a camera.
    """
    wanted = blender_versions.HAS_CONTEXT_VARIABLES or scene.camera is not None
    for found in _of_scene(scene):
        first = next(_camera_curves(found), None)
        stale = first is not None and (not wanted or _follows_another(first, scene))
        if stale:
            for curve in list(_camera_curves(found)):
                found.animation_data.drivers.remove(curve)
            _rest(found)
        if wanted and (stale or first is None):
            _drive(found, scene)


def _follows_another(curve: FCurve, scene: Scene) -> bool:
    """Whether the nodes came with another file's scene, which only older versions' drivers name."""
    if blender_versions.HAS_CONTEXT_VARIABLES:
        return False
    return bool(curve.driver.variables[0].targets[0].id != scene)


def _camera_curves(group: Any) -> Iterator[Any]:
    return (one for one in _curves(group) if one.data_path.startswith(f'nodes["{_CAMERA}'))


def _curve_of(group: Any, node: Any) -> Any:
    start = f'nodes["{node.name}"]'
    return next(one for one in _curves(group) if one.data_path.startswith(start))


def _curves(group: Any) -> Any:
    return group.animation_data.drivers if group.animation_data else ()


def _of_scene(scene: Scene) -> list:
    return [one for one in _groups() if one[_MARK] in (_ANY, scene.name)]


def _groups() -> list:
    return [one for one in bpy.data.node_groups if _MARK in one and not one.library]


def _build(builder: NodeBuilder, variant: Variant) -> None:
    builder.input("Geometry", GEOMETRY)
    source = builder.input(followers.SOURCE, OBJECT)
    info = builder.node("GeometryNodeObjectInfo", transform_space="RELATIVE")
    builder.put(info.inputs["Object"], source)
    geometry = info.outputs["Geometry"]
    size = _size(builder, variant.driven)
    width = _width(builder, size)
    # Faces without an edge collapse to one point, unless they share points with others.
    kept = None if variant.shares_points else builder.number("GREATER_THAN", size, 0.0)
    if variant.takes_normals:
        given, is_given = _given_normal(builder, info)
        quick = _moved(builder, info, geometry, builder.vector("SCALE", given, width), kept)
        geometry = _cut(builder, geometry)
        offset = builder.vector("SCALE", _normal(builder, geometry), width)
        choose = builder.node("GeometryNodeSwitch", input_type="GEOMETRY")
        builder.put(choose.inputs["Switch"], is_given)
        builder.put(choose.inputs["False"], _moved(builder, info, geometry, offset, None))
        builder.put(choose.inputs["True"], quick)
        geometry = choose.outputs[0]
    else:
        offset = builder.vector("SCALE", _normal(builder, geometry), width)
        geometry = _moved(builder, info, geometry, offset, kept)
    flip = builder.node("GeometryNodeFlipFaces")
    mark = builder.node("GeometryNodeStoreNamedAttribute", data_type="FLOAT", domain="POINT")
    mark.inputs["Name"].default_value = HULL
    builder.put(enabled(mark.inputs, "Value"), 1.0)
    builder.put(flip.inputs[0], geometry)
    builder.put(mark.inputs["Geometry"], flip.outputs[0])
    geometry = mark.outputs[0]
    for old, new in variant.replaced.items():
        replace = builder.node("GeometryNodeReplaceMaterial")
        builder.put(replace.inputs["Geometry"], geometry)
        replace.inputs["Old"].default_value, replace.inputs["New"].default_value = old, new
        geometry = replace.outputs[0]
    if variant.shares_points:
        hide = builder.node("GeometryNodeSetMaterial")
        builder.put(hide.inputs["Geometry"], geometry)
        builder.put(hide.inputs["Selection"], _without_edge(builder))
        hide.inputs["Material"].default_value = edge_materials.invisible()
        geometry = hide.outputs[0]
    builder.output("Geometry", GEOMETRY, geometry)
    _rest(builder.group)


def _moved(
    builder: NodeBuilder, info: Any, geometry: NodeSocket, offset: NodeSocket, kept: Value
) -> NodeSocket:
    """The geometry with its points moved, or to the place of its object where `kept` is 0."""
    move = builder.node("GeometryNodeSetPosition")
    builder.put(move.inputs["Geometry"], geometry)
    if kept is not None:
        here = builder.node("GeometryNodeInputPosition").outputs[0]
        position = builder.mixed(info.outputs["Location"], here, kept)
        builder.put(move.inputs["Position"], position)
        offset = builder.vector("SCALE", offset, kept)
    builder.put(move.inputs["Offset"], offset)
    return move.outputs[0]


def _given_normal(builder: NodeBuilder, info: Any) -> tuple[NodeSocket, NodeSocket]:
    """The vertex normals that a live mesh gives, in the world, and whether it gives them: the first is
    not zero, and the modifier has moved the points, for it removes their positions."""
    normal = builder.attribute(names.HULL_NORMALS, "FLOAT_VECTOR")
    known, inputs = [], builder.node("GeometryNodeInputNamedAttribute", data_type="FLOAT_VECTOR")
    inputs.inputs["Name"].default_value = names.POSITIONS
    for value, kind in (
        (builder.vector("LENGTH", normal), "FLOAT"),
        (inputs.outputs["Exists"], "BOOLEAN"),
    ):
        first = builder.node("GeometryNodeSampleIndex", data_type=kind)
        builder.put(first.inputs["Geometry"], info.outputs["Geometry"])
        builder.put(first.inputs["Value"], value)
        known.append(first.outputs[0])
    is_given = builder.number("GREATER_THAN", builder.number("SUBTRACT", *known), 0.5)
    inverse, normals = (
        builder.node(f"FunctionNode{kind}Matrix") for kind in ("Invert", "Transpose")
    )
    turn = builder.node("FunctionNodeTransformDirection")
    builder.put(inverse.inputs[0], info.outputs["Transform"])
    builder.put(normals.inputs[0], inverse.outputs[0])
    builder.put(turn.inputs["Direction"], normal)
    builder.put(turn.inputs["Transform"], normals.outputs[0])
    return builder.vector("NORMALIZE", turn.outputs[0]), is_given


def _cut(builder: NodeBuilder, geometry: NodeSocket) -> NodeSocket:
    """The geometry without the faces that have no edge.

    This copies each vertex group, which takes most of the time. So before 4.5 and in live meshes,
    these faces collapse, or are invisible where they share points with others.
    """
    cut = builder.node("GeometryNodeDeleteGeometry", domain="FACE")
    builder.put(cut.inputs["Geometry"], geometry)
    builder.put(cut.inputs["Selection"], _without_edge(builder))
    return cut.outputs[0]


def _without_edge(builder: NodeBuilder) -> NodeSocket:
    return builder.number("LESS_THAN", builder.attribute(EDGED), 0.5)


def _size(builder: NodeBuilder, driven: Driven) -> Value:
    """Of the edge, at each point: SIZE times what its slot's driver gives, if it has one."""
    size = builder.attribute(SIZE)
    if not driven:
        return size
    factor: Value = 1.0
    slot = builder.attribute(SLOT, "INT")
    for number, (material, path) in driven.items():
        node = builder.node("ShaderNodeValue")
        node.name = node.label = f"{_DRIVEN}{number}"
        drivers.drive(node.outputs[0], "default_value", "max(x,0)-1", x=(material, path))
        here = builder.number("COMPARE", slot, float(number), 0.5)
        factor = builder.number("MULTIPLY_ADD", here, node.outputs[0], factor)
    return builder.number("MULTIPLY", size, factor)


def _width(builder: NodeBuilder, size: Value) -> Value:
    """Of the edge, in the world, at each point: size * (depth * slope + width)."""
    values = {name: _camera_value(builder, name) for name in (_SLOPE, _WIDTH)}
    position, forward = (_camera_vector(builder, name) for name in (_POSITION, _FORWARD))
    here = builder.node("GeometryNodeInputPosition").outputs[0]
    depth = builder.vector("DOT_PRODUCT", builder.vector("SUBTRACT", here, position), forward)
    depth = builder.number("MAXIMUM", depth, 0.0)
    unit = builder.number("MULTIPLY_ADD", depth, values[_SLOPE], values[_WIDTH])
    size = builder.number("MULTIPLY", size, builder.attribute(SCALE))
    width = builder.number("MULTIPLY", size, unit)
    # Where the file's scale is 0, as at lips, the hull must not lie in the surface: a ray that has
    # passed one of two coincident faces misses the other.
    return builder.number("MULTIPLY_ADD", builder.number("LESS_THAN", width, 1e-6), -_INSIDE, width)


def _camera_value(builder: NodeBuilder, name: str) -> NodeSocket:
    node = builder.node("ShaderNodeValue")
    node.name = node.label = _CAMERA + name
    return node.outputs[0]


def _camera_vector(builder: NodeBuilder, name: str) -> NodeSocket:
    node = builder.node("ShaderNodeCombineXYZ")
    node.name = node.label = _CAMERA + name
    return node.outputs[0]


def _normal(builder: NodeBuilder, geometry: NodeSocket) -> NodeSocket:
    """The vertex normals, those of the file where nodes see them."""
    normal = builder.node("GeometryNodeInputNormal").outputs[0]
    if blender_versions.HAS_FREE_NORMALS:
        # The mean of the corners' normals.
        for domain in ("CORNER", "POINT"):
            node = builder.node(
                "GeometryNodeFieldOnDomain", domain=domain, data_type="FLOAT_VECTOR"
            )
            builder.put(enabled(node.inputs), normal)
            normal = enabled(node.outputs)
    else:
        # Seams of UV maps must not open: their points share the sum of their normals.
        total = builder.node("GeometryNodeAccumulateField", data_type="FLOAT_VECTOR")
        builder.put(enabled(total.inputs), normal)
        same = builder.attribute(WELDED, "INT")
        builder.put(next(one for one in total.inputs if one.name.startswith("Group")), same)
        size = builder.node("GeometryNodeAttributeDomainSize", component="MESH")
        builder.put(size.inputs[0], geometry)
        # A modifier may have made other points.
        count = size.outputs["Point Count"]
        known = builder.number("COMPARE", count, builder.input(POINTS, INTEGER), 0.5)
        normal = builder.mixed(normal, enabled(total.outputs, "Total"), known)
    return builder.vector("NORMALIZE", normal)


def _rest(group: Any) -> None:
    """The values without a camera."""
    for name in (_POSITION, _FORWARD):
        for socket in group.nodes[_CAMERA + name].inputs:
            socket.default_value = 0.0
    group.nodes[_CAMERA + _SLOPE].outputs[0].default_value = 0.0
    group.nodes[_CAMERA + _WIDTH].outputs[0].default_value = _USUAL_WIDTH


def _drive(group: Any, scene: Scene) -> None:
    # A matrix in a data path is indexed by column, then row.
    for name, column, sign in ((_POSITION, 3, ""), (_FORWARD, 2, "-")):
        for row in range(3):
            socket = group.nodes[_CAMERA + name].inputs[row]
            _add_driver(socket, scene, f"{sign}x", x=f"camera.matrix_world[{column}][{row}]")
    lens = {
        "kind": "camera.data.type",
        "fit": "camera.data.sensor_fit",
        "w": "render.resolution_x",
        "h": "render.resolution_y",
        "p": "render.pixel_aspect_x",
        "q": "render.pixel_aspect_y",
    }
    fits = Camera.bl_rna.properties["sensor_fit"].enum_items
    vertical, horizontal = fits["VERTICAL"].value, fits["HORIZONTAL"].value
    orthographic = Camera.bl_rna.properties["type"].enum_items["ORTHO"].value
    # The picture's height over the size that the camera's fit gives.
    wide = f"(1 if fit=={vertical} or (fit!={horizontal} and h*q>w*p) else h*q/(w*p))"
    sensor = f"(b if fit=={vertical} else a)"
    _add_driver(
        group.nodes[_CAMERA + _SLOPE].outputs[0],
        scene,
        f"0 if kind<0 or kind=={orthographic} else {sensor}*{wide}/f/{_HEIGHT}",
        a="camera.data.sensor_width",
        b="camera.data.sensor_height",
        f="camera.data.lens",
        **lens,
    )
    _add_driver(
        group.nodes[_CAMERA + _WIDTH].outputs[0],
        scene,
        f"{_USUAL_WIDTH:.6g} if kind<0 else s*{wide}/{_HEIGHT} if kind=={orthographic} else 0",
        s="camera.data.ortho_scale",
        **lens,
    )


def _add_driver(socket: Any, scene: Scene, expression: str, **paths: str) -> None:
    driver = socket.driver_add("default_value").driver
    for name, path in paths.items():
        variable = driver.variables.new()
        variable.name = name
        blender_versions.follow_scene(variable, scene, path, fallback=-1.0)
    driver.expression = expression
