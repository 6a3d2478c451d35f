# SPDX-License-Identifier: GPL-3.0-or-later
"""What imports of motions have changed, kept in custom properties of each datablock, and the way back.

An import writes into an action of its own, a copy of the one that it finds, so that the user's stays
as it was and Clear Motion gives it back. The properties are the state, and beside it the two actions.
They are saved with the file, so a motion can be cleared in another session.
"""

import contextlib
from collections.abc import Iterator, Sequence

import bpy

from .. import actions, motion_source, saved_state, scene_model, sliders
from ..actions import Block
from ..names import PHYSICS
from ..saved_state import MOTION
from ..translations import tr

_BEFORE, _WRITTEN = f"{MOTION}_before", f"{MOTION}_written"


# Forms of keyframes, as the operator's modes are called: IK solved, or those of the file.
SOLVED, OWN = "BAKED", "KEYS"


def _nothing_noted():
    return {
        "files": [],  # path, start and speed of each motion that the keyframes play, oldest first
        "form": SOLVED,  # of those keyframes
        "slots": [],  # as `actions.hold` takes them
        "bones": {},  # name: channels of the bone, as in _CHANNELS
        "keys": {},  # name: members of the shape key, as in _MEMBERS
        "sliders": {},  # custom property of the armature: value
        "constraints": [],  # bone and name of each one muted
        "influences": [],  # bone, name and influence of each constraint that was keyed
        "physics": {},  # bone: its switch of physics before, or None
        "drivers": [],  # path and index of each one muted
        "settings": {},  # name: value before the first import, value since the last
        "scene": [],  # name, last frame before the first import, last frame since the last
    }


# The rotation mode comes first: setting it changes the others.
_CHANNELS = (
    "rotation_mode",
    "location",
    "rotation_quaternion",
    "rotation_euler",
    "rotation_axis_angle",
    "scale",
)
_MEMBERS = ("value", "slider_min", "slider_max")


@contextlib.contextmanager
def of(block: Block) -> Iterator["Record"]:
    """The Record of a datablock, kept when the block ends, also by an exception."""
    noted = Record(block)
    try:
        yield noted
    finally:
        noted.store()


