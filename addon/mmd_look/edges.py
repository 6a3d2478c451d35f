# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD's edge of a mesh object: a follower that draws an inverted hull of the evaluated mesh, and the
attributes that its geometry nodes read.

The hull's vertices are moved along their normals by the edge size and a share of the depth in the
active camera, so that an edge is as wide in the picture everywhere. Where drivers move edge sizes, as
those of morphs do, they drive inputs: nodes with drivers of their own would be built again whenever a
bone moves, for sliders belong to the armature object.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.types import Camera, Material, Object, Scene

from ..blender import arrays, blender_versions, drivers, node_builder
from ..blender.node_builder import FLOAT, GEOMETRY, INTEGER, OBJECT, Field, NodeBuilder, Value
from ..scene import material_values, mmd_tools, names
from . import followers, materials
from .shading import HULL

_Edged = tuple[int, Any, material_values.MaterialValues]  # slot, material and its values
# By slot: the material and the path of its size.
_Driven = Mapping[int, tuple[Material, str]]

_WELD = 1e-5  # points that are closer count as one, if their normals are similar:
_SIMILAR = 0.7  # the least cosine of the angle between them
_SIZE = "mmd_edge"  # attribute of points: the edge size
_EDGED = "mmd_edged"  # of faces: 1 has an edge
_SCALE = mmd_tools.EDGE_SCALE  # of points: the file's factor of the size, a vertex group
_SLOT = "mmd_edge_material"  # of points: the material slot whose size drivers move, -1 for none
_WELDED = "mmd_welded"  # of points, before 4.5: the first point at the same place, alike
_POINTS = "Points"  # input before 4.5: how many points `_WELDED` is for
_NAME = "MMD Edge"
_MARK = "mmdskin_edge"  # ID property of the group: the name of the scene whose camera it follows
_ANY = ""  # that of the evaluated scene, which drivers of older versions cannot name
_HEIGHT = 512  # pixels of a picture in which an edge of size 1 is one pixel wide
# Without a camera: the width in the picture of MMD's, which is 45 units away.
_USUAL_WIDTH = 45 * 0.08 * 2 * 0.2679 / _HEIGHT
_INSIDE = 5e-5  # how far a hull without width is inside the surface
_CAMERA = "mmd_camera_"  # names of the nodes with the camera's values
_FORWARD, _POSITION, _SLOPE, _WIDTH = "forward", "position", "slope", "width"
# Names of the inputs for driven sizes (what to add to 1), before the slot's number; in files of 0.2, of
# nodes with drivers.
_DRIVEN = "mmd_size_"


class _Variant(NamedTuple):
    """What nodes are made for: the material slots whose sizes are driven, which materials the hull has
    instead of others, whether faces with and without an edge share points, and whether live meshes give
    normals."""

    driven: frozenset[int]
    replaced: materials.Replaced
    shares_points: bool
    takes_normals: bool


def add(scene: Scene, obj: Object) -> None:
    """Add the edges of a mesh object, or update their sizes; none if no material has an edge."""
    edged = _edged(obj.data)
    driven: _Driven = {  # by drivers, as those of morphs
        slot: (material, values.edge_size.path)
        for slot, material, values in edged
        if values.edge_size.is_driven(material)
    }
    shares_points = _store_sizes(obj, edged, driven)
    hull = followers.find(obj, followers.EDGES)
    if hull is None and _SIZE not in obj.data.attributes:
        return
    known = _variant_of(followers.modifier_of(hull).node_group) if hull else None
    surfaces = [material for _, material, _ in edged]
    replaced = materials.replaced_by_edges(surfaces, known.replaced if known else {})
    has_free_normals = blender_versions.HAS_FREE_NORMALS
    variant = _Variant(frozenset(driven), replaced, shares_points, has_free_normals)
    if hull is None:
        hull = followers.new(obj, followers.EDGES, _group(scene, variant))
    elif known != variant:
        followers.give_nodes(hull, obj, _group(scene, variant))
        _drop_unused()
    modifier = followers.modifier_of(hull)
    drivers.remove(hull, "modifiers")
    for slot, source in driven.items():
        owner, path = blender_versions.property_of_input(modifier, f"{_DRIVEN}{slot}")
        drivers.drive(owner, path, "max(x,0)-1", x=source)
    if not has_free_normals:
        blender_versions.set_modifier_input(modifier, _POINTS, len(obj.data.vertices))
        hull.update_tag()


