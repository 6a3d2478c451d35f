# SPDX-License-Identifier: GPL-3.0-or-later
"""The model that the panels show, looked for only after the scene has changed.

Finding it takes a look at every object, which is slow in a large scene, and Blender redraws panels
on every frame of a playback and on every step of a drag.
"""

import functools

from bpy.app.handlers import persistent
from bpy.types import Context, Depsgraph, Object, Scene

from ..blender import registration
from ..blender.blender_versions import identity
from ..blender.user_error import UserError
from ..scene import scene_model, sliders


class _Shown:
    """What all panels of one redraw show: the model of the active object, or why there is none."""

    def __init__(self, context: Context) -> None:
        self.place, self._count = _place(context), len(context.view_layer.objects)
        self.model: scene_model.SceneModel | None = None
        self.error: UserError | None = None
        try:
            self.model = scene_model.model_of(context.active_object, context.view_layer)
        except UserError as error:
            self.error = error

    @functools.cached_property
    def sliders(self) -> dict[str, list[sliders.Slider]]:
        """As they are in this redraw."""
        return sliders.by_panel(self.model) if self.model is not None else {}

    @property
    def own(self) -> set[Object]:
        """The objects that may change without another model being found."""
        if self.model is None:
            return set()
        return {*self.model.meshes, *scene_model.ancestors(self.model.armature)}

    def is_still_valid(self, context: Context) -> bool:
        """Whether there are as many objects, and they still form that model."""
        if self._count != len(context.view_layer.objects):
            return False
        if self.model is None:
            return True
        name, armature, meshes = self.model
        try:
            root = scene_model.root_of(armature)
            return (
                name == (root or armature).name
                and scene_model.root_of(context.active_object) == root
                and all(scene_model.armature_modifiers(obj, armature) for obj in meshes)
            )
        except ReferenceError:  # removed
            return False


_shown: _Shown | None = None


def _place(context: Context) -> tuple[int, int]:
    active = context.active_object
    return identity(active) if active is not None else 0, context.view_layer.as_pointer()


def of_redraw(context: Context, is_first: bool = False) -> _Shown:
    """Checked once per redraw, by the panel that is drawn first."""
    global _shown
    known = _shown if _shown is not None and _shown.place == _place(context) else None
    if known is None or (is_first and not known.is_still_valid(context)):
        known = _shown = _Shown(context)
    elif is_first:
        vars(known).pop("sliders", None)
    return known


def shown(context: Context) -> scene_model.SceneModel | None:
    return of_redraw(context).model


@persistent
def _forget(*_: object) -> None:
    global _shown
    _shown = None


@persistent
def _forget_after_change(_: Scene, depsgraph: Depsgraph) -> None:
    """Look again after a change of any object that is not of the model."""
    if _shown is None or not depsgraph.id_type_updated("OBJECT"):
        return  # finding the updates takes long in large scenes
    try:
        own = _shown.own
    except ReferenceError:  # removed
        own = set()
    changed = (update.id.original for update in depsgraph.updates)
    if any(isinstance(one, Object) and one not in own for one in changed):
        _forget()


_HANDLERS = (
    ("depsgraph_update_post", _forget_after_change),
    *((name, _forget) for name in ("load_pre", "undo_pre", "undo_post", "redo_pre", "redo_post")),
)
register, unregister = registration.handlers(_HANDLERS, afterwards=_forget)
