# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone of an armature is which part of a human: kept in `armature.mmdskin.bone_map`."""

import importlib
from typing import Any

import bpy
from bpy.types import Context, Object, Operator

from ..blender import native, registration
from ..blender.user_error import UserError, cancels
from ..scene import names, skeletons


class _MapOperator:
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.active_object is not None and context.active_object.type == "ARMATURE"

    @cancels
    def execute(self, context: Context) -> set[Any]:
        self._change(context.active_object)
        check(context.active_object)
        return {"FINISHED"}


class MMDSKIN_OT_map_bones(_MapOperator, Operator):
    """Find which bone of the armature is which part of a human, by names and by structure"""

    bl_idname = "mmdskin.map_bones"
    bl_label = "Automatic"

    def _change(self, armature: Object) -> None:
        world = skeletons.world(armature)
        armature.mmdskin.bone_map.clear()
        found = skeletons.skeleton(armature, world)
        bones = dict(found.human)
        if found.spine:
            bones |= {"spine": found.spine[0], "upperChest": found.spine[-1]}
        for slot in _slots():
            item = armature.mmdskin.bone_map.add()
            item.name = slot
            item["bone"] = found.names[bones[slot]] if slot in bones else ""


class MMDSKIN_OT_mirror_bone_map(_MapOperator, Operator):
    """Map the bones of the right side as those of the left"""

    bl_idname = "mmdskin.mirror_bone_map"
    bl_label = "Mirror"

    def _change(self, armature: Object) -> None:
        items = armature.mmdskin.bone_map
        if not len(items):
            raise UserError("The armature has no map yet: use Automatic first")
        others = names.side_pairs(armature.data.bones.keys())
        for item in items:
            other = items.get("right" + item.name.removeprefix("left"))
            if other is not None and item.name.startswith("left"):
                other["bone"] = others.get(item.bone, "") or _right(item.bone, armature)


def check(armature: Object) -> None:
    """Note which slots are doubtful, and why."""
    try:
        doubts = skeletons.skeleton(armature, skeletons.world(armature)).doubts
    except UserError as error:
        doubts = {"hips": str(error)}
    for item in armature.mmdskin.bone_map:
        item["doubt"] = doubts.get(item.name, "")
    for obj in bpy.data.objects:
        if obj.type == "ARMATURE" and obj.mmdskin.driving_rig == armature:
            obj.update_tag()  # the model follows the new map


def title(slot: str) -> str:
    """The name of a slot as words, as other programs show them: Left Upper Arm."""
    return "".join(f" {one}" if one.isupper() else one for one in slot).title()


def _slots() -> tuple[str, ...]:
    native.load()
    module = importlib.import_module("mmdskin.retargeting.slots")
    (lowest, _, highest), (hips, *others) = module.SPINE, module.SLOTS
    return (hips, lowest, highest, *others)


def _right(name: str, armature: Object) -> str:
    """The bone whose name has "right" where another has "left" inside, "" for none."""
    turned = name.replace("left", "right").replace("Left", "Right").replace("LEFT", "RIGHT")
    return turned if turned != name and turned in armature.data.bones else ""


register, unregister = registration.functions(__name__)