def remove(obj: Object) -> None:
    """Remove the edges of a mesh object and what they need of the mesh."""
    found = followers.find(obj, followers.EDGES)
    if found is not None:
        followers.remove(found)
    others = (other for other in bpy.data.objects if other != obj and other.data == obj.data)
    if not any(followers.find(other, followers.EDGES) for other in others):
        _clear_sizes(obj.data)
    _drop_unused()


def _edged(mesh: Any) -> list[_Edged]:
    """The materials that have an edge, or may get one."""
    read = [(slot, one, material_values.read(one)) for slot, one in enumerate(mesh.materials)]
    return [found for found in read if found[2] and found[2].can_have_edge(found[1])]


def _store_sizes(obj: Object, edged: list[_Edged], driven: _Driven) -> bool:
    """Store each point's edge size and each face's having one; nothing if none has. Returns whether
    faces with and without edges share points.

    Where drivers move the size, 1 is stored instead, and the slot: of several materials at a point,
    the last one.
    """
    mesh = obj.data
    sizes = [0.0] * len(mesh.materials)
    for slot, _, values in edged:
        sizes[slot] = 1.0 if slot in driven else values.edge_size.value
    _clear_sizes(mesh)
    if not any(sizes) or not len(mesh.polygons):
        return False
    corners, counts = _corners(mesh)
    of_faces = per_face(mesh, sizes)
    of_corners = np.repeat(of_faces, counts)
    of_points = np.zeros(len(mesh.vertices), np.float32)
    np.maximum.at(of_points, corners, of_corners)
    if driven:
        slots = [slot if slot in driven else -1 for slot in range(len(sizes))]
        of_slots = per_face(mesh, slots)
        leading = np.full(len(mesh.vertices), -1, np.float32)
        np.maximum.at(leading, corners, np.repeat(of_slots, counts))
        of_points[leading >= 0] = 1.0
        arrays.add(mesh, _SLOT, "POINT", leading.astype(np.int32), "INT")
    if mmd_tools.EDGE_EXCESS in mesh.attributes:
        of_points *= arrays.read(mesh.attributes[mmd_tools.EDGE_EXCESS].data, "value")
    arrays.add(mesh, _SIZE, "POINT", of_points)
    arrays.add(mesh, _EDGED, "FACE", (of_faces > 0).astype(np.float32))
    if _SCALE not in obj.vertex_groups:
        arrays.add(mesh, _SCALE, "POINT", np.ones(len(of_points), np.float32))
    if blender_versions.HAS_FREE_NORMALS:
        mesh.attributes.new(names.HULL_NORMALS, "FLOAT_VECTOR", "POINT")
    else:
        arrays.add(mesh, _WELDED, "POINT", _welded(mesh), "INT")
    is_edged = of_corners > 0
    return bool(np.intersect1d(corners[is_edged], corners[~is_edged]).size)


def _welded(mesh: Any) -> np.ndarray:
    """(V,) int32: for each point, the first one at the same place, with a similar normal in the file.

    Where layers of cloth meet, as at hems, normals differ: MMD's hull is open there.
    """
    normals = _normals(mesh)
    leaders = _first_alike(np.round(arrays.read(mesh.vertices, "co", 3) / _WELD))
    differs = (normals * normals[leaders]).sum(1) < _SIMILAR
    return _first_alike(np.column_stack((leaders, differs)))


def _first_alike(rows: np.ndarray) -> np.ndarray:
    """(N,) int32: for each row, the first equal one."""
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first[group.ravel()].astype(np.int32)


def _normals(mesh: Any) -> np.ndarray:
    """(V, 3) float32 unit normals of points, as the file has them."""
    corners, _ = _corners(mesh)
    total = np.zeros((len(mesh.vertices), 3), np.float32)
    np.add.at(total, corners, arrays.read(*blender_versions.corner_normals(mesh), 3))
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    return np.divide(total, lengths, out=total, where=lengths > 0)


