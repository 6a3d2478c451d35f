# SPDX-License-Identifier: GPL-3.0-or-later
"""What an export of models contains: kind of bake, frames and objects; and a scene that shows only that."""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import bpy
from bpy.types import Action, Context, Object, Scene

from ..bake import bake_state
from ..blender import actions, playhead, selection
from ..blender.user_error import UserError
from ..preview import switch
from ..scene import saved_state, scene_model


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


def content_of(models: list[scene_model.SceneModel], scene: Scene) -> Content:
    """The Content of models; UserError if they do not show MMD's deformation in the same way."""
    states = [bake_state.state_of(obj) for model in models for obj in model.meshes]
    states = [state for state in states if state]
    kinds = {state.target for state in states}
    for model in models:
        if not any(map(saved_state.is_baked, model.meshes)):
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
    keyed = all(state.is_keyed or not state.keys for state in states)
    keyed = keyed and all(actions.assigned(model.armature)[0] for model in models)
    # Files store the armature at rest, and poses per frame.
    moves = bool(ranges) or kind == "CORRECTIVE"
    firsts, lasts = zip(*(ranges or [(scene.frame_current,) * 2]), strict=True)
    samples = max((state.samples for state in states), default=1)
    return Content(kind, tuple(objects), (min(firsts), max(lasts)), moves, keyed, samples)


def check_shown(model: scene_model.SceneModel) -> None:
    """UserError if a model does not show MMD's deformation."""
    if not any(saved_state.is_baked(obj) or switch.is_live(obj) for obj in model.meshes):
        raise UserError(
            "'{name}' is not baked and MMD Skinning is off: bake it first", name=model.name
        )


def left_out(shown: Content) -> Iterator[tuple[Object, list[str]]]:
    """Each object with the names of its modifiers other than Armature that change the mesh."""
    for obj in shown.objects:
        used = [one for one in obj.modifiers if one.show_viewport or one.show_render]
        names = [one.name for one in used if one.type != "ARMATURE"]
        if names:
            yield obj, names


@contextlib.contextmanager
def prepared(context: Context, content: Content) -> Iterator[None]:
    """In the block, the objects of a Content are selected and the scene has its frame range."""
    layer, scene = context.view_layer, context.scene
    objects = [obj for obj in layer.objects if obj]
    for obj in content.objects:
        if obj not in objects:
            raise _is_hidden(obj)
    with playhead.restored(context), contextlib.ExitStack() as undo:
        undo.callback(layer.update)
        for obj in content.objects:
            _keep(undo, obj, "hide_viewport", "hide_select")
            undo.callback(obj.hide_set, obj.hide_get())
            for block in filter(None, (obj, getattr(obj.data, "shape_keys", None))):
                # Which an exporter may change.
                undo.callback(actions.assign, block, *actions.assigned(block))
        if not bpy.data.actions:  # the glTF exporter would treat the poses as rest poses
            undo.callback(bpy.data.actions.remove, bpy.data.actions.new("export"))
        undo.enter_context(selection.cleared(layer))
        for obj in content.objects:
            obj.hide_viewport = obj.hide_select = False
            obj.hide_set(False)
            obj.select_set(True)
            if not obj.select_get():
                raise _is_hidden(obj)
        layer.objects.active = content.objects[0]
        # The glTF exporter of 3.4 exports the frames of every action, even of other models.
        for block in [scene, *bpy.data.actions] if content.moves else []:
            _keep(undo, block, "frame_start", "frame_end")
            block.frame_start, block.frame_end = content.frames
            if isinstance(block, Action):
                _keep(undo, block, "use_frame_range")
                block.use_frame_range = True
        yield


def _keep(undo: contextlib.ExitStack, owner: Any, *names: str) -> None:
    for name in names:
        undo.callback(setattr, owner, name, getattr(owner, name))


def _is_hidden(obj: Object) -> UserError:
    return UserError("The collection of '{name}' is hidden: show it first", name=obj.name)
