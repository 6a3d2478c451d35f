# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between the Blender versions that the add-on supports, 3.4 to 5.2.

Where several APIs give the same values, the fastest is used: 0.01 ms instead of up to 4 ms.
Layers and slots of actions are in `actions`.
"""

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

from . import arrays

HAS_FILE_HANDLERS = hasattr(bpy.types, "FileHandler")  # 4.1
# Whether properties have a translation context.
HAS_CONTEXTS = "translation_context" in (bpy.props.BoolProperty.__doc__ or "")
# Without the option, 4.5 and later warn of relative paths in properties.
RELATIVE_PATHS: set[str] = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5) else set()
NODES_WRITE_UVS = bpy.app.version >= (3, 5)
# Whether nodes can set free normals; before 4.5, custom normals rotate with the faces around them.
HAS_FREE_NORMALS = hasattr(bpy.types, "GeometryNodeSetMeshNormal")
# Whether drivers can follow the evaluated scene, and values have a fallback.
HAS_CONTEXT_VARIABLES = bpy.app.version >= (4, 2)

_HAS_SESSION_UID = "session_uid" in bpy.types.ID.bl_rna.properties  # 4.2


def identity(block: bpy.types.ID) -> int:
    """An identifier of a datablock and its evaluated copies, kept by renaming and, from 4.2 on, by undo."""
    original = block.original
    return original.session_uid if _HAS_SESSION_UID else original.as_pointer()


# Meshes. A place is a collection and the name of a member, for `arrays`.


def positions(mesh: bpy.types.ID) -> tuple[Any, str]:
    """The place of vertex positions."""
    attribute = mesh.attributes.get("position")  # 3.5
    return (attribute.data, "vector") if attribute is not None else (mesh.vertices, "co")


def key_positions(key: bpy.types.ShapeKey) -> tuple[Any, str]:
    """The place of a shape key's positions."""
    return getattr(key, "points", key.data), "co"  # 4.1


def corner_vertices(mesh: bpy.types.ID) -> tuple[Any, str]:
    """The place of each corner's vertex index."""
    attribute = mesh.attributes.get(".corner_vert")  # 3.6
    return (attribute.data, "value") if attribute is not None else (mesh.loops, "vertex_index")


def corner_normals(mesh: bpy.types.ID) -> tuple[Any, str]:
    """The place of each corner's normal, custom ones included."""
    if hasattr(mesh, "corner_normals"):  # 4.1
        return mesh.corner_normals, "vector"
    mesh.calc_normals_split()
    return mesh.loops, "normal"


def uvs(layer: bpy.types.MeshUVLoopLayer) -> tuple[Any, str]:
    """The place of each corner's UV."""
    return (layer.uv, "vector") if hasattr(layer, "uv") else (layer.data, "uv")  # 3.5


def material_indices(mesh: bpy.types.Mesh) -> tuple[Any, str]:
    """The place of each face's material index."""
    if bpy.app.version < (4, 1):
        return mesh.polygons, "material_index"
    attribute: Any = mesh.attributes.get("material_index")
    if attribute is None:
        attribute = mesh.attributes.new("material_index", "INT", "FACE")
    return attribute.data, "value"


def triangles(mesh: bpy.types.ID) -> np.ndarray:
    """(T, 3) int32 vertices of Blender's triangulation."""
    mesh.calc_loop_triangles()
    return arrays.read(mesh.loop_triangles, "vertices", 3, np.int32)


def finish_triangles(mesh: bpy.types.Mesh) -> None:
    """Set what older versions need for new faces: where each ends, and that it is smooth."""
    if bpy.app.version < (4, 1):
        count = len(mesh.polygons)
        mesh.polygons.foreach_set("loop_total", np.full(count, 3, np.int32))
        mesh.polygons.foreach_set("use_smooth", np.ones(count, bool))


def use_custom_normals(mesh: bpy.types.Mesh) -> None:
    if hasattr(mesh, "use_auto_smooth"):  # up to 4.0
        mesh.use_auto_smooth, mesh.auto_smooth_angle = True, np.pi


def blending(material: Any) -> tuple[str, str]:
    """How EEVEE draws a material's transparency and its shadow; "" from 4.2 on, where both always count."""
    return (material.blend_method, material.shadow_method) if bpy.app.version < (4, 2) else ("", "")


