# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn the MMD Look of a model on and off: its materials, its edges and the scene's light."""

from collections.abc import Iterable
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Material, Object, Scene

from ..blender import blender_versions, playhead, registration
from ..blender.user_error import UserError
from ..scene import light, material_values, scene_model, textures
from . import edges, followers, ground, materials, shading

# The color management that shows colors as they are, which the look needs.
_UNCHANGED_COLORS: dict[str, Any] = {
    "view_transform": "Standard",
    "look": "None",
    "exposure": 0.0,
    "gamma": 1.0,
    "use_curve_mapping": False,
}


def is_on(model: scene_model.SceneModel) -> bool:
    """Whether any material of a model shows the look."""
    return any(materials.is_on(material) for material in _materials(model.meshes))


def prepare(model: scene_model.SceneModel) -> None:
    """UserError where the look of a model cannot be switched; changes nothing."""
    for block in (*model.meshes, *(obj.data for obj in model.meshes), *_materials(model.meshes)):
        if block.library or block.override_library:
            raise UserError(
                "'{name}' is linked from another file: turn the MMD Look on or off there, or"
                " append the model",
                name=block.name,
            )
    if not any(material_values.read(material) for material in _materials(model.meshes)):
        raise UserError("'{name}' has no MMD materials", name=model.name)


def enable(scene: Scene, model: scene_model.SceneModel, folder: textures.TextureFolder) -> None:
    """Turn the look of a model on; what is already on stays. The folder notes missing files."""
    playhead.keep_values(scene)
    for material in _materials(model.meshes):
        values = material_values.read(material)
        if values is not None and not materials.is_on(material):
            materials.enable(material, values, folder)
    for obj in model.meshes:
        edges.add(scene, obj)
    light.ensure(scene)


def disable(model: scene_model.SceneModel) -> None:
    """Turn the look of a model off, and restore every datablock."""
    playhead.keep_values(bpy.context.scene)
    for material in _materials(model.meshes):
        if materials.is_on(material):
            materials.disable(material)
    # Also of copies of the model, which have the same materials.
    sources = {source for one in followers.all_followers() if (source := followers.source_of(one))}
    dark = [obj for obj in sources if not any(map(materials.is_on, _materials([obj])))]
    for obj in dict.fromkeys([*model.meshes, *dark]):
        edges.remove(obj)
        ground.remove(obj)
    shading.drop_unused()
    for scene in bpy.data.scenes:
        meshes = (obj for obj in scene.objects if obj.type == "MESH")
        if light.DIRECTION in scene and not any(map(materials.is_on, _materials(meshes))):
            light.remove_unused(scene)


def edges_in_renders_only(armature: Object) -> bool:
    return any(not modifier.show_viewport for modifier in _modifiers_of_edges(armature))


def show_edges_in_renders_only(armature: Object, on: bool) -> None:
    """Edges take time in each update of the viewport."""
    for modifier in _modifiers_of_edges(armature):
        modifier.show_viewport = not on


def has_ground_shadow(armature: Object) -> bool:
    return bool(_followers(armature, followers.GROUND))


def show_ground_shadow(armature: Object, on: bool) -> None:
    """Add or remove the ground shadows of a model that has the look."""
    playhead.keep_values(bpy.context.scene)
    for obj in _meshes(armature):
        if on and is_on(scene_model.SceneModel(obj.name, armature, (obj,))):
            ground.add(bpy.context.scene, obj)
        elif not on:
            ground.remove(obj)


def has_self_shadow(armature: Object) -> bool:
    return any(map(materials.has_self_shadow, _materials(_meshes(armature))))


def show_self_shadow(armature: Object, on: bool) -> None:
    """Add or remove the self-shadow of a model that has the look."""
    playhead.keep_values(bpy.context.scene)
    for material in filter(materials.is_on, _materials(_meshes(armature))):
        if material.library:
            continue
        values = material_values.read(material)
        if on and values is not None and not materials.has_self_shadow(material):
            materials.enable_self_shadow(material, values)
        elif not on and materials.has_self_shadow(material):
            materials.disable_self_shadow(material)
    shading.drop_unused()


def changes_colors(scene: Scene) -> bool:
    settings = scene.view_settings
    return any(getattr(settings, name) != value for name, value in _UNCHANGED_COLORS.items())


def use_standard_colors(scene: Scene) -> None:
    for name, value in _UNCHANGED_COLORS.items():
        setattr(scene.view_settings, name, value)


def _meshes(armature: Object) -> tuple:
    return scene_model.meshes_of(armature, bpy.context.view_layer)


def _followers(armature: Object, kind: str) -> list[Object]:
    """The followers of the meshes that an armature object deforms."""
    return [
        one
        for one in followers.all_followers(kind)
        if (obj := followers.source_of(one)) and scene_model.armature_modifiers(obj, armature)
    ]


def _modifiers_of_edges(armature: Object) -> list[Any]:
    return [followers.modifier_of(one) for one in _followers(armature, followers.EDGES)]


def _materials(objects: Iterable[Object]) -> list[Material]:
    slots = (slot.material for obj in objects for slot in obj.material_slots)
    return list(dict.fromkeys(material for material in slots if material is not None))


# Edges follow the active camera, followers go with their mesh.


@persistent
def _follow(scene: Scene, depsgraph: Depsgraph | None = None) -> None:
    if depsgraph is None or blender_versions.regrouped(depsgraph):
        edges.follow_camera(scene)
        _stay_together()


def _stay_together() -> None:
    """Followers are in the collections of their mesh; those of a deleted mesh are deleted."""
    for follower in list(followers.all_followers()):
        if follower.library or follower.override_library:
            continue
        source = followers.source_of(follower)
        # An object that was deleted is in no collection; its followers still refer to it.
        if source is not None and source.users_collection:
            followers.stay_beside(follower, source)
            continue
        followers.remove(follower)
        if source is not None:
            edges.remove(source)
            ground.remove(source)
            if not source.users:
                bpy.data.objects.remove(source)


_HANDLERS = [("depsgraph_update_post", _follow)]
if bpy.app.background:  # where a script may render before anything is updated
    _HANDLERS.append(("render_init", _follow))
register, unregister = registration.handlers(_HANDLERS)
