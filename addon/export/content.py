# SPDX-License-Identifier: GPL-3.0-or-later
"""What an export of models would show: how they were baked, which frames, which objects."""

from typing import NamedTuple

import bpy

from .. import actions
from ..bake import record
from ..preview import switch
from ..user_error import UserError


class Content(NamedTuple):
    kind: str  # the target of the bake, or "LIVE"
    objects: tuple
    frames: tuple  # the first and the last
    moves: bool
    keyed: bool  # keyframes move the baked keys and the armatures

    @property
    def skinned(self):
        """Whether the armature goes along and moves the mesh."""
        return self.kind == "CORRECTIVE"


def of(models, scene):
    """The Content of models; UserError where their parts do not show MMD's deformation alike."""
    states = [record.of(obj) for model in models for obj in model.meshes]
    states = [state for state in states if state]
    kinds = {state["target"] for state in states}
    for model in models:
        if not any(record.STATE in obj for obj in model.meshes):
            if not any(switch.is_live(obj) for obj in model.meshes):
                raise UserError(
                    "'{name}' is neither baked nor live: bake it first", name=model.name
                )
            kinds.add("LIVE")
    if len(kinds) > 1:
        raise UserError(
            "The models are baked in several ways: bake them alike, or export one alone"
        )
    kind = kinds.pop()
    objects = [obj for model in models for obj in model.meshes]
    if kind == "CORRECTIVE":
        objects += [model.armature for model in models]
    ranges = [state["frames"] for state in states if state["frames"]]
    if kind == "LIVE":
        ranges = [(scene.frame_start, scene.frame_end)]
    if not ranges and kind == "CORRECTIVE":
        ranges = [
            (scene.frame_current,) * 2
        ]  # files hold the armature at rest, and poses in frames
    keyed = all("curves" in state or not state["keys"] for state in states)
    keyed = keyed and all(actions.held(model.armature)[0] for model in models)
    if not ranges:
        return Content(kind, tuple(objects), (scene.frame_current,) * 2, False, keyed)
    firsts, lasts = zip(*ranges, strict=True)
    return Content(kind, tuple(objects), (min(firsts), max(lasts)), True, keyed)


def left_out(shown):
    """(object, names of modifiers) that act on the mesh beside the armature's."""
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