def set_blending(material: Any, surface: str, shadow: str) -> None:
    """Set what `blending` gives; "" changes nothing."""
    if bpy.app.version < (4, 2):
        material.blend_method = surface or material.blend_method
        material.shadow_method = shadow or material.shadow_method


# Objects


def move_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier, place: int) -> None:
    number = obj.modifiers.find(modifier.name)
    if hasattr(obj.modifiers, "move"):  # 3.5
        obj.modifiers.move(number, place)
    else:
        with bpy.context.temp_override(object=obj):
            bpy.ops.object.modifier_move_to_index(modifier=modifier.name, index=place)


def regrouped(depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether an update may be due to objects that were added, deleted or moved between collections, or
    to another camera."""
    # Before 4.2, these may be noted as changes of the scene, like a selection.
    before_4_2 = bpy.app.version < (4, 2) and depsgraph.id_type_updated("SCENE")
    return before_4_2 or depsgraph.id_type_updated("COLLECTION")


def hideable(pose_bone: bpy.types.PoseBone) -> Any:
    """What has `hide` of a bone: in Object and Pose Mode."""
    return pose_bone if hasattr(pose_bone, "hide") else pose_bone.bone  # 5.0


def bone_collection(armature: bpy.types.Object, name: str) -> "bpy.types.BoneCollection | None":
    """The armature object's bone collection of that name; None up to 3.6, which has bone groups."""
    if not hasattr(armature.data, "collections"):
        return None
    collections = armature.data.collections
    return collections[name] if name in collections else collections.new(name)


def group_bones(
    armature: bpy.types.Object, name: str, bones: Iterable[str]
) -> "bpy.types.BoneCollection | None":
    """Put the named bones into a bone collection (4.0) or bone group; returns the collection."""
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
    """A property's data, which Blender keeps while the add-on that defines it is disabled, or None."""
    value = owner.get(name)
    if value is None and hasattr(owner, "bl_system_properties_get"):  # 5.0
        value = (owner.bl_system_properties_get() or {}).get(name)
    return value


def stored_of_each(owners: Iterable[Any], name: str) -> list[Any]:
    return [stored(owner, name) for owner in owners]


# Nodes


def modifier_input(modifier: Any, name: str) -> Any:
    """The value of an input of a modifier's node group."""
    key = _input_key(modifier, name)
    if bpy.app.version >= (5, 2):
        return getattr(modifier.properties.inputs, key).value
    return modifier[key]


def set_modifier_input(modifier: Any, name: str, value: Any) -> None:
    key = _input_key(modifier, name)
    if bpy.app.version >= (5, 2):
        getattr(modifier.properties.inputs, key).value = value
    else:
        modifier[key] = value


def property_of_input(modifier: Any, name: str) -> tuple[Any, str]:
    """The owner and the data path of an input's value, for drivers."""
    key = _input_key(modifier, name)
    if bpy.app.version >= (5, 2):
        return getattr(modifier.properties.inputs, key), "value"
    return modifier, f'["{key}"]'


def _input_key(modifier: Any, name: str) -> str:
    group = modifier.node_group
    sockets = group.interface.items_tree if hasattr(group, "interface") else group.inputs  # 4.0
    return next(socket.identifier for socket in sockets if socket.name == name)


# Drivers


def follow_scene(
    variable: bpy.types.DriverVariable, scene: bpy.types.Scene, path: str, fallback: float
) -> None:
    """Let a driver's variable have a property of the evaluated scene; before 4.2, of this scene."""
    target: Any = variable.targets[0]
    if HAS_CONTEXT_VARIABLES:
        variable.type, target = "CONTEXT_PROP", variable.targets[0]  # type: ignore[assignment]
        target.context_property = "ACTIVE_SCENE"
        target.use_fallback_value, target.fallback_value = True, fallback
    else:
        target.id_type, target.id = "SCENE", scene
    target.data_path = path


# The user's language


def reports_are_translated() -> bool:
    view = bpy.context.preferences.view
    return getattr(view, "use_translate_reports", view.use_translate_tooltips)  # 4.1
