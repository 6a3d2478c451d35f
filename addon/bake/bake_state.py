# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake changed on a mesh, stored as JSON in an ID property of the object, and how to undo it.

The property is saved with the file, so a bake can be cleared in another session.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from bpy.types import Modifier, Object, ShapeKey

from ..blender import actions, arrays, blender_versions
from ..blender.user_error import UserError
from ..operator_base.editing import editing
from ..pose import skinner
from ..pose.deformation import Deformation
from ..preview import nodes, switch
from ..scene import mmd_tools, saved_state, scene_model
from . import joint_turns, sliders
from .sliders import MutedSliders


@dataclass
class SinglePoses:
    """Poses of driven keys, to which further bakes of single poses are added."""

    poses: list = field(default_factory=list)  # (frame, {bone: w x y z}) each
    keys: list = field(default_factory=list)  # (name, pair of bones, `joint_fit.Function`) each


@dataclass
class BakeState(saved_state.SavedState):
    PROPERTY: ClassVar[str] = saved_state.BAKE

    target: str = ""
    deformation: list = field(default_factory=lambda: list(Deformation()))
    frames: list[int] | None = None  # the first and last of a range
    samples: int = 1  # per frame
    keys: list[str] = field(default_factory=list)  # names of the baked keys
    curves: dict[str, Any] | None = None  # from `sliders.add_pulses`, if the keys are keyed
    single_poses: SinglePoses | None = None
    mesh_animated: bool = True
    muted: list[str] = field(default_factory=list)  # names of the keys that the bake muted
    sliders: MutedSliders = field(default_factory=MutedSliders)
    # name: show_viewport, show_render of those turned off
    modifiers: dict[str, list[bool]] = field(default_factory=dict)
    added: str = ""  # name of the modifier added
    # names of the modifiers added for MMD's normals
    normals: list[str] = field(default_factory=list)
    active_modifier: str = ""
    had_keys: bool = True
    animated: bool = True  # whether the keys had animation data
    active: list = field(default_factory=lambda: [None, 0])  # shape key: name and number
    pinned: bool = False  # only the active key is shown
    preview: bool = False
    sdef: mmd_tools.SuspendedSdef | None = None

    @property
    def is_keyed(self) -> bool:
        """Whether each baked key acts at its own frame."""
        return self.curves is not None


def state_of(obj: Object) -> BakeState | None:
    """The state of a baked mesh object, or None."""
    return BakeState.read(obj) if saved_state.is_baked(obj) else None


def check_writable(obj: Object, target: str) -> None:
    """UserError if a bake into `target` cannot change a mesh object now.

    A mesh cache only needs a modifier, which a library override can have, too.
    """
    if not _is_from_library(obj):
        skinner.check_editable(obj)
        return
    override = obj.override_library
    if BakeState.PROPERTY in obj and (obj.library or override):
        raise UserError("'{name}' is baked in its own file: clear the bake there", name=obj.name)
    if error := needs_mesh_cache([obj], target):
        raise error
    if obj.library:
        raise scene_model.needs_override(obj.name)
    if override and override.is_system_override:
        raise UserError(
            "The library override of '{name}' is not editable: select it and use Object >"
            " Library Override > Make first",
            name=obj.name,
        )
    skinner.check_mode(obj)


def needs_mesh_cache(meshes: Iterable[Object], target: str) -> UserError | None:
    """Why a bake into `target` is refused, since a mesh is in another file."""
    name = next((obj.name for obj in meshes if _is_from_library(obj)), None)
    if name is None or target == "MESH_CACHE":
        return None
    return UserError(
        "The mesh of '{name}' is linked from another file and cannot get shape keys: bake a"
        " library override of the model into a mesh cache",
        name=name,
    )


def _is_from_library(obj: Object) -> bool:
    """Whether the object or its mesh is linked or a library override."""
    return any((one.library or one.override_library) is not None for one in (obj, obj.data))


def begin(obj: Object, armature: Object, live: bool = False) -> BakeState:
    """The state of a mesh object that is about to be baked; turns its other deformation off.

    `live`: an earlier bake had turned the preview off.
    """
    keys, key, modifier = obj.data.shape_keys, obj.active_shape_key, obj.modifiers.active
    active_modifier, sdef = modifier.name if modifier else "", None
    # The modifier of a live mesh from another file is turned off with the Armature modifier.
    if not _is_from_library(obj):
        live = live or switch.is_live(obj)
        # Meshes that are not baked, such as those of excluded collections, stay live.
        switch.disable_meshes([obj])
        switch.forget_error(armature)
        sdef = mmd_tools.suspend_sdef(obj)
    return BakeState(
        active_modifier=active_modifier,
        had_keys=keys is not None,
        animated=bool(keys and keys.animation_data),
        mesh_animated=obj.data.animation_data is not None,
        active=[key.name if key else None, obj.active_shape_key_index],
        pinned=obj.show_only_shape_key,
        preview=live,
        sdef=sdef,
    )


