# SPDX-License-Identifier: GPL-3.0-or-later
"""What imported motions changed, stored in properties of each datablock, and how to undo it.

An import writes into a copy of the current action, so that the user's action is unchanged and Clear
Motion can restore it. The properties are the state and both actions. They are saved with the file,
so a motion can be cleared in another session.
"""

import contextlib
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import bpy
from bpy.types import Action, Constraint, Key, Object, PoseBone, Scene

from ..blender import actions, fcurves, playhead
from ..blender.actions import Block
from ..operator_base.editing import Edit
from ..operator_base.properties import FRAMES
from ..pose import motion_source
from ..scene import mmd_tools, saved_state, scene_model, setting_paths, sliders
from ..scene.names import BONE_MORPH, PHYSICS
from ..scene.saved_state import MOTION, MOTION_BEFORE, MOTION_WRITTEN

# Forms of imported motions, as the operator's modes are called: keyframes with IK solved, or those of
# the file, or none.
SOLVED, ORIGINAL, FILE = "SOLVED", "ORIGINAL", "FILE"
_WITH_HANDLES = "handles "  # begins a digest
_FORMS_OF_0_1 = {"BAKED": SOLVED, "KEYS": ORIGINAL}


@dataclass
class MotionState(saved_state.SavedState):
    PROPERTY: ClassVar[str] = MOTION

    # path, start and speed of each imported motion, oldest first
    files: list = field(default_factory=list)
    form: str = SOLVED  # of the keyframes
    slots: list = field(default_factory=list)  # arguments of `actions.assign`
    # data path: value before the first import, None for a custom property that did not exist; in the
    # order in which to restore them
    values: dict[str, Any] = field(default_factory=dict)
    drivers: list = field(default_factory=list)  # path and index of each muted driver
    # name: value before the first import, value after the last; paths of this file are absolute
    settings: dict[str, list] = field(default_factory=dict)
    relative: list = field(default_factory=list)  # settings that were a relative path before
    digest: str = ""  # of the keyframes in the written action
    is_edited: bool = False  # whether the user had edited them before another import

    # Of files of 0.3 and earlier, which have no data paths:
    bones: dict[str, list] | None = None  # name: members, as in BONE_CHANNELS
    keys: dict[str, list] | None = None  # name: value, slider_min, slider_max
    sliders: dict[str, float] | None = None
    constraints: list | None = None  # bone and name of each muted constraint
    influences: list | None = None  # bone, name and influence of each constraint that was keyed
    physics: dict[str, bool | None] | None = None  # bone: its switch
    # of 0.1: name, end frame before the first import, end frame after the last
    scene: list | None = None

    def __post_init__(self) -> None:
        self.form = _FORMS_OF_0_1.get(self.form, self.form)
        with contextlib.suppress(
            AttributeError, TypeError, ValueError
        ):  # damaged: the rest is lost
            self._convert_earlier()
        self.bones = self.keys = self.sliders = None
        self.constraints = self.influences = self.physics = None

    def _convert_earlier(self) -> None:
        for name, members in (self.bones or {}).items():
            found = zip(actions.BONE_CHANNELS, members, strict=True)
            self.values |= {f"{actions.bone_path(name)}.{member}": value for member, value in found}
        for name, members in (self.keys or {}).items():
            self.values |= dict(zip(key_paths(name), reversed(members), strict=True))
        for name, value in (self.sliders or {}).items():
            self.values[sliders.path(name)] = value
        for bone, name in self.constraints or ():
            self.values[actions.constraint_path(bone, name, "mute")] = False
        for bone, name, influence in self.influences or ():
            self.values[actions.constraint_path(bone, name, "influence")] = influence
        for bone, switch in (self.physics or {}).items():
            self.values[actions.property_path(bone, PHYSICS)] = switch


def key_paths(name: str) -> tuple[str, str, str]:
    """Data paths of what an import changes of a shape key: the value last, as the others limit it."""
    value = actions.value_path(name)
    start = value.removesuffix("value")
    return f"{start}slider_max", f"{start}slider_min", value


