# SPDX-License-Identifier: GPL-3.0-or-later
"""The model that the panels show, looked for only after the scene has changed.

Finding it takes a look at every object, which is slow in a large scene, and Blender redraws panels
on every frame of a playback and on every step of a drag.
"""

from typing import NamedTuple

from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Object, Scene, ViewLayer

from ..blender import registration
from ..blender.blender_versions import identity
from ..blender.user_error import UserError
from ..scene import scene_model


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


def model_of(active: Object | None, view_layer: ViewLayer) -> scene_model.SceneModel:
    """As `scene_model.model_of`."""
    global _found
    key = _key(active, view_layer)
    if _found is None or _found.key != key or not _is_still_valid(_found, active):
        try:
            _found = _Found(key, scene_model.model_of(active, view_layer), None)
        except UserError as error:
            _found = _Found(key, None, error)
    if _found.model is None:
        raise _found.error
    return _found.model


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


@persistent
def _forget(*_: object) -> None:
    global _found
    _found = None


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
