# SPDX-License-Identifier: GPL-3.0-or-later
"""The model that the panels show, looked for only after the scene has changed.

Finding it takes a look at every object, which is slow in a large scene, and Blender redraws panels
on every frame of a playback and on every step of a drag.
"""

import functools
from typing import NamedTuple

from bpy.app.handlers import persistent
from bpy.types import Context, Depsgraph, Object, Scene, ViewLayer

from ..blender import registration
from ..blender.blender_versions import identity
from ..blender.user_error import UserError
from ..scene import scene_model, sliders


class _Found(NamedTuple):
    key: tuple[int, ...]
    model: scene_model.SceneModel | None
    error: UserError | None

    @property
    def own(self) -> set[Object]:
        """The objects that may change without another model being found."""
        if self.model is None:
            return set()
        return {*self.model.meshes, *scene_model.ancestors(self.model.armature)}


_found: _Found | None = None
_last: "_Shown | None" = None  # of the last redraw


def find(active: Object | None, view_layer: ViewLayer) -> _Found:
    """As `scene_model.model_of`: the model, or the error."""
    global _found
    key = _key(active, view_layer)
    if _found is None or _found.key != key or not _is_still_valid(_found, active):
        try:
            _found = _Found(key, scene_model.model_of(active, view_layer), None)
        except UserError as error:
            _found = _Found(key, None, error)
    return _found


def _key(active: Object | None, view_layer: ViewLayer) -> tuple[int, ...]:
    """Equal while the same object is active and there are as many objects."""
    number = identity(active) if active is not None else 0
    return number, view_layer.as_pointer(), len(view_layer.objects)


def _is_still_valid(found: _Found, active: Object | None) -> bool:
    """Whether the objects still form that model."""
    if found.model is None:
        return True
    name, armature, meshes = found.model
    try:
        root = scene_model.root_of(armature)
        return (
            name == (root or armature).name
            and scene_model.root_of(active) == root
            and all(scene_model.armature_modifiers(obj, armature) for obj in meshes)
        )
    except ReferenceError:  # removed
        return False


class _Shown:
    """What all panels of one redraw show: the model of the active object, or why there is none."""

    def __init__(self, context: Context) -> None:
        self.key = _redraw_key(context)
        _, self.model, self.error = find(context.active_object, context.view_layer)

    @functools.cached_property
    def sliders(self) -> dict[str, list[sliders.Slider]]:
        return sliders.by_panel(self.model) if self.model is not None else {}


def _redraw_key(context: Context) -> tuple[int, int]:
    active = context.active_object
    return identity(active) if active is not None else 0, context.view_layer.as_pointer()


def of_redraw(context: Context, is_first: bool = False) -> _Shown:
    """Made once per redraw, by the panel that is drawn first."""
    global _last
    if is_first or _last is None or _last.key != _redraw_key(context):
        _last = _Shown(context)
    return _last


def shown(context: Context) -> scene_model.SceneModel | None:
    return of_redraw(context).model


@persistent
def _forget(*_: object) -> None:
    global _found, _last
    _found = _last = None


@persistent
def _forget_after_change(_: Scene, depsgraph: Depsgraph) -> None:
    """Look again after a change of any object that is not of the model."""
    if _found is None or not depsgraph.id_type_updated("OBJECT"):
        return  # finding the updates takes long in large scenes
    try:
        own = _found.own
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
