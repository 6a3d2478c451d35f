# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground shadow of a mesh object: a follower, and the attribute that it reads."""

import bpy
import numpy as np

from ..scene import material_values
from . import edges, followers, ground_nodes


def add(scene: bpy.types.Scene, obj: bpy.types.Object) -> None:
    """Add the ground shadow of a mesh object; none if no material casts one."""
    if followers.find(obj, followers.GROUND) is not None:
        return
    mesh = obj.data
    values = [material_values.read(material) for material in mesh.materials]
    casts = [float(one.casts_ground_shadow) if one else 0.0 for one in values]
    if any(casts) and len(mesh.polygons):
        _clear(mesh)
        faces = edges.per_face(mesh, casts)
        edges.put(mesh, ground_nodes.CASTS, "FACE", faces.astype(np.float32))
        followers.new(scene, obj, followers.GROUND, ground_nodes.group(scene))


def remove(obj: bpy.types.Object) -> None:
    """Remove the ground shadow of a mesh object and what it needs of the mesh."""
    found = followers.find(obj, followers.GROUND)
    if found is not None:
        followers.remove(found)
        _clear(obj.data)
    ground_nodes.drop_unused()


def _clear(mesh: bpy.types.ID) -> None:
    if ground_nodes.CASTS in mesh.attributes:
        mesh.attributes.remove(mesh.attributes[ground_nodes.CASTS])