class Record:
    """Of the armature object of a model, or of the shape keys of a mesh."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.state = saved_state.load(block, MOTION, _nothing_noted)
        self._before, self._written = block.get(_BEFORE), block.get(_WRITTEN)

    @property
    def armature(self) -> bpy.types.Object:
        """The datablock of a model's bones."""
        assert isinstance(self.block, bpy.types.Object)
        return self.block

    def store(self) -> None:
        saved_state.store(self.block, MOTION, self.state)
        for name, action in ((_BEFORE, self._before), (_WRITTEN, self._written)):
            if action is not None:
                self.block[name] = action
            elif name in self.block:
                del self.block[name]

    def note_files(self, motions: Sequence[motion_source.Motion], form: str) -> None:
        """The motions that the keyframes play."""
        self.state["files"] = [[one.path, one.start, one.speed] for one in motions]
        self.state["form"] = form

    def own_action(self) -> None:
        """Let the datablock have an action that imports may write into."""
        action, slots = actions.held(self.block)
        if action is None or action != self._written:
            self._before, self.state["slots"] = action, slots
            self._written = actions.own(self.block)

    def note_bone(self, bone: bpy.types.PoseBone) -> None:
        if bone.name not in self.state["bones"]:
            self.state["bones"][bone.name] = [_plain(bone, name) for name in _CHANNELS]

    def note_key(self, key: bpy.types.ShapeKey) -> None:
        self.state["keys"].setdefault(key.name, [_plain(key, name) for name in _MEMBERS])

    def note_slider(self, name: str) -> None:
        self.state["sliders"].setdefault(name, self.block[name])

    def mute_constraint(self, bone: bpy.types.PoseBone, constraint: bpy.types.Constraint) -> int:
        """How many were muted, 1 or 0."""
        if constraint.mute:
            return 0
        constraint.mute = True
        self.state["constraints"].append([bone.name, constraint.name])
        return 1

    def unmute_constraints(self) -> None:
        """Let those act again that were muted."""
        for bone, constraint in self.state["constraints"]:
            _put(self._constraint(bone, constraint), ("mute",), (False,))
        self.state["constraints"] = []

    def note_influence(self, bone: bpy.types.PoseBone, constraint: bpy.types.Constraint) -> None:
        noted = self.state["influences"]
        if not any(found[:2] == [bone.name, constraint.name] for found in noted):
            noted.append([bone.name, constraint.name, constraint.influence])

    def note_physics(self, bone: bpy.types.PoseBone) -> None:
        """Also give it the switch, where it has none."""
        self.state["physics"].setdefault(bone.name, bone.get(PHYSICS))
        if PHYSICS not in bone:
            bone[PHYSICS] = True
            text = tr("Rigid bodies move this bone, as Simulate has it; else they follow it")
            bone.id_properties_ui(PHYSICS).update(description=text, default=True)
            bone.property_overridable_library_set(sliders.path(PHYSICS), True)

    def mute_drivers(self, paths: set[str]) -> int:
        """How many were muted."""
        data = self.block.animation_data
        found = [
            curve
            for curve in (data.drivers if data else ())
            if curve.data_path in paths and not curve.mute
        ]
        for curve in found:
            curve.mute = True
            self.state["drivers"].append([curve.data_path, curve.array_index])
        return len(found)

    def set_settings(self, **values: object) -> None:
        """Set settings of the model."""
        settings = self.block.mmdskin
        for name, value in values.items():
            noted = self.state["settings"].setdefault(name, [getattr(settings, name), value])
            noted[1] = value
        for name, value in values.items():
            setattr(settings, name, value)

    def extend(self, scene: bpy.types.Scene, last: int) -> None:
        """Let the scene end no earlier than the motion."""
        if last <= scene.frame_end:
            return
        noted = self.state["scene"]
        first = noted[1] if noted and noted[0] == scene.name else scene.frame_end
        self.state["scene"] = [scene.name, first, last]
        scene.frame_end = last

    def restore(self) -> str:
        """Bring the datablock back; the name of the action that holds keyframes of the user's.

        "" where there are none: the action goes.
        """
        block, state = self.block, self.state
        for name in (MOTION, _BEFORE, _WRITTEN):
            if name in block:
                del block[name]
        kept = self._restore_action()
        for path, index in state["drivers"]:
            curve = block.animation_data and block.animation_data.drivers.find(path, index=index)
            if curve:
                curve.mute = False
        for name, values in state["bones"].items():
            _put(block.pose.bones.get(name), _CHANNELS, values)
        for name, values in state["keys"].items():
            # The value last: the other two are its limits.
            _put(block.key_blocks.get(name), _MEMBERS[::-1], values[::-1])
        for name, value in state["sliders"].items():
            if name in block:
                block[name] = value
        self.unmute_constraints()
        for name, constraint, influence in state["influences"]:
            _put(self._constraint(name, constraint), ("influence",), (influence,))
        for name, value in state["physics"].items():
            _put_property(block.pose.bones.get(name), PHYSICS, value)
        for name, (before, since) in state["settings"].items():
            if getattr(block.mmdskin, name) == since:
                setattr(block.mmdskin, name, before)
        self._restore_range()
        block.update_tag()
        return kept

    def _constraint(self, bone, name):
        owner = self.block.pose.bones.get(bone)
        return owner.constraints.get(name) if owner is not None else None

    def _restore_action(self):
        written = self._written
        if written is None:
            return ""
        if actions.held(self.block)[0] == written:
            actions.hold(self.block, self._before, self.state["slots"])
        if self._holds_more():
            written.use_fake_user = True
            return written.name
        if not written.users:
            bpy.data.actions.remove(written)
        return ""

    def _holds_more(self):
        """Whether the user has keyed more in the action that was written."""
        known = {actions.value_path(name) for name in self.state["keys"]}
        known.update(map(sliders.path, self.state["sliders"]))
        for name in self.state["bones"]:
            known.update(actions.bone_paths(name).values())
        for name, constraint, _ in self.state["influences"]:
            known.add(actions.influence_path(name, constraint))
        known.update(actions.property_path(name, PHYSICS) for name in self.state["physics"])
        if self._before is not None:
            known.update(curve.data_path for curve in actions.of_action(self._before))
        return any(curve.data_path not in known for curve in actions.of_action(self._written))

    def _restore_range(self):
        """Unless the scene has another end by now, or plays other motions."""
        if not self.state["scene"] or any(MOTION in obj for obj in bpy.data.objects):
            return
        name, before, since = self.state["scene"]
        scene = bpy.data.scenes.get(name)
        if scene is not None and scene.frame_end == since:
            scene.frame_end = before


def clear(models: list[scene_model.SceneModel]) -> tuple[int, list[str]]:
    """Undo every import of the models: how many had one, and the actions that hold more."""
    # All are read first: one that cannot be leaves the others alone.
    records = [[Record(block) for block in blocks(model) if MOTION in block] for model in models]
    kept = [record.restore() for of_model in records for record in of_model]
    return sum(map(bool, records)), [name for name in kept if name]


def blocks(model: scene_model.SceneModel) -> list[Block]:
    """The datablocks of a model that motions move: its armature and the shape keys of its meshes."""
    return [model.armature, *shape_keys(model)]


def shape_keys(model: scene_model.SceneModel) -> list[bpy.types.Key]:
    """Of the meshes of a model, which objects may share; those of linked meshes cannot be kept."""
    found = (obj.data.shape_keys for obj in model.meshes)
    return list(dict.fromkeys(block for block in found if block and not block.library))


def _plain(owner, name):
    value = getattr(owner, name)
    return value if isinstance(value, (str, float)) else list(value)


def _put_property(owner, name, value):
    """A custom property, which goes where the value is None."""
    if owner is not None and value is not None:
        owner[name] = value
    elif owner is not None and name in owner:
        del owner[name]


def _put(owner, names, values):
    if owner is not None:
        for name, value in zip(names, values, strict=True):
            setattr(owner, name, value)
