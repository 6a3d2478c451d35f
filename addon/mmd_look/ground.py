# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD's ground shadow of a mesh object: a follower whose nodes project the evaluated mesh along the
light on z = 0, and the attribute that they read.

Its flat material has the color of the light, as in MMD.
"""

from typing import Any

import bpy
import numpy as np
from bpy.types import Material, Object, Scene

from ..blender import arrays, drivers
from ..blender.node_builder import GEOMETRY, OBJECT, Field, NodeBuilder, drop_unused, own
from ..scene import light, material_values
from . import edges, followers, shading

_CASTS = "mmd_ground"  # attribute of faces: 1 on those with a ground shadow
NAME = "MMD Ground Shadow"  # of the group and the material
_MARK = "mmdskin_ground"  # ID property of both
_LIFT = 0.001  # above the ground, so that both do not fight for the same depth


def add(scene: Scene, obj: Object) -> None:
    """Add the ground shadow of a mesh object; none if no material casts one."""
    if followers.find(obj, followers.GROUND) is not None:
        return
    mesh = obj.data
    values = [material_values.read(material) for material in mesh.materials]
    casts = [float(one.casts_ground_shadow) if one else 0.0 for one in values]
    if any(casts) and len(mesh.polygons):
        arrays.drop(mesh, _CASTS)
        faces = edges.per_face(mesh, casts)
        arrays.add(mesh, _CASTS, "FACE", faces.astype(np.float32))
        followers.new(obj, followers.GROUND, _nodes(light.of_scene(scene)))


def remove(obj: Object) -> None:
    """Remove the ground shadow of a mesh object and what it needs of the mesh."""
    found = followers.find(obj, followers.GROUND)
    if found is not None:
        followers.remove(found)
        arrays.drop(obj.data, _CASTS)
    drop_unused(bpy.data.node_groups, _MARK)
    drop_unused(bpy.data.materials, _MARK)
    shading.drop_unused()


def _nodes(sun: Object | None) -> Any:
    """New nodes that follow a scene's light."""
    builder = NodeBuilder(NAME, "GeometryNodeTree")
    builder.group[_MARK] = True
    builder.input("Geometry", GEOMETRY)
    source = builder.input(followers.SOURCE, OBJECT)
    info = builder.outputs("GeometryNodeObjectInfo", {"Object": source}, transform_space="RELATIVE")
    towards, position = _light(builder, sun), builder.result("GeometryNodeInputPosition")
    height, above = (
        builder.outputs("ShaderNodeSeparateXYZ", {0: one})["Z"] for one in (towards, position)
    )
    # A light along the ground casts no shadow on it.
    casts = builder.attribute(_CASTS) * (builder.math("ABSOLUTE", height) > 1e-6)
    cut = {"Geometry": info["Geometry"], "Selection": casts < 0.5}
    shadow = builder.result("GeometryNodeDeleteGeometry", cut, domain="FACE")
    length = above / height - builder.math("DIVIDE", _LIFT, height)
    move = {"Geometry": shadow, "Position": position - towards * length}
    shadow = builder.result("GeometryNodeSetPosition", move)
    paint = {"Geometry": shadow, "Material": _material()}
    builder.output("Geometry", GEOMETRY, builder.result("GeometryNodeSetMaterial", paint))
    return builder.arranged()


def _light(builder: NodeBuilder, sun: Object | None) -> Field:
    """The direction to the light, by drivers, which read the Sun: an appended model does not bring the
    scene's properties."""
    node = builder.node("ShaderNodeCombineXYZ")
    for index, socket in enumerate(node.inputs):
        socket.default_value = light.DEFAULT_DIRECTION[index]
        if sun is not None:
            place = sun, f"location[{index}]"
            drivers.drive(socket, "default_value", f"x/{light.LENGTHS}", x=place)
    return Field(builder, node.outputs[0])


def _material() -> Material:
    for material in own(bpy.data.materials, _MARK):
        return material
    material, _ = shading.new_material(NAME, shading.GROUND)
    material[_MARK] = True
    return material
