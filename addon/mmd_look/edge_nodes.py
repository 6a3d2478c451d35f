# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry nodes that draw MMD's edge: an inverted hull of an object's evaluated mesh.

The hull's vertices are moved along their normals by the edge size and a share of the depth in the
active camera, so that an edge is as wide in the picture everywhere. Where drivers move edge sizes, as
those of morphs do, they drive inputs: nodes with drivers of their own would be built again whenever a
bone moves, for sliders belong to the armature object.
"""

from typing import Any, NamedTuple

import bpy
from bpy.types import Camera, FCurve, Scene

from ..blender import blender_versions, drivers, node_builder
from ..blender.node_builder import FLOAT, GEOMETRY, INTEGER, OBJECT, Field, NodeBuilder, Value
from ..scene import mmd_tools, names
from . import followers, materials
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
# Names of the inputs for driven sizes, before the slot's number; in files of 0.2, of nodes with drivers.
_DRIVEN = "mmd_size_"


class Variant(NamedTuple):
    """What nodes are made for: the material slots whose sizes are driven, which materials the hull has
    instead of others, whether faces with and without an edge share points, and whether live meshes give
    normals."""

    driven: frozenset[int]
    replaced: materials.Replaced
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


def size_input(slot: int) -> str:
    """The name of the input for the driven size of a material slot: what to add to 1."""
    return f"{_DRIVEN}{slot}"


def variant_of(group: Any) -> Variant | None:
    """None for nodes of 0.2 that have drivers of sizes."""
    replaced: materials.Replaced = {}
    slots, kinds = set[int](), set[str]()
    for node in group.nodes:
        kinds.add(node.type)
        if node.name.startswith(_DRIVEN):
            return None
        if node.type == "GROUP_INPUT":
            found = [one.name for one in node.outputs if one.name.startswith(_DRIVEN)]
            slots.update(int(name.removeprefix(_DRIVEN)) for name in found)
        elif node.type == "REPLACE_MATERIAL":
            old, new = (node.inputs[name].default_value for name in ("Old", "New"))
            replaced[old] = new
    return Variant(frozenset(slots), replaced, "SET_MATERIAL" in kinds, "SWITCH" in kinds)


def drop_unused() -> None:
    node_builder.drop_unused(bpy.data.node_groups, _MARK)
    materials.drop_unused_edges()


def follow_camera(scene: Scene) -> None:
    """Drive the nodes of a scene by its camera, whichever is active.

    Before 4.2, a driver whose target is missing stays broken, so it must not exist without a camera.
    """
    wanted = blender_versions.HAS_CONTEXT_VARIABLES or scene.camera is not None
    for found in _of_scene(scene):
        start = f'nodes["{_CAMERA}'
        curves = [one for one in drivers.of(found) if one.data_path.startswith(start)]
        if curves and not (wanted and _follows(curves[0], scene)):
            for curve in curves:
                found.animation_data.drivers.remove(curve)
            curves.clear()
            _rest(found)
        if wanted and not curves:
            _drive(found, scene)


def _follows(curve: FCurve, scene: Scene) -> bool:
    """False if the nodes came with another file's scene, which only older versions' drivers name."""
    is_general = blender_versions.HAS_CONTEXT_VARIABLES
    return is_general or bool(curve.driver.variables[0].targets[0].id == scene)


def _of_scene(scene: Scene) -> list:
    found = node_builder.own(bpy.data.node_groups, _MARK)
    return [one for one in found if one[_MARK] in (_ANY, scene.name)]


def _build(builder: NodeBuilder, variant: Variant) -> None:
    builder.input("Geometry", GEOMETRY)
    source = builder.input(followers.SOURCE, OBJECT)
    info = builder.outputs("GeometryNodeObjectInfo", {"Object": source}, transform_space="RELATIVE")
    geometry = info["Geometry"]
    size = _size(builder, variant.driven)
    width = _width(builder, size)
    # Faces without an edge collapse to one point, unless they share points with others.
    kept = None if variant.shares_points else size > 0.0
    if variant.takes_normals:
        given, is_given = _given_normal(builder, info)
        quick = _moved(builder, info, geometry, given * width, kept)
        geometry = _cut(builder, geometry)
        whole = _moved(builder, info, geometry, _normal(builder, geometry) * width, None)
        choices = {"Switch": is_given, "False": whole, "True": quick}
        geometry = builder.result("GeometryNodeSwitch", choices, input_type="GEOMETRY")
    else:
        geometry = _moved(builder, info, geometry, _normal(builder, geometry) * width, kept)
    flipped = builder.result("GeometryNodeFlipFaces", {0: geometry})
    mark = {"Geometry": flipped, "Name": HULL, "Value": 1.0}
    geometry = builder.result(
        "GeometryNodeStoreNamedAttribute", mark, data_type="FLOAT", domain="POINT"
    )
    for old, new in variant.replaced.items():
        inputs = {"Geometry": geometry, "Old": old, "New": new}
        geometry = builder.result("GeometryNodeReplaceMaterial", inputs)
    if variant.shares_points:
        chosen, material = builder.attribute(EDGED) < 0.5, materials.invisible_edge()
        inputs = {"Geometry": geometry, "Selection": chosen, "Material": material}
        geometry = builder.result("GeometryNodeSetMaterial", inputs)
    builder.output("Geometry", GEOMETRY, geometry)
    _rest(builder.group)


def _moved(
    builder: NodeBuilder,
    info: dict[str, Field],
    geometry: Field,
    offset: Field,
    kept: Field | None,
) -> Field:
    """The geometry with its points moved, or to the place of its object where `kept` is 0."""
    inputs = {"Geometry": geometry, "Offset": offset}
    if kept is not None:
        here = builder.result("GeometryNodeInputPosition")
        inputs["Position"] = builder.mixed(info["Location"], here, kept)
        inputs["Offset"] = offset * kept
    return builder.result("GeometryNodeSetPosition", inputs)


def _given_normal(builder: NodeBuilder, info: dict[str, Field]) -> tuple[Field, Field]:
    """The vertex normals that a live mesh gives, in the world, and whether it gives them: the first is
    not zero, and the modifier has moved the points, for it removes their positions."""
    normal = builder.attribute(names.HULL_NORMALS, "FLOAT_VECTOR")
    positions = builder.outputs(
        "GeometryNodeInputNamedAttribute", {"Name": names.POSITIONS}, data_type="FLOAT_VECTOR"
    )
    length, is_there = (
        builder.result(
            "GeometryNodeSampleIndex",
            {"Geometry": info["Geometry"], "Value": value},
            data_type=kind,
        )
        for value, kind in (
            (builder.math("LENGTH", normal), "FLOAT"),
            (positions["Exists"], "BOOLEAN"),
        )
    )
    # Normals turn by the transposed inverse: by dot products with its rows, which are the same at all
    # points, for Blender takes longer to transform each.
    inverse = builder.result("FunctionNodeInvertMatrix", {0: info["Transform"]})
    rows = (
        builder.result("FunctionNodeTransformDirection", {"Direction": axis, "Transform": inverse})
        for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    )
    turned = builder.combined(*(normal.dot(row) for row in rows))
    return turned.normalized(), length - is_there > 0.5


def _cut(builder: NodeBuilder, geometry: Field) -> Field:
    """The geometry without the faces that have no edge.

    This copies each vertex group, which takes most of the time. So before 4.5 and in live meshes,
    these faces collapse, or are invisible where they share points with others.
    """
    inputs = {"Geometry": geometry, "Selection": builder.attribute(EDGED) < 0.5}
    return builder.result("GeometryNodeDeleteGeometry", inputs, domain="FACE")


def _size(builder: NodeBuilder, driven: frozenset[int]) -> Field:
    """Of the edge, at each point: SIZE times what its slot's driver gives, if it has one."""
    size = builder.attribute(SIZE)
    if not driven:
        return size
    factor: Value = 1.0
    slot = builder.attribute(SLOT, "INT")
    for number in sorted(driven):
        here = builder.math("COMPARE", slot, float(number), 0.5)
        factor = here * builder.input(size_input(number), FLOAT) + factor
    return size * factor