def _corners(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """(L,) int32 point of each corner, and (F,) int32 number of corners of each face."""
    corners = arrays.read(*blender_versions.corner_vertices(mesh), dtype=np.int32)
    return corners, arrays.read(mesh.polygons, "loop_total", dtype=np.int32)


def per_face(mesh: Any, values: Sequence[float]) -> np.ndarray:
    """(F,) float32: for each face, the value of its material."""
    numbers = arrays.read(mesh.polygons, "material_index", dtype=np.int32)
    return np.array(values, np.float32)[np.clip(numbers, 0, len(values) - 1)]


def _clear_sizes(mesh: Any) -> None:
    arrays.drop(mesh, _SIZE, _EDGED, _SLOT, _SCALE, _WELDED, names.HULL_NORMALS)


# The nodes


def _group(scene: Scene, variant: _Variant) -> Any:
    """The nodes for a scene, whose camera they follow."""
    found = next((one for one in _of_scene(scene) if _variant_of(one) == variant), None)
    if found is None:
        builder = NodeBuilder(_NAME, "GeometryNodeTree")
        found = builder.group
        found[_MARK] = _ANY if blender_versions.HAS_CONTEXT_VARIABLES else scene.name
        _build(builder, variant)
        builder.arranged()
        follow_camera(scene)
    return found


def _variant_of(group: Any) -> _Variant | None:
    """None for nodes of 0.2 that have drivers of sizes."""
    if any(node.name.startswith(_DRIVEN) for node in group.nodes):
        return None
    kinds = {node.type for node in group.nodes}
    inputs = [one for node in group.nodes if node.type == "GROUP_INPUT" for one in node.outputs]
    found = [one.name for one in inputs if one.name.startswith(_DRIVEN)]
    driven = frozenset(int(name.removeprefix(_DRIVEN)) for name in found)
    replaced = {
        node.inputs["Old"].default_value: node.inputs["New"].default_value
        for node in group.nodes
        if node.type == "REPLACE_MATERIAL"
    }
    return _Variant(driven, replaced, "SET_MATERIAL" in kinds, "SWITCH" in kinds)


def _drop_unused() -> None:
    node_builder.drop_unused(bpy.data.node_groups, _MARK)
    materials.drop_unused_edges()


def follow_camera(scene: Scene) -> None:
    """Drive the nodes of a scene by its camera, whichever is active.

    Before 4.2, a driver whose target is missing stays broken, so it must not exist without a camera.
    """
    is_general, start = blender_versions.HAS_CONTEXT_VARIABLES, f'nodes["{_CAMERA}'
    wanted = is_general or scene.camera is not None
    for found in _of_scene(scene):
        curve = next((one for one in drivers.of(found) if one.data_path.startswith(start)), None)
        # The nodes may have come with another file's scene, which only older versions' drivers name.
        if curve and not (
            is_general or (wanted and curve.driver.variables[0].targets[0].id == scene)
        ):
            drivers.remove(found, start)
            _rest(found)
            curve = None
        if wanted and not curve:
            _drive(found, scene)


def _of_scene(scene: Scene) -> list:
    found = node_builder.own(bpy.data.node_groups, _MARK)
    return [one for one in found if one[_MARK] in (_ANY, scene.name)]


def _build(builder: NodeBuilder, variant: _Variant) -> None:
    builder.input("Geometry", GEOMETRY)
    source = builder.input(followers.SOURCE, OBJECT)
    info = builder.outputs("GeometryNodeObjectInfo", {"Object": source}, transform_space="RELATIVE")
    geometry, place = info["Geometry"], info["Location"]
    size = _size(builder, variant.driven)
    width = _width(builder, size)
    # Faces without an edge collapse to one point, unless they share points with others.
    kept = None if variant.shares_points else size > 0.0
    if variant.takes_normals:
        given, is_given = _given_normal(builder, info)
        quick = _moved(builder, place, geometry, given * width, kept)
        # Deleting copies each vertex group, which takes most of the time. So before 4.5 and in live meshes,
        # faces without an edge collapse, or are invisible where they share points with others.
        cut = {"Geometry": geometry, "Selection": builder.attribute(_EDGED) < 0.5}
        geometry = builder.result("GeometryNodeDeleteGeometry", cut, domain="FACE")
        whole = _moved(builder, place, geometry, _normal(builder, geometry) * width, None)
        choices = {"Switch": is_given, "False": whole, "True": quick}
        geometry = builder.result("GeometryNodeSwitch", choices, input_type="GEOMETRY")
    else:
        geometry = _moved(builder, place, geometry, _normal(builder, geometry) * width, kept)
    flipped = builder.result("GeometryNodeFlipFaces", {0: geometry})
    mark = {"Geometry": flipped, "Name": HULL, "Value": 1.0}
    geometry = builder.result(
        "GeometryNodeStoreNamedAttribute", mark, data_type="FLOAT", domain="POINT"
    )
    for old, new in variant.replaced.items():
        inputs = {"Geometry": geometry, "Old": old, "New": new}
        geometry = builder.result("GeometryNodeReplaceMaterial", inputs)
    if variant.shares_points:
        chosen, material = builder.attribute(_EDGED) < 0.5, materials.invisible_edge()
        inputs = {"Geometry": geometry, "Selection": chosen, "Material": material}
        geometry = builder.result("GeometryNodeSetMaterial", inputs)
    builder.output("Geometry", GEOMETRY, geometry)
    _rest(builder.group)


def _moved(
    builder: NodeBuilder, place: Field, geometry: Field, offset: Field, kept: Field | None
) -> Field:
    """The geometry with its points moved, or to the place of its object where `kept` is 0."""
    inputs = {"Geometry": geometry, "Offset": offset}
    if kept is not None:
        here = builder.result("GeometryNodeInputPosition")
        inputs["Position"] = builder.mixed(place, here, kept)
        inputs["Offset"] = offset * kept
    return builder.result("GeometryNodeSetPosition", inputs)


def _given_normal(builder: NodeBuilder, info: dict[str, Field]) -> tuple[Field, Field]:
    """The vertex normals that a live mesh gives, in the world, and whether it gives them: the first is
    not zero, and the modifier has moved the points, for it removes their positions."""
    normal = builder.attribute(names.HULL_NORMALS, "FLOAT_VECTOR")
    positions = builder.outputs(
        "GeometryNodeInputNamedAttribute", {"Name": names.POSITIONS}, data_type="FLOAT_VECTOR"
    )
    first = {"FLOAT": builder.math("LENGTH", normal), "BOOLEAN": positions["Exists"]}
    length, is_there = (
        builder.result(
            "GeometryNodeSampleIndex",
            {"Geometry": info["Geometry"], "Value": value},
            data_type=kind,
        )
        for kind, value in first.items()
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


def _size(builder: NodeBuilder, driven: frozenset[int]) -> Field:
    """Of the edge, at each point: _SIZE times what its slot's driver gives, if it has one."""
    size = builder.attribute(_SIZE)
    if not driven:
        return size
    factor: Value = 1.0
    slot = builder.attribute(_SLOT, "INT")
    for number in sorted(driven):
        here = builder.math("COMPARE", slot, float(number), 0.5)
        factor = here * builder.input(f"{_DRIVEN}{number}", FLOAT) + factor
    return size * factor


def _width(builder: NodeBuilder, size: Field) -> Field:
    """Of the edge, in the world, at each point: size * (depth * slope + width)."""
    slope, least = (_camera(builder, "ShaderNodeValue", name) for name in (_SLOPE, _WIDTH))
    position, forward = (
        _camera(builder, "ShaderNodeCombineXYZ", name) for name in (_POSITION, _FORWARD)
    )
    depth = (builder.result("GeometryNodeInputPosition") - position).dot(forward)
    unit = builder.math("MAXIMUM", depth, 0.0) * slope + least
    width = size * builder.attribute(_SCALE) * unit
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
        same = {"Value": normal, -1: builder.attribute(_WELDED, "INT")}  # the last: the group
        total = builder.outputs("GeometryNodeAccumulateField", same, **kind)["Total"]
        # A modifier may have made other points.
        count = builder.result("GeometryNodeAttributeDomainSize", {0: geometry}, component="MESH")
        known = builder.math("COMPARE", count, builder.input(_POINTS, INTEGER), 0.5)
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
