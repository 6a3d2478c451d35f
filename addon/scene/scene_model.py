# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of the scene that form an MMD model."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bpy.types import ArmatureModifier, Context, Key, Object, ViewLayer

from ..blender.user_error import UserError
from . import mmd_tools, saved_state

DISPLAY = "mmdskin_display"  # custom property of armatures that only show the pose of a model


class SceneModel(NamedTuple):
    name: str
    armature: Object | None  # None only for models from `models_without_armature`
    meshes: tuple  # the mesh objects that the armature deforms

    @property
    def is_linked(self) -> bool:
        """Whether the armature can only be changed in its own file."""
        return self.armature is not None and self.armature.library is not None


def model_of(obj: Object | None, view_layer: ViewLayer) -> SceneModel:
    """The SceneModel that `obj` belongs to: its root, armature, a mesh, rigid body or joint."""
    if obj is None:
        raise UserError("No active object: select an object of an MMD model")
    root = root_of(obj)
    armature = _armature_below(root) if root else _armature_of(obj)
    own = _own_armature(obj)
    if own not in (None, armature):  # of a copy whose root was not copied
        model = _described(own, root, view_layer)
        if model.meshes:
            return model
    if armature is None:
        for shown in instanced(obj):
            words = {"name": obj.name, "model": shown.name}
            if shown.is_linked:
                raise UserError(
                    "'{name}' is an instance of the linked model '{model}': use Make Library Override"
                    " first",
                    **words,
                )
            raise UserError(
                "'{name}' is an instance of '{model}': select the model itself", **words
            )
        name = (root or obj).name
        raise UserError("'{name}' has no armature: select an object of an MMD model", name=name)
    model = _described(armature, root, view_layer)
    if not model.meshes:
        raise UserError(
            "'{name}' has no mesh with an Armature modifier for '{armature}'",
            name=model.name,
            armature=armature.name,
        )
    return model


def active_model(context: Context) -> SceneModel:
    """The model of the active object, for what moves bones: an armature need not have a mesh."""
    obj = context.active_object
    try:
        return model_of(obj, context.view_layer)
    except UserError:
        if obj is None or obj.type != "ARMATURE":
            raise
        return SceneModel(obj.name, obj, ())


def models_without_armature(objects: Iterable[Object | None]) -> list[SceneModel]:
    """Mesh objects with the add-on's data whose armature was removed, as models whose armature is None."""
    return [
        SceneModel(obj.name, None, (obj,))
        for obj in objects
        if obj is not None
        and obj.type == "MESH"
        and (saved_state.PREVIEW in obj or saved_state.is_baked(obj))
        and not armature_modifiers(obj)
    ]


def selected_models(context: Context, first: SceneModel | None = None) -> list[SceneModel]:
    """The active object's model, or `first`, then those of other selected objects, each once.

    Objects in another mode than the active one, such as models beside one in Pose Mode, do not count.
    """
    active = context.active_object
    first = first or model_of(active, context.view_layer)
    found = {first.armature: first}
    root = root_of(first.armature)
    known = {root}
    for obj in context.selected_objects:
        above = root_of(obj)
        if obj.mode != active.mode or (root and above in (None, *known)):
            continue
        known.add(above)
        with contextlib.suppress(UserError):
            model = model_of(obj, context.view_layer)
            found.setdefault(model.armature, model)
    return list(found.values())


def all_models(view_layer: ViewLayer) -> list[SceneModel]:
    """Every model; without any MMD root, every armature that deforms a mesh."""
    modifiers = (one for obj in _mesh_objects(view_layer) for one in armature_modifiers(obj))
    found = {modifier.object: root_of(modifier.object) for modifier in modifiers}
    if any(found.values()):
        found = {armature: root for armature, root in found.items() if root}
    if not found:
        raise UserError("This scene has no MMD model: no armature deforms a mesh")
    return [_described(armature, root, view_layer) for armature, root in found.items()]


