# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics switches that keyframes animate: custom properties of bones.

When a file is opened or a library reloaded, bones of a library override lose custom properties that
the library lacks, but their keyframes stay. The switches are then added again.
"""

from collections.abc import Iterable

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..blender.translations import tr
from ..blender.user_error import UserError
from ..scene import saved_state, sliders
from ..scene.names import PHYSICS
from .import_state import MotionState


def add(bone: bpy.types.PoseBone) -> None:
    """Add the switch of a bone, if missing."""
    if PHYSICS not in bone:
        bone[PHYSICS] = True
        text = tr("Rigid bodies move this bone in simulations; if off, they follow it")
        bone.id_properties_ui(PHYSICS).update(description=text, default=True)
        bone.property_overridable_library_set(sliders.path(PHYSICS), True)


@persistent
def recover(*_: object) -> None:
    _recover(bpy.data.objects)


@persistent
def _follow(_: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """After a library was reloaded, for which Blender has no handler, its overrides are updated."""
    if not bpy.data.libraries:  # finding the updates takes long in large scenes
        return
    updated = (update.id for update in depsgraph.updates)
    _recover(block.original for block in updated if isinstance(block, bpy.types.Object))


def _recover(objects: Iterable[bpy.types.Object]) -> None:
    for obj in objects:
        if obj.override_library and obj.pose and saved_state.is_own(obj, saved_state.MOTION):
            try:
                physics = MotionState.read(obj).physics
            except UserError:  # saved by a newer version
                continue
            lost = [name for name in physics if _lacks(obj, name)]
            for name in lost:
                add(obj.pose.bones[name])
            if lost:
                obj.update_tag(refresh={"OBJECT", "DATA", "TIME"})


def _lacks(armature: bpy.types.Object, name: str) -> bool:
    bone: bpy.types.PoseBone | None = armature.pose.bones.get(name)
    return bone is not None and PHYSICS not in bone


_HANDLERS = (("load_post", recover), ("depsgraph_update_post", _follow))
register, unregister = registration.handlers(_HANDLERS, once_enabled=recover)
