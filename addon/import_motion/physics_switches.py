# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics switches that keyframes animate: custom properties of bones.

When a file is opened, bones of a library override lose custom properties that its library lacks, but
their keyframes stay. The switches are then added again.
"""

import bpy
from bpy.app.handlers import persistent

from ..blender import registration
from ..blender.translations import tr
from ..scene import saved_state, sliders
from ..scene.names import PHYSICS
from .record import MotionState


def add(bone: bpy.types.PoseBone) -> None:
    """Add the switch of a bone, if missing."""
    if PHYSICS not in bone:
        bone[PHYSICS] = True
        text = tr("Rigid bodies move this bone in simulations; if off, they follow it")
        bone.id_properties_ui(PHYSICS).update(description=text, default=True)
        bone.property_overridable_library_set(sliders.path(PHYSICS), True)


@persistent
def recover(*_: object) -> None:
    for obj in bpy.data.objects:
        if obj.override_library and obj.pose and saved_state.is_own(obj, saved_state.MOTION):
            lost = [name for name in MotionState.read(obj).physics if _lacks(obj, name)]
            for name in lost:
                add(obj.pose.bones[name])
            if lost:
                obj.update_tag(refresh={"OBJECT", "DATA", "TIME"})


def _lacks(armature: bpy.types.Object, name: str) -> bool:
    bone: bpy.types.PoseBone | None = armature.pose.bones.get(name)
    return bone is not None and PHYSICS not in bone


_HANDLERS = (("load_post", recover),)


def register() -> None:
    registration.add_handlers(_HANDLERS)
    registration.run_once_enabled(recover)


def unregister() -> None:
    registration.cancel(recover)
    registration.remove_handlers(_HANDLERS)
