# SPDX-License-Identifier: GPL-3.0-or-later
"""One sentence about a model: what is shown, where it comes from, and what to do next."""

import os

from bpy.types import Object

from ..bake import bake_state
from ..blender import actions
from ..blender.translations import tr
from ..pose import driving_rig, earlier_motions, ik_source
from ..preview import override, switch
from ..scene import scene_model


def of_model(model: scene_model.SceneModel) -> str:
    if any(bake_state.is_baked(obj) for obj in model.meshes):
        return tr("Shows the bake. Export it, or use Clear Bake to change the pose")
    if not any(switch.is_live(obj) for obj in model.meshes):
        return tr("Shows Blender's deformation. Turn MMD Skinning on to see MMD's")
    if override.is_linked(model):
        return tr(
            "Shows the model of '{file}', live. Make a library override to pose it here",
            file=override.file_of(model),
        )
    settings = model.armature.mmdskin
    if settings.source == "MOTION":
        if not settings.motion_path:
            return tr("Shows the rest pose. Choose a motion file")
        earlier = earlier_motions.read(settings.motion_earlier, "")
        paths = [*(path for path, _ in earlier), settings.motion_path]
        names = [os.path.basename(path.replace("\\", "/")) for path in paths]
        return tr("Shows '{file}', live. Play it, or bake or export it", file=", ".join(names))
    if settings.source == ik_source.SOURCE:
        return tr("Shows the armature's keyframes with MMD's IK. Pose, bake or export it")
    if settings.source == driving_rig.SOURCE and settings.driving_rig is not None:
        return tr(
            "Follows '{name}', live. Pose that armature, or bake", name=settings.driving_rig.name
        )
    if _is_animated(model.armature):
        return tr("Shows the armature's animation. Play it, or bake or export it")
    return tr("Shows the armature's pose. Pose its bones, or import a motion")


def _is_animated(armature: Object) -> bool:
    data = armature.animation_data
    return data is not None and (
        actions.assigned(armature)[0] is not None or len(data.nla_tracks) > 0
    )
