# SPDX-License-Identifier: GPL-3.0-or-later
"""What an export of models contains: kind of bake, frames and objects."""

from typing import NamedTuple

import bpy

from ..bake import bake_state
from ..blender import actions
from ..blender.user_error import UserError
from ..preview import switch
from ..scene import scene_model


class Content(NamedTuple):
    kind: str  # the target of the bake, or "LIVE"
    objects: tuple
    frames: tuple  # first and last
    moves: bool
    keyed: bool  # keyframes move the baked keys and the armatures
    samples: int = 1  # per frame

    @property
    def skinned(self) -> bool:
        """Whether the armature is exported and deforms the mesh."""
        return self.kind == "CORRECTIVE"


def content_of(models: list[scene_model.SceneModel], scene: bpy.types.Scene) -> Content:
    """The Content of models; UserError if they do not show MMD's deformation in the same way."""
    states = [bake_state.state_of(obj) for model in models for obj in model.meshes]
    states = [state for state in states if state]
    kinds = {state.target for state in states}
    for model in models:
        if not any(bake_state.is_baked(obj) for obj in model.meshes):
            check_shown(model)
            kinds.add("LIVE")
    if len(kinds) > 1:
        raise UserError(
            "The models are baked to different targets: bake all to the same one, or"
            " export them one by one"
        )
    kind = kinds.pop()
    objects = [obj for model in models for obj in model.meshes]
    if kind == "CORRECTIVE":
        objects += [model.armature for model in models]
    ranges = [tuple(state.frames) for state in states if state.frames]
    if kind == "LIVE":
        ranges = [(scene.frame_start, scene.frame_end)]
    if not ranges and kind == "CORRECTIVE":
        ranges = [
            (scene.frame_current,) * 2
        ]  # files store the armature at rest, and poses per frame
    keyed = all(state.is_keyed or not state.keys for state in states)
    keyed = keyed and all(actions.assigned(model.armature)[0] for model in models)
    if not ranges:
        return Content(kind, tuple(objects), (scene.frame_current,) * 2, False, keyed)
    firsts, lasts = zip(*ranges, strict=True)
    samples = max((state.samples for state in states), default=1)
    return Content(kind, tuple(objects), (min(firsts), max(lasts)), True, keyed, samples)


def check_shown(model: scene_model.SceneModel) -> None:
    """UserError if a model does not show MMD's deformation."""
    if not any(bake_state.is_baked(obj) or switch.is_live(obj) for obj in model.meshes):
        raise UserError(
            "'{name}' is not baked and MMD Skinning is off: bake it first", name=model.name
        )


def left_out(shown: Content) -> list[tuple[bpy.types.Object, list[str]]]:
    """(object, names of its modifiers other than Armature) that change the mesh."""
    found = [
        (
            obj,
            [
                modifier.name
                for modifier in obj.modifiers
                if modifier.type != "ARMATURE" and (modifier.show_viewport or modifier.show_render)
            ],
        )
        for obj in shown.objects
        if isinstance(obj.data, bpy.types.Mesh)
    ]
    return [(obj, names) for obj, names in found if names]