def add_keys(obj: Object, state: BakeState, baked: Iterable[tuple[str, np.ndarray]]) -> list[str]:
    """Add baked keys with these labels and (V, 3) float32 positions; returns the names that they got.

    Keys of an older bake are reused.
    """
    if not obj.data.shape_keys:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys, names = obj.data.shape_keys, []
    ours = dict.fromkeys(state.keys)  # in a list, thousands of names would be searched one by one
    for label, positions in baked:
        wanted = f"MMD {label}"
        key: ShapeKey | None = keys.key_blocks.get(wanted) if wanted in ours else None
        if key is None:
            key = obj.shape_key_add(name=wanted, from_mix=False)
        arrays.write(*blender_versions.key_positions(key), positions)
        key.relative_key, key.vertex_group, key.mute = keys.reference_key, "", False
        ours[key.name] = None
        names.append(key.name)
    state.keys = list(ours)
    return names


def deforming(obj: Object, armature: Object | None = None) -> list[Any]:
    """The modifiers of an armature (or any), and where the mesh is in another file, that of the preview."""
    live = nodes.modifier_of(obj)
    return [*scene_model.armature_modifiers(obj, armature), *([live] if live else [])]


def switch_armature_off(obj: Object, armature: Object, state: BakeState) -> None:
    """Turn off what deforms a mesh object besides the bake."""
    for modifier in deforming(obj, armature):
        state.modifiers.setdefault(modifier.name, [modifier.show_viewport, modifier.show_render])
        modifier.show_viewport = modifier.show_render = False


def clear(models: list[scene_model.SceneModel]) -> int:
    """Undo every bake of the models; returns how many meshes had one."""
    with editing(models, _states) as edit:
        edit.save(obj for model, states in edit.checked if states for obj in model.meshes)
        for model, states in edit.checked:
            previews = [clear_mesh(obj, state) for obj, state in states.items()]
            if model.armature is None:
                continue
            switch.forget_error(model.armature)
            if any(previews):
                switch.switch_on_again(model.armature)
    return sum(len(states) for _, states in edit.checked)


def _states(model: scene_model.SceneModel) -> dict[Object, BakeState]:
    """The states of the baked meshes of a model, all of which can be cleared."""
    baked = [obj for obj in model.meshes if saved_state.is_baked(obj)]
    for obj in baked:
        check_writable(obj, "MESH_CACHE")
    return {obj: BakeState.read(obj) for obj in baked}


def clear_mesh(obj: Object, state: BakeState) -> bool:
    """Restore one mesh object; returns whether it had the live preview."""
    _clear_keys(obj, state)
    blocks = _key_blocks(obj)
    for name in state.muted:
        if name in blocks:
            blocks[name].mute = False
    sliders.unmute_sliders(obj, state.sliders)
    sliders.give_actions_back(obj, state.sliders)
    if blocks:
        name, index = state.active
        obj.active_shape_key_index = blocks.find(name) if name and name in blocks else index
    obj.show_only_shape_key = state.pinned
    for name, (viewport, render) in state.modifiers.items():
        modifier: Modifier | None = obj.modifiers.get(name)
        if modifier:
            modifier.show_viewport, modifier.show_render = viewport, render
    added = [name for name in (state.added, *state.normals) if name in obj.modifiers]
    for name in added:
        obj.modifiers.remove(obj.modifiers[name])
    if added:
        nodes.drop_unused()
        if state.active_modifier in obj.modifiers:
            obj.modifiers.active = obj.modifiers[state.active_modifier]
    mmd_tools.resume_sdef(obj, state.sdef)
    saved_state.remove(obj, saved_state.BAKE)
    obj.data.update_tag()
    mmd_tools.refresh_sdef(obj)
    return state.preview


def remove_keys(obj: Object, state: BakeState) -> None:
    """Remove the baked keys and their drivers."""
    for name in state.keys:
        if name in _key_blocks(obj):
            key = _key_blocks(obj)[name]
            key.driver_remove("value")
            obj.shape_key_remove(key)
    joint_turns.remove(obj.data)
    state.keys = []


def _clear_keys(obj: Object, state: BakeState) -> None:
    blocks = _key_blocks(obj)
    if blocks and state.curves is not None:
        paths = map(actions.value_path, state.keys)
        actions.remove_curves(obj.data.shape_keys, paths, state.curves)
    remove_keys(obj, state)
    if _key_blocks(obj) and not state.animated:
        actions.clear_if_empty(obj.data.shape_keys)
    if not state.mesh_animated:
        actions.clear_if_empty(obj.data)
    if not state.had_keys and len(_key_blocks(obj)) == 1:
        obj.shape_key_clear()


def _key_blocks(obj: Object) -> Any:
    # Looked up each time: removing the last key frees the collection.
    keys = obj.data.shape_keys
    return keys.key_blocks if keys else ()