def _width(builder: NodeBuilder, size: Field) -> Field:
    """Of the edge, in the world, at each point: size * (depth * slope + width)."""
    slope, least = (_camera(builder, "ShaderNodeValue", name) for name in (_SLOPE, _WIDTH))
    position, forward = (
        _camera(builder, "ShaderNodeCombineXYZ", name) for name in (_POSITION, _FORWARD)
    )
    depth = (builder.result("GeometryNodeInputPosition") - position).dot(forward)
    unit = builder.math("MAXIMUM", depth, 0.0) * slope + least
    width = size * builder.attribute(SCALE) * unit
    # Where the file's scale is 0, as at lips, the hull must not lie in the surface: a ray that has
    # passed one of two coincident faces misses the other.
    return (width < 1e-6) * -_INSIDE + width


def _camera(builder: NodeBuilder, kind: str, name: str) -> Field:
    """A value of the camera, which drivers give to a node of that name."""
    return builder.result(kind, name=_CAMERA + name, label=_CAMERA + name)


def _normal(builder: NodeBuilder, geometry: Field) -> Field:
    """The vertex normals, those of the file where nodes see them."""
    normal = builder.result("GeometryNodeInputNormal")
    kind = {"data_type": "FLOAT_VECTOR"}
    if blender_versions.HAS_FREE_NORMALS:
        # The mean of the corners' normals.
        for domain in ("CORNER", "POINT"):
            inputs = {"Value": normal}
            normal = builder.result("GeometryNodeFieldOnDomain", inputs, domain=domain, **kind)
    else:
        # Seams of UV maps must not open: their points share the sum of their normals.
        same = {"Value": normal, -1: builder.attribute(WELDED, "INT")}  # the last: the group
        total = builder.outputs("GeometryNodeAccumulateField", same, **kind)["Total"]
        # A modifier may have made other points.
        count = builder.result("GeometryNodeAttributeDomainSize", {0: geometry}, component="MESH")
        known = builder.math("COMPARE", count, builder.input(POINTS, INTEGER), 0.5)
        normal = builder.mixed(normal, total, known)
    return normal.normalized()


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