def check_editable(armature: Object) -> None:
    """UserError if the pose of an armature can only be changed in another file."""
    override = armature.override_library
    if armature.library or (override and override.is_system_override):
        raise needs_override(armature.name)


def needs_override(name: str) -> UserError:
    """The error where something linked would be changed."""
    return UserError(
        "'{name}' is linked from another file: make a library override first", name=name
    )


def needs_local(name: str) -> UserError:
    """The error where something linked would be changed that an override cannot have."""
    return UserError(
        "'{name}' is linked from another file: append it or make it local first", name=name
    )


def instanced(obj: Object | None) -> list[SceneModel]:
    """The models that an object shows as an instance of a collection."""
    collection = obj.instance_collection if obj is not None else None
    if collection is None or obj.instance_type != "COLLECTION":
        return []
    found: dict[Object, list[Object]] = {}
    for one in collection.all_objects:
        for modifier in armature_modifiers(one) if one.type == "MESH" else ():
            found.setdefault(modifier.object, []).append(one)
    return [
        SceneModel((root_of(armature) or armature).name, armature, tuple(dict.fromkeys(meshes)))
        for armature, meshes in found.items()
    ]


def ancestor_with(obj: Object, name: str) -> Object | None:
    """The object or its nearest ancestor that has a custom property."""
    return next((above for above in ancestors(obj) if name in above), None)


def armature_modifiers(obj: Object, armature: Object | None = None) -> list[ArmatureModifier]:
    """The Armature modifiers of a mesh object that use `armature` (or any)."""
    return [
        modifier
        for modifier in obj.modifiers
        if modifier.type == "ARMATURE"
        and modifier.object
        and (armature is None or modifier.object == armature)
    ]


def shape_keys(meshes: Iterable[Object]) -> list[Key]:
    """The shape keys of mesh objects, each once."""
    return [keys for keys in dict.fromkeys(obj.data.shape_keys for obj in meshes) if keys]


def _described(armature: Object, root: Object | None, view_layer: ViewLayer) -> SceneModel:
    return SceneModel((root or armature).name, armature, meshes_of(armature, view_layer))


def meshes_of(armature: Object, view_layer: ViewLayer) -> tuple:
    """The mesh objects of a view layer that an armature object deforms."""
    return tuple(obj for obj in _mesh_objects(view_layer) if armature_modifiers(obj, armature))


def _mesh_objects(view_layer: ViewLayer) -> Iterator[Object]:
    # Until the next update, the layer has None for objects that `bpy.data.batch_remove` removed.
    return (obj for obj in view_layer.objects if obj and obj.type == "MESH")


def ancestors(obj: Object | None) -> Iterator[Object]:
    """The object, its parent and so on."""
    while obj is not None:
        yield obj
        obj = obj.parent


def root_of(obj: Object) -> Object | None:
    """The root object of the model that an object belongs to."""
    return next((ancestor for ancestor in ancestors(obj) if mmd_tools.is_root(ancestor)), None)


def _own_armature(obj: Object) -> Object | None:
    """The object itself if it is an armature, or the armature of its first Armature modifier."""
    if obj.type == "MESH":
        obj = next((modifier.object for modifier in armature_modifiers(obj)), obj)
    return obj if _is_armature(obj) else None


def _armature_of(obj: Object) -> Object:
    above = _own_armature(obj) or next(filter(_is_armature, ancestors(obj)), None)
    return above or _armature_below([*ancestors(obj)][-1])


def _armature_below(obj: Object) -> Object | None:
    """The nearest armature among the descendants, level by level."""
    level = list(obj.children)
    while level:
        found = next(filter(_is_armature, level), None)
        if found is not None:
            return found
        level = [grandchild for child in level for grandchild in child.children]
    return None


def _is_armature(obj: Object) -> bool:
    """Whether it may be the armature of a model."""
    return obj.type == "ARMATURE" and DISPLAY not in obj
