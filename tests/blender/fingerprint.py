# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole content of the file as one dictionary: equal before and after means unchanged.

Walks Blender's own description of its data (RNA), so that nothing has to be listed here.
"""

import hashlib

import bpy
import numpy as np

# Not content: where things lie, how often they are used, what was computed.
_LEFT_OUT = {
    "is_runtime_data",
    "rna_type",
    "original",
    "users",
    "session_uid",
    "session_uuid",
    "is_evaluated",
    "is_updated",
    "is_updated_data",
    "bl_rna",
    "preview",
    "tag",
    "mmdskin",
    "mmd_root",  # mmd_tools computes these when they are read
    "mmd_bone",
    "mmd_rigid",
    "mmd_joint",
    "mmd_camera",
    "mmd_light",
    "mmd_material",
    "dimensions",
    "bound_box",
    "execution_time",
    "group",  # of an F-curve: leads back to all its neighbors
    "storage_type",
    "persistent_uid",
    # walking these crashes 3.4
    "internal_links",
    "to_socket",
    "from_socket",
    "node",
    "to_node",
    "from_node",
    # views of what the attributes hold
    "vertex_normals",
    "polygon_normals",
    "corner_normals",
    "loop_triangle_polygons",
    "loop_triangles",
    "edges",
    "loops",
    "polygons",
    "uv_layers",
    "vertex_colors",
    "color_attributes",
    "skin_vertices",
    "active_clone_uv_layer_index",
}
_KINDS = (
    "objects",
    "meshes",
    "armatures",
    "lights",
    "actions",
    "node_groups",
    "materials",
    "collections",
    "texts",
)
_BULK = ("co", "vector", "value", "color", "uv")
# Told by name where something leads to them, and whole at one place.
_BONES = (bpy.types.Bone, bpy.types.PoseBone)
_PANELS = tuple(filter(None, [getattr(bpy.types, "NodeTreeInterfacePanel", None)]))  # since 4.0
_NAMED = (bpy.types.ID, bpy.types.ShapeKey, *_BONES, *_PANELS)
_PLACES_OF_BONES = (".bones", ".pose.bones")


def of_file():
    """{kind/name: text} of every datablock in the file."""
    found = {}
    for kind in _KINDS:
        for block in getattr(bpy.data, kind):
            if not block.users:
                continue  # what Blender forgets when it saves
            found[f"{kind}/{block.name_full}"] = of(block)
            keys = getattr(block, "shape_keys", None)
            if keys:
                found[f"{kind}/{block.name_full}/keys"] = of(keys)
    for scene in bpy.data.scenes:
        at = f"frame {scene.frame_current} {scene.frame_subframe}"
        found[f"scenes/{scene.name}"] = f"{at} {scene.frame_start} {scene.frame_end}"
    return found


def of(block):
    lines = []
    _walk(block, "", lines, 0)
    if hasattr(block, "keys"):
        lines += sorted(
            f"[{key}] {_plain(value)}" for key, value in block.items() if key != "mmdskin"
        )
    if isinstance(block, bpy.types.Mesh):
        weights = [(v.index, g.group, g.weight) for v in block.vertices for g in v.groups]
        lines.append(f"weights {hashlib.sha256(repr(weights).encode()).hexdigest()}")
    return "\n".join(lines)


def differences(before, after):
    """Readable lines for the differences."""
    lines = [f"{name}: only before" for name in before.keys() - after.keys()]
    lines += [f"{name}: only after" for name in after.keys() - before.keys()]
    for name in before.keys() & after.keys():
        old, new = (set(state[name].splitlines()) for state in (before, after))
        lines += [f"{name}: was {line}" for line in sorted(old - new)]
        lines += [f"{name}: is {line}" for line in sorted(new - old)]
    return lines


def _walk(struct, path, lines, depth):
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in _LEFT_OUT or (name == "name" and depth == 0):
            continue
        here = f"{path}.{name}"
        try:
            value = getattr(struct, name)
        except (AttributeError, RuntimeError, TypeError):
            continue
        except UnicodeDecodeError:  # in Blender 4.2, once in three runs of all cases
            lines.append(f"{here} is not UTF-8")
            continue
        if prop.type == "COLLECTION":
            _collection(value, here, lines, depth)
        elif prop.type == "POINTER":
            if value is None or isinstance(value, _NAMED):
                lines.append(f"{here} {value and value.name}")
                if isinstance(value, bpy.types.NodeTree) and depth == 0:
                    _walk(value, here, lines, depth + 1)
            elif depth < 7 and value.bl_rna.identifier not in {
                "Context",
                "Depsgraph",
                "View3DShading",
            }:
                _walk(value, here, lines, depth + 1)
        else:
            lines.append(f"{here} {_plain(value)}")


def _collection(items, path, lines, depth):
    lines.append(f"{path} {len(items)} items")
    if not len(items) or depth > 6:
        return
    first = items[0]
    if isinstance(first, bpy.types.ID):
        lines.append(f"{path} {[item.name_full for item in items]}")
        return
    if isinstance(first, _BONES) and path not in _PLACES_OF_BONES:
        lines.append(f"{path} {[item.name for item in items]}")
        return
    bulk = next((n for n in _BULK if n in first.bl_rna.properties and len(items) > 64), None)
    if bulk:
        prop = first.bl_rna.properties[bulk]
        kind = {"FLOAT": np.float32, "INT": np.int32, "BOOLEAN": bool}.get(prop.type)
        if kind:
            width = max(1, prop.array_length)
            values = np.empty(len(items) * width, kind)
            items.foreach_get(bulk, values)
            lines.append(f"{path}.{bulk} {hashlib.sha256(values.tobytes()).hexdigest()}")
            return
    if len(items) > 2000:
        return
    for number, item in enumerate(items):
        if item is not None and hasattr(item, "bl_rna"):
            _walk(item, f"{path}[{number}]", lines, depth + 1)


def _plain(value):
    if hasattr(value, "to_dict"):
        return sorted(value.to_dict().items(), key=str)
    if hasattr(value, "to_list"):
        return value.to_list()
    if isinstance(value, (str, int, float, bool, set, type(None))):
        return sorted(value) if isinstance(value, set) else value
    try:
        return [_plain(item) for item in value]
    except TypeError:
        return str(type(value))
