# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between the Blenders that the add-on runs in, 3.4 to 5.2.

Of the ways to the same values the fast one is taken: others cost up to 4 ms where it takes 0.01.
Only actions are not here, whose layers and slots `actions` knows.
"""

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

HAS_FILE_HANDLERS = hasattr(bpy.types, "FileHandler")  # 4.1
# Whether a property can say which catalogue has its name.
HAS_CONTEXTS = "translation_context" in (bpy.props.BoolProperty.__doc__ or "")
NODES_WRITE_UVS = bpy.app.version >= (3, 5)
# Whether nodes can give a mesh any normals; before 4.5 they turn with the faces around them.
HAS_FREE_NORMALS = hasattr(bpy.types, "GeometryNodeSetMeshNormal")


# Meshes. A place is a collection and the attribute of its elements, for foreach_get and _set.


def positions(mesh: bpy.types.ID) -> tuple[Any, str]:
    """The place of the vertices' positions."""
    attribute = mesh.attributes.get("position")  # 3.5
    return (attribute.data, "vector") if attribute is not None else (mesh.vertices, "co")


def key_positions(key: bpy.types.ShapeKey) -> tuple[Any, str]:
    """The place of a shape key's positions."""
    return getattr(key, "points", key.data), "co"  # 4.1


def corner_vertices(mesh: bpy.types.Mesh) -> tuple[Any, str]:
    """The place of the number of each corner's vertex."""
    attribute = mesh.attributes.get(".corner_vert")  # 3.6
    return (attribute.data, "value") if attribute is not None else (mesh.loops, "vertex_index")


def uvs(layer: bpy.types.MeshUVLoopLayer) -> tuple[Any, str]:
    """The place of the UVs of each corner."""
    return (layer.uv, "vector") if hasattr(layer, "uv") else (layer.data, "uv")  # 3.5


def material_indices(mesh: bpy.types.Mesh) -> tuple[Any, str]:
    """The place of the number of each face's material."""
    if bpy.app.version < (4, 1):
        return mesh.polygons, "material_index"
    attribute = mesh.attributes.get("material_index")
    if attribute is None:
        attribute = mesh.attributes.new("material_index", "INT", "FACE")
    return attribute.data, "value"


def triangles(mesh: bpy.types.Mesh) -> np.ndarray:
    """(T, 3) int32 vertices of the triangles that Blender divides the faces into."""
    mesh.calc_loop_triangles()
    flat = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", flat)
    return flat.reshape(-1, 3)


def finish_triangles(mesh: bpy.types.Mesh) -> None:
    """What older Blenders want to know of new faces: where each ends, and that it is smooth."""
    if bpy.app.version < (4, 1):
        count = len(mesh.polygons)
        mesh.polygons.foreach_set("loop_total", np.full(count, 3, np.int32))
        mesh.polygons.foreach_set("use_smooth", np.ones(count, bool))


def use_custom_normals(mesh: bpy.types.Mesh) -> None:
    if hasattr(mesh, "use_auto_smooth"):  # up to 4.0
        mesh.use_auto_smooth, mesh.auto_smooth_angle = True, np.pi


def dither_transparency(material: bpy.types.Material) -> None:
    if bpy.app.version < (4, 2):
        material.blend_method = material.shadow_method = "HASHED"


# Objects


def move_modifier(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier, place: int) -> None:
    number = obj.modifiers.find(modifier.name)
    if hasattr(obj.modifiers, "move"):  # 3.5
        obj.modifiers.move(number, place)
    else:
        with bpy.context.temp_override(object=obj):
            bpy.ops.object.modifier_move_to_index(modifier=modifier.name, index=place)


def hide_bone(pose_bone: bpy.types.PoseBone, hidden: bool) -> None:
    owner = pose_bone if hasattr(pose_bone, "hide") else pose_bone.bone  # 5.0
    owner.hide = hidden


def bone_collection(armature: bpy.types.Object, name: str) -> "bpy.types.BoneCollection | None":
    """The armature object's collection of bones of that name; None up to 3.6, which has groups."""
    if not hasattr(armature.data, "collections"):
        return None
    collections = armature.data.collections
    return collections[name] if name in collections else collections.new(name)


def group_bones(
    armature: bpy.types.Object, name: str, bones: Iterable[str]
) -> "bpy.types.BoneCollection | None":
    """Put named bones into a collection (4.0) or a group; returns the collection."""
    collection = bone_collection(armature, name)
    if collection is not None:
        for bone in bones:
            collection.assign(armature.data.bones[bone])
        return collection
    groups = armature.pose.bone_groups
    group = groups[name] if name in groups else groups.new(name=name)
    for bone in bones:
        armature.pose.bones[bone].bone_group = group
    return None


def stored(owner: Any, name: str) -> Any:
    """A property as data, where the add-on that defines it is not enabled, or None."""
    value = owner.get(name)
    if value is None and hasattr(owner, "bl_system_properties_get"):  # 5.0
        value = (owner.bl_system_properties_get() or {}).get(name)
    return value


def stored_group(owner: Any, name: str) -> Any:
    """A group of properties as data, where the add-on that defines it is not enabled."""
    group = stored(owner, name)
    return {} if group is None else group


# Nodes


def add_geometry_sockets(group: bpy.types.NodeTree) -> None:
    """Make a new node group take and give a geometry, as a modifier's."""
    if hasattr(group, "interface"):  # 4.0
        for direction in ("INPUT", "OUTPUT"):
            group.interface.new_socket(
                "Geometry",
                in_out=direction,
                socket_type="NodeSocketGeometry",  # type: ignore[arg-type]
            )
        group.is_modifier = True
    else:
        group.inputs.new("NodeSocketGeometry", "Geometry")
        group.outputs.new("NodeSocketGeometry", "Geometry")


def vector_output(node: bpy.types.Node) -> bpy.types.NodeSocket:
    # 3.4 has a hidden output for every other type.
    return next(out for out in node.outputs if out.enabled and out.type == "VECTOR")


# The user's language


def reports_are_translated() -> bool:
    view = bpy.context.preferences.view
    return getattr(view, "use_translate_reports", view.use_translate_tooltips)  # 4.1