class Record:
    """The record of a model's armature object, of a mesh's shape keys, or of a light."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.armature: Any = block  # where it is a model's
        self.state = MotionState.read(block)
        self._before = saved_state.load_action(block, MOTION_BEFORE)
        self._written = saved_state.load_action(block, MOTION_WRITTEN)
        if not saved_state.is_own(block, MOTION):
            # A library override plays the motion of its library: that is what Clear Motion restores.
            self.state = MotionState(files=self.state.files, form=self.state.form)
            self._before = self._written = None
        self._curves: actions.Curves | None = None  # that were written
        # Of each constraint and driver that this Record has muted: whether it is not of a model.
        self.muted: list[bool] = []

    def store(self) -> None:
        if self._curves is not None:
            self.state.digest = self._digest(self.state.form == ORIGINAL)
        self.state.write(self.block)
        saved_state.store_action(self.block, MOTION_BEFORE, self._before)
        saved_state.store_action(self.block, MOTION_WRITTEN, self._written)

    def note_files(self, motions: Sequence[motion_source.Motion], form: str) -> None:
        """The imported motions."""
        self.state.files = [[one.path, one.start, one.speed] for one in motions]
        self.state.form = form

    def curves(self) -> actions.Curves:
        """The curves of an action of the datablock for imports to write into."""
        if self._curves is None:
            action, slots = actions.assigned(self.block)
            if action is None or action != self._written:
                self._before, self.state.slots = action, slots
                self._written = actions.make_single_user(self.block)
                self.state.is_edited = False
            else:
                self.state.is_edited = self._is_edited()
            self._curves = actions.Curves(actions.channels(self.block)[0])
        return self._curves

    def note(self, *paths: str) -> None:
        """Note the values at data paths before the first import changes them."""
        for path in paths:
            if path not in self.state.values:
                self.state.values[path] = playhead.read(self.block, path)

    def note_bone(self, name: str) -> None:
        path = actions.bone_path(name)
        self.note(*(f"{path}.{channel}" for channel in actions.BONE_CHANNELS))

    def mute_constraint(self, bone: PoseBone, constraint: Constraint) -> None:
        if not constraint.mute:
            self.note(actions.constraint_path(bone.name, constraint.name, "mute"))
            constraint.mute = True
            is_morph = constraint.name.startswith(BONE_MORPH)
            is_of_model = is_morph or mmd_tools.is_of_model(constraint, self.armature)
            self.muted.append(not is_of_model)

    def unmute_constraints(self) -> None:
        """Unmute the muted constraints."""
        for path in [path for path in self.state.values if path.endswith(".mute")]:
            self._put(path, self.state.values.pop(path))

    def _put(self, path: str, value: Any) -> None:
        """Set a value, unless its owner is gone."""
        with contextlib.suppress(KeyError, ValueError):
            playhead.write(self.block, path, value)

    def mute_drivers(self, paths: set[str]) -> None:
        data = self.block.animation_data
        for curve in data.drivers if data else ():
            if curve.data_path in paths and not curve.mute:
                curve.mute = True
                self.state.drivers.append([curve.data_path, curve.array_index])
                self.muted.append(True)

    def set_settings(self, **values: object) -> None:
        """Set settings of the model; paths have to be absolute."""
        for name, value in values.items():
            if name not in self.state.settings:
                before, is_relative = setting_paths.noted(self.armature, name)
                self.state.settings[name] = [before, value]
                self.state.relative += [name] * is_relative
            self.state.settings[name][1] = value
        for name, value in values.items():
            set_to = setting_paths.chosen(self.armature, name, value)
            setattr(self.armature.mmdskin, name, set_to)

    def restore(self, edit: Edit, keeps_action: bool = False) -> str:
        """Restore the datablock; returns the action's name if it is kept, else "".

        Kept: edited by the user, or if `keeps_action`. Else it is removed when the edit ends.
        """
        block, state = self.block, self.state
        for name in (MOTION, MOTION_BEFORE, MOTION_WRITTEN):
            saved_state.remove(block, name)
        kept = self._restore_action(edit, keeps_action)
        for path, index in state.drivers:
            curve = block.animation_data and block.animation_data.drivers.find(path, index=index)
            if curve:
                curve.mute = False
        for path, value in state.values.items():
            self._put(path, value)
        self._restore_settings()
        if state.scene:
            name, before, since = state.scene
            scene: Scene | None = bpy.data.scenes.get(name)
            if scene is not None and MOTION not in scene:
                RangeState(before, since).write(scene)
        block.update_tag()
        return kept

    def _restore_settings(self) -> None:
        """All that the user has not changed since; their own updates may change others."""
        noted = self.state.settings.items()
        found = [
            (name, before)
            for name, (before, since) in noted
            if setting_paths.is_set_to(self.armature, name, since)
        ]
        for name, before in found:
            if name in self.state.relative:
                before = setting_paths.shown(self.armature, name, before)
                setattr(self.armature.mmdskin, name, before)
            elif not setting_paths.is_set_to(self.armature, name, before):
                setattr(self.armature.mmdskin, name, before)

    def _restore_action(self, edit: Edit, keeps_action: bool) -> str:
        written = self._written
        if written is None:
            return ""
        if actions.assigned(self.block)[0] == written:
            actions.assign(self.block, self._before, self.state.slots)
        if keeps_action or self._holds_more() or self._is_edited():
            written.use_fake_user = True
            return written.name
        edit.on_success(_remove_unused, written)
        return ""

    def _digest(self, with_handles: bool) -> str:
        # Handles of solved keys are Blender's; those of original keys are the file's.
        found = fcurves.digest(actions.curves_of(self._written), with_handles)
        return _WITH_HANDLES + found if with_handles else found

    def _is_edited(self) -> bool:
        """Whether the user has edited written keyframes; unknown for files of 0.1."""
        digest = self.state.digest
        differs = digest and digest != self._digest(digest.startswith(_WITH_HANDLES))
        return self.state.is_edited or bool(differs)

    def _holds_more(self) -> bool:
        """Whether the user has added keyframes to the written action."""
        known = set(self.state.values)
        if self._before is not None:
            known.update(curve.data_path for curve in actions.curves_of(self._before))
        return any(curve.data_path not in known for curve in actions.curves_of(self._written))


@dataclass
class RangeState(saved_state.SavedState):
    """The end of a scene, before the first of all imports, and after the last."""

    PROPERTY: ClassVar[str] = MOTION

    before: int = 0
    since: int = 0


def extend_range(scene: Scene, time: float) -> None:
    """Extend a scene's end for a motion or a camera: to the first whole frame at an animation time or
    after it."""
    last = min(math.ceil(time / playhead.stretch(scene) - 1e-6), FRAMES["max"])
    if last <= scene.frame_end:
        return
    state = RangeState.read(scene)
    before = state.before if scene.frame_end == state.since else scene.frame_end
    RangeState(before, last).write(scene)
    scene.frame_end = last


def restore_range(forgets: bool = False) -> None:
    """Restore the end of scenes, unless motions or cameras remain or the user has changed it.

    `forgets`: only forget it, if what extended it was removed without Clear Motion.
    """
    if any(saved_state.is_own(obj, MOTION) for obj in bpy.data.objects):
        return
    for scene in (scene for scene in bpy.data.scenes if MOTION in scene):
        state = RangeState.read(scene)
        del scene[MOTION]
        if scene.frame_end == state.since and not forgets:
            scene.frame_end = state.before


def files_of(models: Iterable[scene_model.SceneModel]) -> set[str]:
    """The paths of the imported motions of models."""
    found = set[str]()
    for model in models:
        state = MotionState.read(model.armature)
        found.update(path for path, *_ in state.files)
        found.update(state.settings.get("motion_path", ["", ""])[1:])
    return {os.path.abspath(bpy.path.abspath(path)) for path in found}


def clear(edit: Edit, blocks: Iterable[Block], keeps_actions: bool = False) -> list[str]:
    """Undo all imports onto datablocks; returns the names of kept actions."""
    records = [Record(block) for block in blocks if saved_state.is_own(block, MOTION)]
    kept = [record.restore(edit, keeps_actions) for record in records]
    return list(filter(None, kept))


def played_by_strips(blocks: Iterable[Block]) -> list[str]:
    """The names of actions that imports have written and that NLA strips play."""
    found = []
    for block in blocks:
        written, data = saved_state.load_action(block, MOTION_WRITTEN), block.animation_data
        if written and data and any(strip.action == written for strip in actions.strips(data)):
            found.append(written.name)
    return found


def changed_objects(models: Iterable[scene_model.SceneModel]) -> list[Object]:
    """The objects that an import, or clearing it, changes."""
    return [
        obj
        for model in models
        for obj in (model.armature, *model.meshes)
        if obj.type == "ARMATURE" or obj.data.shape_keys
    ]


def blocks(model: scene_model.SceneModel) -> list[Block]:
    """The datablocks of a model that motions animate: its armature and its meshes' shape keys."""
    return [model.armature, *shape_keys(model)]


def check_not_tweaked(model: scene_model.SceneModel) -> None:
    for block in blocks(model):
        actions.check_not_tweaked(block)


def check_clearing(model: scene_model.SceneModel) -> None:
    """UserError if the motion of a model cannot be cleared."""
    scene_model.check_editable(model.armature)
    check_not_tweaked(model)
    for block in blocks(model):
        Record(block)


def shape_keys(model: scene_model.SceneModel) -> list[Key]:
    """The shape keys of a model's meshes, without duplicates and without linked ones."""
    return [keys for keys in scene_model.shape_keys(model.meshes) if not keys.library]


def _remove_unused(action: Action) -> None:
    if not action.users:
        bpy.data.actions.remove(action)
